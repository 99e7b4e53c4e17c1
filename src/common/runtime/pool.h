/*
 * The pool keeps free memory of one context for reuse.
 *
 * A memory may enter the pool only if all of this holds (is_reusable and put_into_pool in retire.c check it):
 *
 *  - The library allocated it, on the context's own backend, and bi__pool_serves accepts it. Its size is one that
 *    bi__pool_round returns, and is not above the limit of the pool.
 *  - Its handle was never exported, its home stream was never named to other code, and no captured graph uses it: no
 *    code outside of the library can work on it.
 *  - No work on it has failed, and the end of all work on it is recorded and can be known.
 *  - All work on it is complete, or it has no host address (bi__block.host). In the second case work may be pending,
 *    because the next owner has the same home stream and takes over the points (docs/ordering.md, 15.2 and 38.10).
 *
 * Sizes are rounded up to classes: one for all sizes up to 256 bytes, then eight to each power of two. The pool
 * destroys no memory: its caller destroys the memories that bi__pool_take_oldest returns. In a forked child, the
 * functions find and accept no memory while the lock of a pool of the parent is held.
 */
#ifndef BI_COMMON_RUNTIME_POOL_H
#define BI_COMMON_RUNTIME_POOL_H

#include "common/runtime/object.h"

/* Sets the members of a cleared pool that are not 0. */
void bi__pool_init(struct bi__pool *pool, size_t limit);
/* Frees the members of the pool, which must be empty. */
void bi__pool_finish(struct bi__pool *pool);

/*
 * Returns 1 if the pool of the context takes memory of this kind, and the size is not too small for it. The caller also
 * checks the size against bi__pool_round and the limit of the pool.
 */
int bi__pool_serves(const struct bi_context *context, enum bi_memory_kind kind, size_t nbytes);

/* Returns nbytes, which is at most PTRDIFF_MAX, rounded up to the size of a class. */
size_t bi__pool_round(size_t nbytes);

/* Takes a memory of that kind and rounded size out of the pool and returns it, or returns NULL if it has none. */
struct bi_memory *bi__pool_take(struct bi_context *context, enum bi_memory_kind kind, size_t rounded);

/*
 * Puts a memory into the pool, which then owns the memory. Returns the bytes that the pool holds now, which may be
 * above its limit, or 0 if the pool could not accept the memory.
 */
size_t bi__pool_put(struct bi_context *context, struct bi_memory *memory);

/* Takes out and returns the memory that entered first, or returns NULL if the pool has at most `keep` bytes. */
struct bi_memory *bi__pool_take_oldest(struct bi_context *context, size_t keep);

#endif
