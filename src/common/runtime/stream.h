/* Streams: made, wrapped, let go. A context stream lives inside its context and shares its references. */
#ifndef BI_COMMON_RUNTIME_STREAM_H
#define BI_COMMON_RUNTIME_STREAM_H

#include "common/runtime/object.h"

/* Sets what every stream has; the queue is opened by the backend. */
void bi__stream_init(struct bi_stream *stream, struct bi_context *context);

/* The serial of the stream, 0: it has none yet. */
static inline uint64_t bi__stream_serial(const struct bi_stream *stream)
{
	return atomic_load_explicit(&stream->serial, memory_order_relaxed);
}

/* The same for one that has to have one. Most never do, and numbering them would cost each context that is opened. */
uint64_t bi__stream_number(struct bi_stream *stream);

/* Can work on the stream use the memory? Host memory is for streams that execute on the host. */
int bi__stream_reaches(const struct bi_stream *stream, const struct bi_memory *memory);

/* A stream of the host that belongs to no context: work between host memories needs none. */
struct bi_stream *bi__host_stream(void);

#endif
