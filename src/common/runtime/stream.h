/*
 * Streams: queues of a device, created or wrapped. A context stream is a member of its context, and shares the
 * reference count of the context.
 */
#ifndef BI_COMMON_RUNTIME_STREAM_H
#define BI_COMMON_RUNTIME_STREAM_H

#include "common/backend/dispatch.h"
#include "common/runtime/object.h"

/* Sets the members of a cleared stream that are not 0, except for the queue. Takes no reference to the context. */
void bi__stream_init(struct bi_stream *stream, struct bi_context *context);

/*
 * Returns 1 if the stream reaches the memory. Streams of a synchronous backend reach all memory of that backend. Any
 * other stream reaches the device memory of its own native context.
 */
int bi__stream_reaches(const struct bi_stream *stream, const struct bi_memory *memory);

/* Returns BI_EINVAL with the message that the stream does not reach the memory. */
int bi__stream_refuse(const struct bi_stream *stream, const struct bi_memory *memory, struct bi_error *err);

/* Returns the stream for work between host memories. It belongs to a context of its own, and is never closed. */
struct bi_stream *bi__host_stream(void);

/* Makes later work on `waiter` wait for all work that is on `on` now. Does nothing if both have one in-order queue. */
int bi__stream_follow(struct bi_stream *waiter, struct bi_stream *on, struct bi_error *err);

/* Does what bi_stream_synchronize does, but frees no retired memory. */
int bi__stream_synchronize(struct bi_stream *stream, struct bi_error *err);

/*
 * Blocks the calling thread until the stream is empty, and counts the wait under `failure`. Used after the driver has
 * refused to order work or to end a mapping.
 */
int bi__stream_finish(struct bi_stream *stream, struct bi_error *err);

/* Returns the handle, and notes that the stream may be captured into a graph from now on (bi_stream.is_shared). */
static inline uintptr_t bi__stream_share(struct bi_stream *stream)
{
	if (!atomic_load_explicit(&stream->is_shared, memory_order_relaxed))
		atomic_store_explicit(&stream->is_shared, true, memory_order_relaxed);
	return stream->queue.native;
}

/* Sets *id to the number of the graph capture that the stream is in, or to 0. Fails as `capture` in backend.h. */
static inline int bi__stream_capture(struct bi_stream *stream, uint64_t *id, struct bi_error *err)
{
	if (!atomic_load_explicit(&stream->is_shared, memory_order_relaxed)) {
		*id = 0;
		bi__scope_note(stream->queue.state, 0);
		return bi__dispatch_alive(&stream->context->device, err);
	}
	return bi__dispatch_capture(&stream->context->device, &stream->queue, id, err);
}

/*
 * Returns 1 if the stream is being captured, or if a capture forbids its use. Otherwise returns 0, also if the query
 * fails.
 */
int bi__stream_is_captured(struct bi_stream *stream);

/* Returns BI_ECAPTURE if the stream is being captured. `refusal` ends the message, and says which act is refused. */
int bi__stream_refuse_capture(struct bi_stream *stream, const char *refusal, struct bi_error *err);

#endif
