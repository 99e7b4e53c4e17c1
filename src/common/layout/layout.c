#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/layout/axes.h"
#include "common/base/checked.h"
#include "common/layout/descr.h"
#include "common/layout/dtype.h"
#include "common/layout/layout.h"

/*
 * Returns 1 if a layout of this shape has no elements. Its strides are arbitrary then, so sums and products of them may
 * overflow. Code skips such layouts where it computes with strides, and their offset never changes.
 */
static int is_empty(int ndim, const int64_t *shape)
{
	for (int i = 0; i < ndim; i++)
		if (shape[i] == 0)
			return 1;
	return 0;
}

static int check_ndim(int ndim, const void *shape, struct bi_error *err)
{
	if (ndim < 0 || ndim > BI_MAX_NDIM)
		return bi__fail(err, BI_EINVAL, "ndim %d is not in 0..%d", ndim, BI_MAX_NDIM);
	if (ndim > 0 && !shape)
		return bi__fail(err, BI_EINVAL, "shape is NULL, but ndim is %d", ndim);
	return BI_OK;
}

int bi__layout_check_ndim(const struct bi_layout *layout, struct bi_error *err)
{
	if (!layout)
		return bi__fail(err, BI_EINVAL, "layout is NULL");
	if (layout->ndim < 0 || layout->ndim > BI_MAX_NDIM)
		return bi__fail(err, BI_EINVAL, "layout->ndim %d is not in 0..%d", layout->ndim, BI_MAX_NDIM);
	return BI_OK;
}

/*
 * Checks that no extent is negative, and that the numbers of elements and of bytes fit into int64_t. Extents of 0 count
 * as 1.
 */
static int check_shape(int ndim, const int64_t *shape, uint32_t item_size, struct bi_error *err)
{
	int64_t count = 1, bytes;

	for (int i = 0; i < ndim; i++) {
		if (shape[i] < 0)
			return bi__fail(err, BI_EINVAL, "shape[%d] is %" PRId64 ", below 0", i, shape[i]);
		if (shape[i] > 0 && bi__mul(count, shape[i], &count))
			return bi__fail(err, BI_EOVERFLOW,
					"shape has more than %" PRId64 " elements with shape[%d] = %" PRId64, INT64_MAX,
					i, shape[i]);
	}
	if (bi__mul(count, item_size, &bytes))
		return bi__fail(err, BI_EOVERFLOW,
				"shape: %" PRId64 " elements of %" PRIu32 " bytes have more than %" PRId64 " bytes",
				count, item_size, INT64_MAX);
	return BI_OK;
}

/*
 * Extends the range low..high, which holds the offsets of all elements, by an axis with at least one element. Returns 1
 * on overflow, or if the distance along the whole axis cannot be negated; else 0.
 */
static inline int add_reach(int64_t extent, int64_t stride, int64_t *low, int64_t *high)
{
	int64_t move;

	return bi__mul(extent - 1, stride, &move) || move == INT64_MIN ||
	       (move < 0 ? bi__add(*low, move, low) : bi__add(*high, move, high));
}

/*
 * Checks that the offset of each element and the offset of the end fit into int64_t, and that strides of extents above
 * 1 can be negated.
 */
static int check_reach(int ndim, const int64_t *shape, const int64_t *strides, uint32_t item_size, int64_t offset,
		       struct bi_error *err)
{
	int64_t low = offset, high = offset;

	if (is_empty(ndim, shape))
		return BI_OK;
	for (int i = 0; i < ndim; i++)
		if (add_reach(shape[i], strides[i], &low, &high))
			return bi__fail(err, BI_EOVERFLOW,
					"offset %" PRId64 ", shape[%d] = %" PRId64 ", strides[%d] = %" PRId64
					": the offsets of the elements, or their distance, do not fit into 64 bits",
					offset, i, shape[i], i, strides[i]);
	if (bi__add(high, item_size, &high))
		return bi__fail(err, BI_EOVERFLOW, "offset %" PRId64 ": the last byte's offset is above %" PRId64,
				offset, INT64_MAX);
	return BI_OK;
}

/* Writes the strides of a dense array in C order. Extents of 0 count as 1, as in NumPy. */
static void fill_dense(int ndim, const int64_t *shape, int64_t item_size, int64_t *strides)
{
	for (int i = ndim - 1; i >= 0; i--) {
		strides[i] = item_size;
		item_size *= shape[i] > 0 ? shape[i] : 1;
	}
}

/* Returns the number of the axis counted from the start, or -1 if the axis does not exist. */
static int resolve_axis(int axis, int ndim)
{
	if (axis < -ndim || axis >= ndim)
		return -1;
	return axis < 0 ? axis + ndim : axis;
}

static void set_shape(struct bi_layout *layout, int ndim, const int64_t *shape, const int64_t *strides)
{
	layout->ndim = ndim;
	if (ndim > 0) {
		memmove(layout->shape, shape, (size_t)ndim * sizeof(*shape));
		memmove(layout->strides, strides, (size_t)ndim * sizeof(*strides));
	}
}

static int check_type_and_shape(struct bi_dtype dtype, int ndim, const int64_t *shape, struct bi_error *err)
{
	int rc = bi__dtype_check(dtype, err);

	if (!rc)
		rc = check_ndim(ndim, shape, err);
	return rc ? rc : check_shape(ndim, shape, dtype.item_size, err);
}

int bi__layout_check(const struct bi_layout *layout, struct bi_error *err)
{
	int rc = check_type_and_shape(layout->dtype, layout->ndim, layout->shape, err);

	return rc ? rc
		  : check_reach(layout->ndim, layout->shape, layout->strides, layout->dtype.item_size, layout->offset,
				err);
}

int bi_layout_init(struct bi_layout *layout, struct bi_dtype dtype, int ndim, const int64_t *shape,
		   const int64_t *strides, int64_t offset, struct bi_error *err)
{
	int64_t dense[BI_MAX_NDIM];
	int rc;

	if (!layout)
		return bi__fail(err, BI_EINVAL, "layout is NULL");
	rc = check_type_and_shape(dtype, ndim, shape, err);
	if (rc != BI_OK)
		return rc;
	if (strides) {
		rc = check_reach(ndim, shape, strides, dtype.item_size, offset, err);
	} else {
		fill_dense(ndim, shape, dtype.item_size, dense);
		strides = dense;
		/* A dense array at offset 0 needs no check: its size was checked above. */
		if (offset)
			rc = check_reach(ndim, shape, strides, dtype.item_size, offset, err);
	}
	if (rc != BI_OK)
		return rc;
	set_shape(layout, ndim, shape, strides);
	layout->dtype = dtype;
	layout->offset = offset;
	layout->descr = NULL;
	layout->descr_length = 0;
	return BI_OK;
}

static int64_t count_elements(int ndim, const int64_t *shape)
{
	int64_t size = 1;

	for (int i = 0; i < ndim; i++)
		size *= shape[i];
	return size;
}

int64_t bi_layout_size(const struct bi_layout *layout)
{
	return count_elements(layout->ndim, layout->shape);
}

int64_t bi_layout_nbytes(const struct bi_layout *layout)
{
	return bi_layout_size(layout) * layout->dtype.item_size;
}

int bi_layout_is_contiguous(const struct bi_layout *layout, char order)
{
	return (order == 'C' || order == 'F') &&
	       (is_empty(layout->ndim, layout->shape) ||
		bi__is_dense(layout->shape, layout->strides, layout->ndim, layout->dtype.item_size, order));
}

void bi_layout_extent(const struct bi_layout *layout, int64_t *first, int64_t *end)
{
	*first = *end = layout->offset;
	if (is_empty(layout->ndim, layout->shape))
		return;
	for (int i = 0; i < layout->ndim; i++)
		*(layout->strides[i] < 0 ? first : end) += (layout->shape[i] - 1) * layout->strides[i];
	*end += layout->dtype.item_size;
}

int bi__layout_place(struct bi_layout *layout, uint64_t data, uintptr_t *address, size_t *nbytes, struct bi_error *err)
{
	uint64_t below, above, reach;
	int64_t first, end;

	bi_layout_extent(layout, &first, &end);
	below = 0 - (uint64_t)first;
	above = (uint64_t)end;
	reach = above + below;
	if (reach > SIZE_MAX / 2)
		return bi__fail(err, BI_EOVERFLOW, "the array reaches over %" PRIu64 " bytes, more than %zu", reach,
				SIZE_MAX / 2);
	if (reach && !data)
		return bi__fail(err, BI_EINVAL, "data is 0, but the array reaches over %" PRIu64 " bytes", reach);
	if (below > data || above > UINTPTR_MAX || data > UINTPTR_MAX - above)
		return bi__fail(err, BI_EBOUNDS,
				"data 0x%" PRIx64 ": the array reaches %" PRIu64 " bytes below and %" PRIu64
				" above, outside of the addresses 0..0x%" PRIxPTR,
				data, below, above, UINTPTR_MAX);
	*address = (uintptr_t)(data - below);
	*nbytes = (size_t)reach;
	layout->offset = -first;
	return BI_OK;
}

static int same_descr(const struct bi_layout *a, const struct bi_layout *b)
{
	if (!a->descr || !b->descr)
		return !a->descr && !b->descr;
	return a->descr_length == b->descr_length && memcmp(a->descr, b->descr, a->descr_length) == 0;
}

int bi_layout_equal(const struct bi_layout *a, const struct bi_layout *b)
{
	if (!bi_dtype_equal(a->dtype, b->dtype) || a->ndim != b->ndim || a->offset != b->offset || !same_descr(a, b))
		return 0;
	for (int i = 0; i < a->ndim; i++)
		if (a->shape[i] != b->shape[i] || (a->shape[i] > 1 && a->strides[i] != b->strides[i]))
			return 0;
	return 1;
}

int bi_layout_element(const struct bi_layout *layout, const int64_t *index, int64_t *offset, struct bi_error *err)
{
	int64_t sum;
	int rc = bi__layout_check_ndim(layout, err);

	if (rc != BI_OK)
		return rc;
	if (!offset || (layout->ndim > 0 && !index))
		return bi__fail(err, BI_EINVAL, "index or offset is NULL");
	for (int i = 0; i < layout->ndim; i++)
		if (index[i] < -layout->shape[i] || index[i] >= layout->shape[i])
			return bi__fail(err, BI_EBOUNDS, "index[%d] is %" PRId64 ", outside of extent %" PRId64, i,
					index[i], layout->shape[i]);
	sum = layout->offset;
	for (int i = 0; i < layout->ndim; i++)
		sum += (index[i] < 0 ? index[i] + layout->shape[i] : index[i]) * layout->strides[i];
	*offset = sum;
	return BI_OK;
}

int64_t bi_layout_step(const struct bi_layout *layout, int64_t *index)
{
	int64_t bytes = 0;

	for (int i = layout->ndim - 1; i >= 0; i--) {
		if (++index[i] < layout->shape[i])
			return bytes + layout->strides[i];
		bytes -= (layout->shape[i] - 1) * layout->strides[i];
		index[i] = 0;
	}
	return bytes;
}

int bi__permute_refuse(const int *axes, int i, int ndim, struct bi_error *err)
{
	int axis = resolve_axis(axes[i], ndim);

	if (axis < 0)
		return bi__fail(err, BI_EINVAL, "axes[%d] is %d, not in %d..%d", i, axes[i], -ndim, ndim - 1);
	return bi__fail(err, BI_EINVAL, "axes[%d] is %d: axis %d is repeated", i, axes[i], axis);
}

int bi_layout_permute(struct bi_layout *layout, const int *axes, struct bi_error *err)
{
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	struct bi__cursor at;
	int rc = bi__layout_check_ndim(layout, err);

	if (rc != BI_OK)
		return rc;
	at = (struct bi__cursor){
		.shape = layout->shape,
		.strides = layout->strides,
		.to_shape = shape,
		.to_strides = strides,
	};
	rc = bi__permute_axes(&at, axes, layout->ndim, err);
	if (rc)
		return rc;
	set_shape(layout, layout->ndim, shape, strides);
	return BI_OK;
}

int bi_layout_flip(struct bi_layout *layout, int axis, struct bi_error *err)
{
	int rc = bi__layout_check_ndim(layout, err), i;

	if (rc != BI_OK)
		return rc;
	i = resolve_axis(axis, layout->ndim);
	if (i < 0)
		return bi__fail(err, BI_EINVAL, "axis is %d, not in %d..%d", axis, -layout->ndim, layout->ndim - 1);
	if (layout->shape[i] > 1 && !is_empty(layout->ndim, layout->shape)) {
		layout->offset += (layout->shape[i] - 1) * layout->strides[i];
		layout->strides[i] = -layout->strides[i];
	}
	return BI_OK;
}

/* Writes the new extents, and computes an extent of -1. Fails if one is not valid or the number of elements differs. */
static int infer_shape(const struct bi_layout *layout, int ndim, const int64_t *wanted, int64_t *shape,
		       struct bi_error *err)
{
	int64_t size = bi_layout_size(layout), known;
	int open = -1, rc;

	for (int i = 0; i < ndim; i++) {
		if (wanted[i] == -1 && open >= 0)
			return bi__fail(err, BI_EINVAL, "shape[%d] and shape[%d] are both -1", open, i);
		if (wanted[i] == -1)
			open = i;
		shape[i] = wanted[i] == -1 ? 1 : wanted[i];
	}
	rc = check_shape(ndim, shape, layout->dtype.item_size, err);
	if (rc != BI_OK)
		return rc;
	known = count_elements(ndim, shape);
	if (open >= 0 && !known && !size)
		return bi__fail(err, BI_EINVAL, "shape[%d] is -1 beside an extent of 0: write the extent", open);
	if (open >= 0 && known && size % known == 0)
		shape[open] = size / known;
	else if (open >= 0 || known != size)
		return bi__fail(err, BI_EINVAL,
				"shape: %" PRId64 " elements do not fit extents that multiply to %" PRId64, size,
				known);
	return BI_OK;
}

/* The axes of a layout that is being reshaped. */
struct joined {
	int n;
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
};

/* Leaves out axes of extent 1. Joins neighbours if one step along the outer axis is as long as the whole inner axis. */
static void join_axes(const struct bi_layout *layout, struct joined *out)
{
	int64_t run;

	out->n = 0;
	for (int i = 0; i < layout->ndim; i++) {
		int64_t extent = layout->shape[i], stride = layout->strides[i];

		if (extent == 1)
			continue;
		if (out->n && !bi__mul(extent, stride, &run) && run == out->strides[out->n - 1])
			extent *= out->shape[--out->n];
		out->shape[out->n] = extent;
		out->strides[out->n++] = stride;
	}
}

/*
 * Splits the joined axes into the new extents, beginning with the last axis. Returns 1, or 0 if a new extent would span
 * two joined axes. Overwrites `old`.
 */
static int split_axes(struct joined *old, int ndim, const int64_t *shape, int64_t item_size, int64_t *strides)
{
	int n = old->n;
	int64_t stride = n > 0 ? old->strides[n - 1] : item_size;

	for (int i = ndim - 1; i >= 0; i--) {
		if (n > 0 && old->shape[n - 1] == 1 && shape[i] > 1 && --n > 0)
			stride = old->strides[n - 1];
		strides[i] = stride;
		if (shape[i] == 1)
			continue;
		if (old->shape[n - 1] % shape[i])
			return 0;
		old->shape[n - 1] /= shape[i];
		/* A stride that overflows can only become the stride of axes of extent 1, which is never used. */
		if (bi__mul(stride, shape[i], &stride))
			stride = 0;
	}
	return 1;
}

int bi_layout_reshape(struct bi_layout *layout, int ndim, const int64_t *shape, struct bi_error *err)
{
	int64_t new_shape[BI_MAX_NDIM] = { 0 }, new_strides[BI_MAX_NDIM];
	struct joined old;
	int rc;

	rc = bi__layout_check_ndim(layout, err);
	if (rc == BI_OK)
		rc = check_ndim(ndim, shape, err);
	if (rc == BI_OK)
		rc = infer_shape(layout, ndim, shape, new_shape, err);
	if (rc != BI_OK)
		return rc;
	if (is_empty(layout->ndim, layout->shape)) {
		fill_dense(ndim, new_shape, layout->dtype.item_size, new_strides);
	} else {
		join_axes(layout, &old);
		if (!split_axes(&old, ndim, new_shape, layout->dtype.item_size, new_strides))
			return bi__fail(err, BI_EUNSUPPORTED,
					"shape: the strides of the layout do not allow it without a copy");
	}
	set_shape(layout, ndim, new_shape, new_strides);
	return BI_OK;
}

/* Bytes of a shape in a message, such as "(2, 3)". A longer text is cut and ends in "...)". */
#define SHAPE_TEXT 80

static void write_shape(int ndim, const int64_t *shape, char text[SHAPE_TEXT])
{
	size_t used = 1;

	memcpy(text, "(", 2);
	for (int i = 0; i < ndim && used < SHAPE_TEXT - 1; i++)
		used += (size_t)snprintf(text + used, SHAPE_TEXT - used, "%s%" PRId64, i ? ", " : "", shape[i]);
	if (used < SHAPE_TEXT - 2)
		memcpy(text + used, ndim == 1 ? ",)" : ")", ndim == 1 ? 3 : 2);
	else
		memcpy(text + SHAPE_TEXT - sizeof("...)"), "...)", sizeof("...)"));
}

static int refuse_broadcast(const struct bi_layout *layout, int ndim, const int64_t *shape, struct bi_error *err)
{
	char source[SHAPE_TEXT], destination[SHAPE_TEXT];

	write_shape(layout->ndim, layout->shape, source);
	write_shape(ndim, shape, destination);
	return bi__fail(err, BI_EINVAL, "the source's shape %s does not broadcast to the destination's %s", source,
			destination);
}

int bi_layout_broadcast(struct bi_layout *layout, int ndim, const int64_t *shape, struct bi_error *err)
{
	int64_t strides[BI_MAX_NDIM];
	int rc, added;

	rc = bi__layout_check_ndim(layout, err);
	if (rc == BI_OK)
		rc = check_ndim(ndim, shape, err);
	if (rc == BI_OK)
		rc = check_shape(ndim, shape, layout->dtype.item_size, err);
	if (rc != BI_OK)
		return rc;
	added = ndim - layout->ndim;
	if (added < 0)
		return refuse_broadcast(layout, ndim, shape, err);
	for (int i = 0; i < ndim; i++) {
		int64_t extent = i < added ? 1 : layout->shape[i - added];

		if (extent != 1 && extent != shape[i])
			return refuse_broadcast(layout, ndim, shape, err);
		strides[i] = i < added || extent != shape[i] ? 0 : layout->strides[i - added];
	}
	set_shape(layout, ndim, shape, strides);
	return BI_OK;
}

int bi_layout_field(struct bi_layout *layout, const char *name, struct bi_error *err)
{
	struct bi__descr_field field;
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	int ndim, rc = bi__layout_check_ndim(layout, err);

	if (rc != BI_OK)
		return rc;
	if (!name)
		return bi__fail(err, BI_EINVAL, "name is NULL");
	if (layout->dtype.type != BI_VOID || !layout->descr)
		return bi__fail(err, BI_EDTYPE, "name \"%.64s\": the element type has no fields", name);
	rc = bi__descr_find(layout->descr, layout->descr_length, name, &field, err);
	if (rc != BI_OK)
		return rc;
	ndim = layout->ndim + field.ndim;
	rc = check_ndim(ndim, shape, err);
	if (rc != BI_OK)
		return rc;
	memcpy(shape, layout->shape, (size_t)layout->ndim * sizeof(*shape));
	memcpy(shape + layout->ndim, field.shape, (size_t)field.ndim * sizeof(*shape));
	memcpy(strides, layout->strides, (size_t)layout->ndim * sizeof(*strides));
	rc = check_shape(ndim, shape, field.dtype.item_size, err);
	if (rc != BI_OK)
		return rc;
	fill_dense(field.ndim, field.shape, field.dtype.item_size, strides + layout->ndim);
	if (!is_empty(layout->ndim, layout->shape))
		layout->offset += field.offset;
	set_shape(layout, ndim, shape, strides);
	layout->dtype = field.dtype;
	layout->descr = field.descr;
	layout->descr_length = (uint32_t)field.descr_length;
	return BI_OK;
}

int bi__layout_check_descr(const char *descr, size_t length, struct bi_dtype dtype, struct bi_error *err)
{
	char name[BI_DTYPE_TEXT];
	uint32_t size;
	int rc;

	if (length > UINT32_MAX)
		return bi__fail(err, BI_EOVERFLOW, "descr has %zu characters, more than %" PRIu32, length, UINT32_MAX);
	rc = bi__descr_size(descr, length, &size, err);
	if (rc != BI_OK)
		return rc;
	if (dtype.type == BI_VOID && dtype.item_size == size)
		return BI_OK;
	bi_dtype_name(dtype, name);
	return bi__fail(err, BI_EDTYPE, "descr describes a structure of %" PRIu32 " bytes, but the element type is %s",
			size, name);
}

/* Returns the extent of the last axis for items of `to` bytes, or a negative status. */
static int64_t resize_items(const struct bi_layout *layout, int64_t to, struct bi_error *err)
{
	int64_t from = layout->dtype.item_size;
	int last = layout->ndim - 1;
	int64_t bytes;

	if (from == 0 || to == 0 || last < 0)
		return bi__fail(err, BI_EDTYPE,
				"dtype: items of %" PRId64 " bytes cannot become %" PRId64 " bytes with ndim %d", from,
				to, layout->ndim);
	if (layout->shape[last] != 1 && layout->strides[last] != from && !is_empty(layout->ndim, layout->shape))
		return bi__fail(err, BI_EDTYPE,
				"dtype: the last axis has stride %" PRId64 ", not the %" PRId64 " bytes of an item",
				layout->strides[last], from);
	bytes = layout->shape[last] * from;
	if (to < from ? from % to : bytes % to)
		return bi__fail(err, BI_EDTYPE,
				"dtype: %" PRId64 " items of %" PRId64 " bytes cannot become items of %" PRId64
				" bytes",
				layout->shape[last], from, to);
	return bytes / to;
}

int bi_layout_reinterpret(struct bi_layout *layout, struct bi_dtype dtype, const char *descr, struct bi_error *err)
{
	int64_t shape[BI_MAX_NDIM], extent;
	int last, rc = bi__layout_check_ndim(layout, err);

	if (rc == BI_OK)
		rc = bi__dtype_check(dtype, err);
	if (rc == BI_OK && descr)
		rc = bi__layout_check_descr(descr, strlen(descr), dtype, err);
	if (rc != BI_OK)
		return rc;
	last = layout->ndim - 1;
	if (dtype.item_size != layout->dtype.item_size) {
		extent = resize_items(layout, dtype.item_size, err);
		if (extent < 0)
			return (int)extent;
		memcpy(shape, layout->shape, (size_t)layout->ndim * sizeof(*shape));
		shape[last] = extent;
		rc = check_shape(layout->ndim, shape, dtype.item_size, err);
		if (rc != BI_OK)
			return rc;
		layout->shape[last] = extent;
		layout->strides[last] = dtype.item_size;
	}
	layout->dtype = dtype;
	layout->descr = descr;
	layout->descr_length = descr ? (uint32_t)strlen(descr) : 0;
	return BI_OK;
}
