#define _POSIX_C_SOURCE 200809L
#include "common/backend/dispatch.h"

#include <time.h>

#include "common/base/fork.h"
#include "common/backend/registry.h"
#include "common/runtime/report.h"

int bi__dispatch_refuse_child(const struct bi_context *context, struct bi_error *err)
{
	return bi__fail(err, BI_EFORK, "device %s was opened before this process was forked",
			context->device.info->spec);
}

/* A driver that was opened before the fork hangs after it. */
static int check_driver(const struct bi__backend *backend, struct bi_error *err)
{
	if (bi__survives_fork(backend))
		return BI_OK;
	bi__fork_watch();
	if (bi__fork_generation() > 0)
		return bi__fail(err, BI_EFORK, "%s was opened before this process was forked", backend->name);
	return BI_OK;
}

int bi__dispatch_enumerate(const struct bi__backend *backend, struct bi_device *devices, int capacity, int *count,
			   struct bi_error *err)
{
	int rc = check_driver(backend, err);

	*count = 0;
	return rc ? rc : backend->enumerate(devices, capacity, count, err);
}

const struct bi_device *bi__dispatch_recall(const struct bi__backend *backend, const char *spec)
{
	/* What a driver listed before a fork it cannot open after it. */
	if (!backend->recall || (!bi__survives_fork(backend) && bi__fork_generation() > 0))
		return NULL;
	return backend->recall(spec);
}

int bi__dispatch_open(struct bi_context *context, const struct bi_options *options, struct bi_error *err)
{
	int rc = check_driver(context->device.backend, err);

	context->device.fork_generation = bi__fork_generation();
	if (rc || !context->device.backend->open)
		return rc;
	return context->device.backend->open(options, context->device.info, context->own_info, &context->device.state,
					     &context->stream.queue, err);
}

void bi__dispatch_close(struct bi_context *context)
{
	if (context->device.backend->close && bi__dispatch_alive(context, NULL) == BI_OK)
		context->device.backend->close(&context->device.state, &context->stream.queue);
}

int bi__dispatch_enter(struct bi_context *context, int *entered, struct bi_error *err)
{
	int rc = bi__dispatch_alive(context, err);

	return rc || !context->device.backend->enter
		       ? rc
		       : context->device.backend->enter(&context->device.state, entered, err);
}

void bi__dispatch_leave(struct bi_context *context)
{
	if (context->device.backend->leave && bi__dispatch_alive(context, NULL) == BI_OK)
		context->device.backend->leave(&context->device.state);
}

int bi__dispatch_alloc(struct bi_memory *memory, struct bi_error *err)
{
	int rc = bi__dispatch_reachable(memory, err);

	if (!rc && !bi__is_synchronous(memory))
		rc = bi__dispatch_refuse_capture(&memory->context->stream, "no memory is allocated", err);
	return rc ? rc : memory->backend->alloc(&memory->context->device.state, &memory->block, err);
}

int bi__dispatch_adopt(struct bi_memory *memory, const struct bi_foreign *foreign, struct bi_error *err)
{
	int rc = bi__dispatch_reachable(memory, err);

	if (rc)
		return rc;
	if (!memory->backend->adopt)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s does not wrap foreign memory", memory->backend->name);
	return memory->backend->adopt(&memory->context->device.state, foreign, &memory->block, err);
}

void bi__dispatch_free(struct bi_context *context, struct bi_memory *memory)
{
	if (bi__is_cpu_addressable(memory))
		memory->backend->free(NULL, &memory->block);
	else if (bi__dispatch_alive(context, NULL) == BI_OK)
		memory->backend->free(&context->device.state, &memory->block);
}

int bi__dispatch_stream_open(struct bi_stream *stream, struct bi_error *err)
{
	struct bi_context *context = stream->context;
	int rc = bi__dispatch_alive(context, err);

	if (rc || (!context->device.backend->stream_open && !stream->queue.native))
		return rc;
	if (!context->device.backend->stream_open)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s has no streams to wrap",
				context->device.backend->name);
	return context->device.backend->stream_open(&context->device.state, &stream->queue, err);
}

void bi__dispatch_stream_close(struct bi_stream *stream)
{
	if (stream->context->device.backend->stream_close && bi__dispatch_alive(stream->context, NULL) == BI_OK)
		stream->context->device.backend->stream_close(&stream->queue);
}

int bi__dispatch_follow(struct bi_stream *waiter, struct bi_stream *on, struct bi_error *err)
{
	const struct bi__backend *backend = waiter->context->device.backend;
	int is_same = waiter->queue.native == on->queue.native && bi__same_space(waiter->context, on->context);
	int rc = bi__dispatch_alive(waiter->context, err);

	if (rc || !backend->follow || (is_same && !on->queue.out_of_order))
		return rc;
	return backend->follow(&waiter->queue, is_same ? &waiter->queue : &on->queue, err);
}

int bi__dispatch_capture(struct bi_stream *stream, uint64_t *id, struct bi_error *err)
{
	const struct bi__backend *backend = stream->context->device.backend;
	int rc = bi__dispatch_alive(stream->context, err);

	*id = 0;
	return rc || !backend->capture ? rc : backend->capture(&stream->queue, id, err);
}

int bi__dispatch_refuse_capture(struct bi_stream *stream, const char *what, struct bi_error *err)
{
	uint64_t id;
	int rc = bi__dispatch_capture(stream, &id, err);

	if (rc || !id)
		return rc;
	return bi__fail(err, BI_ECAPTURE, "the stream is being captured into a graph (capture %llu): %s",
			(unsigned long long)id, what);
}

int bi__dispatch_finish(struct bi_stream *stream, struct bi_error *err)
{
	struct bi_context *context = stream->context;
	int rc = bi__dispatch_alive(context, err);

	if (rc || !context->device.backend->finish)
		return rc;
	atomic_fetch_add_explicit(&context->waits[BI__WAIT_FAILURE], 1, memory_order_relaxed);
	return context->device.backend->finish(&stream->queue, err);
}

int bi__fence_record(struct bi_stream *stream, struct bi__fence *out, struct bi_error *err)
{
	struct bi_context *context = stream->context;
	int rc = bi__dispatch_alive(context, err);
	uintptr_t event = 0;

	if (!rc && context->device.backend->record)
		rc = context->device.backend->record(&stream->queue, &event, err);
	if (rc)
		return rc;
	bi__fence_clear(out);
	if (event)
		*out = (struct bi__fence){ bi_context_retain(context), event };
	return BI_OK;
}

int bi__fence_wrap(struct bi_context *context, uintptr_t native, struct bi__fence *out, struct bi_error *err)
{
	int rc = bi__dispatch_alive(context, err);
	uintptr_t event = 0;

	if (!rc && !context->device.backend->event_wrap)
		rc = bi__fail(err, BI_EUNSUPPORTED, "backend %s has no events to wrap", context->device.backend->name);
	if (!rc)
		rc = context->device.backend->event_wrap(&context->device.state, native, &event, err);
	if (!rc)
		*out = (struct bi__fence){ bi_context_retain(context), event };
	return rc;
}

int bi__fence_share(const struct bi__fence *fence, struct bi__fence *out, struct bi_error *err)
{
	struct bi_context *context = fence->context;
	int rc = context ? bi__dispatch_alive(context, err) : BI_OK;

	if (!rc && context)
		rc = context->device.backend->event_retain(fence->event, err);
	if (!rc && context)
		*out = (struct bi__fence){ bi_context_retain(context), fence->event };
	return rc;
}

uintptr_t bi__fence_handle(const struct bi__fence *fence)
{
	if (!fence->context || !fence->context->device.backend->event_handle)
		return fence->event;
	return fence->context->device.backend->event_handle(fence->event);
}

void bi__dispatch_drop_event(const struct bi_context *context, uintptr_t event)
{
	if (event && bi__dispatch_alive(context, NULL) == BI_OK)
		context->device.backend->event_release(event);
}

void bi__fence_drop(struct bi__fence *fence)
{
	struct bi_context *context = fence->context;

	bi__dispatch_drop_event(context, fence->event);
	*fence = (struct bi__fence){ NULL, 0 };
	bi_context_release(context);
}

int bi__fence_wait(struct bi_stream *stream, const struct bi__fence *fence, struct bi_error *err)
{
	int rc = bi__dispatch_alive(stream->context, err);

	if (rc || !fence->context)
		return rc;
	return stream->context->device.backend->wait(&stream->queue, fence->event, err);
}

int bi__fence_query(const struct bi__fence *fence, int *done, struct bi_error *err)
{
	int rc;

	*done = 1;
	if (!fence->context)
		return BI_OK;
	rc = bi__dispatch_alive(fence->context, err);
	return rc ? rc : fence->context->device.backend->poll(fence->event, 0, done, err);
}

int bi__fence_block(const struct bi__fence *fence, enum bi__wait_reason reason, struct bi_error *err)
{
	int rc, done;

	if (!fence->context)
		return BI_OK;
	rc = bi__dispatch_alive(fence->context, err);
	if (rc)
		return rc;
	rc = fence->context->device.backend->poll(fence->event, 1, &done, err);
	/* An event of a graph capture is refused without a wait. */
	if (rc != BI_ECAPTURE)
		atomic_fetch_add_explicit(&fence->context->waits[reason], 1, memory_order_relaxed);
	return rc;
}

static struct bi__place place_of(const struct bi_memory *memory)
{
	if (bi__is_cpu_addressable(memory))
		return (struct bi__place){ .host = memory->block.host, .lent = memory->lent };
	return (struct bi__place){ .block = &memory->block, .device = &memory->context->device.state };
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Options debug: every operation is complete before its call returns. */
static int debug_wait(struct bi_stream *stream, struct bi_error *err)
{
	struct bi__fence fence = { NULL, 0 };
	int rc = bi__fence_record(stream, &fence, err);

	if (!rc)
		rc = bi__fence_block(&fence, BI__WAIT_DEBUG, err);
	bi__fence_clear(&fence);
	return rc;
}

/* One event for two: the report's, and the end of the work. Without the second the end is recorded when it is needed.
 */
static void keep_end(struct bi_context *context, uintptr_t event, int is_timed, struct bi__fence *end)
{
	if (event && (!is_timed || context->device.backend->event_retain(event, NULL) == BI_OK))
		*end = (struct bi__fence){ bi_context_retain(context), event };
}

/* Whose report tells of a copy. */
static struct bi_context *owner_of(const struct bi_memory *dst, const struct bi_memory *src)
{
	return src && bi__is_cpu_addressable(dst) && !bi__is_cpu_addressable(src) ? src->context : dst->context;
}

int bi__dispatch_copy_at_once(const struct bi_stream *stream, const char *operation, const struct bi__plan *plan,
			      const struct bi_memory *dst, const struct bi_memory *src, const void *element,
			      struct bi_error *err)
{
	const struct bi__place to = { .host = bi__address(dst) };
	const struct bi__place from = { .host = src ? bi__address(src) : element };
	struct bi_context *owner = owner_of(dst, src);
	int recorded = bi__report_active(owner);
	int64_t start = recorded ? now() : 0;
	int rc = bi__registry_host()->copy(NULL, NULL, plan, &to, &from, NULL, err);

	if (!rc && recorded)
		bi__report_add(owner, stream, operation, plan, now() - start, 0);
	return rc;
}

int bi__dispatch_copy(struct bi_stream *stream, const char *operation, const struct bi__plan *plan,
		      const struct bi_memory *dst, const struct bi_memory *src, const void *element,
		      size_t element_size, struct bi__fence *end, struct bi_error *err)
{
	struct bi_context *context = stream->context;
	struct bi_context *owner = owner_of(dst, src);
	struct bi__place to = place_of(dst);
	struct bi__place from = src ? place_of(src) : (struct bi__place){ .host = element, .immediate = element_size };
	int recorded = bi__report_active(owner), waits = owner->debug, is_timed;
	int marks =
		end && context->device.backend->copy_marks && !stream->queue.out_of_order && (!to.block || !from.block);
	uintptr_t event = 0;
	int64_t start = recorded ? now() : 0;
	uint64_t capture = 0;
	int rc = bi__dispatch_alive(context, err);

	if (!rc && (recorded || waits))
		rc = bi__dispatch_capture(stream, &capture, err);
	if (rc)
		return rc;
	/* What is captured does not run now. */
	if (capture)
		recorded = waits = 0;
	/* An event of a peer may not outlive its context, and the report would keep it. */
	is_timed = recorded && (owner == context || !context->device.backend->has_peers);
	rc = context->device.backend->copy(&context->device.state, &stream->queue, plan, &to, &from,
					   is_timed || marks ? &event : NULL, err);
	if (rc)
		return rc;
	if (marks)
		keep_end(context, event, is_timed, end);
	if (recorded)
		bi__report_add(owner, stream, operation, plan, is_timed && !event ? now() - start : -1,
			       is_timed ? event : 0);
	return waits ? debug_wait(stream, err) : BI_OK;
}

int bi__dispatch_takes(struct bi_context *context, const struct bi__plan *plan, const struct bi_memory *dst,
		       const struct bi_memory *src, int *takes, struct bi_error *err)
{
	const struct bi__place to = place_of(dst), from = place_of(src);
	int rc = bi__dispatch_alive(context, err);

	*takes = (context->device.info->capabilities & BI_CAP_NATIVE_COPY) != 0;
	if (rc || *takes || !context->device.backend->takes)
		return rc;
	return context->device.backend->takes(&context->device.state, plan, &to, &from, takes, err);
}

int bi__dispatch_can_map(const struct bi_memory *memory)
{
	return memory->backend->map != NULL;
}

int bi__dispatch_map(struct bi_memory *memory, size_t offset, size_t nbytes, unsigned mode, void **pointer,
		     struct bi__fence *out, struct bi_error *err)
{
	struct bi_context *context = memory->context;
	int rc = bi__dispatch_alive(context, err);
	uintptr_t event = 0;

	if (!rc)
		rc = context->device.backend->map(&context->device.state, &memory->home->queue, &memory->block, offset,
						  nbytes, mode, pointer, &event, err);
	if (!rc && event)
		*out = (struct bi__fence){ bi_context_retain(context), event };
	return rc;
}

int bi__dispatch_unmap(struct bi_memory *memory, void *pointer, struct bi_error *err)
{
	struct bi_context *context = memory->context;
	int rc = bi__dispatch_alive(context, err);

	return rc ? rc
		  : context->device.backend->unmap(&context->device.state, &memory->home->queue, &memory->block,
						   pointer, err);
}

int bi__dispatch_lend(struct bi_memory *memory, void **pointer, struct bi_error *err)
{
	struct bi_context *context = memory->context;
	const struct bi__backend *backend = context->device.backend;
	struct bi__queue queue = { .native = 0 };
	struct bi__fence fence = { context, 0 };
	int rc = bi__dispatch_alive(context, err);

	if (!rc)
		rc = backend->stream_open(&context->device.state, &queue, err);
	if (rc)
		return rc;
	rc = backend->map(&context->device.state, &queue, &memory->block, 0, memory->nbytes, BI_MAP_READ | BI_MAP_WRITE,
			  pointer, &fence.event, err);
	if (!rc) {
		rc = bi__fence_block(&fence, BI__WAIT_STAGING, err);
		if (rc)
			backend->unmap(&context->device.state, &queue, &memory->block, *pointer, NULL);
		bi__dispatch_drop_event(context, fence.event);
	}
	backend->stream_close(&queue);
	return rc;
}

/* The driver may be opened by a question, and its backend be named in the answer. */
static int check_question(const struct bi__backend *backend, const char **name, struct bi_error *err)
{
	if (name)
		*name = backend->name;
	return check_driver(backend, err);
}

int bi__dispatch_locate(enum bi_handle_kind kind, uintptr_t handle, struct bi__origin *out, const char **name,
			struct bi_error *err)
{
	const struct bi__backend *backend;
	int rc;

	for (size_t i = 0; (backend = bi__registry_backend(i)); i++)
		if (backend->handle == kind && backend->locate) {
			rc = check_question(backend, name, err);
			return rc ? rc : backend->locate(handle, out, err);
		}
	return bi__fail(err, BI_EUNSUPPORTED, "handle kind %d cannot be located by this build", (int)kind);
}

int bi__dispatch_locate_queue(uint32_t kind, uintptr_t queue, struct bi__origin *out, const char **name,
			      struct bi_error *err)
{
	const struct bi__backend *backend;
	int rc;

	for (size_t i = 0; (backend = bi__registry_backend(i)); i++)
		if (bi__wraps_stream_kind(backend, kind) && backend->locate_queue) {
			rc = check_question(backend, name, err);
			return rc ? rc : backend->locate_queue(queue, out, err);
		}
	return bi__fail(err, BI_EUNSUPPORTED, "stream kind %u cannot be located by this build", kind);
}

void bi__dispatch_drop_caches(struct bi_context *context)
{
	if (context->device.backend->drop_caches && bi__dispatch_alive(context, NULL) == BI_OK)
		context->device.backend->drop_caches(&context->device.state);
}

void bi__dispatch_cache_state(const struct bi_context *context, uint64_t *built, uint64_t *loaded)
{
	*built = *loaded = 0;
	if (context->device.backend->cache_state)
		context->device.backend->cache_state(&context->device.state, built, loaded);
}

int64_t bi__dispatch_elapsed(const struct bi_context *context, uintptr_t event)
{
	return context->device.backend->elapsed ? context->device.backend->elapsed(event) : -1;
}
