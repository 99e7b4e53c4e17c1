#include <stdlib.h>

#include "scheduler.h"
#include "stream.h"

static uint64_t live;

uint64_t events_live(void)
{
	return live;
}

static void free_event(struct event *event)
{
	op_release(event->op);
	clock_clear(&event->clock);
	capture_release(event->capture);
	node_set_clear(&event->tip);
	free(event);
}

static struct event *find(bi__cu_event handle, bi__cu_result *code)
{
	struct event *event = handle_find(OBJECT_EVENT, handle, code);

	if (!event || !event->context->is_destroyed)
		return event;
	report(REPORT_DESTROYED_CONTEXT, "the event was in it");
	*code = BI__CU_ERROR_CONTEXT_IS_DESTROYED;
	return NULL;
}

void events_destroy_of(struct context *context)
{
	for (struct event *event = context->events; event; event = event->next) {
		report(REPORT_LEFT, "an event, when its context was destroyed");
		live--;
	}
}

void events_forget_of(struct context *context)
{
	while (context->events) {
		struct event *event = context->events;

		context->events = event->next;
		if (!context->is_destroyed) {
			report(REPORT_LEFT, "an event");
			live--;
		}
		free_event(event);
	}
}

static bi__cu_result create(bi__cu_event *out, unsigned flags)
{
	struct context *context = thread_top();
	const unsigned ipc = 4; /* CU_EVENT_INTERPROCESS, which is for events without times */
	struct event *event;

	if (!out || flags > 7 || ((flags & ipc) && !(flags & BI__CU_EVENT_DISABLE_TIMING)))
		return BI__CU_ERROR_INVALID_VALUE;
	event = must_alloc(1, sizeof(*event));
	event->context = context;
	event->flags = flags;
	event->handle = handle_make(OBJECT_EVENT, event);
	event->next = context->events;
	context->events = event;
	live++;
	*out = event->handle;
	return BI__CU_SUCCESS;
}

bi__cu_result cuEventCreate(bi__cu_event *event, unsigned flags)
{
	bi__cu_result code = ENTER(cuEventCreate);

	return leave(code ? code : create(event, flags));
}

static bi__cu_result destroy(bi__cu_event handle)
{
	bi__cu_result code;
	struct event *event = find(handle, &code);
	struct event **place;

	if (!event)
		return code;
	place = &event->context->events;
	while (*place != event)
		place = &(*place)->next;
	*place = event->next;
	handle_destroy(handle);
	free_event(event);
	live--;
	return BI__CU_SUCCESS;
}

bi__cu_result cuEventDestroy_v2(bi__cu_event event)
{
	bi__cu_result code = ENTER(cuEventDestroy_v2);

	return leave(code ? code : destroy(event));
}

static void note_record(struct stream *stream, struct event *event)
{
	op_release(event->op);
	event->op = stream_mark(stream);
	clock_copy(&event->clock, &stream->clock);
	capture_release(event->capture);
	event->capture = NULL;
	node_set_clear(&event->tip);
}

static bi__cu_result record(bi__cu_event event_handle, bi__cu_stream stream_handle)
{
	bi__cu_result code;
	struct event *event = find(event_handle, &code);
	struct stream *stream = event ? stream_find(stream_handle, &code) : NULL;

	if (!stream)
		return code;
	if (event->context != stream->context) {
		report(REPORT_WRONG_CONTEXT, "the event and the stream belong to different contexts");
		return BI__CU_ERROR_INVALID_HANDLE;
	}
	code = capture_admits_work(stream);
	if (code)
		return code;
	if (stream->capture)
		capture_record(stream, event);
	else
		note_record(stream, event);
	return BI__CU_SUCCESS;
}

bi__cu_result cuEventRecord(bi__cu_event event, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuEventRecord);

	return leave(code ? code : record(event, stream));
}

static bi__cu_result wait_event(bi__cu_stream stream_handle, bi__cu_event event_handle, unsigned flags)
{
	bi__cu_result code;
	struct event *event = find(event_handle, &code);
	struct stream *stream = event ? stream_find(stream_handle, &code) : NULL;

	if (stream)
		code = flags ? BI__CU_ERROR_INVALID_VALUE : capture_admits_work(stream);
	if (code)
		return code;
	sim.counts.waits++;
	if (drops_wait() || capture_wait(stream, event, &code))
		return code;
	if (event->op)
		stream_follow(stream, event->op, &event->clock);
	return BI__CU_SUCCESS;
}

bi__cu_result cuStreamWaitEvent(bi__cu_stream stream, bi__cu_event event, unsigned flags)
{
	bi__cu_result code = ENTER(cuStreamWaitEvent);

	return leave(code ? code : wait_event(stream, event, flags));
}

static bi__cu_result query(bi__cu_event handle)
{
	bi__cu_result code;
	struct event *event = find(handle, &code);

	if (event)
		code = capture_admits_event(event);
	if (code)
		return code;
	if (event->op && !event->op->is_done)
		return scheduler_not_ready();
	clock_join(&host_clock, &event->clock);
	return BI__CU_SUCCESS;
}

bi__cu_result cuEventQuery(bi__cu_event event)
{
	bi__cu_result code = ENTER(cuEventQuery);

	return leave(code ? code : query(event));
}

/* The event may be recorded again by another thread meanwhile. */
static bi__cu_result wait_for(struct event *event)
{
	struct op *op = op_retain(event->op);
	struct clock clock = { NULL, 0 };
	bi__cu_result code;

	clock_join(&clock, &event->clock);
	code = wait_for_op(op);
	if (!code)
		clock_join(&host_clock, &clock);
	clock_clear(&clock);
	op_release(op);
	return code;
}

static bi__cu_result synchronize(bi__cu_event handle)
{
	bi__cu_result code;
	struct event *event = find(handle, &code);

	if (event)
		code = capture_admits_event(event);
	if (code)
		return code;
	count_host_wait();
	return wait_for(event);
}

bi__cu_result cuEventSynchronize(bi__cu_event event)
{
	bi__cu_result code = ENTER(cuEventSynchronize);

	return leave(code ? code : synchronize(event));
}

static bi__cu_result elapsed(float *milliseconds, bi__cu_event start_handle, bi__cu_event end_handle)
{
	bi__cu_result code;
	const struct event *start = find(start_handle, &code);
	const struct event *end = start ? find(end_handle, &code) : NULL;

	if (!end)
		return code;
	if (!milliseconds)
		return BI__CU_ERROR_INVALID_HANDLE;
	if (start->capture || end->capture)
		return BI__CU_ERROR_CAPTURED_EVENT;
	if ((start->flags | end->flags) & BI__CU_EVENT_DISABLE_TIMING || !start->op || !end->op)
		return BI__CU_ERROR_INVALID_HANDLE;
	if (!start->op->is_done || !end->op->is_done)
		return BI__CU_ERROR_NOT_READY;
	*milliseconds = (float)((double)end->op->time - (double)start->op->time) * 1e-6f;
	return BI__CU_SUCCESS;
}

bi__cu_result cuEventElapsedTime(float *milliseconds, bi__cu_event start, bi__cu_event end)
{
	bi__cu_result code = ENTER(cuEventElapsedTime);

	return leave(code ? code : elapsed(milliseconds, start, end));
}
