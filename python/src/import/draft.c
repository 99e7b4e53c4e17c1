/*
 * Objects with the attributes of the specification's first draft: buffer, offset, shape, strides, and dtype or typestr
 *
 * `buffer` is an object with int_ptr, which is a cl_mem, or an object that int() accepts: a CUDA pointer, or a host
 * address if the attribute `backend` says so. An int is not accepted as a cl_mem, because it cannot be checked, and a
 * wrong number crashes the driver.
 */
#include <string.h>

#include "contexts.h"
#include "object.h"
#include "streams.h"
#include "base/backends.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/import.h"
#include "import/values.h"

/* The attributes and their contents. Objects are owned; an object may be NULL. */
struct draft {
	PyObject *buffer, *offset, *shape, *strides, *typestr, *dtype;
	const char *backend; /* text of the attribute `backend`, or NULL */
	enum bi_handle_kind kind;
	uint64_t handle;
	int64_t byte_offset;
	struct bi_layout layout;
	PyObject *descr;
};

static void release_draft(struct draft *draft)
{
	Py_XDECREF(draft->buffer);
	Py_XDECREF(draft->offset);
	Py_XDECREF(draft->shape);
	Py_XDECREF(draft->strides);
	Py_XDECREF(draft->typestr);
	Py_XDECREF(draft->dtype);
	Py_XDECREF(draft->descr);
}

static const char *find_missing(const struct draft *draft)
{
	if (!draft->offset)
		return "offset";
	if (!draft->shape)
		return "shape";
	if (!draft->strides)
		return "strides";
	return draft->typestr || draft->dtype ? NULL : "typestr or dtype";
}

/*
 * Returns 1 if no attribute is missing. If one is missing, returns -1 with an exception if protocol= names this
 * protocol, and 0 otherwise: objects of other protocols may have an attribute `buffer` too.
 */
static int check_complete(PyObject *object, const struct draft *draft, int is_named)
{
	const char *missing = find_missing(draft);

	if (!missing)
		return 1;
	if (!is_named)
		return 0;
	PyErr_Format(PyExc_TypeError,
		     "an object of type %.100s does not speak the protocol 'draft': it has a buffer, but no %s",
		     Py_TYPE(object)->tp_name, missing);
	return -1;
}

/* Reads the attributes. Returns 1, 0 or -1 as check_complete does. */
static int read_attributes(PyObject *object, int is_named, struct draft *out)
{
	if (bip_attribute(object, bip_name.buffer, &out->buffer) || !out->buffer)
		return PyErr_Occurred() ? -1 : 0;
	if (bip_attribute(object, bip_name.offset, &out->offset) ||
	    bip_attribute(object, bip_name.shape, &out->shape) ||
	    bip_attribute(object, bip_name.strides, &out->strides) ||
	    bip_attribute(object, bip_name.typestr, &out->typestr) ||
	    (!out->typestr && bip_attribute(object, bip_name.dtype, &out->dtype)))
		return -1;
	return check_complete(object, out, is_named);
}

/* Reads an optional attribute. *out is NULL if the attribute is missing or None. */
static int get_optional(PyObject *object, PyObject *name, PyObject **out)
{
	if (bip_attribute(object, name, out))
		return -1;
	if (*out == Py_None)
		Py_CLEAR(*out);
	return 0;
}

/*
 * If the exception says that NumPy cannot name the element type, clears it and returns 1. Otherwise returns 0. Beside a
 * typestr a missing name is no error.
 */
static int clear_unnamed_type(void)
{
	if (!PyErr_ExceptionMatches(PyExc_ImportError) && !PyErr_ExceptionMatches(PyExc_TypeError))
		return 0;
	PyErr_Clear();
	return 1;
}

/* Checks that typestr and dtype agree. A typestr of void elements agrees with any dtype of the same size. */
static int check_same(struct bi_dtype said, struct bi_dtype named, PyObject *typestr, PyObject *dtype)
{
	if (bi_dtype_equal(said, named) || (said.type == BI_VOID && said.item_size == named.item_size))
		return 0;
	PyErr_Format(bip_InvalidArrayError, "typestr is %R, but dtype is %R", typestr, dtype);
	return -1;
}

/* Reads typestr and dtype. The typestr is enough for simple types; a dtype beside it must agree. */
static int read_both(PyObject *object, struct draft *draft, struct bi_dtype *out)
{
	struct bi_dtype named;

	if (bip_dtype_from(draft->typestr, out))
		return -1;
	if (get_optional(object, bip_name.dtype, &draft->dtype))
		return clear_unnamed_type() ? 0 : -1;
	if (!draft->dtype)
		return 0;
	if (bip_dtype_from_with_descr(draft->dtype, &named, &draft->descr))
		return clear_unnamed_type() ? 0 : -1;
	if (check_same(*out, named, draft->typestr, draft->dtype))
		return -1;
	*out = named;
	return 0;
}

static int read_descr(PyObject *object, struct draft *draft, struct bi_dtype dtype)
{
	char text[BI_DTYPE_TEXT];
	PyObject *list;
	int rc;

	if (get_optional(object, bip_name.descr, &list) || !list)
		return PyErr_Occurred() ? -1 : 0;
	if (bi_dtype_typestr(dtype, text, NULL))
		bi_dtype_name(dtype, text);
	rc = bip_descr_for(list, text, " [C13]", &draft->descr);
	Py_DECREF(list);
	return rc;
}

static int read_type(PyObject *object, struct draft *draft, struct bi_dtype *out)
{
	int rc = draft->typestr ? read_both(object, draft, out)
				: bip_dtype_from_with_descr(draft->dtype, out, &draft->descr);

	return rc || draft->descr ? rc : read_descr(object, draft, *out);
}

static int read_layout(PyObject *object, struct draft *draft)
{
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	int has_strides = draft->strides != Py_None, ndim;
	struct bi_dtype dtype;

	if (bip_numbers(draft->shape, "shape", "", shape, &ndim) ||
	    (has_strides && bip_strides(draft->strides, ndim, "", strides)) ||
	    bip_number(draft->offset, "offset", "", &draft->byte_offset) || read_type(object, draft, &dtype))
		return -1;
	return bip_layout(&draft->layout, dtype, draft->descr, ndim, shape, has_strides ? strides : NULL);
}

static int find_backend(PyObject *name, struct draft *out)
{
	struct bi_backend backend;
	const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

	if (text && bip_backend_named(text, strlen(text), &backend)) {
		out->backend = backend.name;
		out->kind = backend.handle;
		return 0;
	}
	PyErr_Clear();
	PyErr_Format(bip_InvalidArrayError, "backend is %R, not 'opencl', 'cuda' or 'host'", name);
	return -1;
}

/* Reads the attribute `backend`. If it is missing, an address is a CUDA pointer. */
static int read_backend(PyObject *object, struct draft *out)
{
	PyObject *name;
	int rc;

	out->kind = BI_HANDLE_CUDA;
	if (get_optional(object, bip_name.backend, &name) || !name)
		return PyErr_Occurred() ? -1 : 0;
	rc = find_backend(name, out);
	Py_DECREF(name);
	return rc;
}

static int read_address(struct draft *draft)
{
	PyObject *number;
	int rc;

	if (draft->kind == BI_HANDLE_CL_MEM) {
		PyErr_Format(PyExc_TypeError,
			     "buffer is of type %.100s, which has no int_ptr: a number is not accepted as a cl_mem",
			     Py_TYPE(draft->buffer)->tp_name);
		return -1;
	}
	if (draft->byte_offset) {
		PyErr_Format(bip_InvalidArrayError,
			     "offset is %lld, not 0: only a cl_mem has one, an address is that of element [0, ..., 0]",
			     (long long)draft->byte_offset);
		return -1;
	}
	number = PyNumber_Long(draft->buffer);
	rc = number ? bip_address(number, "buffer", "", &draft->handle) : -1;
	Py_XDECREF(number);
	return rc;
}

static int read_memory_object(PyObject *int_ptr, struct draft *draft)
{
	if (draft->backend && draft->kind != BI_HANDLE_CL_MEM) {
		PyErr_Format(bip_InvalidArrayError, "backend is '%s', but buffer has int_ptr, so it is a cl_mem",
			     draft->backend);
		return -1;
	}
	draft->kind = BI_HANDLE_CL_MEM;
	return bip_address(int_ptr, "buffer.int_ptr", "", &draft->handle);
}

static int read_buffer(PyObject *object, struct draft *draft)
{
	PyObject *int_ptr;
	int rc;

	if (read_backend(object, draft) || bip_attribute(draft->buffer, bip_name.int_ptr, &int_ptr))
		return -1;
	rc = int_ptr ? read_memory_object(int_ptr, draft) : read_address(draft);
	Py_XDECREF(int_ptr);
	return rc;
}

static int refuse_mask(PyObject *object)
{
	PyObject *mask;

	if (get_optional(object, bip_name.mask, &mask))
		return -1;
	if (!mask)
		return 0;
	Py_DECREF(mask);
	PyErr_SetString(bip_UnsupportedError,
			"the array is masked, and this protocol does not import masks, not even with mask='keep' [C3]");
	return -1;
}

static int read_flags(PyObject *object, const struct bip_request *request, unsigned *out)
{
	PyObject *readonly;
	int is_readonly = 0;

	if (get_optional(object, bip_name.readonly, &readonly))
		return -1;
	if (readonly)
		is_readonly = PyObject_IsTrue(readonly);
	Py_XDECREF(readonly);
	if (is_readonly < 0)
		return -1;
	*out = (is_readonly ? BI_WRAP_READONLY : 0) | (request->sync ? 0 : BI_WRAP_UNORDERED) |
	       (request->check ? 0 : BI_WRAP_UNCHECKED);
	return 0;
}

/* Wraps a number as a command queue. It is accepted only with trust=True, because a number cannot be checked. */
static int trust_queue(PyObject *number, int trust, struct bi_context *context, struct bi_stream **out)
{
	struct bi_error err;
	uint64_t queue;
	int rc;

	if (!trust) {
		PyErr_Format(PyExc_TypeError,
			     "stream is %R, a number: a command queue is an object with int_ptr, or with trust=True a "
			     "number",
			     number);
		return -1;
	}
	if (bip_address(number, "stream", "", &queue))
		return -1;
	rc = bi_stream_wrap(context, (uintptr_t)queue, NULL, NULL, out, &err);
	if (rc)
		bip_raise_import(rc, &err);
	return rc ? -1 : 0;
}

/*
 * Checks the number that the producer gives as a stream. A wrong number raises InvalidArrayError; as an argument of the
 * caller it would raise ValueError.
 */
static int check_number(PyObject *stream)
{
	int64_t number;

	if (!PyLong_Check(stream))
		return 0;
	if (bip_number(stream, "stream", " [C6]", &number))
		return -1;
	if (number > 0)
		return 0;
	PyErr_Format(bip_InvalidArrayError, "stream is %lld, not 1, 2 or a handle [C6]", (long long)number);
	return -1;
}

static int own_stream(PyObject *stream, enum bi_handle_kind kind, int trust, struct bi_context *context,
		      struct bi_stream **out)
{
	if (kind == BI_HANDLE_CL_MEM && PyLong_Check(stream))
		return trust_queue(stream, trust, context, out);
	return check_number(stream) ? -1 : bip_stream(stream, context, out);
}

/* Sets *out to the stream that the caller names, else to the stream that the producer names, else to NULL. */
static int find_stream(PyObject *object, enum bi_handle_kind kind, const struct bip_request *request,
		       struct bi_context *context, struct bi_stream **out)
{
	PyObject *stream;
	int rc;

	*out = NULL;
	if (!request->sync)
		return 0;
	if (request->producer_stream)
		return bip_stream_named("producer_stream", request->producer_stream, context, out);
	if (get_optional(object, bip_name.stream, &stream) || !stream)
		return PyErr_Occurred() ? -1 : 0;
	rc = own_stream(stream, kind, request->trust, context, out);
	Py_DECREF(stream);
	return rc;
}

static int import_on(PyObject *object, struct draft *draft, const struct bip_request *request,
		     struct bi_context *context, struct bip_found *found)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	int rc;

	foreign.kind = draft->kind;
	foreign.handle = (uintptr_t)draft->handle;
	if (draft->kind == BI_HANDLE_CL_MEM)
		draft->layout.offset = draft->byte_offset;
	if (read_flags(object, request, &foreign.flags) ||
	    find_stream(object, draft->kind, request, context, &foreign.stream))
		return -1;
	if (!foreign.stream && draft->kind != BI_HANDLE_HOST)
		found->flags |= BIP_WAIT_AT_EXIT;
	rc = bip_wrap(context, &foreign, draft->handle, &draft->layout, object, &found->view);
	bi_stream_release(foreign.stream);
	return rc;
}

/* Imports an array without elements into new memory. Its address is not used, because it may be invalid. */
static int import_empty(struct draft *draft, struct bi_context *context, struct bip_found *found)
{
	struct bi_memory *memory;
	struct bi_error err;
	int rc = bi_memory_create(context, 0, BI_MEMORY_DEFAULT, &memory, &err);

	if (!rc) {
		rc = bi_view_create(memory, &draft->layout, 0, &found->view, &err);
		bi_memory_release(memory);
	}
	if (rc)
		bip_raise_import(rc, &err);
	return rc ? -1 : 0;
}

/* A number without the attribute `backend` is a CUDA pointer. The message says so, because it may be meant otherwise.
 */
static int find_context_of_number(const struct draft *draft, struct bi_context **out)
{
	PyObject *text;

	if (bip_context_of_memory(draft->kind, (uintptr_t)draft->handle, out) == 0)
		return 0;
	if (!PyErr_ExceptionMatches(bip_DriverError) && !PyErr_ExceptionMatches(bip_InvalidArrayError))
		return -1;
	text = bip_take_message();
	if (text)
		PyErr_Format(bip_InvalidArrayError,
			     "buffer is a number, which is a CUDA pointer: %U. A cl_mem is an object with int_ptr, and "
			     "host memory has backend = 'host'",
			     text);
	Py_XDECREF(text);
	return -1;
}

/* Finds the context of the memory. For an array without elements the driver is not queried for the address. */
static int find_context(const struct draft *draft, int is_empty, struct bi_context **out)
{
	if (draft->kind == BI_HANDLE_HOST || (is_empty && !draft->handle && draft->kind == BI_HANDLE_CL_MEM))
		return bip_context_host(out);
	if (is_empty && draft->kind == BI_HANDLE_CUDA)
		return bip_context_cuda(0, out);
	if (draft->handle)
		return draft->backend || draft->kind != BI_HANDLE_CUDA
			       ? bip_context_of_memory(draft->kind, (uintptr_t)draft->handle, out)
			       : find_context_of_number(draft, out);
	PyErr_SetString(bip_InvalidArrayError, "buffer is 0, but the array has elements");
	return -1;
}

static int import_read(PyObject *object, struct draft *draft, const struct bip_request *request,
		       struct bip_found *found)
{
	int is_empty = bi_layout_size(&draft->layout) == 0, rc;
	struct bi_context *context;

	if (find_context(draft, is_empty, &context))
		return -1;
	if (is_empty && (draft->kind == BI_HANDLE_CUDA || !draft->handle))
		rc = import_empty(draft, context, found);
	else
		rc = import_on(object, draft, request, context, found);
	bip_release_context(context);
	return rc;
}

int bip_import_draft(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	struct draft draft = { 0 };
	int rc = read_attributes(object, request->protocol != NULL, &draft);

	if (rc == 1 && (read_layout(object, &draft) || read_buffer(object, &draft) || refuse_mask(object) ||
			import_read(object, &draft, request, found)))
		rc = -1;
	release_draft(&draft);
	return rc;
}
