#include "common/runtime/fence.h"

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

int bi__fence_wrap(struct bi_context *context, uintptr_t native, struct bi__fence *out, struct bi_error *err)
{
	uintptr_t event;
	int rc = bi__dispatch_event_wrap(&context->device, native, &event, err);

	if (!rc)
		*out = bi__fence_of(context, event);
	return rc;
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

int bi__fence_block(const struct bi__fence *fence, enum bi__wait_reason reason, struct bi_error *err)
{
	int rc, done;

	if (!fence->context)
		return BI_OK;
	rc = bi__dispatch_poll(&fence->context->device, fence->event, 1, &done, err);
	/* These two errors mean that the call has not waited. */
	if (rc != BI_EFORK && rc != BI_ECAPTURE)
		bi__count_wait(fence->context, reason);
	return rc;
}
