/*
 * BufferInterface for authors of CPython extensions
 *
 * One line converts an array argument of any kind, in any memory, to the exchange structure of abi.h:
 *
 *     static PyObject *sum(PyObject *module, PyObject *argument)
 *     {
 *         struct bi_exchange array;
 *
 *         if (bi_python_take(argument, &array) < 0)
 *             return NULL;
 *         ... array.device_type, array.handle, array.shape, array.strides ...
 *         array.release(&array);
 *
 * Nothing has to be linked: the functions are in this header. Objects whose type has the attribute
 * `__buffer_interface_c__` describe themselves. The Python package buffer_interface converts all other arrays: NumPy,
 * CuPy, PyTorch, Numba, pyopencl, and any object with DLPack, the CUDA Array Interface or the buffer protocol. The
 * package is imported for the first such argument.
 *
 * Ownership and ordering are those of abi.h. An extension releases each struct exactly once, on any thread, with or
 * without the GIL, when its work on the memory is finished or ordered into the struct's stream. The memory stays alive
 * until then, even if the object does not. An extension that reads or writes the memory with the CPU calls
 * bi_python_acquire with BI_ACQUIRE_READY, because work of a device on host memory may be pending.
 *
 * A package that offers its own arrays in this way puts a capsule named BI_PYTHON_CAPSULE on their type, under the name
 * BI_PYTHON_ATTRIBUTE. The capsule points to a struct bi_python_api that lives as long as the process.
 *
 * The header compiles as C99, C11 and C++, with and without Py_LIMITED_API (from 3.11 on) and Py_TARGET_ABI3T. All
 * functions need the GIL. In free-threaded Python any number of threads may call them.
 */
#ifndef BUFFER_INTERFACE_PYTHON_H
#define BUFFER_INTERFACE_PYTHON_H

#include <Python.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BI_PYTHON_ATTRIBUTE "__buffer_interface_c__"
#define BI_PYTHON_CAPSULE "buffer_interface.c_api"

/*
 * The table in the capsule of a type. Later versions append functions: a caller uses a function only if struct_size
 * covers it.
 */
struct bi_python_api {
	uint32_t version;               /* BI_ABI_VERSION of the producer; check it before a call */
	uint32_t struct_size;           /* sizeof(struct bi_python_api) of the producer */
	/*
	 * Fills *out with a description of the object, which is of that type or of a subtype, and with a reference that
	 * out->release releases. The caller has set version and struct_size of *out. `wishes` are BI_ACQUIRE_ bits.
	 * Returns 0, or -1 with an exception set; out->release is NULL then.
	 */
	int (*acquire)(PyObject *object, uint32_t wishes, struct bi_exchange *out);
};

/*
 * Sets *out to a new reference to the capsule of a type, or to NULL if the type has none. Returns 0, or -1 with an
 * exception.
 */
static inline int bi_python_find_capsule(PyTypeObject *type, PyObject **out)
{
#if PY_VERSION_HEX >= 0x030D0000 && (!defined(Py_LIMITED_API) || Py_LIMITED_API + 0 >= 0x030D0000)
	return PyObject_GetOptionalAttrString(BI__HANDLE(PyObject *, type), BI_PYTHON_ATTRIBUTE, out) < 0 ? -1 : 0;
#else
	*out = PyObject_GetAttrString(BI__HANDLE(PyObject *, type), BI_PYTHON_ATTRIBUTE);
	if (*out)
		return 0;
	if (!PyErr_ExceptionMatches(PyExc_AttributeError))
		return -1;
	PyErr_Clear();
	return 0;
#endif
}

/*
 * Returns the table in a capsule, or NULL with an exception. TypeError: the object is not such a capsule, or its table
 * lacks a function. BufferError: the version is not known.
 */
static inline const struct bi_python_api *bi_python_open_capsule(PyObject *capsule)
{
	const struct bi_python_api *api;

	api = BI__CAST(const struct bi_python_api *, PyCapsule_GetPointer(capsule, BI_PYTHON_CAPSULE));
	if (!api) {
		PyErr_Format(PyExc_TypeError, BI_PYTHON_ATTRIBUTE " is of %R, not a capsule named " BI_PYTHON_CAPSULE,
			     Py_TYPE(capsule));
		return BI__NULL;
	}
	if (!BI_ABI_KNOWS(api->version) || api->struct_size < sizeof(*api)) {
		PyErr_Format(PyExc_BufferError,
			     BI_PYTHON_ATTRIBUTE " has version %u.%u and %u bytes, this module knows version %u.%u",
			     api->version >> 16, api->version & 0xffff, api->struct_size, BI_ABI_VERSION >> 16,
			     BI_ABI_VERSION & 0xffff);
		return BI__NULL;
	}
	if (api->acquire)
		return api;
	PyErr_SetString(PyExc_TypeError, "the function acquire of " BI_PYTHON_ATTRIBUTE " is NULL");
	return BI__NULL;
}

/*
 * A cache of the last type with a table and of the last type without one, because most arguments have one of few types.
 * The cache keeps the types alive, so that no other type gets their addresses. It belongs to the first interpreter that
 * uses it. Other interpreters, and free-threaded Python, have no cache.
 */
struct bi_python_memory {
	PyTypeObject *type;             /* the last type that had a table */
	const struct bi_python_api *api; /* the table of `type` */
	PyTypeObject *plain;            /* the last type without a table */
	PyObject *function;             /* buffer_interface.buffer_interface */
	PyInterpreterState *owner;      /* the interpreter that all of this belongs to */
};

static inline struct bi_python_memory *bi_python_recall(void)
{
#ifdef Py_GIL_DISABLED
	return BI__NULL;
#else
	static struct bi_python_memory memory;
	PyInterpreterState *mine = PyInterpreterState_Get();

	if (!memory.owner)
		memory.owner = mine;
	return memory.owner == mine ? &memory : BI__NULL;
#endif
}

static inline void bi_python_remember_type(PyTypeObject **place, PyTypeObject *type)
{
	PyObject *forgotten = BI__HANDLE(PyObject *, *place);

	Py_INCREF(BI__HANDLE(PyObject *, type));
	*place = type;
	Py_XDECREF(forgotten);
}

/* Finds the table of a type without the cache. Returns like bi_python_api_of. */
static inline int bi_python_look_up(PyTypeObject *type, const struct bi_python_api **out)
{
	PyObject *capsule;

	*out = BI__NULL;
	if (bi_python_find_capsule(type, &capsule) < 0)
		return -1;
	if (!capsule)
		return 0;
	*out = bi_python_open_capsule(capsule);
	Py_DECREF(capsule);
	return *out ? 1 : -1;
}

/* Returns 1 and sets *out to the table of a type, 0 if the type has none, or -1 with an exception. */
static inline int bi_python_api_of(PyTypeObject *type, const struct bi_python_api **out)
{
	struct bi_python_memory *memory = bi_python_recall();
	int rc;

	if (memory && type == memory->type) {
		*out = memory->api;
		return 1;
	}
	if (memory && type == memory->plain)
		return 0;
	rc = bi_python_look_up(type, out);
	if (memory && rc == 1) {
		memory->api = *out;
		bi_python_remember_type(&memory->type, type);
	} else if (memory && rc == 0) {
		bi_python_remember_type(&memory->plain, type);
	}
	return rc;
}

/* Returns a new reference to buffer_interface.buffer_interface, or NULL with an exception. */
static inline PyObject *bi_python_find_function(void)
{
	PyObject *name = PyUnicode_FromString("buffer_interface");
	PyObject *module = name ? PyImport_Import(name) : BI__NULL;
	PyObject *function = module ? PyObject_GetAttr(module, name) : BI__NULL;

	Py_XDECREF(module);
	Py_XDECREF(name);
	return function;
}

/* Returns a new reference to buffer_interface.buffer_interface(argument), or NULL with an exception. */
static inline PyObject *bi_python_import(PyObject *argument)
{
	struct bi_python_memory *memory = bi_python_recall();
	PyObject *function = memory ? memory->function : BI__NULL;
	PyObject *array = BI__NULL;

	if (!function) {
		function = bi_python_find_function();
		if (memory)
			memory->function = function;
	}
	if (function)
		array = PyObject_CallFunctionObjArgs(function, argument, BI__NULL);
	if (!memory)
		Py_XDECREF(function);
	return array;
}

/* Converts an object whose type has no table. Returns 0, or -1 with an exception. */
static inline int bi_python_take_other(PyObject *argument, uint32_t wishes, struct bi_exchange *out)
{
	const struct bi_python_api *api;
	PyObject *array = bi_python_import(argument);
	int rc;

	if (!array)
		return -1;
	rc = bi_python_api_of(Py_TYPE(array), &api);
	if (rc == 0)
		PyErr_SetString(PyExc_TypeError, "the result of buffer_interface() has no " BI_PYTHON_ATTRIBUTE);
	/* The array is released below, so *out must hold a reference of its own. */
	rc = rc == 1 ? api->acquire(array, wishes & ~BI_ACQUIRE_BORROW, out) : -1;
	Py_DECREF(array);
	return rc;
}

/*
 * Fills *out with the description of any array argument, and with a reference that out->release(out) releases. `wishes`
 * are BI_ACQUIRE_ bits. Returns 0, or -1 with an exception set; out->release is NULL then. TypeError: the argument is
 * no array. BufferError and its subclasses: the array cannot be used as it is.
 */
static inline int bi_python_acquire(PyObject *argument, uint32_t wishes, struct bi_exchange *out)
{
	const struct bi_python_api *api;
	int rc = bi_python_api_of(Py_TYPE(argument), &api);

	out->version = BI_ABI_VERSION;
	out->struct_size = BI__CAST(uint32_t, sizeof(*out));
	out->release = BI__NULL;
	if (rc < 0)
		return -1;
	return rc ? api->acquire(argument, wishes, out) : bi_python_take_other(argument, wishes, out);
}

/* Does the same as bi_python_acquire without wishes. */
static inline int bi_python_take(PyObject *argument, struct bi_exchange *out)
{
	return bi_python_acquire(argument, 0, out);
}

/*
 * Does the same as bi_python_take, for one call during which the caller keeps the argument alive. *out may then hold no
 * reference, which is faster. Release *out as after bi_python_take.
 */
static inline int bi_python_borrow(PyObject *argument, struct bi_exchange *out)
{
	return bi_python_acquire(argument, BI_ACQUIRE_BORROW, out);
}

/*
 * bi_python_take as a converter: PyArg_ParseTuple(args, "O&O&", bi_python_converter, &a, bi_python_converter, &b). If a
 * later argument is refused, Python calls the converter with NULL to release the earlier structs.
 */
static inline int bi_python_converter(PyObject *argument, void *out)
{
	struct bi_exchange *array = BI__CAST(struct bi_exchange *, out);

	if (argument)
		return bi_python_take(argument, array) < 0 ? 0 : Py_CLEANUP_SUPPORTED;
	if (array->release)
		array->release(array);
	return 1;
}

#ifdef __cplusplus
}
#endif

#endif
