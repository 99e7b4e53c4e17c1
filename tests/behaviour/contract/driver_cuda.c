#include "driver_cuda.h"

#include <stdio.h>

#include "common/runtime/order.h"

#include "contract.h"

void check_cuda(bi__cu_result code, const char *call, const char *file, int line)
{
	if (code == BI__CU_SUCCESS)
		return;
	print_error("%s\n  returned %u\n", call, code);
	_fail(file, line);
}

void cuda_enter(uintptr_t context)
{
	CU(cuda_driver()->CtxPushCurrent((bi__cu_context)context));
}

void cuda_leave(void)
{
	bi__cu_context popped;

	CU(cuda_driver()->CtxPopCurrent(&popped));
}

bi__cu_context cuda_current(void)
{
	bi__cu_context current = NULL;

	CU(cuda_driver()->CtxGetCurrent(&current));
	return current;
}

static uintptr_t new_context(const struct bi_context *context)
{
	bi__cu_context made = NULL, popped;
	bi__cu_device device;

	CU(cuda_driver()->DeviceGet(&device, bi_context_device(context)->ordinal));
	CU(cuda_driver()->CtxCreate(&made, 0, device));
	CU(cuda_driver()->CtxPopCurrent(&popped));
	return (uintptr_t)made;
}

/* Non-blocking, so that nothing but what the library does orders it. */
static uintptr_t new_stream(uintptr_t context)
{
	bi__cu_stream stream = NULL;

	cuda_enter(context);
	CU(cuda_driver()->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING));
	cuda_leave();
	return (uintptr_t)stream;
}

static uintptr_t new_memory(uintptr_t context, size_t nbytes)
{
	bi__cu_pointer pointer = 0;

	cuda_enter(context);
	CU(cuda_driver()->MemAlloc(&pointer, nbytes));
	cuda_leave();
	return (uintptr_t)pointer;
}

static uintptr_t new_event(uintptr_t context, uintptr_t stream)
{
	bi__cu_event event = NULL;

	cuda_enter(context);
	CU(cuda_driver()->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING));
	CU(cuda_driver()->EventRecord(event, (bi__cu_stream)stream));
	cuda_leave();
	return (uintptr_t)event;
}

static void release(enum driver_kind kind, uintptr_t context, uintptr_t handle)
{
	/* Waits first, because the library does not wait for a stream that it has adopted (docs/ordering.md, 16.2). */
	if (kind == DRIVER_CONTEXT) {
		cuda_enter(handle);
		CU(cuda_driver()->CtxSynchronize());
		cuda_leave();
		CU(cuda_driver()->CtxDestroy((bi__cu_context)handle));
		return;
	}
	cuda_enter(context);
	if (kind == DRIVER_STREAM)
		CU(cuda_driver()->StreamDestroy((bi__cu_stream)handle));
	else if (kind == DRIVER_MEMORY)
		CU(cuda_driver()->MemFree((bi__cu_pointer)handle));
	else
		CU(cuda_driver()->EventDestroy((bi__cu_event)handle));
	cuda_leave();
}

static void finish(enum driver_kind kind, uintptr_t context, uintptr_t handle)
{
	cuda_enter(context);
	if (kind == DRIVER_STREAM)
		CU(cuda_driver()->StreamSynchronize((bi__cu_stream)handle));
	else
		CU(cuda_driver()->EventSynchronize((bi__cu_event)handle));
	cuda_leave();
}

static void fill(uintptr_t context, uintptr_t stream, uintptr_t memory, size_t nbytes, unsigned char value)
{
	cuda_enter(context);
	CU(cuda_driver()->MemsetD8Async((bi__cu_pointer)memory, value, nbytes, (bi__cu_stream)stream));
	cuda_leave();
}

static void read(uintptr_t context, uintptr_t memory, size_t offset, size_t nbytes, void *bytes)
{
	cuda_enter(context);
	CU(cuda_driver()->MemcpyDtoH(bytes, (bi__cu_pointer)memory + offset, nbytes));
	cuda_leave();
}

static size_t origin(uintptr_t context, uintptr_t address)
{
	bi__cu_pointer base = 0;
	size_t nbytes = 0;

	cuda_enter(context);
	CU(cuda_driver()->MemGetAddressRange(&base, &nbytes, (bi__cu_pointer)address));
	cuda_leave();
	return (size_t)((bi__cu_pointer)address - base);
}

static void touch(const void *bytes, size_t nbytes, int writes)
{
	if (cuda_sim() && nbytes)
		cuda_sim()->touch(bytes, nbytes, writes);
}

/* Returns the simulated driver's answer whether a write on the stream would come after all work on the memory. */
static int comes_last(const struct bi_memory *memory, const struct bi_stream *stream)
{
	const struct bi__block *block = &memory->block;
	int answer;

	cuda_enter(memory->context->device.state.native);
	answer = cuda_sim()->ordered(stream->queue.native, block->handle + block->origin, memory->nbytes, 1);
	cuda_leave();
	return answer;
}

/* Another stream comes after all work when it begins a write. The home stream need not (docs/ordering.md, row 38). */
static int is_ordered_elsewhere(struct bi_memory *memory)
{
	struct bi_stream *stream;
	int answer;

	OK(bi_stream_create(memory->context, 0, &stream, &error));
	bi__order_lock(memory, NULL);
	OK(bi__order_begin_locked(memory, stream, &error));
	answer = comes_last(memory, stream);
	bi__order_unlock(memory, NULL);
	bi_stream_release(stream);
	return answer;
}

/* Looks inside: the home of a memory is shown to nobody as long as nothing is exported. */
static int is_ordered(struct bi_memory *memory)
{
	if (!cuda_sim() || memory->backend->synchronous || !memory->block.nbytes)
		return 1;
	return memory->order.spread ? is_ordered_elsewhere(memory) : comes_last(memory, memory->home);
}

/* A context that nothing of the library belongs to. */
static bi__cu_context bystander;
/* What is current on the calling thread during a test. */
static bi__cu_context expected;

static bi__cu_context random_current(const struct bi_context *context)
{
	switch (test_between(&fixture.random, 0, 2)) {
	case 0:
		return NULL;
	case 1:
		return (bi__cu_context)bi_context_handle(context);
	default:
		if (!bystander)
			bystander = (bi__cu_context)new_context(context);
		return bystander;
	}
}

/* Whatever context the caller works in, the library works in its own and leaves the caller's. */
static void begin(const struct bi_context *context)
{
	expected = random_current(context);
	if (expected)
		cuda_enter((uintptr_t)expected);
}

/* Reports of the simulated driver that have not been told yet. */
static unsigned long tell(uint64_t total)
{
	static uint64_t told;
	unsigned long count = 0;

	for (; told < total; told++, count++)
		fprintf(stderr, "driver: %s\n", cuda_sim()->report(told));
	return count;
}

/* For whoever drops one wait after the other: where the one of this run was. */
static void tell_dropped(uint64_t dropped, const char *name)
{
	static uint64_t told;

	if (dropped > told)
		fprintf(stderr, "driver: a wait was dropped in %s\n", name);
	told = dropped;
}

static unsigned long end(const char *name)
{
	struct cuda_sim_counts counts;
	unsigned long count = 0;

	if (cuda_current() != expected) {
		fprintf(stderr, "driver: %s has left another context current\n", name);
		count++;
	}
	if (expected)
		cuda_leave();
	expected = NULL;
	if (!cuda_sim())
		return count;
	cuda_sim()->count(&counts);
	tell_dropped(counts.dropped, name);
	return count + tell(counts.reports);
}

static unsigned long end_run(void)
{
	if (bystander)
		release(DRIVER_CONTEXT, 0, (uintptr_t)bystander);
	bystander = NULL;
	return cuda_sim() ? tell(cuda_sim()->end()) : 0;
}

const struct outside outside_cuda = {
	.backend = "cuda",
	.memory_kind = BI_HANDLE_CUDA,
	.new_context = new_context,
	.new_stream = new_stream,
	.new_memory = new_memory,
	.new_event = new_event,
	.release = release,
	.finish = finish,
	.fill = fill,
	.read = read,
	.origin = origin,
	.touch = touch,
	.is_ordered = is_ordered,
	.begin_test = begin,
	.end_test = end,
	.end_run = end_run,
};
