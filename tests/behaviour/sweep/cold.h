#ifndef BI_TESTS_CUDA_SWEEP_COLD_H
#define BI_TESTS_CUDA_SWEEP_COLD_H

#include "buffer_interface.h"

/* Opens the library in processes of their own, in which one call of the driver fails. Returns the number of failures.
 */
unsigned long cold_mode(const char *program);

/* One such process; CUDA_SIM_FAIL says which call fails. Returns its exit status. */
int cold_one(void);

#endif
