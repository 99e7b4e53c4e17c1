/*
 * Copies in pieces through pinned memory: strided bytes between the host and a device that moves only dense ones, and
 * any bytes between two devices that can neither wait for each other nor read each other's memory. Each piece goes in
 * two legs, which are copies like any other: what is strided on a device is packed there.
 */
#include "common/copy/job.h"

#include <string.h>

#include "common/backend/dispatch.h"
#include "common/copy/copy.h"
#include "common/plan/split.h"
#include "common/runtime/order.h"
#include "common/runtime/pinned_pieces.h"
#include "common/runtime/stream.h"

/* A piece of pinned memory and the box that is in it. */
struct piece {
	struct bi_memory *memory;
	struct bi_view *bytes; /* the box, dense; NULL: nothing is in it */
	struct bi_layout to; /* where the box goes */
};

struct transfer {
	const struct bi__job *job;
	struct bi_layout to, from; /* of the same shape, in the order in which the device lies */
	struct bi__split split;
	struct bi_stream *first, *second; /* of the legs, or NULL */
	struct piece pieces[2];
};

/* Does some axis of a device's array stand still? Then the order of the other side is as good. */
static int stands_still(const struct bi_layout *layout)
{
	for (int i = 0; i < layout->ndim; i++)
		if (layout->shape[i] > 1 && layout->strides[i] == 0)
			return 1;
	return 0;
}

/* The nest of a plan as a layout: one more axis for the items of a unit. There is room: 62 axes of two fill all
 * addresses. */
static void lay_out(struct bi_layout *out, const struct bi__plan *plan, int64_t offset, const int64_t *strides,
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

/* Boxes are cut so that they are dense, or nearly, where the device lies. */
static void make_nests(struct transfer *transfer)
{
	const struct bi__job *job = transfer->job;
	int by_source = bi__is_cpu_addressable(job->dst) && !stands_still(&job->from);
	struct bi_dtype item = { .item_size = job->to.dtype.item_size, .lanes = 1, .type = BI_VOID };
	struct bi__plan plan = job->plan;

	if (by_source)
		bi__plan_make(&plan, &job->from, &job->to);
	if (item.item_size > BI__PINNED_PIECE_BYTES)
		item.item_size = 1;
	lay_out(&transfer->to, &plan, by_source ? plan.src_offset : plan.dst_offset,
		by_source ? plan.src_strides : plan.dst_strides, item);
	lay_out(&transfer->from, &plan, by_source ? plan.dst_offset : plan.src_offset,
		by_source ? plan.dst_strides : plan.src_strides, item);
	bi__split_start(&transfer->split, &transfer->to, (int64_t)BI__PINNED_PIECE_BYTES);
}

/* A box of the source comes into the piece, when what was in it has gone. */
static int fill(struct transfer *transfer, struct piece *piece, const struct bi_layout *from, struct bi_error *err)
{
	const struct bi__job *job = transfer->job;
	struct bi_layout dense;
	struct bi_view *there = NULL;
	int rc = bi__order_synchronize(piece->memory, BI__WAIT_CROSS, err);

	if (!rc)
		rc = bi_layout_init(&dense, from->dtype, from->ndim, from->shape, NULL, 0, err);
	if (!rc)
		rc = bi_view_create(piece->memory, &dense, 0, &piece->bytes, err);
	if (!rc)
		rc = bi_view_create(job->src, from, BI_VIEW_READONLY, &there, err);
	if (!rc)
		rc = bi__copy(piece->bytes, there, transfer->first, job->operation, err);
	bi_view_release(there);
	return rc;
}

/* The box goes to the destination, when it has come. */
static int empty(struct transfer *transfer, struct piece *piece, struct bi_error *err)
{
	const struct bi__job *job = transfer->job;
	struct bi_view *there = NULL;
	int rc;

	if (!piece->bytes)
		return BI_OK;
	rc = bi__order_synchronize(piece->memory, BI__WAIT_CROSS, err);
	if (!rc)
		rc = bi_view_create(job->dst, &piece->to, 0, &there, err);
	if (!rc)
		rc = bi__copy(there, piece->bytes, transfer->second, job->operation, err);
	bi_view_release(there);
	bi_view_release(piece->bytes);
	piece->bytes = NULL;
	return rc;
}

/*
 * What a device fetches is emptied one piece later, while it fetches the next. What the host packs is there when the
 * call returns and goes at once, while the host packs the next.
 */
static int run(struct transfer *transfer, struct bi_error *err)
{
	int lag = !bi__is_synchronous(transfer->job->src), i = 0, rc = BI_OK;
	int64_t at[BI_MAX_NDIM], shape[BI_MAX_NDIM];
	struct bi_layout from;

	for (; !rc && bi__split_next(&transfer->split, &transfer->to, at, shape); i++) {
		struct piece *piece = &transfer->pieces[i % 2];

		if (!piece->memory)
			rc = bi__pinned_piece_get(transfer->pieces[0].memory->context, &piece->memory, err);
		bi__split_cut(&transfer->to, at, shape, &piece->to);
		bi__split_cut(&transfer->from, at, shape, &from);
		if (!rc)
			rc = fill(transfer, piece, &from, err);
		if (!rc)
			rc = empty(transfer, &transfer->pieces[(i + lag) % 2], err);
	}
	return rc ? rc : empty(transfer, &transfer->pieces[(i + 1) % 2], err);
}

/* The caller's stream for the leg that works on that memory, if it can. */
static struct bi_stream *stream_for(struct bi_stream *stream, const struct bi_memory *memory)
{
	return stream && !bi__is_synchronous(memory) && bi__stream_reaches(stream, memory) ? stream : NULL;
}

int bi__job_transfer(const struct bi__job *job, struct bi_context *context, struct bi_error *err)
{
	struct transfer transfer = { .job = job };
	int rc;

	transfer.first = stream_for(job->stream, job->src);
	transfer.second = stream_for(job->stream, job->dst);
	if (job->stream && !transfer.first && !transfer.second)
		return bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
				job->stream->context->device.info->spec);
	rc = bi__job_check_steps(job, err);
	if (!rc)
		make_nests(&transfer);
	if (!rc)
		rc = bi__pinned_piece_get(context, &transfer.pieces[0].memory, err);
	if (!rc)
		rc = run(&transfer, err);
	for (int i = 0; i < 2; i++) {
		bi_view_release(transfer.pieces[i].bytes);
		bi__pinned_piece_give_back(transfer.pieces[i].memory);
	}
	return rc;
}
