#include <inttypes.h>
#include <string.h>

#include "common/status.h"

/* The layout that is being built; nothing of the source changes before every item has been accepted. */
struct builder {
	const struct bi_layout *source;
	int is_empty; /* then strides need not be sound: the offset does not move */
	int axis; /* of the source, the next to be used */
	int ndim;
	int64_t offset;
	int64_t shape[BI_MAX_NDIM];
	int64_t strides[BI_MAX_NDIM];
};

static int add_axis(struct builder *to, int64_t extent, int64_t stride, struct bi_error *err)
{
	if (to->ndim == BI_MAX_NDIM)
		return bi__fail(err, BI_EINVAL, "items: the result has more than %d dimensions", BI_MAX_NDIM);
	to->shape[to->ndim] = extent;
	to->strides[to->ndim++] = stride;
	return BI_OK;
}

static int add_whole_axes(struct builder *to, int count, struct bi_error *err)
{
	for (; count > 0; count--, to->axis++) {
		int rc = add_axis(to, to->source->shape[to->axis], to->source->strides[to->axis], err);

		if (rc != BI_OK)
			return rc;
	}
	return BI_OK;
}

static int add_integer(struct builder *to, int64_t index, int position, struct bi_error *err)
{
	int64_t extent = to->source->shape[to->axis], stride = to->source->strides[to->axis];

	if (index < -extent || index >= extent)
		return bi__fail(err, BI_EBOUNDS, "items[%d] is %" PRId64 ", outside of axis %d with extent %" PRId64,
				position, index, to->axis, extent);
	if (!to->is_empty)
		to->offset += (index < 0 ? index + extent : index) * stride;
	to->axis++;
	return BI_OK;
}

/* Brings a limit of a slice to where the loop over it can begin or end. */
static int64_t clip(int64_t limit, int64_t extent, int backward)
{
	int64_t low = backward ? -1 : 0, high = extent + low;

	if (limit < 0)
		limit += extent;
	return limit < low ? low : limit > high ? high : limit;
}

static int add_slice(struct builder *to, const struct bi_index *item, int position, struct bi_error *err)
{
	int64_t extent = to->source->shape[to->axis], stride = to->source->strides[to->axis++];
	int backward = item->step < 0;
	int64_t start = backward ? extent - 1 : 0, stop = backward ? -1 : extent, distance, step, length;

	if (item->step == 0)
		return bi__fail(err, BI_EINVAL, "items[%d]: the step of the slice is 0", position);
	if (item->start != BI_OMITTED)
		start = clip(item->start, extent, backward);
	if (item->stop != BI_OMITTED)
		stop = clip(item->stop, extent, backward);
	distance = backward ? start - stop : stop - start;
	step = !backward ? item->step : item->step == INT64_MIN ? INT64_MAX : -item->step;
	length = distance > 0 ? (distance - 1) / step + 1 : 0;
	if (length > 0 && !to->is_empty)
		to->offset += start * stride;
	if (length > 1 && !to->is_empty)
		stride *= item->step;
	return add_axis(to, length, stride, err);
}

/* How many axes are left for an ellipsis or for the end, or a negative status. */
static int count_rest(const struct bi_layout *layout, const struct bi_index *items, int count, struct bi_error *err)
{
	int used = 0, ellipses = 0;

	for (int i = 0; i < count; i++) {
		used += items[i].kind == BI_INDEX_INTEGER || items[i].kind == BI_INDEX_SLICE;
		ellipses += items[i].kind == BI_INDEX_ELLIPSIS;
	}
	if (ellipses > 1)
		return bi__fail(err, BI_EINVAL, "items: there are %d ellipses, there can be one", ellipses);
	if (used > layout->ndim)
		return bi__fail(err, BI_EBOUNDS, "items: the number of axes indexed is %d, the layout has %d", used, layout->ndim);
	return layout->ndim - used;
}

static int add_item(struct builder *to, const struct bi_index *item, int position, int whole, struct bi_error *err)
{
	switch (item->kind) {
	case BI_INDEX_INTEGER:
		return add_integer(to, item->start, position, err);
	case BI_INDEX_SLICE:
		return add_slice(to, item, position, err);
	case BI_INDEX_NEWAXIS:
		return add_axis(to, 1, 0, err);
	case BI_INDEX_ELLIPSIS:
		return add_whole_axes(to, whole, err);
	}
	return bi__fail(err, BI_EINVAL, "items[%d]: kind %d is not in %d..%d", position, (int)item->kind,
			BI_INDEX_INTEGER, BI_INDEX_ELLIPSIS);
}

int bi_layout_index(struct bi_layout *layout, const struct bi_index *items, int count, struct bi_error *err)
{
	struct builder to;
	int whole, rc;

	if (!layout || count < 0 || (count > 0 && !items))
		return bi__fail(err, BI_EINVAL, "layout or items is NULL, or count %d is below 0", count);
	whole = count_rest(layout, items, count, err);
	if (whole < 0)
		return whole;
	to.source = layout;
	to.is_empty = bi_layout_size(layout) == 0;
	to.axis = 0;
	to.ndim = 0;
	to.offset = layout->offset;
	for (int i = 0; i < count; i++) {
		rc = add_item(&to, &items[i], i, whole, err);
		if (rc != BI_OK)
			return rc;
	}
	rc = add_whole_axes(&to, layout->ndim - to.axis, err);
	if (rc != BI_OK)
		return rc;
	layout->ndim = to.ndim;
	layout->offset = to.offset;
	memcpy(layout->shape, to.shape, (size_t)to.ndim * sizeof(*to.shape));
	memcpy(layout->strides, to.strides, (size_t)to.ndim * sizeof(*to.strides));
	return BI_OK;
}
