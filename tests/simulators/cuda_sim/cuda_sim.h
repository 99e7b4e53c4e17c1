/*
 * The simulated CUDA driver: a libcuda.so.1 on host memory that is stricter than the hardware. It tests the use of the
 * driver's interface, not the hardware.
 *
 * Work is not done when it is enqueued. Each call lets one scheduler run some of the operations that may run; a seed
 * selects them. An operation may run late, but never before an operation that it is ordered behind. Each operation has
 * a vector clock, and each range of bytes has its last writer and readers. So conflicting work that is not ordered is
 * reported for each schedule.
 *
 * Reports are about mistakes of the caller, for example: use after free, a destroyed stream, a call without the current
 * context that it needs, an access outside of an allocation, memory that the device cannot reach, a read or write that
 * is not ordered behind conflicting work (allocations and frees included), a call in a host function, a stream that a
 * capture leaves unjoined. SIM_REPORTS in sim.h lists the kinds. Each report names the call that caused it and, for a
 * race, both operations. The end of a run (cuda_sim_end) reports all objects that are left, and threads whose context
 * stack is not empty.
 *
 * All functions may be called from any thread. They are found with dlsym, so that the same test programs run on a real
 * driver.
 */
#ifndef BI_TESTS_CUDA_SIM_H
#define BI_TESTS_CUDA_SIM_H

#include <stddef.h>
#include <stdint.h>

struct cuda_sim_options {
	uint64_t seed; /* of the schedule */
	int devices; /* 0..8 */
	int version; /* of the driver; decides the newest version of PTX, and there are memory pools from 11020 on */
	int pools; /* 1: the devices support memory pools */
	int capability; /* 80 or 90; machine code for another major or a newer minor number is refused */
	int concurrent_managed; /* the CPU may use managed memory while the device works */
	int peer; /* 1: copies between devices are possible (they are then ordered by the executing stream) */
	int eager; /* 1: each operation runs as soon as it may, which shows what a schedule hides */
	uint64_t fail_call; /* the n-th call of the interface (1: the first) fails; 0: none */
	int fail_code; /* with this code; 0: CUDA_ERROR_UNKNOWN, for allocations CUDA_ERROR_OUT_OF_MEMORY */
	uint64_t drop_wait; /* the n-th cuStreamWaitEvent is accepted and ignored, and calls that wait only
			       sometimes (the switches *_waits, cuModuleLoadData) do not wait; 0: none */
	unsigned prohibited; /* bits 1 << number of a device whose compute mode is CU_COMPUTEMODE_PROHIBITED */
};

/*
 * Environment variables with the same options, for the first run and for cuda_sim_begin(NULL): CUDA_SIM_SEED, _DEVICES,
 * _VERSION, _POOLS, _CAPABILITY, _CONCURRENT_MANAGED, _PEER, _EAGER, _FAIL ("n" or "n:code"), _DROP_WAIT, _PROHIBITED.
 * CUDA_SIM_EXIT=1: the process ends a run at exit and exits with 97 if there were reports, which are written to stderr.
 *
 * CUDA_SIM_SWITCHES names behaviours that no document fixes, and that the driver may have: names of SIM_SWITCHES
 * (decisions.h) separated by commas, or "all". Each run of the process begins with them.
 */
#define CUDA_SIM_OPTIONS_INIT \
	{ \
		1, 2, 12040, 1, 80, 1, 1, 0, 0, 0, 0, 0 \
	}

/* Counters since the run began. */
struct cuda_sim_counts {
	uint64_t calls; /* of the driver's interface */
	uint64_t failed_calls; /* made to fail by fail_call */
	uint64_t waits; /* calls of cuStreamWaitEvent with valid arguments */
	uint64_t dropped; /* of them ignored by drop_wait */
	uint64_t host_waits; /* calls in which the calling thread had to wait for device work, or could have had to:
				synchronising calls, copies from and to pageable memory, and, if the host has not seen
				all work of the context complete, others such as cuMemFree, cuMemFreeHost and
				cuModuleLoadData */
	uint64_t operations; /* enqueued */
	uint64_t launches; /* kernels */
	uint64_t host_functions;
	uint64_t reports;
	uint64_t live_memory, live_streams, live_events, live_modules; /* objects now */
	uint64_t returned; /* bytes that memory pools gave back to the system at a synchronisation */
};

/* Functions as types, for dlsym: cuda_sim_begin_fn *begin = dlsym(library, "cuda_sim_begin"). */

/* Ends the run as cuda_sim_end does, and begins another. NULL: options of the environment. cuInit keeps its effect. */
typedef void cuda_sim_begin_fn(const struct cuda_sim_options *options);
/*
 * Runs all operations that may still run, reports objects that are left, and forgets them. Returns the number of
 * reports of the run. Reports stay readable until the next begin.
 */
typedef uint64_t cuda_sim_end_fn(void);
typedef void cuda_sim_count_fn(struct cuda_sim_counts *counts);
/* The i-th report of the run, one line, or NULL. Stays valid until the next begin. */
typedef const char *cuda_sim_report_fn(uint64_t i);
/* Name of the n-th call of the run ("cuMemAlloc_v2"), or NULL. The last 2^20 are kept. */
typedef const char *cuda_sim_call_name_fn(uint64_t n);
/* Name of the i-th call (0: the first) that was counted as a host wait, or NULL. */
typedef const char *cuda_sim_host_wait_fn(uint64_t i);
/* Runs all operations that may run now, but none that waits for a closed gate. */
typedef void cuda_sim_settle_fn(void);
/*
 * Returns 1 if an access to [pointer, pointer + nbytes), enqueued on the stream now, would be ordered behind all work
 * that it conflicts with. Returns 0 for freed memory too. Stream 0: an access of the CPU.
 */
typedef int cuda_sim_ordered_fn(uintptr_t stream, unsigned long long pointer, size_t nbytes, int writes);
/* Checks a read or write of the CPU as an operation of the host. Does nothing in a host function. */
typedef void cuda_sim_touch_fn(const void *pointer, size_t nbytes, int writes);
/* Copies the present bytes of allocated memory. Checks nothing, so that a test can look at unfinished work. */
typedef void cuda_sim_peek_fn(void *to, unsigned long long from, size_t nbytes);
/* Sets fail_call, fail_code and drop_wait during a run. They count from now on. Ends the effect of cuda_sim_gone. */
typedef void cuda_sim_arm_fn(uint64_t fail_call, int fail_code, uint64_t drop_wait);

/*
 * From the n-th call on (1: the next) all calls but cuDriverGetVersion, cuGetErrorName and cuGetErrorString return the
 * code, as after the driver has shut down. 0: no call does.
 */
typedef void cuda_sim_gone_fn(uint64_t from_call, int code);
/*
 * The nth call from now on, and those after it until `count` have failed (0: all), return the code. Calls with Destroy,
 * Free, Release or PopCurrent in their names succeed, except as the last of `count`. nth 0: no call fails any more.
 * Replaces fail_call of cuda_sim_arm, and is replaced by it.
 */
typedef void cuda_sim_arm_from_fn(uint64_t nth, uint64_t count, int code);

/*
 * Calls run(data) before the nth call of a function with this name ("cuStreamQuery"), counted from now on. 0: of none.
 * run may call the driver, and its calls do not count. It replaces what an earlier call of this function has set.
 */
typedef void cuda_sim_before_fn(const char *name, uint64_t nth, void (*run)(void *data), void *data);

/*
 * Turns these switches on (names separated by commas, or "all") and all others off, until the next run. NULL:
 * environment.
 */
typedef void cuda_sim_behave_fn(const char *names);

/*
 * Registers a kernel of the caller (buffer_interface/kernel.h), as "bi_kernel_NAME" in each module whose image has an
 * entry of that name. There are at most 16 kernels, for all runs of the process. A registered name keeps its function.
 * The function is valid until the end of the process.
 */
struct bi_host_kernel;
typedef void cuda_sim_kernel_fn(const struct bi_host_kernel *function);

#define CUDA_SIM_MAP(X) \
	X(begin) \
	X(end) \
	X(count) \
	X(report) \
	X(call_name) \
	X(host_wait) \
	X(settle) \
	X(ordered) \
	X(touch) \
	X(peek) \
	X(arm) \
	X(gone) \
	X(arm_from) \
	X(before) \
	X(behave) \
	X(kernel)

struct cuda_sim {
#define CUDA_SIM_MEMBER(name) cuda_sim_##name##_fn *name;
	CUDA_SIM_MAP(CUDA_SIM_MEMBER)
#undef CUDA_SIM_MEMBER
};

#endif
