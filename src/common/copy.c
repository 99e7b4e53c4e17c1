/* Copies and fills: what the caller asks for is checked. */
#include "common/copy.h"

#include "common/dispatch.h"
#include "common/job.h"
#include "common/status.h"

static int check_destination(const struct bi_view *view, const struct bi_layout *layout, struct bi_error *err)
{
	if (view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "the destination is read-only");
	/* Dense elements share nothing. */
	if (view->exchange_flags & (BI_EXCHANGE_C_CONTIGUOUS | BI_EXCHANGE_F_CONTIGUOUS))
		return BI_OK;
	if (bi_layout_self_overlap(layout))
		return bi__fail(err, BI_EOVERLAP, "two elements of the destination share bytes");
	return BI_OK;
}

/* Member by member: most of a job is room for axes that there are not, which an initialiser would clear. */
static void start(struct bi__job *job, const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream,
		  const char *operation)
{
	job->dst = dst;
	job->src = src;
	job->stream = stream;
	job->operation = operation;
	bi_view_layout(dst, &job->to);
	if (src)
		bi_view_layout(src, &job->from);
}

int bi__copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, const char *operation,
	     struct bi_error *err)
{
	struct bi__job job;
	int rc;

	start(&job, dst, src, stream, operation);
	rc = bi__plan_check(&job.to, &job.from, err);
	if (!rc)
		rc = check_destination(dst, &job.to, err);
	if (!rc)
		rc = bi__dispatch_reachable(dst->memory, err);
	if (!rc)
		rc = bi__dispatch_reachable(src->memory, err);
	if (rc || bi_layout_nbytes(&job.to) == 0)
		return rc;
	/* From here only sizes matter. */
	job.from.dtype = job.to.dtype;
	return bi__job_route(&job, err);
}

int bi_copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, struct bi_error *err)
{
	if (!dst || !src)
		return bi__fail(err, BI_EINVAL, "dst or src is NULL");
	return bi__copy(dst, src, stream, "copy", err);
}

int bi__fill(const struct bi_view *view, const void *element, struct bi_stream *stream, const char *operation,
	     struct bi_error *err)
{
	struct bi__job job;
	int rc;

	start(&job, view, NULL, stream, operation);
	rc = check_destination(view, &job.to, err);
	if (!rc)
		rc = bi__dispatch_reachable(view->memory, err);
	if (rc || bi_layout_nbytes(&job.to) == 0)
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
