/*
 * Indexing and permuting on bare shapes and strides.
 *
 * A cursor reads the axes of a source and writes the axes of the result. bi_layout_index and bi_layout_permute write to
 * arrays on the stack. bi_view_index and bi_view_permute (view/derive.c) write to the new view. The source is the shape
 * and strides of a valid layout. The functions are inlined into these callers, except those that make error messages
 * (index.c, layout.c).
 */
#ifndef BI_COMMON_LAYOUT_AXES_H
#define BI_COMMON_LAYOUT_AXES_H

#include "buffer_interface.h"

/*
 * Forces inlining where the compiler would refuse because of the size of two copies. If a function is not inlined, the
 * cursor is in memory instead of registers, and a slice takes half as long again.
 */
#define BI__INLINE static inline __attribute__((always_inline))

/* Points to the next axis of the source and to the next free axis of the result. The result has space for all axes. */
struct bi__cursor {
	const int64_t *shape, *strides;
	int64_t *to_shape, *to_strides;
	int64_t offset;
	int is_empty; /* 1: the source has no elements; strides are copied, and the offset does not change */
	int became_empty; /* 1: a slice selected no index of its axis */
};

BI__INLINE void bi__cursor_add(struct bi__cursor *at, int64_t extent, int64_t stride)
{
	*at->to_shape++ = extent;
	*at->to_strides++ = stride;
}

BI__INLINE void bi__cursor_add_whole(struct bi__cursor *at, int count)
{
	for (; count > 0; count--)
		bi__cursor_add(at, *at->shape++, *at->strides++);
}

/* Applies an integer to the next axis. Returns 1. If the index is out of bounds, changes nothing and returns 0. */
BI__INLINE int bi__cursor_add_integer(struct bi__cursor *at, int64_t index)
{
	int64_t extent = *at->shape;

	if (index < -extent || index >= extent)
		return 0;
	if (!at->is_empty)
		at->offset += (index < 0 ? index + extent : index) * *at->strides;
	at->shape++;
	at->strides++;
	return 1;
}

/* Clamps a start or stop of a slice to low..high. A negative `limit` counts from the end of the axis. */
static inline int64_t bi__clip(int64_t limit, int64_t extent, int64_t low, int64_t high)
{
	if (limit < 0)
		limit += extent;
	return limit < low ? low : limit > high ? high : limit;
}

/* Returns distance / step, rounded up, or 0 if `distance` is negative. Divides by powers of two with a shift. */
static inline int64_t bi__count_steps(int64_t distance, int64_t step)
{
	if (distance <= 0)
		return 0;
	if (step == 1)
		return distance;
	if (!(step & (step - 1)))
		return ((distance - 1) >> __builtin_ctzll((unsigned long long)step)) + 1;
	return (distance - 1) / step + 1;
}

/* Adds the part of the next axis that has `length` indices: `start`, and then each `step` further. */
BI__INLINE void bi__cursor_add_part(struct bi__cursor *at, int64_t start, int64_t length, int64_t step)
{
	int64_t stride = *at->strides++;

	at->shape++;
	at->became_empty |= length == 0;
	if (!at->is_empty && length > 0) {
		at->offset += start * stride;
		stride *= length > 1 ? step : 1;
	}
	bi__cursor_add(at, length, stride);
}

/* Applies a slice to the next axis. Returns 1. If the step is 0, changes nothing and returns 0. */
BI__INLINE int bi__cursor_add_slice(struct bi__cursor *at, const struct bi_index *item)
{
	int64_t extent = *at->shape, step = item->step;
	int64_t low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
	int64_t start = item->start == BI_OMITTED ? (step < 0 ? high : low) : bi__clip(item->start, extent, low, high);
	int64_t stop = item->stop == BI_OMITTED ? (step < 0 ? low : high) : bi__clip(item->stop, extent, low, high);

	if (step > 0)
		bi__cursor_add_part(at, start, bi__count_steps(stop - start, step), step);
	else if (step < 0)
		bi__cursor_add_part(at, start, bi__count_steps(start - stop, step == INT64_MIN ? INT64_MAX : -step),
				    step);
	return step != 0;
}

/* The result of bi__index_begin. */
struct bi__indexed {
	int ndim; /* dimensions of the result */
	int whole; /* axes that no integer and no slice selects: those of the ellipsis, or the last ones */
};

/*
 * Writes the message for a list of items that bi__index_begin refused, and returns its status. BI_EINVAL: the count is
 * below 0, items is NULL, a kind is unknown, there are two ellipses, or the result has more than BI_MAX_NDIM
 * dimensions. BI_EBOUNDS: there are more integers and slices than axes.
 */
int bi__index_refuse(int ndim, const struct bi_index *items, int count, struct bi_error *err);

/*
 * Checks the kinds and the number of the items of source[items...], where the source has `ndim` dimensions. Returns
 * BI_OK or the status of bi__index_refuse.
 */
static inline int bi__index_begin(int ndim, const struct bi_index *items, int count, struct bi__indexed *out,
				  struct bi_error *err)
{
	int counts[BI_INDEX_ELLIPSIS + 1] = { 0 }, is_right = count == 0 || (count > 0 && items);

	for (int i = 0; i < count && is_right; i++) {
		is_right = (unsigned)items[i].kind <= BI_INDEX_ELLIPSIS;
		counts[items[i].kind & BI_INDEX_ELLIPSIS]++;
	}
	out->ndim = ndim - counts[BI_INDEX_INTEGER] + counts[BI_INDEX_NEWAXIS];
	out->whole = ndim - counts[BI_INDEX_INTEGER] - counts[BI_INDEX_SLICE];
	if (is_right && counts[BI_INDEX_ELLIPSIS] <= 1 && out->whole >= 0 && out->ndim <= BI_MAX_NDIM)
		return BI_OK;
	return bi__index_refuse(ndim, items, count, err);
}

/* Writes the message for item i and returns BI_EBOUNDS (integer out of bounds) or BI_EINVAL (slice with step 0). */
int bi__index_refuse_item(const struct bi_index *items, int i, int axis, int64_t extent, struct bi_error *err);

/*
 * Applies items that bi__index_begin has accepted to the cursor of a source of `ndim` dimensions. `whole` is the member
 * of struct bi__indexed. Returns BI_OK or the status of bi__index_refuse_item.
 */
BI__INLINE int bi__index_axes(struct bi__cursor *at, int ndim, const struct bi_index *items, int count, int whole,
			      struct bi_error *err)
{
	const int64_t *end = at->shape + ndim;

	for (int i = 0; i < count; i++) {
		int is_right = 1;

		if (items[i].kind == BI_INDEX_SLICE)
			is_right = bi__cursor_add_slice(at, &items[i]);
		else if (items[i].kind == BI_INDEX_INTEGER)
			is_right = bi__cursor_add_integer(at, items[i].start);
		else if (items[i].kind == BI_INDEX_NEWAXIS)
			bi__cursor_add(at, 1, 0);
		else
			bi__cursor_add_whole(at, whole);
		if (!is_right)
			return bi__index_refuse_item(items, i, ndim - (int)(end - at->shape), *at->shape, err);
	}
	bi__cursor_add_whole(at, (int)(end - at->shape));
	return BI_OK;
}

/* Writes the message for axes[i], which does not exist or is repeated, and returns BI_EINVAL. */
int bi__permute_refuse(const int *axes, int i, int ndim, struct bi_error *err);

/* Permutes `ndim` axes of the cursor as bi_layout_permute does. */
BI__INLINE int bi__permute_axes(struct bi__cursor *at, const int *axes, int ndim, struct bi_error *err)
{
	uint64_t seen = 0;

	for (int i = 0; i < ndim; i++) {
		int axis = !axes ? ndim - 1 - i : axes[i] < 0 ? axes[i] + ndim : axes[i];

		if (axis < 0 || axis >= ndim || seen >> axis & 1)
			return bi__permute_refuse(axes, i, ndim, err);
		seen |= UINT64_C(1) << axis;
		bi__cursor_add(at, at->shape[axis], at->strides[axis]);
	}
	return BI_OK;
}

#endif
