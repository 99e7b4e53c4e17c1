/*
 * Small copies and fills that the calling thread does itself, at once: nothing is enqueued, no driver is called, nobody
 * waits. docs/ordering.md, row 36.
 *
 * That is so where each side is memory of our own as near to the CPU as any (bi__block.private_host, or the host's), of
 * which nobody outside was ever told and on which nothing is pending, or bytes lent for the time of the call. Then no
 * work that anybody could have enqueued can touch that memory, whatever there is on any stream; the lent bytes are the
 * caller's, who says that nothing else uses them.
 */
#ifndef BI_COMMON_COPY_INLINE_H
#define BI_COMMON_COPY_INLINE_H

#include "common/copy/job.h"

/* The second half of what follows: one of the two is near. */
int bi__inline_begin_host_accessible_locked(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from);

/*
 * Locked. Can the job be done at once, and is it so small that to enqueue it takes as long? Then who shows one of the
 * memories waits until bi__inline_end. `from` may be NULL.
 */
static inline int bi__inline_begin_locked(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from)
{
	return (to->block.private_host || (from && from->block.private_host)) &&
	       bi__inline_begin_host_accessible_locked(job, to, from);
}

void bi__inline_end(struct bi_memory *to, struct bi_memory *from);

#endif
