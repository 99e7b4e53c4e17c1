#include "common/runtime/pinned_pieces.h"

#include <stdlib.h>

#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/memory.h"
#include "common/runtime/order.h"
#include "common/runtime/retire.h"

/* A chunked copy uses two pieces, so the pieces of two copies are kept. */
#define MOST_FREE_PIECES 4

struct bi__pinned_piece {
	struct bi_context *context; /* retained only if holds_context */
	int holds_context;
	struct bi_memory *pinned; /* holds no reference to the context */
	void *bytes; /* address for the CPU: pinned->block.host, or a mapping that ends with the piece */
	struct bi__pinned_piece *next; /* in the list of free pieces */
};

static int wait_for_mapping(struct bi__pinned_piece *piece, struct bi__queue *queue, uintptr_t event,
			    struct bi_error *err)
{
	struct bi__device *device = &piece->context->device;
	const struct bi__fence fence = { piece->context, event };
	int rc = bi__fence_block(&fence, BI__WAIT_STAGING, err);

	if (rc)
		bi__dispatch_unmap(device, queue, &piece->pinned->block, piece->bytes, NULL);
	bi__dispatch_event_release(device, event);
	return rc;
}

/* Maps the memory of a new piece. The mapping is enqueued on a queue of its own, so it waits for no other work. */
static int map_piece(struct bi__pinned_piece *piece, struct bi_error *err)
{
	struct bi__device *device = &piece->context->device;
	const struct bi__range all = { &piece->pinned->block, 0, piece->pinned->nbytes, BI_MAP_READ | BI_MAP_WRITE };
	struct bi__queue queue = { .native = 0 };
	uintptr_t event;
	int rc = bi__dispatch_stream_open(device, &queue, err);

	if (rc)
		return rc;
	rc = bi__dispatch_map(device, &queue, &all, &piece->bytes, &event, err);
	if (!rc)
		rc = wait_for_mapping(piece, &queue, event, err);
	bi__dispatch_stream_close(device, &queue);
	return rc;
}

/* Allocates the memory of a piece. If the CPU can use the memory only while it is mapped, maps it once. */
static int allocate_piece(struct bi__pinned_piece *piece, struct bi_error *err)
{
	struct bi_context *context = piece->context;
	int rc = bi__memory_new(context, BI__PINNED_PIECE_BYTES, BI_MEMORY_PINNED, 0, &piece->pinned, err);

	if (rc)
		return rc;
	piece->bytes = piece->pinned->block.host;
	if (!piece->bytes)
		rc = map_piece(piece, err);
	/* The context owns the piece. This release does not close the context, because the caller has a reference. */
	piece->pinned->context = NULL;
	bi_context_release(context);
	/* The memory does not go to the pool, because the state of its mapping is unknown. */
	if (rc)
		bi__memory_destroy_when_done(context, piece->pinned);
	return rc;
}

static int create_piece(struct bi_context *context, struct bi__pinned_piece **out, struct bi_error *err)
{
	struct bi__pinned_piece *piece = calloc(1, sizeof(*piece));
	int rc;

	if (!piece)
		return bi__fail(err, BI_ENOMEM, "no memory for a piece of pinned memory");
	piece->context = context;
	rc = allocate_piece(piece, err);
	if (rc)
		free(piece);
	else
		*out = piece;
	return rc;
}

static void destroy_piece(struct bi__pinned_piece *piece)
{
	struct bi_context *context = piece->context;

	if (piece->bytes != piece->pinned->block.host)
		bi__dispatch_unmap(&context->device, &context->stream.queue, &piece->pinned->block, piece->bytes, NULL);
	bi__memory_destroy_when_done(context, piece->pinned);
	free(piece);
}

static struct bi__pinned_piece *pop_free_piece(struct bi_context *context)
{
	struct bi__pinned_piece *piece;

	pthread_mutex_lock(&context->pool.lock);
	piece = context->pieces.first;
	if (piece) {
		context->pieces.first = piece->next;
		context->pieces.count--;
	}
	pthread_mutex_unlock(&context->pool.lock);
	return piece;
}

/* Returns 0 if there are enough free pieces. */
static int push_free_piece(struct bi_context *context, struct bi__pinned_piece *piece)
{
	int is_pushed;

	pthread_mutex_lock(&context->pool.lock);
	is_pushed = context->pieces.count < MOST_FREE_PIECES;
	if (is_pushed) {
		piece->next = context->pieces.first;
		context->pieces.first = piece;
		context->pieces.count++;
	}
	pthread_mutex_unlock(&context->pool.lock);
	return is_pushed;
}

/* Release callback of the memory that bi__pinned_piece_get returns. No work uses the piece any more. */
static void return_piece(void *data)
{
	struct bi__pinned_piece *piece = data;
	struct bi_context *context = piece->context;
	int holds_context = piece->holds_context;

	if (!bi__dispatch_is_alive(&context->device))
		return;
	piece->holds_context = 0;
	if (!push_free_piece(context, piece))
		destroy_piece(piece);
	if (holds_context)
		bi_context_release(context);
}

int bi__pinned_piece_get(struct bi_context *context, struct bi_memory **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi__pinned_piece *piece;
	struct bi_error failure;
	int rc = BI_OK;

	*out = NULL;
	piece = pop_free_piece(context);
	if (!piece) {
		bi__memory_reap(context, BI__REAP_ALL); /* this may free a piece; making one takes longer */
		piece = pop_free_piece(context);
	}
	if (!piece)
		rc = create_piece(context, &piece, &failure);
	if (rc == BI_ENOMEM) {
		bi__memory_trim_pool(context, 0);
		rc = create_piece(context, &piece, &failure);
	}
	if (rc)
		return bi__fail_vendor(err, rc, failure.vendor, "%s", failure.message);
	foreign.handle = (uintptr_t)piece->bytes;
	foreign.nbytes = BI__PINNED_PIECE_BYTES;
	foreign.release = return_piece;
	foreign.release_data = piece;
	rc = bi_memory_wrap(context, &foreign, out, err);
	if (rc)
		return_piece(piece);
	return rc;
}

void bi__pinned_piece_give_back(struct bi_memory *memory)
{
	struct bi_context *worker;
	struct bi__pinned_piece *piece;

	if (!memory)
		return;
	piece = memory->release.data;
	worker = bi__order_move_last_use(memory, piece->context);
	/* `worker` is the context whose work uses the piece. It retires `memory`. piece->context owns the piece. */
	if (worker && worker != piece->context &&
	    (worker->device.backend != piece->context->device.backend ||
	     bi__order_synchronize(memory, BI__WAIT_CROSS, NULL))) {
		bi_context_retain(piece->context);
		piece->holds_context = 1;
	}
	bi_memory_release(memory);
}

void bi__pinned_pieces_trim(struct bi_context *context)
{
	struct bi__pinned_piece *piece;

	while ((piece = pop_free_piece(context)))
		destroy_piece(piece);
}
