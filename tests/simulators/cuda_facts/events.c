/* Events: recorded or not, complete or not, with and without timing. */
#include "facts.h"

static const char *create_to_null(struct kit *kit)
{
	(void)kit;
	return code(cu->EventCreate(NULL, 0));
}

static const char *create_with_unknown_flags(struct kit *kit)
{
	bi__cu_event event;
	bi__cu_result result = cu->EventCreate(&event, 0x80);

	(void)kit;
	if (result == BI__CU_SUCCESS)
		cu->EventDestroy(event);
	return code(result);
}

static const char *query_null(struct kit *kit)
{
	(void)kit;
	return code(cu->EventQuery(NULL));
}

static const char *destroy_null(struct kit *kit)
{
	(void)kit;
	return code(cu->EventDestroy(NULL));
}

static const char *record_null(struct kit *kit)
{
	return code(cu->EventRecord(NULL, kit->stream));
}

static const char *unrecorded_queried(struct kit *kit)
{
	return code(cu->EventQuery(kit->event));
}

static const char *unrecorded_synchronized(struct kit *kit)
{
	return code(cu->EventSynchronize(kit->event));
}

static const char *unrecorded_waited(struct kit *kit)
{
	bi__cu_result result = cu->StreamWaitEvent(kit->stream, kit->event, 0);

	return say("%s %s", code(result), code(cu->StreamSynchronize(kit->stream)));
}

static const char *record_on(struct kit *kit, bi__cu_stream stream)
{
	bi__cu_result result = cu->EventRecord(kit->event, stream);

	return say("%s %s", code(result), code(cu->EventSynchronize(kit->event)));
}

static const char *recorded_on_stream(struct kit *kit)
{
	return record_on(kit, kit->stream);
}

static const char *recorded_on_zero(struct kit *kit)
{
	return record_on(kit, NULL);
}

static const char *recorded_on_legacy(struct kit *kit)
{
	return record_on(kit, BI__CU_STREAM_LEGACY);
}

static const char *recorded_on_per_thread(struct kit *kit)
{
	return record_on(kit, BI__CU_STREAM_PER_THREAD);
}

static const char *pending_queried(struct kit *kit)
{
	if (!close_gate(kit, kit->stream))
		return NO_GATE;
	cu->EventRecord(kit->event, kit->stream);
	return code(cu->EventQuery(kit->event));
}

static const char *pending_destroyed(struct kit *kit)
{
	bi__cu_event event;
	bi__cu_result result;

	if (cu->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING) != BI__CU_SUCCESS)
		return "fails";
	if (!close_gate(kit, kit->stream)) {
		cu->EventDestroy(event);
		return NO_GATE;
	}
	cu->EventRecord(event, kit->stream);
	result = cu->EventDestroy(event);
	open_gate(kit);
	return say("%s %s", code(result), code(cu->StreamSynchronize(kit->stream)));
}

/* A wait keeps what it was made for when its event is destroyed: the second stream still waits for the first. */
static const char *wait_outlives_event(struct kit *kit)
{
	bi__cu_event event;
	bi__cu_result result;

	if (cu->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING) != BI__CU_SUCCESS)
		return "fails";
	if (!close_gate(kit, kit->stream)) {
		cu->EventDestroy(event);
		return NO_GATE;
	}
	cu->EventRecord(event, kit->stream);
	cu->StreamWaitEvent(kit->second, event, 0);
	cu->EventDestroy(event);
	result = cu->StreamQuery(kit->second);
	return code(result);
}

/* The record before the gate, not the one behind it, is what the second stream waits for. */
static const char *wait_for_earlier_record(struct kit *kit)
{
	bi__cu_result result;

	cu->EventRecord(kit->event, kit->stream);
	cu->StreamWaitEvent(kit->second, kit->event, 0);
	if (!close_gate(kit, kit->stream))
		return NO_GATE;
	cu->EventRecord(kit->event, kit->stream);
	result = cu->StreamSynchronize(kit->second);
	return say("%s, the event %s", code(result), code(cu->EventQuery(kit->event)));
}

static const char *wait_in_other_context(struct kit *kit)
{
	bi__cu_result wait, query;

	if (!close_gate(kit, kit->stream))
		return NO_GATE;
	cu->EventRecord(kit->event, kit->stream);
	wait = cu->StreamWaitEvent(kit->other_stream, kit->event, 0);
	query = cu->StreamQuery(kit->other_stream);
	open_gate(kit);
	return say("%s %s", code(wait), code(query));
}

static const char *elapsed(bi__cu_event start, bi__cu_event end)
{
	float milliseconds = -1;
	bi__cu_result result = cu->EventElapsedTime(&milliseconds, start, end);

	return result ? code(result) : milliseconds >= 0 ? "not negative" : "negative";
}

static const char *elapsed_complete(struct kit *kit)
{
	cu->EventRecord(kit->timed, kit->stream);
	cu->MemsetD8Async(kit->memory, 1, KIT_BYTES, kit->stream);
	cu->EventRecord(kit->timed_too, kit->stream);
	cu->EventSynchronize(kit->timed_too);
	return elapsed(kit->timed, kit->timed_too);
}

static const char *elapsed_same(struct kit *kit)
{
	cu->EventRecord(kit->timed, kit->stream);
	cu->EventSynchronize(kit->timed);
	return elapsed(kit->timed, kit->timed);
}

static const char *elapsed_unrecorded(struct kit *kit)
{
	cu->EventRecord(kit->timed, kit->stream);
	cu->EventSynchronize(kit->timed);
	return elapsed(kit->timed, kit->timed_too);
}

static const char *elapsed_without_timing(struct kit *kit)
{
	cu->EventRecord(kit->timed, kit->stream);
	cu->EventRecord(kit->event, kit->stream);
	cu->EventSynchronize(kit->event);
	return elapsed(kit->timed, kit->event);
}

static const char *elapsed_pending(struct kit *kit)
{
	cu->EventRecord(kit->timed, kit->stream);
	if (!close_gate(kit, kit->stream))
		return NO_GATE;
	cu->EventRecord(kit->timed_too, kit->stream);
	return elapsed(kit->timed, kit->timed_too);
}

static const char *elapsed_pending_without_timing(struct kit *kit)
{
	cu->EventRecord(kit->timed, kit->stream);
	if (!close_gate(kit, kit->stream))
		return NO_GATE;
	cu->EventRecord(kit->event, kit->stream);
	return elapsed(kit->timed, kit->event);
}

static const char *elapsed_to_null(struct kit *kit)
{
	cu->EventRecord(kit->timed, kit->stream);
	cu->EventRecord(kit->timed_too, kit->stream);
	cu->EventSynchronize(kit->timed_too);
	return code(cu->EventElapsedTime(NULL, kit->timed, kit->timed_too));
}

static const char *elapsed_of_null(struct kit *kit)
{
	return elapsed(NULL, kit->timed);
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
