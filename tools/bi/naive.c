#include "naive.h"

#include <string.h>

/* One axis of the view. Neighbours are `step` items of the source apart. */
struct axis {
	int64_t extent;
	int64_t step;
};

struct view {
	int ndim;
	int64_t origin; /* position of element [0, ..., 0] in the source, in items */
	struct axis axes[INDEXING_MAX + BI_MAX_NDIM];
};

/* Sets the distances in items between neighbours along the axes of a dense array. Without elements, they are 0. */
static void find_pitches(const struct naive_array *array, int64_t pitches[BI_MAX_NDIM])
{
	uint64_t items = 1;

	for (int i = 0; i < array->ndim; i++) {
		int axis = array->fortran_order ? i : array->ndim - 1 - i;

		pitches[axis] = (int64_t)items;
		items *= (uint64_t)array->shape[axis];
	}
	if (!items)
		memset(pitches, 0, BI_MAX_NDIM * sizeof(*pitches));
}

/*
 * Applies Python's rules to a part of a slice: a negative position counts from the end, and the result is clipped to
 * the axis.
 */
static int64_t slice_bound(int64_t value, int64_t otherwise, int64_t extent, int backwards)
{
	int64_t low = backwards ? -1 : 0, high = backwards ? extent - 1 : extent;

	if (value == BI_OMITTED)
		return otherwise;
	if (value < 0)
		value += extent;
	return value < low ? low : value > high ? high : value;
}

static void add_slice(struct view *view, const struct bi_index *item, int64_t extent, int64_t pitch)
{
	int backwards = item->step < 0;
	int64_t start = slice_bound(item->start, backwards ? extent - 1 : 0, extent, backwards);
	int64_t stop = slice_bound(item->stop, backwards ? -1 : extent, extent, backwards);
	int64_t span = backwards ? start - stop : stop - start;
	uint64_t stride = backwards ? 0 - (uint64_t)item->step : (uint64_t)item->step;
	int64_t count = span > 0 ? (int64_t)(((uint64_t)span - 1) / stride + 1) : 0;

	view->origin += count ? start * pitch : 0;
	view->axes[view->ndim++] = (struct axis){ count, count > 1 ? item->step * pitch : 0 };
}

/* Returns 1, or 0 if the source has no such view. */
static int index_view(struct view *view, const struct naive_array *source, const struct selection *selection)
{
	int64_t pitches[BI_MAX_NDIM];
	int axis = 0, unnamed = source->ndim, end;

	find_pitches(source, pitches);
	for (int i = 0; i < selection->count; i++)
		unnamed -= selection->items[i].kind == BI_INDEX_INTEGER || selection->items[i].kind == BI_INDEX_SLICE;
	if (unnamed < 0)
		return 0;
	for (int i = 0; i <= selection->count; i++) {
		const struct bi_index *item = &selection->items[i];

		/* The axes that no item names are those of the ellipsis, or the last ones. */
		if (i == selection->count || item->kind == BI_INDEX_ELLIPSIS) {
			for (end = i == selection->count ? source->ndim : axis + unnamed; axis < end; axis++)
				view->axes[view->ndim++] = (struct axis){ source->shape[axis], pitches[axis] };
		} else if (item->kind == BI_INDEX_NEWAXIS) {
			view->axes[view->ndim++] = (struct axis){ 1, 0 };
		} else if (item->kind == BI_INDEX_SLICE) {
			add_slice(view, item, source->shape[axis], pitches[axis]);
			axis++;
		} else {
			int64_t position = item->start < 0 ? item->start + source->shape[axis] : item->start;

			if (position < 0 || position >= source->shape[axis])
				return 0;
			view->origin += position * pitches[axis++];
		}
	}
	return 1;
}

static int transpose_view(struct view *view, const struct selection *selection)
{
	struct view old = *view;

	for (int i = 0; i < selection->axis_count; i++) {
		int from = selection->axes[i] < 0 ? selection->axes[i] + view->ndim : selection->axes[i];

		if (from < 0 || from >= view->ndim)
			return 0;
		view->axes[i] = old.axes[from];
	}
	return selection->axis_count < 0 || selection->axis_count == view->ndim;
}

/* Advances to the next index in C order. Returns 1, or 0 after the last index. */
static int next_index(const struct view *view, int64_t index[BI_MAX_NDIM])
{
	for (int i = view->ndim; i-- > 0; index[i] = 0)
		if (++index[i] < view->axes[i].extent)
			return 1;
	return 0;
}

static size_t position_of(const struct view *view, const int64_t *index)
{
	int64_t position = view->origin;

	for (int i = 0; i < view->ndim; i++)
		position += index[i] * view->axes[i].step;
	return (size_t)position;
}

static int same_shape(const struct view *view, const struct naive_array *result, int *empty)
{
	*empty = 0;
	if (view->ndim != result->ndim)
		return 0;
	for (int i = 0; i < view->ndim; i++) {
		if (view->axes[i].extent != result->shape[i])
			return 0;
		*empty |= result->shape[i] == 0;
	}
	return 1;
}

enum naive_verdict naive_compare(const struct naive_array *source, const struct selection *selection,
				 const struct naive_array *result, int64_t index[BI_MAX_NDIM])
{
	struct view view = { .ndim = 0 };
	const unsigned char *got = result->bytes;
	int empty;

	if (!index_view(&view, source, selection) || !transpose_view(&view, selection))
		return NAIVE_NO_VIEW;
	if (!same_shape(&view, result, &empty))
		return NAIVE_OTHER_SHAPE;
	if (empty || !source->item_size)
		return NAIVE_SAME;
	memset(index, 0, BI_MAX_NDIM * sizeof(*index));
	do {
		if (memcmp(got, source->bytes + position_of(&view, index) * source->item_size, source->item_size))
			return NAIVE_OTHER_BYTES;
		got += source->item_size;
	} while (next_index(&view, index));
	return NAIVE_SAME;
}
