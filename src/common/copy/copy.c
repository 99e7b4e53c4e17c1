/* Copies and fills: checks the arguments and starts a job. */
#include "common/copy/copy.h"

#include "common/backend/dispatch.h"
#include "common/base/status.h"
#include "common/copy/job.h"
#include "common/view/view.h"

/* Returns true if there are no elements, or only elements of 0 bytes. */
static int holds_nothing(const struct bi_view *view)
{
	return view->is_empty || !view->dtype.item_size;
}

static int check_destination(const struct bi_view *view, struct bi_error *err)
{
	struct bi_layout layout;

	if (view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "the destination is read-only");
	/* The elements of a contiguous array share no bytes. */
	if (view->exchange_flags & (BI_EXCHANGE_C_CONTIGUOUS | BI_EXCHANGE_F_CONTIGUOUS))
		return BI_OK;
	bi__view_get_layout(view, &layout);
	if (bi_layout_self_overlap(&layout))
		return bi__fail(err, BI_EOVERLAP, "two elements of the destination share bytes");
	return BI_OK;
}

/* Sets the members one by one: an initialiser would clear the arrays of the layouts and the plan as well. */
static void start_job(struct bi__job *job, struct bi_memory *dst, struct bi_memory *src, struct bi_stream *stream,
		      const char *operation)
{
	job->dst = dst;
	job->src = src;
	job->stream = stream;
	job->operation = operation;
}

int bi__copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, const char *operation,
	     struct bi_error *err)
{
	struct bi__job job;
	int rc;

	start_job(&job, dst->memory, src->memory, stream, operation);
	bi__view_get_layout(dst, &job.to);
	bi__view_get_layout(src, &job.from);
	rc = bi__plan_check(&job.to, &job.from, err);
	if (!rc)
		rc = check_destination(dst, err);
	if (!rc)
		rc = bi__memory_check_reach(dst->memory, err);
	if (!rc)
		rc = bi__memory_check_reach(src->memory, err);
	if (rc || holds_nothing(dst))
		return rc;
	/* Both layouts get one type, because the functions below use only its item size. */
	job.from.dtype = job.to.dtype;
	return bi__job_run(&job, err);
}

int bi_copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, struct bi_error *err)
{
	if (!dst || !src)
		return bi__fail(err, BI_EINVAL, "dst or src is NULL");
	return bi__copy(dst, src, stream, "copy", err);
}

/*
 * Returns true if the view is contiguous and its memory is an object without address. Then a copy to or from the
 * caller's bytes is direct and linear, because the bytes cannot overlap the object.
 */
static int is_contiguous_object(const struct bi_view *view)
{
	return bi__exported_of(view->memory)->form == BI__FORM_OBJECT &&
	       view->exchange_flags & BI_EXCHANGE_C_CONTIGUOUS;
}

/* Makes the layout of the caller's bytes: the type and shape of the view, in C order. */
static int lay_out_bytes(struct bi_layout *bytes, const struct bi_view *view, struct bi_error *err)
{
	return bi_layout_init(bytes, view->dtype, view->ndim, view->dims, NULL, 0, err);
}

int bi__copy_in(const struct bi_view *dst, struct bi_memory *bytes, const char *operation, struct bi_error *err)
{
	struct bi__job job;
	int rc = check_destination(dst, err);

	if (!rc)
		rc = bi__memory_check_reach(dst->memory, err);
	if (rc || !bytes->nbytes)
		return rc;
	start_job(&job, dst->memory, bytes, NULL, operation);
	if (is_contiguous_object(dst)) {
		bi__plan_bytes(&job.plan, dst->offset, 0, bytes->nbytes);
		return bi__job_execute(&job, NULL, err);
	}
	bi__view_get_layout(dst, &job.to);
	rc = lay_out_bytes(&job.from, dst, err);
	return rc ? rc : bi__job_run(&job, err);
}

int bi__copy_out(struct bi_memory *bytes, const struct bi_view *src, const char *operation, struct bi_error *err)
{
	struct bi__job job;
	int rc = bi__memory_check_reach(src->memory, err);

	if (rc || !bytes->nbytes)
		return rc;
	start_job(&job, bytes, src->memory, NULL, operation);
	if (is_contiguous_object(src)) {
		bi__plan_bytes(&job.plan, 0, src->offset, bytes->nbytes);
		return bi__job_execute(&job, NULL, err);
	}
	bi__view_get_layout(src, &job.from);
	rc = lay_out_bytes(&job.to, src, err);
	return rc ? rc : bi__job_run(&job, err);
}

int bi__fill(const struct bi_view *view, const void *element, struct bi_stream *stream, const char *operation,
	     struct bi_error *err)
{
	struct bi__job job;
	int rc;

	start_job(&job, view->memory, NULL, stream, operation);
	bi__view_get_layout(view, &job.to);
	rc = check_destination(view, err);
	if (!rc)
		rc = bi__memory_check_reach(view->memory, err);
	if (rc || holds_nothing(view))
		return rc;
	bi__plan_fill(&job.plan, &job.to);
	return bi__job_execute(&job, element, err);
}

int bi_fill(const struct bi_view *view, const void *element, struct bi_stream *stream, struct bi_error *err)
{
	if (!view || !element)
		return bi__fail(err, BI_EINVAL, "view or element is NULL");
	return bi__fill(view, element, stream, "fill", err);
}

static void lay_out_one(struct bi_layout *layout, struct bi_dtype dtype, int64_t offset)
{
	layout->dtype = dtype;
	layout->ndim = 0;
	layout->descr_length = 0;
	layout->descr = NULL;
	layout->offset = offset;
}

/* Makes the layout of one element: an array without dimensions. Also checks that the memory can be used. */
static int lay_out_element(struct bi_layout *layout, const struct bi_view *view, const int64_t *index,
			   struct bi_error *err)
{
	int64_t offset;
	int rc;

	bi__view_get_layout(view, layout);
	rc = bi_layout_element(layout, index, &offset, err);
	if (rc)
		return rc;
	lay_out_one(layout, view->dtype, offset);
	return bi__memory_check_reach(view->memory, err);
}

int bi__get_element(struct bi_memory *bytes, const struct bi_view *view, const int64_t *index, struct bi_error *err)
{
	struct bi__job job;
	int rc = lay_out_element(&job.from, view, index, err);

	if (rc || !bytes->nbytes)
		return rc;
	start_job(&job, bytes, view->memory, NULL, "get");
	lay_out_one(&job.to, view->dtype, 0);
	return bi__job_run(&job, err);
}

int bi__set_element(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err)
{
	struct bi__job job;
	int rc = lay_out_element(&job.to, view, index, err);

	if (!rc && view->flags & BI_VIEW_READONLY)
		rc = bi__fail(err, BI_EREADONLY, "the destination is read-only");
	if (rc || !view->dtype.item_size)
		return rc;
	start_job(&job, view->memory, NULL, NULL, "set");
	bi__plan_fill(&job.plan, &job.to);
	return bi__job_execute(&job, element, err);
}
