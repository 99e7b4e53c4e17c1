/* acquire of a table of section 5 of the specification: calls array.fill(address of the structure, wishes). */
#include <Python.h>

int peer_acquire(PyObject *array, uint32_t wishes, void *out)
{
	PyObject *result = PyObject_CallMethod(array, "fill", "KI", (unsigned long long)(uintptr_t)out, wishes);
	int code = result ? (int)PyLong_AsLong(result) : -1;

	Py_XDECREF(result);
	return code;
}
