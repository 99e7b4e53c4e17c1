/*
 * The end of memories. When the last reference to a memory is released, the memory goes to one of four places:
 *
 *  - It is destroyed immediately if no work on it is pending, or if somebody else keeps the order of that work.
 *  - It enters the pool of its context, under the conditions that pool.h states.
 *  - It is retired: it stays on a list of the context that works on it until that work is complete. A memory is
 * deferred if it is retired although nothing can be recorded yet, because its stream is being captured into a graph, or
 *    because a graph that may be launched again uses it.
 *  - It is lost if the end of work on it can never be known. Its bytes may be written for ever, so it is never freed.
 *
 * docs/ordering.md has the states in one diagram. Retired memory holds no reference to its context.
 */
#ifndef BI_COMMON_RUNTIME_RETIRE_H
#define BI_COMMON_RUNTIME_RETIRE_H

#include "common/runtime/object.h"

/* Called when the last reference is gone and the memory may still be in use, or of use. `context` must be alive. */
void bi__memory_retire(struct bi_context *context, struct bi_memory *memory);

/* Destroys a memory that must not enter the pool, as soon as its pending work allows. */
void bi__memory_destroy_when_done(struct bi_context *context, struct bi_memory *memory);

/*
 * Frees the driver's memory and the struct, and calls the producer's callback. No work may be pending, and no lock may
 * be held. `context` is the one that the memory belongs to.
 */
void bi__memory_destroy(struct bi_context *context, struct bi_memory *memory);

/* Destroys the oldest memories of the pool until it holds at most `keep` bytes. */
void bi__memory_trim_pool(struct bi_context *context, size_t keep);

enum bi__reap {
	BI__REAP_SOME, /* looks at the oldest few; cheap enough for every call */
	BI__REAP_ALL, /* looks at all */
	BI__REAP_OLDEST, /* blocks the calling thread until the oldest is complete, except those that a graph uses */
	BI__REAP_WAIT /* blocks the calling thread until all are complete */
};

void bi__memory_reap_retired(struct bi_context *context, enum bi__reap how);

/* Destroys retired memories whose work is complete, or puts them into the pool. Does nothing in a forked child. */
static inline void bi__memory_reap(struct bi_context *context, enum bi__reap how)
{
	if (atomic_load_explicit(&context->retired.count, memory_order_relaxed))
		bi__memory_reap_retired(context, how);
}

/*
 * Brings the bytes of retired memory below their limit: frees what is complete, then blocks the calling thread
 * (`pressure`) for the oldest until half of the limit is left. Does not block while the context stream or `stream`, a
 * stream of the context, is captured. No lock may be held.
 */
void bi__memory_relieve_pressure(struct bi_stream *stream);

/* Called before memory is allocated or work is enqueued on the stream: row 15 of docs/ordering.md. */
static inline void bi__memory_limit_retired(struct bi_stream *stream)
{
	struct bi_context *context = stream->context;

	bi__memory_reap(context, BI__REAP_SOME);
	if (atomic_load_explicit(&context->retired.bytes, memory_order_relaxed) > context->retired.limit)
		bi__memory_relieve_pressure(stream);
}

#endif
