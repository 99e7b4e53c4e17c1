/*
 * Objects with the attributes of the specification's first draft: buffer, offset, shape, strides, dtype or typestr
 *
 * `buffer` is an object with int_ptr (a cl_mem) or one that int() takes (a CUDA pointer; a host address where `backend`
 * says so). An int is never taken for a cl_mem: nothing could tell if it is one, and the driver crashes if not.
 */
#include "import_values.h"

/* What the attributes say. All objects owned, or NULL. */
struct draft {
	PyObject *buffer, *offset, *shape, *strides, *typestr, *dtype;
	enum bi_handle_kind kind;
	uint64_t handle;
	int64_t byte_offset;
	struct bi_layout layout;
	PyObject *descr;
};

static void forget(struct draft *draft)
{
	Py_XDECREF(draft->buffer);
	Py_XDECREF(draft->offset);
	Py_XDECREF(draft->shape);
	Py_XDECREF(draft->strides);
	Py_XDECREF(draft->typestr);
	Py_XDECREF(draft->dtype);
	Py_XDECREF(draft->descr);
}

/* 1 if all are there. Other things have a `buffer` too, so one attribute that is not there means another protocol. */
static int look_up(PyObject *object, struct draft *out)
{
	if (bip_attribute(object, bip_name.buffer, &out->buffer) || !out->buffer)
		return PyErr_Occurred() ? -1 : 0;
	if (bip_attribute(object, bip_name.offset, &out->offset) ||
	    bip_attribute(object, bip_name.shape, &out->shape) ||
	    bip_attribute(object, bip_name.strides, &out->strides) ||
	    bip_attribute(object, bip_name.typestr, &out->typestr) ||
	    (!out->typestr && bip_attribute(object, bip_name.dtype, &out->dtype)))
		return -1;
	return out->offset && out->shape && out->strides && (out->typestr || out->dtype);
}

/* A typestr says all about simple types, and needs no NumPy. */
static int read_type(PyObject *object, struct draft *draft, struct bi_dtype *out)
{
	if (draft->typestr) {
		if (bip_dtype_from(draft->typestr, out))
			return -1;
		if (out->type == BI_VOID && bip_attribute(object, bip_name.dtype, &draft->dtype))
			return -1;
	}
	return draft->dtype ? bip_dtype_from_with_descr(draft->dtype, out, &draft->descr) : 0;
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

/* 1: `backend` is there and is this word. */
static int has_backend(PyObject *object, const char *word)
{
	PyObject *backend;
	int is_same;

	if (bip_attribute(object, bip_name.backend, &backend))
		return -1;
	is_same = backend && PyUnicode_Check(backend) && PyUnicode_CompareWithASCIIString(backend, word) == 0;
	Py_XDECREF(backend);
	return is_same;
}

static int read_address(PyObject *object, struct draft *draft)
{
	PyObject *number;
	int on_host = has_backend(object, "host"), is_opencl = has_backend(object, "opencl"), rc;

	if (on_host < 0 || is_opencl < 0)
		return -1;
	if (is_opencl) {
		PyErr_Format(PyExc_TypeError,
			     "buffer is of type %.100s, which has no int_ptr: a cl_mem is not taken as a number",
			     Py_TYPE(draft->buffer)->tp_name);
		return -1;
	}
	draft->kind = on_host ? BI_HANDLE_HOST : BI_HANDLE_CUDA;
	number = PyNumber_Long(draft->buffer);
	rc = number ? bip_address(number, "buffer", "", &draft->handle) : -1;
	Py_XDECREF(number);
	return rc;
}

static int read_buffer(PyObject *object, struct draft *draft)
{
	PyObject *int_ptr;
	int rc;

	if (bip_attribute(draft->buffer, bip_name.int_ptr, &int_ptr))
		return -1;
	if (!int_ptr)
		return read_address(object, draft);
	draft->kind = BI_HANDLE_CL_MEM;
	rc = bip_address(int_ptr, "buffer.int_ptr", "", &draft->handle);
	Py_DECREF(int_ptr);
	return rc;
}

/* An attribute that may not be there, or be None. */
static int get(PyObject *object, PyObject *name, PyObject **out)
{
	if (bip_attribute(object, name, out))
		return -1;
	if (*out == Py_None)
		Py_CLEAR(*out);
	return 0;
}

static int refuse_mask(PyObject *object)
{
	PyObject *mask;

	if (get(object, bip_name.mask, &mask))
		return -1;
	if (!mask)
		return 0;
	Py_DECREF(mask);
	PyErr_SetString(bip_UnsupportedError, "the array is masked, and would be wrong without its mask");
	return -1;
}

static int read_flags(PyObject *object, const struct bip_request *request, unsigned *out)
{
	PyObject *readonly;
	int is_readonly = 0;

	if (get(object, bip_name.readonly, &readonly))
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

/* A queue as a number, which the caller vouches for. */
static int trust_queue(PyObject *number, struct bi_context *context, struct bi_stream **out)
{
	struct bi_error err;
	uint64_t queue;
	int rc;

	if (bip_address(number, "stream", "", &queue))
		return -1;
	rc = bi_stream_wrap(context, (uintptr_t)queue, NULL, NULL, out, &err);
	if (rc)
		bip_raise_import(rc, &err);
	return rc ? -1 : 0;
}

/* The stream that the caller or else the producer names; NULL if none does, and nothing is to be waited for. */
static int find_stream(PyObject *object, enum bi_handle_kind kind, const struct bip_request *request,
		       struct bi_context *context, struct bi_stream **out)
{
	PyObject *stream = NULL;
	int rc;

	*out = NULL;
	if (!request->sync)
		return 0;
	if (request->producer_stream)
		return bip_stream(request->producer_stream, context, out);
	if (get(object, bip_name.stream, &stream))
		return -1;
	if (stream && kind == BI_HANDLE_CL_MEM && request->trust && PyLong_Check(stream))
		rc = trust_queue(stream, context, out);
	else
		rc = bip_stream(stream, context, out);
	Py_XDECREF(stream);
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
	rc = bip_wrap(context, &foreign, draft->handle + (uint64_t)draft->byte_offset, &draft->layout, object,
		      &found->view);
	bi_stream_release(foreign.stream);
	return rc;
}

/* An array without elements may have no memory at all, or an address that is no longer any. */
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

/* Without elements: a CUDA device is not asked about the address, and of no cl_mem nobody knows the cl_context. */
static int find_context(const struct draft *draft, int is_empty, struct bi_context **out)
{
	if (draft->kind == BI_HANDLE_HOST || (is_empty && !draft->handle && draft->kind == BI_HANDLE_CL_MEM))
		return bip_context_host(out);
	if (is_empty && draft->kind == BI_HANDLE_CUDA)
		return bip_context_cuda(0, out);
	if (draft->handle)
		return bip_context_of_memory(draft->kind, (uintptr_t)draft->handle, out);
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
	bi_context_release(context);
	return rc;
}

int bip_import_draft(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	struct draft draft = { 0 };
	int rc = look_up(object, &draft);

	if (rc == 1 && (read_layout(object, &draft) || read_buffer(object, &draft) || refuse_mask(object) ||
			import_read(object, &draft, request, found)))
		rc = -1;
	forget(&draft);
	return rc;
}
