/* Fences, and events, which are fences with a reference count. */
#include "common/runtime/fence.h"

#include <stdlib.h>

#include "common/backend/dispatch.h"

struct bi__fence bi__fence_of(struct bi_context *context, uintptr_t event)
{
	return event ? (struct bi__fence){ bi_context_retain(context), event } : BI__FENCE_NONE;
}

int bi__fence_record(struct bi_stream *stream, struct bi__fence *out, struct bi_error *err)
{
	uintptr_t event;
	int rc = bi__dispatch_record(&stream->context->device, &stream->queue, &event, err);

	if (rc)
		return rc;
	bi__fence_clear(out);
	*out = bi__fence_of(stream->context, event);
	return BI_OK;
}

int bi__fence_share(const struct bi__fence *fence, struct bi__fence *out, struct bi_error *err)
{
	int rc;

	if (!fence->context)
		return BI_OK;
	rc = bi__dispatch_event_retain(&fence->context->device, fence->event, err);
	if (!rc)
		*out = bi__fence_of(fence->context, fence->event);
	return rc;
}

uintptr_t bi__fence_handle(const struct bi__fence *fence)
{
	return fence->context ? bi__dispatch_event_handle(&fence->context->device, fence->event) : 0;
}

void bi__fence_release(struct bi__fence *fence)
{
	struct bi_context *context = fence->context;

	bi__dispatch_event_release(&context->device, fence->event);
	*fence = BI__FENCE_NONE;
	bi_context_release(context);
}

int bi__fence_wait(struct bi_stream *stream, const struct bi__fence *fence, struct bi_error *err)
{
	return bi__dispatch_wait(&stream->context->device, &stream->queue, fence->event, err);
}

int bi__fence_query(const struct bi__fence *fence, int *done, struct bi_error *err)
{
	*done = 1;
	return fence->context ? bi__dispatch_poll(&fence->context->device, fence->event, 0, done, err) : BI_OK;
}

int bi__fence_check_outside(const struct bi__fence *fence, const char *what, struct bi_error *err)
{
	int done, rc = bi__fence_query(fence, &done, err);

	if (rc || done)
		return rc;
	return bi__fail(err, BI_ECAPTURE, "a graph that is being captured cannot wait for %s", what);
}

int bi__fence_block(const struct bi__fence *fence, enum bi__wait_reason reason, struct bi_error *err)
{
	int rc, done;

	if (!fence->context)
		return BI_OK;
	rc = bi__dispatch_poll(&fence->context->device, fence->event, 1, &done, err);
	/* With these two errors, the call has not waited. */
	if (rc != BI_EFORK && rc != BI_ECAPTURE)
		bi__count_wait(fence->context, reason);
	return rc;
}

int bi__fence_finish(const struct bi__fence *fence, enum bi__wait_reason reason, struct bi_error *err)
{
	int rc = bi__fence_block(fence, reason, err);

	if (rc == BI_EPRODUCER && bi__dispatch_drain(&fence->context->device, fence->event))
		bi__count_wait(fence->context, reason);
	return rc;
}

int bi__fence_await(struct bi_stream *stream, enum bi__wait_reason reason, struct bi_error *err)
{
	struct bi__fence fence = BI__FENCE_NONE;
	int rc = bi__fence_record(stream, &fence, err);

	if (!rc)
		rc = bi__fence_finish(&fence, reason, err);
	bi__fence_clear(&fence);
	return rc;
}

/* Sets *out to a new event around `made`, the event of the backend. Takes ownership of `made`, also on failure. */
static int make_event(struct bi_context *context, uintptr_t made, int is_own, struct bi_event **out,
		      struct bi_error *err)
{
	struct bi_event *event = malloc(sizeof(*event));

	if (!event) {
		bi__dispatch_event_release(&context->device, made);
		return bi__fail(err, BI_ENOMEM, "no memory for an event");
	}
	atomic_init(&event->refs, 1);
	event->is_own = is_own;
	event->fence = bi__fence_of(context, made);
	*out = event;
	return BI_OK;
}

int bi_event_record(struct bi_stream *stream, struct bi_event **out, struct bi_error *err)
{
	uintptr_t made;
	int rc;

	if (bi__check_out(out, stream != NULL, "stream is NULL", err))
		return BI_EINVAL;
	rc = bi__dispatch_record(&stream->context->device, &stream->queue, &made, err);
	/* The event counts as work on the stream, so that the next bi_stream_synchronize waits for it. */
	bi__dispatch_count_enqueued(&stream->context->device, &stream->queue);
	return rc ? rc : make_event(stream->context, made, 1, out, err);
}

int bi_event_wrap(struct bi_context *context, uintptr_t handle, struct bi_event **out, struct bi_error *err)
{
	uintptr_t made;
	int rc;

	if (bi__check_out(out, context && handle, "context is NULL or handle is 0", err))
		return BI_EINVAL;
	rc = bi__dispatch_event_wrap(&context->device, handle, &made, err);
	return rc ? rc : make_event(context, made, 0, out, err);
}

struct bi_event *bi_event_retain(struct bi_event *event)
{
	atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
	return event;
}

void bi_event_release(struct bi_event *event)
{
	if (!event || atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) != 1)
		return;
	bi__fence_clear(&event->fence);
	free(event);
}

uintptr_t bi_event_handle(const struct bi_event *event)
{
	return bi__fence_handle(&event->fence);
}

int bi_event_query(struct bi_event *event, int *done, struct bi_error *err)
{
	if (!event || !done)
		return bi__fail(err, BI_EINVAL, "event or done is NULL");
	return bi__fence_query(&event->fence, done, err);
}
