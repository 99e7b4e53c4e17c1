/*
 * Inline copies: small copies and fills that the calling thread does itself. Nothing is enqueued, no driver is called,
 * and nobody waits (docs/ordering.md, row 36).
 *
 * This is done where each side is one of these:
 *
 *  - Memory that the library allocated, that was never exported, that is idle, and in which the CPU copies at full
 * speed (bi__address). Nobody else can have enqueued work that uses it, so no stream matters.
 *  - Bytes that the caller lends for the call, while no host memory has work of the context that was not seen complete.
 *    The caller guarantees that no other work uses them.
 */
#ifndef BI_COMMON_COPY_INLINE_H
#define BI_COMMON_COPY_INLINE_H

#include "common/copy/job.h"

/* The rest of bi__inline_begin_locked, for two sides of which one is memory that the CPU and a device share. */
int bi__inline_begin_checked_locked(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from);

/*
 * Returns 1 if the job can be copied inline and is so small that enqueueing it would take as long. From then on, an
 * export of one of the memories waits until bi__inline_end. `from` may be NULL.
 */
static inline int bi__inline_begin_locked(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from)
{
	return (to->block.private_host || (from && from->block.private_host)) &&
	       bi__inline_begin_checked_locked(job, to, from);
}

void bi__inline_end(struct bi_memory *to, struct bi_memory *from);

#endif
