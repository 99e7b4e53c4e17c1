/* Interned names, and access to attributes and items by name. */
#include <string.h>

#include "base/names.h"

struct bip_names bip_name;

int bip_names_init(void)
{
#define INTERN(name) \
	if (!(bip_name.name = PyUnicode_InternFromString(#name))) \
		return -1;
	BIP_NAMES(INTERN)
#undef INTERN
	return 0;
}

const char *bip_utf8(PyObject *string)
{
	Py_ssize_t length;
	const char *text = PyUnicode_AsUTF8AndSize(string, &length);

	if (!text || strlen(text) == (size_t)length)
		return text;
	PyErr_Format(PyExc_ValueError, "%R contains a NUL character", string);
	return NULL;
}

int bip_check_method(PyObject *method, PyObject *name)
{
	if (PyCallable_Check(method))
		return 0;
	PyErr_Format(PyExc_TypeError, "%U is of type %.100s, not a method", name, Py_TYPE(method)->tp_name);
	return -1;
}

int bip_attribute(PyObject *object, PyObject *name, PyObject **out)
{
#if PY_VERSION_HEX >= 0x030D0000
	return PyObject_GetOptionalAttr(object, name, out) < 0 ? -1 : 0;
#else
	/* This function creates no AttributeError, which saves time. */
	return _PyObject_LookupAttr(object, name, out) < 0 ? -1 : 0;
#endif
}

int bip_item_of(PyObject *mapping, PyObject *key, PyObject **out)
{
	if (PyDict_CheckExact(mapping)) {
#if PY_VERSION_HEX >= 0x030D0000
		return PyDict_GetItemRef(mapping, key, out) < 0 ? -1 : 0;
#else
		*out = Py_XNewRef(PyDict_GetItemWithError(mapping, key));
		return !*out && PyErr_Occurred() ? -1 : 0;
#endif
	}
	*out = PyObject_GetItem(mapping, key);
	if (*out)
		return 0;
	if (!PyErr_ExceptionMatches(PyExc_KeyError))
		return -1;
	PyErr_Clear();
	return 0;
}

/* _PyType_Lookup looks only at the type and its bases, not at a metaclass. It creates no AttributeError. */
PyObject *bip_type_attribute(PyTypeObject *type, PyObject *name)
{
#if PY_VERSION_HEX >= 0x030D0000
	return _PyType_LookupRef(type, name);
#else
	return Py_XNewRef(_PyType_Lookup(type, name));
#endif
}

int bip_type_has(PyTypeObject *type, PyObject *name)
{
	PyObject *found = bip_type_attribute(type, name);

	Py_XDECREF(found);
	return found != NULL;
}

PyObject *bip_attribute_of_module(const char *module_name, const char *name)
{
	PyObject *key = PyUnicode_FromString(module_name);
	PyObject *module = key ? PyImport_GetModule(key) : NULL;
	/* None in sys.modules means that the import of the module is forbidden. */
	PyObject *value = module && module != Py_None ? PyObject_GetAttrString(module, name) : NULL;

	Py_XDECREF(key);
	Py_XDECREF(module);
	return value;
}
