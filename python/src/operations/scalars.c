/*
 * Converts Python's values to elements of an array, and back
 *
 * This file converts booleans, integers, floats and complex numbers of one lane. NumPy converts all other types: texts,
 * bytes, structured types, types of several lanes and types of ml_dtypes.
 */
#include <math.h>
#include <string.h>

#include "object.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/import.h"
#include "operations/operations.h"

static int is_plain(struct bi_dtype dtype)
{
	if (dtype.lanes != 1)
		return 0;
	return dtype.type <= BI_FLOAT64 || dtype.type == BI_COMPLEX64 || dtype.type == BI_COMPLEX128;
}

static int is_complex(struct bi_dtype dtype)
{
	return dtype.type == BI_COMPLEX64 || dtype.type == BI_COMPLEX128;
}

static int is_signed(struct bi_dtype dtype)
{
	return dtype.type >= BI_INT8 && dtype.type <= BI_INT64;
}

/*
 * Returns true for objects such as a Fraction or a Decimal: they convert to a number, and have neither a length nor a
 * protocol of arrays.
 */
static int is_number(PyTypeObject *type)
{
	const PyNumberMethods *number = type->tp_as_number;

	return number && (number->nb_float || number->nb_index) &&
	       !(type->tp_as_sequence && type->tp_as_sequence->sq_length) &&
	       !(type->tp_as_mapping && type->tp_as_mapping->mp_length) && !bip_has_protocol(type);
}

int bip_is_scalar(PyObject *value, struct bi_dtype dtype)
{
	if (PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value) || PyBytes_Check(value) ||
	    PyUnicode_Check(value))
		return 1;
	if (PyTuple_Check(value) || PyList_Check(value))
		return dtype.type == BI_VOID || dtype.lanes > 1;
	return bip_is_numpy_scalar(Py_TYPE(value)) || is_number(Py_TYPE(value));
}

int bip_is_foreign_number(PyObject *value)
{
	PyTypeObject *type = Py_TYPE(value);

	if (PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value) || !PyNumber_Check(value))
		return 0;
	return !BIP_CHECK(value) && !bip_is_ndarray(type) && !bip_is_numpy_scalar(type) && bip_has_protocol(type);
}

/* Numbers to bytes */

/* Returns the offset of the low `size` bytes in a 64-bit word. */
static size_t low_bytes(size_t size)
{
	return PY_BIG_ENDIAN ? sizeof(uint64_t) - size : 0;
}

static int refuse_integer(struct bi_dtype dtype, PyObject *number)
{
	char name[BI_DTYPE_TEXT];

	bi_dtype_name(dtype, name);
	return bip_refuse(PyExc_OverflowError, "%S does not fit into an element of type %s", bip_printable(number),
			  name);
}

/*
 * Reads an integer into a word. Returns 1 if it fits into the element type; the low bytes of the word are then the
 * element.
 */
static int read_integer(struct bi_dtype dtype, PyObject *number, uint64_t *word)
{
	unsigned bits = 8 * dtype.item_size;

	if (is_signed(dtype)) {
		int overflow;
		int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
		int64_t limit = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);

		*word = (uint64_t)value;
		return !overflow && value <= limit && value >= -limit - 1;
	}
	*word = PyLong_AsUnsignedLongLong(number);
	if (*word == UINT64_MAX && PyErr_Occurred()) {
		PyErr_Clear();
		return 0;
	}
	return bits == 64 || *word >> bits == 0;
}

/* Names the type of the elements if the value is infinite or NaN. Keeps any other exception. Returns -1. */
static int refuse_float(struct bi_dtype dtype, PyObject *value)
{
	PyObject *exception = PyErr_ExceptionMatches(PyExc_ValueError) ? PyExc_ValueError : PyExc_OverflowError;
	char name[BI_DTYPE_TEXT];

	if (!PyFloat_Check(value) || isfinite(PyFloat_AS_DOUBLE(value)))
		return -1;
	bi_dtype_name(dtype, name);
	return bip_refuse(exception, "%R is no integer, and the elements are of type %s", value, name);
}

/* Converts a number to an integer element. Fractions are truncated, as NumPy does it. */
static int pack_integer(struct bi_dtype dtype, PyObject *value, unsigned char *out)
{
	PyObject *number =
		PyIndex_Check(value) || !PyNumber_Check(value) ? PyNumber_Index(value) : PyNumber_Long(value);
	uint64_t word;
	int rc = -1;

	if (!number)
		return refuse_float(dtype, value);
	if (read_integer(dtype, number, &word)) {
		memcpy(out, (unsigned char *)&word + low_bytes(dtype.item_size), dtype.item_size);
		rc = 0;
	} else {
		refuse_integer(dtype, number);
	}
	Py_DECREF(number);
	return rc;
}

/* Converts a number to a floating-point element. A value that is too large becomes infinite, as in NumPy. */
static int pack_real(size_t size, double value, unsigned char *out)
{
	const double half_limit = 65520; /* half precision: values from here on round to infinity */
	float single = (float)value;

	if (size == 8)
		memcpy(out, &value, 8);
	else if (size == 4)
		memcpy(out, &single, 4);
	else
		return PyFloat_Pack2(fabs(value) >= half_limit ? copysign(INFINITY, value) : value, (char *)out,
				     PY_LITTLE_ENDIAN);
	return 0;
}

/* Names the value if it does not fit into a double. Keeps any other exception. Returns -1. */
static int refuse_real(struct bi_dtype dtype, PyObject *value)
{
	return PyErr_ExceptionMatches(PyExc_OverflowError) ? refuse_integer(dtype, value) : -1;
}

static int pack_float(struct bi_dtype dtype, PyObject *value, unsigned char *out)
{
	double number = PyFloat_AsDouble(value);

	return number == -1 && PyErr_Occurred() ? refuse_real(dtype, value) : pack_real(dtype.item_size, number, out);
}

static int pack_complex(struct bi_dtype dtype, PyObject *value, unsigned char *out)
{
	Py_complex number = PyComplex_AsCComplex(value);
	size_t half = dtype.item_size / 2;

	if (number.real == -1 && PyErr_Occurred())
		return refuse_real(dtype, value);
	return pack_real(half, number.real, out) || pack_real(half, number.imag, out + half) ? -1 : 0;
}

static int pack_bool(PyObject *value, unsigned char *out)
{
	int truth;

	if (!PyNumber_Check(value)) /* a container or a text has a truth value, and is no element */
		return bip_refuse(PyExc_TypeError, "must be a bool or a number, not %.100s", Py_TYPE(value)->tp_name);
	truth = PyObject_IsTrue(value);
	*out = truth == 1;
	return truth < 0 ? -1 : 0;
}

static void reverse_bytes(unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		unsigned char byte = bytes[i];

		bytes[i] = bytes[size - 1 - i];
		bytes[size - 1 - i] = byte;
	}
}

/*
 * Reverses the bytes of an element if its type is swapped. The two parts of a complex number are reversed separately.
 */
static void swap_if_needed(struct bi_dtype dtype, unsigned char *element)
{
	size_t part = is_complex(dtype) ? dtype.item_size / 2 : dtype.item_size;

	if (!dtype.swapped)
		return;
	for (size_t at = 0; at < dtype.item_size; at += part)
		reverse_bytes(element + at, part);
}

static int pack_plain(struct bi_dtype dtype, PyObject *value, unsigned char *out)
{
	int rc;

	if (dtype.type == BI_BOOL)
		rc = pack_bool(value, out);
	else if (is_complex(dtype))
		rc = pack_complex(dtype, value, out);
	else if (dtype.type >= BI_FLOAT16)
		rc = pack_float(dtype, value, out);
	else
		rc = pack_integer(dtype, value, out);
	if (!rc)
		swap_if_needed(dtype, out);
	return rc;
}

/* Bytes to numbers */

static PyObject *unpack_integer(struct bi_dtype dtype, const unsigned char *bytes)
{
	unsigned shift = 64 - 8 * dtype.item_size;
	uint64_t word = 0;

	memcpy((unsigned char *)&word + low_bytes(dtype.item_size), bytes, dtype.item_size);
	if (!is_signed(dtype))
		return PyLong_FromUnsignedLongLong(word);
	return PyLong_FromLongLong((int64_t)(word << shift) >> shift);
}

static double unpack_real(size_t size, const unsigned char *bytes)
{
	double value;
	float single;

	if (size == 2)
		return PyFloat_Unpack2((const char *)bytes, PY_LITTLE_ENDIAN);
	if (size == 4) {
		memcpy(&single, bytes, 4);
		return (double)single;
	}
	memcpy(&value, bytes, 8);
	return value;
}

static PyObject *unpack_plain(struct bi_dtype dtype, const unsigned char *bytes)
{
	unsigned char element[16];
	size_t half = dtype.item_size / 2;

	memcpy(element, bytes, dtype.item_size);
	swap_if_needed(dtype, element);
	if (dtype.type == BI_BOOL)
		return PyBool_FromLong(*element != 0);
	if (is_complex(dtype))
		return PyComplex_FromDoubles(unpack_real(half, element), unpack_real(half, element + half));
	if (dtype.type >= BI_FLOAT16)
		return PyFloat_FromDouble(unpack_real(dtype.item_size, element));
	return unpack_integer(dtype, element);
}

static int copy_element(PyObject *bytes, uint32_t item_size, void *element)
{
	if ((uint32_t)PyBytes_GET_SIZE(bytes) != item_size)
		return bip_refuse(bip_InvalidArrayError, "an element has %u bytes, but its NumPy type %zd", item_size,
				  PyBytes_GET_SIZE(bytes));
	memcpy(element, PyBytes_AS_STRING(bytes), item_size);
	return 0;
}

static int pack_by_numpy(const struct bi_view *view, PyObject *value, void *element)
{
	PyObject *dtype = bip_dtype_numpy(view);
	PyObject *bytes = dtype ? bip_call_python("pack_element", dtype, &value, 1, NULL) : NULL;
	int rc = bytes ? copy_element(bytes, bi_view_dtype(view).item_size, element) : -1;

	Py_XDECREF(bytes);
	Py_XDECREF(dtype);
	return rc;
}

static PyObject *unpack_by_numpy(const struct bi_view *view, const void *element)
{
	PyObject *dtype = bip_dtype_numpy(view);
	PyObject *bytes = dtype ? PyBytes_FromStringAndSize(element, bi_view_dtype(view).item_size) : NULL;
	PyObject *value = bytes ? bip_call_python("unpack_element", dtype, &bytes, 1, NULL) : NULL;

	Py_XDECREF(bytes);
	Py_XDECREF(dtype);
	return value;
}

/* Adds the type of the value and the element type to the TypeError of a conversion. */
static int refuse_value(struct bi_dtype dtype, PyObject *value)
{
	PyObject *text = PyErr_Occurred() == PyExc_TypeError ? bip_take_message() : NULL;
	char name[BI_DTYPE_TEXT];

	if (!text)
		return -1;
	bi_dtype_name(dtype, name);
	bip_refuse(PyExc_TypeError, "a value of type %.100s is no element of type %s: %U%s", Py_TYPE(value)->tp_name,
		   name, text,
		   PyList_Check(value) || PyTuple_Check(value) ? "; np.asarray(x) makes an array of it" : "");
	Py_DECREF(text);
	return -1;
}

static int pack_scalar(const struct bi_view *view, PyObject *value, void *element)
{
	struct bi_dtype dtype = bi_view_dtype(view);
	char name[BI_DTYPE_TEXT];

	if (!is_plain(dtype))
		return pack_by_numpy(view, value, element) ? refuse_value(dtype, value) : 0;
	if (dtype.type == BI_BOOL || (!PyUnicode_Check(value) && !PyBytes_Check(value)))
		return pack_plain(dtype, value, element) ? refuse_value(dtype, value) : 0;
	bi_dtype_name(dtype, name);
	return bip_refuse(PyExc_TypeError, "%.200R is no number, and the elements are of type %s: %s", value, name,
			  PyBytes_Check(value) ? "np.frombuffer(x, 'u1') is an array of the bytes"
					       : "int(x) or float(x) reads a number");
}

/* Returns the element of an array of one element. Raises TypeError for other arrays. */
static PyObject *element_of(PyObject *array)
{
	PyObject *number = PyObject_GetAttr(array, bip_name.size);
	Py_ssize_t size = number ? PyLong_AsSsize_t(number) : -1;

	Py_XDECREF(number);
	if (size == -1 && PyErr_Occurred())
		return NULL;
	if (size == 1)
		return BIP_CHECK(array) ? bip_item(array, NULL, 0) : PyObject_CallMethod(array, "item", NULL);
	return PyErr_Format(PyExc_TypeError,
			    "the value is an array of %zd elements, not one: copyto() copies the elements of an array",
			    size);
}

/*
 * Converts a value that is no array of this library or NumPy. An array of another library is imported if its own
 * conversion raises TypeError: for an integer element, the __index__ of an array of floats does so.
 */
static int pack_number(const struct bi_view *view, PyObject *value, void *element)
{
	struct bip_raised refusal;
	PyObject *array;
	int rc;

	if (pack_scalar(view, value, element) == 0)
		return 0;
	if (!PyErr_ExceptionMatches(PyExc_TypeError))
		return -1;
	refusal = bip_put_aside(); /* the lookup of an attribute would clear it */
	array = bip_is_foreign_number(value) ? bip_as_object(value) : NULL;
	rc = array ? bip_scalar_pack(view, array, element) : -1;
	if (array || PyErr_ExceptionMatches(PyExc_MemoryError) || bip_clear_error())
		bip_drop_raised(&refusal);
	else
		bip_put_back(refusal);
	Py_XDECREF(array);
	return rc;
}

int bip_scalar_pack(const struct bi_view *view, PyObject *value, void *element)
{
	PyObject *only;
	int rc;

	if (bip_is_ndarray(Py_TYPE(value)) && bip_refuse_masked(value))
		return -1;
	/* For an element of several lanes, the array may be its lanes. */
	if (bi_view_dtype(view).lanes > 1 || !(BIP_CHECK(value) || bip_is_ndarray(Py_TYPE(value))))
		return pack_number(view, value, element);
	only = element_of(value);
	if (!only)
		return -1;
	rc = pack_scalar(view, only, element);
	Py_DECREF(only);
	return rc;
}

PyObject *bip_scalar_unpack(const struct bi_view *view, const void *element)
{
	struct bi_dtype dtype = bi_view_dtype(view);

	return is_plain(dtype) ? unpack_plain(dtype, element) : unpack_by_numpy(view, element);
}
