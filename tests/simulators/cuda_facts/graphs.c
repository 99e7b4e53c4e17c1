/* Graphs that a capture makes, and their launches. */
#include "facts.h"

#define NO_GRAPHS "not asked: cuGraphInstantiateWithFlags is missing"

/* Makes an executable graph that sets the first byte of the memory to 5. */
static void *make(struct objects *objects)
{
	bi__cu_graph graph = NULL;
	void *exec = NULL;

	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->MemsetD8Async(objects->memory, 5, 1, objects->stream);
	if (cu->StreamEndCapture(objects->stream, &graph) != BI__CU_SUCCESS)
		return NULL;
	cu->GraphInstantiate(&exec, graph, 0);
	cu->GraphDestroy(graph);
	return exec;
}

static int first_byte(const struct objects *objects)
{
	unsigned char byte = 0;

	cu->MemcpyDtoH(&byte, objects->memory, 1);
	return byte;
}

static void set_first(const struct objects *objects)
{
	cu->MemsetD8Async(objects->memory, 1, 1, objects->stream);
	cu->StreamSynchronize(objects->stream);
}

static const char *captured_work_is_not_done(struct objects *objects)
{
	void *exec;

	if (!cu->GraphInstantiate)
		return NO_GRAPHS;
	set_first(objects);
	exec = make(objects);
	cu->StreamSynchronize(objects->stream);
	cu->GraphExecDestroy(exec);
	return say("%d", first_byte(objects));
}

static const char *launch(struct objects *objects, bi__cu_stream stream)
{
	bi__cu_result result;
	void *exec;

	if (!cu->GraphInstantiate)
		return NO_GRAPHS;
	set_first(objects);
	exec = make(objects);
	result = cu->GraphLaunch(exec, stream);
	cu->StreamSynchronize(stream);
	cu->GraphExecDestroy(exec);
	return say("%s %d", code(result), first_byte(objects));
}

static const char *launched(struct objects *objects)
{
	return launch(objects, objects->stream);
}

static const char *launched_on_other_stream(struct objects *objects)
{
	return launch(objects, objects->second);
}

static const char *launched_on_legacy(struct objects *objects)
{
	return launch(objects, BI__CU_STREAM_LEGACY);
}

static const char *launched_twice(struct objects *objects)
{
	bi__cu_result first, second;
	void *exec;

	if (!cu->GraphInstantiate)
		return NO_GRAPHS;
	exec = make(objects);
	first = cu->GraphLaunch(exec, objects->stream);
	second = cu->GraphLaunch(exec, objects->stream);
	cu->StreamSynchronize(objects->stream);
	cu->GraphExecDestroy(exec);
	return say("%s %s", code(first), code(second));
}

static const char *launch_null(struct objects *objects)
{
	return code(cu->GraphLaunch(NULL, objects->stream));
}

static const char *instantiate_null(struct objects *objects)
{
	void *exec = NULL;

	(void)objects;
	return cu->GraphInstantiate ? code(cu->GraphInstantiate(&exec, NULL, 0)) : NO_GRAPHS;
}

static const char *destroy_null(struct objects *objects)
{
	(void)objects;
	return code(cu->GraphDestroy(NULL));
}

static const char *destroy_null_exec(struct objects *objects)
{
	(void)objects;
	return code(cu->GraphExecDestroy(NULL));
}

static const char *destroyed_while_running(struct objects *objects)
{
	bi__cu_result result;
	void *exec;

	if (!cu->GraphInstantiate)
		return NO_GRAPHS;
	set_first(objects);
	exec = make(objects);
	if (!close_gate(objects, objects->second)) {
		cu->GraphExecDestroy(exec);
		return NO_GATE;
	}
	cu->GraphLaunch(exec, objects->second);
	result = cu->GraphExecDestroy(exec);
	open_gate(objects);
	cu->StreamSynchronize(objects->second);
	return say("%s %d", code(result), first_byte(objects));
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
