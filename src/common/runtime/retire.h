/*
 * The end of memories. When the last reference to a memory is released, the memory goes to one of four places:
 *
 *  - It is destroyed immediately if no work on it is pending, or if its producer or its driver orders that work.
 *  - It enters the pool of its context, under the conditions that pool.h states.
 *  - It is retired: it stays on a list of the context that works on it, until that work is complete.
 *  - It is lost if the end of work on it can never be known. It is never freed, because that work may still write it.
 *
 * A retired memory is deferred if no event for the end of its work can be recorded yet: its stream is being captured
 * into a graph, or the memory is used by a graph that may be launched again.
 *
 * docs/ordering.md has the states in one diagram. Retired memory holds no reference to its context.
 */
#ifndef BI_COMMON_RUNTIME_RETIRE_H
#define BI_COMMON_RUNTIME_RETIRE_H

#include "common/runtime/object.h"

/* Puts a memory without references into the pool, destroys it or retires it. `context` is the context of the memory. */
void bi__memory_retire(struct bi_context *context, struct bi_memory *memory);

/* Destroys a memory that must not enter the pool: now, or when its pending work is complete. */
void bi__memory_destroy_when_done(struct bi_context *context, struct bi_memory *memory);

/*
 * Frees the driver's memory and the struct, and calls the producer's callback. No work may be pending, and no lock may
 * be held. `context` is the context of the memory.
 */
void bi__memory_destroy(struct bi_context *context, struct bi_memory *memory);

/* Destroys the oldest memories of the pool until it holds at most `keep` bytes. */
void bi__memory_trim_pool(struct bi_context *context, size_t keep);

enum bi__reap {
	BI__REAP_SOME, /* checks the oldest few memories; cheap enough for every call */
	BI__REAP_ALL, /* checks all memories */
	BI__REAP_OLDEST, /* blocks the calling thread until the oldest memory that is not deferred is complete */
	BI__REAP_WAIT /* blocks the calling thread until all memories are complete */
};

void bi__memory_reap_retired(struct bi_context *context, enum bi__reap how);

/* Destroys retired memories whose work is complete, or puts them into the pool. Does nothing in a forked child. */
static inline void bi__memory_reap(struct bi_context *context, enum bi__reap how)
{
	if (atomic_load_explicit(&context->retired.count, memory_order_relaxed))
		bi__memory_reap_retired(context, how);
}

/*
 * Blocks the calling thread (`pressure`) for the oldest memory and then for the next, until at most `keep` bytes are
 * retired. Does not block while `stream` or the context stream of its context is captured. No lock may be held.
 */
void bi__memory_await_retired(struct bi_stream *stream, size_t keep);

/*
 * Frees retired memory whose work is complete. If its bytes are still above the limit, awaits retired memory until they
 * are at most half of the limit.
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
