/* Graphs that a capture makes, and their launches. */
#include "facts.h"

#define NO_GRAPHS "not asked: cuGraphInstantiateWithFlags is missing"

/* A graph that sets the first byte of the memory to 5. */
static void *make(struct kit *kit)
{
	bi__cu_graph graph = NULL;
	void *exec = NULL;

	cu->StreamBeginCapture(kit->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->MemsetD8Async(kit->memory, 5, 1, kit->stream);
	if (cu->StreamEndCapture(kit->stream, &graph) != BI__CU_SUCCESS)
		return NULL;
	cu->GraphInstantiate(&exec, graph, 0);
	cu->GraphDestroy(graph);
	return exec;
}

static int first_byte(const struct kit *kit)
{
	unsigned char byte = 0;

	cu->MemcpyDtoH(&byte, kit->memory, 1);
	return byte;
}

static void set_first(const struct kit *kit)
{
	cu->MemsetD8Async(kit->memory, 1, 1, kit->stream);
	cu->StreamSynchronize(kit->stream);
}

static const char *captured_work_is_not_done(struct kit *kit)
{
	void *exec;

	if (!cu->GraphInstantiate)
		return NO_GRAPHS;
	set_first(kit);
	exec = make(kit);
	cu->StreamSynchronize(kit->stream);
	cu->GraphExecDestroy(exec);
	return say("%d", first_byte(kit));
}

static const char *launch(struct kit *kit, bi__cu_stream stream)
{
	bi__cu_result result;
	void *exec;

	if (!cu->GraphInstantiate)
		return NO_GRAPHS;
	set_first(kit);
	exec = make(kit);
	result = cu->GraphLaunch(exec, stream);
	cu->StreamSynchronize(stream);
	cu->GraphExecDestroy(exec);
	return say("%s %d", code(result), first_byte(kit));
}

static const char *launched(struct kit *kit)
{
	return launch(kit, kit->stream);
}

static const char *launched_on_other_stream(struct kit *kit)
{
	return launch(kit, kit->second);
}

static const char *launched_on_legacy(struct kit *kit)
{
	return launch(kit, BI__CU_STREAM_LEGACY);
}

static const char *launched_twice(struct kit *kit)
{
	bi__cu_result first, second;
	void *exec;

	if (!cu->GraphInstantiate)
		return NO_GRAPHS;
	exec = make(kit);
	first = cu->GraphLaunch(exec, kit->stream);
	second = cu->GraphLaunch(exec, kit->stream);
	cu->StreamSynchronize(kit->stream);
	cu->GraphExecDestroy(exec);
	return say("%s %s", code(first), code(second));
}

static const char *launch_null(struct kit *kit)
{
	return code(cu->GraphLaunch(NULL, kit->stream));
}

static const char *instantiate_null(struct kit *kit)
{
	void *exec = NULL;

	(void)kit;
	return cu->GraphInstantiate ? code(cu->GraphInstantiate(&exec, NULL, 0)) : NO_GRAPHS;
}

static const char *destroy_null(struct kit *kit)
{
	(void)kit;
	return code(cu->GraphDestroy(NULL));
}

static const char *destroy_null_exec(struct kit *kit)
{
	(void)kit;
	return code(cu->GraphExecDestroy(NULL));
}

static const char *destroyed_while_running(struct kit *kit)
{
	bi__cu_result result;
	void *exec;

	if (!cu->GraphInstantiate)
		return NO_GRAPHS;
	set_first(kit);
	exec = make(kit);
	if (!close_gate(kit, kit->second)) {
		cu->GraphExecDestroy(exec);
		return NO_GATE;
	}
	cu->GraphLaunch(exec, kit->second);
	result = cu->GraphExecDestroy(exec);
	open_gate(kit);
	cu->StreamSynchronize(kit->second);
	return say("%s %d", code(result), first_byte(kit));
}

const struct fact graphs_facts[] = {
	FACT(captured_work_is_not_done, documented),
	FACT(launched, documented),
	FACT(launched_on_other_stream, documented),
	FACT(launched_on_legacy, documented),
	FACT(launched_twice, documented),
	FACT(launch_null, documented),
	FACT(instantiate_null, documented),
	FACT(destroy_null, documented),
	FACT(destroy_null_exec, documented),
	FACT(destroyed_while_running, documented),
	{ NULL, assumed, NULL },
};
