/* The beginning and the end of each function of the driver: lock, count, injected faults, conditions of all calls. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "context.h"
#include "memory.h"
#include "scheduler.h"
#include "sim.h"

/* Properties of calls. */
enum {
	ANYTIME = 1, /* before cuInit and in host functions too */
	EARLY = 2, /* before cuInit */
	CURRENT = 4, /* needs a current context */
	UNSAFE = 8, /* not while streams are captured, unless the mode allows it; other calls check it later */
	ALLOCATES = 16,
	LISTED = 32, /* INVALID_CONTEXT is one of its documented results (tests/checks/cuda_types/contexts.py) */
};

static const unsigned char traits[ENTRY_COUNT] = {
	[ENTRY_cuInit] = EARLY,
	[ENTRY_cuDriverGetVersion] = ANYTIME,
	[ENTRY_cuGetErrorName] = ANYTIME,
	[ENTRY_cuGetErrorString] = ANYTIME,
	[ENTRY_cuCtxGetDevice] = CURRENT,
	[ENTRY_cuCtxSynchronize] = CURRENT,
	[ENTRY_cuMemGetInfo_v2] = CURRENT,
	[ENTRY_cuMemAlloc_v2] = CURRENT | UNSAFE | ALLOCATES,
	[ENTRY_cuMemFree_v2] = CURRENT | UNSAFE,
	[ENTRY_cuMemAllocAsync] = LISTED | ALLOCATES,
	[ENTRY_cuMemAllocFromPoolAsync] = LISTED | ALLOCATES,
	[ENTRY_cuMemFreeAsync] = LISTED,
	[ENTRY_cuMemGetAddressRange_v2] = CURRENT,
	[ENTRY_cuMemHostAlloc] = CURRENT | UNSAFE | ALLOCATES,
	[ENTRY_cuMemFreeHost] = CURRENT | UNSAFE,
	[ENTRY_cuMemHostRegister_v2] = CURRENT | UNSAFE | ALLOCATES,
	[ENTRY_cuMemHostUnregister] = CURRENT | UNSAFE,
	[ENTRY_cuMemHostGetDevicePointer_v2] = CURRENT,
	[ENTRY_cuMemAllocManaged] = CURRENT | UNSAFE | ALLOCATES,
	[ENTRY_cuMemCreate] = UNSAFE | ALLOCATES,
	[ENTRY_cuMemRelease] = UNSAFE,
	[ENTRY_cuMemMap] = UNSAFE,
	[ENTRY_cuMemUnmap] = UNSAFE,
	[ENTRY_cuMemSetAccess] = UNSAFE,
	[ENTRY_cuMemAddressReserve] = ALLOCATES,
	[ENTRY_cuStreamCreate] = CURRENT,
	[ENTRY_cuStreamDestroy_v2] = LISTED,
	[ENTRY_cuStreamGetCtx] = LISTED,
	[ENTRY_cuStreamGetCtx_v2] = LISTED,
	[ENTRY_cuStreamWaitEvent] = LISTED,
	[ENTRY_cuStreamQuery] = LISTED,
	[ENTRY_cuStreamSynchronize] = LISTED,
	[ENTRY_cuEventCreate] = CURRENT,
	[ENTRY_cuEventDestroy_v2] = LISTED,
	[ENTRY_cuEventRecord] = LISTED,
	[ENTRY_cuEventSynchronize] = LISTED,
	[ENTRY_cuEventElapsedTime] = LISTED,
	[ENTRY_cuMemcpyAsync] = LISTED,
	[ENTRY_cuMemcpyPeerAsync] = LISTED,
	[ENTRY_cuMemcpyHtoDAsync_v2] = LISTED,
	[ENTRY_cuMemcpyDtoHAsync_v2] = LISTED,
	[ENTRY_cuMemcpyDtoDAsync_v2] = LISTED,
	[ENTRY_cuMemcpy2DAsync_v2] = LISTED,
	[ENTRY_cuMemcpy3DAsync_v2] = LISTED,
	[ENTRY_cuMemsetD8Async] = LISTED,
	[ENTRY_cuMemsetD16Async] = LISTED,
	[ENTRY_cuMemsetD32Async] = LISTED,
	[ENTRY_cuMemcpyHtoD_v2] = CURRENT,
	[ENTRY_cuMemcpyDtoH_v2] = CURRENT,
	[ENTRY_cuModuleLoadData] = CURRENT | UNSAFE,
	[ENTRY_cuModuleUnload] = CURRENT | UNSAFE,
	[ENTRY_cuModuleGetFunction] = LISTED,
	[ENTRY_cuFuncGetAttribute] = LISTED,
	[ENTRY_cuLaunchKernel] = LISTED,
	[ENTRY_cuLaunchHostFunc] = LISTED,
	[ENTRY_cuCtxCreate_v2] = UNSAFE,
	[ENTRY_cuCtxDestroy_v2] = UNSAFE,
};

static const char *const names[] = {
#define SIM_NAME(name, symbol, necessity, parameters) [ENTRY_##symbol] = #symbol,
	BI__CU_API(SIM_NAME) CUDA_DRIVER_MORE(SIM_NAME)
#undef SIM_NAME
		[ENTRY_TOUCH] = "cuda_sim_touch",
	[ENTRY_END] = "cuda_sim_end",
	[ENTRY_THREAD] = "the end of a thread",
};

struct sim sim;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REMEMBERED ((uint64_t)1 << 20)

static uint16_t *calls; /* call n at (n - 1) % REMEMBERED */
static uint16_t *waits;
static size_t wait_capacity;
static int has_waited; /* in this call */

const char *entry_name(enum entry entry)
{
	return names[entry];
}

static void remember_call(enum entry entry)
{
	if (!calls)
		calls = must_alloc(REMEMBERED, sizeof(*calls));
	calls[sim.counts.calls++ % REMEMBERED] = (uint16_t)entry;
}

const char *call_name(uint64_t n)
{
	if (!n || n > sim.counts.calls || sim.counts.calls - n >= REMEMBERED)
		return NULL;
	return names[calls[(n - 1) % REMEMBERED]];
}

void count_host_wait(void)
{
	if (sim.counts.host_waits == wait_capacity) {
		wait_capacity = wait_capacity ? 2 * wait_capacity : 64;
		waits = must_grow(waits, wait_capacity, sizeof(*waits));
	}
	waits[sim.counts.host_waits++] = (uint16_t)thread_self()->entry;
	has_waited = 1;
}

const char *host_wait_name(uint64_t i)
{
	return i < sim.counts.host_waits ? names[waits[i]] : NULL;
}

void forget_calls(void)
{
	free(calls);
	free(waits);
	calls = waits = NULL;
	wait_capacity = 0;
	sim.counts.calls = sim.counts.host_waits = 0;
}

static uint64_t calls_left, waits_left; /* until the one that fails or is ignored; 0: none */
static int armed_code;
static uint64_t gone_from; /* number of the call from which on all fail, 0: none */
static int gone_code;
static uint64_t arms_rest; /* number of calls after the armed one that fail as well; UINT64_MAX: all */

void arm_faults(uint64_t fail_call, int fail_code, uint64_t drop_wait)
{
	calls_left = fail_call;
	armed_code = fail_code;
	waits_left = drop_wait;
	arms_rest = 0;
	gone_from = 0;
}

void shut_down(uint64_t from_call, int code)
{
	gone_from = from_call ? sim.counts.calls + from_call : 0;
	gone_code = code;
}

void arm_faults_from(uint64_t nth, uint64_t count, int code)
{
	calls_left = nth;
	armed_code = code;
	arms_rest = count ? count - 1 : UINT64_MAX;
}

static struct {
	const char *name;
	uint64_t left; /* calls until the one that is interrupted; 0: none is */
	void (*run)(void *data);
	void *data;
} interruption;

void interrupt(const char *name, uint64_t nth, void (*run)(void *data), void *data)
{
	interruption.name = name;
	interruption.left = nth;
	interruption.run = run;
	interruption.data = data;
}

/* A driver releases objects even if the device fails. */
static int releases_only(enum entry entry)
{
	return strstr(names[entry], "Destroy") || strstr(names[entry], "Free") || strstr(names[entry], "Release") ||
	       strstr(names[entry], "PopCurrent");
}

static bi__cu_result injected(enum entry entry)
{
	/* The names of errors and the version need no device. */
	if (gone_from && sim.counts.calls >= gone_from && !(traits[entry] & ANYTIME)) {
		/* Enqueued work runs before: afterwards the driver touches no memory any more. */
		scheduler_settle();
		sim.counts.failed_calls++;
		return (bi__cu_result)gone_code;
	}
	if (!calls_left)
		return BI__CU_SUCCESS;
	if (calls_left > 1) {
		calls_left--;
		return BI__CU_SUCCESS;
	}
	if (arms_rest && releases_only(entry))
		return BI__CU_SUCCESS;
	calls_left = arms_rest ? 1 : 0;
	if (arms_rest && arms_rest != UINT64_MAX)
		arms_rest--;
	sim.counts.failed_calls++;
	if (armed_code)
		return (bi__cu_result)armed_code;
	return traits[entry] & ALLOCATES ? BI__CU_ERROR_OUT_OF_MEMORY : BI__CU_ERROR_UNKNOWN;
}

int drops_wait(void)
{
	if (!waits_left || --waits_left)
		return 0;
	sim.counts.dropped++;
	return 1;
}

void sim_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Begins the first run, with the options of the environment. */
static void begin_first_run(void)
{
	static int has_begun;

	if (has_begun)
		return;
	has_begun = 1;
	watch_forks();
	options_from_environment(&sim.options);
	run_begin(&sim.options);
}

int enter_control(void)
{
	if (is_forked())
		return 0;
	sim_lock();
	begin_first_run();
	thread_self()->entry = ENTRY_END;
	return 1;
}

void leave_control(void)
{
	sim_unlock();
}

static bi__cu_result may_go_on(const struct thread *self)
{
	unsigned what = traits[self->entry];
	bi__cu_result code = injected(self->entry);

	if (code || what & ANYTIME)
		return code;
	if (self->in_host_function) {
		report(REPORT_HOST_FUNCTION, "the driver may not be called there");
		return BI__CU_ERROR_NOT_PERMITTED;
	}
	if (!sim.is_initialised && !(what & EARLY))
		return BI__CU_ERROR_NOT_INITIALIZED;
	if (what & CURRENT && !context_current(&code))
		return code;
	if (what & LISTED && switched(SWITCH_context_needed) && !thread_top())
		return BI__CU_ERROR_INVALID_CONTEXT;
	return what & UNSAFE ? capture_admits_unsafe() : BI__CU_SUCCESS;
}

bi__cu_result enter(enum entry entry)
{
	struct thread *self;

	/* A driver may make any of its calls a cancellation point. */
	pthread_testcancel();
	if (!enter_control())
		return BI__CU_ERROR_NOT_INITIALIZED;
	if (interruption.left && !strcmp(names[entry], interruption.name) && !--interruption.left) {
		sim_unlock();
		interruption.run(interruption.data);
		sim_lock();
	}
	remember_call(entry);
	self = thread_self();
	self->entry = entry;
	self->call = sim.counts.calls;
	return may_go_on(self);
}

bi__cu_result leave(bi__cu_result code)
{
	if (is_forked())
		return BI__CU_ERROR_NOT_INITIALIZED;
	if (!thread_self()->in_host_function)
		scheduler_advance();
	if (has_waited)
		pools_shrink();
	has_waited = 0;
	sim_unlock();
	pthread_testcancel();
	return code;
}

void *must_alloc(size_t count, size_t size)
{
	void *bytes = calloc(count ? count : 1, size ? size : 1);

	if (!bytes)
		abort();
	return bytes;
}

void *must_grow(void *old, size_t count, size_t size)
{
	void *bytes = realloc(old, count * size);

	if (!bytes)
		abort();
	return bytes;
}
