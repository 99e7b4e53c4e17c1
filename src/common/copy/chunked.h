/*
 * Copies in chunks through pinned staging buffers. There are two uses: strided copies between the host and a device
 * that copies only dense bytes, and all copies between two devices that can neither wait for each other nor access each
 * other's memory.
 *
 * Each chunk is copied in two steps: into a buffer, and out of the buffer. There are two buffers, so that one chunk is
 * copied into a buffer while another is copied out. The calling thread is blocked until a buffer can be reused. It is
 * also blocked between two steps that cannot wait for each other on a device (docs/ordering.md, row 17).
 */
#ifndef BI_COMMON_COPY_CHUNKED_H
#define BI_COMMON_COPY_CHUNKED_H

#include "common/copy/job.h"
#include "common/plan/split.h"

/* A staging buffer, which is a piece of pinned memory, and the destination of the chunk in it. */
struct bi__chunk {
	struct bi_memory *memory; /* NULL until the first chunk needs the buffer */
	struct bi_layout to;
};

struct bi__chunked {
	const struct bi__job *job;
	struct bi_context *context; /* context of the staging buffers */
	struct bi_layout to, from; /* both have the same shape, with axes in the order of the device's array */
	struct bi__split split; /* cuts `to` into boxes, one for each chunk */
	struct bi_stream *first, *second; /* streams of the two steps of a chunk; NULL: the default stream */
	struct bi__chunk chunks[2];
	unsigned filled, emptied; /* number of chunks copied into and out of buffers so far */
};

/* Prepares the copy. Call bi__chunked_finish at the end, also after a failure of this function. */
int bi__chunked_start(struct bi__chunked *chunked, const struct bi__job *job, struct bi_context *context,
		      struct bi_error *err);

/* Returns true if a step is left. */
int bi__chunked_has_step(const struct bi__chunked *chunked);

/* Blocks the calling thread until the buffer of the next step can be used. Then writes that step to *step. */
int bi__chunked_next(struct bi__chunked *chunked, struct bi__job *step, struct bi_error *err);

/* Gives the staging buffers back. Work on them may be pending. */
void bi__chunked_finish(struct bi__chunked *chunked);

#endif
