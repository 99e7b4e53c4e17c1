/* The rules of stream capture: calls that are allowed during a capture, and calls that invalidate it. */
#include "capture.h"

#include <stdlib.h>

#include "decisions.h"
#include "scheduler.h"
#include "stream.h"

static struct capture *captures; /* that have not ended */
static uint64_t last_id;

void node_set_clear(struct node_set *set)
{
	free(set->list);
	*set = (struct node_set){ NULL, 0 };
}

static int contains(const struct node_set *set, size_t node)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i] == node)
			return 1;
	return 0;
}

void node_set_add(struct node_set *set, const struct node_set *other)
{
	if (!other->count)
		return;
	set->list = must_grow(set->list, set->count + other->count, sizeof(*set->list));
	for (size_t i = 0; i < other->count; i++)
		if (!contains(set, other->list[i]))
			set->list[set->count++] = other->list[i];
}

static struct capture *retain(struct capture *capture)
{
	capture->references++;
	return capture;
}

void capture_release(struct capture *capture)
{
	if (capture && !--capture->references)
		free(capture);
}

static void leave_capture(struct stream *stream)
{
	capture_release(stream->capture);
	stream->capture = NULL;
	node_set_clear(&stream->tip);
}

/* Removes all streams from the capture. The caller owns the graph. */
static void end(struct capture *capture)
{
	struct capture **place = &captures;

	while (*place != capture)
		place = &(*place)->next;
	*place = capture->next;
	capture->has_ended = 1;
	for (struct context *context = contexts_first(); context; context = context->next)
		for (struct stream *stream = context->streams; stream; stream = stream->next)
			if (stream->capture == capture)
				leave_capture(stream);
	capture_release(capture);
}

void captures_forget(void)
{
	while (captures) {
		report(REPORT_LEFT, "a capture of stream %u", captures->origin->number);
		graph_destroy(captures->graph);
		end(captures);
	}
	last_id = 0;
}

void capture_stream_destroyed(struct stream *stream)
{
	struct capture *capture = stream->capture;

	if (!capture)
		return;
	capture->is_invalid = 1;
	leave_capture(stream);
	if (capture->origin != stream)
		return;
	graph_destroy(capture->graph);
	end(capture);
}

static int forbids(const struct capture *capture, const struct thread *self)
{
	if (self->capture_mode == BI__CU_CAPTURE_MODE_RELAXED)
		return 0;
	if (capture->thread == self->number)
		return capture->mode != BI__CU_CAPTURE_MODE_RELAXED;
	return self->capture_mode == BI__CU_CAPTURE_MODE_GLOBAL && capture->mode == BI__CU_CAPTURE_MODE_GLOBAL;
}

bi__cu_result capture_admits_unsafe(void)
{
	const struct thread *self = thread_self();
	bi__cu_result code = BI__CU_SUCCESS;

	for (struct capture *capture = captures; capture; capture = capture->next)
		if (forbids(capture, self)) {
			capture->is_invalid = 1;
			code = BI__CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	return code;
}

static int is_legacy_unusable(const struct stream *stream, int invalidates)
{
	int found = 0;

	if (stream->kind != STREAM_LEGACY)
		return 0;
	for (struct stream *other = stream->context->streams; other; other = other->next)
		if (other->capture && is_blocking(other)) {
			found = 1;
			other->capture->is_invalid |= invalidates;
		}
	return found;
}

bi__cu_result capture_admits_work(struct stream *stream)
{
	if (is_legacy_unusable(stream, 1))
		return BI__CU_ERROR_STREAM_CAPTURE_IMPLICIT;
	if (stream->capture && stream->capture->is_invalid)
		return BI__CU_ERROR_STREAM_CAPTURE_INVALIDATED;
	return BI__CU_SUCCESS;
}

bi__cu_result capture_refuses(struct stream *stream)
{
	if (!stream->capture)
		return BI__CU_SUCCESS;
	stream->capture->is_invalid = 1;
	return BI__CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

bi__cu_result capture_admits_asking(struct stream *stream)
{
	bi__cu_result code = capture_admits_work(stream);

	if (!code)
		code = capture_refuses(stream);
	return code ? code : capture_admits_unsafe();
}

bi__cu_result capture_admits_event(const struct event *event)
{
	if (!event->capture)
		return capture_admits_unsafe();
	if (event->capture->has_ended)
		return (bi__cu_result)DECIDED_EVENT_OF_ENDED_CAPTURE;
	event->capture->is_invalid = 1;
	return BI__CU_ERROR_CAPTURED_EVENT;
}

bi__cu_result capture_admits_synchronising(struct context *context)
{
	bi__cu_result code = BI__CU_SUCCESS;

	for (struct stream *stream = context->streams; stream; stream = stream->next)
		if (capture_refuses(stream))
			code = (bi__cu_result)DECIDED_SYNCHRONIZE_CAPTURED_CONTEXT;
	return code ? code : capture_admits_unsafe();
}

void capture_node(struct stream *stream, const struct action *action)
{
	struct graph *graph = stream->capture->graph;
	const size_t node = graph->count;
	const struct node_set only = { must_alloc(1, sizeof(node)), 1 };

	graph_add(graph, stream->context, action, &stream->tip);
	only.list[0] = node;
	stream->tip = only;
}

void capture_record(struct stream *stream, struct event *event)
{
	struct capture *before = event->capture;

	event->capture = retain(stream->capture);
	capture_release(before);
	node_set_clear(&event->tip);
	node_set_add(&event->tip, &stream->tip);
}

static bi__cu_result cross(struct stream *stream, bi__cu_result code)
{
	if (stream->capture)
		stream->capture->is_invalid = 1;
	return code;
}

static bi__cu_result join(struct stream *stream, const struct event *event)
{
	struct capture *capture = event->capture;

	if (capture->has_ended)
		return cross(stream, stream->capture ? (int)BI__CU_ERROR_STREAM_CAPTURE_ISOLATION
						     : DECIDED_EVENT_OF_ENDED_CAPTURE);
	if (capture->is_invalid)
		return BI__CU_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->kind == STREAM_LEGACY) {
		capture->is_invalid = 1;
		return BI__CU_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (stream->capture && stream->capture != capture) {
		capture->is_invalid = 1;
		return cross(stream, BI__CU_ERROR_STREAM_CAPTURE_MERGE);
	}
	if (!stream->capture)
		stream->capture = retain(capture);
	node_set_add(&stream->tip, &event->tip);
	return BI__CU_SUCCESS;
}

int capture_wait(struct stream *stream, const struct event *event, bi__cu_result *code)
{
	if (event->capture)
		*code = join(stream, event);
	else if (stream->capture)
		*code = cross(stream, BI__CU_ERROR_STREAM_CAPTURE_ISOLATION);
	else
		return 0;
	return 1;
}

static bi__cu_result begin(bi__cu_stream handle, unsigned mode)
{
	bi__cu_result code;
	struct stream *stream = stream_find(handle, &code);
	struct capture *capture;

	if (!stream)
		return code;
	if (mode > BI__CU_CAPTURE_MODE_RELAXED)
		return BI__CU_ERROR_INVALID_VALUE;
	if (stream->kind == STREAM_LEGACY)
		return DECIDED_CAPTURE_LEGACY;
	if (stream->capture)
		return BI__CU_ERROR_ILLEGAL_STATE;
	capture = must_alloc(1, sizeof(*capture));
	*capture = (struct capture){ captures, 1, ++last_id, mode, thread_self()->number, 0, 0, stream, graph_new() };
	captures = capture;
	stream->capture = retain(capture);
	return BI__CU_SUCCESS;
}

bi__cu_result cuStreamBeginCapture_v2(bi__cu_stream stream, unsigned mode)
{
	bi__cu_result code = ENTER(cuStreamBeginCapture_v2);

	return leave(code ? code : begin(stream, mode));
}

/* Returns true if the last captured work of the origin depends on all nodes. */
static int is_joined(const struct capture *capture)
{
	const struct graph *graph = capture->graph;
	char *is_reached = must_alloc(graph->count, 1);
	int all = 1;

	for (size_t i = 0; i < capture->origin->tip.count; i++)
		is_reached[capture->origin->tip.list[i]] = 1;
	for (size_t i = graph->count; i-- > 0;) {
		const struct node_set *after = &graph->nodes[i].after;

		all &= is_reached[i];
		for (size_t k = 0; k < after->count; k++)
			is_reached[after->list[k]] |= is_reached[i];
	}
	free(is_reached);
	return all;
}

static bi__cu_result end_capture(bi__cu_stream handle, bi__cu_graph *out)
{
	bi__cu_result code;
	struct stream *stream = stream_find(handle, &code);
	struct capture *capture = stream ? stream->capture : NULL;
	struct graph *graph;

	if (!stream)
		return code;
	if (!out)
		return BI__CU_ERROR_INVALID_VALUE;
	*out = NULL;
	if (!capture)
		return is_legacy_unusable(stream, 0) ? (int)BI__CU_ERROR_STREAM_CAPTURE_IMPLICIT : DECIDED_END_WITHOUT_BEGIN;
	if (capture->origin != stream) {
		capture->is_invalid = 1;
		return BI__CU_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	graph = capture->graph;
	if (capture->mode != BI__CU_CAPTURE_MODE_RELAXED && capture->thread != thread_self()->number)
		code = BI__CU_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	else if (capture->is_invalid)
		code = BI__CU_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!is_joined(capture)) {
		report(REPORT_UNJOINED, "captured work does not come before the end of stream %u", stream->number);
		code = BI__CU_ERROR_STREAM_CAPTURE_UNJOINED;
	}
	end(capture);
	if (code)
		graph_destroy(graph);
	else
		*out = graph->handle;
	return code;
}

bi__cu_result cuStreamEndCapture(bi__cu_stream stream, bi__cu_graph *graph)
{
	bi__cu_result code = ENTER(cuStreamEndCapture);

	return leave(code ? code : end_capture(stream, graph));
}

static bi__cu_result info(bi__cu_stream handle, unsigned *status, uint64_t *id, struct stream **out)
{
	bi__cu_result code;
	struct stream *stream = stream_find(handle, &code);
	const struct capture *capture = stream ? stream->capture : NULL;

	if (!stream)
		return code;
	if (switched(SWITCH_capture_context) && !thread_top())
		return BI__CU_ERROR_INVALID_CONTEXT;
	if (!status)
		return BI__CU_ERROR_INVALID_VALUE;
	if (is_legacy_unusable(stream, 0))
		return BI__CU_ERROR_STREAM_CAPTURE_IMPLICIT;
	*status = !capture              ? BI__CU_CAPTURE_NONE
		  : capture->is_invalid ? BI__CU_CAPTURE_INVALIDATED
					: BI__CU_CAPTURE_ACTIVE;
	if (id && *status == BI__CU_CAPTURE_ACTIVE)
		*id = capture->id;
	*out = stream;
	return BI__CU_SUCCESS;
}

bi__cu_result cuStreamIsCapturing(bi__cu_stream stream, unsigned *status)
{
	bi__cu_result code = ENTER(cuStreamIsCapturing);
	struct stream *found;

	return leave(code ? code : info(stream, status, NULL, &found));
}

bi__cu_result cuStreamGetCaptureInfo(bi__cu_stream stream, unsigned *status, uint64_t *id)
{
	bi__cu_result code = ENTER(cuStreamGetCaptureInfo);
	struct stream *found;

	return leave(code ? code : info(stream, status, id, &found));
}

/* The handles are valid until the next query of the stream. */
static void show(struct stream *stream, bi__cu_graph *graph, const bi__cu_node **nodes, size_t *count)
{
	const struct graph *captured = stream->capture->graph;

	free(stream->shown);
	stream->shown = must_alloc(stream->tip.count, sizeof(bi__cu_node));
	for (size_t i = 0; i < stream->tip.count; i++)
		stream->shown[i] = captured->nodes[stream->tip.list[i]].handle;
	if (graph)
		*graph = captured->handle;
	if (nodes)
		*nodes = stream->shown;
	if (count)
		*count = stream->tip.count;
}

bi__cu_result cuStreamGetCaptureInfo_v2(bi__cu_stream stream, unsigned *status, uint64_t *id, bi__cu_graph *graph,
					const bi__cu_node **nodes, size_t *count)
{
	bi__cu_result code = ENTER(cuStreamGetCaptureInfo_v2);
	struct stream *found = NULL;

	if (!code)
		code = info(stream, status, id, &found);
	if (!code && *status == BI__CU_CAPTURE_ACTIVE && nodes && switched(SWITCH_lossy_query))
		code = BI__CU_ERROR_LOSSY_QUERY;
	else if (!code && *status == BI__CU_CAPTURE_ACTIVE)
		show(found, graph, nodes, count);
	return leave(code);
}

static bi__cu_result exchange_mode(unsigned *mode)
{
	struct thread *self = thread_self();
	unsigned before = self->capture_mode;

	if (!mode || *mode > BI__CU_CAPTURE_MODE_RELAXED)
		return BI__CU_ERROR_INVALID_VALUE;
	self->capture_mode = *mode;
	*mode = before;
	return BI__CU_SUCCESS;
}

bi__cu_result cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
	bi__cu_result code = ENTER(cuThreadExchangeStreamCaptureMode);

	return leave(code ? code : exchange_mode(mode));
}
