/*
 * Fills: by the driver's memset, by a kernel with the item in its arguments, or by copies from pinned memory (large
 * items).
 */
#include "cuda/cuda.h"

#include <string.h>

/* Returns true if the items of the destination are adjacent. */
static int is_run(const struct bi__plan *plan)
{
	return plan->ndim == 0 || (plan->ndim == 1 && plan->dst_strides[0] == (int64_t)plan->unit);
}

static int is_uniform(const unsigned char *item, size_t nbytes)
{
	return memcmp(item, item + 1, nbytes - 1) == 0;
}

/* Returns the bytes of the memset value that fills the destination: 1, 2 or 4. Returns 0 if no memset is used. */
static size_t memset_width(const struct bi__plan *plan, bi__cu_pointer to, const unsigned char *item)
{
	if (!is_run(plan))
		return 0;
	if (is_uniform(item, plan->unit))
		return 1;
	return (plan->unit == 2 || plan->unit == 4) && to % plan->unit == 0 ? plan->unit : 0;
}

static int fill_run(const struct bi__cuda_job *job, bi__cu_pointer to, const unsigned char *item, size_t width,
		    struct bi_error *err)
{
	bi__cu_stream stream = job->queue->stream;
	size_t count = (size_t)job->plan->bytes / width;
	uint16_t two;
	uint32_t four;

	if (width == 1)
		return bi__cu_check(bi__cu->MemsetD8Async(to, *item, count, stream), "cuMemsetD8Async", err);
	if (width == 2) {
		memcpy(&two, item, sizeof(two));
		return bi__cu_check(bi__cu->MemsetD16Async(to, two, count, stream), "cuMemsetD16Async", err);
	}
	memcpy(&four, item, sizeof(four));
	return bi__cu_check(bi__cu->MemsetD32Async(to, four, count, stream), "cuMemsetD32Async", err);
}

/* Copies the part of a large item that is in pinned memory to its place in every element. */
static int read_item(void *data, bi__cu_pointer pinned, size_t at, size_t nbytes, struct bi_error *err)
{
	const struct bi__cuda_job *whole = data;
	const struct bi__block block = {
		.kind = BI_HANDLE_CUDA, .handle = (uintptr_t)pinned, .nbytes = nbytes, .cookie = BI__CUDA_PINNED
	};
	const struct bi__place src = { .block = &block };
	struct bi__plan plan = *whole->plan;
	struct bi__cuda_job part = *whole;

	plan.bytes = plan.bytes / plan.unit * nbytes;
	plan.unit = nbytes;
	plan.dst_offset += (int64_t)at;
	plan.src_offset = 0;
	part.plan = &plan;
	part.src = &src;
	return bi__cuda_copy_blocks(&part, err);
}

static int fill_from_pinned(struct bi__cuda_job *job, const unsigned char *item, struct bi_error *err)
{
	const struct bi__cuda_pageable_copy copy = {
		.queue = job->queue,
		.host = (char *)(uintptr_t)item,
		.nbytes = job->plan->unit,
		.is_immediate = 1,
		.enqueue = read_item,
		.data = job,
	};
	int rc = bi__cuda_refuse_capture(job->queue, "an item of this size is not filled", err);

	return rc ? rc : bi__cuda_copy_pageable(&copy, err);
}

int bi__cuda_fill(struct bi__cuda_job *job, struct bi_error *err)
{
	const unsigned char *item = (const unsigned char *)job->src->host + job->plan->src_offset;
	bi__cu_pointer base = bi__cuda_address(job->dst, 0), to = bi__cuda_address(job->dst, job->plan->dst_offset);
	size_t width = memset_width(job->plan, to, item);
	struct bi__launches launches;

	if (width)
		return fill_run(job, to, item, width, err);
	if (job->plan->unit > BI__FILL_BYTES)
		return fill_from_pinned(job, item, err);
	bi__launches_fill(&launches, job->plan, bi__cuda_excess(base), job->src->host, &bi__cuda_limits);
	return bi__cuda_launch(job->queue, &launches, bi__cuda_aligned(base), 0, err);
}
