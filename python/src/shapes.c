/* Shapes and strides as Python writes them: tuples, ints, sequences. */
#include "shapes.h"

PyObject *bip_tuple(const int64_t *numbers, int count)
{
	PyObject *tuple = PyTuple_New(count);

	for (int i = 0; tuple && i < count; i++) {
		PyObject *number = PyLong_FromLongLong(numbers[i]);

		if (number)
			PyTuple_SET_ITEM(tuple, i, number);
		else
			Py_CLEAR(tuple);
	}
	return tuple;
}

static int read_extent(const char *name, PyObject *object, int64_t *out)
{
	PyObject *number;

	if (!PyIndex_Check(object)) {
		PyErr_Format(PyExc_TypeError, "%s has an entry of type %.100s, not an int", name,
			     Py_TYPE(object)->tp_name);
		return -1;
	}
	number = PyNumber_Index(object);
	if (!number)
		return -1;
	*out = PyLong_AsLongLong(number);
	Py_DECREF(number);
	return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

int bip_extents(const char *name, PyObject *const *args, Py_ssize_t count, int64_t shape[BI_MAX_NDIM], int *ndim)
{
	if (count > BI_MAX_NDIM) {
		PyErr_Format(PyExc_ValueError, "%s has %zd entries, the most is %d", name, count, BI_MAX_NDIM);
		return -1;
	}
	for (Py_ssize_t i = 0; i < count; i++)
		if (read_extent(name, args[i], &shape[i]))
			return -1;
	*ndim = (int)count;
	return 0;
}

/* Whatever can be gone through; a text is most likely a type in the wrong place. */
static PyObject *extents_of(const char *name, PyObject *object)
{
	PyObject *extents = PyUnicode_Check(object) ? NULL : PySequence_Tuple(object);

	if (!extents && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)))
		PyErr_Format(PyExc_TypeError, "%s is of type %.100s, not an int or a sequence of them", name,
			     Py_TYPE(object)->tp_name);
	return extents;
}

int bip_extents_from(const char *name, PyObject *object, int64_t shape[BI_MAX_NDIM], int *count)
{
	PyObject *extents;
	int rc;

	if (PyIndex_Check(object))
		return bip_extents(name, &object, 1, shape, count);
	extents = extents_of(name, object);
	if (!extents)
		return -1;
	rc = bip_extents(name, &PyTuple_GET_ITEM(extents, 0), PyTuple_GET_SIZE(extents), shape, count);
	Py_DECREF(extents);
	return rc;
}

int bip_shape_from(PyObject *object, int64_t shape[BI_MAX_NDIM], int *count)
{
	return bip_extents_from("shape", object, shape, count);
}
