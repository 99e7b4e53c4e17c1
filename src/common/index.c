/* NumPy's basic indexing. */
#include <inttypes.h>
#include <string.h>

#include "common/layout.h"
#include "common/status.h"

/* Where the work is: the next axis of the source, and the next of the result. */
struct cursor {
	const int64_t *shape, *strides;
	int64_t *to_shape, *to_strides;
	int64_t offset;
	int is_empty;
};

static inline void add_axis(struct cursor *at, int64_t extent, int64_t stride)
{
	*at->to_shape++ = extent;
	*at->to_strides++ = stride;
}

static inline void add_whole_axes(struct cursor *at, int count)
{
	for (; count > 0; count--)
		add_axis(at, *at->shape++, *at->strides++);
}

static int refuse_integer(const struct bi__axes *source, const struct cursor *at, int64_t index, int position,
			  struct bi_error *err)
{
	return bi__fail(err, BI_EBOUNDS, "items[%d] is %" PRId64 ", outside of axis %d with extent %" PRId64, position,
			index, (int)(at->shape - source->shape), *at->shape);
}

/* 0 if it lies outside; then nothing has moved. */
static inline int add_integer(struct cursor *at, int64_t index)
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

/* Brings a limit of a slice to where the loop over it can begin or end. */
static int64_t clip(int64_t limit, int64_t extent, int backward)
{
	int64_t low = backward ? -1 : 0, high = extent + low;

	if (limit < 0)
		limit += extent;
	return limit < low ? low : limit > high ? high : limit;
}

/* How many steps begin before `distance` ends. The commonest steps need no division. */
static int64_t count_steps(int64_t distance, int64_t step)
{
	if (distance <= 0)
		return 0;
	if (!(step & (step - 1)))
		return ((distance - 1) >> __builtin_ctzll((unsigned long long)step)) + 1;
	return (distance - 1) / step + 1;
}

/* The step is not 0. */
static inline void add_slice(struct cursor *at, const struct bi_index *item)
{
	int64_t extent = *at->shape++, stride = *at->strides++;
	int backward = item->step < 0;
	int64_t start = backward ? extent - 1 : 0, stop = backward ? -1 : extent, step, length;

	if (item->start != BI_OMITTED)
		start = clip(item->start, extent, backward);
	if (item->stop != BI_OMITTED)
		stop = clip(item->stop, extent, backward);
	step = !backward ? item->step : item->step == INT64_MIN ? INT64_MAX : -item->step;
	length = count_steps(backward ? start - stop : stop - start, step);
	if (length > 0 && !at->is_empty)
		at->offset += start * stride;
	if (length > 1 && !at->is_empty)
		stride *= item->step;
	add_axis(at, length, stride);
}

int bi__axes_count_items(int source_ndim, const struct bi_index *items, int count, int *ndim, int *whole,
			 struct bi_error *err)
{
	int integers = 0, slices = 0, ellipses = 0;

	for (int i = 0; i < count; i++) {
		if ((unsigned)items[i].kind > BI_INDEX_ELLIPSIS)
			return bi__fail(err, BI_EINVAL, "items[%d]: kind %d is not in %d..%d", i, (int)items[i].kind,
					BI_INDEX_INTEGER, BI_INDEX_ELLIPSIS);
		integers += items[i].kind == BI_INDEX_INTEGER;
		slices += items[i].kind == BI_INDEX_SLICE;
		ellipses += items[i].kind == BI_INDEX_ELLIPSIS;
	}
	if (ellipses > 1)
		return bi__fail(err, BI_EINVAL, "items: there are %d ellipses, there can be one", ellipses);
	if (integers + slices > source_ndim)
		return bi__fail(err, BI_EBOUNDS, "items: the number of axes indexed is %d, the layout has %d",
				integers + slices, source_ndim);
	*ndim = source_ndim - integers + (count - integers - slices - ellipses);
	*whole = source_ndim - integers - slices;
	if (*ndim > BI_MAX_NDIM)
		return bi__fail(err, BI_EINVAL, "items: the result has more than %d dimensions", BI_MAX_NDIM);
	return BI_OK;
}

int bi__axes_index(const struct bi__axes *source, const struct bi_index *items, int count, int whole,
		   struct bi__axes_out *out, struct bi_error *err)
{
	struct cursor at = {
		source->shape, source->strides, out->shape, out->strides, source->offset, source->is_empty
	};

	for (int i = 0; i < count; i++) {
		switch (items[i].kind) {
		case BI_INDEX_INTEGER:
			if (!add_integer(&at, items[i].start))
				return refuse_integer(source, &at, items[i].start, i, err);
			break;
		case BI_INDEX_SLICE:
			if (!items[i].step)
				return bi__fail(err, BI_EINVAL, "items[%d]: the step of the slice is 0", i);
			add_slice(&at, &items[i]);
			break;
		case BI_INDEX_NEWAXIS:
			add_axis(&at, 1, 0);
			break;
		case BI_INDEX_ELLIPSIS:
			add_whole_axes(&at, whole);
		}
	}
	add_whole_axes(&at, source->ndim - (int)(at.shape - source->shape));
	out->offset = at.offset;
	return BI_OK;
}

/* Nothing of the layout changes before every item has been accepted. */
int bi_layout_index(struct bi_layout *layout, const struct bi_index *items, int count, struct bi_error *err)
{
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	struct bi__axes_out out = { shape, strides, 0 };
	struct bi__axes source;
	int ndim, whole, rc;

	if (!layout || count < 0 || (count > 0 && !items))
		return bi__fail(err, BI_EINVAL, "layout or items is NULL, or count %d is below 0", count);
	rc = bi__axes_count_items(layout->ndim, items, count, &ndim, &whole, err);
	if (rc)
		return rc;
	source = (struct bi__axes){ layout->shape, layout->strides, layout->offset, layout->ndim,
				    bi_layout_size(layout) == 0 };
	rc = bi__axes_index(&source, items, count, whole, &out, err);
	if (rc)
		return rc;
	layout->ndim = ndim;
	layout->offset = out.offset;
	memcpy(layout->shape, shape, (size_t)ndim * sizeof(*shape));
	memcpy(layout->strides, strides, (size_t)ndim * sizeof(*strides));
	return BI_OK;
}
