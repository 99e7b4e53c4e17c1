/*
 * A copy or fill in progress. It is checked (copy.c), gets a route (route.c), and is ordered and enqueued (enqueue.c).
 * If one step of one stream is not enough, it becomes several steps, which are jobs themselves: two (two_step.c), or
 * two for each chunk (chunked.c). run.c runs them all.
 */
#ifndef BI_COMMON_COPY_JOB_H
#define BI_COMMON_COPY_JOB_H

#include "common/runtime/object.h"
#include "common/runtime/operation.h"

struct bi__job {
	struct bi_memory *dst, *src; /* src is NULL for a fill */
	struct bi_layout to, from; /* not set if the plan was made without them */
	struct bi_stream *stream; /* the caller's, or NULL */
	const char *operation; /* name in reports */
	struct bi__plan plan;
};

/* Returns the job as an operation. `element` is the source of a fill, else NULL. */
static inline struct bi__operation bi__job_operation(const struct bi__job *job, const void *element)
{
	return (struct bi__operation){
		.name = job->operation,
		.plan = &job->plan,
		.dst = job->dst,
		.src = job->src,
		.element = element,
		.element_size = element ? job->to.dtype.item_size : 0,
	};
}

enum bi__route_kind {
	BI__ROUTE_DIRECT, /* one step of one stream */
	BI__ROUTE_TWO_STEP, /* through a new dense array */
	BI__ROUTE_CHUNKED /* in chunks through pinned staging buffers */
};

struct bi__route {
	enum bi__route_kind kind;
	struct bi_context *context; /* TWO_STEP: of the new array. CHUNKED: of the staging buffers */
	enum bi_memory_kind memory; /* TWO_STEP: of the new array */
};

/* Chooses the route that the memories and the device allow, and makes the plan of a direct job. */
int bi__job_choose_route(struct bi__job *job, struct bi__route *route, struct bi_error *err);

/*
 * Chooses the route of a copy and executes it. Returns when its last command is enqueued; a chunked copy blocks the
 * calling thread in between.
 */
int bi__job_run(struct bi__job *job, struct bi_error *err);

/*
 * Executes a job with a plan in one step on one stream: inline if that is possible and cheaper, otherwise as one command
 * of the device. `element` is the source of a fill, else NULL.
 */
int bi__job_execute(const struct bi__job *job, const void *element, struct bi_error *err);

/*
 * Returns true if the stream can move bytes between the two memories. For two peers it is enough to reach one of them.
 */
int bi__job_serves(const struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from);

/* Fails for a stream of the caller that neither of two steps can use. */
static inline int bi__job_refuse_stream(const struct bi__job *job, struct bi_error *err)
{
	return bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
			job->stream->context->device.info->spec);
}

#endif
