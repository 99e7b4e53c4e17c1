/*
 * Copies in two steps, through a dense array of the library's own. Each step is a copy like any other, with a route and
 * an order of its own.
 */
#include "common/copy/job.h"

#include "common/backend/dispatch.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"

/*
 * Returns the caller's stream if one step can use it, else NULL. A step between two contexts can use any stream of
 * either; its route finds out what that stream can do.
 */
static struct bi_stream *step_stream(struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from)
{
	if (!stream)
		return NULL;
	if (bi__is_cpu_addressable(to) || bi__is_cpu_addressable(from))
		return bi__job_serves(stream, to, from) ? stream : NULL;
	return bi__stream_reaches(stream, to) || bi__stream_reaches(stream, from) ? stream : NULL;
}

/* The array in between must be allocated, which is not possible in a graph that is being captured. */
static int refuse_any_capture(const struct bi__job *job, struct bi_error *err)
{
	static const char what[] = "this copy needs memory of its own";
	struct bi_stream *homes[] = { job->stream, job->dst->home, job->src->home };
	int rc = BI_OK;

	for (int i = 0; i < 3 && !rc; i++)
		if (homes[i])
			rc = bi__stream_refuse_capture(homes[i], what, err);
	return rc;
}

int bi__job_check_steps(const struct bi__job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst, *from = job->src;
	int rc = refuse_any_capture(job, err);

	if (rc)
		return rc;
	bi__order_lock(to, from);
	rc = bi__order_check_mapped(to, 1, err);
	if (!rc && from != to)
		rc = bi__order_check_mapped(from, 0, err);
	if (!rc)
		rc = bi__order_check_failed_locked(to, err);
	if (!rc)
		rc = bi__order_check_failed_locked(from, err);
	bi__order_unlock(to, from);
	return rc;
}

/* One side of a copy. */
struct side {
	struct bi_memory *memory;
	const struct bi_layout *layout;
};

/* Makes one of the two steps of a copy. The route makes its plan. */
static void make_step(struct bi__job *step, const struct bi__job *whole, struct side dst, struct side src)
{
	step->dst = dst.memory;
	step->src = src.memory;
	step->to = *dst.layout;
	step->from = *src.layout;
	step->stream = step_stream(whole->stream, dst.memory, src.memory);
	step->operation = whole->operation;
}

int bi__job_run_two_step(const struct bi__job *job, enum bi_memory_kind kind, struct bi_context *context,
			 struct bi_error *err)
{
	struct bi__job first, second;
	struct bi_memory *between;
	struct bi_layout dense;
	int rc = bi__job_check_steps(job, err);

	if (!rc)
		rc = bi_layout_init(&dense, job->to.dtype, job->to.ndim, job->to.shape, NULL, 0, err);
	if (!rc)
		rc = bi_memory_create(context, (size_t)bi_layout_nbytes(&dense), kind, &between, err);
	if (rc)
		return rc;
	make_step(&first, job, (struct side){ between, &dense }, (struct side){ job->src, &job->from });
	make_step(&second, job, (struct side){ job->dst, &job->to }, (struct side){ between, &dense });
	if (job->stream && !first.stream && !second.stream)
		rc = bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
			      job->stream->context->device.info->spec);
	if (!rc)
		rc = bi__job_route(&first, err);
	if (!rc)
		rc = bi__job_route(&second, err);
	bi_memory_release(between);
	return rc;
}
