/* Arrays that have the elements of another array. */
#include "common/base/status.h"
#include "common/runtime/stream.h"
#include "common/view/view.h"

/* Makes a dense array of the shape and type of a view. */
static int make_dense(const struct bi_view *view, struct bi_context *context, enum bi_memory_kind kind,
		      struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout, dense;
	int rc;

	bi__view_get_layout(view, &layout);
	rc = bi_layout_init(&dense, layout.dtype, layout.ndim, layout.shape, NULL, 0, err);
	if (rc)
		return rc;
	dense.descr = layout.descr;
	dense.descr_length = layout.descr_length;
	return bi__view_new(context, kind, &dense, bi__view_text(view), out, err);
}

int bi_view_clone(const struct bi_view *view, struct bi_context *context, struct bi_view **out, struct bi_error *err)
{
	struct bi_view *made;
	int rc = bi__check_out(out, view != NULL, "view is NULL", err);

	if (rc)
		return rc;
	rc = make_dense(view, context ? context : view->memory->context,
			!context && bi_memory_is_host(view->memory) ? BI_MEMORY_HOST : BI_MEMORY_DEFAULT, &made, err);
	if (rc)
		return rc;
	rc = bi_copy(made, view, NULL, err);
	if (rc)
		bi_view_release(made);
	else
		*out = made;
	return rc;
}

int bi_view_contiguous(const struct bi_view *view, struct bi_view **out, struct bi_error *err)
{
	int rc = bi__check_out(out, view != NULL, "view is NULL", err);

	if (rc || !(view->traits & BI__TRAIT_C_CONTIGUOUS))
		return rc ? rc : bi_view_clone(view, NULL, out, err);
	*out = bi__view_retain_const(view);
	return BI_OK;
}

int bi_view_to_device(const struct bi_view *view, struct bi_context *context, struct bi_view **out,
		      struct bi_error *err)
{
	int rc = bi__check_out(out, view != NULL, "view is NULL", err);

	if (rc)
		return rc;
	if (!context)
		return bi__fail(err, BI_EINVAL, "context is NULL");
	if (!bi__stream_reaches(&context->stream, view->memory))
		return bi_view_clone(view, context, out, err);
	*out = bi__view_retain_const(view);
	return BI_OK;
}
