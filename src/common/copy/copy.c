/* Copies, fills, reads and writes: checks the arguments and starts a job. */
#include "common/copy/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/base/status.h"
#include "common/runtime/memory.h"
#include "common/runtime/order.h"
#include "common/view/view.h"

static int check_destination(const struct bi_view *view, struct bi_error *err)
{
	struct bi_layout layout;

	if (view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "the destination is read-only: write to a copy of it");
	/* The elements of a contiguous array share no bytes. */
	if (view->traits & (BI__TRAIT_C_CONTIGUOUS | BI__TRAIT_F_CONTIGUOUS))
		return BI_OK;
	bi__view_get_layout(view, &layout);
	if (bi_layout_self_overlap(&layout))
		return bi__fail(err, BI_EOVERLAP, "two elements of the destination share bytes: write to a copy of it");
	return BI_OK;
}

/*
 * Sets all members except for the layouts, the plan and the item, and checks that this process can use the memories.
 * `src` may be NULL. An initialiser would clear the layouts and the plan as well.
 */
static inline int start_job(struct bi__job *job, const char *operation, struct bi_memory *dst, struct bi_memory *src,
			    struct bi_error *err)
{
	int rc = bi__dispatch_check_reach(dst->backend, &dst->context->device, err);

	job->operation = operation;
	job->dst = dst;
	job->src = src;
	job->stream = NULL;
	return rc || !src ? rc : bi__dispatch_check_reach(src->backend, &src->context->device, err);
}

/* Returns true if there are no elements, or only elements of 0 bytes. */
static int holds_nothing(const struct bi_view *view)
{
	return view->is_empty || !view->dtype.item_size;
}

int bi_copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, struct bi_error *err)
{
	struct bi__job job;
	int rc;

	if (!dst || !src)
		return bi__fail(err, BI_EINVAL, "dst or src is NULL");
	bi__view_get_layout(dst, &job.to);
	bi__view_get_layout(src, &job.from);
	rc = bi__plan_check(&job.to, &job.from, err);
	if (!rc)
		rc = check_destination(dst, err);
	if (!rc)
		rc = start_job(&job, "copy", dst->memory, src->memory, err);
	if (rc || holds_nothing(dst))
		return rc;
	job.stream = stream;
	/* Both layouts get one type: only the item size matters for a copy, but bi_layout_equal compares the types. */
	job.from.dtype = job.to.dtype;
	return bi__job_run(&job, err);
}

static int lies_in(const struct bi_memory *memory, const void *item, size_t nbytes)
{
	uintptr_t start = (uintptr_t)memory->block.host, at = (uintptr_t)item;

	return start && at < start + memory->nbytes && start < at + nbytes;
}

/* Enqueues the fill with the caller's item. An item inside the memory is copied first, because the fill changes it. */
static int enqueue_item(struct bi__job *job, const void *item, struct bi_error *err)
{
	size_t nbytes = job->to.dtype.item_size;
	void *copy;
	int rc;

	job->element = item;
	if (!lies_in(job->dst, item, nbytes))
		return bi__job_enqueue(job, err);
	copy = malloc(nbytes);
	if (!copy)
		return bi__fail(err, BI_ENOMEM, "no memory for an item of %zu bytes", nbytes);
	memcpy(copy, item, nbytes);
	job->element = copy;
	rc = bi__job_enqueue(job, err);
	free(copy);
	return rc;
}

int bi_fill(const struct bi_view *view, const void *element, struct bi_stream *stream, struct bi_error *err)
{
	struct bi__job job;
	int rc;

	if (!view || !element)
		return bi__fail(err, BI_EINVAL, "view or element is NULL");
	rc = check_destination(view, err);
	if (!rc)
		rc = start_job(&job, "fill", view->memory, NULL, err);
	if (rc || holds_nothing(view))
		return rc;
	bi__view_get_layout(view, &job.to);
	bi__plan_make(&job.plan, &job.to, NULL);
	job.stream = stream;
	return enqueue_item(&job, element, err);
}

/*
 * Copies between arrays and the caller's bytes: a whole array, whose bytes are in C order, or one element. The bytes
 * are borrowed memory (memory.h) during the call. bi_view_set_element is a fill and borrows nothing.
 */

/*
 * Makes the view's memory pending until the work on the stream has ended, which includes the copy of the bytes. Memory
 * under row 26 of docs/ordering.md does not become pending: the caller waits for the stream.
 */
static void order_after_access(const struct bi_view *view, struct bi_stream *stream)
{
	struct bi_memory *memory = view->memory;

	bi__order_lock(memory, NULL);
	bi__order_end_locked(memory, stream, NULL);
	bi__order_unlock(memory, NULL);
}

/* Bytes of the caller that one call reads or writes. */
struct access {
	const struct bi_view *view;
	struct bi_memory bytes;
	struct bi__scope scope;
};

static void begin_access(struct access *access, const struct bi_view *view, const void *bytes, size_t nbytes)
{
	struct bi_context *context = view->memory->context;

	access->view = view;
	bi__memory_borrow(&access->bytes, context, (void *)(uintptr_t)bytes, nbytes);
	bi__dispatch_begin(&access->scope, &context->device);
}

/*
 * Blocks the calling thread until the copy has ended, because the caller may free the bytes when the call returns. A
 * copy that failed may have enqueued work too. If the wait fails and work may still use the bytes, the result is
 * BI_EUNFINISHED, whatever `rc` is. Otherwise the result is `rc` if that is a failure, else the status of the wait.
 */
static int finish_access(struct access *access, int rc, struct bi_error *err)
{
	const struct bi_view *view = access->view;
	struct bi_memory *bytes = &access->bytes;
	struct bi_stream *stream = bytes->partner.stream;
	struct bi_error failure;
	int waited = bi__order_finish_borrowed(bytes, &failure);

	bi__dispatch_end(&access->scope);
	if (!rc && !waited && bytes->partner.memory == view->memory)
		bi__order_note_completion(view->memory, bytes->partner.epoch, false);
	if (!waited)
		return rc;
	if (!stream || waited == BI_EPRODUCER || waited == BI_EFORK)
		return rc ? rc : bi__fail_vendor(err, waited, failure.vendor, "%s", failure.message);
	order_after_access(view, stream);
	return bi__fail_vendor(err, BI_EUNFINISHED, failure.vendor,
			       "the device may still use the caller's bytes until %s returns BI_OK: %s",
			       view->memory->flags & BI_WRAP_UNORDERED ? "bi_stream_synchronize of the context stream"
								       : "bi_view_synchronize",
			       failure.message);
}

static int check_bytes(const struct bi_view *view, const void *bytes, size_t nbytes, struct bi_error *err)
{
	uint64_t held;

	if (!view || (nbytes && !bytes))
		return bi__fail(err, BI_EINVAL, "view or bytes is NULL");
	held = view->dtype.item_size;
	for (int i = 0; i < view->ndim; i++)
		held *= (uint64_t)view->dims[i];
	if (nbytes != held)
		return bi__fail(err, BI_EBOUNDS, "nbytes is %zu, but the array holds %" PRIu64, nbytes, held);
	return BI_OK;
}

/*
 * Returns 1 if the view is dense in C order and its memory is an object without address. Then a copy to or from the
 * caller's bytes is direct and linear. The library looks for no overlap, because an object has no address to compare.
 */
static int is_contiguous_object(const struct bi_view *view)
{
	return view->memory->backend->exported[view->memory->block.memory].form == BI__FORM_OBJECT &&
	       view->traits & BI__TRAIT_C_CONTIGUOUS;
}

/*
 * Copies the caller's bytes to the array, or (`writes` is 0) the array to the bytes. Inlined, because bi_view_write and
 * bi_view_read are often called for a few bytes.
 */
static inline __attribute__((always_inline)) int transfer_array(const struct bi_view *view, struct bi_memory *bytes,
								int writes, struct bi_error *err)
{
	struct bi__job job;
	struct bi_layout *of_view = writes ? &job.to : &job.from, *of_bytes = writes ? &job.from : &job.to;
	int rc = writes ? check_destination(view, err) : BI_OK;

	if (!rc)
		rc = writes ? start_job(&job, "write", view->memory, bytes, err)
			    : start_job(&job, "read", bytes, view->memory, err);
	if (rc || !bytes->nbytes)
		return rc;
	if (is_contiguous_object(view)) {
		bi__plan_bytes(&job.plan, writes ? view->offset : 0, writes ? 0 : view->offset, bytes->nbytes);
		return bi__job_enqueue(&job, err);
	}
	bi__view_get_layout(view, of_view);
	rc = bi_layout_init(of_bytes, view->dtype, view->ndim, view->dims, NULL, 0, err);
	return rc ? rc : bi__job_run(&job, err);
}

static inline __attribute__((always_inline)) int transfer_one(const struct bi_view *view, const void *bytes,
							      size_t nbytes, int writes, struct bi_error *err)
{
	struct access access;
	int rc = check_bytes(view, bytes, nbytes, err);

	if (rc)
		return rc;
	begin_access(&access, view, bytes, nbytes);
	return finish_access(&access, transfer_array(view, &access.bytes, writes, err), err);
}

int bi_view_read(const struct bi_view *view, void *bytes, size_t nbytes, struct bi_error *err)
{
	return transfer_one(view, bytes, nbytes, 0, err);
}

int bi_view_write(const struct bi_view *view, const void *bytes, size_t nbytes, struct bi_error *err)
{
	return transfer_one(view, bytes, nbytes, 1, err);
}

#define MOST_TRANSFERS 32

/* Enqueues the transfers one after the other, and waits for them in the opposite order, because scopes nest. */
static int transfer_few(const struct bi_transfer *transfers, size_t count, int writes, struct bi_error *err)
{
	struct access accesses[MOST_TRANSFERS];
	size_t begun = 0;
	int rc = BI_OK;

	for (; begun < count && !rc; begun++) {
		const struct bi_transfer *next = &transfers[begun];

		begin_access(&accesses[begun], next->view, next->bytes, next->nbytes);
		rc = transfer_array(next->view, &accesses[begun].bytes, writes, err);
	}
	while (begun)
		rc = finish_access(&accesses[--begun], rc, err);
	return rc;
}

static int transfer_all(const struct bi_transfer *transfers, size_t count, int writes, struct bi_error *err)
{
	struct bi_error wrong;
	int rc = count && !transfers ? bi__fail(err, BI_EINVAL, "transfers is NULL") : BI_OK;

	for (size_t i = 0; i < count && !rc; i++) {
		rc = check_bytes(transfers[i].view, transfers[i].bytes, transfers[i].nbytes, &wrong);
		if (!rc && writes)
			rc = check_destination(transfers[i].view, &wrong);
		if (rc)
			bi__fail(err, rc, "transfers[%zu]: %s", i, wrong.message);
	}
	for (size_t i = 0; i < count && !rc; i += MOST_TRANSFERS)
		rc = transfer_few(transfers + i, count - i < MOST_TRANSFERS ? count - i : MOST_TRANSFERS, writes, err);
	return rc;
}

int bi_views_read(const struct bi_transfer *transfers, size_t count, struct bi_error *err)
{
	return transfer_all(transfers, count, 0, err);
}

int bi_views_write(const struct bi_transfer *transfers, size_t count, struct bi_error *err)
{
	return transfer_all(transfers, count, 1, err);
}

static int check_element(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err)
{
	if (!element)
		return bi__fail(err, BI_EINVAL, "element is NULL");
	if (!view || (view->ndim && !index))
		return bi__fail(err, BI_EINVAL, "view or index is NULL");
	return BI_OK;
}

/* Makes the layout of one element: an array without dimensions. */
static void lay_out_one(struct bi_layout *layout, struct bi_dtype dtype, int64_t offset)
{
	layout->dtype = dtype;
	layout->ndim = 0;
	layout->descr_length = 0;
	layout->descr = NULL;
	layout->offset = offset;
}

static int lay_out_element(struct bi_layout *layout, const struct bi_view *view, const int64_t *index,
			   struct bi_error *err)
{
	int64_t offset;
	int rc;

	bi__view_get_layout(view, layout);
	rc = bi_layout_element(layout, index, &offset, err);
	if (!rc)
		lay_out_one(layout, view->dtype, offset);
	return rc;
}

static int get_element(struct bi_memory *bytes, const struct bi_view *view, const int64_t *index, struct bi_error *err)
{
	struct bi__job job;
	int rc = lay_out_element(&job.from, view, index, err);

	if (!rc)
		rc = start_job(&job, "get", bytes, view->memory, err);
	if (rc || !bytes->nbytes)
		return rc;
	lay_out_one(&job.to, view->dtype, 0);
	return bi__job_run(&job, err);
}

int bi_view_get_element(const struct bi_view *view, const int64_t *index, void *element, struct bi_error *err)
{
	struct access access;
	int rc = check_element(view, index, element, err);

	if (rc)
		return rc;
	begin_access(&access, view, element, view->dtype.item_size);
	return finish_access(&access, get_element(&access.bytes, view, index, err), err);
}

int bi_view_set_element(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err)
{
	struct bi__job job;
	int rc = check_element(view, index, element, err);

	if (!rc)
		rc = lay_out_element(&job.to, view, index, err);
	if (!rc)
		rc = start_job(&job, "set", view->memory, NULL, err);
	if (!rc && view->flags & BI_VIEW_READONLY)
		rc = bi__fail(err, BI_EREADONLY, "the destination is read-only: write to a copy of it");
	if (rc || !view->dtype.item_size)
		return rc;
	bi__plan_make(&job.plan, &job.to, NULL);
	return enqueue_item(&job, element, err);
}
