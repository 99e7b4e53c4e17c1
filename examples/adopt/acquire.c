/*
 * acquire() of the table of section 5 of docs/specification.md for types that are written in Python. It calls
 * object._fill_exchange(address of the structure, wishes). A callback of ctypes cannot do this, because an exception does
 * not pass through it.
 */
#include <Python.h>
#include <buffer_interface/abi.h>

int adopt_acquire(PyObject *object, uint32_t wishes, struct bi_exchange *out)
{
	PyObject *result;

	out->release = NULL;
	result = PyObject_CallMethod(object, "_fill_exchange", "KI", (unsigned long long)(uintptr_t)out, wishes);
	Py_XDECREF(result);
	return result ? 0 : -1;
}
