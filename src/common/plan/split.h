/* A nest cut into boxes of at most so many bytes, each a run of it in its own order: pure. */
#ifndef BI_COMMON_PLAN_SPLIT_H
#define BI_COMMON_PLAN_SPLIT_H

#include "buffer_interface.h"

struct bi__split {
	int axis; /* cut along this one; those before it are walked one by one, those behind it are whole in each box */
	int64_t step; /* extent of a box along the axis; the last one may be shorter */
	int64_t at[BI_MAX_NDIM]; /* where the next box begins */
	int is_done;
};

/*
 * The layout has at least one axis, at least one element, and no item is larger than `limit`. Boxes are about equally
 * large; only their extents matter, strides do not.
 */
void bi__split_start(struct bi__split *split, const struct bi_layout *layout, int64_t limit);

/* The next box as offsets and extents: 0 if there is none left. */
int bi__split_next(struct bi__split *split, const struct bi_layout *layout, int64_t *at, int64_t *shape);

/* That box of a layout with the same shape. */
void bi__split_cut(const struct bi_layout *layout, const int64_t *at, const int64_t *shape, struct bi_layout *out);

#endif
