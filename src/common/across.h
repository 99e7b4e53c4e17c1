/*
 * Dense bytes from a device of one backend to a device of another, which can neither wait for the other's events nor
 * read its memory: in steps through two pieces of pinned host memory, so that one device fills a piece while the other
 * empties the other. The calling thread waits between the legs of a step (docs/ordering.md, row 17).
 */
#ifndef BI_COMMON_ACROSS_H
#define BI_COMMON_ACROSS_H

#include "common/object.h"

/* The context whose pinned memory the CPU, and so the other device's driver, can use as it stands; NULL: neither. */
struct bi_context *bi__across_staging(struct bi_context *a, struct bi_context *b);

/*
 * The plan is linear. `stream` (may be NULL) serves the leg that it can. Returns when the last leg is enqueued.
 * BI_EINVAL if the stream serves neither.
 */
int bi__across_copy(struct bi_context *staging, const struct bi_view *dst, const struct bi_view *src,
		    const struct bi__plan *plan, struct bi_stream *stream, const char *operation, struct bi_error *err);

#endif
