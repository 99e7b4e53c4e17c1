/*
 * Converts element types between Python and the library.
 *
 * Reading a type does not import NumPy or ml_dtypes, because an object can be a type of a package only if the package
 * has been imported. bip_dtype_argument is the exception: it imports NumPy for an object that is no such type. Making a
 * numpy.dtype imports NumPy, and ml_dtypes for a type that NumPy does not have.
 */
#include <string.h>

#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"

static int refuse_type(PyObject *object)
{
	return bip_refuse(
		bip_UnsupportedTypeError, "%R is not an element type, such as a numpy.dtype, a typestr or a name%s",
		bip_printable(object), PyLong_Check(object) ? "; a shape of several axes is a tuple: (2, 3)" : "");
}

static int parse_text(const char *text, struct bi_dtype *out)
{
	struct bi_error err;
	int rc = bi_dtype_parse(text, out, &err);

	if (!rc)
		return 0;
	return bip_refuse(bip_UnsupportedTypeError,
			  "%s; an element type is a typestr such as '<f4', or a name such as 'float16'", err.message);
}

static int from_text(PyObject *object, struct bi_dtype *out)
{
	Py_ssize_t length;
	const char *text = PyUnicode_AsUTF8AndSize(object, &length);

	if (!text)
		return PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) ? refuse_type(object) : -1;
	/* A text with a NUL inside is refused: the library would read only the part before the NUL. */
	return strlen(text) == (size_t)length ? parse_text(text, out) : refuse_type(object);
}

/* Descr texts */

/* The library reads at most 16 nested lists. This limit ends the copy of a list that contains itself. */
#define MOST_NESTED 100

static PyObject *plain_copy(PyObject *object, int depth);

/* Returns a tuple or list of plain copies of the items. */
static PyObject *copy_items(PyObject *object, int depth)
{
	PyObject *items = PyList_Check(object) ? PyList_AsTuple(object) : Py_NewRef(object);
	Py_ssize_t count = items ? PyTuple_GET_SIZE(items) : 0;
	PyObject *out = items ? PyList_New(count) : NULL, *tuple;

	for (Py_ssize_t i = 0; out && i < count; i++) {
		PyObject *copy = plain_copy(PyTuple_GET_ITEM(items, i), depth + 1);

		if (copy)
			PyList_SET_ITEM(out, i, copy);
		else
			Py_CLEAR(out);
	}
	Py_XDECREF(items);
	if (!out || PyList_Check(object))
		return out;
	tuple = PyList_AsTuple(out);
	Py_DECREF(out);
	return tuple;
}

/*
 * Returns a copy in which strings, integers, lists and tuples have the built-in types, because an object of a subclass,
 * such as numpy.str_, may have another repr.
 */
static PyObject *plain_copy(PyObject *object, int depth)
{
	if (depth > MOST_NESTED)
		return PyErr_Format(bip_InvalidArrayError, "descr: lists and tuples are nested more than %d deep",
				    MOST_NESTED);
	if (PyList_Check(object) || PyTuple_Check(object))
		return copy_items(object, depth);
	if (PyUnicode_Check(object))
		return PyUnicode_FromObject(object);
	if (PyLong_Check(object) && !PyBool_Check(object))
		return PyLong_Type.tp_as_number->nb_int(object);
	return Py_NewRef(object);
}

/* Returns the repr of a list as text that bi_dtype_parse_descr accepts, or NULL with an exception. */
static PyObject *parsed_repr(PyObject *list)
{
	PyObject *text = PyObject_Repr(list);
	const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
	struct bi_dtype dtype;
	struct bi_error err;

	if (words && bi_dtype_parse_descr(words, &dtype, &err) == BI_OK)
		return text;
	Py_XDECREF(text);
	return words ? PyErr_Format(bip_InvalidArrayError, "%s", err.message) : NULL;
}

PyObject *bip_descr_text(PyObject *list)
{
	PyObject *text, *plain;

	if (!PyList_Check(list))
		return PyErr_Format(PyExc_TypeError, "descr is of type %.100s, not a list [C13]",
				    Py_TYPE(list)->tp_name);
	text = parsed_repr(list);
	/* repr() raises RecursionError for a list that is nested too deep. The message of plain_copy is clearer. */
	if (text || (!PyErr_ExceptionMatches(bip_InvalidArrayError) && !PyErr_ExceptionMatches(PyExc_RecursionError)))
		return text;
	PyErr_Clear();
	plain = plain_copy(list, 0);
	text = plain ? parsed_repr(plain) : NULL;
	Py_XDECREF(plain);
	return text;
}

static int from_descr(PyObject *list, struct bi_dtype *out, PyObject **descr)
{
	const char *text;

	*descr = bip_descr_text(list);
	text = *descr ? PyUnicode_AsUTF8(*descr) : NULL;
	if (text && bi_dtype_parse_descr(text, out, NULL) == BI_OK)
		return 0;
	Py_CLEAR(*descr);
	return -1;
}

/* Imports a module and returns one of its attributes. */
static PyObject *import_from(const char *module_name, const char *name)
{
	PyObject *module = PyImport_ImportModule(module_name);
	PyObject *value = module ? PyObject_GetAttrString(module, name) : NULL;

	Py_XDECREF(module);
	return value;
}

static PyObject *call_from(const char *module_name, const char *name, PyObject *argument)
{
	PyObject *function = argument ? import_from(module_name, name) : NULL;
	PyObject *result = function ? PyObject_CallOneArg(function, argument) : NULL;

	Py_XDECREF(function);
	return result;
}

/* numpy.dtype */

/* Reads an attribute as text. A text that is too long is truncated; it then names no type and is refused later. */
static int text_of(PyObject *object, const char *name, char out[BI_DTYPE_TEXT])
{
	PyObject *value = PyObject_GetAttrString(object, name);
	const char *text = value ? PyUnicode_AsUTF8(value) : NULL;

	if (text)
		PyOS_snprintf(out, BI_DTYPE_TEXT, "%s", text);
	Py_XDECREF(value);
	return text ? 0 : -1;
}

/* Returns 1 if another package than NumPy made the type, such as ml_dtypes, 0 if not, -1 with an exception. */
static int is_registered(PyObject *dtype)
{
	PyObject *value = PyObject_GetAttrString(dtype, "isbuiltin");
	long kind = value ? PyLong_AsLong(value) : -1;

	Py_XDECREF(value);
	return PyErr_Occurred() ? -1 : kind == 2;
}

/* Refuses a type of another package in the other byte order. The name of such a type does not contain the order. */
static int check_native(PyObject *dtype)
{
	PyObject *value = PyObject_GetAttrString(dtype, "isnative");
	int is_native = value ? PyObject_IsTrue(value) : -1;

	Py_XDECREF(value);
	if (is_native)
		return is_native < 0 ? -1 : 0;
	return bip_refuse(
		bip_UnsupportedTypeError,
		"%R is not in the byte order of this machine: x.astype(x.dtype.newbyteorder('=')) converts it", dtype);
}

static int from_simple(PyObject *dtype, struct bi_dtype *out)
{
	int registered = is_registered(dtype);
	char text[BI_DTYPE_TEXT];

	if (registered < 0 || text_of(dtype, registered ? "name" : "str", text))
		return -1;
	/*
	 * The library may lack a type of another package. Newer types of NumPy, such as StringDType(), have a repr in
	 * place of a typestr.
	 */
	if (registered ? bi_dtype_parse(text, out, NULL) : !strchr("<>|=", *text))
		return bip_refuse(bip_UnsupportedTypeError,
				  "%R is not supported: x.astype() converts to a type that is, such as 'U8', 'int8', "
				  "'float64' or 'complex64'",
				  dtype);
	if (!registered)
		return parse_text(text, out);
	return out->item_size > 1 ? check_native(dtype) : 0;
}

/* Reads the pair (base, (lanes,)) as a type with lanes. */
static int from_lanes(PyObject *pair, PyObject *dtype, struct bi_dtype *out)
{
	PyObject *base, *shape;
	struct bi_dtype lane;
	long long lanes;

	if (!PyTuple_Check(pair))
		return refuse_type(dtype);
	if (!PyArg_ParseTuple(pair, "OO!", &base, &PyTuple_Type, &shape))
		return -1;
	if (PyTuple_GET_SIZE(shape) != 1)
		return refuse_type(dtype);
	lanes = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, 0));
	if (PyErr_Occurred() || from_simple(base, &lane))
		return -1;
	if (lanes < 1 || lanes > UINT16_MAX || lane.lanes != 1 || lane.swapped)
		return refuse_type(dtype);
	if (lane.type == BI_VOID)
		return refuse_type(dtype); /* the lane may have fields */
	if (lanes == 1) {
		*out = lane;
		return 0;
	}
	return bi_dtype_make((enum bi_type)lane.type, (unsigned)lanes, 0, out, NULL) ? refuse_type(dtype) : 0;
}

static int from_structured(PyObject *dtype, struct bi_dtype *out, PyObject **descr)
{
	PyObject *checked = call_from("buffer_interface._array", "check_fields", dtype);
	PyObject *list = checked ? PyObject_GetAttrString(dtype, "descr") : NULL, *text;
	int rc;

	Py_XDECREF(checked);
	if (!list) {
		if (checked && PyErr_ExceptionMatches(PyExc_ValueError))
			PyErr_Format(bip_UnsupportedTypeError,
				     "%R: fields that overlap or are out of order are not supported", dtype);
		return -1;
	}
	rc = from_descr(list, out, descr);
	Py_DECREF(list);
	/* NumPy describes its type correctly, so the type is refused. */
	text = rc && PyErr_ExceptionMatches(bip_InvalidArrayError) ? bip_take_message() : NULL;
	if (text)
		bip_refuse(bip_UnsupportedTypeError, "%U", text);
	Py_XDECREF(text);
	return rc;
}

static int from_numpy(PyObject *dtype, struct bi_dtype *out, PyObject **descr)
{
	PyObject *names = PyObject_GetAttrString(dtype, "names");
	PyObject *pair = names ? PyObject_GetAttrString(dtype, "subdtype") : NULL;
	int rc = -1;

	if (pair && names != Py_None)
		rc = from_structured(dtype, out, descr);
	else if (pair)
		rc = pair == Py_None ? from_simple(dtype, out) : from_lanes(pair, dtype, out);
	Py_XDECREF(names);
	Py_XDECREF(pair);
	return rc;
}

int bip_is_numpy_scalar(const PyTypeObject *type)
{
	/* This test is enough for most types with a buffer: they derive from object directly. */
	if (type->tp_base == &PyBaseObject_Type)
		return 0;
	/* Types that were not made ready have no tp_mro. */
	for (Py_ssize_t i = 0; type->tp_mro && i < PyTuple_GET_SIZE(type->tp_mro); i++)
		if (strcmp(((const PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i))->tp_name, "numpy.generic") == 0)
			return 1;
	return 0;
}

/*
 * Reads a class as an element type: bool, int, float or complex of Python, or, if NumPy has been imported, any class
 * that numpy.dtype accepts.
 */
static int from_class(PyObject *class, PyObject *numpy_dtype, struct bi_dtype *out, PyObject **descr)
{
	char kind[BI_DTYPE_TEXT];
	PyObject *dtype;
	int rc;

	if (class == (PyObject *)&PyFloat_Type)
		return bi_dtype_make(BI_FLOAT64, 1, 0, out, NULL);
	if (class == (PyObject *)&PyLong_Type)
		return bi_dtype_make(BI_INT64, 1, 0, out, NULL);
	if (class == (PyObject *)&PyBool_Type)
		return bi_dtype_make(BI_BOOL, 1, 0, out, NULL);
	if (class == (PyObject *)&PyComplex_Type)
		return bi_dtype_make(BI_COMPLEX128, 1, 0, out, NULL);
	/* For a class that is no element type, numpy.dtype returns the type "object". */
	dtype = numpy_dtype ? PyObject_CallOneArg(numpy_dtype, class) : NULL;
	if (!dtype)
		return numpy_dtype ? -1 : refuse_type(class);
	rc = text_of(dtype, "kind", kind);
	if (!rc && !strcmp(kind, "O") && class != (PyObject *)&PyBaseObject_Type &&
	    !bip_is_numpy_scalar((PyTypeObject *)class))
		rc = refuse_type(class);
	else if (!rc)
		rc = from_numpy(dtype, out, descr);
	Py_DECREF(dtype);
	return rc;
}

/*
 * The simple numpy.dtype objects that were added last. A look-up here is faster than reading the attributes of the
 * dtype. Most programs use one object for each type. References are kept, so that an address identifies an object. The
 * GIL is the lock of the table. An interpreter without a GIL leaves the table empty.
 */
#define KNOWN 8

static struct {
	PyObject *object;
	struct bi_dtype dtype;
} known[KNOWN];

static int find_known(const PyObject *object, struct bi_dtype *out)
{
	for (int i = 0; i < KNOWN; i++) {
		if (known[i].object != object)
			continue;
		*out = known[i].dtype;
		return 1;
	}
	return 0;
}

static void add_known(PyObject *object, struct bi_dtype dtype)
{
#ifndef Py_GIL_DISABLED
	static int next;
	PyObject *forgotten = known[next].object;

	known[next].object = Py_NewRef(object);
	known[next].dtype = dtype;
	next = (next + 1) % KNOWN;
	Py_XDECREF(forgotten);
#else
	(void)object;
	(void)dtype;
#endif
}

int bip_dtype_from_with_descr(PyObject *object, struct bi_dtype *out, PyObject **descr)
{
	PyObject *numpy_dtype;
	int rc;

	*descr = NULL;
	if (find_known(object, out))
		return 0;
	if (PyUnicode_Check(object))
		return from_text(object, out);
	if (PyList_Check(object))
		return from_descr(object, out, descr);
	numpy_dtype = bip_attribute_of_module("numpy", "dtype");
	if (!numpy_dtype && PyErr_Occurred())
		return -1;
	if (PyType_Check(object))
		rc = from_class(object, numpy_dtype, out, descr);
	else if (numpy_dtype && PyObject_TypeCheck(object, (PyTypeObject *)numpy_dtype))
		rc = from_numpy(object, out, descr);
	else
		rc = refuse_type(object);
	if (!rc && !*descr && !PyType_Check(object))
		add_known(object, *out);
	Py_XDECREF(numpy_dtype);
	return rc;
}

int bip_dtype_from(PyObject *object, struct bi_dtype *out)
{
	PyObject *descr;
	int rc = bip_dtype_from_with_descr(object, out, &descr);

	Py_XDECREF(descr);
	return rc;
}

/* Reads an object that numpy.dtype() accepts, such as 'double', 'i4,f8' or a dict of fields. Imports NumPy. */
static int from_any(PyObject *object, struct bi_dtype *out, PyObject **descr)
{
	PyObject *dtype = call_from("numpy", "dtype", object);
	int rc = dtype ? from_numpy(dtype, out, descr) : -1;

	Py_XDECREF(dtype);
	return rc;
}

int bip_dtype_argument(PyObject *object, struct bi_dtype *out, PyObject **descr)
{
	struct bip_raised refusal;

	if (bip_dtype_from_with_descr(object, out, descr) == 0)
		return 0;
	if (!PyErr_ExceptionMatches(bip_UnsupportedTypeError) && !PyErr_ExceptionMatches(bip_InvalidArrayError))
		return -1;
	refusal = bip_put_aside();
	if (object != Py_None && from_any(object, out, descr) == 0) {
		bip_drop_raised(&refusal);
		return 0;
	}
	/* NumPy's view of a list or a dict of fields names the field. */
	if (PyErr_ExceptionMatches(PyExc_MemoryError) ||
	    (PyErr_ExceptionMatches(bip_UnsupportedTypeError) && (PyList_Check(object) || PyDict_Check(object))) ||
	    bip_clear_error()) {
		bip_drop_raised(&refusal);
		return -1;
	}
	/* The first refusal is raised, because it names the types of this library. */
	bip_put_back(refusal);
	return -1;
}

/* To Python */

PyObject *bip_dtype_text(struct bi_dtype dtype)
{
	char text[BI_DTYPE_TEXT];

	if (bi_dtype_typestr(dtype, text, NULL))
		bi_dtype_name(dtype, text);
	return PyUnicode_FromString(text);
}

/* The text of a descr is a Python literal, which ast.literal_eval evaluates. */
PyObject *bip_dtype_descr(const struct bi_view *view)
{
	struct bi_layout layout;
	PyObject *text, *ast, *list;

	bi_view_layout(view, &layout);
	if (!layout.descr)
		return NULL;
	text = PyUnicode_DecodeUTF8(layout.descr, layout.descr_length, NULL);
	ast = text ? PyImport_ImportModule("ast") : NULL;
	list = ast ? PyObject_CallMethod(ast, "literal_eval", "O", text) : NULL;
	Py_XDECREF(text);
	Py_XDECREF(ast);
	return list;
}

/* Returns the class of ml_dtypes for a type that NumPy does not have. */
static PyObject *extra_type(struct bi_dtype dtype)
{
	char name[BI_DTYPE_TEXT];
	PyObject *class;

	bi_dtype_name(dtype, name);
	class = import_from("ml_dtypes", name);
	if (!class && (PyErr_ExceptionMatches(PyExc_ImportError) || PyErr_ExceptionMatches(PyExc_AttributeError))) {
		PyErr_Clear();
		PyErr_Format(bip_UnsupportedTypeError,
			     "NumPy has no type %s, and the package ml_dtypes does not provide it", name);
	}
	return class;
}

static PyObject *numpy_of_lane(struct bi_dtype lane)
{
	PyObject *what = bi_dtype_kind(lane) ? bip_dtype_text(lane) : extra_type(lane);
	PyObject *dtype = call_from("numpy", "dtype", what);

	Py_XDECREF(what);
	return dtype;
}

static PyObject *numpy_of(struct bi_dtype dtype)
{
	struct bi_dtype lane = dtype;
	PyObject *base, *pair, *result;

	if (dtype.lanes == 1)
		return numpy_of_lane(dtype);
	lane.item_size /= dtype.lanes;
	lane.lanes = 1;
	base = numpy_of_lane(lane);
	pair = base ? Py_BuildValue("(O(i))", base, (int)dtype.lanes) : NULL;
	result = call_from("numpy", "dtype", pair);
	Py_XDECREF(base);
	Py_XDECREF(pair);
	return result;
}

/*
 * NumPy's reader of files makes the dtype, because it recognises gaps in a descr. numpy.dtype would make named fields
 * of the gaps.
 */
PyObject *bip_dtype_numpy(const struct bi_view *view)
{
	PyObject *descr = bip_dtype_descr(view);
	PyObject *result;

	if (!descr)
		return PyErr_Occurred() ? NULL : numpy_of(bi_view_dtype(view));
	result = call_from("numpy.lib.format", "descr_to_dtype", descr);
	Py_DECREF(descr);
	return result;
}
