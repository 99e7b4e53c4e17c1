/* Uses of memory by work of the caller, the switch to the context stream, and synchronisation. */
#include "buffer_interface/binding.h"
#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/order.h"
#include "common/runtime/retire.h"
#include "common/runtime/stream.h"
#include "common/view/view.h"

static int check_use(const struct bi_stream *stream, const struct bi_use *use, size_t index, struct bi_error *err)
{
	if (!use->view)
		return bi__fail(err, BI_EINVAL, "uses[%zu].view is NULL", index);
	if (!use->access || use->access > BI_ACCESS_READ_WRITE)
		return bi__fail(err, BI_EINVAL, "uses[%zu].access is %u, not BI_ACCESS_READ, _WRITE or _READ_WRITE",
				index, use->access);
	if (use->access & BI_ACCESS_WRITE && use->view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "uses[%zu] writes to a read-only view", index);
	if (!use->view->memory->backend->cpu_addressable && !bi__stream_reaches(stream, use->view->memory))
		return bi__stream_refuse(stream, use->view->memory, err);
	return BI_OK;
}

static int check_uses(const struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err)
{
	int rc = BI_OK;

	if (!stream || (!uses && count))
		return bi__fail(err, BI_EINVAL, "stream or uses is NULL");
	for (size_t i = 0; i < count && !rc; i++)
		rc = check_use(stream, &uses[i], i, err);
	return rc ? rc : bi__dispatch_alive(&stream->context->device, err);
}

/* The memories of one step, sorted by address, each once, with their access. More memories need further steps. */
struct used {
	size_t count;
	struct bi_memory *memories[BI__STEP_MEMORIES];
	unsigned access[BI__STEP_MEMORIES];
};

static void add_use(struct used *used, const struct bi_use *use)
{
	struct bi_memory *memory = use->view->memory;
	size_t at = used->count;

	while (at && (uintptr_t)used->memories[at - 1] > (uintptr_t)memory)
		at--;
	if (at && used->memories[at - 1] == memory) {
		used->access[at - 1] |= use->access;
		return;
	}
	for (size_t i = used->count++; i > at; i--) {
		used->memories[i] = used->memories[i - 1];
		used->access[i] = used->access[i - 1];
	}
	used->memories[at] = memory;
	used->access[at] = use->access;
}

/*
 * Returns 1 if the memory cannot join the step. A host memory has a step of its own: the wait for it may block, and
 * other threads may need the other memories before the wait ends.
 */
static int stands_alone(const struct used *used, const struct bi_memory *memory)
{
	return used->count && (memory->backend->synchronous || used->memories[0]->backend->synchronous);
}

/*
 * Collects the memories of uses from uses[first] on, with `skips_idle` only those that are not idle. Returns the index
 * of the first use that is not collected.
 */
static size_t collect(struct used *used, const struct bi_use *uses, size_t first, size_t count, int skips_idle)
{
	used->count = 0;
	for (; first < count && used->count < BI__STEP_MEMORIES; first++) {
		if (skips_idle && uses[first].view->memory->idle)
			continue;
		if (stands_alone(used, uses[first].view->memory))
			break;
		add_use(used, &uses[first]);
	}
	return first;
}

/* The memories of the step are locked. `launch` is NULL if the caller enqueues the work. */
typedef int step_fn(const struct used *used, struct bi_stream *stream, const struct bi__kernel_launch *launch,
		    struct bi_error *err);

/* Runs one step for all memories, so that the stream waits once for what they share. */
static int run_step(const struct used *used, struct bi_stream *stream, step_fn *step,
		    const struct bi__kernel_launch *launch, struct bi_error *err)
{
	struct bi__scope scope;
	int rc;

	bi__order_lock_all(used->memories, used->count);
	bi__dispatch_begin(&scope, &stream->context->device);
	rc = step(used, stream, launch, err);
	bi__dispatch_end(&scope);
	bi__order_unlock_all(used->memories, used->count);
	return rc;
}

/*
 * Returns 1 if captures must be checked before the first wait: the library enqueues the work, or the stream may wait
 * for a memory. Otherwise bi_use_end checks them (docs/ordering.md, 27.1), or the backend has no captures.
 */
static int checks_capture_locked(const struct used *used, struct bi_stream *stream,
				 const struct bi__kernel_launch *launch)
{
	int checks = launch != NULL;

	if (!bi__order_can_be_captured(stream))
		return 0;
	for (size_t i = 0; i < used->count && !checks; i++)
		checks = bi__order_waits_locked(used->memories[i], stream);
	return checks;
}

static int begin_used_locked(const struct used *used, struct bi_stream *stream, const struct bi__kernel_launch *launch,
			     struct bi_error *err)
{
	struct bi__step step = BI__STEP_ON(stream);
	int checks = checks_capture_locked(used, stream, launch), rc = BI_OK;

	for (size_t i = 0; i < used->count && !rc; i++) {
		rc = bi__order_check_mapped(used->memories[i], (used->access[i] & BI_ACCESS_WRITE) != 0, err);
		if (!rc && checks)
			rc = bi__order_check_capture_locked(stream, used->memories[i], NULL, err);
	}
	for (size_t i = 0; i < used->count && !rc; i++)
		rc = bi__order_begin_use_locked(used->memories[i], used->access[i], &step, err);
	return rc;
}

static int begin_uses(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err)
{
	struct used used;
	int rc = BI_OK;

	for (size_t i = 0; i < count && !rc; i++)
		rc = bi__order_check_mapped(uses[i].view->memory, (uses[i].access & BI_ACCESS_WRITE) != 0, err);
	for (size_t at = 0; at < count && !rc;) {
		at = collect(&used, uses, at, count, 1);
		if (used.count)
			rc = run_step(&used, stream, begin_used_locked, NULL, err);
	}
	return rc;
}

int bi_use_begin(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err)
{
	int rc = check_uses(stream, uses, count, err);

	if (rc)
		return rc;
	bi__memory_limit_retired(stream);
	return begin_uses(stream, uses, count, err);
}

/* Makes the stream wait for events that it may not have waited for yet. Then records the end of all work on it. */
static int end_work_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	int rc = BI_OK;

	if (memory->flags & BI_WRAP_UNORDERED)
		return BI_OK;
	bi__order_catch_up_in_locked(step, memory);
	if (bi__order_can_be_captured(step->stream))
		rc = bi__order_check_capture_locked(step->stream, memory, NULL, err);
	if (!rc && (memory->order.first_use.count || memory->order.last_use.context || memory->order.unrecorded)) {
		rc = bi__order_begin_locked(memory, step->stream, err);
		*step = BI__STEP_ON(step->stream); /* its waits and events do not include this wait */
	}
	if (!rc)
		return bi__order_end_use_locked(memory, access, step, err);
	/*
	 * Nothing orders the caller's work, so the calling thread waits for it here. After BI_EPRODUCER and BI_ECAPTURE
	 * the caller has to wait.
	 */
	if (rc != BI_EPRODUCER && rc != BI_ECAPTURE && bi__stream_finish(step->stream, NULL))
		memory->order.lost = 1;
	return rc;
}

/* Goes on after a failure for one memory, because the stream has work on all of the memories. */
static int end_used_locked(const struct used *used, struct bi_stream *stream, const struct bi__kernel_launch *launch,
			   struct bi_error *err)
{
	struct bi__step step = BI__STEP_ON(stream);
	int failed = BI_OK, rc;

	(void)launch;
	for (size_t i = 0; i < used->count; i++) {
		rc = end_work_locked(used->memories[i], used->access[i], &step, failed ? NULL : err);
		failed = failed ? failed : rc;
	}
	return failed;
}

static int end_uses(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err)
{
	struct used used;
	int failed = BI_OK, rc;

	bi__dispatch_count_enqueued(&stream->context->device, &stream->queue);
	for (size_t at = 0; at < count;) {
		at = collect(&used, uses, at, count, 0);
		rc = run_step(&used, stream, end_used_locked, NULL, failed ? NULL : err);
		failed = failed ? failed : rc;
	}
	return failed;
}

int bi_use_end(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err)
{
	int rc = check_uses(stream, uses, count, err);

	return rc ? rc : end_uses(stream, uses, count, err);
}

static int launch_used_locked(const struct used *used, struct bi_stream *stream, const struct bi__kernel_launch *launch,
			      struct bi_error *err)
{
	int rc = begin_used_locked(used, stream, launch, err), end;

	if (rc)
		return rc;
	rc = bi__dispatch_launch(&stream->context->device, &stream->queue, launch, err);
	if (rc)
		bi__scope_forget(); /* the failure may have ended a capture */
	/* The driver may have enqueued the work before it failed, so the end is recorded after a failure, too. */
	end = end_used_locked(used, stream, NULL, rc ? NULL : err);
	return rc ? rc : end;
}

int bi__use_launch(struct bi_stream *stream, const struct bi_use *uses, size_t count,
		   const struct bi__kernel_launch *launch, struct bi_error *err)
{
	struct bi__device *device = &stream->context->device;
	struct used used;
	int rc = bi__dispatch_alive(device, err), end;

	if (rc)
		return rc;
	bi__memory_limit_retired(stream);
	/* A kernel on the host may call the library for the same memory, so no lock is held while it runs. */
	if (!device->backend->synchronous && collect(&used, uses, 0, count, 0) == count)
		return run_step(&used, stream, launch_used_locked, launch, err);
	rc = begin_uses(stream, uses, count, err);
	if (rc)
		return rc;
	rc = bi__dispatch_launch(device, &stream->queue, launch, err);
	end = end_uses(stream, uses, count, rc ? NULL : err);
	return rc ? rc : end;
}

/*
 * Changes the home stream. If the new home stream cannot wait for the old one, or is in an invalid capture, nothing
 * changes. From now on a consumer may enqueue work on the new home stream without calling the library, so the memory is
 * never idle again.
 */
static int move_home_locked(struct bi_memory *memory, struct bi_stream *home, struct bi_error *err)
{
	int is_idle = !memory->order.pending && !memory->order.last_use.context && !memory->order.first_use.count;
	struct bi_stream *before = memory->home;
	int rc = is_idle ? BI_OK : bi__order_check_capture_locked(home, memory, NULL, err);

	if (!rc)
		rc = bi__order_begin_locked(memory, home, err);
	if (rc)
		return rc;
	memory->home = home;
	rc = bi__order_check_capture_locked(home, memory, NULL, err);
	if (rc) {
		memory->home = before;
		return rc;
	}
	atomic_fetch_or(&memory->marks, BI__MARK_NAMED);
	return bi__order_end_locked(memory, home, err);
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
 * Returns 1 if the memory is idle, or if its home stream is the one that the producer named. The last release then
 * waits for no work. Takes no lock, because it reads only atomic members and members that do not change.
 */
int bi_view_release_is_immediate(const struct bi_view *view)
{
	const struct bi_memory *memory = view->memory;

	return memory->idle || (!memory->own && memory->producer && memory->home == memory->producer);
}

/* Waits */

/* If the wait succeeded, frees the retired memories whose work is complete. Returns `rc`, the status of the wait. */
static int free_retired(int rc, struct bi_context *context)
{
	if (!rc && context)
		bi__memory_reap(context, BI__REAP_ALL);
	return rc;
}

int bi_view_synchronize(const struct bi_view *view, struct bi_error *err)
{
	if (!view)
		return bi__fail(err, BI_EINVAL, "view is NULL");
	return free_retired(bi__order_synchronize(view->memory, BI__WAIT_SYNCHRONIZE, err), view->memory->context);
}

int bi_stream_synchronize(struct bi_stream *stream, struct bi_error *err)
{
	if (!stream)
		return bi__fail(err, BI_EINVAL, "stream is NULL");
	return free_retired(bi__stream_synchronize(stream, err), stream->context);
}

int bi_event_synchronize(struct bi_event *event, struct bi_error *err)
{
	if (!event)
		return bi__fail(err, BI_EINVAL, "event is NULL");
	return free_retired(bi__fence_finish(&event->fence, BI__WAIT_SYNCHRONIZE, err), event->fence.context);
}
