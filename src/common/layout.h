/* What the other files need of layouts beyond the public functions. */
#ifndef BI_COMMON_LAYOUT_H
#define BI_COMMON_LAYOUT_H

#include "buffer_interface.h"

/*
 * A layout that a caller may have filled in himself: the checks of bi_layout_init, and what bi_layout_extent says. Its
 * descr is not looked at.
 */
int bi__layout_check(const struct bi_layout *layout, int64_t *first, int64_t *end, struct bi_error *err);

/* bi_layout_overlap of `a`, moved by `distance` bytes, with b. 0 where that is beyond all addresses. */
int bi__layout_overlap_at(const struct bi_layout *a, int64_t distance, const struct bi_layout *b);

/*
 * Indexing and permuting on shapes and strides wherever they lie, so that a view of a view is worked out where it
 * stays. What is read is that of a sound layout.
 */
struct bi__axes {
	const int64_t *shape, *strides;
	int64_t offset;
	int ndim;
	int is_empty; /* no element: then strides need not be sound, and the offset does not move */
};

/* What is written: room for ndim entries each. */
struct bi__axes_out {
	int64_t *shape, *strides;
	int64_t offset;
};

/*
 * *ndim = dimensions of source[items...], *whole = how many axes the ellipsis, or else the end, stands for. BI_EINVAL:
 * an unknown kind, two ellipses, more than BI_MAX_NDIM dimensions; BI_EBOUNDS: more items than axes.
 */
int bi__axes_count_items(int source_ndim, const struct bi_index *items, int count, int *ndim, int *whole,
			 struct bi_error *err);

/* source[items...]; `whole` is what bi__axes_count_items says. BI_EBOUNDS, BI_EINVAL: a step is 0. */
int bi__axes_index(const struct bi__axes *source, const struct bi_index *items, int count, int whole,
		   struct bi__axes_out *out, struct bi_error *err);

/* As bi_layout_permute; the offset stays. */
int bi__axes_permute(const struct bi__axes *source, const int *axes, struct bi__axes_out *out, struct bi_error *err);

#endif
