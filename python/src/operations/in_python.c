/* Methods and operators that are functions of the module buffer_interface._array, and __copy__. */
#include "lifetime.h"
#include "object.h"
#include "operations/operations.h"

PyObject *bip_call_python(const char *name, PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	PyObject *module = PyImport_ImportModule("buffer_interface._array");
	PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
	Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0);
	PyObject **values = function ? PyMem_New(PyObject *, (size_t)all + 1) : NULL;
	PyObject *result = NULL;

	if (function && !values)
		PyErr_NoMemory();
	if (values) {
		values[0] = self;
		for (Py_ssize_t i = 0; i < all; i++)
			values[i + 1] = args[i];
		result = PyObject_Vectorcall(function, values, (size_t)count + 1, names);
	}
	PyMem_Free(values);
	Py_XDECREF(function);
	Py_XDECREF(module);
	return result;
}

#define IN_PYTHON(name) \
	PyObject *bip_##name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) \
	{ \
		return bip_refuse_released(self) ? NULL : bip_call_python(#name, self, args, count, names); \
	}

IN_PYTHON(ndarray)
IN_PYTHON(numpy)
IN_PYTHON(tolist)
IN_PYTHON(tobytes)
IN_PYTHON(deepcopy)
IN_PYTHON(reduce)
IN_PYTHON(ravel)
IN_PYTHON(squeeze)
IN_PYTHON(to_device)
IN_PYTHON(html)
IN_PYTHON(ready)
IN_PYTHON(reversed)
IN_PYTHON(format)

PyObject *bip_iterate(PyObject *self)
{
	return bip_refuse_released(self) ? NULL : bip_call_python("iterate", self, NULL, 0, NULL);
}

PyObject *bip_get_mT(PyObject *self, void *Py_UNUSED(closure))
{
	return bip_refuse_released(self) ? NULL : bip_call_python("swap_last_axes", self, NULL, 0, NULL);
}

int bip_contains(PyObject *self, PyObject *value)
{
	PyObject *result = bip_refuse_released(self) ? NULL : bip_call_python("contains", self, &value, 1, NULL);
	int found = result ? PyObject_IsTrue(result) : -1;

	Py_XDECREF(result);
	return found;
}

PyObject *bip_compare(PyObject *self, PyObject *other, int operation)
{
	PyObject *args[] = { other, operation == Py_EQ ? Py_True : Py_False };

	if (operation != Py_EQ && operation != Py_NE)
		return bip_refuse_arithmetic(self, other);
	return bip_refuse_released(self) ? NULL : bip_call_python("compare", self, args, 2, NULL);
}

PyObject *bip_copy_protocol(PyObject *self, PyObject *Py_UNUSED(none))
{
	return bip_copy(self, NULL, 0, NULL);
}
