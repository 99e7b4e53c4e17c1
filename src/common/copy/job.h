/*
 * A job is a copy or fill in progress. It is checked (copy.c), ordered and enqueued (enqueue.c), and passed to a
 * backend (execute.c). A copy gets a route after the check (route.c). If one step on one stream is not enough, route.c
 * replaces the copy by several steps: two, or two for each chunk (chunked.c). Each step is a job as well.
 */
#ifndef BI_COMMON_COPY_JOB_H
#define BI_COMMON_COPY_JOB_H

#include "common/runtime/object.h"

struct bi__job {
	const char *operation; /* name in reports and in the log */
	struct bi_memory *dst, *src; /* src is NULL for a fill */
	const void *element; /* if src is NULL: the item that fills dst; read before the call returns */
	struct bi_stream *stream; /* the stream that the caller passed, or NULL */
	struct bi_layout to, from; /* layouts of dst and src. A fill sets `to` alone, a job of bi__plan_bytes none */
	struct bi__plan plan;
};

/*
 * Chooses the route of a copy and runs its steps. Returns when the last step is enqueued, or done by the calling
 * thread. A chunked copy may block the calling thread between its steps (`cross`).
 */
int bi__job_run(struct bi__job *job, struct bi_error *err);

/* Runs a job with a plan in one step on one stream: inline if that is possible (inline.c), otherwise enqueued. */
int bi__job_enqueue(const struct bi__job *job, struct bi_error *err);

/*
 * Returns 1 if the stream can move bytes between the two memories. If one of them is host memory, the stream must reach
 * the other one. Two device memories must share events, and the stream must reach one of them.
 */
int bi__job_serves(const struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from);

/* Returns BI_EINVAL, because none of the steps can use the stream of the caller. */
int bi__job_refuse_stream(const struct bi__job *job, struct bi_error *err);

/*
 * Passes the job to the backend of the stream, and records it if the report is recording. The caller orders the work
 * (order.h). Under the option `debug`, blocks the calling thread until the job is done (`debug`). `end` is NULL or a
 * cleared fence. If the job moves bytes between device and host memory, the driver may make an event of the job. Then
 * *end becomes a fence for all work that is on the stream now.
 */
int bi__job_execute(const struct bi__job *job, struct bi_stream *stream, struct bi__fence *end, struct bi_error *err);

/*
 * Returns 1 if the calling thread can copy the job inline (inline.c), and the job is not above the limit
 * (inline_limit.h). Then an export of one of the memories waits until bi__inline_end. Otherwise returns 0.
 */
int bi__inline_begin_locked(const struct bi__job *job);

void bi__inline_end(const struct bi__job *job);

/* Executes the job on the calling thread, at the CPU addresses of both memories. `stream` is named in the report. */
int bi__job_execute_inline(const struct bi__job *job, const struct bi_stream *stream, struct bi_error *err);

/* Sets *takes: 1 if the device of the context moves the plan between device and host memory without packing, else 0. */
int bi__job_is_taken(const struct bi__job *job, struct bi_context *context, int *takes, struct bi_error *err);

#endif
