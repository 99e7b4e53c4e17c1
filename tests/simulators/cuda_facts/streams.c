#define _POSIX_C_SOURCE 200809L

/* Streams, and the order between default streams and others. */
#include <time.h>

#include "facts.h"

static const char *create_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamCreate(NULL, 0));
}

static const char *create_with_unknown_flags(struct objects *objects)
{
	bi__cu_stream stream;
	bi__cu_result result = cu->StreamCreate(&stream, 2);

	(void)objects;
	if (result == BI__CU_SUCCESS)
		cu->StreamDestroy(stream);
	return code(result);
}

static const char *destroy_zero(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamDestroy(NULL));
}

static const char *destroy_legacy(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamDestroy(BI__CU_STREAM_LEGACY));
}

static const char *destroy_per_thread(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamDestroy(BI__CU_STREAM_PER_THREAD));
}

/* Queries the context of the stream while the other context is current. */
static const char *context_of(struct objects *objects, bi__cu_stream stream)
{
	bi__cu_context context = NULL;
	bi__cu_result result;

	cu->CtxPushCurrent(objects->other);
	result = cu->StreamGetCtx(stream, &context);
	if (result)
		return code(result);
	return context == objects->other ? "current" : context == objects->context ? "its own" : "unknown";
}

static const char *context_of_created(struct objects *objects)
{
	return context_of(objects, objects->stream);
}

static const char *context_of_zero(struct objects *objects)
{
	return context_of(objects, NULL);
}

static const char *context_of_legacy(struct objects *objects)
{
	return context_of(objects, BI__CU_STREAM_LEGACY);
}

static const char *context_of_per_thread(struct objects *objects)
{
	return context_of(objects, BI__CU_STREAM_PER_THREAD);
}

static const char *context_to_null(struct objects *objects)
{
	return code(cu->StreamGetCtx(objects->stream, NULL));
}

static const char *query_idle(struct objects *objects)
{
	return code(cu->StreamQuery(objects->stream));
}

static const char *query_pending(struct objects *objects)
{
	return close_gate(objects, objects->stream) ? code(cu->StreamQuery(objects->stream)) : NO_GATE;
}

static const char *query_legacy(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamQuery(BI__CU_STREAM_LEGACY));
}

static const char *query_zero(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamQuery(NULL));
}

static const char *query_per_thread(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamQuery(BI__CU_STREAM_PER_THREAD));
}

static const char *synchronize_idle(struct objects *objects)
{
	return code(cu->StreamSynchronize(objects->stream));
}

static const char *synchronize_legacy(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamSynchronize(BI__CU_STREAM_LEGACY));
}

static const char *synchronize_per_thread(struct objects *objects)
{
	(void)objects;
	return code(cu->StreamSynchronize(BI__CU_STREAM_PER_THREAD));
}

static const char *destroy_pending(struct objects *objects)
{
	bi__cu_stream stream;
	bi__cu_result result, query;

	if (cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING) != BI__CU_SUCCESS)
		return "fails";
	if (!close_gate(objects, stream)) {
		cu->StreamDestroy(stream);
		return NO_GATE;
	}
	cu->EventRecord(objects->event, stream);
	result = cu->StreamDestroy(stream);
	query = cu->EventQuery(objects->event);
	open_gate(objects);
	return say("%s, its work %s, later %s", code(result), code(query), code(cu->EventSynchronize(objects->event)));
}

static long milliseconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* Returns "yes" if work on `later` waits for pending work on `earlier`. */
static const char *waits(struct objects *objects, bi__cu_stream later, bi__cu_stream earlier)
{
	struct timespec start;
	bi__cu_result result;

	if (!close_gate(objects, earlier))
		return NO_GATE;
	cu->MemsetD8Async(objects->memory, 1, 16, later);
	cu->EventRecord(objects->event, later);
	result = cu->EventQuery(objects->event);
	if (result != BI__CU_ERROR_NOT_READY)
		return result ? code(result) : "no";
	/* The work waits, or the device has not reached it yet. */
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; result == BI__CU_ERROR_NOT_READY && (i < 1000 || milliseconds_since(&start) < 100); i++)
		result = cu->EventQuery(objects->event);
	return result ? "yes" : "no";
}

static const char *legacy_waits_blocking(struct objects *objects)
{
	return waits(objects, BI__CU_STREAM_LEGACY, objects->blocking);
}

static const char *zero_waits_blocking(struct objects *objects)
{
	return waits(objects, NULL, objects->blocking);
}

static const char *legacy_waits_per_thread(struct objects *objects)
{
	return waits(objects, BI__CU_STREAM_LEGACY, BI__CU_STREAM_PER_THREAD);
}

static const char *blocking_waits_legacy(struct objects *objects)
{
	return waits(objects, objects->blocking, BI__CU_STREAM_LEGACY);
}

static const char *per_thread_waits_legacy(struct objects *objects)
{
	return waits(objects, BI__CU_STREAM_PER_THREAD, BI__CU_STREAM_LEGACY);
}

static const char *legacy_waits_non_blocking(struct objects *objects)
{
	return waits(objects, BI__CU_STREAM_LEGACY, objects->stream);
}

static const char *non_blocking_waits_legacy(struct objects *objects)
{
	return waits(objects, objects->stream, BI__CU_STREAM_LEGACY);
}

static const char *blocking_waits_per_thread(struct objects *objects)
{
	return waits(objects, objects->blocking, BI__CU_STREAM_PER_THREAD);
}

static const char *non_blocking_waits_other(struct objects *objects)
{
	return waits(objects, objects->stream, objects->second);
}

static void query_other_thread(struct objects *objects, void *data)
{
	const char **answer = data;

	*answer = waits(objects, BI__CU_STREAM_PER_THREAD, objects->stream);
}

/* Tests the per-thread stream of another thread, while that of this thread waits for the gate. */
static const char *per_thread_of_two_threads(struct objects *objects)
{
	const char *answer = "?";

	if (!close_gate(objects, BI__CU_STREAM_PER_THREAD))
		return NO_GATE;
	in_another_thread(objects, query_other_thread, &answer);
	return answer;
}

static const char *wait_unknown_flags(struct objects *objects)
{
	return code(cu->StreamWaitEvent(objects->stream, objects->event, 0x100));
}

static const char *wait_null_event(struct objects *objects)
{
	return code(cu->StreamWaitEvent(objects->stream, NULL, 0));
}

static const char *wait_on_legacy(struct objects *objects)
{
	cu->EventRecord(objects->event, objects->stream);
	return code(cu->StreamWaitEvent(BI__CU_STREAM_LEGACY, objects->event, 0));
}

static const char *host_function_null(struct objects *objects)
{
	return code(cu->LaunchHostFunc(objects->stream, NULL, NULL));
}

static void set_flag(void *data)
{
	__atomic_store_n((int *)data, 1, __ATOMIC_SEQ_CST);
}

static const char *run_host_function(bi__cu_stream stream)
{
	int flag = 0;
	bi__cu_result result = cu->LaunchHostFunc(stream, set_flag, &flag);

	cu->StreamSynchronize(stream);
	return say("%s %s", code(result), yes_or_no(__atomic_load_n(&flag, __ATOMIC_SEQ_CST)));
}

static const char *host_function_runs(struct objects *objects)
{
	return run_host_function(objects->stream);
}

static const char *host_function_on_legacy(struct objects *objects)
{
	(void)objects;
	return run_host_function(BI__CU_STREAM_LEGACY);
}

const struct fact streams_facts[] = {
	FACT(create_to_null, documented),
	FACT(create_with_unknown_flags, documented),
	FACT(destroy_zero, assumed),
	FACT(destroy_legacy, assumed),
	FACT(destroy_per_thread, assumed),
	FACT(context_of_created, documented),
	FACT(context_of_zero, documented),
	FACT(context_of_legacy, documented),
	FACT(context_of_per_thread, documented),
	FACT(context_to_null, documented),
	FACT(query_idle, documented),
	FACT(query_pending, documented),
	FACT(query_legacy, assumed),
	FACT(query_zero, assumed),
	FACT(query_per_thread, assumed),
	FACT(synchronize_idle, documented),
	FACT(synchronize_legacy, assumed),
	FACT(synchronize_per_thread, assumed),
	FACT(destroy_pending, documented),
	FACT(legacy_waits_blocking, documented),
	FACT(zero_waits_blocking, documented),
	FACT(legacy_waits_per_thread, documented),
	FACT(blocking_waits_legacy, documented),
	FACT(per_thread_waits_legacy, documented),
	FACT(legacy_waits_non_blocking, documented),
	FACT(non_blocking_waits_legacy, documented),
	FACT(blocking_waits_per_thread, documented),
	FACT(non_blocking_waits_other, documented),
	FACT(per_thread_of_two_threads, documented),
	FACT(wait_unknown_flags, assumed),
	FACT(wait_null_event, documented),
	FACT(wait_on_legacy, documented),
	FACT(host_function_null, assumed),
	FACT(host_function_runs, documented),
	FACT(host_function_on_legacy, documented),
	{ NULL, assumed, NULL },
};
