/* buffer_interface(): reads the arguments, and applies them to the imported array. */
#include "import/import.h"
#include "dense.h"
#include "lifetime.h"
#include "object.h"
#include "streams.h"
#include "uses.h"
#include "base/arguments.h"
#include "base/errors.h"
#include "import/order.h"

/* Arguments */

struct arguments {
	struct bip_request request;
	int copy;
};

static const struct arguments defaults = { { NULL, NULL, 1, -1, 0, 1, 0, NULL, 0, 0 }, 0 };

static int read_mask(PyObject *value, int *keep)
{
	*keep = PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "keep") == 0;
	if (*keep || (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "refuse") == 0))
		return 0;
	return bip_refuse(PyExc_ValueError, "mask is %R, not 'refuse' or 'keep'", bip_printable(value));
}

/* The options, in the order of their names below. */
enum { STREAM, PRODUCER_STREAM, SYNC, WRITABLE, MASK, CHECK, TRUST, PROTOCOL, COPY, OPTIONS };

static const struct bip_signature signature = { "buffer_interface",
						0,
						0,
						{ "stream", "producer_stream", "sync", "writable", "mask", "check",
						  "trust", "protocol", "copy", NULL } };

static PyObject *unless_none(PyObject *value)
{
	return value == Py_None ? NULL : value;
}

static int read_options(PyObject *const *words, PyObject *names, struct arguments *out)
{
	struct bip_request *request = &out->request;
	PyObject *values[OPTIONS];

	if (bip_arguments(&signature, words, 0, names, values) || bip_truth("sync", values[SYNC], &request->sync) ||
	    bip_truth("writable", unless_none(values[WRITABLE]), &request->writable) ||
	    (values[MASK] && read_mask(values[MASK], &request->keep_mask)) ||
	    bip_truth("check", values[CHECK], &request->check) ||
	    bip_truth("trust", values[TRUST], &request->trust) ||
	    (values[PROTOCOL] && bip_read_protocol(values[PROTOCOL], &request->protocol)) ||
	    bip_truth("copy", values[COPY], &out->copy))
		return -1;
	request->stream = unless_none(values[STREAM]);
	request->producer_stream = unless_none(values[PRODUCER_STREAM]);
	if (request->sync || (!request->stream && !request->producer_stream))
		return 0;
	return bip_refuse(PyExc_ValueError,
			  "stream and producer_stream need sync=True: with sync=False nothing waits for them");
}

/* Applying the arguments to the imported array */

int bip_make_readonly(struct bi_view **view)
{
	struct bi_layout layout;
	struct bi_view *readonly;
	struct bi_error err;
	int rc;

	bi_view_layout(*view, &layout);
	rc = bi_view_create(bi_view_memory(*view), &layout, BI_VIEW_READONLY, &readonly, &err);
	if (rc)
		return bip_check(rc, &err, bip_raise);
	bi_view_release(*view); /* not the last reference to the memory: the new view has one */
	*view = readonly;
	return 0;
}

static int is_readonly(const struct bi_view *view)
{
	return (bi_view_flags(view) & BI_VIEW_READONLY) != 0;
}

/*
 * Applies the argument `writable`. True refuses a read-only array; its mask may be read-only. False makes the array and
 * the mask read-only.
 */
static int apply_writable(int writable, struct bip_found *found)
{
	if (writable == 1 && is_readonly(found->view))
		return bip_refuse(bip_InvalidArrayError, "writable is True, but the array is read-only");
	if (writable == 0)
		found->flags &= ~(unsigned)BIP_PRESUMED_READONLY;
	if (writable == 0 && !is_readonly(found->view) && bip_make_readonly(&found->view))
		return -1;
	return writable == 0 && found->mask && !is_readonly(found->mask) ? bip_make_readonly(&found->mask) : 0;
}

/*
 * Makes the stream wait for the work on the memory. Drops the GIL if work is pending, because another thread that waits
 * for a device may hold the lock of the memory.
 */
static int acquire_view(const struct bi_view *view, struct bi_stream *stream)
{
	struct bi_error err;
	int rc;

	if (bi_view_is_idle(view))
		rc = bip_begin_use(view, stream, &err);
	else {
		Py_BEGIN_ALLOW_THREADS
		rc = bip_begin_use(view, stream, &err);
		Py_END_ALLOW_THREADS
	}
	return bip_check(rc, &err, bip_raise);
}

/* Raises ValueError if a stream is given for host memory. `name` is the name of the argument. */
static int check_no_stream(const char *name, PyObject *stream, const struct bi_view *view)
{
	if (!stream || !bi_memory_is_host(bi_view_memory(view)))
		return 0;
	return bip_refuse(PyExc_ValueError, "%s is given, but host memory has no streams: omit it", name);
}

static int apply_stream(PyObject *object, struct bip_object *self)
{
	struct bi_context *context = bi_memory_context(bi_view_memory(self->view));
	struct bi_stream *stream;

	if (bip_stream(object, context, &stream))
		return -1;
	if (acquire_view(self->view, stream)) {
		bi_stream_release(stream);
		return -1;
	}
	self->acquired = stream;
	return 0;
}

/* Replaces *view by a dense copy. */
static int replace_view(struct bi_view **view, unsigned flags, PyObject *stream)
{
	struct bi_stream *on = NULL;
	struct bi_view *copy;
	int rc = bip_stream(stream, bi_memory_context(bi_view_memory(*view)), &on);

	if (!rc)
		rc = bip_copy_view(*view, on, &copy);
	bi_stream_release(on);
	if (rc)
		return -1;
	/* Waits for the copy, because later work of a producer that named no stream does not wait for it. */
	if (!stream && flags & BIP_WAIT_AT_EXIT)
		rc = bip_wait_for(*view, 0);
	bip_release_view(*view);
	*view = copy;
	return rc;
}

static int replace_by_copy(struct bip_found *found, PyObject *stream)
{
	int rc = replace_view(&found->view, found->flags, stream);

	if (!rc && found->mask)
		rc = replace_view(&found->mask, found->flags, stream);
	found->flags = BIP_COPIED;
	return rc;
}

/* Makes a BufferInterface of the array or of its mask. Takes ownership of the view, also on failure. */
static PyObject *make_object(struct bi_view *view, unsigned flags, const struct arguments *arguments)
{
	PyObject *self = bip_new(view);

	if (!self)
		return NULL;
	((struct bip_object *)self)->flags = flags | (arguments->request.sync ? 0 : BIP_UNORDERED);
	if (arguments->request.stream && apply_stream(arguments->request.stream, (struct bip_object *)self))
		Py_CLEAR(self);
	return self;
}

/* Makes the BufferInterface of the array with its mask. Takes ownership of both views, also on failure. */
static PyObject *make_with_mask(struct bip_found *found, const struct arguments *arguments)
{
	PyObject *mask = NULL, *self;

	if (found->mask && !(mask = make_object(found->mask, found->flags, arguments))) {
		bip_release_view(found->view);
		return NULL;
	}
	self = make_object(found->view, found->flags, arguments);
	if (self)
		((struct bip_object *)self)->mask = mask;
	else
		Py_XDECREF(mask);
	return self;
}

static PyObject *import_object(PyObject *object, const struct arguments *arguments)
{
	struct bip_found found = { NULL, NULL, 0 };
	const struct bip_request *request = &arguments->request;

	if (bip_find_array(object, request, &found) ||
	    check_no_stream("producer_stream", request->producer_stream, found.view) ||
	    check_no_stream("stream", request->stream, found.view) ||
	    (arguments->copy && replace_by_copy(&found, request->stream)) ||
	    (request->writable >= 0 && apply_writable(request->writable, &found))) {
		bip_release_view(found.view);
		bip_release_view(found.mask);
		return NULL;
	}
	return make_with_mask(&found, arguments);
}

PyObject *bip_buffer_interface(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct arguments arguments;

	if (count != 1)
		return PyErr_Format(PyExc_TypeError,
				    "buffer_interface() takes one array, and options by name; %zd are given", count);
	if (!names)
		return import_object(args[0], &defaults);
	arguments = defaults;
	return read_options(args + count, names, &arguments) ? NULL : import_object(args[0], &arguments);
}

PyObject *bip_as_object(PyObject *object)
{
	return BIP_CHECK(object) ? Py_NewRef(object) : import_object(object, &defaults);
}
