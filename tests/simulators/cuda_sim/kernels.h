/* The library's kernels as plain C, for the simulated driver: what a launch touches, and what it does. */
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
	/* Says every range that the launch touches, exactly: what it does not name it must not touch. */
	void (*footprint)(void *const *arguments, const unsigned grid[3], const unsigned block[3], sim_access_fn *access,
			  void *state);
	/*
	 * Runs all groups, one phase between two barriers after the other; in a group the order of threads is shuffled.
	 */
	void (*run)(void *const *arguments, const unsigned grid[3], const unsigned block[3], uint64_t seed);
};

/* NULL: there is no such kernel. */
const struct sim_kernel *sim_kernel_find(const char *name);

#endif
