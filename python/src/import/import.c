/* buffer_interface(): which protocol an object speaks, and what the caller wants of the array. */
#include <string.h>

#include "import/import.h"
#include "dense.h"
#include "errors.h"
#include "lifetime.h"
#include "names.h"
#include "object.h"
#include "streams.h"
#include "import/values.h"
#include "uses.h"

/* Arguments */

struct arguments {
	struct bip_request request;
	int copy;
};

static const struct arguments defaults = { { NULL, NULL, 1, -1, 0, 1, 0, BIP_ANY }, 0 };

static const struct {
	const char *name;
	bip_importer *importer;
} protocols[] = {
	[BIP_NATIVE] = { "native", bip_import_native },
	[BIP_DRAFT] = { "draft", bip_import_draft },
	[BIP_PYOPENCL] = { "pyopencl", bip_import_pyopencl },
	[BIP_CAI] = { "cuda_array_interface", bip_import_cai },
	[BIP_DLPACK] = { "dlpack", bip_import_dlpack },
	[BIP_BUFFER] = { "buffer", bip_import_buffer },
	[BIP_ARRAY_INTERFACE] = { "array_interface", bip_import_array_interface },
	[BIP_ARRAY_STRUCT] = { "array_struct", bip_import_array_struct },
};

#define PROTOCOLS ((int)Py_ARRAY_LENGTH(protocols))

static int read_protocol(PyObject *value, enum bip_protocol *out)
{
	if (value == Py_None)
		return 0;
	for (int i = BIP_NATIVE; i < PROTOCOLS; i++) {
		if (!PyUnicode_Check(value) || PyUnicode_CompareWithASCIIString(value, protocols[i].name))
			continue;
		*out = (enum bip_protocol)i;
		return 0;
	}
	PyErr_Format(PyExc_ValueError,
		     "protocol is %R, not one of 'native', 'draft', 'pyopencl', 'cuda_array_interface', 'dlpack', "
		     "'buffer', 'array_interface', 'array_struct'",
		     value);
	return -1;
}

static int read_mask(PyObject *value, int *keep)
{
	*keep = PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "keep") == 0;
	if (*keep || (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "refuse") == 0))
		return 0;
	PyErr_Format(PyExc_ValueError, "mask is %R, not 'refuse' or 'keep'", value);
	return -1;
}

/* None would count as false, which is not what anybody means by it. */
static int read_truth(const char *name, PyObject *value, int *out)
{
	if (value == Py_None) {
		PyErr_Format(PyExc_TypeError, "%s is None, not True or False", name);
		return -1;
	}
	*out = PyObject_IsTrue(value);
	return *out < 0 ? -1 : 0;
}

static int read_word(const char *name, PyObject *value, struct arguments *out)
{
	struct bip_request *request = &out->request;

	if (strcmp(name, "stream") == 0)
		request->stream = value == Py_None ? NULL : value;
	else if (strcmp(name, "producer_stream") == 0)
		request->producer_stream = value == Py_None ? NULL : value;
	else if (strcmp(name, "sync") == 0)
		return read_truth(name, value, &request->sync);
	else if (strcmp(name, "writable") == 0)
		return value == Py_None ? 0 : read_truth(name, value, &request->writable);
	else if (strcmp(name, "mask") == 0)
		return read_mask(value, &request->keep_mask);
	else if (strcmp(name, "check") == 0)
		return read_truth(name, value, &request->check);
	else if (strcmp(name, "trust") == 0)
		return read_truth(name, value, &request->trust);
	else if (strcmp(name, "protocol") == 0)
		return read_protocol(value, &request->protocol);
	else if (strcmp(name, "copy") == 0)
		return read_truth(name, value, &out->copy);
	else {
		PyErr_Format(PyExc_TypeError, "buffer_interface() has no argument '%s'", name);
		return -1;
	}
	return 0;
}

static int read_words(PyObject *const *values, PyObject *names, struct arguments *out)
{
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
		const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));

		if (!name || read_word(name, values[i], out))
			return -1;
	}
	if (out->request.sync || (!out->request.stream && !out->request.producer_stream))
		return 0;
	PyErr_SetString(PyExc_ValueError, "sync is False, so a stream and a producer_stream would not be waited for");
	return -1;
}

/* Which importer */

/* numpy.ndarray itself, kept for ever; NULL without exception if NumPy was not imported. */
static PyTypeObject *load_ndarray(void)
{
	PyObject *modules = PySys_GetObject("modules"), *numpy = NULL, *type = NULL;

	if (modules && !bip_item_of(modules, bip_name.numpy, &numpy) && numpy)
		bip_attribute(numpy, bip_name.ndarray, &type);
	Py_XDECREF(numpy);
	PyErr_Clear();
	if (type && PyType_Check(type))
		return (PyTypeObject *)type;
	Py_XDECREF(type);
	return NULL;
}

/* Asked for at the first object that has an ancestor of that name. */
static PyTypeObject *find_ndarray(PyTypeObject *type)
{
	static PyTypeObject *known;

	for (PyTypeObject *base = type; !known && base; base = base->tp_base)
		if (strcmp(base->tp_name, "numpy.ndarray") == 0)
			known = load_ndarray();
	return known;
}

/*
 * Host memory that speaks every protocol of it, some subclasses less truly than others: a masked array gives DLPack
 * away without its mask. bip_import_buffer knows them.
 */
static int is_ndarray(PyTypeObject *type)
{
	PyTypeObject *ndarray = find_ndarray(type);

	return ndarray && (type == ndarray || PyType_IsSubtype(type, ndarray));
}

static int try_all(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	static bip_importer *const first[] = { bip_import_native,         bip_import_pyopencl, bip_import_cai_or_dlpack,
					       bip_import_draft,          bip_import_buffer,   bip_import_array_struct,
					       bip_import_array_interface };
	int rc = 0;

	/* A memoryview has nothing else. */
	if (is_ndarray(Py_TYPE(object)) || PyMemoryView_Check(object))
		return bip_import_buffer(object, request, found);
	for (size_t i = 0; i < Py_ARRAY_LENGTH(first) && !rc; i++)
		rc = first[i](object, request, found);
	return rc;
}

static int find(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	enum bip_protocol protocol = request->protocol;
	int rc;

	if (PyType_Check(object)) {
		PyErr_Format(PyExc_TypeError, "a type was given, %.100s, not an object of it",
			     ((PyTypeObject *)object)->tp_name);
		return -1;
	}
	if (protocol && is_ndarray(Py_TYPE(object)) && bip_refuse_masked(object))
		return -1;
	rc = protocol ? protocols[protocol].importer(object, request, found) : try_all(object, request, found);
	if (rc == 0)
		PyErr_Format(PyExc_TypeError, "an object of type %.100s speaks no protocol of arrays%s%s%s",
			     Py_TYPE(object)->tp_name, protocol ? " named '" : "",
			     protocol ? protocols[protocol].name : "", protocol ? "'" : "");
	return rc == 1 ? 0 : -1;
}

/* What the caller wants of it */

/* The same with other flags; the view is taken. */
static int make_readonly(struct bi_view **view)
{
	struct bi_layout layout;
	struct bi_view *readonly;
	struct bi_error err;
	int rc;

	bi_view_layout(*view, &layout);
	rc = bi_view_create(bi_view_memory(*view), &layout, BI_VIEW_READONLY, &readonly, &err);
	if (rc) {
		bip_raise(rc, &err);
		return -1;
	}
	bi_view_release(*view); /* not the last of its memory */
	*view = readonly;
	return 0;
}

static int is_readonly(const struct bi_view *view)
{
	return (bi_view_flags(view) & BI_VIEW_READONLY) != 0;
}

/* A mask that is only read is no reason to refuse an array that is written. */
static int apply_writable(int writable, struct bip_found *found)
{
	if (writable == 1 && is_readonly(found->view)) {
		PyErr_SetString(bip_InvalidArrayError,
				"writable is True, but the producer says that the array is read-only");
		return -1;
	}
	if (writable == 0 && !is_readonly(found->view) && make_readonly(&found->view))
		return -1;
	return writable == 0 && found->mask && !is_readonly(found->mask) ? make_readonly(&found->mask) : 0;
}

/* A thread that waits for a device may have the lock of memory that is not idle. */
static int acquire(const struct bi_view *view, struct bi_stream *stream)
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
	if (rc)
		bip_raise(rc, &err);
	return rc ? -1 : 0;
}

/* `name` is that of the argument. */
static int check_no_stream(const char *name, PyObject *stream, const struct bi_view *view)
{
	if (!stream || !bi_memory_is_host(bi_view_memory(view)))
		return 0;
	PyErr_Format(PyExc_ValueError, "%s is given, but host memory has no streams", name);
	return -1;
}

static int apply_stream(PyObject *object, struct bip_object *self)
{
	struct bi_context *context = bi_memory_context(bi_view_memory(self->view));
	struct bi_stream *stream;

	if (bip_stream(object, context, &stream))
		return -1;
	if (acquire(self->view, stream)) {
		bi_stream_release(stream);
		return -1;
	}
	self->acquired = stream;
	return 0;
}

/* A producer who named no stream cannot know when his memory has been read, so that is waited for. */
static int finish_reading(const struct bi_view *view)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_synchronize(view, &err);
	Py_END_ALLOW_THREADS
	if (!rc)
		return 0;
	bip_raise(rc, &err);
	return -1;
}

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
	if (!stream && flags & BIP_WAIT_AT_EXIT)
		rc = finish_reading(*view);
	bip_release_view(*view);
	*view = copy;
	return rc;
}

static int replace_by_copy(struct bip_found *found, PyObject *stream)
{
	int rc = replace_view(&found->view, found->flags, stream);

	if (!rc && found->mask)
		rc = replace_view(&found->mask, found->flags, stream);
	found->flags = 0;
	return rc;
}

/* An array, or the mask of one. The view is taken, also on failure. */
static PyObject *make_one(struct bi_view *view, unsigned flags, const struct arguments *arguments)
{
	PyObject *self = bip_new(view);

	if (!self)
		return NULL;
	((struct bip_object *)self)->flags = flags | (arguments->request.sync ? 0 : BIP_UNORDERED);
	if (arguments->request.stream && apply_stream(arguments->request.stream, (struct bip_object *)self))
		Py_CLEAR(self);
	return self;
}

/* The views are taken, also on failure. */
static PyObject *make_object(struct bip_found *found, const struct arguments *arguments)
{
	PyObject *mask = NULL, *self;

	if (found->mask && !(mask = make_one(found->mask, found->flags, arguments))) {
		bip_release_view(found->view);
		return NULL;
	}
	self = make_one(found->view, found->flags, arguments);
	if (self)
		((struct bip_object *)self)->mask = mask;
	else
		Py_XDECREF(mask);
	return self;
}

static PyObject *import(PyObject *object, const struct arguments *arguments)
{
	struct bip_found found = { NULL, NULL, 0 };
	const struct bip_request *request = &arguments->request;

	if (find(object, request, &found))
		return NULL;
	if (check_no_stream("producer_stream", request->producer_stream, found.view) ||
	    check_no_stream("stream", request->stream, found.view) ||
	    (arguments->copy && replace_by_copy(&found, request->stream)) ||
	    (request->writable >= 0 && apply_writable(request->writable, &found))) {
		bip_release_view(found.view);
		bip_release_view(found.mask);
		return NULL;
	}
	return make_object(&found, arguments);
}

/* A memoryview, and a plain array of NumPy, of which nothing is asked, have one protocol and one result. */
static int import_plain(PyObject *object, struct bip_found *found)
{
	return PyMemoryView_Check(object) ? bip_import_memoryview(object, found) : bip_import_ndarray(object, found);
}

static PyObject *make_plain(const struct bip_found *found)
{
	PyObject *self = bip_new(found->view);

	if (self)
		((struct bip_object *)self)->flags = found->flags;
	return self;
}

PyObject *bip_buffer_interface(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct arguments arguments;
	struct bip_found found;
	int is_plain;

	(void)module;
	if (count != 1) {
		PyErr_Format(PyExc_TypeError, "buffer_interface() takes one array, and options by name; %zd are given",
			     count);
		return NULL;
	}
	is_plain = names ? 0 : import_plain(args[0], &found);
	if (is_plain)
		return is_plain > 0 ? make_plain(&found) : NULL;
	arguments = defaults;
	if (names && read_words(args + count, names, &arguments))
		return NULL;
	return import(args[0], &arguments);
}

PyObject *bip_as_object(PyObject *object)
{
	return BIP_CHECK(object) ? Py_NewRef(object) : import(object, &defaults);
}
