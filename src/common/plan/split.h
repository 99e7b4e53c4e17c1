/*
 * Cuts a layout into boxes of limited size. A box consists of elements that follow each other in C order. The functions
 * do not allocate.
 */
#ifndef BI_COMMON_PLAN_SPLIT_H
#define BI_COMMON_PLAN_SPLIT_H

#include "buffer_interface.h"

struct bi__split {
	int axis; /* the axis that is cut; a box has one index of each axis before it, and all of each axis after it */
	int64_t step; /* extent of a box along `axis`; the last box may be shorter */
	int64_t next, left; /* number of the next box; how many boxes are left */
};

/*
 * Starts to cut `layout` into boxes of about equal size with at most `limit` bytes. The layout has at least one axis
 * and one element, and the item size is in 1..limit. Strides do not matter.
 */
void bi__split_start(struct bi__split *split, const struct bi_layout *layout, int64_t limit);

/* Returns 1 and writes the first indices and the extents of the next box, or returns 0 if no box is left. */
int bi__split_next(struct bi__split *split, const struct bi_layout *layout, int64_t *at, int64_t *shape);

/* Writes the part of `layout` that a box covers. `layout` has the same shape as the layout of bi__split_start. */
void bi__split_cut(const struct bi_layout *layout, const int64_t *at, const int64_t *shape, struct bi_layout *out);

#endif
