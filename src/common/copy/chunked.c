#include "common/copy/chunked.h"

#include <string.h>

#include "common/runtime/order.h"
#include "common/runtime/pinned_pieces.h"
#include "common/runtime/stream.h"

/* Returns 1 if the array has stride 0 along an axis of extent above 1. */
static int has_zero_stride(const struct bi_layout *layout)
{
	for (int i = 0; i < layout->ndim; i++)
		if (layout->shape[i] > 1 && layout->strides[i] == 0)
			return 1;
	return 0;
}

/*
 * Makes a layout from one side of a plan: the loops of the plan, and one more axis for the items of a unit. The layout
 * has at most BI_MAX_NDIM axes, because a plan has at most 62: 63 axes of extent 2 have more than INT64_MAX elements.
 */
static void layout_of_nest(struct bi_layout *out, const struct bi__plan *plan, int64_t offset, const int64_t *strides,
			   struct bi_dtype item)
{
	out->dtype = item;
	out->descr = NULL;
	out->ndim = plan->ndim + 1;
	out->offset = offset;
	memcpy(out->shape, plan->shape, (size_t)plan->ndim * sizeof(*plan->shape));
	memcpy(out->strides, strides, (size_t)plan->ndim * sizeof(*strides));
	out->shape[plan->ndim] = (int64_t)(plan->unit / item.item_size);
	out->strides[plan->ndim] = (int64_t)item.item_size;
}

/*
 * Sets the layouts that are cut into chunks. From a device to the host, their axes have the order of the device's
 * array, so that chunks are nearly dense there. All other copies use the order of the destination, and so do copies of
 * an array with zero strides, which has no useful order.
 */
static void make_nests(struct bi__chunked *chunked)
{
	const struct bi__job *job = chunked->job;
	int by_source = job->dst->backend->cpu_addressable && !has_zero_stride(&job->from);
	struct bi_dtype item = { .item_size = job->to.dtype.item_size, .lanes = 1, .type = BI_VOID };
	struct bi__plan plan = job->plan;

	if (by_source)
		bi__plan_make(&plan, &job->from, &job->to);
	if (item.item_size > BI__PINNED_PIECE_BYTES)
		item.item_size = 1;
	layout_of_nest(&chunked->to, &plan, by_source ? plan.src_offset : plan.dst_offset,
		       by_source ? plan.src_strides : plan.dst_strides, item);
	layout_of_nest(&chunked->from, &plan, by_source ? plan.dst_offset : plan.src_offset,
		       by_source ? plan.dst_strides : plan.src_strides, item);
	bi__split_start(&chunked->split, &chunked->to, (int64_t)BI__PINNED_PIECE_BYTES);
}

/* Returns the caller's stream if it can execute the step between that memory and a staging buffer, or NULL. */
static struct bi_stream *stream_for_step(struct bi_stream *stream, const struct bi_memory *memory)
{
	return stream && !memory->backend->synchronous && bi__stream_reaches(stream, memory) ? stream : NULL;
}

int bi__chunked_start(struct bi__chunked *chunked, const struct bi__job *job, struct bi_context *context,
		      struct bi_error *err)
{
	chunked->job = job;
	chunked->context = context;
	chunked->filled = chunked->emptied = 0;
	chunked->chunks[0].memory = chunked->chunks[1].memory = NULL;
	chunked->first = stream_for_step(job->stream, job->src);
	chunked->second = stream_for_step(job->stream, job->dst);
	if (job->stream && !chunked->first && !chunked->second)
		return bi__job_refuse_stream(job, err);
	make_nests(chunked);
	return BI_OK;
}

/*
 * Returns 1 if the next step copies the oldest chunk out of its buffer. A chunk of device memory stays until the next
 * chunk is on the way into the other buffer, if there is a next chunk. A chunk of host memory does not stay, because
 * the calling thread has filled the buffer when the step returns.
 */
static int has_chunk_to_forward(const struct bi__chunked *chunked)
{
	unsigned stay = chunked->split.left && !chunked->job->src->backend->synchronous;

	return chunked->filled - chunked->emptied > stay;
}

int bi__chunked_has_step(const struct bi__chunked *chunked)
{
	return chunked->split.left || has_chunk_to_forward(chunked);
}

/* Waits until a buffer is free, and makes the step that copies the next box of the source into it. */
static int make_fill_step(struct bi__chunked *chunked, struct bi__job *step, struct bi_error *err)
{
	struct bi__chunk *chunk = &chunked->chunks[chunked->filled++ % 2];
	int64_t at[BI_MAX_NDIM], shape[BI_MAX_NDIM];
	int rc;

	bi__split_next(&chunked->split, &chunked->to, at, shape);
	bi__split_cut(&chunked->to, at, shape, &chunk->to);
	bi__split_cut(&chunked->from, at, shape, &step->from);
	rc = bi_layout_init(&step->to, step->from.dtype, step->from.ndim, step->from.shape, NULL, 0, err);
	if (!rc && !chunk->memory)
		rc = bi__pinned_piece_get(chunked->context, &chunk->memory, err);
	if (!rc)
		rc = bi__order_synchronize(chunk->memory, BI__WAIT_CROSS, err);
	step->dst = chunk->memory;
	step->src = chunked->job->src;
	step->stream = chunked->first;
	step->operation = chunked->job->operation;
	return rc;
}

/* Waits until the oldest chunk has arrived in its buffer, and makes the step that copies it to the destination. */
static int make_forward_step(struct bi__chunked *chunked, struct bi__job *step, struct bi_error *err)
{
	struct bi__chunk *chunk = &chunked->chunks[chunked->emptied++ % 2];
	int rc = bi__order_synchronize(chunk->memory, BI__WAIT_CROSS, err);

	step->dst = chunked->job->dst;
	step->src = chunk->memory;
	step->to = chunk->to;
	step->stream = chunked->second;
	step->operation = chunked->job->operation;
	return rc ? rc : bi_layout_init(&step->from, step->to.dtype, step->to.ndim, step->to.shape, NULL, 0, err);
}

int bi__chunked_next(struct bi__chunked *chunked, struct bi__job *step, struct bi_error *err)
{
	return has_chunk_to_forward(chunked) ? make_forward_step(chunked, step, err)
					     : make_fill_step(chunked, step, err);
}

void bi__chunked_finish(struct bi__chunked *chunked)
{
	bi__pinned_piece_give_back(chunked->chunks[0].memory);
	bi__pinned_piece_give_back(chunked->chunks[1].memory);
}
