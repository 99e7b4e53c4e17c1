/* One step on one stream: waits for earlier work, enqueues a job, and makes later work wait for the job. */
#include "common/copy/job.h"

#include "common/base/status.h"
#include "common/runtime/fence.h"
#include "common/runtime/log.h"
#include "common/runtime/order.h"
#include "common/runtime/points.h"
#include "common/runtime/retire.h"
#include "common/runtime/stream.h"

int bi__job_serves(const struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from)
{
	if (to->backend->cpu_addressable || from->backend->cpu_addressable)
		return bi__stream_reaches(stream, to->backend->cpu_addressable ? from : to);
	if (bi__stream_reaches(stream, to))
		return 1;
	return bi__share_events(to->context, from->context) && bi__stream_reaches(stream, from);
}

int bi__job_refuse_stream(const struct bi__job *job, struct bi_error *err)
{
	return bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
			job->stream->context->device.info->spec);
}

/* Returns the stream for the job, or NULL with an error if the caller's stream cannot reach the device memory. */
static struct bi_stream *choose_stream(const struct bi__job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst;
	struct bi_memory *from = job->src ? job->src : to;
	struct bi_memory *worker = to->backend->cpu_addressable ? from : to;

	if (!job->stream)
		return worker->backend->synchronous ? bi__host_stream() : worker->home;
	if (bi__job_serves(job->stream, to, from))
		return job->stream;
	bi__stream_refuse(job->stream, worker, err);
	return NULL;
}

/*
 * Notes the device memory in the host memory that it was copied to or from. A thread that has waited for the copy on
 * the host memory then knows that the work on the device memory is complete, too, if the copy came last.
 */
static void note_partner_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream)
{
	struct bi_memory *host = to->backend->synchronous ? to : from, *other = host == to ? from : to;

	if (!host->backend->synchronous || other->backend->synchronous)
		return;
	host->partner.memory = bi__points_come_before_locked(other, stream) ? other : NULL;
	host->partner.epoch = other->order.epoch;
	host->partner.stream = stream;
}

static int enqueue_locked(const struct bi__job *job, struct bi_stream *stream, struct bi_error *err)
{
	struct bi_memory *to = job->dst;
	struct bi_memory *from = job->src != to ? job->src : NULL;
	struct bi__fence end = BI__FENCE_NONE;
	int rc = bi__order_begin_copy_locked(to, from, stream, err), end_rc;

	if (rc)
		return rc;
	rc = bi__job_execute(job, stream, from ? &end : NULL, err);
	/* This is needed after a failure as well, because some commands may have been enqueued. */
	end_rc = bi__order_end_copy_locked(to, from, stream, end, rc ? NULL : err);
	if (from)
		note_partner_locked(to, from, stream);
	return rc ? rc : end_rc;
}

static int run_step_locked(const struct bi__job *job, struct bi_stream *stream, struct bi_error *err)
{
	int rc;

	if (job->plan.kind == BI_PLAN_NOTHING)
		return bi__order_check_mapped(job->dst, 1, err);
	if (!bi__inline_begin_locked(job))
		return enqueue_locked(job, stream, err);
	rc = bi__job_execute_inline(job, stream, err);
	bi__inline_end(job);
	return rc;
}

static void log_job(const struct bi__job *job, const struct bi_stream *stream, int rc)
{
	if (job->dst->context->log.level < BI_LOG_DEBUG)
		return;
	bi__log(job->dst->context, BI_LOG_DEBUG, "%s: %s, %llu bytes, stream %u: %s", job->operation,
		bi__plan_name(job->plan.kind), (unsigned long long)job->plan.bytes, stream->id, bi_status_text(rc));
}

int bi__job_enqueue(const struct bi__job *job, struct bi_error *err)
{
	struct bi_stream *stream = choose_stream(job, err);
	struct bi__scope scope;
	int rc, has_scopes;

	if (!stream)
		return BI_EINVAL;
	has_scopes = stream->context->device.backend->devices.begin != NULL;
	bi__memory_limit_retired(stream);
	bi__order_lock(job->dst, job->src);
	if (has_scopes)
		bi__dispatch_begin(&scope, &stream->context->device);
	rc = run_step_locked(job, stream, err);
	if (has_scopes)
		bi__dispatch_end(&scope);
	bi__order_unlock(job->dst, job->src);
	log_job(job, stream, rc);
	return rc;
}
