/*
 * Free device memory of one context, kept for reuse. A pooled memory still has the context stream as its home, and what
 * was pending on it is ordered there before whatever its next owner does, so nothing has to be waited for.
 * Sizes are rounded up to classes, eight to each power of two; the oldest are freed when the limit is passed. Threads
 * that use the pool of a host context at once may find none: nobody waits there.
 */
#ifndef BI_COMMON_RUNTIME_POOL_H
#define BI_COMMON_RUNTIME_POOL_H

#include "common/runtime/object.h"

void bi__pool_init(struct bi__pool *pool, size_t limit);
/* An empty one; its lock goes. */
void bi__pool_finish(struct bi__pool *pool);

/* The size of the class that serves nbytes; 0 if it is larger than any class or does not fit. */
size_t bi__pool_round(size_t nbytes);

/* A free memory of that kind and rounded size, or NULL. */
struct bi_memory *bi__pool_take(struct bi_context *context, enum bi_memory_kind kind, size_t rounded);

/* Takes the memory over; frees the oldest beyond the limit, and what is larger or cannot be kept at once. */
void bi__pool_put(struct bi_context *context, struct bi_memory *memory);

/* Frees the oldest until at most `keep` bytes are left. */
void bi__pool_trim(struct bi_context *context, size_t keep);

#endif
