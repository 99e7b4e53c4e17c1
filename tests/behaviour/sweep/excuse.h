/* A call that was to let something go and failed leaves that, and only that. */
#ifndef BI_TESTS_CUDA_SWEEP_EXCUSE_H
#define BI_TESTS_CUDA_SWEEP_EXCUSE_H

#include <stdint.h>

/* Do the reports of the run, so many, tell of nothing but one thing that the failed call (or NULL) was to let go? */
int reports_are_excused(const char *failed_call, uint64_t reports);

#endif
