/* Copies and fills of views: checks the arguments and starts a job. */
#include "common/copy/job.h"

#include "common/backend/dispatch.h"
#include "common/base/status.h"
#include "common/view/view.h"

int bi__job_check_destination(const struct bi_view *view, struct bi_error *err)
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
int bi__job_start(struct bi__job *job, const char *operation, struct bi_memory *dst, struct bi_memory *src,
		  struct bi_error *err)
{
	int rc = bi__dispatch_check_reach(dst->backend, &dst->context->device, err);

	job->operation = operation;
	job->dst = dst;
	job->src = src;
	job->stream = NULL;
	return rc || !src ? rc : bi__dispatch_check_reach(src->backend, &src->context->device, err);
}

/* Returns true if there are no elements, or only elements of 0 bytes. */
static int holds_nothing(const struct bi_view *view)
{
	return view->is_empty || !view->dtype.item_size;
}

int bi_copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, struct bi_error *err)
{
	struct bi__job job;
	int rc;

	if (!dst || !src)
		return bi__fail(err, BI_EINVAL, "dst or src is NULL");
	bi__view_get_layout(dst, &job.to);
	bi__view_get_layout(src, &job.from);
	rc = bi__plan_check(&job.to, &job.from, err);
	if (!rc)
		rc = bi__job_check_destination(dst, err);
	if (!rc)
		rc = bi__job_start(&job, "copy", dst->memory, src->memory, err);
	if (rc || holds_nothing(dst))
		return rc;
	job.stream = stream;
	/* Both layouts get one type, because the functions below use only its item size. */
	job.from.dtype = job.to.dtype;
	return bi__job_run(&job, err);
}

int bi_fill(const struct bi_view *view, const void *element, struct bi_stream *stream, struct bi_error *err)
{
	struct bi__job job;
	int rc;

	if (!view || !element)
		return bi__fail(err, BI_EINVAL, "view or element is NULL");
	rc = bi__job_check_destination(view, err);
	if (!rc)
		rc = bi__job_start(&job, "fill", view->memory, NULL, err);
	if (rc || holds_nothing(view))
		return rc;
	bi__view_get_layout(view, &job.to);
	bi__plan_fill(&job.plan, &job.to);
	job.element = element;
	job.stream = stream;
	return bi__job_enqueue(&job, err);
}
