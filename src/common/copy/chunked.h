/*
 * Copies in chunks through pinned staging buffers. Used for strided bytes between the host and a device that copies
 * only dense ones, and for any bytes between two devices that can neither wait for each other nor access each other's
 * memory.
 *
 * Each chunk is copied in two steps, into a buffer and out of it. There are two buffers, so that one chunk is packed or
 * fetched while another is sent or unpacked. The calling thread is blocked until a buffer can be reused, and where one
 * step cannot wait for the other on the device (docs/ordering.md, row 17).
 */
#ifndef BI_COMMON_COPY_CHUNKED_H
#define BI_COMMON_COPY_CHUNKED_H

#include "common/copy/job.h"
#include "common/plan/split.h"

/* A staging buffer, which is a piece of pinned memory, and the destination of the chunk in it. */
struct bi__chunk {
	struct bi_memory *memory; /* NULL: not needed yet */
	struct bi_layout to;
};

struct bi__chunked {
	const struct bi__job *job;
	struct bi_context *context; /* of the staging buffers */
	struct bi_layout to, from; /* of the same shape, with axes in the order of the device's array */
	struct bi__split split; /* the boxes that are left */
	int64_t at[BI_MAX_NDIM], shape[BI_MAX_NDIM]; /* the next box */
	int has_box; /* 0: none is left */
	struct bi_stream *first, *second; /* for the two steps of a chunk; NULL: the default */
	struct bi__chunk chunks[2];
	unsigned filled, emptied; /* chunks so far */
};

/* Prepares the copy. bi__chunked_finish is needed after a failure as well. */
int bi__chunked_start(struct bi__chunked *chunked, const struct bi__job *job, struct bi_context *context,
		      struct bi_error *err);

/* Returns true if some step is left. */
int bi__chunked_has_step(const struct bi__chunked *chunked);

/* Makes the next step, after it has blocked until the buffer can be used. */
int bi__chunked_next(struct bi__chunked *chunked, struct bi__job *step, struct bi_error *err);

/* Gives the staging buffers back. Work on them may be pending. */
void bi__chunked_finish(struct bi__chunked *chunked);

#endif
