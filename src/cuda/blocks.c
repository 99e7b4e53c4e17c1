/* Copies between two blocks: by the driver where it has a command for them, else by a kernel. */
#include "cuda/cuda.h"

/* Shorter rows are left to the kernels. */
#define SMALLEST_ROW 256

const struct bi__launch_limits bi__cuda_limits = { .group = BI__NEST_GROUP, .tiles = 1 };

/* Memory of another context. What the host can use, every device reaches as it stands. */
static int is_foreign(const struct bi__cuda_job *job, const struct bi__place *place)
{
	return place->device && place->device->native != (uintptr_t)job->queue->cuda->context && !place->block->host;
}

static bi__cu_context context_of(const struct bi__cuda_job *job, const struct bi__place *place)
{
	return place->device ? (bi__cu_context)place->device->native : job->queue->cuda->context;
}

static int copy_linear(const struct bi__cuda_job *job, struct bi_error *err)
{
	bi__cu_pointer to = bi__cuda_address(job->dst, job->plan->dst_offset),
		       from = bi__cuda_address(job->src, job->plan->src_offset);

	if (!is_foreign(job, job->dst) && !is_foreign(job, job->src))
		return bi__cu_check(bi__cu->MemcpyAsync(to, from, job->plan->unit, job->queue->stream), "cuMemcpyAsync",
				    err);
	return bi__cu_check(bi__cu->MemcpyPeerAsync(to, context_of(job, job->dst), from, context_of(job, job->src),
						    job->plan->unit, job->queue->stream),
			    "cuMemcpyPeerAsync", err);
}

/* Can the driver step from row to row along the axis? */
static int is_pitched(const struct bi__cuda_job *job, int axis)
{
	const int64_t dst = job->plan->dst_strides[axis], src = job->plan->src_strides[axis];
	const int64_t row = (int64_t)job->plan->unit, most = job->queue->cuda->facts.max_pitch;

	return dst >= row && dst <= most && src >= row && src <= most;
}

/* Is a step of the outer axis a whole number of rows, and not less than a plane has? */
static int is_stacked(int64_t outer, int64_t inner, int64_t rows)
{
	return outer > 0 && outer % inner == 0 && outer / inner >= rows;
}

static int is_box(const struct bi__plan *plan)
{
	return is_stacked(plan->dst_strides[0], plan->dst_strides[1], plan->shape[1]) &&
	       is_stacked(plan->src_strides[0], plan->src_strides[1], plan->shape[1]);
}

static bi__cu_result copy_rows(const struct bi__cuda_job *job)
{
	const struct bi__plan *plan = job->plan;
	const struct bi__cu_copy_2d copy = {
		.src_memory = BI__CU_MEMORY_UNIFIED,
		.src_device = bi__cuda_address(job->src, plan->src_offset),
		.src_pitch = (size_t)plan->src_strides[0],
		.dst_memory = BI__CU_MEMORY_UNIFIED,
		.dst_device = bi__cuda_address(job->dst, plan->dst_offset),
		.dst_pitch = (size_t)plan->dst_strides[0],
		.width = plan->unit,
		.height = (size_t)plan->shape[0],
	};

	return bi__cu->Memcpy2DAsync(&copy, job->queue->stream);
}

static bi__cu_result copy_box(const struct bi__cuda_job *job)
{
	const struct bi__plan *plan = job->plan;
	const struct bi__cu_copy_3d copy = {
		.src_memory = BI__CU_MEMORY_UNIFIED,
		.src_device = bi__cuda_address(job->src, plan->src_offset),
		.src_pitch = (size_t)plan->src_strides[1],
		.src_height = (size_t)(plan->src_strides[0] / plan->src_strides[1]),
		.dst_memory = BI__CU_MEMORY_UNIFIED,
		.dst_device = bi__cuda_address(job->dst, plan->dst_offset),
		.dst_pitch = (size_t)plan->dst_strides[1],
		.dst_height = (size_t)(plan->dst_strides[0] / plan->dst_strides[1]),
		.width = plan->unit,
		.height = (size_t)plan->shape[1],
		.depth = (size_t)plan->shape[0],
	};

	return bi__cu->Memcpy3DAsync(&copy, job->queue->stream);
}

static int copy_by_kernel(const struct bi__cuda_job *job, struct bi_error *err)
{
	bi__cu_pointer to = bi__cuda_address(job->dst, 0), from = bi__cuda_address(job->src, 0);
	struct bi__launches launches;

	bi__launches_copy(&launches, job->plan, bi__cuda_excess(to), bi__cuda_excess(from), &bi__cuda_limits);
	return bi__cuda_launch(job->queue, &launches, bi__cuda_aligned(to), bi__cuda_aligned(from), err);
}

/*
 * A pitch that is no pitch of the driver's own may be refused. Between two memories of the host the driver's copies
 * make the caller wait; a kernel does not.
 */
int bi__cuda_copy_blocks(const struct bi__cuda_job *job, struct bi_error *err)
{
	const struct bi__plan *plan = job->plan;
	bi__cu_result code = BI__CU_ERROR_INVALID_VALUE;

	if (bi__cuda_is_of_host(job->dst->block) && bi__cuda_is_of_host(job->src->block))
		return copy_by_kernel(job, err);
	if (plan->kind == BI__PLAN_LINEAR)
		return copy_linear(job, err);
	if (plan->unit >= SMALLEST_ROW && plan->ndim == 1 && is_pitched(job, 0))
		code = copy_rows(job);
	else if (plan->unit >= SMALLEST_ROW && plan->ndim == 2 && is_pitched(job, 1) && is_box(plan))
		code = copy_box(job);
	if (code == BI__CU_ERROR_INVALID_VALUE)
		return copy_by_kernel(job, err);
	return bi__cu_check(code, plan->ndim == 1 ? "cuMemcpy2DAsync" : "cuMemcpy3DAsync", err);
}
