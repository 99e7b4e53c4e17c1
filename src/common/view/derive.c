/* Functions that make a view from another view of the same memory. */
#include "common/base/status.h"
#include "common/layout/axes.h"
#include "common/view/view.h"

static const struct bi_index whole_axis = { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, 1 };

/*
 * bi_view_index and bi_view_permute write shape and strides directly into the new view. No check of the bounds is
 * needed, because the new view has only elements of the old view.
 */

static struct bi__cursor cursor_of(const struct bi_view *source, struct bi_view *made)
{
	return (struct bi__cursor){
		.shape = source->dims,
		.strides = source->dims + source->ndim,
		.to_shape = made->dims,
		.to_strides = made->dims + made->ndim,
		.offset = source->offset,
		.is_empty = source->is_empty,
	};
}

int bi_view_index(const struct bi_view *view, const struct bi_index *items, int count, struct bi_view **out,
		  struct bi_error *err)
{
	struct bi__indexed result;
	struct bi__cursor at;
	struct bi_view *made;
	int rc = bi__check_out(out, view != NULL, "view is NULL", err);

	if (rc)
		return rc;
	rc = bi__index_begin(view->ndim, items, count, &result, err);
	if (rc)
		return rc;
	made = bi__view_begin(view, result.ndim, err);
	if (!made)
		return BI_ENOMEM;
	at = cursor_of(view, made);
	rc = bi__index_axes(&at, view->ndim, items, count, result.whole, err);
	if (!rc)
		return bi__view_complete(made, view, at.offset, at.is_empty | at.became_empty, out, err);
	bi__view_abandon(made);
	return rc;
}

int bi_view_index_axis(const struct bi_view *view, int axis, struct bi_index item, struct bi_view **out,
		       struct bi_error *err)
{
	struct bi_index items[BI_MAX_NDIM + 1];
	int rc = bi__check_out(out, view != NULL, "view is NULL", err), last;

	if (rc)
		return rc;
	if (item.kind == BI_INDEX_ELLIPSIS)
		return bi__fail(err, BI_EINVAL, "item is an ellipsis, which names no axis");
	last = item.kind == BI_INDEX_NEWAXIS ? view->ndim : view->ndim - 1;
	if (last < 0)
		return bi__fail(err, BI_EINVAL, "axis is %d, but the array has no axes", axis);
	if (axis < -last - 1 || axis > last)
		return bi__fail(err, BI_EINVAL, "axis %d is not in %d..%d", axis, -last - 1, last);
	axis += axis < 0 ? last + 1 : 0;
	for (int i = 0; i < axis; i++)
		items[i] = whole_axis;
	items[axis] = item;
	return bi_view_index(view, items, axis + 1, out, err);
}

int bi_view_squeeze(const struct bi_view *view, struct bi_view **out, struct bi_error *err)
{
	static const struct bi_index first = { BI_INDEX_INTEGER, 0, 0, 0 };
	struct bi_index items[BI_MAX_NDIM];
	int rc = bi__check_out(out, view != NULL, "view is NULL", err);

	if (rc)
		return rc;
	for (int i = 0; i < view->ndim; i++)
		items[i] = view->dims[i] == 1 ? first : whole_axis;
	return bi_view_index(view, items, view->ndim, out, err);
}

int bi_view_permute(const struct bi_view *view, const int *order, struct bi_view **out, struct bi_error *err)
{
	struct bi__cursor at;
	struct bi_view *made;
	int rc = bi__check_out(out, view != NULL, "view is NULL", err);

	if (rc)
		return rc;
	made = bi__view_begin(view, view->ndim, err);
	if (!made)
		return BI_ENOMEM;
	at = cursor_of(view, made);
	rc = bi__permute_axes(&at, order, view->ndim, err);
	if (!rc)
		return bi__view_complete(made, view, at.offset, at.is_empty | at.became_empty, out, err);
	bi__view_abandon(made);
	return rc;
}

/* The functions below make the new view from a changed layout. */

static int begin_layout(const struct bi_view *view, struct bi_layout *layout, struct bi_view **out,
			struct bi_error *err)
{
	int rc = bi__check_out(out, view != NULL, "view is NULL", err);

	if (!rc)
		bi_view_layout(view, layout);
	return rc;
}

static int make_derived(const struct bi_view *view, const struct bi_layout *layout, struct bi__text *text,
			unsigned flags, struct bi_view **out, struct bi_error *err)
{
	int rc = bi__view_make(view->memory, layout, text, view->flags | flags, out, err);

	if (!rc)
		bi_memory_retain(view->memory);
	return rc;
}

int bi_view_with_layout(const struct bi_view *view, const struct bi_layout *layout, struct bi_view **out,
			struct bi_error *err)
{
	if (bi__check_out(out, view && layout, "view or layout is NULL", err))
		return BI_EINVAL;
	return bi_view_create(view->memory, layout, view->flags, out, err);
}

int bi_view_flip(const struct bi_view *view, int axis, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin_layout(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_flip(&layout, axis, err);
	return rc ? rc : make_derived(view, &layout, bi__view_text(view), 0, out, err);
}

int bi_view_reshape(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
		    struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin_layout(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_reshape(&layout, ndim, shape, err);
	return rc ? rc : make_derived(view, &layout, bi__view_text(view), 0, out, err);
}

int bi_view_broadcast(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
		      struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin_layout(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_broadcast(&layout, ndim, shape, err);
	return rc ? rc : make_derived(view, &layout, bi__view_text(view), BI_VIEW_READONLY, out, err);
}

int bi_view_field(const struct bi_view *view, const char *name, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin_layout(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_field(&layout, name, err);
	return rc ? rc : make_derived(view, &layout, bi__view_text(view), 0, out, err);
}

int bi_view_reinterpret(const struct bi_view *view, struct bi_dtype dtype, const char *descr, struct bi_view **out,
			struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin_layout(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_reinterpret(&layout, dtype, descr, err);
	/* The caller's descr is not in a struct bi__text, so bi__view_make copies it. */
	return rc ? rc : make_derived(view, &layout, NULL, 0, out, err);
}
