/*
 * One copy or fill on its way: checked (copy.c), given a way (route.c), ordered and enqueued (execute.c), in two legs
 * (legs.c) or in pieces (transfer.c) where one step of one stream does not do it.
 */
#ifndef BI_COMMON_COPY_JOB_H
#define BI_COMMON_COPY_JOB_H

#include "common/runtime/object.h"
#include "common/runtime/operation.h"

struct bi__job {
	struct bi_memory *dst, *src; /* src is NULL in a fill */
	struct bi_layout to, from; /* not set where the plan is made already */
	struct bi_stream *stream; /* the caller's, or NULL */
	const char *operation; /* in reports */
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

/* What was checked goes the way that the memories and the device allow. Returns when the last of it is enqueued. */
int bi__job_route(struct bi__job *job, struct bi_error *err);

/* One stream does it as it is: is this so, and do it. `element` is the source of a fill. */
int bi__job_is_direct(const struct bi__job *job);
int bi__job_execute(const struct bi__job *job, const void *element, struct bi_error *err);

/* Two device memories that no stream reaches both. */
int bi__job_is_cross(const struct bi__job *job);

/* The stream that executes, or NULL with an error: the caller's must reach the device memory involved. */
struct bi_stream *bi__job_stream(const struct bi__job *job, struct bi_error *err);

/* Can the stream move bytes between the two? One that reaches either of two peers can. */
int bi__job_serves(const struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from);

void bi__job_log(const struct bi__job *job, const struct bi_stream *stream, int rc);

/*
 * Before the first of several steps: what would stop a later one stops all. BI_ECAPTURE under a graph capture, because
 * they need memory in between.
 */
int bi__job_check_steps(const struct bi__job *job, struct bi_error *err);

/* In two legs, through a new dense array of that kind. */
int bi__job_run_two_step(const struct bi__job *job, enum bi_memory_kind kind, struct bi_context *context,
			 struct bi_error *err);

/*
 * In pieces through pinned memory of `context`, so that a piece is packed or fetched while another is sent or unpacked.
 * The calling thread waits before a piece is used again, and where one leg cannot wait for the other on the device
 * (docs/ordering.md, row 17).
 */
int bi__job_transfer(const struct bi__job *job, struct bi_context *context, struct bi_error *err);

#endif
