#include "raw.h"

#include <stdio.h>
#include <stdlib.h>

int raw_note(struct scene *scene, bi__cu_result code, const char *call)
{
	if (code == BI__CU_SUCCESS)
		return scene->rc != BI_OK;
	scene->rc = scene->err->status = BI_EDRIVER;
	scene->err->vendor = (int)code;
	snprintf(scene->err->message, sizeof(scene->err->message), "the scenario's own cu%s returns %u", call, code);
	return 1;
}

/* Outside of steps: what cannot fail but by being made to. */
static void must(bi__cu_result code, const char *call)
{
	if (code == BI__CU_SUCCESS)
		return;
	fprintf(stderr, "cuda_sweep: cu%s returns %u\n", call, code);
	abort();
}

#define MUST(name, arguments) must(RAW_AGAIN(cuda_driver()->name arguments), #name)

static bi__cu_stream stream_of(uintptr_t stream)
{
	return (bi__cu_stream)stream;
}

void raw_enter(uintptr_t context)
{
	MUST(CtxPushCurrent, ((bi__cu_context)context));
}

void raw_leave(void)
{
	bi__cu_context left;

	MUST(CtxPopCurrent, (&left));
}

static void release_primary(uintptr_t ordinal, uintptr_t unused)
{
	(void)unused;
	MUST(DevicePrimaryCtxRelease, ((bi__cu_device)ordinal));
}

uintptr_t raw_primary(struct scene *scene, int ordinal)
{
	bi__cu_context context = NULL;
	bi__cu_device device = 0;

	RAW(scene, DeviceGet, (&device, ordinal));
	if (!RAW(scene, DevicePrimaryCtxRetain, (&context, device)))
		scene_keep(&scene->driver, release_primary, (uintptr_t)device, 0);
	return (uintptr_t)context;
}

static void destroy_context(uintptr_t context, uintptr_t unused)
{
	(void)unused;
	MUST(CtxDestroy, ((bi__cu_context)context));
}

uintptr_t raw_context(struct scene *scene, int ordinal)
{
	bi__cu_context context = NULL;
	bi__cu_device device = 0;

	RAW(scene, DeviceGet, (&device, ordinal));
	if (RAW(scene, CtxCreate, (&context, 0, device)))
		return 0;
	scene_keep(&scene->driver, destroy_context, (uintptr_t)context, 0);
	/* A new one is current. */
	raw_leave();
	return (uintptr_t)context;
}

static void destroy_stream(uintptr_t stream, uintptr_t context)
{
	raw_enter(context);
	MUST(StreamDestroy, (stream_of(stream)));
	raw_leave();
}

uintptr_t raw_stream(struct scene *scene, uintptr_t context)
{
	bi__cu_stream stream = NULL;

	if (scene->rc)
		return 0;
	raw_enter(context);
	if (!RAW(scene, StreamCreate, (&stream, BI__CU_STREAM_NON_BLOCKING)))
		scene_keep(&scene->driver, destroy_stream, (uintptr_t)stream, context);
	raw_leave();
	return (uintptr_t)stream;
}

void raw_close_stream(struct scene *scene, uintptr_t context, uintptr_t stream)
{
	if (!stream)
		return;
	scene_forget(&scene->driver, stream);
	destroy_stream(stream, context);
}

static void free_memory(uintptr_t pointer, uintptr_t context)
{
	raw_enter(context);
	MUST(MemFree, (pointer));
	raw_leave();
}

static void free_pinned(uintptr_t pointer, uintptr_t context)
{
	raw_enter(context);
	MUST(MemFreeHost, ((void *)pointer));
	raw_leave();
}

static bi__cu_pointer allocate(struct scene *scene, enum raw_kind kind, size_t nbytes)
{
	bi__cu_pointer pointer = 0;
	void *host = NULL;

	if (kind == RAW_PINNED) {
		RAW(scene, MemHostAlloc, (&host, nbytes, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP));
		return (uintptr_t)host;
	}
	if (kind == RAW_MANAGED)
		RAW(scene, MemAllocManaged, (&pointer, nbytes, BI__CU_MEM_ATTACH_GLOBAL));
	else
		RAW(scene, MemAlloc, (&pointer, nbytes));
	return pointer;
}

bi__cu_pointer raw_memory(struct scene *scene, uintptr_t context, enum raw_kind kind, size_t nbytes)
{
	bi__cu_pointer pointer;

	if (scene->rc)
		return 0;
	raw_enter(context);
	pointer = allocate(scene, kind, nbytes);
	raw_leave();
	if (!scene->rc)
		scene_keep(&scene->driver, kind == RAW_PINNED ? free_pinned : free_memory, (uintptr_t)pointer, context);
	return pointer;
}

static void finish(uintptr_t stream, uintptr_t context)
{
	raw_finish(context, stream);
}

void raw_worker(struct scene *scene, uintptr_t context, uintptr_t stream)
{
	if (!scene->rc)
		scene_keep(&scene->driver, finish, stream, context);
}

void raw_set(struct scene *scene, uintptr_t context, uintptr_t stream, bi__cu_pointer pointer, unsigned char value,
	     size_t nbytes)
{
	if (scene->rc)
		return;
	raw_enter(context);
	RAW(scene, MemsetD8Async, (pointer, value, nbytes, stream_of(stream)));
	raw_leave();
}

static void destroy_event(uintptr_t event, uintptr_t context)
{
	raw_enter(context);
	MUST(EventDestroy, ((bi__cu_event)event));
	raw_leave();
}

uintptr_t raw_event(struct scene *scene, uintptr_t context, uintptr_t stream)
{
	bi__cu_event event = NULL;

	if (scene->rc)
		return 0;
	raw_enter(context);
	if (!RAW(scene, EventCreate, (&event, BI__CU_EVENT_DISABLE_TIMING)))
		scene_keep(&scene->driver, destroy_event, (uintptr_t)event, context);
	RAW(scene, EventRecord, (event, stream_of(stream)));
	raw_leave();
	return (uintptr_t)event;
}

void raw_synchronize(struct scene *scene, uintptr_t context, uintptr_t stream)
{
	if (scene->rc)
		return;
	raw_enter(context);
	RAW(scene, StreamSynchronize, (stream_of(stream)));
	raw_leave();
}

void raw_finish(uintptr_t context, uintptr_t stream)
{
	raw_enter(context);
	if (stream)
		MUST(StreamSynchronize, (stream_of(stream)));
	raw_leave();
}

void *raw_pinned(uintptr_t context, size_t nbytes)
{
	void *bytes = NULL;

	raw_enter(context);
	MUST(MemHostAlloc, (&bytes, nbytes, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP));
	raw_leave();
	return bytes;
}

void raw_free_pinned(uintptr_t context, void *bytes)
{
	free_pinned((uintptr_t)bytes, context);
}

void raw_open_gate(unsigned *gate)
{
	if (gate)
		__atomic_store_n(gate, 1, __ATOMIC_SEQ_CST);
}

static void open_gate(uintptr_t gate, uintptr_t unused)
{
	(void)unused;
	raw_open_gate((unsigned *)gate);
}

unsigned *raw_gate(struct scene *scene, uintptr_t context)
{
	unsigned *gate = (unsigned *)(uintptr_t)raw_memory(scene, context, RAW_PINNED, sizeof(*gate));

	if (scene->rc)
		return NULL;
	if (!cuda_driver()->StreamWaitValue32)
		scene_wrong(scene, "the driver has no cuStreamWaitValue32");
	__atomic_store_n(gate, 0, __ATOMIC_SEQ_CST);
	scene_keep(&scene->library, open_gate, (uintptr_t)gate, 0);
	return gate;
}

void raw_wait_gate(struct scene *scene, uintptr_t context, uintptr_t stream, unsigned *gate)
{
	if (scene->rc || !cuda_driver()->StreamWaitValue32)
		return;
	raw_enter(context);
	RAW(scene, StreamWaitValue32, (stream_of(stream), (uintptr_t)gate, 1, 0));
	raw_leave();
}

void raw_capture(struct scene *scene, uintptr_t context, uintptr_t stream)
{
	if (scene->rc)
		return;
	raw_enter(context);
	RAW(scene, StreamBeginCapture, (stream_of(stream), BI__CU_CAPTURE_MODE_GLOBAL));
	raw_leave();
}

static void destroy_graph(uintptr_t graph, uintptr_t unused)
{
	(void)unused;
	MUST(GraphDestroy, ((bi__cu_graph)graph));
}

static void destroy_exec(uintptr_t exec, uintptr_t unused)
{
	(void)unused;
	MUST(GraphExecDestroy, ((void *)exec));
}

static void run_graph(struct scene *scene, bi__cu_stream stream, bi__cu_graph graph, int times)
{
	void *exec = NULL;

	scene_keep(&scene->driver, destroy_graph, (uintptr_t)graph, 0);
	if (!cuda_driver()->GraphInstantiate) {
		scene_wrong(scene, "the driver has no cuGraphInstantiateWithFlags");
		return;
	}
	if (RAW(scene, GraphInstantiate, (&exec, graph, 0)))
		return;
	scene_keep(&scene->driver, destroy_exec, (uintptr_t)exec, 0);
	while (times-- > 0)
		RAW(scene, GraphLaunch, (exec, stream));
}

/* A capture is ended also where a step has failed; then nothing is run. */
void raw_launch(struct scene *scene, uintptr_t context, uintptr_t stream, int times)
{
	unsigned status = BI__CU_CAPTURE_NONE;
	bi__cu_graph graph = NULL;
	bi__cu_result code;

	if (!context || !stream)
		return;
	raw_enter(context);
	MUST(StreamIsCapturing, (stream_of(stream), &status));
	if (status != BI__CU_CAPTURE_NONE) {
		code = RAW_AGAIN(cuda_driver()->StreamEndCapture(stream_of(stream), &graph));
		if (!scene->rc)
			raw_note(scene, code, "StreamEndCapture");
		if (graph)
			run_graph(scene, stream_of(stream), graph, times);
	}
	raw_leave();
}
