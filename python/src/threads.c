/* threads() and set_threads(). */
#include <limits.h>

#include "threads.h"
#include "base/errors.h"

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
	if (overflow || number < INT_MIN || number > INT_MAX) {
		PyErr_Format(PyExc_ValueError, "%R threads are not in 0..%d", count, BI_MAX_THREADS);
		return NULL;
	}
	rc = bi_set_threads((int)number, &err);
	return rc ? bip_raise(rc, &err) : Py_NewRef(Py_None);
}
