/*
 * Boxes of rows: the strided copy that drivers have commands for (clEnqueueCopyBufferRect, cuMemcpy2D, cuMemcpy3D).
 *
 * A box has `slices` times `rows` runs of `width` bytes. On each side rows begin `row` bytes apart and slices `slice`
 * bytes apart. Rows do not overlap, slices do not overlap, and a slice is a whole number of row pitches. The plan's
 * dst_offset and src_offset say where the first row begins.
 */
#ifndef BI_COMMON_PLAN_RECT_H
#define BI_COMMON_PLAN_RECT_H

#include "common/plan/plan.h"

struct bi__pitch {
	size_t row, slice; /* bytes; row >= width, slice >= rows * row and a multiple of row */
};

struct bi__rect {
	size_t width, rows, slices; /* each > 0 */
	struct bi__pitch dst, src;
};

/*
 * Returns 1 and fills *out if the plan (not NOTHING) is one box on both sides. A plan without axes is a box of one row.
 * Returns 0 for more than two axes, and for a source that runs backwards, has zero strides or is sorted differently
 * from the destination.
 */
int bi__rect_make(const struct bi__plan *plan, struct bi__rect *out);

#endif
