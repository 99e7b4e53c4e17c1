#include <stdlib.h>

#include "capture.h"
#include "scheduler.h"
#include "stream.h"

static struct graph *graphs; /* executable ones too */

struct graph *graph_new(void)
{
	struct graph *graph = must_alloc(1, sizeof(*graph));

	graph->handle = handle_make(OBJECT_GRAPH, graph);
	graph->next = graphs;
	graphs = graph;
	return graph;
}

void graph_add(struct graph *graph, struct context *context, const struct action *action, struct node_set *after)
{
	struct node *node;

	if (graph->count == graph->capacity) {
		graph->capacity = graph->capacity ? 2 * graph->capacity : 8;
		graph->nodes = must_grow(graph->nodes, graph->capacity, sizeof(struct node));
	}
	node = &graph->nodes[graph->count++];
	*node = (struct node){ handle_make(OBJECT_NODE, graph), context, *action, *after };
	*after = (struct node_set){ NULL, 0 };
}

static void free_graph(struct graph *graph)
{
	for (size_t i = 0; i < graph->count; i++) {
		action_drop(&graph->nodes[i].action);
		node_set_clear(&graph->nodes[i].after);
	}
	op_release(graph->last);
	clock_clear(&graph->clock);
	free(graph->nodes);
	free(graph);
}

void graph_destroy(struct graph *graph)
{
	struct graph **place = &graphs;

	while (*place != graph)
		place = &(*place)->next;
	*place = graph->next;
	handle_destroy(graph->exec ? graph->exec : graph->handle);
	for (size_t i = 0; i < graph->count && !graph->exec; i++)
		handle_destroy(graph->nodes[i].handle);
	free_graph(graph);
}

void graphs_report_left(void)
{
	for (const struct graph *graph = graphs; graph; graph = graph->next)
		report(REPORT_LEFT, graph->exec ? "an executable graph of %zu nodes" : "a graph of %zu nodes",
		       graph->count);
}

void graphs_forget(void)
{
	while (graphs) {
		struct graph *graph = graphs;

		graphs = graph->next;
		free_graph(graph);
	}
}

static bi__cu_result destroy(bi__cu_graph handle)
{
	bi__cu_result code;
	struct graph *graph = handle_find(OBJECT_GRAPH, handle, &code);

	if (graph)
		graph_destroy(graph);
	return code;
}

bi__cu_result cuGraphDestroy(bi__cu_graph graph)
{
	bi__cu_result code = ENTER(cuGraphDestroy);

	return leave(code ? code : destroy(graph));
}

static bi__cu_result instantiate(void **out, bi__cu_graph handle, uint64_t flags)
{
	bi__cu_result code;
	const struct graph *graph = handle_find(OBJECT_GRAPH, handle, &code);
	struct graph *copy;

	if (!graph)
		return code;
	if (!out || flags)
		return BI__CU_ERROR_INVALID_VALUE;
	copy = must_alloc(1, sizeof(*copy));
	copy->exec = handle_make(OBJECT_EXEC, copy);
	copy->next = graphs;
	graphs = copy;
	copy->nodes = must_alloc(graph->count, sizeof(struct node));
	copy->count = copy->capacity = graph->count;
	for (size_t i = 0; i < graph->count; i++) {
		copy->nodes[i] = graph->nodes[i];
		copy->nodes[i].after = (struct node_set){ NULL, 0 };
		node_set_add(&copy->nodes[i].after, &graph->nodes[i].after);
		action_retain(&graph->nodes[i].action);
	}
	*out = copy->exec;
	return BI__CU_SUCCESS;
}

bi__cu_result cuGraphInstantiateWithFlags(void **exec, bi__cu_graph graph, uint64_t flags)
{
	bi__cu_result code = ENTER(cuGraphInstantiateWithFlags);

	return leave(code ? code : instantiate(exec, graph, flags));
}

static bi__cu_result destroy_exec(void *handle)
{
	bi__cu_result code;
	struct graph *graph = handle_find(OBJECT_EXEC, handle, &code);

	if (graph)
		graph_destroy(graph);
	return code;
}

bi__cu_result cuGraphExecDestroy(void *exec)
{
	bi__cu_result code = ENTER(cuGraphExecDestroy);

	return leave(code ? code : destroy_exec(exec));
}

/* One launch: for each node its operation, its clock, and the slot of the branch that it belongs to. */
struct run {
	struct op **ops;
	struct clock *clocks;
	unsigned *slots;
	char *is_continued; /* the branch continues with another node */
};

/* Returns the slot of a node: that of a node before it which no other node continues, or else a new slot. */
static unsigned branch_of(struct run *run, const struct node *node)
{
	for (size_t i = 0; i < node->after.count; i++) {
		size_t before = node->after.list[i];

		if (!run->is_continued[before]) {
			run->is_continued[before] = 1;
			return run->slots[before];
		}
	}
	return slot_take();
}

static void launch_node(struct run *run, const struct node *node, size_t i, struct op *start, const struct clock *clock,
			uint32_t stream_number)
{
	struct op *op = op_new(node->context, &node->action);

	action_retain(&node->action);
	op_follow(op, start);
	clock_join(&run->clocks[i], clock);
	for (size_t k = 0; k < node->after.count; k++) {
		op_follow(op, run->ops[node->after.list[k]]);
		clock_join(&run->clocks[i], &run->clocks[node->after.list[k]]);
	}
	run->slots[i] = branch_of(run, node);
	op_enter(op, &run->clocks[i], run->slots[i], stream_number);
	op_submit(op);
	run->ops[i] = op;
}

static void finish_launch(struct run *run, struct graph *graph, struct stream *stream)
{
	for (size_t i = 0; i < graph->count; i++) {
		stream_follow(stream, run->ops[i], &run->clocks[i]);
		op_release(run->ops[i]);
		clock_clear(&run->clocks[i]);
		if (!run->is_continued[i])
			slot_retire(run->slots[i]);
	}
	op_release(graph->last);
	graph->last = stream_mark(stream);
	clock_copy(&graph->clock, &stream->clock);
}

/* A launch comes after what is on the stream, and after the launch before it of the same executable graph. */
static void launch(struct graph *graph, struct stream *stream)
{
	struct run run = { must_alloc(graph->count, sizeof(struct op *)),
			   must_alloc(graph->count, sizeof(struct clock)), must_alloc(graph->count, sizeof(unsigned)),
			   must_alloc(graph->count, 1) };
	struct op *start;

	if (graph->last)
		stream_follow(stream, graph->last, &graph->clock);
	start = stream_mark(stream);
	for (size_t i = 0; i < graph->count; i++)
		launch_node(&run, &graph->nodes[i], i, start, &stream->clock, stream->number);
	op_release(start);
	finish_launch(&run, graph, stream);
	free(run.ops);
	free(run.clocks);
	free(run.slots);
	free(run.is_continued);
}

static bi__cu_result launch_exec(void *handle, bi__cu_stream stream_handle)
{
	bi__cu_result code;
	struct graph *graph = handle_find(OBJECT_EXEC, handle, &code);
	struct stream *stream = graph ? stream_for_work(stream_handle, &code) : NULL;

	if (!stream)
		return code;
	code = capture_refuses(stream);
	if (!code)
		launch(graph, stream);
	return code;
}

bi__cu_result cuGraphLaunch(void *exec, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuGraphLaunch);

	return leave(code ? code : launch_exec(exec, stream));
}
