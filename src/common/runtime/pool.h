/*
 * The pool keeps free memory of one context for reuse.
 *
 * A memory may enter the pool only if all of this holds (checked in one place, put_into_pool in retire.c and its
 * caller's is_reusable):
 *
 *  - The library allocated it, on the context's own backend, with a size that bi__pool_round returns and that is not
 *    above the limit of the pool.
 *  - Its handle was never exported, and no captured graph uses it: nobody else can still work on it.
 *  - No work on it has failed, and the end of all work on it can be known.
 *  - The CPU cannot address it, or all work on it is complete. For other memory, pending work is no obstacle: the
 *    memory still has the context stream as its home stream, so that work is ordered before the next owner's.
 *
 * Sizes are rounded up to classes, eight to each power of two. The pool only holds memories; its caller destroys the
 * ones that it gives back.
 */
#ifndef BI_COMMON_RUNTIME_POOL_H
#define BI_COMMON_RUNTIME_POOL_H

#include "common/runtime/object.h"

void bi__pool_init(struct bi__pool *pool, size_t limit);
/* The pool must be empty. */
void bi__pool_finish(struct bi__pool *pool);

/* Returns 1 if memory of this kind and size comes from the pool of the context, and goes back to it. */
int bi__pool_serves(const struct bi_context *context, enum bi_memory_kind kind, size_t nbytes);

/* Returns the size of the class that serves nbytes, or 0 if it is larger than any class. */
size_t bi__pool_round(size_t nbytes);

/* Takes a memory of that kind and rounded size out of the pool, or returns NULL. */
struct bi_memory *bi__pool_take(struct bi_context *context, enum bi_memory_kind kind, size_t rounded);

/*
 * Puts a memory into the pool, which owns it from then on. Returns NULL, or one memory that the caller must destroy:
 * the oldest of the pool if its limit is exceeded now, or `memory` itself if the pool could not keep it.
 */
struct bi_memory *bi__pool_put(struct bi_context *context, struct bi_memory *memory);

/* Takes the oldest memory out of the pool if the pool holds more than `keep` bytes; else returns NULL. */
struct bi_memory *bi__pool_take_oldest(struct bi_context *context, size_t keep);

#endif
