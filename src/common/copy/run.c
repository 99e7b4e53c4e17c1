/* Runs a copy on its route. The steps of a copy are copies as well, and have their own routes. */
#include "common/copy/chunked.h"
#include "common/copy/job.h"
#include "common/copy/two_step.h"
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

static int run_two_step(const struct bi__job *job, const struct bi__route *route, struct bi_error *err)
{
	struct bi__two_step steps;
	int rc = bi__two_step_start(&steps, job, route, err);

	if (rc)
		return rc;
	rc = bi__job_run(&steps.first, err);
	if (!rc)
		rc = bi__job_run(&steps.second, err);
	bi__two_step_finish(&steps);
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
		return bi__job_execute(job, NULL, err);
	rc = check_steps(job, err);
	if (rc)
		return rc;
	return route.kind == BI__ROUTE_TWO_STEP ? run_two_step(job, &route, err) : run_chunked(job, &route, err);
}
