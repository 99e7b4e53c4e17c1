/*
 * The types of pyopencl, and attributes of their objects. If pyopencl has not been imported, no object can be of its
 * types.
 */
#include <stdatomic.h>

#include "import/pyopencl_types.h"
#include "base/names.h"

/* Types */

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
	[BIP_CL_EVENT] = { "pyopencl", "Event", NULL, NULL },
	[BIP_CL_EVENT_INFO] = { "pyopencl", "event_info", NULL, NULL },
};

/* Returns a new reference to the module. Returns NULL without an exception if it has not been imported. */
static PyObject *find_module(enum bip_cl_type which)
{
	PyObject *key = atomic_load_explicit(&types[which].key, memory_order_acquire);
	PyObject *module = NULL;

	if (!key) {
		key = PyUnicode_InternFromString(types[which].module);
		atomic_store_explicit(&types[which].key, key, memory_order_release);
	}
	/* PyImport_GetModule is not used: it looks up sys.modules by name in each call. */
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

/* Attributes */

/*
 * An attribute that pyopencl computes, and the function that computes it. If the object's type has the same descriptor
 * as the type of pyopencl, the function is called directly. That saves the call of the property, and for a status the
 * call of a Python function. If a version of pyopencl has no such function, the attribute is read in the usual way.
 */
struct computation {
	PyObject *descriptor; /* the descriptor on pyopencl's type; NULL: the attribute is read in the usual way */
	PyObject *getter;
	PyObject *argument; /* the second argument of the getter, or NULL */
};

struct computed {
	enum bip_cl_type type;
	PyObject **name; /* interned */
	/* Fills in the getter and its argument with new references, which the caller releases also on failure. */
	int (*find)(struct computation *computation);
	_Atomic(const struct computation *) computation; /* NULL until it is needed; never freed */
};

static int find_handle(struct computation *computation)
{
	if (Py_IS_TYPE(computation->descriptor, &PyProperty_Type))
		computation->getter = PyObject_GetAttrString(computation->descriptor, "fget");
	return computation->getter && PyCallable_Check(computation->getter) ? 0 : -1;
}

/* Finds the function behind the status. The property is a Python function that calls get_info. */
static int find_status(struct computation *computation)
{
	PyTypeObject *event = bip_cl_type(BIP_CL_EVENT), *info = bip_cl_type(BIP_CL_EVENT_INFO);

	computation->getter = event ? PyObject_GetAttrString((PyObject *)event, "get_info") : NULL;
	computation->argument = info ? PyObject_GetAttrString((PyObject *)info, "COMMAND_EXECUTION_STATUS") : NULL;
	return computation->getter && computation->argument ? 0 : -1;
}

static void clear_computation(struct computation *computation)
{
	Py_CLEAR(computation->descriptor);
	Py_CLEAR(computation->getter);
	Py_CLEAR(computation->argument);
}

/*
 * Finds and stores the computation of an attribute. If several threads do so, the result of the first is used. Returns
 * NULL without an exception if memory is exhausted.
 */
static const struct computation *find_computation(struct computed *computed)
{
	struct computation *found = PyMem_RawMalloc(sizeof(*found));
	PyTypeObject *type = bip_cl_type(computed->type);
	const struct computation *known = NULL;

	if (!found)
		return NULL;
	*found = (struct computation){ type ? bip_type_attribute(type, *computed->name) : NULL, NULL, NULL };
	if (!found->descriptor || computed->find(found))
		clear_computation(found);
	PyErr_Clear();
	if (atomic_compare_exchange_strong(&computed->computation, &known, found))
		return found;
	clear_computation(found);
	PyMem_RawFree(found);
	return known;
}

static PyObject *get_computed(PyObject *object, struct computed *computed)
{
	const struct computation *computation = atomic_load_explicit(&computed->computation, memory_order_acquire);
	PyObject *arguments[2] = { object, NULL }, *on_type;
	int is_known;

	if (!computation)
		computation = find_computation(computed);
	on_type = bip_type_attribute(Py_TYPE(object), *computed->name);
	is_known = computation && on_type && on_type == computation->descriptor;
	Py_XDECREF(on_type);
	if (!is_known || Py_TYPE(object)->tp_getattro != PyObject_GenericGetAttr)
		return PyObject_GetAttr(object, *computed->name);
	arguments[1] = computation->argument;
	return PyObject_Vectorcall(computation->getter, arguments, computation->argument ? 2 : 1, NULL);
}

static struct computed handles[BIP_CL_TYPES] = {
	[BIP_CL_MEMORY] = { BIP_CL_MEMORY, &bip_name.int_ptr, find_handle, NULL },
	[BIP_CL_QUEUE] = { BIP_CL_QUEUE, &bip_name.int_ptr, find_handle, NULL },
	[BIP_CL_EVENT] = { BIP_CL_EVENT, &bip_name.int_ptr, find_handle, NULL },
};

int bip_cl_handle(PyObject *object, enum bip_cl_type type, uintptr_t *out)
{
	PyObject *value = get_computed(object, &handles[type]);

	if (!value)
		return -1;
	*out = PyLong_AsSize_t(value);
	Py_DECREF(value);
	return *out == (size_t)-1 && PyErr_Occurred() ? -1 : 0;
}

PyObject *bip_cl_status(PyObject *event)
{
	static struct computed status = { BIP_CL_EVENT, &bip_name.command_execution_status, find_status, NULL };

	return get_computed(event, &status);
}
