#include "common/across.h"

#include "common/copy.h"
#include "common/dispatch.h"
#include "common/order.h"
#include "common/stream.h"

/* Bytes of one step: enough to hide what starting it costs. */
#define STEP ((size_t)4 << 20)

/* One piece of pinned memory under two names: as memory of its context, and as host memory for the other device. */
struct piece {
	struct bi_view *filled; /* what the first leg writes */
	struct bi_view *emptied; /* what the second leg reads */
	size_t at, nbytes; /* of the step under way; 0 bytes: none */
};

/* A copy in steps. */
struct across {
	const struct bi_view *dst, *src;
	const struct bi__plan *plan;
	struct bi_stream *first, *second; /* of the legs, or NULL */
	const char *operation;
	struct piece pieces[2];
};

struct bi_context *bi__across_staging(struct bi_context *a, struct bi_context *b)
{
	if (!a->backend->map)
		return a;
	return b->backend->map ? NULL : b;
}

/* nbytes of a memory from `start` on, as an array. */
static int view_bytes(struct bi_memory *memory, int64_t start, size_t nbytes, struct bi_view **out,
		      struct bi_error *err)
{
	const int64_t shape[1] = { (int64_t)nbytes };
	struct bi_layout layout;
	struct bi_dtype byte;
	int rc = bi_dtype_make(BI_UINT8, 1, 0, &byte, err);

	if (!rc)
		rc = bi_layout_init(&layout, byte, 1, shape, NULL, start, err);
	return rc ? rc : bi_view_create(memory, &layout, 0, out, err);
}

static void release_pinned(void *data)
{
	bi_memory_release(data);
}

/* The alias keeps the pinned memory, so that it lives until both devices are done. */
static int alias_pinned(struct bi_context *context, struct bi_memory *pinned, struct bi_memory **out,
			struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	int rc;

	foreign.handle = (uintptr_t)pinned->block.host;
	foreign.nbytes = pinned->nbytes;
	foreign.release = release_pinned;
	foreign.release_data = pinned;
	rc = bi_memory_wrap(context, &foreign, out, err);
	if (!rc)
		bi_memory_retain(pinned);
	return rc;
}

static int open_piece(struct across *across, struct piece *piece, struct bi_context *staging, size_t nbytes,
		      struct bi_error *err)
{
	int staging_fills = across->src->memory->context == staging;
	struct bi_context *other = staging_fills ? across->dst->memory->context : across->src->memory->context;
	struct bi_memory *pinned, *alias = NULL;
	int rc = bi_memory_create(staging, nbytes, BI_MEMORY_PINNED, &pinned, err);

	if (rc)
		return rc;
	rc = alias_pinned(other, pinned, &alias, err);
	if (!rc)
		rc = view_bytes(staging_fills ? pinned : alias, 0, nbytes, &piece->filled, err);
	if (!rc)
		rc = view_bytes(staging_fills ? alias : pinned, 0, nbytes, &piece->emptied, err);
	bi_memory_release(alias);
	bi_memory_release(pinned);
	return rc;
}

/* One leg: part of a piece, from or to part of an array. */
static int move(const struct across *across, struct bi_view *whole, struct bi_memory *memory, int64_t start, int fills,
		size_t nbytes, struct bi_error *err)
{
	struct bi_view *part = NULL, *there = NULL;
	int rc = view_bytes(whole->memory, 0, nbytes, &part, err);

	if (!rc)
		rc = view_bytes(memory, start, nbytes, &there, err);
	if (!rc && fills)
		rc = bi__copy(part, there, across->first, across->operation, err);
	else if (!rc)
		rc = bi__copy(there, part, across->second, across->operation, err);
	bi_view_release(there);
	bi_view_release(part);
	return rc;
}

/* Empties the piece for the last step, then enqueues the first leg of this one. */
static int fill(const struct across *across, struct piece *piece, size_t at, size_t nbytes, struct bi_error *err)
{
	int rc = bi__order_synchronize(piece->emptied->memory, BI__WAIT_CROSS, err);

	piece->at = at;
	piece->nbytes = nbytes;
	return rc ? rc
		  : move(across, piece->filled, across->src->memory, across->plan->src_offset + (int64_t)at, 1, nbytes,
			 err);
}

/* Waits for the first leg and enqueues the second. */
static int empty(const struct across *across, struct piece *piece, struct bi_error *err)
{
	int rc;

	if (!piece->nbytes)
		return BI_OK;
	rc = bi__order_synchronize(piece->filled->memory, BI__WAIT_CROSS, err);
	if (!rc)
		rc = move(across, piece->emptied, across->dst->memory, across->plan->dst_offset + (int64_t)piece->at, 0,
			  piece->nbytes, err);
	piece->nbytes = 0;
	return rc;
}

static int run(struct across *across, struct bi_error *err)
{
	size_t total = across->plan->unit, i = 0;
	int rc = BI_OK;

	for (size_t at = 0; at < total && !rc; at += STEP, i++) {
		rc = fill(across, &across->pieces[i % 2], at, total - at < STEP ? total - at : STEP, err);
		if (!rc)
			rc = empty(across, &across->pieces[(i + 1) % 2], err);
	}
	return rc ? rc : empty(across, &across->pieces[(i + 1) % 2], err);
}

static void close_piece(struct piece *piece)
{
	bi_view_release(piece->emptied);
	bi_view_release(piece->filled);
}

/* The caller's stream for the leg that works on that memory, if it can. */
static struct bi_stream *stream_for(struct bi_stream *stream, const struct bi_view *view)
{
	return stream && bi__stream_reaches(stream, view->memory) ? stream : NULL;
}

int bi__across_copy(struct bi_context *staging, const struct bi_view *dst, const struct bi_view *src,
		    const struct bi__plan *plan, struct bi_stream *stream, const char *operation, struct bi_error *err)
{
	struct across across = { .dst = dst, .src = src, .plan = plan, .operation = operation };
	size_t nbytes = plan->unit < STEP ? plan->unit : STEP;
	int rc = BI_OK;

	across.first = stream_for(stream, src);
	across.second = stream_for(stream, dst);
	if (stream && !across.first && !across.second)
		return bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
				stream->context->device.spec);
	rc = open_piece(&across, &across.pieces[0], staging, nbytes, err);
	if (!rc && plan->unit > STEP)
		rc = open_piece(&across, &across.pieces[1], staging, nbytes, err);
	if (!rc)
		rc = run(&across, err);
	close_piece(&across.pieces[0]);
	close_piece(&across.pieces[1]);
	return rc;
}
