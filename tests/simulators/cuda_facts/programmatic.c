/* A captured launch that may begin before the launch ahead of it has ended: the edge between both has data. */
#include "newer.h"
#include "facts.h"

static const char kernel_text[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
				  ".visible .entry nothing()\n{\n\tret;\n}\n";

/* CUlaunchAttribute and CUlaunchConfig. */
struct launch_attribute {
	unsigned id, padding;
	int value;
	char rest[60];
};

struct launch_configuration {
	unsigned grid[3], block[3], shared;
	bi__cu_stream stream;
	struct launch_attribute *attributes;
	unsigned count;
};

enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6 };

static bi__cu_result launch_programmatic(bi__cu_function function, bi__cu_stream stream)
{
	struct launch_attribute attribute = { .id = PROGRAMMATIC_STREAM_SERIALIZATION, .value = 1 };
	const struct launch_configuration configuration = {
		{ 1, 1, 1 }, { 1, 1, 1 }, .stream = stream, .attributes = &attribute, .count = 1
	};

	return newer()->LaunchKernelEx((const void *)&configuration, function, NULL, NULL);
}

typedef const char *captured_question(struct objects *objects);

/* Returns the answer to a question about a stream whose capture has such a launch, and the result of the capture. */
static const char *in_capture(struct objects *objects, captured_question *ask)
{
	bi__cu_module module;
	bi__cu_function function;
	bi__cu_graph graph = NULL;
	bi__cu_result result;
	const char *answer;

	NEEDS(LaunchKernelEx);
	if (cu->ModuleLoadData(&module, kernel_text) || cu->ModuleGetFunction(&function, module, "nothing"))
		return "fails";
	/* The first launch outside of a capture, so that nothing is loaded within. */
	result = launch_programmatic(function, objects->stream);
	if (result)
		return say("not asked: %s", code(result));
	cu->StreamSynchronize(objects->stream);
	cu->StreamBeginCapture(objects->stream, BI__CU_CAPTURE_MODE_RELAXED);
	cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, objects->stream, NULL, NULL);
	launch_programmatic(function, objects->stream);
	answer = ask(objects);
	result = cu->StreamEndCapture(objects->stream, &graph);
	if (graph)
		cu->GraphDestroy(graph);
	cu->ModuleUnload(module);
	return say("%s, end %s", answer, code(result));
}

static const char *ask_with_nodes(struct objects *objects)
{
	unsigned status = 99;
	uint64_t id;
	bi__cu_graph graph;
	const bi__cu_node *nodes;
	size_t count;

	return code(cu->StreamGetCaptureInfo_v2(objects->stream, &status, &id, &graph, &nodes, &count));
}

static const char *ask_without_nodes(struct objects *objects)
{
	unsigned status = 99;
	uint64_t id;
	bi__cu_result result = cu->StreamGetCaptureInfo_v2(objects->stream, &status, &id, NULL, NULL, NULL);

	return say("%s %u", code(result), status);
}

static const char *ask_capturing(struct objects *objects)
{
	unsigned status = 99;
	bi__cu_result result = cu->StreamIsCapturing(objects->stream, &status);

	return say("%s %u", code(result), status);
}

static const char *set_memory(struct objects *objects)
{
	return code(cu->MemsetD8Async(objects->memory, 1, 16, objects->stream));
}

static const char *record(struct objects *objects)
{
	return code(cu->EventRecord(objects->event, objects->stream));
}

static const char *info_with_nodes(struct objects *objects)
{
	return in_capture(objects, ask_with_nodes);
}

static const char *info_without_nodes(struct objects *objects)
{
	return in_capture(objects, ask_without_nodes);
}

static const char *capturing(struct objects *objects)
{
	return in_capture(objects, ask_capturing);
}

static const char *set_behind(struct objects *objects)
{
	return in_capture(objects, set_memory);
}

static const char *record_behind(struct objects *objects)
{
	return in_capture(objects, record);
}

const struct fact programmatic_facts[] = {
	FACT(info_with_nodes, documented), FACT(info_without_nodes, documented), FACT(capturing, documented),
	FACT(set_behind, documented),      FACT(record_behind, assumed),         { NULL, assumed, NULL },
};
