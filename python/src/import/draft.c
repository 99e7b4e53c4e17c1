/*
 * The Python object of docs/specification.md, section 2: buffer, offset, shape, strides, and dtype or typestr
 *
 * The method __buffer_interface__ of a type returns this object. An object without the method is read by its
 * attributes, as in the first draft of the specification.
 *
 * `buffer` is an object with int_ptr, which is a cl_mem, or an object that int() accepts: a CUDA pointer, or a host
 * address if the attribute `backend` says so. An int is not accepted as a cl_mem, because a wrong number crashes the
 * driver and cannot be checked. An int is accepted as a command queue or a context only from the method or with
 * trust=True.
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
	PyObject *producer; /* borrowed */
	PyObject *object; /* has the attributes */
	int is_stated; /* 1: the method __buffer_interface__ returned the object */
	PyObject *buffer, *offset, *shape, *strides, *typestr, *dtype;
	const char *backend; /* name of the backend that the attribute `backend` names; NULL: no attribute */
	enum bi_handle_kind kind;
	uint64_t handle;
	int64_t byte_offset;
	struct bi_layout layout;
	PyObject *descr;
	PyObject *stream; /* NULL: none */
	uint64_t queue; /* `stream` as a command queue of OpenCL; 0: none */
};

static void release_draft(struct draft *draft)
{
	Py_XDECREF(draft->object);
	Py_XDECREF(draft->buffer);
	Py_XDECREF(draft->offset);
	Py_XDECREF(draft->shape);
	Py_XDECREF(draft->strides);
	Py_XDECREF(draft->typestr);
	Py_XDECREF(draft->dtype);
	Py_XDECREF(draft->descr);
	Py_XDECREF(draft->stream);
}

/* Checks the version of the object that the method returned. */
static int check_version(PyObject *object)
{
	PyObject *version;
	int64_t number;
	int rc;

	if (bip_attribute(object, bip_name.buffer_interface_version, &version))
		return -1;
	if (!version)
		return bip_refuse(PyExc_TypeError,
				  "__buffer_interface__() returned an object of type %.100s, which has no "
				  "buffer_interface_version [B-3]",
				  Py_TYPE(object)->tp_name);
	rc = bip_number(version, "buffer_interface_version", " [B-3]", &number);
	Py_DECREF(version);
	if (rc || (number >= 0 && number <= UINT32_MAX && BI_ABI_KNOWS((uint32_t)number)))
		return rc;
	return bip_refuse(bip_UnsupportedError,
			  "buffer_interface_version is %lld, not %d, which is version %d.%d [B-3]", (long long)number,
			  BI_ABI_VERSION, BI_ABI_VERSION >> 16, BI_ABI_VERSION & 0xffff);
}

/* Calls the method of the producer's type. An attribute of the producer with that name does not count (B-2). */
static PyObject *call_method(PyObject *producer, PyObject *method)
{
	descrgetfunc bind = Py_TYPE(method)->tp_descr_get;
	PyObject *bound = bind ? bind(method, producer, (PyObject *)Py_TYPE(producer)) : Py_NewRef(method);
	PyObject *object = NULL;

	if (bound && !bip_check_method(bound, bip_name.__buffer_interface__))
		object = PyObject_CallNoArgs(bound);
	Py_XDECREF(bound);
	return object;
}

/* Finds the object with the attributes: the method of the type returns it, or else it is the producer itself. */
static int find_object(PyObject *producer, struct draft *out)
{
	PyObject *method = bip_type_attribute(Py_TYPE(producer), bip_name.__buffer_interface__);

	out->producer = producer;
	out->is_stated = method != NULL;
	out->object = method ? call_method(producer, method) : Py_NewRef(producer);
	Py_XDECREF(method);
	return out->object && !(out->is_stated && check_version(out->object)) ? 0 : -1;
}

static const char *find_missing(const struct draft *draft)
{
	if (!draft->buffer)
		return "buffer";
	if (!draft->offset)
		return "offset";
	if (!draft->shape)
		return "shape";
	if (!draft->strides)
		return "strides";
	return draft->typestr || draft->dtype ? NULL : "typestr or dtype";
}

/*
 * Returns 1 if no attribute is missing. If one is missing, returns -1 with an exception if the method returned the
 * object, or if protocol= names this protocol and there is a buffer. Otherwise returns 0: objects of other protocols
 * may have an attribute `buffer` too.
 */
static int check_complete(const struct draft *draft, int is_named)
{
	const char *missing = find_missing(draft);

	if (!missing)
		return 1;
	if (!draft->is_stated && (!is_named || !draft->buffer))
		return 0;
	return bip_refuse(
		PyExc_TypeError,
		"an object of type %.100s has no %s: a producer has buffer, offset, shape, strides, and typestr or "
		"dtype [B-1]",
		Py_TYPE(draft->object)->tp_name, missing);
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

/* Reads the required attributes. Returns 1, 0 or -1 as check_complete does. */
static int read_attributes(PyObject *object, int is_named, struct draft *out)
{
	if (bip_attribute(object, bip_name.buffer, &out->buffer))
		return -1;
	if (out->buffer && (bip_attribute(object, bip_name.offset, &out->offset) ||
			    bip_attribute(object, bip_name.shape, &out->shape) ||
			    bip_attribute(object, bip_name.strides, &out->strides) ||
			    get_optional(object, bip_name.typestr, &out->typestr) ||
			    (!out->typestr && get_optional(object, bip_name.dtype, &out->dtype))))
		return -1;
	return check_complete(out, is_named);
}

/*
 * Clears an exception that may mean that the element type has no numpy.dtype, and returns 1. Returns 0 for any other
 * exception. Beside a typestr a missing dtype is no error.
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
	return bip_refuse(bip_InvalidArrayError, "typestr is %R, but dtype is %R", bip_printable(typestr),
			  bip_printable(dtype));
}

/* Reads the typestr, and a dtype beside it, which must agree and may have fields. */
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
	int has_strides = draft->is_stated || draft->strides != Py_None, ndim;
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
	const char *text = PyUnicode_Check(name) ? bip_utf8(name) : NULL;

	if (text && bip_backend_named(text, strlen(text), &backend)) {
		out->backend = backend.name;
		out->kind = backend.handle;
		return 0;
	}
	PyErr_Clear();
	return bip_refuse(bip_InvalidArrayError, "backend is %R, not 'opencl', 'cuda' or 'host'", bip_printable(name));
}

/* Reads the attribute `backend`. If it is missing or None, an address is a CUDA pointer. */
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

/*
 * Returns true for an object that is no number, and for a str, a float and an array: int() may accept these three, but
 * the result is no address.
 */
static int is_no_address(PyObject *buffer)
{
	return !PyNumber_Check(buffer) || PyUnicode_Check(buffer) || PyFloat_Check(buffer) ||
	       (PyObject_CheckBuffer(buffer) && (PySequence_Check(buffer) || !PyIndex_Check(buffer)));
}

static int read_address(struct draft *draft)
{
	PyObject *number;
	int rc;

	if (draft->kind == BI_HANDLE_CL_MEM)
		return bip_refuse(
			PyExc_TypeError,
			"buffer is of type %.100s, which has no int_ptr: a number is not accepted as a cl_mem",
			Py_TYPE(draft->buffer)->tp_name);
	if (draft->byte_offset)
		return bip_refuse(
			bip_InvalidArrayError,
			"offset is %lld, not 0: only a cl_mem has one, an address is that of element [0, ..., 0]",
			(long long)draft->byte_offset);
	if (is_no_address(draft->buffer))
		return bip_refuse(
			PyExc_TypeError,
			"buffer is of type %.100s, not an object whose int() is an address, such as x.ctypes.data",
			Py_TYPE(draft->buffer)->tp_name);
	number = PyNumber_Long(draft->buffer);
	rc = number ? bip_address(number, "buffer", "", &draft->handle) : -1;
	Py_XDECREF(number);
	return rc;
}

static int read_memory_object(PyObject *int_ptr, struct draft *draft)
{
	if (draft->backend && draft->kind != BI_HANDLE_CL_MEM)
		return bip_refuse(bip_InvalidArrayError, "backend is '%s', but buffer has int_ptr, so it is a cl_mem",
				  draft->backend);
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
	return bip_refuse(
		bip_UnsupportedError,
		"the array is masked, and this protocol does not import masks, not even with mask='keep' [C3]");
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

/*
 * Reads a command queue or a context: an object with int_ptr, or an int. An int is refused unless the method returned
 * the object, or the caller trusts the int (trust=True). Returns 1, 0 for any other object, or -1 with an exception.
 */
static int read_handle(const struct draft *draft, PyObject *value, const char *key, int trust, uint64_t *out)
{
	PyObject *int_ptr;
	int rc;

	if (bip_attribute(value, bip_name.int_ptr, &int_ptr))
		return -1;
	if (!int_ptr && !PyIndex_Check(value))
		return 0;
	if (!int_ptr && !draft->is_stated && !trust)
		return bip_refuse(PyExc_TypeError,
				  "%s is %R, a number, which cannot be checked: it counts only on the object that "
				  "__buffer_interface__() returns, or with trust=True [B-3]",
				  key, bip_printable(value));
	rc = bip_address(int_ptr ? int_ptr : value, key, "", out);
	Py_XDECREF(int_ptr);
	return rc ? -1 : 1;
}

static int wrap_queue(uint64_t queue, struct bi_context *context, struct bi_stream **out)
{
	struct bi_error err;
	uintptr_t handle;

	if (bip_as_handle("stream", queue, &handle))
		return -1;
	return bip_check(bi_stream_wrap(context, handle, NULL, NULL, out, &err), &err, bip_raise_import);
}

/* A wrong stream raises InvalidArrayError; as an argument of the caller it would raise ValueError. */
static int own_stream(const struct draft *draft, PyObject *stream, struct bi_context *context, struct bi_stream **out)
{
	PyObject *text;

	if (draft->queue && PyIndex_Check(stream))
		return wrap_queue(draft->queue, context, out);
	if (!bip_stream(stream, context, out))
		return 0;
	text = PyErr_Occurred() == PyExc_ValueError ? bip_take_message() : NULL;
	if (text)
		PyErr_Format(bip_InvalidArrayError, "%U", text);
	Py_XDECREF(text);
	return -1;
}

/* Sets *out to the argument producer_stream, else to the stream of the producer. NULL: neither, or sync=False. */
static int find_stream(const struct draft *draft, const struct bip_request *request, struct bi_context *context,
		       struct bi_stream **out)
{
	*out = NULL;
	if (!request->sync)
		return 0;
	if (request->producer_stream)
		return bip_stream_named("producer_stream", request->producer_stream, context, out);
	return draft->stream ? own_stream(draft, draft->stream, context, out) : 0;
}

static int import_on(struct draft *draft, const struct bip_request *request, struct bi_context *context,
		     struct bip_found *found)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	PyObject *owner;
	int rc;

	foreign.kind = draft->kind;
	if (draft->kind == BI_HANDLE_CL_MEM)
		draft->layout.offset = draft->byte_offset;
	if (bip_as_handle("buffer", draft->handle, &foreign.handle) ||
	    read_flags(draft->object, request, &foreign.flags) || find_stream(draft, request, context, &foreign.stream))
		return -1;
	if (!foreign.stream && draft->kind != BI_HANDLE_HOST)
		found->flags |= BIP_WAIT_AT_EXIT;
	owner = PyTuple_Pack(3, draft->producer, draft->object, draft->buffer);
	rc = owner ? bip_wrap(context, &foreign, draft->handle, &draft->layout, owner, &found->view) : -1;
	Py_XDECREF(owner);
	bi_stream_release(foreign.stream);
	return rc;
}

/* Imports an array without elements as new memory, because the handle of the producer may be 0 or invalid. */
static int import_empty(struct draft *draft, const struct bip_request *request, struct bi_context *context,
			struct bip_found *found)
{
	struct bi_memory *memory;
	struct bi_error err;
	unsigned flags;
	int rc;

	if (read_flags(draft->object, request, &flags))
		return -1;
	rc = bi_memory_create(context, 0, BI_MEMORY_DEFAULT, &memory, &err);
	if (!rc) {
		rc = bi_view_create(memory, &draft->layout, flags & BI_WRAP_READONLY ? BI_VIEW_READONLY : 0,
				    &found->view, &err);
		bi_memory_release(memory);
	}
	return bip_check(rc, &err, bip_raise_import);
}

/*
 * Finds the context of a number, which is a CUDA pointer if the attribute `backend` is missing. The message says so,
 * because the producer may have meant a cl_mem or a host address.
 */
static int find_context_of_number(const struct draft *draft, struct bi_context **out)
{
	PyObject *text;

	if (bip_context_of_memory(draft->kind, draft->handle, out) == 0)
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

/* Reads the attribute `stream`. For a cl_mem, also reads the queue, because its device works on the memory. */
static int read_stream(struct draft *draft, const struct bip_request *request)
{
	if (!request->sync || request->producer_stream)
		return 0;
	if (get_optional(draft->object, bip_name.stream, &draft->stream) || !draft->stream)
		return PyErr_Occurred() ? -1 : 0;
	return draft->kind == BI_HANDLE_CL_MEM &&
			       read_handle(draft, draft->stream, "stream", request->trust, &draft->queue) < 0
		       ? -1
		       : 0;
}

/* Finds the context of an OpenCL array without memory, by the attribute `context`, or else the default device. */
static int find_context_without_memory(const struct draft *draft, const struct bip_request *request,
				       struct bi_context **out)
{
	struct bi_backend backend;
	uint64_t native = 0;
	PyObject *value;
	int rc = 0;

	bip_backend_with_handle(BI_HANDLE_CL_MEM, &backend);
	if (get_optional(draft->object, bip_name.context, &value))
		return -1;
	if (value)
		rc = read_handle(draft, value, "context", request->trust, &native);
	if (rc >= 0)
		rc = native ? bip_context_native(backend.name, native, 0, out) : bip_context_open(backend.name, out);
	Py_XDECREF(value); /* until here the object keeps the native context */
	return rc < 0 ? -1 : 0;
}

/*
 * Finds the context of CUDA memory. For an array without elements, the attribute `device` names the device (without it:
 * device 0), and the driver is not queried for the address.
 */
static int find_cuda_context(const struct draft *draft, int is_empty, struct bi_context **out)
{
	PyObject *value;
	int64_t ordinal = 0;
	int rc = 0;

	if (!is_empty)
		return draft->backend ? bip_context_of_memory(draft->kind, draft->handle, out)
				      : find_context_of_number(draft, out);
	if (get_optional(draft->object, bip_name.device, &value))
		return -1;
	if (value && PyIndex_Check(value))
		rc = bip_number(value, "device", "", &ordinal);
	Py_XDECREF(value);
	return rc ? -1 : bip_context_cuda(ordinal > INT_MAX ? INT_MAX : (int)ordinal, out);
}

static int find_context(const struct draft *draft, int is_empty, const struct bip_request *request,
			struct bi_context **out)
{
	if (draft->kind == BI_HANDLE_HOST)
		return bip_context_host(out);
	if (!draft->handle && !is_empty)
		return bip_refuse(bip_InvalidArrayError, "buffer is 0, but the array has elements");
	if (draft->kind == BI_HANDLE_CUDA)
		return find_cuda_context(draft, is_empty, out);
	if (draft->queue)
		return bip_context_of_queue(draft->queue, out);
	return draft->handle ? bip_context_of_memory(draft->kind, draft->handle, out)
			     : find_context_without_memory(draft, request, out);
}

/* Agreement of attributes that state the same fact [B-4] */

/*
 * Compares the attribute `name`, or its int_ptr, with `expected`. Takes ownership of `expected`; if it is NULL, keeps
 * the exception that is set. If the method did not return the object, only a number or a tuple is compared, because
 * other packages use these names for other attributes.
 */
static int compare(const struct draft *draft, PyObject *name, PyObject *expected)
{
	PyObject *value = NULL, *int_ptr = NULL;
	int rc = !expected || get_optional(draft->object, name, &value) ||
		 (value && bip_attribute(value, bip_name.int_ptr, &int_ptr));

	if (int_ptr)
		Py_SETREF(value, int_ptr);
	if (!rc && value && (draft->is_stated || PyIndex_Check(value) || PyTuple_Check(value))) {
		rc = PyObject_RichCompareBool(value, expected, Py_NE);
		if (rc > 0)
			bip_refuse(bip_InvalidArrayError,
				   "%U is %R, but the other attributes and the driver say %R [B-4]", name,
				   bip_printable(value), expected);
	}
	Py_XDECREF(value);
	Py_XDECREF(expected);
	return rc ? -1 : 0;
}

static int check_numbers(const struct draft *draft)
{
	const struct bi_layout *layout = &draft->layout;

	return compare(draft, bip_name.itemsize, PyLong_FromUnsignedLong(layout->dtype.item_size)) ||
	       compare(draft, bip_name.ndim, PyLong_FromLong(layout->ndim)) ||
	       compare(draft, bip_name.size, PyLong_FromLongLong(bi_layout_size(layout))) ||
	       compare(draft, bip_name.nbytes, PyLong_FromLongLong(bi_layout_nbytes(layout)));
}

static int is_device(const struct bi_context *context, int platform, int ordinal)
{
	const struct bi_device *device = bi_context_device(context);

	return (platform == device->platform || platform < 0 || device->platform < 0) &&
	       (ordinal == device->ordinal || ordinal < 0 || device->ordinal < 0);
}

static int refuse_device(PyObject *device)
{
	return bip_refuse(bip_InvalidArrayError, "device is %R, not a tuple of platform and ordinal [B-4]",
			  bip_printable(device));
}

/* Replaces the DriverError of a position without a device. Keeps any other exception, also one of the driver. */
static int refuse_absent(PyObject *device)
{
	if (!PyErr_ExceptionMatches(bip_DriverError) || bip_has_vendor())
		return -1;
	return bip_refuse(bip_InvalidArrayError, "device is %R, but the cl_context does not have it [B-4]", device);
}

/*
 * Replaces *context by the context of the device (platform, ordinal). If the producer names a queue, *context is not
 * replaced. Refuses a device that the cl_context does not have. A negative number is not known and fits each device.
 */
static int choose_device(const struct draft *draft, PyObject *pair, struct bi_context **context)
{
	struct bi_context *found;
	int platform, ordinal;

	if (!PyArg_ParseTuple(pair, "ii", &platform, &ordinal))
		return bip_clear_error() ? -1 : refuse_device(pair);
	found = bi_context_retain(*context);
	for (int position = 0; !is_device(found, platform, ordinal); position++) {
		bi_context_release(found);
		if (bip_context_native(bip_backend_of(*context).name, bi_context_handle(*context), position, &found))
			return refuse_absent(pair);
	}
	bi_context_release(draft->queue ? found : *context);
	if (!draft->queue)
		*context = found;
	return 0;
}

static int check_opencl_device(const struct draft *draft, struct bi_context **context)
{
	PyObject *device;
	int rc = 0;

	if (get_optional(draft->object, bip_name.device, &device))
		return -1;
	if (device && PyTuple_Check(device))
		rc = choose_device(draft, device, context);
	else if (device && (draft->is_stated || PyIndex_Check(device)))
		rc = refuse_device(device);
	Py_XDECREF(device);
	return rc;
}

/* Checks `device`, `context` and, on the host, `host_pointer`. OpenCL: may replace *context as choose_device does. */
static int check_place(const struct draft *draft, struct bi_context **context)
{
	if (draft->kind == BI_HANDLE_HOST)
		return compare(draft, bip_name.device, Py_NewRef(Py_None)) ||
		       compare(draft, bip_name.context, Py_NewRef(Py_None)) ||
		       (bi_layout_size(&draft->layout) &&
			compare(draft, bip_name.host_pointer, PyLong_FromUnsignedLongLong(draft->handle)));
	if (draft->kind == BI_HANDLE_CL_MEM
		    ? check_opencl_device(draft, context)
		    : compare(draft, bip_name.device, PyLong_FromLong(bi_context_device(*context)->ordinal)))
		return -1;
	return compare(draft, bip_name.context, PyLong_FromSize_t(bi_context_handle(*context)));
}

static int import_read(struct draft *draft, const struct bip_request *request, struct bip_found *found)
{
	int is_empty = bi_layout_size(&draft->layout) == 0, rc = -1;
	struct bi_context *context;

	if (check_numbers(draft) || find_context(draft, is_empty, request, &context))
		return -1;
	if (!check_place(draft, &context))
		rc = is_empty && (draft->kind == BI_HANDLE_CUDA || !draft->handle)
			     ? import_empty(draft, request, context, found)
			     : import_on(draft, request, context, found);
	bi_context_release(context);
	return rc;
}

int bip_import_draft(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	struct draft draft = { 0 };
	int rc = find_object(object, &draft) ? -1 : read_attributes(draft.object, request->protocol != NULL, &draft);

	if (rc == 1 &&
	    (read_layout(draft.object, &draft) || read_buffer(draft.object, &draft) || refuse_mask(draft.object) ||
	     read_stream(&draft, request) || import_read(&draft, request, found)))
		rc = -1;
	release_draft(&draft);
	return rc;
}
