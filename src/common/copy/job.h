/*
 * A copy or fill in progress. It is checked (copy.c), gets a route (route.c), and is ordered and enqueued (enqueue.c).
 * If one step of one stream is not enough, it becomes two steps (two_step.c) or a chunked copy (chunked.c).
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

/*
 * Chooses the route that the memories and the device allow, and executes the job. Returns when its last command is
 * enqueued.
 */
int bi__job_route(struct bi__job *job, struct bi_error *err);

/*
 * Executes the job in one step on one stream: inline if that is possible and cheaper, otherwise as one command of the
 * device. `element` is the source of a fill, else NULL.
 */
int bi__job_execute(const struct bi__job *job, const void *element, struct bi_error *err);

/* Returns true for two device memories of contexts that share no memory. */
int bi__job_is_cross(const struct bi__job *job);

/*
 * Returns the stream that executes the job, or NULL with an error if the caller's stream cannot reach the device
 * memory.
 */
struct bi_stream *bi__job_stream(const struct bi__job *job, struct bi_error *err);

/*
 * Returns true if the stream can move bytes between the two memories. For two peers it is enough to reach one of them.
 */
int bi__job_serves(const struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from);

/*
 * Checks, before the first of several steps, everything that could make a later step fail. Returns BI_ECAPTURE during a
 * graph capture, because the steps allocate memory in between.
 */
int bi__job_check_steps(const struct bi__job *job, struct bi_error *err);

/* Copies in two steps through a new dense array of that kind. */
int bi__job_run_two_step(const struct bi__job *job, enum bi_memory_kind kind, struct bi_context *context,
			 struct bi_error *err);

/*
 * Copies in chunks through pinned staging buffers of `context`, so that one chunk is packed or fetched while another is
 * sent or unpacked. Blocks the calling thread until a buffer can be reused, and where one step cannot wait for the
 * other on the device (docs/ordering.md, row 17).
 */
int bi__job_copy_chunked(const struct bi__job *job, struct bi_context *context, struct bi_error *err);

#endif
