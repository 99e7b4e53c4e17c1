/*
 * Copies in chunks through pinned staging buffers. There are two uses: copies between strided host memory and a device
 * that does not take their plan (backend.h), and copies between two devices that share no events.
 *
 * Each chunk is copied in two steps: into a buffer, and out of the buffer. There are two buffers, so that one chunk is
 * copied into a buffer while another is copied out. The calling thread is blocked until a buffer can be reused. It is
 * also blocked between the steps of a chunk that cannot wait for each other on a device (docs/ordering.md, row 17).
 */
#ifndef BI_COMMON_COPY_CHUNKED_H
#define BI_COMMON_COPY_CHUNKED_H

#include "common/copy/job.h"
#include "common/plan/split.h"

/* A staging buffer, which is a piece of pinned memory with a dense chunk, and the chunk's place in the destination. */
struct bi__chunk {
	struct bi_memory *memory; /* NULL until the first chunk needs the buffer */
	struct bi_layout to;
};

struct bi__chunked {
	const struct bi__job *job;
	struct bi_context *context; /* context of the staging buffers */
	struct bi_layout to, from; /* both have the same shape; make_nests chooses the order of the axes */
	struct bi__split split; /* cuts `to` into boxes, one for each chunk */
	struct bi_stream *first, *second; /* caller's stream for the two steps of a chunk; NULL: the step chooses */
	struct bi__chunk chunks[2];
	unsigned filled, emptied; /* number of steps made so far: into buffers, and out of buffers */
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
