/* Copies in two steps, through a dense array of the library's own. */
#ifndef BI_COMMON_COPY_TWO_STEP_H
#define BI_COMMON_COPY_TWO_STEP_H

#include "common/copy/job.h"

struct bi__two_step {
	struct bi_memory *between; /* owned */
	struct bi__job first, second; /* from the source to `between`, and from there to the destination */
};

/*
 * Allocates the array in between and makes the two steps. Each is a copy with a route and an order of its own. After a
 * failure there is nothing to finish.
 */
int bi__two_step_start(struct bi__two_step *steps, const struct bi__job *job, const struct bi__route *route,
		       struct bi_error *err);

/* Releases the array in between. Work on it may be pending. */
void bi__two_step_finish(struct bi__two_step *steps);

#endif
