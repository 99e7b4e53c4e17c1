#include "naive.h"

#include <string.h>

/*
 * One axis of the view. Index i of the view is index first + i * step of an axis of the source. Neighbours on the axis
 * of the source are `pitch` items apart.
 */
struct axis {
	int64_t extent;
	int64_t first;
	int64_t step;
	int64_t pitch;
};

struct view {
	int ndim;
	int64_t origin; /* position of element [0, ..., 0] in the source, in items */
	struct axis axes[INDEXING_MAX + BI_MAX_NDIM];
};

/*
 * Returns the distance in items between neighbours along one axis of a dense array, or 0 if the array has no elements.
 */
static int64_t pitch_of(const struct naive_array *array, int axis)
{
	int64_t pitch = 1;

	for (int i = 0; i < array->ndim; i++)
		if (!array->shape[i])
			return 0;
	for (int i = 0; i < array->ndim; i++)
		if (array->fortran_order ? i < axis : i > axis)
			pitch *= array->shape[i];
	return pitch;
}

static int64_t clip_index(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/*
 * Applies Python's rules to a part of a slice: a negative position counts from the end, and the result is clipped to
 * the axis.
 */
static int64_t slice_bound(int64_t value, int64_t otherwise, int64_t extent, int backwards)
{
	if (value == BI_OMITTED)
		return otherwise;
	if (value < 0)
		value += extent;
	return backwards ? clip_index(value, -1, extent - 1) : clip_index(value, 0, extent);
}

static struct axis slice_axis(const struct bi_index *item, int64_t extent, int64_t pitch)
{
	int backwards = item->step < 0;
	int64_t start = slice_bound(item->start, backwards ? extent - 1 : 0, extent, backwards);
	int64_t stop = slice_bound(item->stop, backwards ? -1 : extent, extent, backwards);
	uint64_t span = 0, stride = backwards ? 0 - (uint64_t)item->step : (uint64_t)item->step;
	struct axis axis = { 0, start, item->step, pitch };

	if (backwards ? start > stop : stop > start)
		span = backwards ? (uint64_t)(start - stop) : (uint64_t)(stop - start);
	axis.extent = (int64_t)(span / stride + (span % stride != 0));
	return axis;
}

static void add_axis(struct view *view, struct axis axis)
{
	if (axis.extent > 0)
		view->origin += axis.first * axis.pitch;
	view->axes[view->ndim++] = axis;
}

static void add_whole_axes(struct view *view, const struct naive_array *source, int *from, int count)
{
	for (; count > 0; count--, ++*from)
		add_axis(view, (struct axis){ source->shape[*from], 0, 1, pitch_of(source, *from) });
}

/* Counts the axes of the source to which an item of the index applies: all except those of an ellipsis. */
static int named_axes(const struct selection *selection)
{
	int count = 0;

	for (int i = 0; i < selection->count; i++)
		count += selection->items[i].kind == BI_INDEX_INTEGER || selection->items[i].kind == BI_INDEX_SLICE;
	return count;
}

static int add_integer(struct view *view, const struct naive_array *source, int axis, int64_t position)
{
	if (position < 0)
		position += source->shape[axis];
	if (position < 0 || position >= source->shape[axis])
		return 0;
	view->origin += position * pitch_of(source, axis);
	return 1;
}

static int index_view(struct view *view, const struct naive_array *source, const struct selection *selection)
{
	int axis = 0, unnamed = source->ndim - named_axes(selection);

	if (unnamed < 0)
		return 0;
	for (int i = 0; i < selection->count; i++) {
		const struct bi_index *item = &selection->items[i];

		if (item->kind == BI_INDEX_NEWAXIS) {
			add_axis(view, (struct axis){ 1, 0, 1, 0 });
		} else if (item->kind == BI_INDEX_ELLIPSIS) {
			add_whole_axes(view, source, &axis, unnamed);
			unnamed = 0;
		} else if (item->kind == BI_INDEX_SLICE) {
			add_axis(view, slice_axis(item, source->shape[axis], pitch_of(source, axis)));
			axis++;
		} else if (!add_integer(view, source, axis++, item->start)) {
			return 0;
		}
	}
	add_whole_axes(view, source, &axis, source->ndim - axis);
	return 1;
}

static int transpose_view(struct view *view, const struct selection *selection)
{
	struct view old = *view;

	if (selection->axis_count < 0)
		return 1;
	if (selection->axis_count != view->ndim)
		return 0;
	for (int i = 0; i < view->ndim; i++) {
		int from = selection->axes[i] < 0 ? selection->axes[i] + view->ndim : selection->axes[i];

		if (from < 0 || from >= view->ndim)
			return 0;
		view->axes[i] = old.axes[from];
	}
	return 1;
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
		position += index[i] * view->axes[i].step * view->axes[i].pitch;
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
