/*
 * Indexing and permuting on shapes and strides wherever they lie
 *
 * A view of a view is worked out in the new view itself, a layout on the stack. What is read is that of a sound layout.
 * The steps of each are inlined into both; words for failures are written elsewhere (index.c, layout.c).
 */
#ifndef BI_COMMON_LAYOUT_AXES_H
#define BI_COMMON_LAYOUT_AXES_H

#include "buffer_interface.h"

/* Where the compiler would weigh the size of two copies against the call. */
#define BI__INLINE static inline __attribute__((always_inline))

/* Where the work is: the next axis of the source, and the next of the result, which has room for all of its axes. */
struct bi__cursor {
	const int64_t *shape, *strides;
	int64_t *to_shape, *to_strides;
	int64_t offset;
	int is_empty; /* no element: then strides need not be sound, and the offset does not move */
	int became_empty; /* a slice has taken none */
};

static inline void bi__cursor_add(struct bi__cursor *at, int64_t extent, int64_t stride)
{
	*at->to_shape++ = extent;
	*at->to_strides++ = stride;
}

static inline void bi__cursor_add_whole(struct bi__cursor *at, int count)
{
	for (; count > 0; count--)
		bi__cursor_add(at, *at->shape++, *at->strides++);
}

/* 0 if it lies outside; then nothing has moved. */
static inline int bi__cursor_add_integer(struct bi__cursor *at, int64_t index)
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

/* Brings a limit of a slice to where the loop over it can begin or end: low..high. */
static inline int64_t bi__clip(int64_t limit, int64_t extent, int64_t low, int64_t high)
{
	if (limit < 0)
		limit += extent;
	return limit < low ? low : limit > high ? high : limit;
}

/* How many steps begin before `distance` ends. The commonest steps need no division. */
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

/* The part of an axis that begins at `start` and has `length` elements. */
static inline void bi__cursor_add_part(struct bi__cursor *at, int64_t start, int64_t length, int64_t step)
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

static inline void bi__cursor_add_forward(struct bi__cursor *at, const struct bi_index *item)
{
	int64_t extent = *at->shape;
	int64_t start = item->start == BI_OMITTED ? 0 : bi__clip(item->start, extent, 0, extent);
	int64_t stop = item->stop == BI_OMITTED ? extent : bi__clip(item->stop, extent, 0, extent);

	bi__cursor_add_part(at, start, bi__count_steps(stop - start, item->step), item->step);
}

static inline void bi__cursor_add_backward(struct bi__cursor *at, const struct bi_index *item)
{
	int64_t extent = *at->shape, last = extent - 1;
	int64_t start = item->start == BI_OMITTED ? last : bi__clip(item->start, extent, -1, last);
	int64_t stop = item->stop == BI_OMITTED ? -1 : bi__clip(item->stop, extent, -1, last);
	int64_t step = item->step == INT64_MIN ? INT64_MAX : -item->step;

	bi__cursor_add_part(at, start, bi__count_steps(start - stop, step), item->step);
}

/* 0 if the step is 0; then nothing has moved. */
static inline int bi__cursor_add_slice(struct bi__cursor *at, const struct bi_index *item)
{
	if (item->step > 0)
		bi__cursor_add_forward(at, item);
	else if (item->step < 0)
		bi__cursor_add_backward(at, item);
	return item->step != 0;
}

/* What an indexing makes: dimensions of the result, and how many axes the ellipsis, or else the end, stands for. */
struct bi__indexed {
	int ndim, whole;
};

/* BI_EINVAL: an unknown kind, two ellipses, more than BI_MAX_NDIM dimensions; BI_EBOUNDS: more items than axes. */
int bi__index_refuse(int ndim, const struct bi_index *items, int count, struct bi_error *err);

/* More than one for each axis of the source, one for each of the result, and an ellipsis are too many of some kind. */
#define BI__MAX_ITEMS (2 * BI_MAX_NDIM + 1)

/* *out = what source[items...] makes of a source of `ndim` dimensions; or bi__index_refuse. Each kind has its byte. */
static inline int bi__index_begin(int ndim, const struct bi_index *items, int count, struct bi__indexed *out,
				  struct bi_error *err)
{
	int is_known = count <= BI__MAX_ITEMS, integers, slices, newaxes, ellipses;
	unsigned counts = 0;

	for (int i = 0; i < count && is_known; i++) {
		is_known = (unsigned)items[i].kind <= BI_INDEX_ELLIPSIS;
		counts += 1u << (8 * (items[i].kind & 3));
	}
	integers = (int)(counts >> 8 * BI_INDEX_INTEGER & 0xff);
	slices = (int)(counts >> 8 * BI_INDEX_SLICE & 0xff);
	newaxes = (int)(counts >> 8 * BI_INDEX_NEWAXIS & 0xff);
	ellipses = (int)(counts >> 8 * BI_INDEX_ELLIPSIS & 0xff);
	*out = (struct bi__indexed){ ndim - integers + newaxes, ndim - integers - slices };
	if (is_known && ellipses <= 1 && out->whole >= 0 && out->ndim <= BI_MAX_NDIM)
		return BI_OK;
	return bi__index_refuse(ndim, items, count, err);
}

/* BI_EBOUNDS: the integer that comes next lies outside; BI_EINVAL: the step of the slice is 0. */
int bi__index_refuse_item(const struct bi_index *items, int i, int axis, int64_t extent, struct bi_error *err);

/* source[items...] of a source of `ndim` dimensions where the cursor is. */
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

/* BI_EINVAL: an axis that there is not, or that is there twice. */
int bi__permute_refuse(const int *axes, int i, int ndim, struct bi_error *err);

/* As bi_layout_permute, of `ndim` dimensions where the cursor is. */
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
