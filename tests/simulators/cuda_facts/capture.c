/* Stream capture: its beginning and end, what joins it, and what does not. */
#include "facts.h"

/* Ends the capture, valid or not. */
static bi__cu_result end(bi__cu_stream stream)
{
	bi__cu_graph graph = NULL;
	bi__cu_result result = cu->StreamEndCapture(stream, &graph);

	if (graph)
		cu->GraphDestroy(graph);
	return result;
}

static const char *status_of(bi__cu_stream stream)
{
	static const char *const words[] = { "none", "active", "invalidated" };
	unsigned status = 99;
	bi__cu_result result = cu->StreamIsCapturing(stream, &status);

	if (result)
		return code(result);
	return status < 3 ? words[status] : say("%u", status);
}

static const char *begin_on(bi__cu_stream stream, unsigned mode)
{
	bi__cu_result result = cu->StreamBeginCapture(stream, mode);

	if (result == BI__CU_SUCCESS)
		end(stream);
	return code(result);
}

static const char *begin_on_zero(struct objects *objects)
{
	(void)objects;
	return begin_on(NULL, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *begin_on_legacy(struct objects *objects)
{
	(void)objects;
	return begin_on(BI__CU_STREAM_LEGACY, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *begin_on_per_thread(struct objects *objects)
{
	(void)objects;
	return begin_on(BI__CU_STREAM_PER_THREAD, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *begin_on_blocking(struct objects *objects)
{
	return begin_on(objects->blocking, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *begin_with_unknown_mode(struct objects *objects)
{
	return begin_on(objects->stream, 9);
}

static const char *begin_twice(struct objects *objects)
{
	bi__cu_result again;
	const char *status;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	again = cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	status = status_of(objects->stream);
	return say("%s, %s, end %s", code(again), status, code(end(objects->stream)));
}

static const char *end_without_begin(struct objects *objects)
{
	return code(end(objects->stream));
}

static const char *empty(struct objects *objects)
{
	bi__cu_graph graph = NULL;
	bi__cu_result result;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	result = cu->StreamEndCapture(objects->stream, &graph);
	if (graph)
		cu->GraphDestroy(graph);
	return say("%s %s", code(result), graph ? "a graph" : "NULL");
}

static const char *status_none(struct objects *objects)
{
	return status_of(objects->stream);
}

static const char *status_active(struct objects *objects)
{
	const char *status;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	status = status_of(objects->stream);
	end(objects->stream);
	return say("%s, then %s", status, status_of(objects->stream));
}

static const char *status_of_zero(struct objects *objects)
{
	(void)objects;
	return status_of(NULL);
}

static const char *status_of_legacy(struct objects *objects)
{
	(void)objects;
	return status_of(BI__CU_STREAM_LEGACY);
}

/* Queries the legacy stream while a blocking stream, for which it would wait, is captured. */
static const char *status_of_legacy_besides(struct objects *objects)
{
	const char *legacy, *captured;

	cu->StreamBeginCapture(objects->blocking, BI__CU_CAPTURE_MODE_GLOBAL);
	legacy = status_of(BI__CU_STREAM_LEGACY);
	captured = status_of(objects->blocking);
	end(objects->blocking);
	return say("%s, the other %s", legacy, captured);
}

static const char *status_to_null(struct objects *objects)
{
	return code(cu->StreamIsCapturing(objects->stream, NULL));
}

static uint64_t id_of(bi__cu_stream stream)
{
	unsigned status;
	uint64_t id = 0;

	if (cu->StreamGetCaptureInfo)
		cu->StreamGetCaptureInfo(stream, &status, &id);
	else
		cu->StreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL, NULL);
	return id;
}

/* Makes the stream join the capture of objects->stream. */
static bi__cu_result fork_to(struct objects *objects, bi__cu_stream stream)
{
	bi__cu_result result = cu->EventRecord(objects->event, objects->stream);

	return result ? result : cu->StreamWaitEvent(stream, objects->event, 0);
}

static bi__cu_result join_from(struct objects *objects, bi__cu_stream stream)
{
	bi__cu_result result = cu->EventRecord(objects->event, stream);

	return result ? result : cu->StreamWaitEvent(objects->stream, objects->event, 0);
}

static const char *ids_of_joined(struct objects *objects)
{
	const char *answer;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(objects, objects->second);
	answer = id_of(objects->stream) == id_of(objects->second) ? "same" : "different";
	join_from(objects, objects->second);
	end(objects->stream);
	return answer;
}

static const char *ids_of_two(struct objects *objects)
{
	const char *answer;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->StreamBeginCapture(objects->second, BI__CU_CAPTURE_MODE_RELAXED);
	answer = id_of(objects->stream) == id_of(objects->second) ? "same" : "different";
	end(objects->second);
	end(objects->stream);
	return answer;
}

static const char *ids_one_after_other(struct objects *objects)
{
	uint64_t first;
	const char *answer;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	first = id_of(objects->stream);
	end(objects->stream);
	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	answer = first == id_of(objects->stream) ? "same" : "different";
	end(objects->stream);
	return answer;
}

static const char *two_infos_agree(struct objects *objects)
{
	unsigned status = 99;
	uint64_t id = 0;
	size_t count = 99;
	const char *answer;

	if (!cu->StreamGetCaptureInfo || !cu->StreamGetCaptureInfo_v2)
		return "not asked: one is missing";
	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	cu->StreamGetCaptureInfo_v2(objects->stream, &status, &id, NULL, NULL, &count);
	answer = say("%u %s, %zu to depend on", status, id == id_of(objects->stream) ? "same" : "different", count);
	end(objects->stream);
	return answer;
}

static const char *joined_status(struct objects *objects)
{
	const char *status;
	bi__cu_result result;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(objects, objects->second);
	status = status_of(objects->second);
	join_from(objects, objects->second);
	result = end(objects->stream);
	return say("%s, end %s, then %s", status, code(result), status_of(objects->second));
}

static const char *joined_with_work(struct objects *objects)
{
	bi__cu_result result;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(objects, objects->second);
	cu->MemsetD8Async(objects->memory, 1, 16, objects->second);
	result = join_from(objects, objects->second);
	return say("%s, end %s", code(result), code(end(objects->stream)));
}

static const char *unjoined(struct objects *objects)
{
	bi__cu_result result;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(objects, objects->second);
	cu->MemsetD8Async(objects->memory, 1, 16, objects->second);
	result = end(objects->stream);
	return say("%s, then %s and %s", code(result), status_of(objects->stream), status_of(objects->second));
}

static const char *joined_stream_of_other_context(struct objects *objects)
{
	bi__cu_result result;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	result = fork_to(objects, objects->other_stream);
	if (result == BI__CU_SUCCESS) {
		cu->EventRecord(objects->other_event, objects->other_stream);
		cu->StreamWaitEvent(objects->stream, objects->other_event, 0);
	}
	return say("%s, end %s", code(result), code(end(objects->stream)));
}

static const char *ended_on_joined(struct objects *objects)
{
	bi__cu_result result;
	const char *status;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(objects, objects->second);
	result = end(objects->second);
	status = status_of(objects->stream);
	return say("%s, origin %s, its end %s", code(result), status, code(end(objects->stream)));
}

static void end_there(struct objects *objects, void *data)
{
	bi__cu_result *result = data;

	*result = end(objects->stream);
}

static const char *end_in_another_thread(struct objects *objects, unsigned mode)
{
	bi__cu_result result = BI__CU_ERROR_UNKNOWN;
	const char *status;

	cu->StreamBeginCapture(objects->stream, mode);
	in_another_thread(objects, end_there, &result);
	status = status_of(objects->stream);
	if (result != BI__CU_SUCCESS)
		end(objects->stream);
	return say("%s, %s", code(result), status);
}

static const char *global_ended_elsewhere(struct objects *objects)
{
	return end_in_another_thread(objects, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *thread_local_ended_elsewhere(struct objects *objects)
{
	return end_in_another_thread(objects, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
}

static const char *relaxed_ended_elsewhere(struct objects *objects)
{
	return end_in_another_thread(objects, BI__CU_CAPTURE_MODE_RELAXED);
}

/* Waits for an event that was recorded before the capture. */
static const char *wait_for_outside(struct objects *objects)
{
	bi__cu_result result;
	const char *status;

	cu->EventRecord(objects->event, objects->second);
	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	result = cu->StreamWaitEvent(objects->stream, objects->event, 0);
	status = status_of(objects->stream);
	return say("%s, %s, end %s", code(result), status, code(end(objects->stream)));
}

static const char *wait_for_unrecorded(struct objects *objects)
{
	bi__cu_result result;
	const char *status;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	result = cu->StreamWaitEvent(objects->stream, objects->event, 0);
	status = status_of(objects->stream);
	return say("%s, %s, end %s", code(result), status, code(end(objects->stream)));
}

static const char *wait_between_two(struct objects *objects)
{
	bi__cu_result result;
	const char *first, *second;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->StreamBeginCapture(objects->second, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(objects->event, objects->stream);
	result = cu->StreamWaitEvent(objects->second, objects->event, 0);
	first = status_of(objects->stream);
	second = status_of(objects->second);
	end(objects->second);
	end(objects->stream);
	return say("%s, %s and %s", code(result), first, second);
}

static const char *event_queried(struct objects *objects)
{
	bi__cu_result result;
	const char *status;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(objects->event, objects->stream);
	result = cu->EventQuery(objects->event);
	status = status_of(objects->stream);
	return say("%s, %s, end %s", code(result), status, code(end(objects->stream)));
}

static const char *event_synchronized(struct objects *objects)
{
	bi__cu_result result;
	const char *status;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(objects->event, objects->stream);
	result = cu->EventSynchronize(objects->event);
	status = status_of(objects->stream);
	return say("%s, %s, end %s", code(result), status, code(end(objects->stream)));
}

static const char *event_after_end(struct objects *objects)
{
	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(objects->event, objects->stream);
	end(objects->stream);
	return code(cu->EventQuery(objects->event));
}

static const char *event_waited_after_end(struct objects *objects)
{
	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(objects->event, objects->stream);
	end(objects->stream);
	return code(cu->StreamWaitEvent(objects->second, objects->event, 0));
}

static const char *after_invalidation(struct objects *objects)
{
	bi__cu_result wait, set;
	bi__cu_graph graph = NULL;
	bi__cu_result result;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	wait = cu->StreamSynchronize(objects->stream);
	set = cu->MemsetD8Async(objects->memory, 1, 16, objects->stream);
	result = cu->StreamEndCapture(objects->stream, &graph);
	if (graph)
		cu->GraphDestroy(graph);
	return say("%s, %s, end %s with %s", code(wait), code(set), code(result), graph ? "a graph" : "NULL");
}

static const char *usable_after_invalidation(struct objects *objects)
{
	const char *status;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->StreamSynchronize(objects->stream);
	end(objects->stream);
	status = status_of(objects->stream);
	return say("%s %s", status, code(cu->MemsetD8Async(objects->memory, 1, 16, objects->stream)));
}

const struct fact capture_facts[] = {
	FACT(begin_on_zero, documented),
	FACT(begin_on_legacy, documented),
	FACT(begin_on_per_thread, documented),
	FACT(begin_on_blocking, documented),
	FACT(begin_with_unknown_mode, assumed),
	FACT(begin_twice, assumed),
	FACT(end_without_begin, assumed),
	FACT(empty, assumed),
	FACT(status_none, documented),
	FACT(status_active, documented),
	FACT(status_of_zero, assumed),
	FACT(status_of_legacy, assumed),
	FACT(status_of_legacy_besides, documented),
	FACT(status_to_null, documented),
	FACT(ids_of_joined, documented),
	FACT(ids_of_two, documented),
	FACT(ids_one_after_other, documented),
	FACT(two_infos_agree, documented),
	FACT(joined_status, documented),
	FACT(joined_with_work, documented),
	FACT(unjoined, documented),
	FACT(joined_stream_of_other_context, assumed),
	FACT(ended_on_joined, documented),
	FACT(global_ended_elsewhere, documented),
	FACT(thread_local_ended_elsewhere, documented),
	FACT(relaxed_ended_elsewhere, documented),
	FACT(wait_for_outside, documented),
	FACT(wait_for_unrecorded, assumed),
	FACT(wait_between_two, documented),
	FACT(event_queried, documented),
	FACT(event_synchronized, documented),
	FACT(event_after_end, assumed),
	FACT(event_waited_after_end, assumed),
	FACT(after_invalidation, documented),
	FACT(usable_after_invalidation, documented),
	{ NULL, assumed, NULL },
};
