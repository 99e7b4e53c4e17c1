/*
 * A job is a copy or fill in progress. It is checked (copy.c), gets a route (route.c), and is ordered and enqueued
 * (enqueue.c). If one step on one stream is not enough, the job is replaced by several steps: two (two_step.c), or two
 * for each chunk (chunked.c). Each step is a job as well. run.c runs jobs.
 */
#ifndef BI_COMMON_COPY_JOB_H
#define BI_COMMON_COPY_JOB_H

#include "common/runtime/object.h"
#include "common/runtime/operation.h"

struct bi__job {
	struct bi_memory *dst, *src; /* src is NULL for a fill */
	struct bi_layout to, from; /* layouts of dst and src; not set if the plan was made without layouts */
	struct bi_stream *stream; /* the stream that the caller passed, or NULL */
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
	BI__ROUTE_DIRECT, /* one step on one stream */
	BI__ROUTE_TWO_STEP, /* through a new dense array */
	BI__ROUTE_CHUNKED /* in chunks through pinned staging buffers */
};

struct bi__route {
	enum bi__route_kind kind;
	struct bi_context *context; /* TWO_STEP: context of the new array. CHUNKED: context of the staging buffers */
	enum bi_memory_kind memory; /* TWO_STEP: kind of memory of the new array */
};

/* Chooses the route that the memories and the device allow, and makes the plan of a direct job. */
int bi__job_choose_route(struct bi__job *job, struct bi__route *route, struct bi_error *err);

/*
 * Chooses the route of a copy and executes the copy. Returns when the last command is enqueued. A chunked copy blocks
 * the calling thread between its steps.
 */
int bi__job_run(struct bi__job *job, struct bi_error *err);

/*
 * Executes a job with a plan in one step on one stream: inline if that is possible and cheaper, otherwise as one
 * command of the device. `element` is the source of a fill, else NULL.
 */
int bi__job_execute(const struct bi__job *job, const void *element, struct bi_error *err);

/*
 * Returns true if the stream can move bytes between the two memories. If their contexts are peers, the stream needs to
 * reach only one of the memories.
 */
int bi__job_serves(const struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from);

/* Returns BI_EINVAL, because none of the steps can use the stream of the caller. */
static inline int bi__job_refuse_stream(const struct bi__job *job, struct bi_error *err)
{
	return bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
			job->stream->context->device.info->spec);
}

#endif
