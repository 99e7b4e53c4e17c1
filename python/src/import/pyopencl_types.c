/* The types of pyopencl. If pyopencl has not been imported, no object can be of its types. */
#include <stdatomic.h>

#include "import/pyopencl_types.h"
#include "base/names.h"

/*
 * The types. `key` and `type` are set when they are first needed, and are never freed. Threads that set them
 * concurrently set the same values.
 */
static struct {
	const char *module, *name;
	_Atomic(PyObject *) key; /* the name `module` as an interned str; NULL until it is needed */
	_Atomic(PyObject *) type;
} types[BIP_CL_TYPES] = {
	[BIP_CL_ARRAY] = { "pyopencl.array", "Array", NULL, NULL },
	[BIP_CL_MEMORY] = { "pyopencl", "MemoryObjectHolder", NULL, NULL },
	[BIP_CL_SVM] = { "pyopencl", "SVMPointer", NULL, NULL },
	[BIP_CL_QUEUE] = { "pyopencl", "CommandQueue", NULL, NULL },
};

/* Returns a new reference to the module, or NULL without an exception if the module has not been imported. */
static PyObject *find_module(enum bip_cl_type which)
{
	PyObject *key = atomic_load_explicit(&types[which].key, memory_order_acquire);
	PyObject *module = NULL;

	if (!key) {
		key = PyUnicode_InternFromString(types[which].module);
		atomic_store_explicit(&types[which].key, key, memory_order_release);
	}
	/* PyImport_GetModule is not used: it also reads the __spec__ of the module in each call. */
	if (key)
		bip_item_of(PyImport_GetModuleDict(), key, &module);
	return module;
}

static PyTypeObject *load_type(enum bip_cl_type which)
{
	PyObject *module = find_module(which), *type;

	if (!module)
		return NULL;
	type = PyObject_GetAttrString(module, types[which].name);
	Py_DECREF(module);
	if (!type && PyErr_ExceptionMatches(PyExc_AttributeError))
		PyErr_Clear();
	atomic_store_explicit(&types[which].type, type, memory_order_release);
	return (PyTypeObject *)type;
}

PyTypeObject *bip_cl_type(enum bip_cl_type which)
{
	PyObject *type = atomic_load_explicit(&types[which].type, memory_order_acquire);

	return type ? (PyTypeObject *)type : load_type(which);
}

int bip_cl_is_a(PyObject *object, enum bip_cl_type which)
{
	PyTypeObject *type = bip_cl_type(which);

	if (type)
		return PyObject_TypeCheck(object, type);
	return PyErr_Occurred() ? -1 : 0;
}
