/* How many threads share a large copy on the processor. */
#include <limits.h>

#include "extension.h"

PyObject *bip_threads(PyObject *module, PyObject *none)
{
	(void)module;
	(void)none;
	return PyLong_FromLong(bi_threads());
}

PyObject *bip_set_threads(PyObject *module, PyObject *count)
{
	struct bi_error err;
	int overflow, rc;
	long number = PyLong_AsLongAndOverflow(count, &overflow);

	(void)module;
	if (number == -1 && PyErr_Occurred())
		return NULL;
	/* What is no int is none of the counts either. */
	rc = bi_set_threads(overflow || number < 0 || number > INT_MAX ? -1 : (int)number, &err);
	return rc ? bip_raise(rc, &err) : Py_NewRef(Py_None);
}
