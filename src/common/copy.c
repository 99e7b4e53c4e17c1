/* Copies and fills: what the caller asks for is checked. */
#include "common/copy.h"

#include "common/dispatch.h"
#include "common/job.h"
#include "common/status.h"

static int check_shapes(const struct bi_layout *to, const struct bi_layout *from, struct bi_error *err)
{
	if (to->ndim != from->ndim)
		return bi__fail(err, BI_EINVAL, "the destination has %d dimensions, the source %d", to->ndim,
				from->ndim);
	for (int i = 0; i < to->ndim; i++)
		if (to->shape[i] != from->shape[i])
			return bi__fail(err, BI_EINVAL, "the destination has extent %lld on axis %d, the source %lld",
					(long long)to->shape[i], i, (long long)from->shape[i]);
	return BI_OK;
}

static int check_destination(const struct bi_view *view, const struct bi_layout *layout, struct bi_error *err)
{
	if (view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "the destination is read-only");
	if (bi_layout_self_overlap(layout))
		return bi__fail(err, BI_EOVERLAP, "two elements of the destination share bytes");
	return BI_OK;
}

static int check(const struct bi__job *job, struct bi_error *err)
{
	int rc = check_shapes(&job->to, &job->from, err);

	if (rc)
		return rc;
	if (job->to.dtype.item_size != job->from.dtype.item_size)
		return bi__fail(err, BI_EDTYPE, "an item of the destination has %u bytes, of the source %u",
				job->to.dtype.item_size, job->from.dtype.item_size);
	return check_destination(job->dst, &job->to, err);
}

int bi__copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, const char *operation,
	     struct bi_error *err)
{
	struct bi__job job = { .dst = dst, .src = src, .stream = stream, .operation = operation };
	int rc;

	bi_view_layout(dst, &job.to);
	bi_view_layout(src, &job.from);
	rc = check(&job, err);
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
	struct bi__job job = { .dst = view, .stream = stream, .operation = operation };
	int rc;

	bi_view_layout(view, &job.to);
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
