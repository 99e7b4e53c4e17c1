/*
 * The end of memories. When the last reference to a memory is released, one of four things happens:
 *
 *  - It enters the pool of its context, under the conditions that pool.h states.
 *  - It is destroyed immediately if no work on it is pending, or if its producer or its driver orders that work.
 *  - It is retired: it stays on a list of the context that works on it, until that work is complete.
 *  - It is lost if the end of work on it can never be known. Then it is freed only if its device was reset, because
 *    that work may still use it.
 *
 * A retired memory is deferred if the end of its work cannot be recorded yet: a stream on which the release must
 * enqueue is being captured into a graph, or a graph that uses the memory may be launched again.
 *
 * docs/ordering.md has the states in one diagram.
 */
#ifndef BI_COMMON_RUNTIME_RETIRE_H
#define BI_COMMON_RUNTIME_RETIRE_H

#include "common/runtime/object.h"

/* Ends a memory without references, in one of the four ways. `context` is the context of the memory. */
void bi__memory_retire(struct bi_context *context, struct bi_memory *memory);

/* Destroys a memory that must not enter the pool: now, or when its pending work is complete. */
void bi__memory_destroy_when_done(struct bi_context *context, struct bi_memory *memory);

/*
 * Frees the driver's memory and the struct, and calls the producer's callback. Pending work is allowed only if the
 * producer or the driver orders it, or in a forked child. No lock may be held. `context` is the context of the memory.
 */
void bi__memory_destroy(struct bi_context *context, struct bi_memory *memory);

/* Destroys the oldest memories of the pool, now or when their work is complete, until it holds at most `keep` bytes. */
void bi__memory_trim_pool(struct bi_context *context, size_t keep);

enum bi__reap {
	BI__REAP_SOME, /* checks the oldest memories until four were found that are neither complete nor deferred */
	BI__REAP_ALL, /* checks all memories */
	BI__REAP_OLDEST, /* blocks the calling thread until the oldest memory that is not deferred is complete */
	BI__REAP_WAIT /* when the context closes: blocks the calling thread until all memories are complete */
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
 * Frees retired memory whose work is complete. If more bytes than the limit are still retired, awaits retired memory
 * until at most half of the limit is retired.
 */
void bi__memory_relieve_pressure(struct bi_stream *stream);

/* Keeps the limit of retired memory (docs/ordering.md, 15.3). Called before allocating memory or enqueueing work. */
static inline void bi__memory_limit_retired(struct bi_stream *stream)
{
	struct bi_context *context = stream->context;

	bi__memory_reap(context, BI__REAP_SOME);
	if (atomic_load_explicit(&context->retired.bytes, memory_order_relaxed) > context->retired.limit)
		bi__memory_relieve_pressure(stream);
}

#endif
