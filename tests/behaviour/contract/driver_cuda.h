/* CUDA behind the library's back: what the seam of driver.h is too narrow for. */
#ifndef BI_TESTS_CONTRACT_DRIVER_CUDA_H
#define BI_TESTS_CONTRACT_DRIVER_CUDA_H

#include "cuda_driver.h"
#include "driver.h"

/* Fails the test unless the call succeeds. */
#define CU(call) check_cuda((call), #call, __FILE__, __LINE__)

void check_cuda(bi__cu_result code, const char *call, const char *file, int line);

/* A native context is current between the two. */
void cuda_enter(uintptr_t context);
void cuda_leave(void);

/* What is current on the calling thread. */
bi__cu_context cuda_current(void);

#endif
