/*
 * Copies in chunks through pinned staging buffers. Used for strided bytes between the host and a device that copies
 * only dense ones, and for any bytes between two devices that can neither wait for each other nor access each other's
 * memory. Each chunk is copied in two steps, which are ordinary copies: strided bytes of a device are packed there.
 */
#include "common/copy/job.h"

#include <string.h>

#include "common/backend/dispatch.h"
#include "common/copy/copy.h"
#include "common/plan/split.h"
#include "common/runtime/order.h"
#include "common/runtime/pinned_pieces.h"
#include "common/runtime/stream.h"

/* A staging buffer, which is a piece of pinned memory, and the chunk in it. */
struct buffer {
	struct bi_memory *memory;
	struct bi_view *bytes; /* the chunk, dense; NULL: the buffer is empty */
	struct bi_layout to; /* the destination of the chunk */
};

struct chunked {
	const struct bi__job *job;
	struct bi_layout to, from; /* of the same shape, with axes in the order of the device's array */
	struct bi__split split;
	struct bi_stream *first, *second; /* for the two steps; NULL: the default */
	struct buffer buffers[2];
};

/* Returns true if some axis of a device's array has zero stride. Then the order of the other side is as good. */
static int has_zero_stride(const struct bi_layout *layout)
{
	for (int i = 0; i < layout->ndim; i++)
		if (layout->shape[i] > 1 && layout->strides[i] == 0)
			return 1;
	return 0;
}

/*
 * Makes a layout of the nest of a plan, with one more axis for the items of a unit. It has at most BI_MAX_NDIM axes,
 * because 62 axes of extent 2 fill all addresses.
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

/* The chunks are cut so that they are dense, or nearly dense, in the device's array. */
static void make_nests(struct chunked *chunked)
{
	const struct bi__job *job = chunked->job;
	int by_source = bi__is_cpu_addressable(job->dst) && !has_zero_stride(&job->from);
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

/* Copies a part of the source to the buffer, after the previous chunk has left it. */
static int fill_buffer(struct chunked *chunked, struct buffer *buffer, const struct bi_layout *from,
		       struct bi_error *err)
{
	const struct bi__job *job = chunked->job;
	struct bi_layout dense;
	struct bi_view *there = NULL;
	int rc = bi__order_synchronize(buffer->memory, BI__WAIT_CROSS, err);

	if (!rc)
		rc = bi_layout_init(&dense, from->dtype, from->ndim, from->shape, NULL, 0, err);
	if (!rc)
		rc = bi_view_create(buffer->memory, &dense, 0, &buffer->bytes, err);
	if (!rc)
		rc = bi_view_create(job->src, from, BI_VIEW_READONLY, &there, err);
	if (!rc)
		rc = bi__copy(buffer->bytes, there, chunked->first, job->operation, err);
	bi_view_release(there);
	return rc;
}

/* Copies the chunk to the destination, after it has arrived in the buffer. */
static int empty_buffer(struct chunked *chunked, struct buffer *buffer, struct bi_error *err)
{
	const struct bi__job *job = chunked->job;
	struct bi_view *there = NULL;
	int rc;

	if (!buffer->bytes)
		return BI_OK;
	rc = bi__order_synchronize(buffer->memory, BI__WAIT_CROSS, err);
	if (!rc)
		rc = bi_view_create(job->dst, &buffer->to, 0, &there, err);
	if (!rc)
		rc = bi__copy(there, buffer->bytes, chunked->second, job->operation, err);
	bi_view_release(there);
	bi_view_release(buffer->bytes);
	buffer->bytes = NULL;
	return rc;
}

/*
 * A chunk that a device fetches is forwarded one iteration later, while the next one is fetched. A chunk that the host
 * packs is complete when the call returns, so it is forwarded in the same iteration, while the host packs the next.
 */
static int copy_all_chunks(struct chunked *chunked, struct bi_error *err)
{
	int lag = !bi__is_synchronous(chunked->job->src), i = 0, rc = BI_OK;
	int64_t at[BI_MAX_NDIM], shape[BI_MAX_NDIM];
	struct bi_layout from;

	for (; !rc && bi__split_next(&chunked->split, &chunked->to, at, shape); i++) {
		struct buffer *buffer = &chunked->buffers[i % 2];

		if (!buffer->memory)
			rc = bi__pinned_piece_get(chunked->buffers[0].memory->context, &buffer->memory, err);
		bi__split_cut(&chunked->to, at, shape, &buffer->to);
		bi__split_cut(&chunked->from, at, shape, &from);
		if (!rc)
			rc = fill_buffer(chunked, buffer, &from, err);
		if (!rc)
			rc = empty_buffer(chunked, &chunked->buffers[(i + lag) % 2], err);
	}
	return rc ? rc : empty_buffer(chunked, &chunked->buffers[(i + 1) % 2], err);
}

/* Returns the caller's stream if it can execute the step that works on that memory, or NULL. */
static struct bi_stream *stream_for_step(struct bi_stream *stream, const struct bi_memory *memory)
{
	return stream && !bi__is_synchronous(memory) && bi__stream_reaches(stream, memory) ? stream : NULL;
}

int bi__job_copy_chunked(const struct bi__job *job, struct bi_context *context, struct bi_error *err)
{
	struct chunked chunked = { .job = job };
	int rc;

	chunked.first = stream_for_step(job->stream, job->src);
	chunked.second = stream_for_step(job->stream, job->dst);
	if (job->stream && !chunked.first && !chunked.second)
		return bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
				job->stream->context->device.info->spec);
	rc = bi__job_check_steps(job, err);
	if (!rc)
		make_nests(&chunked);
	if (!rc)
		rc = bi__pinned_piece_get(context, &chunked.buffers[0].memory, err);
	if (!rc)
		rc = copy_all_chunks(&chunked, err);
	for (int i = 0; i < 2; i++) {
		bi_view_release(chunked.buffers[i].bytes);
		bi__pinned_piece_give_back(chunked.buffers[i].memory);
	}
	return rc;
}
