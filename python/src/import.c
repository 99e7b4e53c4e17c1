/* buffer_interface(): which protocol an object speaks, and what the caller wants of the array. */
#include <string.h>

#include "extension.h"
#include "producer.h"

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

static int read_truth(PyObject *value, int *out)
{
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
		return read_truth(value, &request->sync);
	else if (strcmp(name, "writable") == 0)
		return value == Py_None ? 0 : read_truth(value, &request->writable);
	else if (strcmp(name, "mask") == 0)
		return read_mask(value, &request->keep_mask);
	else if (strcmp(name, "check") == 0)
		return read_truth(value, &request->check);
	else if (strcmp(name, "trust") == 0)
		return read_truth(value, &request->trust);
	else if (strcmp(name, "protocol") == 0)
		return read_protocol(value, &request->protocol);
	else if (strcmp(name, "copy") == 0)
		return read_truth(value, &out->copy);
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

/* The dictionary is asked for once: before DLPack if it names a stream, behind it otherwise. */
static int try_devices(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	PyObject *dict = NULL;
	int rc = bip_import_cai_with_stream(object, request, found, &dict);

	if (!rc)
		rc = bip_import_dlpack(object, request, found);
	if (!rc && dict)
		rc = bip_import_cai_dict(object, dict, request, found);
	Py_XDECREF(dict);
	return rc;
}

static int try_all(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	static bip_importer *const first[] = { bip_import_native,         bip_import_pyopencl, try_devices,
					       bip_import_draft,          bip_import_buffer,   bip_import_array_struct,
					       bip_import_array_interface };
	int rc = 0;

	if (is_ndarray(Py_TYPE(object)))
		return bip_import_buffer(object, request, found);
	for (size_t i = 0; i < Py_ARRAY_LENGTH(first) && !rc; i++)
		rc = first[i](object, request, found);
	return rc;
}

static int find(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	enum bip_protocol protocol = request->protocol;
	int rc;

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
	bi_view_release(*view);
	*view = readonly;
	return 0;
}

static int apply_writable(int writable, struct bi_view **view)
{
	int is_readonly = (bi_view_flags(*view) & BI_VIEW_READONLY) != 0;

	if (writable == 1 && is_readonly) {
		PyErr_SetString(bip_InvalidArrayError,
				"writable is True, but the producer says that the array is read-only");
		return -1;
	}
	return writable == 0 && !is_readonly ? make_readonly(view) : 0;
}

static int apply_stream(const struct arguments *arguments, struct bip_object *self)
{
	struct bi_context *context = bi_memory_context(bi_view_memory(self->view));
	struct bi_stream *stream;
	struct bi_error err;
	int rc;

	if (bi_memory_is_host(bi_view_memory(self->view))) {
		PyErr_SetString(PyExc_ValueError, "stream is given, but host memory has no streams");
		return -1;
	}
	if (bip_stream(arguments->request.stream, context, &stream))
		return -1;
	rc = bi_view_acquire(self->view, stream, &err);
	if (rc) {
		bi_stream_release(stream);
		bip_raise(rc, &err);
		return -1;
	}
	self->acquired = stream;
	return 0;
}

/* A producer who named no stream cannot know when his memory has been read, so that is waited for. */
static int finish_reading(const struct bip_found *found)
{
	struct bi_error err;
	int rc;

	if (!(found->flags & BIP_WAIT_AT_EXIT))
		return 0;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_synchronize(found->view, &err);
	Py_END_ALLOW_THREADS
	if (!rc)
		return 0;
	bip_raise(rc, &err);
	return -1;
}

static int replace_by_copy(struct bip_found *found, PyObject *stream)
{
	struct bi_stream *on = NULL;
	struct bi_view *copy;
	int rc = bip_stream(stream, bi_memory_context(bi_view_memory(found->view)), &on);

	if (!rc)
		rc = bip_copy_view(found->view, on, &copy);
	bi_stream_release(on);
	if (rc)
		return -1;
	if (!stream)
		rc = finish_reading(found);
	bi_view_release(found->view);
	found->view = copy;
	found->flags = 0;
	return rc;
}

/* The views are taken, also on failure. */
static PyObject *make_object(struct bip_found *found, const struct arguments *arguments)
{
	PyObject *mask = NULL, *self;

	if (found->mask && !(mask = bip_new(found->mask))) {
		bi_view_release(found->view);
		return NULL;
	}
	self = bip_new(found->view);
	if (!self) {
		Py_XDECREF(mask);
		return NULL;
	}
	((struct bip_object *)self)->mask = mask;
	((struct bip_object *)self)->flags = found->flags | (arguments->request.sync ? 0 : BIP_UNORDERED);
	if (arguments->request.stream && apply_stream(arguments, (struct bip_object *)self))
		Py_CLEAR(self);
	return self;
}

/* With an exception set, which a deleter that is written in Python would trip over. */
static void drop_found(struct bip_found *found)
{
	struct bip_raised raised = bip_put_aside();

	bi_view_release(found->view);
	bi_view_release(found->mask);
	bip_put_back(raised);
}

static PyObject *import(PyObject *object, const struct arguments *arguments)
{
	struct bip_found found = { NULL, NULL, 0 };
	int rc = find(object, &arguments->request, &found);

	if (rc)
		return NULL;
	if (arguments->copy)
		rc = replace_by_copy(&found, arguments->request.stream);
	if (!rc && arguments->request.writable >= 0)
		rc = apply_writable(arguments->request.writable, &found.view);
	if (rc) {
		drop_found(&found);
		return NULL;
	}
	return make_object(&found, arguments);
}

PyObject *bip_buffer_interface(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct arguments arguments = defaults;

	(void)module;
	if (count != 1) {
		PyErr_Format(PyExc_TypeError, "buffer_interface() takes one array, and options by name; %zd are given",
			     count);
		return NULL;
	}
	if (names && read_words(args + count, names, &arguments))
		return NULL;
	return import(args[0], &arguments);
}

PyObject *bip_as_object(PyObject *object)
{
	return BIP_CHECK(object) ? Py_NewRef(object) : import(object, &defaults);
}
