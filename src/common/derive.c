/* Views of views. */
#include <stdlib.h>

#include "common/layout.h"
#include "common/view.h"

static int check_source(const struct bi_view *view, struct bi_view **out, struct bi_error *err)
{
	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	return view ? BI_OK : bi__fail(err, BI_EINVAL, "view is NULL");
}

/*
 * Slices, single items and transposes are worked out in the dimensions of the new view. What they need no check for: a
 * part of an array that is sound and inside of its memory is both.
 */

static struct bi__axes axes_of(const struct bi_view *view)
{
	return (struct bi__axes){ view->dims, view->dims + view->ndim, view->offset, view->ndim, view->is_empty };
}

static struct bi__axes_out axes_in(struct bi_view *view)
{
	return (struct bi__axes_out){ view->dims, view->dims + view->ndim, 0 };
}

/* The dimensions are filled in; everything else is the source's. */
static void publish(struct bi_view *view, const struct bi_view *source, int64_t offset, struct bi_view **out)
{
	view->memory = bi_memory_retain(source->memory);
	view->text = source->text;
	view->descr = source->descr;
	view->descr_length = source->descr_length;
	view->dtype = source->dtype;
	view->words = source->words;
	view->offset = offset;
	bi__view_complete(view, source->flags);
	*out = view;
}

int bi_view_index(const struct bi_view *view, const struct bi_index *items, int count, struct bi_view **out,
		  struct bi_error *err)
{
	struct bi_view *made;
	struct bi__axes source;
	struct bi__axes_out axes;
	int ndim, whole, rc = check_source(view, out, err);

	if (!rc && (count < 0 || (count > 0 && !items)))
		rc = bi__fail(err, BI_EINVAL, "items is NULL, or count %d is below 0", count);
	if (!rc)
		rc = bi__axes_count_items(view->ndim, items, count, &ndim, &whole, err);
	if (rc)
		return rc;
	made = bi__view_allocate(ndim, err);
	if (!made)
		return BI_ENOMEM;
	source = axes_of(view);
	axes = axes_in(made);
	rc = bi__axes_index(&source, items, count, whole, &axes, err);
	if (rc)
		free(made);
	else
		publish(made, view, axes.offset, out);
	return rc;
}

int bi_view_permute(const struct bi_view *view, const int *order, struct bi_view **out, struct bi_error *err)
{
	struct bi_view *made;
	struct bi__axes source;
	struct bi__axes_out axes;
	int rc = check_source(view, out, err);

	if (rc)
		return rc;
	made = bi__view_allocate(view->ndim, err);
	if (!made)
		return BI_ENOMEM;
	source = axes_of(view);
	axes = axes_in(made);
	rc = bi__axes_permute(&source, order, &axes, err);
	if (rc)
		free(made);
	else
		publish(made, view, axes.offset, out);
	return rc;
}

/* The others go by way of a layout. */

/* The layout that is going to change. */
static int begin(const struct bi_view *view, struct bi_layout *layout, struct bi_view **out, struct bi_error *err)
{
	int rc = check_source(view, out, err);

	if (!rc)
		bi_view_layout(view, layout);
	return rc;
}

static int finish(const struct bi_view *view, const struct bi_layout *layout, struct bi__text *text, unsigned flags,
		  struct bi_view **out, struct bi_error *err)
{
	int rc = bi__view_make(view->memory, layout, text, view->flags | flags, out, err);

	if (!rc)
		bi_memory_retain(view->memory);
	return rc;
}

static int rebase(const struct bi_view *view, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		  struct bi_error *err)
{
	return finish(view, layout, view->text, flags, out, err);
}

int bi_view_with_layout(const struct bi_view *view, const struct bi_layout *layout, struct bi_view **out,
			struct bi_error *err)
{
	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!view || !layout)
		return bi__fail(err, BI_EINVAL, "view or layout is NULL");
	return bi_view_create(view->memory, layout, view->flags, out, err);
}

int bi_view_flip(const struct bi_view *view, int axis, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_flip(&layout, axis, err);
	return rc ? rc : rebase(view, &layout, 0, out, err);
}

int bi_view_reshape(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
		    struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_reshape(&layout, ndim, shape, err);
	return rc ? rc : rebase(view, &layout, 0, out, err);
}

int bi_view_broadcast(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
		      struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_broadcast(&layout, ndim, shape, err);
	return rc ? rc : rebase(view, &layout, BI_VIEW_READONLY, out, err);
}

int bi_view_field(const struct bi_view *view, const char *name, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_field(&layout, name, err);
	return rc ? rc : rebase(view, &layout, 0, out, err);
}

int bi_view_reinterpret(const struct bi_view *view, struct bi_dtype dtype, const char *descr, struct bi_view **out,
			struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_reinterpret(&layout, dtype, descr, err);
	/* A new descr is the caller's, and is copied. */
	return rc ? rc : finish(view, &layout, descr ? NULL : view->text, 0, out, err);
}
