/* The library's kernels as plain C, for the simulated driver: the bytes that a launch touches, and its work. */
#ifndef BI_TESTS_CUDA_SIM_KERNELS_H
#define BI_TESTS_CUDA_SIM_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Takes one range of bytes that a launch reads or writes; `state` is the caller's. */
typedef void sim_access_fn(void *state, uint64_t address, size_t nbytes, int writes);

struct sim_kernel {
	const char *name; /* as cuModuleGetFunction gets it */
	size_t argument_count;
	const size_t *argument_sizes; /* bytes of each */
	unsigned shared; /* bytes of static shared memory */
	/* Passes each range that the launch touches to `access`. The launch must not touch other bytes. */
	void (*footprint)(void *const *arguments, const unsigned grid[3], const unsigned block[3], sim_access_fn *access,
			  void *state);
	/* Runs all groups. Between two barriers, the threads of a group run one after the other, in random order. */
	void (*run)(void *const *arguments, const unsigned grid[3], const unsigned block[3], uint64_t seed);
};

/* Returns NULL if there is no such kernel. */
const struct sim_kernel *sim_kernel_find(const char *name);

#endif
