/* NumPy's basic indexing. */
#include <inttypes.h>
#include <string.h>

#include "common/layout.h"
#include "common/status.h"

/* Where the work is: the next axis of the source, and the next of the result. */
struct cursor {
	const struct bi__axes *source;
	struct bi__axes_out *out;
	int from, to;
};

static void add_axis(struct cursor *at, int64_t extent, int64_t stride)
{
	at->out->shape[at->to] = extent;
	at->out->strides[at->to++] = stride;
}

static void add_whole_axes(struct cursor *at, int count)
{
	for (int end = at->from + count; at->from < end; at->from++)
		add_axis(at, at->source->shape[at->from], at->source->strides[at->from]);
}

static int add_integer(struct cursor *at, int64_t index, int position, struct bi_error *err)
{
	int64_t extent = at->source->shape[at->from], stride = at->source->strides[at->from];

	if (index < -extent || index >= extent)
		return bi__fail(err, BI_EBOUNDS, "items[%d] is %" PRId64 ", outside of axis %d with extent %" PRId64,
				position, index, at->from, extent);
	if (!at->source->is_empty)
		at->out->offset += (index < 0 ? index + extent : index) * stride;
	at->from++;
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

/* How many steps begin before `distance` ends. The commonest steps need no division. */
static int64_t count_steps(int64_t distance, int64_t step)
{
	if (distance <= 0)
		return 0;
	if (!(step & (step - 1)))
		return ((distance - 1) >> __builtin_ctzll((unsigned long long)step)) + 1;
	return (distance - 1) / step + 1;
}

static int add_slice(struct cursor *at, const struct bi_index *item, int position, struct bi_error *err)
{
	int64_t extent = at->source->shape[at->from], stride = at->source->strides[at->from++];
	int backward = item->step < 0;
	int64_t start = backward ? extent - 1 : 0, stop = backward ? -1 : extent, step, length;

	if (item->step == 0)
		return bi__fail(err, BI_EINVAL, "items[%d]: the step of the slice is 0", position);
	if (item->start != BI_OMITTED)
		start = clip(item->start, extent, backward);
	if (item->stop != BI_OMITTED)
		stop = clip(item->stop, extent, backward);
	step = !backward ? item->step : item->step == INT64_MIN ? INT64_MAX : -item->step;
	length = count_steps(backward ? start - stop : stop - start, step);
	if (length > 0 && !at->source->is_empty)
		at->out->offset += start * stride;
	if (length > 1 && !at->source->is_empty)
		stride *= item->step;
	add_axis(at, length, stride);
	return BI_OK;
}

int bi__axes_count_items(int source_ndim, const struct bi_index *items, int count, int *ndim, int *whole,
			 struct bi_error *err)
{
	int of_kind[BI_INDEX_ELLIPSIS + 1] = { 0 }, used;

	for (int i = 0; i < count; i++) {
		if ((unsigned)items[i].kind > BI_INDEX_ELLIPSIS)
			return bi__fail(err, BI_EINVAL, "items[%d]: kind %d is not in %d..%d", i, (int)items[i].kind,
					BI_INDEX_INTEGER, BI_INDEX_ELLIPSIS);
		of_kind[items[i].kind]++;
	}
	used = of_kind[BI_INDEX_INTEGER] + of_kind[BI_INDEX_SLICE];
	if (of_kind[BI_INDEX_ELLIPSIS] > 1)
		return bi__fail(err, BI_EINVAL, "items: there are %d ellipses, there can be one",
				of_kind[BI_INDEX_ELLIPSIS]);
	if (used > source_ndim)
		return bi__fail(err, BI_EBOUNDS, "items: the number of axes indexed is %d, the layout has %d", used,
				source_ndim);
	*ndim = source_ndim - of_kind[BI_INDEX_INTEGER] + of_kind[BI_INDEX_NEWAXIS];
	*whole = source_ndim - used;
	if (*ndim > BI_MAX_NDIM)
		return bi__fail(err, BI_EINVAL, "items: the result has more than %d dimensions", BI_MAX_NDIM);
	return BI_OK;
}

static int add_item(struct cursor *at, const struct bi_index *item, int position, int whole, struct bi_error *err)
{
	switch (item->kind) {
	case BI_INDEX_INTEGER:
		return add_integer(at, item->start, position, err);
	case BI_INDEX_SLICE:
		return add_slice(at, item, position, err);
	case BI_INDEX_NEWAXIS:
		add_axis(at, 1, 0);
		break;
	case BI_INDEX_ELLIPSIS:
		add_whole_axes(at, whole);
	}
	return BI_OK;
}

int bi__axes_index(const struct bi__axes *source, const struct bi_index *items, int count, int whole,
		   struct bi__axes_out *out, struct bi_error *err)
{
	struct cursor at = { source, out, 0, 0 };

	out->offset = source->offset;
	for (int i = 0; i < count; i++) {
		int rc = add_item(&at, &items[i], i, whole, err);

		if (rc)
			return rc;
	}
	add_whole_axes(&at, source->ndim - at.from);
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
