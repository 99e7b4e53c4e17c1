/* One step on one stream: waits for earlier work, enqueues a job or copies inline, and orders later work after it. */
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

/* Returns 1 for pinned memory. Pinned buffers of OpenCL, which have no address, do not count. */
static int is_pinned(const struct bi_memory *memory)
{
	return !memory->backend->cpu_addressable && memory->block.host && memory->block.memory != BI_MEMORY_UNIFIED;
}

/*
 * Returns the memory in whose context a copy runs (docs/ordering.md, 7.1 and 30.3). It is the destination, with two
 * exceptions. If the destination is host memory, it is the source. If the destination is pinned, and the source is
 * device memory of another native context that is not pinned, it is the source. For a fill, `from` is `to`.
 */
static struct bi_memory *choose_worker(struct bi_memory *to, struct bi_memory *from)
{
	if (to->backend->cpu_addressable)
		return from;
	if (!is_pinned(to) || from->backend->cpu_addressable || is_pinned(from))
		return to;
	return bi__same_space(to->context, from->context) ? to : from;
}

/* Returns the stream for the job, or NULL with an error if the caller's stream cannot run the job. */
static struct bi_stream *choose_stream(const struct bi__job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst, *from = job->src ? job->src : to, *worker = choose_worker(to, from);

	if (!job->stream)
		return worker->backend->synchronous ? bi__host_stream() : worker->home;
	if (!bi__job_serves(job->stream, to, from)) {
		bi__stream_refuse(job->stream, worker, err);
		return NULL;
	}
	if (is_pinned(to) != is_pinned(from) && !bi__stream_reaches(job->stream, worker))
		return worker->home;
	return job->stream;
}

/*
 * Notes in the host memory which device memory it was copied to or from, and on which stream. If no work on the device
 * memory follows, that memory is complete when a thread has waited for the copy (finish_access in copy.c).
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

/* Makes the stream wait for earlier work on both memories and on `callers`, another stream of the caller, or NULL. */
static int begin_locked(const struct bi__job *job, struct bi_stream *stream, struct bi_stream *callers,
			struct bi_error *err)
{
	static const char what[] =
		"the copy runs on the home stream of the array that is not pinned, in another context";
	int rc = callers ? bi__stream_refuse_capture(callers, what, err) : BI_OK;

	if (!rc && callers)
		rc = bi__stream_refuse_capture(stream, what, err);
	if (!rc)
		rc = bi__order_begin_copy_locked(job->dst, job->src != job->dst ? job->src : NULL, stream, err);
	return rc || !callers ? rc : bi__stream_follow(stream, callers, err);
}

static int enqueue_locked(const struct bi__job *job, struct bi_stream *stream, struct bi_error *err)
{
	struct bi_memory *to = job->dst;
	struct bi_memory *from = job->src != to ? job->src : NULL;
	struct bi_stream *callers = job->stream != stream ? job->stream : NULL;
	struct bi__fence end = BI__FENCE_NONE;
	int rc = begin_locked(job, stream, callers, err), end_rc;

	if (rc)
		return rc;
	rc = bi__job_execute(job, stream, from ? &end : NULL, err);
	/* Nothing was enqueued, or the capture is invalid: no graph uses the memories. */
	if (rc == BI_ECAPTURE && to->order.is_capturing)
		return rc;
	/* The end is recorded after a failure as well, because some commands may have been enqueued. */
	end_rc = bi__order_end_copy_locked(to, from, stream, end, rc ? NULL : err);
	if (from)
		note_partner_locked(to, from, stream);
	rc = rc ? rc : end_rc;
	if (!callers)
		return rc;
	end_rc = bi__stream_follow(callers, stream, rc ? NULL : err);
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
	if (job->stream && job->stream->context != stream->context)
		bi__memory_limit_retired(job->stream);
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
