/*
 * Boxes of rows: the strided copy that drivers have commands for (clEnqueueCopyBufferRect, cuMemcpy2D, cuMemcpy3D).
 *
 * A box has `slices` slices of `rows` rows of `width` bytes. On each side, the starts of rows are `row` bytes apart,
 * and the starts of slices `slice` bytes apart. Rows do not overlap, and slices do not overlap. `slice` is a multiple
 * of `row`. dst_offset and src_offset of the plan are the starts of the first rows.
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
 * Returns 1 and fills *out if the plan is one box on both sides, else returns 0 and *out is undefined. A plan without
 * axes is a box of one row. A plan is no box if it has more than two axes, if a stride in the source is not positive,
 * or if the strides do not fulfil the conditions of struct bi__pitch. The plan is not NOTHING.
 */
int bi__rect_make(const struct bi__plan *plan, struct bi__rect *out);

#endif
