/* The public functions that order work of the caller on memory, and that wait for work on memory. */
#include "buffer_interface/binding.h"
#include "common/backend/dispatch.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"

static int check_use(const struct bi_stream *stream, const struct bi_use *use, size_t index, struct bi_error *err)
{
	if (!use->view)
		return bi__fail(err, BI_EINVAL, "uses[%zu].view is NULL", index);
	if (!(use->access & BI_ACCESS_READ_WRITE) || use->access & ~(unsigned)BI_ACCESS_READ_WRITE)
		return bi__fail(err, BI_EINVAL, "uses[%zu].access is %u, not BI_ACCESS_READ, _WRITE or _READ_WRITE",
				index, use->access);
	if (use->access & BI_ACCESS_WRITE && use->view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "uses[%zu] writes to a read-only view", index);
	if (!use->view->memory->backend->cpu_addressable && !bi__stream_reaches(stream, use->view->memory))
		return bi__stream_refuse(stream, use->view->memory, err);
	return BI_OK;
}

static int check_use_mapped(const struct bi_use *use, struct bi_error *err)
{
	return bi__order_check_mapped(use->view->memory, (use->access & BI_ACCESS_WRITE) != 0, err);
}

static int check_uses(const struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err)
{
	int rc;

	if (!stream || (!uses && count))
		return bi__fail(err, BI_EINVAL, "stream or uses is NULL");
	for (size_t i = 0; i < count; i++) {
		rc = check_use(stream, &uses[i], i, err);
		if (rc)
			return rc;
	}
	return bi__dispatch_alive(&stream->context->device, err);
}

static int begin_work_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	int is_idle = !memory->order.pending && !memory->order.last_use.context && !memory->order.first_use.count;
	struct bi__scope scope;
	int rc = BI_OK;

	bi__dispatch_begin(&scope, &stream->context->device);
	if (!is_idle)
		rc = bi__order_check_capture_locked(stream, memory, NULL, err);
	if (!rc)
		rc = bi__order_begin_locked(memory, stream, err);
	bi__dispatch_end(&scope);
	return rc;
}

static int begin_use(struct bi_stream *stream, const struct bi_use *use, struct bi_error *err)
{
	struct bi_memory *memory = use->view->memory;
	int rc;

	if (memory->idle)
		return BI_OK;
	bi__order_lock(memory, NULL);
	rc = check_use_mapped(use, err);
	if (!rc)
		rc = begin_work_locked(memory, stream, err);
	bi__order_unlock(memory, NULL);
	return rc;
}

int bi_use_begin(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err)
{
	int rc = check_uses(stream, uses, count, err);

	for (size_t i = 0; i < count && !rc; i++)
		rc = check_use_mapped(&uses[i], err);
	for (size_t i = 0; i < count && !rc; i++)
		rc = begin_use(stream, &uses[i], err);
	return rc;
}

/* Makes the stream wait for events that it may not have waited for yet, then records its end. */
static int end_work_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	int rc;

	if (memory->flags & BI_WRAP_UNORDERED)
		return BI_OK;
	bi__order_catch_up_locked(memory);
	rc = bi__order_check_capture_locked(stream, memory, NULL, err);
	if (!rc && (memory->order.first_use.count || memory->order.last_use.context))
		rc = bi__order_begin_locked(memory, stream, err);
	if (!rc)
		return bi__order_end_locked(memory, stream, err);
	/* The caller's work may run without order, so wait for it. After these two errors the caller has to wait. */
	if (rc != BI_EPRODUCER && rc != BI_ECAPTURE && bi__stream_finish(stream, NULL))
		memory->order.lost = 1;
	return rc;
}

static int end_use(struct bi_stream *stream, const struct bi_use *use, struct bi_error *err)
{
	struct bi_memory *memory = use->view->memory;
	struct bi__scope scope;
	int rc;

	bi__order_lock(memory, NULL);
	bi__dispatch_begin(&scope, &stream->context->device);
	rc = end_work_locked(memory, stream, err);
	bi__dispatch_end(&scope);
	bi__order_unlock(memory, NULL);
	return rc;
}

/* A failure for one memory does not end the loop, because the stream has work on all of the memories. */
int bi_use_end(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err)
{
	int rc = check_uses(stream, uses, count, err);
	int failed = BI_OK;

	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++) {
		rc = end_use(stream, &uses[i], failed ? NULL : err);
		failed = failed ? failed : rc;
	}
	return failed;
}

/*
 * Changes the home stream. The new home stream waits for the old home stream first, so a failure changes nothing. From
 * now on a consumer works on the new home stream without calling the library, so the memory is never idle again.
 */
static int move_home_locked(struct bi_memory *memory, struct bi_stream *home, struct bi_error *err)
{
	int rc = begin_work_locked(memory, home, err);

	if (rc)
		return rc;
	memory->home = home;
	memory->order.consumed = true;
	rc = bi__order_check_capture_locked(home, memory, NULL, err);
	return rc ? rc : bi__order_end_locked(memory, home, err);
}

int bi_view_switch_to_context_stream(const struct bi_view *view, struct bi_error *err)
{
	struct bi_memory *memory = view ? view->memory : NULL;
	struct bi__scope scope;
	int rc;

	if (!view)
		return bi__fail(err, BI_EINVAL, "view is NULL");
	rc = bi__dispatch_check_reach(memory->backend, &memory->context->device, err);
	if (rc || memory->backend->synchronous || memory->flags & BI_WRAP_UNORDERED)
		return rc;
	bi__order_lock(memory, NULL);
	bi__dispatch_begin(&scope, &memory->context->device);
	rc = move_home_locked(memory, &memory->context->stream, err);
	bi__dispatch_end(&scope);
	bi__order_unlock(memory, NULL);
	return rc;
}

int bi_view_is_idle(const struct bi_view *view)
{
	return view->memory->idle;
}

/*
 * A release does not wait for work on the stream that the producer named. The function needs no lock: it reads atomic
 * members, and members that do not change. The home stream changes at most once.
 */
int bi_view_release_is_immediate(const struct bi_view *view)
{
	const struct bi_memory *memory = view->memory;

	return memory->idle || (!memory->own && memory->producer && memory->home == memory->producer);
}

int bi_view_synchronize(const struct bi_view *view, struct bi_error *err)
{
	if (!view)
		return bi__fail(err, BI_EINVAL, "view is NULL");
	return bi__order_synchronize(view->memory, BI__WAIT_SYNCHRONIZE, err);
}
