#include "common/runtime/pinned_pieces.h"

#include <stdlib.h>

#include "common/backend/dispatch.h"
#include "common/runtime/memory.h"
#include "common/runtime/retire.h"
#include "common/runtime/order.h"
#include "common/runtime/pool.h"

/* A transfer uses two; as many are kept as two of them leave. */
#define KEPT 4

struct bi__pinned_piece {
	struct bi_context *context; /* retained only if `holds` */
	int holds;
	struct bi_memory *pinned; /* the context's; holds no reference to it */
	int is_mapped; /* by the driver, for as long as the piece lives */
	void *bytes;
	struct bi__pinned_piece *next;
};

/* Memory that only the driver's mapping makes the CPU's is mapped once and stays so. */
static int make_usable(struct bi__pinned_piece *piece, struct bi_error *err)
{
	piece->bytes = piece->pinned->block.host;
	piece->is_mapped = !piece->bytes;
	return piece->is_mapped ? bi__dispatch_lend(piece->pinned, &piece->bytes, err) : BI_OK;
}

static int make(struct bi_context *context, struct bi__pinned_piece **out, struct bi_error *err)
{
	struct bi__pinned_piece *piece = calloc(1, sizeof(*piece));
	int rc;

	if (!piece)
		return bi__fail(err, BI_ENOMEM, "no memory for a piece of pinned memory");
	piece->context = context;
	rc = bi__memory_new(context, BI__STAGING_BYTES, BI_MEMORY_PINNED, &piece->pinned, err);
	if (!rc) {
		rc = make_usable(piece, err);
		/* The caller has a reference to the context, so this is not the last. */
		piece->pinned->context = NULL;
		bi_context_release(context);
		/* Not to the pool: nobody knows what has become of the mapping. */
		if (rc)
			bi__memory_destroy_when_done(context, piece->pinned);
	}
	if (rc) {
		free(piece);
		return rc;
	}
	*out = piece;
	return BI_OK;
}

static void destroy(struct bi__pinned_piece *piece)
{
	if (piece->is_mapped) {
		piece->pinned->context = piece->context;
		bi__dispatch_unmap(piece->pinned, piece->bytes, NULL);
		piece->pinned->context = NULL;
	}
	bi__memory_destroy_when_done(piece->context, piece->pinned);
	free(piece);
}

static struct bi__pinned_piece *pop(struct bi_context *context)
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

/* 0 if enough are kept. */
static int push(struct bi_context *context, struct bi__pinned_piece *piece)
{
	int is_kept;

	pthread_mutex_lock(&context->pool.lock);
	is_kept = context->pieces.count < KEPT;
	if (is_kept) {
		piece->next = context->pieces.first;
		context->pieces.first = piece;
		context->pieces.count++;
	}
	pthread_mutex_unlock(&context->pool.lock);
	return is_kept;
}

/* Nothing uses the piece any more. In a forked child it is the parent's. */
static void come_back(void *data)
{
	struct bi__pinned_piece *piece = data;
	struct bi_context *context = piece->context;
	int holds = piece->holds;

	if (bi__dispatch_alive(context, NULL))
		return;
	piece->holds = 0;
	if (!push(context, piece))
		destroy(piece);
	if (holds)
		bi_context_release(context);
}

/* To make one is dear, so all that may have come back is looked at first. A driver without memory gets the pool's. */
static int make_patiently(struct bi_context *context, struct bi__pinned_piece **out, struct bi_error *err)
{
	struct bi_error first;
	int rc;

	bi__memory_reap(context, BI__REAP_ALL);
	*out = pop(context);
	if (*out)
		return BI_OK;
	rc = make(context, out, &first);
	if (rc == BI_OK)
		return BI_OK;
	if (rc != BI_ENOMEM)
		return bi__fail_vendor(err, rc, first.vendor, "%s", first.message);
	bi__memory_trim_pool(context, 0);
	return make(context, out, err);
}

int bi__staging_take(struct bi_context *context, struct bi_memory **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi__pinned_piece *piece;
	int rc = BI_OK;

	*out = NULL;
	bi__memory_reap(context, BI__REAP_SOME);
	piece = pop(context);
	if (!piece)
		rc = make_patiently(context, &piece, err);
	if (rc)
		return rc;
	foreign.handle = (uintptr_t)piece->bytes;
	foreign.nbytes = BI__STAGING_BYTES;
	foreign.release = come_back;
	foreign.release_data = piece;
	rc = bi_memory_wrap(context, &foreign, out, err);
	if (rc)
		come_back(piece);
	return rc;
}

void bi__staging_give(struct bi_memory *memory)
{
	struct bi_context *worker;
	struct bi__pinned_piece *piece;

	if (!memory)
		return;
	piece = memory->release_data;
	worker = bi__order_keep_last_use(memory, piece->context);
	/* It will be the worker's to keep until the work is done, and the piece is this context's. */
	if (worker && worker != piece->context &&
	    (worker->device.backend != piece->context->device.backend ||
	     bi__order_synchronize(memory, BI__WAIT_CROSS, NULL))) {
		bi_context_retain(piece->context);
		piece->holds = 1;
	}
	bi_memory_release(memory);
}

void bi__staging_trim(struct bi_context *context)
{
	struct bi__pinned_piece *piece;

	while ((piece = pop(context)))
		destroy(piece);
}
