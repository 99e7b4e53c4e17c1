/* One step on one stream: waits for earlier work, enqueues a job, and makes later work wait for the job. */
#include "common/copy/job.h"

#include "common/backend/dispatch.h"
#include "common/base/status.h"
#include "common/copy/inline.h"
#include "common/runtime/fence.h"
#include "common/runtime/log.h"
#include "common/runtime/order.h"
#include "common/runtime/retire.h"
#include "common/runtime/stream.h"

int bi__job_serves(const struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from)
{
	if (bi__is_cpu_addressable(to) || bi__is_cpu_addressable(from))
		return bi__stream_reaches(stream, bi__is_cpu_addressable(to) ? from : to);
	if (bi__stream_reaches(stream, to))
		return 1;
	return bi__share_events(to->context, from->context) && bi__stream_reaches(stream, from);
}

/*
 * Returns the stream that executes the job, or NULL with an error if the caller's stream cannot reach the device
 * memory.
 */
static struct bi_stream *choose_stream(const struct bi__job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst;
	struct bi_memory *from = job->src ? job->src : to;
	struct bi_memory *worker = bi__is_cpu_addressable(to) ? from : to;

	if (!job->stream)
		return bi__is_synchronous(worker) ? bi__host_stream() : worker->home;
	if (bi__job_serves(job->stream, to, from))
		return job->stream;
	bi__stream_refuse(job->stream, worker, err);
	return NULL;
}

/*
 * Notes the device memory in the host memory that it was copied to or from. A thread that has waited for the copy on
 * the host memory then knows that the work on the device memory is complete, too.
 */
static void note_partner_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream)
{
	struct bi_memory *host = bi__is_synchronous(to) ? to : from, *other = host == to ? from : to;

	if (!bi__is_synchronous(host) || bi__is_synchronous(other))
		return;
	host->partner.memory = other;
	host->partner.epoch = other->order.epoch;
	host->partner.stream = stream;
}

/* Checks both memories, and makes the stream wait for earlier work on them. */
static int begin_step_locked(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from,
			     struct bi_stream *stream, struct bi_error *err)
{
	int rc = bi__order_check_mapped(to, 1, err);

	if (!rc && from)
		rc = bi__order_check_mapped(from, 0, err);
	if (rc || job->plan.kind == BI__PLAN_NOTHING)
		return rc;
	rc = bi__order_check_capture_locked(stream, to, from, err);
	/* Nothing may be enqueued if the work of one of the two producers failed. */
	if (!rc && from)
		rc = bi__order_check_failed_locked(from, err);
	if (!rc)
		rc = bi__order_begin_copy_locked(to, from, stream, err);
	return rc;
}

/* Returns 1 if begin_step_locked would do nothing, because all pending work is on this in-order stream. */
static int is_ordered_locked(const struct bi_memory *to, const struct bi_memory *from, const struct bi_stream *stream)
{
	return !bi__stream_captures(stream) && bi__order_is_kept_locked(to, stream) &&
	       (!from || bi__order_is_kept_locked(from, stream));
}

/*
 * Executes the job as one step: inline, or by enqueueing waits for earlier work, the job, and its end. If the driver
 * made an event with the job and no memory took ownership of it, *end is the event, and the caller clears it.
 */
static int execute_locked(const struct bi__job *job, struct bi_stream *stream, const void *element,
			  struct bi__fence *end, struct bi_error *err)
{
	struct bi_memory *to = job->dst;
	struct bi_memory *from = job->src != to ? job->src : NULL;
	const struct bi__operation operation = bi__job_operation(job, element);
	int rc, end_rc;

	if (bi__inline_begin_locked(job, to, from)) {
		rc = bi__operation_run_inline(stream, &operation, err);
		bi__inline_end(to, from);
		return rc;
	}
	rc = is_ordered_locked(to, from, stream) ? BI_OK : begin_step_locked(job, to, from, stream, err);
	if (rc || job->plan.kind == BI__PLAN_NOTHING)
		return rc;
	rc = bi__operation_enqueue(stream, &operation, from ? end : NULL, err);
	/* This is needed after a failure as well, because some commands may have been enqueued. */
	end_rc = bi__order_end_copy_locked(to, from, stream, end, rc ? NULL : err);
	if (from)
		note_partner_locked(to, from, stream);
	return rc ? rc : end_rc;
}

static void log_job(const struct bi__job *job, const struct bi_stream *stream, int rc)
{
	if (!bi__logs(job->dst->context, BI_LOG_DEBUG))
		return;
	bi__log(job->dst->context, BI_LOG_DEBUG, "%s: %s, %llu bytes, stream %u: %s", job->operation,
		bi__plan_name(job->plan.kind), (unsigned long long)job->plan.bytes, stream->id, bi_status_text(rc));
}

int bi__job_execute(const struct bi__job *job, const void *element, struct bi_error *err)
{
	struct bi_memory *to = job->dst, *from = job->src;
	struct bi_stream *stream = choose_stream(job, err);
	struct bi__fence end = BI__FENCE_NONE;
	int rc;

	if (!stream)
		return BI_EINVAL;
	bi__memory_limit_retired(stream);
	bi__order_lock(to, from);
	rc = execute_locked(job, stream, element, &end, err);
	bi__order_unlock(to, from);
	bi__fence_clear(&end);
	log_job(job, stream, rc);
	return rc;
}
