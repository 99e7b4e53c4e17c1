/* Passes one copy or fill to a backend, records it for the report, and waits for it if option `debug` is set. */
#define _POSIX_C_SOURCE 200809L
#include "common/copy/job.h"

#include "common/backend/dispatch.h"
#include "common/base/clock.h"
#include "common/runtime/fence.h"
#include "common/runtime/report.h"
#include "common/runtime/stream.h"

static struct bi__place place_of(const struct bi_memory *memory)
{
	if (memory->backend->cpu_addressable)
		return (struct bi__place){ .host = memory->block.host, .borrowed = memory->borrowed };
	return (struct bi__place){ .block = &memory->block, .device = &memory->context->device.state };
}

static struct bi__place source_of(const struct bi__job *job)
{
	if (job->src)
		return place_of(job->src);
	return (struct bi__place){ .host = job->element, .immediate = job->to.dtype.item_size };
}

static struct bi__move move_of(const struct bi__job *job)
{
	return (struct bi__move){ &job->plan, place_of(job->dst), source_of(job), 0 };
}

/*
 * Returns the context whose report and whose option `debug` apply. It is the context of the source if the source is
 * device memory, the destination belongs to another context than the stream, and the destination is host memory or
 * belongs to another native context than the stream. Otherwise it is the context of the destination.
 */
static struct bi_context *owner_of(const struct bi__job *job, const struct bi_stream *stream)
{
	const struct bi_memory *dst = job->dst, *src = job->src;

	if (!src || src->backend->cpu_addressable || dst->context == stream->context)
		return dst->context;
	return dst->backend->cpu_addressable || !bi__same_space(dst->context, stream->context) ? src->context
											       : dst->context;
}

static int is_recording(const struct bi_context *owner)
{
	return owner->report && bi__report_is_recording(owner->report);
}

/* Adds the job to the report, which takes ownership of the event. `nanoseconds` and `event` are those of report.h. */
static void record_job(const struct bi__job *job, const struct bi_stream *stream, int64_t nanoseconds, uintptr_t event)
{
	const struct bi__record record = {
		.operation = job->operation,
		.plan = job->plan.kind,
		.bytes = job->plan.bytes,
		.stream = stream->id,
		.nanoseconds = nanoseconds,
		.event = event,
	};

	bi__report_add(owner_of(job, stream), &record);
}

int bi__job_execute_inline(const struct bi__job *job, const struct bi_stream *stream, struct bi_error *err)
{
	const struct bi__move move = {
		.plan = &job->plan,
		.dst = { .host = bi__address(job->dst) },
		.src = { .host = job->src ? bi__address(job->src) : job->element },
	};
	int is_recorded = is_recording(owner_of(job, stream));
	int64_t start = is_recorded ? bi__clock_ns() : 0;
	int rc = bi__dispatch_copy_inline(&move, err);

	if (!rc && is_recorded)
		record_job(job, stream, bi__clock_ns() - start, 0);
	return rc;
}

/* Returns 1 if an event of this move also stands for all earlier work on the stream (backend.h). */
static int has_end(const struct bi_stream *stream, const struct bi__move *move)
{
	return !stream->context->device.backend->synchronous && !stream->queue.out_of_order &&
	       (!move->dst.block || !move->src.block);
}

int bi__job_execute(const struct bi__job *job, struct bi_stream *stream, struct bi__fence *end, struct bi_error *err)
{
	struct bi_context *context = stream->context, *owner = owner_of(job, stream);
	struct bi__move move = move_of(job);
	int is_recorded = is_recording(owner), waits = owner->debug, gives_end;
	uint64_t capture = 0;
	uintptr_t event = 0;
	int64_t start;
	int rc = is_recorded || waits ? bi__stream_capture(stream, &capture, err) : BI_OK;

	if (rc)
		return rc;
	/* Work that is captured into a graph does not run now, so it is neither recorded nor waited for. */
	if (capture)
		is_recorded = waits = 0;
	/* A report keeps only events of its native context: other events may be invalid when the report is written. */
	move.is_timed = is_recorded && bi__same_space(owner, stream->context);
	gives_end = end && !move.is_timed && has_end(stream, &move);
	start = is_recorded ? bi__clock_ns() : 0;
	rc = bi__dispatch_copy(&context->device, &stream->queue, &move, move.is_timed || gives_end ? &event : NULL,
			       err);
	if (rc)
		return rc;
	if (gives_end)
		*end = bi__fence_of(context, event);
	if (is_recorded)
		record_job(job, stream, move.is_timed && !event ? bi__clock_ns() - start : -1,
			   move.is_timed ? event : 0);
	return waits ? bi__fence_await(stream, BI__WAIT_DEBUG, err) : BI_OK;
}

int bi__job_is_taken(const struct bi__job *job, struct bi_context *context, int *takes, struct bi_error *err)
{
	const struct bi__move move = move_of(job);

	return bi__dispatch_takes(&context->device, &move, takes, err);
}
