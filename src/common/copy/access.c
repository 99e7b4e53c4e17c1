/* Copies between arrays and the caller's bytes: whole arrays and single elements. */
#include "common/backend/dispatch.h"
#include "common/copy/copy.h"
#include "common/runtime/memory.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"

/* Makes the view's memory pending until the work on the stream has ended, which includes the copy of the bytes. */
static void order_after_access(const struct bi_view *view, struct bi_stream *stream)
{
	struct bi_memory *memory = view->memory;

	bi__order_lock(memory, NULL);
	bi__order_end_locked(memory, stream, NULL);
	bi__order_unlock(memory, NULL);
}

/*
 * Blocks the calling thread until the copy has ended, because the caller may free the bytes when the call returns. This
 * is also needed after a failure. If the driver cannot wait for the event of the copy, waits until its stream is empty.
 * If that fails as well, the work may still use the bytes, and bi_view_synchronize waits for it later. Returns `rc` if
 * it is a failure, else the status of the wait.
 */
static int finish_access(const struct bi_view *view, struct bi_memory *bytes, int rc, struct bi_error *err)
{
	struct bi_stream *stream = bytes->partner.stream;
	struct bi_error failure;
	int waited = bi__order_finish_borrowed(bytes, BI__WAIT_VALUE, &failure);

	if (waited && waited != BI_EPRODUCER && stream && bi__stream_finish(stream, &failure) == BI_OK)
		waited = BI_OK;
	if (!rc && !waited && bytes->partner.memory == view->memory)
		bi__order_note_completion(view->memory, bytes->partner.epoch);
	if (!waited)
		return rc;
	if (!stream || waited == BI_EPRODUCER || waited == BI_EFORK)
		return rc ? rc : bi__fail_vendor(err, waited, failure.vendor, "%s", failure.message);
	order_after_access(view, stream);
	return bi__fail_vendor(
		err, BI_EUNFINISHED, failure.vendor,
		"the device may still use the caller's bytes until bi_view_synchronize returns BI_OK: %s",
		failure.message);
}

static int read_into(const struct bi_view *view, void *bytes, size_t nbytes, const char *operation,
		     struct bi_error *err)
{
	struct bi_memory out;

	bi__memory_borrow(&out, view->memory->context, bytes, nbytes);
	return finish_access(view, &out, bi__copy_out(&out, view, operation, err), err);
}

static int check_bytes(const struct bi_view *view, const void *bytes, size_t nbytes, struct bi_error *err)
{
	size_t held;

	if (!view || (nbytes && !bytes))
		return bi__fail(err, BI_EINVAL, "view or bytes is NULL");
	held = view->dtype.item_size;
	for (int i = 0; i < view->ndim; i++)
		held *= (size_t)view->dims[i];
	if (nbytes != held)
		return bi__fail(err, BI_EBOUNDS, "nbytes is %zu, but the array holds %zu", nbytes, held);
	return BI_OK;
}

static int check_element(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err)
{
	if (!element)
		return bi__fail(err, BI_EINVAL, "element is NULL");
	if (!view || (view->ndim && !index))
		return bi__fail(err, BI_EINVAL, "view or index is NULL");
	return BI_OK;
}

int bi_view_get_element(const struct bi_view *view, const int64_t *index, void *element, struct bi_error *err)
{
	struct bi_memory out;
	int rc = check_element(view, index, element, err);

	if (rc)
		return rc;
	bi__memory_borrow(&out, view->memory->context, element, view->dtype.item_size);
	return finish_access(view, &out, bi__get_element(&out, view, index, err), err);
}

int bi_view_set_element(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err)
{
	int rc = check_element(view, index, element, err);

	return rc ? rc : bi__set_element(view, index, element, err);
}

int bi_view_read(const struct bi_view *view, void *bytes, size_t nbytes, struct bi_error *err)
{
	int rc = check_bytes(view, bytes, nbytes, err);

	return rc ? rc : read_into(view, bytes, nbytes, "read", err);
}

int bi_view_write(const struct bi_view *view, const void *bytes, size_t nbytes, struct bi_error *err)
{
	struct bi_memory in;
	int rc = check_bytes(view, bytes, nbytes, err);

	if (rc)
		return rc;
	bi__memory_borrow(&in, view->memory->context, (void *)(uintptr_t)bytes, nbytes);
	return finish_access(view, &in, bi__copy_in(view, &in, "write", err), err);
}
