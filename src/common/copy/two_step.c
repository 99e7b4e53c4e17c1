#include "common/copy/two_step.h"

#include "common/runtime/stream.h"

/*
 * Returns the caller's stream if the step can use it, else NULL. A step between two device memories can use a stream
 * that reaches one of them: the route of the step checks the rest.
 */
static struct bi_stream *step_stream(struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from)
{
	if (!stream)
		return NULL;
	if (bi__is_cpu_addressable(to) || bi__is_cpu_addressable(from))
		return bi__job_serves(stream, to, from) ? stream : NULL;
	return bi__stream_reaches(stream, to) || bi__stream_reaches(stream, from) ? stream : NULL;
}

/* One side of a copy. */
struct side {
	struct bi_memory *memory;
	const struct bi_layout *layout;
};

/* Sets all members of one of the two steps, except for its plan, which bi__job_choose_route makes. */
static void make_step(struct bi__job *step, const struct bi__job *whole, struct side dst, struct side src)
{
	step->dst = dst.memory;
	step->src = src.memory;
	step->to = *dst.layout;
	step->from = *src.layout;
	step->stream = step_stream(whole->stream, dst.memory, src.memory);
	step->operation = whole->operation;
}

static void make_steps(struct bi__two_step *steps, const struct bi__job *job, const struct bi_layout *dense)
{
	const struct side between = { steps->between, dense };

	make_step(&steps->first, job, between, (struct side){ job->src, &job->from });
	make_step(&steps->second, job, (struct side){ job->dst, &job->to }, between);
}

int bi__two_step_start(struct bi__two_step *steps, const struct bi__job *job, const struct bi__route *route,
		       struct bi_error *err)
{
	struct bi_layout dense;
	int rc = bi_layout_init(&dense, job->to.dtype, job->to.ndim, job->to.shape, NULL, 0, err);

	if (!rc)
		rc = bi_memory_create(route->context, (size_t)bi_layout_nbytes(&dense), route->memory, &steps->between,
				      err);
	if (rc)
		return rc;
	make_steps(steps, job, &dense);
	if (!job->stream || steps->first.stream || steps->second.stream)
		return BI_OK;
	bi__two_step_finish(steps);
	return bi__job_refuse_stream(job, err);
}

void bi__two_step_finish(struct bi__two_step *steps)
{
	bi_memory_release(steps->between);
}
