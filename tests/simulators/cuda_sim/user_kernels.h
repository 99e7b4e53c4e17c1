/* Kernels that a test registered. */
#ifndef BI_TESTS_CUDA_SIM_USER_KERNELS_H
#define BI_TESTS_CUDA_SIM_USER_KERNELS_H

#include "cuda_sim.h"
#include "kernels.h"

/* Returns NULL if there is no such kernel. */
const struct sim_kernel *user_kernel_find(const char *name);

#endif
