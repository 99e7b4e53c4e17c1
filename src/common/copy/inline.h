/*
 * Small copies and fills that the calling thread does itself, at once: nothing is enqueued, no driver is called, nobody
 * waits. docs/ordering.md, row 36.
 *
 * That is so where each side is memory of our own as near to the CPU as any (bi__block.near, or the host's), of which
 * nobody outside was ever told and on which nothing is pending, or bytes lent for the time of the call. Then no work
 * that anybody could have enqueued can touch that memory, whatever there is on any stream; the lent bytes are the
 * caller's, who says that nothing else uses them.
 */
#ifndef BI_COMMON_COPY_INLINE_H
#define BI_COMMON_COPY_INLINE_H

#include "common/copy/job.h"

/* The second half of what follows: one of the two is near. */
int bi__at_once_enter_near(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from);

/*
 * Locked. Can the job be done at once, and is it so small that to enqueue it takes as long? Then who shows one of the
 * memories waits until bi__at_once_leave. `from` may be NULL.
 */
static inline int bi__at_once_enter(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from)
{
	return (to->block.near || (from && from->block.near)) && bi__at_once_enter_near(job, to, from);
}

void bi__at_once_leave(struct bi_memory *to, struct bi_memory *from);

/*
 * How many bytes at most are copied so, in calls that do not wait anyway: what the environment variable BI_AT_ONCE says
 * when it is needed first, if that is a number up to 1 MiB; else 16 KiB. 0: none, and none in calls that wait either.
 */
size_t bi__at_once_limit(void);

#endif
