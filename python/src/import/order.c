/* The choice of the protocol by which an object is imported. */
#include <stdatomic.h>
#include <string.h>

#include "import/order.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/import.h"
#include "import/values.h"

/*
 * The protocols in the order in which they are tried. The first describe most of an array, the last describe least.
 * import_in_order has another order for a memoryview and for arrays of NumPy. The argument `protocol` accepts the names
 * of this table.
 *
 * The CUDA Array Interface and DLPack share a place, because the dictionary may be read only once [C14]. The dictionary
 * comes first if it names a stream, which becomes the home stream, or a mask, which DLPack does not have. Otherwise
 * DLPack comes first.
 */
struct bip_protocol {
	const char *name;
	PyObject **attribute; /* attribute by which bip_has_protocol finds the protocol; NULL: none */
	bip_importer *importer; /* used if protocol= names the protocol */
	bip_importer *in_order; /* used if protocol= is not given; NULL: the importer of the entry above tries this
				   protocol too */
};

static const struct bip_protocol order[] = {
	{ "native", &bip_name.__buffer_interface_c__, bip_import_native, bip_import_native },
	{ "pyopencl", NULL, bip_import_pyopencl, bip_import_pyopencl },
	{ "cuda_array_interface", &bip_name.__cuda_array_interface__, bip_import_cai, bip_import_cai_or_dlpack },
	{ "dlpack", &bip_name.__dlpack__, bip_import_dlpack, NULL },
	{ "draft", &bip_name.__buffer_interface__, bip_import_draft, bip_import_draft },
	{ "buffer", NULL, bip_import_buffer, bip_import_buffer },
	{ "array_struct", &bip_name.__array_struct__, bip_import_array_struct, bip_import_array_struct },
	{ "array_interface", &bip_name.__array_interface__, bip_import_array_interface, bip_import_array_interface },
};

/* Returns the names as a str for messages: "'native', 'pyopencl', ...". */
static PyObject *list_names(void)
{
	PyObject *text = PyUnicode_FromFormat("'%s'", order[0].name);

	for (size_t i = 1; text && i < Py_ARRAY_LENGTH(order); i++)
		Py_SETREF(text, PyUnicode_FromFormat("%U, '%s'", text, order[i].name));
	return text;
}

static int refuse_protocol(PyObject *value)
{
	PyObject *names = list_names();

	if (names)
		PyErr_Format(PyExc_ValueError, "protocol is %R, not one of %U", bip_printable(value), names);
	Py_XDECREF(names);
	return -1;
}

int bip_read_protocol(PyObject *value, const struct bip_protocol **out)
{
	*out = NULL;
	if (value == Py_None)
		return 0;
	for (size_t i = 0; i < Py_ARRAY_LENGTH(order); i++) {
		if (!PyUnicode_Check(value) || PyUnicode_CompareWithASCIIString(value, order[i].name))
			continue;
		*out = &order[i];
		return 0;
	}
	return refuse_protocol(value);
}

int bip_has_protocol(PyTypeObject *type)
{
	if (type->tp_as_buffer && type->tp_as_buffer->bf_getbuffer)
		return 1;
	for (size_t i = 0; i < Py_ARRAY_LENGTH(order); i++)
		if (order[i].attribute && bip_type_has(type, *order[i].attribute))
			return 1;
	return 0;
}

/* The type numpy.ndarray, owned until the process ends; NULL until load_ndarray has stored it. */
static _Atomic(PyTypeObject *) known;

/*
 * Stores numpy.ndarray and returns it, borrowed. If several threads do so, all return the type that the first has
 * stored. Returns NULL without an exception if NumPy has not been imported.
 */
static PyTypeObject *load_ndarray(void)
{
	PyObject *type = bip_attribute_of_module("numpy", "ndarray");
	PyTypeObject *stored = NULL;

	PyErr_Clear();
	if (type && PyType_Check(type) && atomic_compare_exchange_strong(&known, &stored, (PyTypeObject *)type))
		return (PyTypeObject *)type;
	Py_XDECREF(type);
	return stored;
}

PyTypeObject *bip_find_ndarray(PyTypeObject *type)
{
	PyTypeObject *ndarray = atomic_load_explicit(&known, memory_order_acquire);

	for (PyTypeObject *base = type; !ndarray && base; base = base->tp_base)
		if (strcmp(base->tp_name, "numpy.ndarray") == 0)
			ndarray = load_ndarray();
	return ndarray;
}

int bip_is_ndarray(PyTypeObject *type)
{
	const PyBufferProcs *procs = type->tp_as_buffer;
	/* Each type derived from numpy.ndarray has the buffer protocol. */
	PyTypeObject *ndarray = procs && procs->bf_getbuffer ? bip_find_ndarray(type) : NULL;

	return ndarray && (type == ndarray || PyType_IsSubtype(type, ndarray));
}

/*
 * numpy.ndarray and the types derived from it support every protocol of host memory, but some derived types support a
 * protocol wrongly: a masked array exports DLPack without its mask. So their objects are imported by the CUDA Array
 * Interface if they have it, and otherwise by the buffer protocol. bip_import_buffer refuses masked arrays.
 */
static int import_in_order(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	int rc = 0;

	/* A memoryview supports only the buffer protocol. */
	if (PyMemoryView_Check(object))
		return bip_import_buffer(object, request, found);
	if (bip_is_ndarray(Py_TYPE(object))) {
		rc = bip_import_ndarray(object, found);
		/* Numba's managed and mapped arrays are ndarrays whose __cuda_array_interface__ can name a stream. */
		if (!rc)
			rc = bip_import_cai(object, request, found);
		return rc ? rc : bip_import_buffer(object, request, found);
	}
	for (size_t i = 0; i < Py_ARRAY_LENGTH(order) && !rc; i++)
		if (order[i].in_order)
			rc = order[i].in_order(object, request, found);
	return rc;
}

static int import_by_name(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	if (bip_is_ndarray(Py_TYPE(object)) && bip_refuse_masked(object))
		return -1;
	return request->protocol->importer(object, request, found);
}

/* Returns the end of the message: how an object without a protocol becomes an array. */
static const char *find_remedy(PyObject *object)
{
	if (PyList_Check(object) || PyTuple_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
	    PyComplex_Check(object))
		return "np.asarray(x) makes an array of it";
	if (bip_type_has(Py_TYPE(object), bip_name.__dlpack__) &&
	    !bip_type_has(Py_TYPE(object), bip_name.__dlpack_device__))
		return "beside __dlpack__ it needs __dlpack_device__";
	if (bip_type_has(Py_TYPE(object), bip_name.to_numpy))
		return "pass x.to_numpy()";
	return "np.asarray(x), or a method of the library that made it, may convert it";
}

static void raise_no_protocol(PyObject *object, const struct bip_protocol *protocol)
{
	const char *type = Py_TYPE(object)->tp_name;

	if (protocol)
		PyErr_Format(PyExc_TypeError, "an object of type %.100s does not have the protocol '%s'", type,
			     protocol->name);
	else
		PyErr_Format(PyExc_TypeError, "an object of type %.100s has no protocol of arrays: %s", type,
			     find_remedy(object));
}

int bip_find_array(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	int rc;

	if (PyType_Check(object))
		return bip_refuse(PyExc_TypeError, "a type was given, %.100s, not an object of it",
				  ((PyTypeObject *)object)->tp_name);
	rc = request->protocol ? import_by_name(object, request, found) : import_in_order(object, request, found);
	if (rc == 0)
		raise_no_protocol(object, request->protocol);
	return rc == 1 ? 0 : -1;
}
