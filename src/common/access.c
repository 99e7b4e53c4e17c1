/* Bytes of the caller: whole arrays and single elements, in and out. */
#include "common/copy.h"
#include "common/dispatch.h"
#include "common/order.h"
#include "common/view.h"

/* The element as an array without dimensions. */
static int view_element(const struct bi_view *view, const int64_t *index, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc;

	if (!view || (view->ndim && !index))
		return bi__fail(err, BI_EINVAL, "view or index is NULL");
	bi_view_layout(view, &layout);
	rc = bi_layout_element(&layout, index, &layout.offset, err);
	if (rc)
		return rc;
	layout.ndim = 0;
	layout.descr = NULL;
	return bi_view_with_layout(view, &layout, out, err);
}

/* A dense view of the caller's bytes with the type and shape of `like`. */
static int wrap_bytes(const struct bi_view *like, void *bytes, struct bi_view **out, struct bi_error *err)
{
	return bi_view_wrap_host(like->memory->context, bytes, like->dtype, like->ndim, bi_view_shape(like), NULL, NULL,
				 out, err);
}

/*
 * Waits, whatever happened, because the bytes are the caller's again afterwards. If the driver refuses to wait for the
 * work, the stream on which it ran is emptied.
 */
static int settle(const struct bi_view *view, struct bi_view *bytes, int rc, struct bi_error *err)
{
	struct bi_stream *home = view->memory->home;
	struct bi_error failure;
	int waited = bi__order_synchronize(bytes->memory, BI__WAIT_VALUE, &failure);

	if (waited && waited != BI_EPRODUCER && home && bi__dispatch_finish(home, NULL) == BI_OK)
		waited = BI_OK;
	if (!rc && !waited && bytes->memory->partner == view->memory)
		bi__order_note_end(view->memory, bytes->memory->partner_epoch);
	bi_view_release(bytes);
	if (rc || !waited)
		return rc;
	return bi__fail_vendor(err, waited, failure.vendor, "%s", failure.message);
}

static int read_into(const struct bi_view *view, void *bytes, const char *operation, struct bi_error *err)
{
	struct bi_view *out;
	int rc = wrap_bytes(view, bytes, &out, err);

	return rc ? rc : settle(view, out, bi__copy(out, view, NULL, operation, err), err);
}

static int check_bytes(const struct bi_view *view, const void *bytes, size_t nbytes, struct bi_error *err)
{
	struct bi_layout layout;

	if (!view || (nbytes && !bytes))
		return bi__fail(err, BI_EINVAL, "view or bytes is NULL");
	bi_view_layout(view, &layout);
	if (nbytes != (size_t)bi_layout_nbytes(&layout))
		return bi__fail(err, BI_EBOUNDS, "nbytes is %zu, but the array holds %lld", nbytes,
				(long long)bi_layout_nbytes(&layout));
	return BI_OK;
}

static int get_one(const struct bi_view *one, void *element, struct bi_error *err)
{
	return read_into(one, element, "get", err);
}

static int set_one(const struct bi_view *one, void *element, struct bi_error *err)
{
	return bi__fill(one, element, NULL, "set", err);
}

static int with_element(const struct bi_view *view, const int64_t *index, void *element,
			int (*act)(const struct bi_view *one, void *element, struct bi_error *err),
			struct bi_error *err)
{
	struct bi_view *one;
	int rc;

	if (!element)
		return bi__fail(err, BI_EINVAL, "element is NULL");
	rc = view_element(view, index, &one, err);
	if (rc)
		return rc;
	rc = act(one, element, err);
	bi_view_release(one);
	return rc;
}

int bi_view_get(const struct bi_view *view, const int64_t *index, void *element, struct bi_error *err)
{
	return with_element(view, index, element, get_one, err);
}

int bi_view_set(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err)
{
	return with_element(view, index, (void *)(uintptr_t)element, set_one, err);
}

int bi_view_read(const struct bi_view *view, void *bytes, size_t nbytes, struct bi_error *err)
{
	int rc = check_bytes(view, bytes, nbytes, err);

	return rc ? rc : read_into(view, bytes, "read", err);
}

int bi_view_write(const struct bi_view *view, const void *bytes, size_t nbytes, struct bi_error *err)
{
	struct bi_view *in;
	int rc = check_bytes(view, bytes, nbytes, err);

	if (!rc)
		rc = wrap_bytes(view, (void *)(uintptr_t)bytes, &in, err);
	return rc ? rc : settle(view, in, bi__copy(view, in, NULL, "write", err), err);
}
