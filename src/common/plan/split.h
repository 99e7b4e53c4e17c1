/*
 * Cuts the nest of a layout into boxes of limited size. Each box covers consecutive elements in C order. Pure
 * arithmetic.
 */
#ifndef BI_COMMON_PLAN_SPLIT_H
#define BI_COMMON_PLAN_SPLIT_H

#include "buffer_interface.h"

struct bi__split {
	int axis; /* the axis that is cut: a box has one index of each axis before it, and each axis after it whole */
	int64_t step; /* extent of a box along that axis; the last box may be shorter */
	int64_t at[BI_MAX_NDIM]; /* indices at which the next box begins */
	int is_done;
};

/*
 * Starts with boxes of at most `limit` bytes, about equally large. The layout has at least one axis and one element,
 * and an item has at most `limit` bytes. Strides do not matter.
 */
void bi__split_start(struct bi__split *split, const struct bi_layout *layout, int64_t limit);

/* Writes the indices and the extents of the next box. Returns 0 if there is none left. */
int bi__split_next(struct bi__split *split, const struct bi_layout *layout, int64_t *at, int64_t *shape);

/* Writes the part of `layout` that such a box covers. The layout has the shape that bi__split_start was given. */
void bi__split_cut(const struct bi_layout *layout, const int64_t *at, const int64_t *shape, struct bi_layout *out);

#endif
