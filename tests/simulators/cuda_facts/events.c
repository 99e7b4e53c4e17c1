/* Events: recorded or not, complete or not, with and without timing. */
#include "facts.h"

static const char *create_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->EventCreate(NULL, 0));
}

static const char *create_with_unknown_flags(struct objects *objects)
{
	bi__cu_event event;
	bi__cu_result result = cu->EventCreate(&event, 0x80);

	(void)objects;
	if (result == BI__CU_SUCCESS)
		cu->EventDestroy(event);
	return code(result);
}

static const char *query_null(struct objects *objects)
{
	(void)objects;
	return code(cu->EventQuery(NULL));
}

static const char *destroy_null(struct objects *objects)
{
	(void)objects;
	return code(cu->EventDestroy(NULL));
}

static const char *record_null(struct objects *objects)
{
	return code(cu->EventRecord(NULL, objects->stream));
}

static const char *unrecorded_queried(struct objects *objects)
{
	return code(cu->EventQuery(objects->event));
}

static const char *unrecorded_synchronized(struct objects *objects)
{
	return code(cu->EventSynchronize(objects->event));
}

static const char *unrecorded_waited(struct objects *objects)
{
	bi__cu_result result = cu->StreamWaitEvent(objects->stream, objects->event, 0);

	return say("%s %s", code(result), code(cu->StreamSynchronize(objects->stream)));
}

static const char *record_on(struct objects *objects, bi__cu_stream stream)
{
	bi__cu_result result = cu->EventRecord(objects->event, stream);

	return say("%s %s", code(result), code(cu->EventSynchronize(objects->event)));
}

static const char *recorded_on_stream(struct objects *objects)
{
	return record_on(objects, objects->stream);
}

static const char *recorded_on_zero(struct objects *objects)
{
	return record_on(objects, NULL);
}

static const char *recorded_on_legacy(struct objects *objects)
{
	return record_on(objects, BI__CU_STREAM_LEGACY);
}

static const char *recorded_on_per_thread(struct objects *objects)
{
	return record_on(objects, BI__CU_STREAM_PER_THREAD);
}

static const char *pending_queried(struct objects *objects)
{
	if (!close_gate(objects, objects->stream))
		return NO_GATE;
	cu->EventRecord(objects->event, objects->stream);
	return code(cu->EventQuery(objects->event));
}

static const char *pending_destroyed(struct objects *objects)
{
	bi__cu_event event;
	bi__cu_result result;

	if (cu->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING) != BI__CU_SUCCESS)
		return "fails";
	if (!close_gate(objects, objects->stream)) {
		cu->EventDestroy(event);
		return NO_GATE;
	}
	cu->EventRecord(event, objects->stream);
	result = cu->EventDestroy(event);
	open_gate(objects);
	return say("%s %s", code(result), code(cu->StreamSynchronize(objects->stream)));
}

/* A wait stays valid when its event is destroyed: the second stream still waits for the first. */
static const char *wait_outlives_event(struct objects *objects)
{
	bi__cu_event event;
	bi__cu_result result;

	if (cu->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING) != BI__CU_SUCCESS)
		return "fails";
	if (!close_gate(objects, objects->stream)) {
		cu->EventDestroy(event);
		return NO_GATE;
	}
	cu->EventRecord(event, objects->stream);
	cu->StreamWaitEvent(objects->second, event, 0);
	cu->EventDestroy(event);
	result = cu->StreamQuery(objects->second);
	return code(result);
}

/* The second stream waits for the record before the gate, not for the one behind it. */
static const char *wait_for_earlier_record(struct objects *objects)
{
	bi__cu_result result;

	cu->EventRecord(objects->event, objects->stream);
	cu->StreamWaitEvent(objects->second, objects->event, 0);
	if (!close_gate(objects, objects->stream))
		return NO_GATE;
	cu->EventRecord(objects->event, objects->stream);
	result = cu->StreamSynchronize(objects->second);
	return say("%s, the event %s", code(result), code(cu->EventQuery(objects->event)));
}

static const char *wait_in_other_context(struct objects *objects)
{
	bi__cu_result wait, query;

	if (!close_gate(objects, objects->stream))
		return NO_GATE;
	cu->EventRecord(objects->event, objects->stream);
	wait = cu->StreamWaitEvent(objects->other_stream, objects->event, 0);
	query = cu->StreamQuery(objects->other_stream);
	open_gate(objects);
	return say("%s %s", code(wait), code(query));
}

static const char *elapsed(bi__cu_event start, bi__cu_event end)
{
	float milliseconds = -1;
	bi__cu_result result = cu->EventElapsedTime(&milliseconds, start, end);

	return result ? code(result) : milliseconds >= 0 ? "not negative" : "negative";
}

static const char *elapsed_complete(struct objects *objects)
{
	cu->EventRecord(objects->timed, objects->stream);
	cu->MemsetD8Async(objects->memory, 1, OBJECT_BYTES, objects->stream);
	cu->EventRecord(objects->timed_too, objects->stream);
	cu->EventSynchronize(objects->timed_too);
	return elapsed(objects->timed, objects->timed_too);
}

static const char *elapsed_same(struct objects *objects)
{
	cu->EventRecord(objects->timed, objects->stream);
	cu->EventSynchronize(objects->timed);
	return elapsed(objects->timed, objects->timed);
}

static const char *elapsed_unrecorded(struct objects *objects)
{
	cu->EventRecord(objects->timed, objects->stream);
	cu->EventSynchronize(objects->timed);
	return elapsed(objects->timed, objects->timed_too);
}

static const char *elapsed_without_timing(struct objects *objects)
{
	cu->EventRecord(objects->timed, objects->stream);
	cu->EventRecord(objects->event, objects->stream);
	cu->EventSynchronize(objects->event);
	return elapsed(objects->timed, objects->event);
}

static const char *elapsed_pending(struct objects *objects)
{
	cu->EventRecord(objects->timed, objects->stream);
	if (!close_gate(objects, objects->stream))
		return NO_GATE;
	cu->EventRecord(objects->timed_too, objects->stream);
	return elapsed(objects->timed, objects->timed_too);
}

static const char *elapsed_pending_without_timing(struct objects *objects)
{
	cu->EventRecord(objects->timed, objects->stream);
	if (!close_gate(objects, objects->stream))
		return NO_GATE;
	cu->EventRecord(objects->event, objects->stream);
	return elapsed(objects->timed, objects->event);
}

static const char *elapsed_to_null(struct objects *objects)
{
	cu->EventRecord(objects->timed, objects->stream);
	cu->EventRecord(objects->timed_too, objects->stream);
	cu->EventSynchronize(objects->timed_too);
	return code(cu->EventElapsedTime(NULL, objects->timed, objects->timed_too));
}

static const char *elapsed_of_null(struct objects *objects)
{
	return elapsed(NULL, objects->timed);
}

const struct fact events_facts[] = {
	FACT(create_to_null, documented),
	FACT(create_with_unknown_flags, documented),
	FACT(query_null, assumed),
	FACT(destroy_null, assumed),
	FACT(record_null, assumed),
	FACT(unrecorded_queried, documented),
	FACT(unrecorded_synchronized, documented),
	FACT(unrecorded_waited, documented),
	FACT(recorded_on_stream, documented),
	FACT(recorded_on_zero, documented),
	FACT(recorded_on_legacy, documented),
	FACT(recorded_on_per_thread, documented),
	FACT(pending_queried, documented),
	FACT(pending_destroyed, documented),
	FACT(wait_outlives_event, documented),
	FACT(wait_for_earlier_record, documented),
	FACT(wait_in_other_context, documented),
	FACT(elapsed_complete, documented),
	FACT(elapsed_same, assumed),
	FACT(elapsed_unrecorded, documented),
	FACT(elapsed_without_timing, documented),
	FACT(elapsed_pending, documented),
	FACT(elapsed_pending_without_timing, assumed),
	FACT(elapsed_to_null, documented),
	FACT(elapsed_of_null, assumed),
	{ NULL, assumed, NULL },
};
