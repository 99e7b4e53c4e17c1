/* Captures that are left unjoined, and races of the launches of graphs. */
#include "sim_tests.h"

static void end(bi__cu_stream stream)
{
	bi__cu_graph graph = NULL;

	cu->StreamEndCapture(stream, &graph);
	if (graph)
		must(cu->GraphDestroy(graph));
}

static void fork_capture(struct rig *rig)
{
	must(cu->StreamBeginCapture(rig->a, BI__CU_CAPTURE_MODE_RELAXED));
	order(rig, rig->a, rig->b);
	must(cu->MemsetD8Async(rig->m, 1, 16, rig->b));
}

static void joined_right(struct rig *rig)
{
	fork_capture(rig);
	order(rig, rig->b, rig->a);
	end(rig->a);
}

static void unjoined_wrong(struct rig *rig)
{
	fork_capture(rig);
	end(rig->a);
}

/* Makes an executable graph that sets the memory m. */
static void *make_graph(struct rig *rig)
{
	bi__cu_graph graph;
	void *exec;

	must(cu->StreamBeginCapture(rig->a, BI__CU_CAPTURE_MODE_RELAXED));
	must(cu->MemsetD8Async(rig->m, 1, 16, rig->a));
	must(cu->StreamEndCapture(rig->a, &graph));
	must(cu->GraphInstantiate(&exec, graph, 0));
	must(cu->GraphDestroy(graph));
	return exec;
}

static void launch(struct rig *rig, int is_right)
{
	void *exec = make_graph(rig);

	must(cu->GraphLaunch(exec, rig->a));
	if (is_right)
		order(rig, rig->a, rig->b);
	must(cu->MemcpyAsync(rig->n, rig->m, 16, rig->b));
	must(cu->GraphExecDestroy(exec));
}

static void launched_right(struct rig *rig)
{
	launch(rig, 1);
}

static void launched_wrong(struct rig *rig)
{
	launch(rig, 0);
}

/* Launches one graph on two streams. The driver orders the second launch after the first. */
static void launched_twice_right(struct rig *rig)
{
	void *exec = make_graph(rig);

	must(cu->GraphLaunch(exec, rig->a));
	must(cu->GraphLaunch(exec, rig->b));
	must(cu->GraphExecDestroy(exec));
}

static void launched_after_free(struct rig *rig, int is_right)
{
	void *exec = make_graph(rig);

	if (is_right) {
		must(cu->GraphLaunch(exec, rig->a));
		must(cu->StreamSynchronize(rig->a));
	}
	must(cu->MemFree(rig->m));
	rig->m = 0;
	if (!is_right)
		cu->GraphLaunch(exec, rig->a);
	must(cu->GraphExecDestroy(exec));
}

static void freed_before_launch_right(struct rig *rig)
{
	launched_after_free(rig, 1);
}

static void freed_before_launch_wrong(struct rig *rig)
{
	launched_after_free(rig, 0);
}

/* Two branches of one graph. They are ordered only if is_right. */
static void branches(struct rig *rig, int is_right)
{
	bi__cu_graph graph;
	void *exec;

	must(cu->StreamBeginCapture(rig->a, BI__CU_CAPTURE_MODE_RELAXED));
	order(rig, rig->a, rig->b);
	must(cu->MemsetD8Async(rig->m, 1, 16, rig->a));
	if (is_right)
		order(rig, rig->a, rig->b);
	must(cu->MemcpyAsync(rig->n, rig->m, 16, rig->b));
	order(rig, rig->b, rig->a);
	must(cu->StreamEndCapture(rig->a, &graph));
	must(cu->GraphInstantiate(&exec, graph, 0));
	must(cu->GraphDestroy(graph));
	must(cu->GraphLaunch(exec, rig->a));
	must(cu->GraphExecDestroy(exec));
}

static void branches_right(struct rig *rig)
{
	branches(rig, 1);
}

static void branches_wrong(struct rig *rig)
{
	branches(rig, 0);
}

const struct defect capture_defects[] = {
	{ "unjoined", joined_right, unjoined_wrong, { "unjoined capture: cuStreamEndCapture (call " }, NULL, 0 },
	{ "launched", launched_right, launched_wrong, { "race: cuMemcpyAsync (call " }, NULL, 0 },
	{ "launched_twice", launched_twice_right, launched_wrong, { "race: cuMemcpyAsync (call " }, NULL, 0 },
	{ "freed_before_launch",
	  freed_before_launch_right,
	  freed_before_launch_wrong,
	  { "use after free: cuGraphLaunch (call " },
	  NULL,
	  0 },
	{ "branches", branches_right, branches_wrong, { "race: cuGraphLaunch (call " }, "cuGraphLaunch", 0 },
};
const size_t capture_defect_count = COUNT_OF(capture_defects);
