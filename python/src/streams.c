/* Streams that users give: ints, and stream objects of other packages. */
#include <string.h>

#include "streams.h"
#include "lifetime.h"
#include "base/backends.h"
#include "base/errors.h"
#include "base/names.h"

/* The handle of CUDA's legacy default stream. Most packages give it as 0. */
#define LEGACY 1

/* Returns a handle as an int, or None for None. Refuses texts and floats, although int() accepts them. */
static PyObject *int_of_handle(PyObject *handle)
{
	const PyNumberMethods *number = Py_TYPE(handle)->tp_as_number;

	if (handle == Py_None || PyLong_CheckExact(handle))
		return Py_NewRef(handle);
	if (PyIndex_Check(handle))
		return PyNumber_Index(handle);
	if (number && number->nb_int && !PyFloat_Check(handle))
		return PyNumber_Long(handle);
	return PyErr_Format(PyExc_TypeError, "the handle of a stream is of type %.100s, not a number",
			    Py_TYPE(handle)->tp_name);
}

/*
 * Converts the value of a stream object's attribute to a handle. The value is an int, None for 0, an object that int()
 * accepts (CUDA's own Python package has such handles), or a ctypes pointer, whose `value` is None for 0.
 */
static int read_handle(PyObject *handle, uintptr_t *out)
{
	PyObject *value = NULL, *number;

	if (!PyLong_CheckExact(handle) && bip_attribute(handle, bip_name.value, &value))
		return -1;
	number = int_of_handle(value ? value : handle);
	Py_XDECREF(value);
	if (!number)
		return -1;
	*out = number == Py_None ? 0 : PyLong_AsSize_t(number);
	if (PyErr_Occurred())
		bip_refuse_range(PyExc_ValueError, "the handle of a stream", number, BIP_HANDLES);
	Py_DECREF(number);
	return PyErr_Occurred() ? -1 : 0;
}

/* Reads __cuda_stream__: the pair (version, handle), or a method that returns the pair. */
static int read_cuda_stream(PyObject *method, uintptr_t *out)
{
	PyObject *pair = PyCallable_Check(method) ? PyObject_CallNoArgs(method) : Py_NewRef(method);
	int rc = -1;

	if (!pair)
		return -1;
	if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
		PyErr_Format(PyExc_TypeError, "__cuda_stream__ gives %R, not a tuple of version and handle",
			     bip_printable(pair));
	else
		rc = read_handle(PyTuple_GET_ITEM(pair, 1), out);
	Py_DECREF(pair);
	return rc;
}

/*
 * Reads the handle from the first of the attributes below that the object has. Returns 1, 0 if it has none of them, or
 * -1 with an exception.
 */
static int read_stream_object(PyObject *object, int is_cuda, uintptr_t *out)
{
	PyObject *cuda[] = { bip_name.__cuda_stream__, bip_name.cuda_stream, bip_name.ptr, bip_name.handle };
	PyObject *opencl[] = { bip_name.int_ptr };
	PyObject **names = is_cuda ? cuda : opencl;
	size_t count = is_cuda ? Py_ARRAY_LENGTH(cuda) : Py_ARRAY_LENGTH(opencl);

	for (size_t i = 0; i < count; i++) {
		PyObject *found;
		int rc;

		if (bip_attribute(object, names[i], &found))
			return -1;
		if (!found)
			continue;
		rc = is_cuda && i == 0 ? read_cuda_stream(found, out) : read_handle(found, out);
		Py_DECREF(found);
		return rc ? -1 : 1;
	}
	return 0;
}

static int read_cuda_int(const char *name, PyObject *number, uintptr_t *out)
{
	int64_t value = PyLong_AsLongLong(number);

	if (value == -1 && PyErr_Occurred())
		return bip_refuse_range(PyExc_ValueError, name, number, "1..2**63-1 [C6]");
	if (value <= 0)
		return bip_refuse(PyExc_ValueError,
				  "%s is %lld; a stream is 1 (legacy default), 2 (per-thread default) or a handle, "
				  "and 0 could mean either default [C6]",
				  name, (long long)value);
	return bip_as_handle(name, (uint64_t)value, out);
}

/* Reads a stream from an object with __index__, such as an integer of NumPy. */
static int read_cuda_number(const char *name, PyObject *object, uintptr_t *out)
{
	PyObject *number = PyNumber_Index(object);
	int rc = number ? read_cuda_int(name, number, out) : -1;

	Py_XDECREF(number);
	return rc;
}

static int read_stream(const char *name, PyObject *object, const struct bi_backend *backend, uintptr_t *out)
{
	int is_cuda = (backend->stream_kinds >> BI_ORDER_CUDA & 1) != 0, rc;

	if (!backend->stream_kinds)
		return bip_refuse(PyExc_ValueError, "%s is given, but host memory has no streams: omit it", name);
	if (is_cuda && PyLong_CheckExact(object))
		return read_cuda_int(name, object, out);
	rc = read_stream_object(object, is_cuda, out);
	if (rc == 0 && is_cuda && PyIndex_Check(object) && !PyBool_Check(object))
		return read_cuda_number(name, object, out);
	if (rc == 0)
		return bip_refuse(PyExc_TypeError, "%s is of type %.100s, not a stream of %s%s", name,
				  Py_TYPE(object)->tp_name, backend->name,
				  is_cuda ? "" : "; a command queue is an object with int_ptr");
	if (rc == 1 && is_cuda && *out == 0)
		*out = LEGACY;
	return rc == 1 ? 0 : -1;
}

/*
 * Returns the object if it is a stream object, not a number, whose handle is `handle`. Otherwise releases it and
 * returns NULL, perhaps with an exception that bip_clear_error keeps. `object` may be NULL, also with an exception.
 */
static PyObject *only_with_handle(PyObject *object, uintptr_t handle)
{
	uintptr_t found = 0;
	int is_behind =
		object && !PyIndex_Check(object) && read_stream_object(object, 1, &found) == 1 && found == handle;

	if (bip_clear_error() == 0 && is_behind)
		return object;
	Py_XDECREF(object);
	return NULL;
}

/* Returns CuPy's current stream object. Returns NULL without an exception if CuPy has not been imported. */
static PyObject *current_stream_of_cupy(void)
{
	PyObject *function = bip_attribute_of_module("cupy.cuda", "get_current_stream");
	PyObject *stream = function ? PyObject_CallNoArgs(function) : NULL;

	Py_XDECREF(function);
	return stream;
}

PyObject *bip_stream_behind(PyObject *array, uintptr_t handle)
{
	PyObject *found = only_with_handle(PyObject_GetAttr(array, bip_name.stream), handle);

	return found || PyErr_Occurred() ? found : only_with_handle(current_stream_of_cupy(), handle);
}

int bip_stream(PyObject *object, struct bi_context *context, struct bi_stream **out)
{
	return bip_stream_named("stream", object, context, out);
}

int bip_stream_named(const char *name, PyObject *object, struct bi_context *context, struct bi_stream **out)
{
	struct bi_backend backend;
	struct bi_error err;
	uintptr_t handle;
	int rc;

	*out = NULL;
	if (!object || object == Py_None)
		return 0;
	backend = bip_backend_of(context);
	if (read_stream(name, object, &backend, &handle))
		return -1;
	if (handle == bi_stream_handle(bi_context_stream(context))) {
		*out = bi_stream_retain(bi_context_stream(context));
		return 0;
	}
	rc = bi_stream_wrap(context, handle, bip_release_owner, Py_NewRef(object), out, &err);
	if (rc) {
		Py_DECREF(object);
		return bip_check(rc, &err, bip_raise);
	}
	return 0;
}
