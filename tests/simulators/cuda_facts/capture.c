/* Stream capture: its beginning and end, what joins it, and what does not. */
#include "facts.h"

/* Ends the capture, whatever became of it. */
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

static const char *begin_on_zero(struct kit *kit)
{
	(void)kit;
	return begin_on(NULL, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *begin_on_legacy(struct kit *kit)
{
	(void)kit;
	return begin_on(BI__CU_STREAM_LEGACY, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *begin_on_per_thread(struct kit *kit)
{
	(void)kit;
	return begin_on(BI__CU_STREAM_PER_THREAD, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *begin_on_blocking(struct kit *kit)
{
	return begin_on(kit->blocking, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *begin_with_unknown_mode(struct kit *kit)
{
	return begin_on(kit->stream, 9);
}

static const char *begin_twice(struct kit *kit)
{
	bi__cu_result again;
	const char *status;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	again = cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	status = status_of(kit->stream);
	return say("%s, %s, end %s", code(again), status, code(end(kit->stream)));
}

static const char *end_without_begin(struct kit *kit)
{
	return code(end(kit->stream));
}

static const char *empty(struct kit *kit)
{
	bi__cu_graph graph = NULL;
	bi__cu_result result;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	result = cu->StreamEndCapture(kit->stream, &graph);
	if (graph)
		cu->GraphDestroy(graph);
	return say("%s %s", code(result), graph ? "a graph" : "NULL");
}

static const char *status_none(struct kit *kit)
{
	return status_of(kit->stream);
}

static const char *status_active(struct kit *kit)
{
	const char *status;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	status = status_of(kit->stream);
	end(kit->stream);
	return say("%s, then %s", status, status_of(kit->stream));
}

static const char *status_of_zero(struct kit *kit)
{
	(void)kit;
	return status_of(NULL);
}

static const char *status_of_legacy(struct kit *kit)
{
	(void)kit;
	return status_of(BI__CU_STREAM_LEGACY);
}

/* While a blocking stream captures, whose work the legacy stream would wait for. */
static const char *status_of_legacy_besides(struct kit *kit)
{
	const char *legacy, *captured;

	cu->StreamBeginCapture(kit->blocking, BI__CU_CAPTURE_MODE_GLOBAL);
	legacy = status_of(BI__CU_STREAM_LEGACY);
	captured = status_of(kit->blocking);
	end(kit->blocking);
	return say("%s, the other %s", legacy, captured);
}

static const char *status_to_null(struct kit *kit)
{
	return code(cu->StreamIsCapturing(kit->stream, NULL));
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

/* The second stream joins the capture of the first. */
static bi__cu_result fork_to(struct kit *kit, bi__cu_stream stream)
{
	bi__cu_result result = cu->EventRecord(kit->event, kit->stream);

	return result ? result : cu->StreamWaitEvent(stream, kit->event, 0);
}

static bi__cu_result join_from(struct kit *kit, bi__cu_stream stream)
{
	bi__cu_result result = cu->EventRecord(kit->event, stream);

	return result ? result : cu->StreamWaitEvent(kit->stream, kit->event, 0);
}

static const char *ids_of_joined(struct kit *kit)
{
	const char *answer;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(kit, kit->second);
	answer = id_of(kit->stream) == id_of(kit->second) ? "same" : "different";
	join_from(kit, kit->second);
	end(kit->stream);
	return answer;
}

static const char *ids_of_two(struct kit *kit)
{
	const char *answer;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->StreamBeginCapture(kit->second, BI__CU_CAPTURE_MODE_RELAXED);
	answer = id_of(kit->stream) == id_of(kit->second) ? "same" : "different";
	end(kit->second);
	end(kit->stream);
	return answer;
}

static const char *ids_one_after_other(struct kit *kit)
{
	uint64_t first;
	const char *answer;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	first = id_of(kit->stream);
	end(kit->stream);
	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	answer = first == id_of(kit->stream) ? "same" : "different";
	end(kit->stream);
	return answer;
}

static const char *two_infos_agree(struct kit *kit)
{
	unsigned status = 99;
	uint64_t id = 0;
	size_t count = 99;
	const char *answer;

	if (!cu->StreamGetCaptureInfo || !cu->StreamGetCaptureInfo_v2)
		return "not asked: one is missing";
	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	cu->StreamGetCaptureInfo_v2(kit->stream, &status, &id, NULL, NULL, &count);
	answer = say("%u %s, %zu to depend on", status, id == id_of(kit->stream) ? "same" : "different", count);
	end(kit->stream);
	return answer;
}

static const char *joined_status(struct kit *kit)
{
	const char *status;
	bi__cu_result result;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(kit, kit->second);
	status = status_of(kit->second);
	join_from(kit, kit->second);
	result = end(kit->stream);
	return say("%s, end %s, then %s", status, code(result), status_of(kit->second));
}

static const char *joined_with_work(struct kit *kit)
{
	bi__cu_result result;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(kit, kit->second);
	cu->MemsetD8Async(kit->memory, 1, 16, kit->second);
	result = join_from(kit, kit->second);
	return say("%s, end %s", code(result), code(end(kit->stream)));
}

static const char *unjoined(struct kit *kit)
{
	bi__cu_result result;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(kit, kit->second);
	cu->MemsetD8Async(kit->memory, 1, 16, kit->second);
	result = end(kit->stream);
	return say("%s, then %s and %s", code(result), status_of(kit->stream), status_of(kit->second));
}

static const char *joined_stream_of_other_context(struct kit *kit)
{
	bi__cu_result result;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	result = fork_to(kit, kit->other_stream);
	if (result == BI__CU_SUCCESS) {
		cu->EventRecord(kit->other_event, kit->other_stream);
		cu->StreamWaitEvent(kit->stream, kit->other_event, 0);
	}
	return say("%s, end %s", code(result), code(end(kit->stream)));
}

static const char *ended_on_joined(struct kit *kit)
{
	bi__cu_result result;
	const char *status;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	fork_to(kit, kit->second);
	result = end(kit->second);
	status = status_of(kit->stream);
	return say("%s, origin %s, its end %s", code(result), status, code(end(kit->stream)));
}

static void end_there(struct kit *kit, void *data)
{
	bi__cu_result *result = data;

	*result = end(kit->stream);
}

static const char *end_in_another_thread(struct kit *kit, unsigned mode)
{
	bi__cu_result result = BI__CU_ERROR_UNKNOWN;
	const char *status;

	cu->StreamBeginCapture(kit->stream, mode);
	in_another_thread(kit, end_there, &result);
	status = status_of(kit->stream);
	if (result != BI__CU_SUCCESS)
		end(kit->stream);
	return say("%s, %s", code(result), status);
}

static const char *global_ended_elsewhere(struct kit *kit)
{
	return end_in_another_thread(kit, BI__CU_CAPTURE_MODE_GLOBAL);
}

static const char *thread_local_ended_elsewhere(struct kit *kit)
{
	return end_in_another_thread(kit, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
}

static const char *relaxed_ended_elsewhere(struct kit *kit)
{
	return end_in_another_thread(kit, BI__CU_CAPTURE_MODE_RELAXED);
}

/* The wait on something that happened before the capture. */
static const char *wait_for_outside(struct kit *kit)
{
	bi__cu_result result;
	const char *status;

	cu->EventRecord(kit->event, kit->second);
	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	result = cu->StreamWaitEvent(kit->stream, kit->event, 0);
	status = status_of(kit->stream);
	return say("%s, %s, end %s", code(result), status, code(end(kit->stream)));
}

static const char *wait_for_unrecorded(struct kit *kit)
{
	bi__cu_result result;
	const char *status;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_GLOBAL);
	result = cu->StreamWaitEvent(kit->stream, kit->event, 0);
	status = status_of(kit->stream);
	return say("%s, %s, end %s", code(result), status, code(end(kit->stream)));
}

static const char *wait_between_two(struct kit *kit)
{
	bi__cu_result result;
	const char *first, *second;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->StreamBeginCapture(kit->second, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(kit->event, kit->stream);
	result = cu->StreamWaitEvent(kit->second, kit->event, 0);
	first = status_of(kit->stream);
	second = status_of(kit->second);
	end(kit->second);
	end(kit->stream);
	return say("%s, %s and %s", code(result), first, second);
}

static const char *event_queried(struct kit *kit)
{
	bi__cu_result result;
	const char *status;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(kit->event, kit->stream);
	result = cu->EventQuery(kit->event);
	status = status_of(kit->stream);
	return say("%s, %s, end %s", code(result), status, code(end(kit->stream)));
}

static const char *event_synchronized(struct kit *kit)
{
	bi__cu_result result;
	const char *status;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(kit->event, kit->stream);
	result = cu->EventSynchronize(kit->event);
	status = status_of(kit->stream);
	return say("%s, %s, end %s", code(result), status, code(end(kit->stream)));
}

static const char *event_after_end(struct kit *kit)
{
	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(kit->event, kit->stream);
	end(kit->stream);
	return code(cu->EventQuery(kit->event));
}

static const char *event_waited_after_end(struct kit *kit)
{
	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->EventRecord(kit->event, kit->stream);
	end(kit->stream);
	return code(cu->StreamWaitEvent(kit->second, kit->event, 0));
}

static const char *after_invalidation(struct kit *kit)
{
	bi__cu_result wait, set;
	bi__cu_graph graph = NULL;
	bi__cu_result result;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	wait = cu->StreamSynchronize(kit->stream);
	set = cu->MemsetD8Async(kit->memory, 1, 16, kit->stream);
	result = cu->StreamEndCapture(kit->stream, &graph);
	if (graph)
		cu->GraphDestroy(graph);
	return say("%s, %s, end %s with %s", code(wait), code(set), code(result), graph ? "a graph" : "NULL");
}

static const char *usable_after_invalidation(struct kit *kit)
{
	const char *status;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->StreamSynchronize(kit->stream);
	end(kit->stream);
	status = status_of(kit->stream);
	return say("%s %s", status, code(cu->MemsetD8Async(kit->memory, 1, 16, kit->stream)));
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
