/* Converts shapes, strides and indices from and to Python objects. */
#include <string.h>

#include "base/errors.h"
#include "base/shapes.h"

PyObject *bip_tuple(const int64_t *numbers, int count)
{
	int64_t copy[BI_MAX_NDIM];
	PyObject *tuple;

	/* An allocation of Python 3.11 may run any code, which may release the owner of the numbers. */
	if (count)
		memcpy(copy, numbers, (size_t)count * sizeof(*numbers));
	tuple = PyTuple_New(count);
	for (int i = 0; tuple && i < count; i++) {
		PyObject *number = PyLong_FromLongLong(copy[i]);

		if (number)
			PyTuple_SET_ITEM(tuple, i, number);
		else
			Py_CLEAR(tuple);
	}
	return tuple;
}

int bip_is_number(PyObject *object)
{
	PyObject *number;

	if (!PyIndex_Check(object) || !(Py_TYPE(object)->tp_iter || PySequence_Check(object)))
		return PyIndex_Check(object);
	number = PyNumber_Index(object);
	Py_XDECREF(number);
	if (number)
		return 1;
	if (!PyErr_ExceptionMatches(PyExc_TypeError))
		return -1;
	PyErr_Clear();
	return 0;
}

static int read_number(const char *name, PyObject *object, int64_t *out)
{
	PyObject *number;

	if (!PyIndex_Check(object))
		return bip_refuse(PyExc_TypeError, "%s has an entry of type %.100s, not an int", name,
				  Py_TYPE(object)->tp_name);
	number = PyNumber_Index(object);
	if (!number)
		return -1;
	*out = PyLong_AsLongLong(number);
	Py_DECREF(number);
	if (*out != -1 || !PyErr_Occurred())
		return 0;
	return bip_refuse_range(PyExc_OverflowError, name, object, "numbers of 64 bits");
}

int bip_read_numbers(const char *name, PyObject *const *objects, Py_ssize_t count, int64_t numbers[BI_MAX_NDIM],
		     int *ndim)
{
	if (count > BI_MAX_NDIM)
		return bip_refuse(PyExc_ValueError, "%s has %zd entries, at most %d are allowed", name, count,
				  BI_MAX_NDIM);
	for (Py_ssize_t i = 0; i < count; i++)
		if (read_number(name, objects[i], &numbers[i]))
			return -1;
	*ndim = (int)count;
	return 0;
}

PyObject *bip_tuple_of_numbers(const char *name, PyObject *object)
{
	int is_refused = PyUnicode_Check(object) || PyBytes_Check(object) || PyAnySet_Check(object);
	PyObject *tuple = is_refused ? NULL : PySequence_Tuple(object);

	if (!tuple && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)))
		PyErr_Format(PyExc_TypeError, "%s is of type %.100s, not an int or a sequence of them", name,
			     Py_TYPE(object)->tp_name);
	return tuple;
}

int bip_read_sequence(const char *name, PyObject *object, int64_t numbers[BI_MAX_NDIM], int *ndim)
{
	int is_number = bip_is_number(object), rc;
	PyObject *tuple;

	if (is_number)
		return is_number < 0 ? -1 : bip_read_numbers(name, &object, 1, numbers, ndim);
	tuple = bip_tuple_of_numbers(name, object);
	if (!tuple)
		return -1;
	rc = bip_read_numbers(name, &PyTuple_GET_ITEM(tuple, 0), PyTuple_GET_SIZE(tuple), numbers, ndim);
	Py_DECREF(tuple);
	return rc;
}
