/* Copies between the host and the device, and the choice of the function for all other moves. */
#include "cuda/cuda.h"

/* The method by which dense bytes are copied between a host address and a block. */
enum method {
	DIRECTLY, /* by the driver's copy; it does not block, because the driver can address the host memory */
	BY_HOST, /* by a host function in stream order; both sides are host memory */
	THROUGH_PINNED /* by bi__cuda_copy_pageable; the host side is pageable memory */
};

/*
 * During a graph capture only the driver's own copies are used, because a graph may run several times: a host function
 * frees its argument, and a chunk serves one copy.
 */
static int choose_method(const struct bi__cuda_job *job, const struct bi__block *block, const void *host,
			 enum method *method, struct bi_error *err)
{
	bi__cu_pointer device;
	uint64_t capture;
	int rc = bi__cuda_reach(host, job->plan->unit, &device, err);

	*method = device ? DIRECTLY : THROUGH_PINNED;
	if (rc || (device && !bi__cuda_is_of_host(block)))
		return rc;
	rc = bi__cuda_find_capture(job->queue, &capture, err);
	if (!rc && capture && !device)
		rc = bi__cuda_refuse_capture(job->queue, "pageable host memory is not copied", err);
	if (!capture && bi__cuda_is_of_host(block))
		*method = BY_HOST;
	return rc;
}

static int copy_host_linear(const struct bi__cuda_job *job, struct bi_error *err)
{
	const struct bi__plan *plan = job->plan;
	int reads = !job->dst->block;
	const struct bi__place *place = reads ? job->src : job->dst;
	int64_t at = reads ? plan->src_offset : plan->dst_offset;
	bi__cu_pointer device = bi__cuda_address(place, at);
	char *block = place->block->host, *host = reads ? (char *)(uintptr_t)job->dst->host + plan->dst_offset
							: (char *)(uintptr_t)job->src->host + plan->src_offset;
	bi__cu_stream stream = job->queue->stream;
	enum method method;
	int rc = choose_method(job, place->block, host, &method, err);

	if (rc)
		return rc;
	if (method == BY_HOST)
		return bi__cuda_copy_by_host(stream, reads ? host : block + at, reads ? block + at : host, plan->unit,
					     0, err);
	if (method == THROUGH_PINNED) {
		const struct bi__cuda_pageable_copy copy = {
			.queue = job->queue, .host = host, .nbytes = plan->unit, .to_host = reads, .device = device
		};

		return bi__cuda_copy_pageable(&copy, err);
	}
	return reads ? bi__cu_check(bi__cu->MemcpyDtoHAsync(host, device, plan->unit, stream), "cuMemcpyDtoHAsync", err)
		     : bi__cu_check(bi__cu->MemcpyHtoDAsync(device, host, plan->unit, stream), "cuMemcpyHtoDAsync",
				    err);
}

/* The bytes that one side of a plan reaches. */
struct extent {
	int64_t start;
	size_t nbytes;
};

static struct extent find_extent(const struct bi__plan *plan, int64_t offset, const int64_t *strides)
{
	int64_t start = offset, end = offset + (int64_t)plan->unit;

	for (int i = 0; i < plan->ndim; i++) {
		int64_t span = (plan->shape[i] - 1) * strides[i];

		*(span < 0 ? &start : &end) += span;
	}
	return (struct extent){ start, (size_t)(end - start) };
}

/*
 * Sets *out to the device address from which the plan's offsets on the host side count, or to 0 if the device cannot
 * access all bytes of that side.
 */
static int find_host(const struct bi__cuda_job *job, bi__cu_pointer *out, struct bi_error *err)
{
	const struct bi__plan *plan = job->plan;
	int writes = !job->dst->block, rc;
	struct extent extent = writes ? find_extent(plan, plan->dst_offset, plan->dst_strides)
				      : find_extent(plan, plan->src_offset, plan->src_strides);
	const char *host = writes ? job->dst->host : job->src->host;

	rc = bi__cuda_reach(host + extent.start, extent.nbytes, out, err);
	if (!rc && *out)
		*out -= (bi__cu_pointer)extent.start;
	return rc;
}

/*
 * Copies between a block and host memory by a command of the driver or by a kernel. The device must be able to address
 * the host's side.
 */
static int copy_host_nest(const struct bi__cuda_job *job, struct bi_error *err)
{
	bi__cu_pointer host;
	int rc = find_host(job, &host, err);

	if (rc)
		return rc;
	if (!host)
		return bi__fail(err, BI_EUNSUPPORTED, "the device cannot address this host memory");
	if (job->dst->block)
		return bi__cuda_copy_nest(job, bi__cuda_address(job->dst, 0), host, err);
	return bi__cuda_copy_nest(job, host, bi__cuda_address(job->src, 0), err);
}

/* Bytes that a device is assumed to transfer in one access to host memory. */
#define SECTOR 32

/*
 * Estimates whether at least half of the transferred bytes belong to elements. Otherwise packing is assumed to be
 * faster. Neighbouring threads access neighbours along one axis: for reads of tiles the axis along which the source is
 * read, else the last axis. The limit is derived from SECTOR, not measured.
 */
static int is_worth_direct_access(const struct bi__plan *plan, int writes)
{
	int last = plan->ndim - 1;
	int64_t step =
		writes ? plan->dst_strides[last] : plan->src_strides[plan->kind == BI_PLAN_TILES ? plan->cross : last];

	return plan->unit >= SECTOR || (step < 0 ? -step : step) <= 2 * (int64_t)plan->unit;
}

int bi__cuda_takes(const struct bi__move *move, int *takes, struct bi_error *err)
{
	struct bi__cuda_job job = { NULL, move->plan, &move->dst, &move->src };
	bi__cu_pointer host = 0;
	int rc = BI_OK;

	if (is_worth_direct_access(move->plan, !move->dst.block))
		rc = find_host(&job, &host, err);
	*takes = host != 0;
	return rc;
}

static int run_job(struct bi__cuda_job *job, struct bi_error *err)
{
	if (job->src->immediate)
		return bi__cuda_fill(job, err);
	if (job->dst->block && job->src->block)
		return bi__cuda_copy_blocks(job, err);
	if (job->plan->kind != BI_PLAN_LINEAR)
		return copy_host_nest(job, err);
	return copy_host_linear(job, err);
}

/* The context must be current. */
static int run_timed(struct bi__cuda_job *job, uintptr_t *event, struct bi_error *err)
{
	struct bi__cuda_event *timed;
	int rc = bi__cuda_timing_start(job->queue, &timed, err);

	if (rc)
		return rc;
	rc = run_job(job, err);
	if (!rc)
		rc = bi__cu_check(bi__cu->EventRecord(timed->handle, job->queue->stream), "cuEventRecord", err);
	if (rc)
		bi__cuda_event_release((uintptr_t)timed);
	else
		*event = (uintptr_t)timed;
	return rc;
}

/* Returns true for a read of few bytes of device memory, for which the calling thread is going to wait. */
static int is_short_read(const struct bi__cuda_job *job)
{
	return !job->dst->block && job->dst->borrowed && job->plan->kind == BI_PLAN_LINEAR &&
	       job->plan->unit <= BI__CUDA_SLOT && !bi__cuda_is_of_host(job->src->block) && !job->queue->per_thread;
}

static int run_short_read(struct bi__cuda_job *job, uintptr_t *event, struct bi_error *err)
{
	char *to = (char *)(uintptr_t)job->dst->host + job->plan->dst_offset;
	struct bi__cuda_event *read = NULL;
	int rc = bi__cuda_read(job->queue, to, bi__cuda_address(job->src, job->plan->src_offset), job->plan->unit,
			       &read, err);

	*event = (uintptr_t)read;
	return rc || read ? rc : run_job(job, err);
}

int bi__cuda_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__move *move,
		  uintptr_t *event, struct bi_error *err)
{
	struct bi__cuda_job job = { bi__cuda_queue_of(queue), move->plan, &move->dst, &move->src };
	int rc = bi__cuda_refuse_reset_places(&job, err);

	(void)device;
	if (rc)
		return rc;
	if (event && move->is_timed)
		return run_timed(&job, event, err);
	return event && is_short_read(&job) ? run_short_read(&job, event, err) : run_job(&job, err);
}
