/* fft.forward(array): the Python function of fft.h. Links the library, and needs the package buffer_interface. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <buffer_interface/python.h>

#include "fft.h"

static PyObject *forward(PyObject *module, PyObject *argument)
{
	struct bi_exchange array;
	struct bi_error error;
	int rc;

	(void)module;
	if (bi_python_take(argument, &array) < 0)
		return NULL;
	rc = fft_forward(&array, &error);
	if (array.release)
		array.release(&array);
	if (!rc)
		Py_RETURN_NONE;
	PyErr_SetString(PyExc_ValueError, error.message);
	return NULL;
}

static PyMethodDef functions[] = {
	{ "forward", forward, METH_O,
	  "forward(array)\n--\n\nTransforms the last axis of a complex64 array in place, on its device." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, .m_name = "fft", .m_size = 0, .m_methods = functions };

PyMODINIT_FUNC PyInit_fft(void);

PyMODINIT_FUNC PyInit_fft(void)
{
	return PyModuleDef_Init(&definition);
}
