/* Types and attributes of pyopencl: whoever has an object of it has imported it. */
#include <stdatomic.h>

#include "import/pyopencl_types.h"
#include "names.h"

/* Types */

/* Both are kept for ever, once found. Threads that find them at once find the same. */
static struct {
	const char *module, *name;
	_Atomic(PyObject *) key; /* the name of the module, interned */
	_Atomic(PyObject *) type;
} types[BIP_CL_TYPES] = {
	[BIP_CL_ARRAY] = { "pyopencl.array", "Array", NULL, NULL },
	[BIP_CL_MEMORY] = { "pyopencl", "MemoryObjectHolder", NULL, NULL },
	[BIP_CL_SVM] = { "pyopencl", "SVMPointer", NULL, NULL },
	[BIP_CL_QUEUE] = { "pyopencl", "CommandQueue", NULL, NULL },
	[BIP_CL_EVENT] = { "pyopencl", "Event", NULL, NULL },
	[BIP_CL_EVENT_INFO] = { "pyopencl", "event_info", NULL, NULL },
};

/* A new reference, or NULL: without an exception if it is not imported. */
static PyObject *get_module(enum bip_cl_type which)
{
	PyObject *key = atomic_load_explicit(&types[which].key, memory_order_acquire);
	PyObject *module = NULL;

	if (!key) {
		key = PyUnicode_InternFromString(types[which].module);
		atomic_store_explicit(&types[which].key, key, memory_order_release);
	}
	/* PyImport_GetModule would find sys.modules by its name first, at every import of something else. */
	if (key)
		bip_item_of(PyImport_GetModuleDict(), key, &module);
	return module;
}

static PyTypeObject *load_type(enum bip_cl_type which)
{
	PyObject *module = get_module(which), *type;

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
 * An attribute that pyopencl computes. What computes it is called by itself where the object's type has the very
 * descriptor that the type of pyopencl has: the interpreter would go through the same look-up, a property and, for what
 * a driver is asked, a function of Python around it. Versions of pyopencl that have it otherwise are asked as anybody.
 */
struct way {
	PyObject *descriptor; /* NULL: there is no other way than anybody's */
	PyObject *getter;
	PyObject *argument; /* the getter's second one, or NULL */
};

struct computed {
	enum bip_cl_type type;
	PyObject **name; /* interned */
	/* The getter and its argument. New references, also on failure. */
	int (*find)(struct way *way);
	_Atomic(const struct way *) way; /* kept for ever, once found */
};

static int find_handle(struct way *way)
{
	if (Py_IS_TYPE(way->descriptor, &PyProperty_Type))
		way->getter = PyObject_GetAttrString(way->descriptor, "fget");
	return way->getter && PyCallable_Check(way->getter) ? 0 : -1;
}

/* The property is a function that calls get_info. */
static int find_status(struct way *way)
{
	PyTypeObject *event = bip_cl_type(BIP_CL_EVENT), *info = bip_cl_type(BIP_CL_EVENT_INFO);

	way->getter = event ? PyObject_GetAttrString((PyObject *)event, "get_info") : NULL;
	way->argument = info ? PyObject_GetAttrString((PyObject *)info, "COMMAND_EXECUTION_STATUS") : NULL;
	return way->getter && way->argument ? 0 : -1;
}

static void clear(struct way *way)
{
	Py_CLEAR(way->descriptor);
	Py_CLEAR(way->getter);
	Py_CLEAR(way->argument);
}

/* Threads that look for it at once find the same; one of them is heard. NULL without an exception: no memory. */
static const struct way *learn(struct computed *computed)
{
	struct way *found = PyMem_RawMalloc(sizeof(*found));
	PyTypeObject *type = bip_cl_type(computed->type);
	const struct way *known = NULL;

	if (!found)
		return NULL;
	*found = (struct way){ type ? bip_type_attribute(type, *computed->name) : NULL, NULL, NULL };
	if (!found->descriptor || computed->find(found))
		clear(found);
	PyErr_Clear();
	if (atomic_compare_exchange_strong(&computed->way, &known, found))
		return found;
	clear(found);
	PyMem_RawFree(found);
	return known;
}

/* A new reference. */
static PyObject *get(PyObject *object, struct computed *computed)
{
	const struct way *way = atomic_load_explicit(&computed->way, memory_order_acquire);
	PyObject *arguments[2] = { object, NULL }, *on_type;
	int is_known;

	if (!way)
		way = learn(computed);
	on_type = bip_type_attribute(Py_TYPE(object), *computed->name);
	is_known = way && on_type && on_type == way->descriptor;
	Py_XDECREF(on_type);
	if (!is_known || Py_TYPE(object)->tp_getattro != PyObject_GenericGetAttr)
		return PyObject_GetAttr(object, *computed->name);
	arguments[1] = way->argument;
	return PyObject_Vectorcall(way->getter, arguments, way->argument ? 2 : 1, NULL);
}

static struct computed handles[BIP_CL_TYPES] = {
	[BIP_CL_MEMORY] = { BIP_CL_MEMORY, &bip_name.int_ptr, find_handle, NULL },
	[BIP_CL_QUEUE] = { BIP_CL_QUEUE, &bip_name.int_ptr, find_handle, NULL },
	[BIP_CL_EVENT] = { BIP_CL_EVENT, &bip_name.int_ptr, find_handle, NULL },
};

int bip_cl_handle(PyObject *object, enum bip_cl_type type, uintptr_t *out)
{
	PyObject *value = get(object, &handles[type]);

	if (!value)
		return -1;
	*out = PyLong_AsSize_t(value);
	Py_DECREF(value);
	return *out == (size_t)-1 && PyErr_Occurred() ? -1 : 0;
}

PyObject *bip_cl_status(PyObject *event)
{
	static struct computed status = { BIP_CL_EVENT, &bip_name.command_execution_status, find_status, NULL };

	return get(event, &status);
}
