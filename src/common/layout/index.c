/* NumPy's basic indexing of layouts, and its error messages. */
#include <inttypes.h>
#include <string.h>

#include "common/layout/axes.h"
#include "common/base/status.h"
#include "common/layout/layout.h"

int bi__index_refuse(int ndim, const struct bi_index *items, int count, struct bi_error *err)
{
	int indexed = 0, ellipses = 0;

	if (count < 0 || !items)
		return bi__fail(err, BI_EINVAL, "count is %d, %s", count, count < 0 ? "below 0" : "but items is NULL");
	for (int i = 0; i < count; i++) {
		if ((unsigned)items[i].kind > BI_INDEX_ELLIPSIS)
			return bi__fail(err, BI_EINVAL, "items[%d]: kind %d is not in %d..%d", i, (int)items[i].kind,
					BI_INDEX_INTEGER, BI_INDEX_ELLIPSIS);
		indexed += items[i].kind == BI_INDEX_INTEGER || items[i].kind == BI_INDEX_SLICE;
		ellipses += items[i].kind == BI_INDEX_ELLIPSIS;
	}
	if (ellipses > 1)
		return bi__fail(err, BI_EINVAL, "items: there are %d ellipses, there can be one", ellipses);
	if (indexed > ndim)
		return bi__fail(err, BI_EBOUNDS, "items: the number of axes indexed is %d, the layout has %d", indexed,
				ndim);
	return bi__fail(err, BI_EINVAL, "items: the result has more than %d dimensions", BI_MAX_NDIM);
}

int bi__index_refuse_item(const struct bi_index *items, int i, int axis, int64_t extent, struct bi_error *err)
{
	if (items[i].kind == BI_INDEX_SLICE)
		return bi__fail(err, BI_EINVAL, "items[%d]: the step of the slice is 0", i);
	return bi__fail(err, BI_EBOUNDS, "items[%d] is %" PRId64 ", outside of axis %d with extent %" PRId64, i,
			items[i].start, axis, extent);
}

/* The result is made in arrays on the stack, so that a failure does not change the layout. */
int bi_layout_index(struct bi_layout *layout, const struct bi_index *items, int count, struct bi_error *err)
{
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	struct bi__indexed made;
	struct bi__cursor at;
	int rc = bi__layout_check_ndim(layout, err);

	if (rc)
		return rc;
	rc = bi__index_begin(layout->ndim, items, count, &made, err);
	if (rc)
		return rc;
	at = (struct bi__cursor){
		.shape = layout->shape,
		.strides = layout->strides,
		.to_shape = shape,
		.to_strides = strides,
		.offset = layout->offset,
		.is_empty = bi_layout_size(layout) == 0,
	};
	rc = bi__index_axes(&at, layout->ndim, items, count, made.whole, err);
	if (rc)
		return rc;
	layout->ndim = made.ndim;
	layout->offset = at.offset;
	memcpy(layout->shape, shape, (size_t)made.ndim * sizeof(*shape));
	memcpy(layout->strides, strides, (size_t)made.ndim * sizeof(*strides));
	return BI_OK;
}
