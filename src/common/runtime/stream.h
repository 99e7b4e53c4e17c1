/*
 * Streams: queues of a device, created or wrapped. A context stream lies inside its context and shares its reference
 * count.
 */
#ifndef BI_COMMON_RUNTIME_STREAM_H
#define BI_COMMON_RUNTIME_STREAM_H

#include "common/backend/dispatch.h"
#include "common/runtime/object.h"

/* Sets the members that are not 0 of a stream whose queue is not open yet. Takes no reference to the context. */
void bi__stream_init(struct bi_stream *stream, struct bi_context *context);

/*
 * Returns 1 if work on the stream can use the memory. Streams of a synchronous backend reach all memory of that
 * backend; any other stream reaches the memory of its own native context.
 */
int bi__stream_reaches(const struct bi_stream *stream, const struct bi_memory *memory);

/* Returns BI_EINVAL with the message that the stream does not reach the memory. */
int bi__stream_refuse(const struct bi_stream *stream, const struct bi_memory *memory, struct bi_error *err);

/* Returns the stream for work between host memories. It belongs to no context of a caller, and is never closed. */
struct bi_stream *bi__host_stream(void);

/* Makes later work on `waiter` wait for all work on `on`. Does nothing if both are the same in-order stream. */
int bi__stream_follow(struct bi_stream *waiter, struct bi_stream *on, struct bi_error *err);

/* Does what bi_stream_synchronize does, but frees no retired memory. */
int bi__stream_synchronize(struct bi_stream *stream, struct bi_error *err);

/*
 * Blocks the calling thread until the stream is empty, and counts the wait under `failure`. The last resort if no event
 * can be recorded.
 */
int bi__stream_finish(struct bi_stream *stream, struct bi_error *err);

/* Returns the handle. From now on, other code may capture the stream into a graph. */
static inline uintptr_t bi__stream_share(struct bi_stream *stream)
{
	if (!atomic_load_explicit(&stream->is_shared, memory_order_relaxed))
		atomic_store_explicit(&stream->is_shared, true, memory_order_relaxed);
	return stream->queue.native;
}

/* Sets *id to the number of the graph capture that the stream takes part in, or to 0 if it takes part in none. */
static inline int bi__stream_capture(struct bi_stream *stream, uint64_t *id, struct bi_error *err)
{
	if (!atomic_load_explicit(&stream->is_shared, memory_order_relaxed)) {
		*id = 0;
		bi__scope_note(stream->queue.state, 0);
		return bi__dispatch_alive(&stream->context->device, err);
	}
	return bi__dispatch_capture(&stream->context->device, &stream->queue, id, err);
}

/* Returns BI_ECAPTURE if the stream is being captured. `refusal` is the end of the message: the act that is refused. */
int bi__stream_refuse_capture(struct bi_stream *stream, const char *refusal, struct bi_error *err);

#endif
