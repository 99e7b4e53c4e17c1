#include <stdlib.h>

#include "common/runtime/fence.h"

/* Returns an event that is complete until its fence is set, or NULL with the error set. */
static struct bi_event *new_event(struct bi_error *err)
{
	struct bi_event *event = malloc(sizeof(*event));

	if (!event) {
		bi__fail(err, BI_ENOMEM, "no memory for an event");
		return NULL;
	}
	atomic_init(&event->refs, 1);
	event->fence = BI__FENCE_NONE;
	return event;
}

/* If rc is BI_OK, sets *out to the event, else frees the event. Returns rc, the result of setting its fence. */
static int hand_over_event(struct bi_event *event, int rc, struct bi_event **out)
{
	if (rc)
		free(event);
	else
		*out = event;
	return rc;
}

int bi_event_record(struct bi_stream *stream, struct bi_event **out, struct bi_error *err)
{
	struct bi_event *event;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!stream)
		return bi__fail(err, BI_EINVAL, "stream is NULL");
	event = new_event(err);
	if (!event)
		return BI_ENOMEM;
	return hand_over_event(event, bi__fence_record(stream, &event->fence, err), out);
}

int bi_event_wrap(struct bi_context *context, uintptr_t handle, struct bi_event **out, struct bi_error *err)
{
	struct bi_event *event;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!context || !handle)
		return bi__fail(err, BI_EINVAL, "context is NULL or handle is 0");
	event = new_event(err);
	if (!event)
		return BI_ENOMEM;
	return hand_over_event(event, bi__fence_wrap(context, handle, &event->fence, err), out);
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

int bi_event_synchronize(struct bi_event *event, struct bi_error *err)
{
	if (!event)
		return bi__fail(err, BI_EINVAL, "event is NULL");
	return bi__fence_block(&event->fence, BI__WAIT_SYNCHRONIZE, err);
}
