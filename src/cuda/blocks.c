/*
 * Copies between two memories that the device can address. The driver copies dense bytes, and boxes of long rows
 * between host memory and device memory. A kernel copies all else, and everything between two host memories.
 */
#include "common/plan/rect.h"
#include "cuda/cuda.h"

/* Bytes of the shortest row that a command of the driver copies. Kernels copy shorter rows. */
#define SMALLEST_ROW 256

const struct bi__launch_limits bi__cuda_limits = { .group = BI__NEST_GROUP, .tiles = 1 };

/* Returns true if the memory belongs to another CUcontext than the queue. */
static int is_elsewhere(const struct bi__cuda_job *job, const struct bi__place *place)
{
	return place->device && ((const struct bi__cuda *)place->device->state)->shared != job->queue->cuda->shared;
}

/*
 * Returns true for memory of another CUcontext that has no host address. Every context can address memory with a host
 * address.
 */
static int is_foreign(const struct bi__cuda_job *job, const struct bi__place *place)
{
	return is_elsewhere(job, place) && !place->block->host;
}

/* Refuses memory of another CUcontext that was reset, because its addresses may belong to other memory now. */
int bi__cuda_refuse_reset_places(const struct bi__cuda_job *job, struct bi_error *err)
{
	int rc = is_elsewhere(job, job->dst) ? bi__cuda_refuse_reset(job->dst->device->state, err) : BI_OK;

	return !rc && is_elsewhere(job, job->src) ? bi__cuda_refuse_reset(job->src->device->state, err) : rc;
}

/* Returns true for a host address of the caller, and for a block of pinned or registered memory. */
static int is_of_host(const struct bi__place *place)
{
	return !place->block || bi__cuda_is_of_host(place->block);
}

static bi__cu_context context_of(const struct bi__cuda_job *job, const struct bi__place *place)
{
	return place->device ? (bi__cu_context)place->device->native : job->queue->cuda->context;
}

static int copy_linear(const struct bi__cuda_job *job, struct bi_error *err)
{
	bi__cu_pointer to = bi__cuda_address(job->dst, job->plan->dst_offset),
		       from = bi__cuda_address(job->src, job->plan->src_offset);

	/* cuMemcpyPeerAsync is documented only for device memory on both sides. */
	if (is_of_host(job->dst) || is_of_host(job->src) || (!is_foreign(job, job->dst) && !is_foreign(job, job->src)))
		return bi__cu_check(bi__cu->MemcpyAsync(to, from, job->plan->unit, job->queue->stream), "cuMemcpyAsync",
				    err);
	return bi__cu_check(bi__cu->MemcpyPeerAsync(to, context_of(job, job->dst), from, context_of(job, job->src),
						    job->plan->unit, job->queue->stream),
			    "cuMemcpyPeerAsync", err);
}

static bi__cu_result copy_rows(const struct bi__cuda_job *job, const struct bi__rect *rect, bi__cu_pointer to,
			       bi__cu_pointer from)
{
	const struct bi__cu_copy_2d copy = {
		.src_memory = BI__CU_MEMORY_UNIFIED,
		.src_device = from,
		.src_pitch = rect->src.row,
		.dst_memory = BI__CU_MEMORY_UNIFIED,
		.dst_device = to,
		.dst_pitch = rect->dst.row,
		.width = rect->width,
		.height = rect->rows,
	};

	return bi__cu->Memcpy2DAsync(&copy, job->queue->stream);
}

static bi__cu_result copy_slices(const struct bi__cuda_job *job, const struct bi__rect *rect, bi__cu_pointer to,
				 bi__cu_pointer from)
{
	const struct bi__cu_copy_3d copy = {
		.src_memory = BI__CU_MEMORY_UNIFIED,
		.src_device = from,
		.src_pitch = rect->src.row,
		.src_height = rect->src.slice / rect->src.row,
		.dst_memory = BI__CU_MEMORY_UNIFIED,
		.dst_device = to,
		.dst_pitch = rect->dst.row,
		.dst_height = rect->dst.slice / rect->dst.row,
		.width = rect->width,
		.height = rect->rows,
		.depth = rect->slices,
	};

	return bi__cu->Memcpy3DAsync(&copy, job->queue->stream);
}

/* Returns true and sets *rect if the plan is a box (rect.h) of long rows with pitches that the driver can copy. */
static int is_box(const struct bi__cuda_job *job, struct bi__rect *rect)
{
	size_t most = (size_t)job->queue->cuda->facts.max_pitch;

	return job->plan->unit >= SMALLEST_ROW && bi__rect_make(job->plan, rect) && rect->dst.row <= most &&
	       rect->src.row <= most;
}

static int copy_by_kernel(const struct bi__cuda_job *job, bi__cu_pointer to, bi__cu_pointer from, struct bi_error *err)
{
	struct bi__launches launches;

	bi__launches_copy(&launches, job->plan, bi__cuda_excess(to), bi__cuda_excess(from), &bi__cuda_limits);
	return bi__cuda_launch(job->queue, &launches, bi__cuda_aligned(to), bi__cuda_aligned(from), err);
}

/*
 * The driver copies boxes of long rows between host and device memory. A kernel copies all else: inside a device,
 * because it has to copy short rows there anyway; between two host memories, because the driver's copy would block the
 * calling thread; and boxes whose pitch the driver refuses.
 */
int bi__cuda_copy_nest(const struct bi__cuda_job *job, bi__cu_pointer to, bi__cu_pointer from, struct bi_error *err)
{
	bi__cu_pointer first_to = to + (bi__cu_pointer)job->plan->dst_offset,
		       first_from = from + (bi__cu_pointer)job->plan->src_offset;
	bi__cu_result code = BI__CU_ERROR_INVALID_VALUE;
	struct bi__rect rect = { .slices = 1 };

	if (is_of_host(job->dst) != is_of_host(job->src) && is_box(job, &rect))
		code = rect.slices == 1 ? copy_rows(job, &rect, first_to, first_from)
					: copy_slices(job, &rect, first_to, first_from);
	if (code == BI__CU_ERROR_INVALID_VALUE)
		return copy_by_kernel(job, to, from, err);
	return bi__cu_check(code, rect.slices == 1 ? "cuMemcpy2DAsync" : "cuMemcpy3DAsync", err);
}

int bi__cuda_copy_blocks(const struct bi__cuda_job *job, struct bi_error *err)
{
	bi__cu_pointer to = bi__cuda_address(job->dst, 0), from = bi__cuda_address(job->src, 0);

	if (is_of_host(job->dst) && is_of_host(job->src))
		return copy_by_kernel(job, to, from, err);
	if (job->plan->kind == BI_PLAN_LINEAR)
		return copy_linear(job, err);
	return bi__cuda_copy_nest(job, to, from, err);
}
