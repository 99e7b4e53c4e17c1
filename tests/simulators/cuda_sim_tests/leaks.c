/* Objects that a run leaves behind, one of each kind. The correct twin frees the object. */
#include "kernels/image.h"
#include "sim_tests.h"

/* Memory that a test leaves registered. The simulated driver unregisters it with the context. */
static _Alignas(4096) unsigned char registered[4096];

static void leave_memory(struct rig *rig)
{
	bi__cu_pointer memory;

	(void)rig;
	must(cu->MemAlloc(&memory, 16));
}

static void take_memory(struct rig *rig)
{
	bi__cu_pointer memory;

	(void)rig;
	must(cu->MemAlloc(&memory, 16));
	must(cu->MemFree(memory));
}

static void leave_pool(struct rig *rig)
{
	bi__cu_pointer memory;

	must(cu->MemAllocAsync(&memory, 16, rig->a));
}

static void take_pool(struct rig *rig)
{
	bi__cu_pointer memory;

	must(cu->MemAllocAsync(&memory, 16, rig->a));
	must(cu->MemFreeAsync(memory, rig->a));
}

static void leave_pinned(struct rig *rig)
{
	void *memory;

	(void)rig;
	must(cu->MemHostAlloc(&memory, 16, 0));
}

static void take_pinned(struct rig *rig)
{
	void *memory;

	(void)rig;
	must(cu->MemHostAlloc(&memory, 16, 0));
	must(cu->MemFreeHost(memory));
}

static void leave_managed(struct rig *rig)
{
	bi__cu_pointer memory;

	(void)rig;
	must(cu->MemAllocManaged(&memory, 16, BI__CU_MEM_ATTACH_GLOBAL));
}

static void take_managed(struct rig *rig)
{
	bi__cu_pointer memory;

	(void)rig;
	must(cu->MemAllocManaged(&memory, 16, BI__CU_MEM_ATTACH_GLOBAL));
	must(cu->MemFree(memory));
}

static void leave_registered(struct rig *rig)
{
	(void)rig;
	must(cu->MemHostRegister(registered, sizeof(registered), 0));
}

static void take_registered(struct rig *rig)
{
	leave_registered(rig);
	must(cu->MemHostUnregister(registered));
}

static void leave_stream(struct rig *rig)
{
	bi__cu_stream stream;

	(void)rig;
	must(cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING));
}

static void take_stream(struct rig *rig)
{
	bi__cu_stream stream;

	(void)rig;
	must(cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING));
	must(cu->StreamDestroy(stream));
}

static void leave_event(struct rig *rig)
{
	bi__cu_event event;

	(void)rig;
	must(cu->EventCreate(&event, BI__CU_EVENT_TIMED));
}

static void take_event(struct rig *rig)
{
	bi__cu_event event;

	(void)rig;
	must(cu->EventCreate(&event, BI__CU_EVENT_TIMED));
	must(cu->EventDestroy(event));
}

static void leave_module(struct rig *rig)
{
	bi__cu_module module;

	(void)rig;
	must(cu->ModuleLoadData(&module, bi__image_ptx));
}

static void take_module(struct rig *rig)
{
	bi__cu_module module;

	(void)rig;
	must(cu->ModuleLoadData(&module, bi__image_ptx));
	must(cu->ModuleUnload(module));
}

static void leave_context(struct rig *rig)
{
	bi__cu_context context;

	(void)rig;
	must(cu->CtxCreate(&context, 0, 0));
	must(cu->CtxPopCurrent(&context));
}

static void take_context(struct rig *rig)
{
	bi__cu_context context;

	(void)rig;
	must(cu->CtxCreate(&context, 0, 0));
	must(cu->CtxDestroy(context));
}

static void leave_primary(struct rig *rig)
{
	bi__cu_context context;

	(void)rig;
	must(cu->DevicePrimaryCtxRetain(&context, 1));
}

static void take_primary(struct rig *rig)
{
	leave_primary(rig);
	must(cu->DevicePrimaryCtxRelease(1));
}

static void leave_graph(struct rig *rig)
{
	bi__cu_graph graph;

	must(cu->StreamBeginCapture(rig->a, BI__CU_CAPTURE_MODE_RELAXED));
	must(cu->StreamEndCapture(rig->a, &graph));
}

static void take_graph(struct rig *rig)
{
	bi__cu_graph graph;

	must(cu->StreamBeginCapture(rig->a, BI__CU_CAPTURE_MODE_RELAXED));
	must(cu->StreamEndCapture(rig->a, &graph));
	must(cu->GraphDestroy(graph));
}

/* Reported by the last release of the context, which destroys the object. */
#define LEAK(name, words) \
	{ \
		"left_" #name, take_##name, leave_##name, { "left behind: cuDevicePrimaryCtxRelease_v2 (call " }, \
			words, 0 \
	}
/* Reported at the end of the run. */
#define LEAK_AT_END(name, words) \
	{ \
		"left_" #name, take_##name, leave_##name, { "left behind: cuda_sim_end: " }, words, 0 \
	}

const struct defect leak_defects[] = {
	LEAK(memory, "by cuMemAlloc_v2 (call 11)"),
	LEAK(pinned, "by cuMemHostAlloc (call 11)"),
	LEAK(managed, "by cuMemAllocManaged (call 11)"),
	LEAK(registered, "by cuMemHostRegister_v2 (call 11)"),
	LEAK(stream, "stream"),
	LEAK(event, "event"),
	LEAK(module, "module"),
	LEAK_AT_END(pool, "by cuMemAllocAsync (call 11)"),
	LEAK_AT_END(context, "context"),
	LEAK_AT_END(primary, "context"),
	LEAK_AT_END(graph, "graph"),
};
const size_t leak_defect_count = COUNT_OF(leak_defects);
