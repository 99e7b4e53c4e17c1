/* Runs a copy on its route. The steps of a copy are copies as well, and have their own routes. */
#include "common/copy/chunked.h"
#include "common/copy/job.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"

/* Returns BI_ECAPTURE if a stream is being captured: several steps need new memory, which a graph cannot allocate. */
static int refuse_any_capture(const struct bi__job *job, struct bi_error *err)
{
	static const char what[] = "this copy needs memory of its own";
	struct bi_stream *streams[] = { job->stream, job->dst->home, job->src->home };
	int rc = BI_OK;

	for (int i = 0; i < 3 && !rc; i++)
		if (streams[i])
			rc = bi__stream_refuse_capture(streams[i], what, err);
	return rc;
}

/* Checks, before the first of several steps, everything that could make a later step fail. */
static int check_steps(const struct bi__job *job, struct bi_error *err)
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

/*
 * Returns the caller's stream if the step can use it, else NULL. A step between two device memories can use a stream
 * that reaches one of them: the route of the step checks the rest.
 */
static struct bi_stream *step_stream(struct bi_stream *stream, const struct bi__job *step)
{
	const struct bi_memory *to = step->dst, *from = step->src;

	if (!stream)
		return NULL;
	if (to->backend->cpu_addressable || from->backend->cpu_addressable)
		return bi__job_serves(stream, to, from) ? stream : NULL;
	return bi__stream_reaches(stream, to) || bi__stream_reaches(stream, from) ? stream : NULL;
}

/*
 * Splits the job into a copy to `between`, memory for a dense array with the layout that first->to already has, and a
 * copy from there.
 */
static int make_two_steps(const struct bi__job *job, struct bi_memory *between, struct bi__job *first,
			  struct bi__job *second, struct bi_error *err)
{
	first->operation = second->operation = job->operation;
	first->src = job->src;
	first->from = job->from;
	first->dst = second->src = between;
	second->from = first->to;
	second->dst = job->dst;
	second->to = job->to;
	first->stream = step_stream(job->stream, first);
	second->stream = step_stream(job->stream, second);
	return job->stream && !first->stream && !second->stream ? bi__job_refuse_stream(job, err) : BI_OK;
}

static int run_two_step(const struct bi__job *job, const struct bi__route *route, struct bi_error *err)
{
	struct bi__job first, second;
	struct bi_memory *between;
	int rc = bi_layout_init(&first.to, job->to.dtype, job->to.ndim, job->to.shape, NULL, 0, err);

	if (!rc)
		rc = bi_memory_create(route->context, (size_t)bi_layout_nbytes(&first.to), route->memory, &between,
				      err);
	if (rc)
		return rc;
	rc = make_two_steps(job, between, &first, &second, err);
	if (!rc)
		rc = bi__job_run(&first, err);
	if (!rc)
		rc = bi__job_run(&second, err);
	bi_memory_release(between);
	return rc;
}

static int run_chunked(const struct bi__job *job, const struct bi__route *route, struct bi_error *err)
{
	struct bi__chunked chunked;
	struct bi__job step;
	int rc = bi__chunked_start(&chunked, job, route->context, err);

	while (!rc && bi__chunked_has_step(&chunked)) {
		rc = bi__chunked_next(&chunked, &step, err);
		if (!rc)
			rc = bi__job_run(&step, err);
	}
	bi__chunked_finish(&chunked);
	return rc;
}

int bi__job_run(struct bi__job *job, struct bi_error *err)
{
	struct bi__route route;
	int rc = bi__job_choose_route(job, &route, err);

	if (rc)
		return rc;
	if (route.kind == BI__ROUTE_DIRECT)
		return bi__job_enqueue(job, err);
	rc = check_steps(job, err);
	if (rc)
		return rc;
	return route.kind == BI__ROUTE_TWO_STEP ? run_two_step(job, &route, err) : run_chunked(job, &route, err);
}
