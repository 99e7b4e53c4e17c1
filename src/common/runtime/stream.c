#include "common/runtime/stream.h"

#include <stdlib.h>
#include <string.h>

#include "common/backend/registry.h"
#include "common/runtime/fence.h"

void bi__stream_init(struct bi_stream *stream, struct bi_context *context)
{
	static atomic_ullong serials;

	atomic_init(&stream->refs, 1);
	stream->context = context;
	stream->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
}

static int is_context_stream(const struct bi_stream *stream)
{
	return stream == &stream->context->stream;
}

int bi__stream_reaches(const struct bi_stream *stream, const struct bi_memory *memory)
{
	if (memory->backend != stream->context->device.backend)
		return 0;
	return memory->backend->synchronous || bi__same_space(stream->context, memory->context);
}

int bi__stream_refuse(const struct bi_stream *stream, const struct bi_memory *memory, struct bi_error *err)
{
	const char *device = stream->context->device.info->spec;
	const char *place = memory->backend->synchronous ? "the host" : memory->context->device.info->spec;

	if (!strcmp(device, place))
		return bi__fail(
			err, BI_EINVAL,
			"the stream and the memory belong to two contexts of device %s; use one context for both",
			device);
	return bi__fail(err, BI_EINVAL, "the stream of device %s cannot reach memory of %s", device, place);
}

/* A stream that waits for a captured stream joins the capture, so it is marked as a stream that may be captured. */
static void join_capture(struct bi_stream *waiter, struct bi_stream *on)
{
	uint64_t id;

	if (!on->context->device.backend->order.capture || !atomic_load(&on->is_shared) ||
	    atomic_load(&waiter->is_shared))
		return;
	if (bi__stream_capture(on, &id, NULL) || id)
		bi__stream_share(waiter);
}

int bi__stream_follow(struct bi_stream *waiter, struct bi_stream *on, struct bi_error *err)
{
	const struct bi__device *device = &waiter->context->device;
	int is_same = waiter->queue.native == on->queue.native && bi__same_space(waiter->context, on->context);

	join_capture(waiter, on);
	if (is_same && !on->queue.out_of_order)
		return bi__dispatch_alive(device, err);
	return bi__dispatch_follow(device, &waiter->queue, is_same ? &waiter->queue : &on->queue, err);
}

int bi__stream_finish(struct bi_stream *stream, struct bi_error *err)
{
	struct bi_context *context = stream->context;
	int rc = bi__dispatch_finish(&context->device, &stream->queue, err);

	/* In a forked child, and for a captured stream, the call has not waited. */
	if (rc != BI_EFORK && rc != BI_ECAPTURE && context->device.backend->order.finish)
		bi__count_wait(context, BI__WAIT_FAILURE);
	return rc;
}

int bi__stream_is_captured(struct bi_stream *stream)
{
	uint64_t id;
	int rc = bi__stream_capture(stream, &id, NULL);

	return rc == BI_ECAPTURE || (rc == BI_OK && id != 0);
}

int bi__stream_refuse_capture(struct bi_stream *stream, const char *refusal, struct bi_error *err)
{
	uint64_t id;
	int rc = bi__stream_capture(stream, &id, err);

	if (rc || !id)
		return rc;
	return bi__fail(err, BI_ECAPTURE, "the stream is being captured into a graph (capture %llu): %s",
			(unsigned long long)id, refusal);
}

/* The context of bi__host_stream. Only the members that work between host memories needs are set. */
static struct bi_context host_context;
static pthread_once_t host_once = PTHREAD_ONCE_INIT;

static void init_host_context(void)
{
	int count;

	host_context.device.backend = bi__registry_host();
	bi__dispatch_enumerate(host_context.device.backend, &host_context.own_info, 1, &count, NULL);
	host_context.device.info = &host_context.own_info;
	bi__stream_init(&host_context.stream, &host_context);
}

struct bi_stream *bi__host_stream(void)
{
	pthread_once(&host_once, init_host_context);
	return &host_context.stream;
}

/* Makes a stream. queue.native is the handle to wrap, or 0 for a new queue. On success the context is retained. */
static int open_stream(struct bi_context *context, struct bi__queue queue, struct bi_stream **out, struct bi_error *err)
{
	struct bi_stream *stream = calloc(1, sizeof(*stream));
	int rc;

	if (!stream)
		return bi__fail(err, BI_ENOMEM, "no memory for a stream");
	bi__stream_init(stream, context);
	stream->queue = queue;
	atomic_init(&stream->is_shared, queue.native != 0);
	rc = bi__dispatch_stream_open(&context->device, &stream->queue, err);
	if (rc) {
		free(stream);
		return rc;
	}
	stream->id = atomic_fetch_add(&context->stream_ids, 1) + 1;
	bi_context_retain(context);
	*out = stream;
	return BI_OK;
}

int bi_stream_create(struct bi_context *context, unsigned flags, struct bi_stream **out, struct bi_error *err)
{
	if (bi__check_out(out, context != NULL, "context is NULL", err))
		return BI_EINVAL;
	if (flags > BI_STREAM_OUT_OF_ORDER)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits, not in 0x%x", flags,
				BI_STREAM_OUT_OF_ORDER);
	if (flags && !(context->device.info->capabilities & BI_CAP_OUT_OF_ORDER))
		return bi__fail(err, BI_EUNSUPPORTED, "device %s has no out-of-order streams",
				context->device.info->spec);
	return open_stream(context, (struct bi__queue){ .out_of_order = (int)flags }, out, err);
}

int bi_stream_wrap(struct bi_context *context, uintptr_t handle, bi_release_fn release, void *release_data,
		   struct bi_stream **out, struct bi_error *err)
{
	int rc;

	if (bi__check_out(out, context && handle, "context is NULL or handle is 0", err))
		return BI_EINVAL;
	rc = open_stream(context, (struct bi__queue){ .native = handle }, out, err);
	if (rc)
		return rc;
	(*out)->release.fn = release;
	(*out)->release.data = release_data;
	return BI_OK;
}

struct bi_stream *bi_stream_retain(struct bi_stream *stream)
{
	if (is_context_stream(stream))
		bi_context_retain(stream->context);
	else
		atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
	return stream;
}

static void destroy_stream(struct bi_stream *stream)
{
	struct bi_context *context = stream->context;
	struct bi__scope *scope;

	for (int waits = bi__dispatch_stream_close(&context->device, &stream->queue); waits > 0; waits--)
		bi__count_wait(context, BI__WAIT_CLOSE);
	if (stream->release.fn) {
		scope = bi__dispatch_pause();
		stream->release.fn(stream->release.data);
		bi__dispatch_resume(scope);
	}
	free(stream);
	bi_context_release(context);
}

void bi_stream_release(struct bi_stream *stream)
{
	if (!stream)
		return;
	if (is_context_stream(stream))
		bi_context_release(stream->context);
	else if (atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) == 1)
		destroy_stream(stream);
}

struct bi_context *bi_stream_context(const struct bi_stream *stream)
{
	return stream->context;
}

uintptr_t bi_stream_handle(const struct bi_stream *stream)
{
	return bi__stream_share((struct bi_stream *)(uintptr_t)stream);
}

/* Notes that the work of the first `count` calls (bi__queue.enqueued) is complete. */
static void note_completed(struct bi__queue *queue, unsigned long long count)
{
	unsigned long long known = atomic_load(&queue->completed);

	while (known < count && !atomic_compare_exchange_weak(&queue->completed, &known, count))
		;
}

/* Returns 1 if no other code can have enqueued work on the stream, and the work of all `enqueued` calls is complete. */
static int is_seen_complete(struct bi_stream *stream, unsigned long long enqueued)
{
	return stream->context->device.backend->streams_stand_alone && !atomic_load(&stream->is_shared) &&
	       atomic_load(&stream->queue.completed) == enqueued;
}

int bi__stream_synchronize(struct bi_stream *stream, struct bi_error *err)
{
	unsigned long long enqueued = atomic_load(&stream->queue.enqueued);
	struct bi__scope scope;
	int rc;

	if (is_seen_complete(stream, enqueued))
		return bi__dispatch_alive(&stream->context->device, err);
	bi__dispatch_begin(&scope, &stream->context->device);
	rc = bi__stream_refuse_capture(stream, "its work cannot be waited for", err);
	if (!rc)
		rc = bi__fence_await(stream, BI__WAIT_SYNCHRONIZE, err);
	bi__dispatch_end(&scope);
	if (!rc)
		note_completed(&stream->queue, enqueued);
	return rc;
}

/*
 * Returns BI_ECAPTURE if `stream` is being captured and `other` does not belong to the same capture. A stream that is
 * not captured may wait for a captured stream: it then joins the capture.
 */
static int check_same_capture(struct bi_stream *stream, struct bi_stream *other, struct bi_error *err)
{
	uint64_t id, other_id = 0;
	int rc = bi__stream_capture(stream, &id, err);

	if (!rc && id)
		rc = bi__stream_capture(other, &other_id, err);
	if (rc || !id || id == other_id)
		return rc;
	return bi__fail(err, BI_ECAPTURE, "a stream of graph capture %llu cannot wait for one of %llu (0: none)",
			(unsigned long long)id, (unsigned long long)other_id);
}

int bi_stream_join(struct bi_stream *stream, struct bi_stream *const *others, size_t count, struct bi_error *err)
{
	int rc = BI_OK;

	if (!stream || (count && !others))
		return bi__fail(err, BI_EINVAL, "stream or others is NULL");
	for (size_t i = 0; i < count; i++)
		if (!others[i] || !bi__same_space(stream->context, others[i]->context))
			return bi__fail(err, BI_EINVAL, "others[%zu] %s", i,
					others[i] ? "belongs to another context" : "is NULL");
	for (size_t i = 0; i < count && !rc; i++)
		rc = check_same_capture(stream, others[i], err);
	for (size_t i = 0; i < count && !rc; i++)
		rc = bi__stream_follow(stream, others[i], err);
	return rc;
}

/*
 * Returns BI_ECAPTURE if the stream is being captured, and an event that the library recorded outside of captures is
 * pending: the driver would invalidate the capture. A wrapped event is not queried, because a query invalidates the
 * capture in which the event may have been recorded. Sets *is_done to 1 if a query found the event complete, else to 0.
 */
static int check_wait_in_capture(struct bi_stream *stream, const struct bi_event *event, int *is_done,
				 struct bi_error *err)
{
	struct bi_error query;
	uint64_t capture;
	int rc = bi__stream_capture(stream, &capture, err);

	*is_done = 0;
	if (rc || !capture || !event->is_own)
		return rc;
	rc = bi__fence_query(&event->fence, is_done, &query);
	if (rc == BI_ECAPTURE)
		return BI_OK;
	if (rc && err)
		*err = query;
	if (rc || *is_done)
		return rc;
	return bi__fail(err, BI_ECAPTURE,
			"a stream of graph capture %llu cannot wait for pending work outside of it: synchronise the event "
			"before the capture",
			(unsigned long long)capture);
}

int bi_stream_wait(struct bi_stream *stream, struct bi_event *event, struct bi_error *err)
{
	int rc, done;

	if (!stream || !event)
		return bi__fail(err, BI_EINVAL, "stream or event is NULL");
	if (event->fence.context && !bi__same_space(stream->context, event->fence.context))
		return bi__fail(err, BI_EINVAL, "event belongs to another context than the stream");
	bi__stream_share(stream);
	rc = stream->context->device.backend->order.capture ? check_wait_in_capture(stream, event, &done, err)
							    : bi__fence_query(&event->fence, &done, err);
	return rc || done ? rc : bi__fence_wait(stream, &event->fence, err);
}
