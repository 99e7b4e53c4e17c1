/*
 * Boxes of rows: the one strided copy that drivers have commands for (clEnqueueCopyBufferRect, cuMemcpy2D, cuMemcpy3D).
 *
 * A box is `slices` times `rows` runs of `width` bytes. On each side the rows begin row_pitch bytes apart and the
 * slices slice_pitch, nested: a row does not reach the next, the rows of a slice not the next slice, and a slice is a
 * whole number of row pitches. Where the first row begins on each side the plan says (dst_offset, src_offset).
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
 * Is the plan (not NOTHING) one box on both sides? Then 1 and *out is filled. A run is a box of one row. No: more than
 * two axes, a source that runs backwards, stands still or is nearest along another axis than the destination.
 */
int bi__rect_make(const struct bi__plan *plan, struct bi__rect *out);

#endif
