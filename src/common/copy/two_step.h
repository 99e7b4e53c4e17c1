/* Copies in two steps, through a new dense array. */
#ifndef BI_COMMON_COPY_TWO_STEP_H
#define BI_COMMON_COPY_TWO_STEP_H

#include "common/copy/job.h"

struct bi__two_step {
	struct bi_memory *between; /* memory of the new array; owned */
	struct bi__job first, second; /* from the source to `between`, and from `between` to the destination */
};

/*
 * Allocates the new array and makes the two steps. Each step is a copy with its own route and order. After a failure,
 * bi__two_step_finish must not be called.
 */
int bi__two_step_start(struct bi__two_step *steps, const struct bi__job *job, const struct bi__route *route,
		       struct bi_error *err);

/* Releases the new array. Work on it may be pending. */
void bi__two_step_finish(struct bi__two_step *steps);

#endif
