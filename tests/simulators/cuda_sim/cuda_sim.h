/*
 * The simulated CUDA driver: a libcuda.so.1 on host memory that is stricter than the hardware. A test tool; it proves
 * the use of the driver's interface, not the hardware.
 *
 * Work is not done when it is enqueued. One scheduler, advanced by the calls of the interface, picks by a seed which of
 * the operations that may run runs next; an operation may run late, never before what it was ordered behind. Every
 * operation carries a vector clock, every byte range remembers who read and wrote it last, so that work that is not
 * ordered is reported whatever the schedule was.
 *
 * What is reported ("report"): use after free, double free, a wrong or destroyed context, stream or event, a call that
 * needs a current context and has none, access outside of an allocation or to freed, unallocated or host memory that
 * the device cannot reach, a read or write that is not ordered behind the work it conflicts with (also: allocation
 * before use, use before free), an operation of the CPU on memory that a device works on, a call in a host function
 * that is not allowed there, a stream that a capture leaves unjoined. Each report names the call that caused it
 * and, for races, the two operations. At the end of a run (cuda_sim_end) what is left is reported: contexts that are
 * still retained, memory, streams, events, modules, a thread whose context stack is not as the run found it.
 *
 * Everything here may be called from any thread. The functions are found with dlsym, so that the same test programs run
 * on a real driver.
 */
#ifndef BI_TESTS_CUDA_SIM_H
#define BI_TESTS_CUDA_SIM_H

#include <stddef.h>
#include <stdint.h>

struct cuda_sim_options {
	uint64_t seed; /* of the schedule */
	int devices; /* 0..8 */
	int version; /* of the driver, 12040; below 11020 and from it on entry points and attributes come and go */
	int pools; /* 1: cuMemAllocAsync and its attribute are there */
	int capability; /* compute capability of the devices, 80 or 90; machine code for another is refused */
	int concurrent_managed; /* the CPU may use managed memory while the device works */
	int peer; /* 1: copies between devices are possible (they are then ordered by the executing stream) */
	int eager; /* 1: every operation runs as soon as it may; to see what a schedule hides */
	uint64_t fail_call; /* the n-th call of the interface (1: the first) fails; 0: none */
	int fail_code; /* with this code; 0: CUDA_ERROR_UNKNOWN, for allocations CUDA_ERROR_OUT_OF_MEMORY */
	uint64_t drop_wait; /* the n-th wait (cuStreamWaitEvent) is accepted and forgotten, and the switches *_waits
			       are off; 0: none */
};

/*
 * Environment variables that set the same before the first call: CUDA_SIM_SEED, _DEVICES, _VERSION, _POOLS,
 * _CAPABILITY, _CONCURRENT_MANAGED, _PEER, _EAGER, _FAIL ("n" or "n:code"), _DROP_WAIT. CUDA_SIM_EXIT=1: the process
 * ends a run at exit and exits with 97 if there were reports, which are written to stderr.
 *
 * CUDA_SIM_SWITCHES names behaviours that no document fixes, and that the driver may have: names of SIM_SWITCHES
 * (decisions.h) separated by commas, or "all". They are valid for every run of the process.
 */
#define CUDA_SIM_OPTIONS_INIT \
	{ \
		1, 2, 12040, 1, 80, 1, 1, 0, 0, 0, 0 \
	}

/* Counters since the run began. */
struct cuda_sim_counts {
	uint64_t calls; /* of the driver's interface */
	uint64_t failed_calls; /* made to fail by fail_call */
	uint64_t waits; /* cuStreamWaitEvent accepted */
	uint64_t dropped; /* of them forgotten by drop_wait */
	uint64_t host_waits; /* calls in which the calling thread had to wait for device work, or could have had to:
				synchronising calls, cuMemFree and cuMemFreeHost with work pending anywhere in the
				context, copies from and to pageable memory that the interface does not promise to be
				asynchronous */
	uint64_t operations; /* enqueued */
	uint64_t launches; /* kernels */
	uint64_t host_functions;
	uint64_t reports;
	uint64_t live_memory, live_streams, live_events, live_modules; /* objects now */
	uint64_t returned; /* bytes that memory pools gave back to the system at a synchronisation */
};

/* Functions as types, for dlsym: cuda_sim_begin_fn *begin = dlsym(library, "cuda_sim_begin"). */

/* Ends the run (as cuda_sim_end) and begins another. cuInit keeps its effect. */
typedef void cuda_sim_begin_fn(const struct cuda_sim_options *options);
/*
 * Runs everything that may still run, reports what is left, and forgets it. Returns the number of reports of the run.
 * Reports stay readable until the next begin.
 */
typedef uint64_t cuda_sim_end_fn(void);
typedef void cuda_sim_count_fn(struct cuda_sim_counts *counts);
/* The i-th report of the run, one line, or NULL. Stays valid until the next begin. */
typedef const char *cuda_sim_report_fn(uint64_t i);
/* Name of the n-th call of the run ("cuMemAlloc_v2"), or NULL. The last 2^20 are kept. */
typedef const char *cuda_sim_call_name_fn(uint64_t n);
/* Name of the i-th call (0: the first) that was counted as a host wait, or NULL. */
typedef const char *cuda_sim_host_wait_fn(uint64_t i);
/* Runs everything that may run now (nothing that waits for a closed gate). */
typedef void cuda_sim_settle_fn(void);
/*
 * Would an access to [pointer, pointer + nbytes), enqueued on the stream now, be ordered behind everything that it
 * conflicts with? (stream 0: an access of the CPU by the calling thread.) 1: yes.
 */
typedef int cuda_sim_ordered_fn(uintptr_t stream, unsigned long long pointer, size_t nbytes, int writes);
/* The CPU reads or writes bytes that devices work on (pinned, managed): checked as an operation of this thread. */
typedef void cuda_sim_touch_fn(const void *pointer, size_t nbytes, int writes);
/* The bytes as they are now, in memory that is allocated. Checked as nothing, so that a test may look at unfinished
 * work. */
typedef void cuda_sim_peek_fn(void *to, unsigned long long from, size_t nbytes);
/* Changes what the next calls meet, without beginning a run: fail_call and drop_wait count from now on. */
typedef void cuda_sim_arm_fn(uint64_t fail_call, int fail_code, uint64_t drop_wait);

/* From the n-th call on (1: the next) every call returns the code, as after the driver has shut down; 0: none does. */
typedef void cuda_sim_gone_fn(uint64_t from_call, int code);
/*
 * The nth call from now on, and those after it until `count` have failed (0: all), return the code, but for those that
 * destroy, free, or restore the current context. nth 0: no call fails any more. Replaces fail_call of cuda_sim_arm and is
 * replaced by it.
 */
typedef void cuda_sim_arm_from_fn(uint64_t nth, uint64_t count, int code);

/* Switches (a name, "all", or names separated by commas) are on until the next call; NULL: those of the environment. */
typedef void cuda_sim_behave_fn(const char *names);

/*
 * Makes a kernel of the caller (buffer_interface/kernel.h) known, as "bi_kernel_NAME" in every module whose text has an
 * entry of that name. At most 16; a name that is known stays what it is. The function outlives the process's runs.
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
	X(behave) \
	X(kernel)

struct cuda_sim {
#define CUDA_SIM_MEMBER(name) cuda_sim_##name##_fn *name;
	CUDA_SIM_MAP(CUDA_SIM_MEMBER)
#undef CUDA_SIM_MEMBER
};

#endif
