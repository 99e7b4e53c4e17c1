/* __array__: host memory as a numpy.ndarray of any element type of NumPy or ml_dtypes. */
#include "host_memory.h"
#include "lifetime.h"
#include "object.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "export/export.h"

/* Returns an array of void elements of the same size, which NumPy can always read. Takes ownership of the view. */
static PyObject *make_void_array(struct bi_view *view)
{
	struct bi_dtype dtype;
	struct bi_view *bytes;
	struct bi_error err;
	int rc = bi_dtype_make(BI_VOID, 1, bi_view_dtype(view).item_size, &dtype, &err);

	if (!rc)
		rc = bi_view_reinterpret(view, dtype, NULL, &bytes, &err);
	bip_release_view(view);
	return rc ? bip_raise_export(rc, &err) : bip_new(bytes);
}

/* Returns numpy.asarray(bytes).view(dtype). */
static PyObject *numpy_view(PyObject *numpy, PyObject *bytes, PyObject *dtype)
{
	PyObject *raw = PyObject_CallMethod(numpy, "asarray", "O", bytes);
	PyObject *array = raw ? PyObject_CallMethod(raw, "view", "O", dtype) : NULL;

	Py_XDECREF(raw);
	return array;
}

/* Makes a NumPy array by its bytes, for an element type that the array interface cannot name. */
static PyObject *make_by_bytes(PyObject *self, PyObject *numpy)
{
	struct bi_view *view = bip_hold(self);
	PyObject *dtype = view ? bip_dtype_numpy(view) : NULL;
	PyObject *bytes, *array;

	if (!dtype) {
		bip_release_view(view);
		return NULL;
	}
	bytes = make_void_array(view);
	array = bytes ? numpy_view(numpy, bytes, dtype) : NULL;
	Py_XDECREF(bytes);
	Py_DECREF(dtype);
	return array;
}

/* Returns 1 if the array interface can name the element type, 0 if not, -1 with an exception. */
static int can_name_type(PyObject *self)
{
	struct bi_view *view = bip_hold(self);
	char text[BI_DTYPE_TEXT];
	int rc;

	if (!view)
		return -1;
	rc = bi_dtype_typestr(bi_view_dtype(view), text, NULL);
	bip_release_view(view);
	return rc == BI_OK;
}

/*
 * Makes a NumPy array. numpy.asarray() uses the buffer protocol or __array_interface__, so it does not call __array__
 * again.
 */
static PyObject *make_array(PyObject *self, PyObject *numpy)
{
	switch (can_name_type(self)) {
	case 0:
		return make_by_bytes(self, numpy);
	case 1:
		return PyObject_CallMethod(numpy, "asarray", "O", self);
	default:
		return NULL;
	}
}

static int is_same_dtype(PyObject *numpy, PyObject *array, PyObject *dtype)
{
	PyObject *wanted = PyObject_CallMethod(numpy, "dtype", "O", dtype);
	PyObject *own = wanted ? PyObject_GetAttr(array, bip_name.dtype) : NULL;
	int rc = own ? PyObject_RichCompareBool(own, wanted, Py_EQ) : -1;

	Py_XDECREF(own);
	Py_XDECREF(wanted);
	return rc;
}

/* Applies the arguments `dtype` and `copy` (-1 stands for None) to the array. Takes ownership of the array. */
static PyObject *convert_array(PyObject *numpy, PyObject *array, PyObject *dtype, int copy)
{
	int is_same = dtype == Py_None ? 1 : is_same_dtype(numpy, array, dtype);
	PyObject *converted = NULL;

	if (is_same == 1 && copy <= 0)
		return array;
	if (is_same >= 0 && copy == 0)
		PyErr_Format(PyExc_ValueError, "dtype %R needs a copy, and copy is False", dtype);
	else if (is_same >= 0)
		converted = PyObject_CallMethod(numpy, "array", "OO", array, dtype);
	Py_DECREF(array);
	return converted;
}

/*
 * Raises an exception for memory that is not host memory. If __array__ did not raise one, NumPy would make a
 * zero-dimensional array of objects [H3].
 */
static int check_on_host(PyObject *self)
{
	struct bi_view *view = bip_hold(self);
	int rc = view && bip_is_host(view) ? 0 : -1;

	if (view && rc)
		PyErr_Format(PyExc_TypeError,
			     "memory of %s is not copied to the host implicitly: use numpy(), map() or to('host') [H3]",
			     bi_context_device(bi_memory_context(bi_view_memory(view)))->spec);
	bip_release_view(view);
	return rc;
}

PyObject *bip_array(PyObject *self, PyObject *args, PyObject *words)
{
	static char dtype_word[] = "dtype", copy_word[] = "copy";
	static char *names[] = { dtype_word, copy_word, NULL };
	PyObject *dtype = Py_None, *copy_given = Py_None, *numpy, *array;
	int copy = -1;

	if (!PyArg_ParseTupleAndKeywords(args, words, "|O$O:__array__", names, &dtype, &copy_given))
		return NULL;
	if (copy_given != Py_None)
		copy = PyObject_IsTrue(copy_given);
	if (PyErr_Occurred() || bip_refuse_host_mask(self) || check_on_host(self))
		return NULL;
	numpy = PyImport_ImportModule("numpy");
	array = numpy ? make_array(self, numpy) : NULL;
	if (array)
		array = convert_array(numpy, array, dtype, copy);
	Py_XDECREF(numpy);
	return array;
}
