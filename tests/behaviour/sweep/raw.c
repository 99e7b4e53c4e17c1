#include "raw.h"

#include <stdio.h>
#include <stdlib.h>

int raw_note(struct trial *trial, bi__cu_result code, const char *call)
{
	if (code == BI__CU_SUCCESS)
		return trial->rc != BI_OK;
	trial->rc = trial->err->status = BI_EDRIVER;
	trial->err->vendor = (int)code;
	snprintf(trial->err->message, sizeof(trial->err->message), "the scenario's own cu%s returns %u", call, code);
	return 1;
}

/* Outside of steps: what cannot fail but by being made to. */
static void must(bi__cu_result code, const char *call)
{
	if (code == BI__CU_SUCCESS)
		return;
	fprintf(stderr, "sweep: cu%s returns %u\n", call, code);
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

/* Waits first, because the library does not wait for a stream that it has adopted (docs/ordering.md, 16.2). */
static void release_primary(uintptr_t ordinal, uintptr_t context)
{
	raw_enter(context);
	MUST(CtxSynchronize, ());
	raw_leave();
	MUST(DevicePrimaryCtxRelease, ((bi__cu_device)ordinal));
}

uintptr_t raw_primary(struct trial *trial, int ordinal)
{
	bi__cu_context context = NULL;
	bi__cu_device device = 0;

	RAW(trial, DeviceGet, (&device, ordinal));
	if (!RAW(trial, DevicePrimaryCtxRetain, (&context, device)))
		trial_keep(&trial->driver, release_primary, (uintptr_t)device, (uintptr_t)context);
	return (uintptr_t)context;
}

static void destroy_context(uintptr_t context, uintptr_t unused)
{
	(void)unused;
	MUST(CtxDestroy, ((bi__cu_context)context));
}

uintptr_t raw_context(struct trial *trial, int ordinal)
{
	bi__cu_context context = NULL;
	bi__cu_device device = 0;

	RAW(trial, DeviceGet, (&device, ordinal));
	if (RAW(trial, CtxCreate, (&context, 0, device)))
		return 0;
	trial_keep(&trial->driver, destroy_context, (uintptr_t)context, 0);
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

uintptr_t raw_stream(struct trial *trial, uintptr_t context)
{
	bi__cu_stream stream = NULL;

	if (trial->rc)
		return 0;
	raw_enter(context);
	if (!RAW(trial, StreamCreate, (&stream, BI__CU_STREAM_NON_BLOCKING)))
		trial_keep(&trial->driver, destroy_stream, (uintptr_t)stream, context);
	raw_leave();
	return (uintptr_t)stream;
}

void raw_close_stream(struct trial *trial, uintptr_t context, uintptr_t stream)
{
	if (!stream)
		return;
	trial_forget(&trial->driver, stream);
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

static bi__cu_pointer allocate(struct trial *trial, enum raw_kind kind, size_t nbytes)
{
	bi__cu_pointer pointer = 0;
	void *host = NULL;

	if (kind == RAW_PINNED) {
		RAW(trial, MemHostAlloc, (&host, nbytes, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP));
		return (uintptr_t)host;
	}
	if (kind == RAW_MANAGED)
		RAW(trial, MemAllocManaged, (&pointer, nbytes, BI__CU_MEM_ATTACH_GLOBAL));
	else
		RAW(trial, MemAlloc, (&pointer, nbytes));
	return pointer;
}

bi__cu_pointer raw_memory(struct trial *trial, uintptr_t context, enum raw_kind kind, size_t nbytes)
{
	bi__cu_pointer pointer;

	if (trial->rc)
		return 0;
	raw_enter(context);
	pointer = allocate(trial, kind, nbytes);
	raw_leave();
	if (!trial->rc)
		trial_keep(&trial->driver, kind == RAW_PINNED ? free_pinned : free_memory, (uintptr_t)pointer, context);
	return pointer;
}

static void finish(uintptr_t stream, uintptr_t context)
{
	raw_finish(context, stream);
}

void raw_worker(struct trial *trial, uintptr_t context, uintptr_t stream)
{
	if (!trial->rc)
		trial_keep(&trial->driver, finish, stream, context);
}

void raw_set(struct trial *trial, uintptr_t context, uintptr_t stream, bi__cu_pointer pointer, unsigned char value,
	     size_t nbytes)
{
	if (trial->rc)
		return;
	raw_enter(context);
	RAW(trial, MemsetD8Async, (pointer, value, nbytes, stream_of(stream)));
	raw_leave();
}

static void destroy_event(uintptr_t event, uintptr_t context)
{
	raw_enter(context);
	MUST(EventDestroy, ((bi__cu_event)event));
	raw_leave();
}

uintptr_t raw_event(struct trial *trial, uintptr_t context, uintptr_t stream)
{
	bi__cu_event event = NULL;

	if (trial->rc)
		return 0;
	raw_enter(context);
	if (!RAW(trial, EventCreate, (&event, BI__CU_EVENT_DISABLE_TIMING)))
		trial_keep(&trial->driver, destroy_event, (uintptr_t)event, context);
	RAW(trial, EventRecord, (event, stream_of(stream)));
	raw_leave();
	return (uintptr_t)event;
}

void raw_synchronize(struct trial *trial, uintptr_t context, uintptr_t stream)
{
	if (trial->rc)
		return;
	raw_enter(context);
	RAW(trial, StreamSynchronize, (stream_of(stream)));
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

unsigned *raw_gate(struct trial *trial, uintptr_t context)
{
	unsigned *gate = (unsigned *)(uintptr_t)raw_memory(trial, context, RAW_PINNED, sizeof(*gate));

	if (trial->rc)
		return NULL;
	if (!cuda_driver()->StreamWaitValue32)
		trial_wrong(trial, "the driver has no cuStreamWaitValue32");
	__atomic_store_n(gate, 0, __ATOMIC_SEQ_CST);
	trial_keep(&trial->library, open_gate, (uintptr_t)gate, 0);
	return gate;
}

void raw_wait_gate(struct trial *trial, uintptr_t context, uintptr_t stream, unsigned *gate)
{
	if (trial->rc || !cuda_driver()->StreamWaitValue32)
		return;
	raw_enter(context);
	RAW(trial, StreamWaitValue32, (stream_of(stream), (uintptr_t)gate, 1, 0));
	raw_leave();
}

void raw_capture(struct trial *trial, uintptr_t context, uintptr_t stream)
{
	if (trial->rc)
		return;
	raw_enter(context);
	RAW(trial, StreamBeginCapture, (stream_of(stream), BI__CU_CAPTURE_MODE_GLOBAL));
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

static void run_graph(struct trial *trial, bi__cu_stream stream, bi__cu_graph graph, int times)
{
	void *exec = NULL;

	trial_keep(&trial->driver, destroy_graph, (uintptr_t)graph, 0);
	if (!cuda_driver()->GraphInstantiate) {
		trial_wrong(trial, "the driver has no cuGraphInstantiateWithFlags");
		return;
	}
	if (RAW(trial, GraphInstantiate, (&exec, graph, 0)))
		return;
	trial_keep(&trial->driver, destroy_exec, (uintptr_t)exec, 0);
	while (times-- > 0)
		RAW(trial, GraphLaunch, (exec, stream));
}

/* A capture is ended also where a step has failed; then nothing is run. */
void raw_launch(struct trial *trial, uintptr_t context, uintptr_t stream, int times)
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
		if (!trial->rc)
			raw_note(trial, code, "StreamEndCapture");
		if (graph)
			run_graph(trial, stream_of(stream), graph, times);
	}
	raw_leave();
}
