/*
 * An array as a number: bool(), int(), float(), complex() and operator.index(). Operators and methods that would
 * compute raise an exception that names libraries for that.
 */
#include <string.h>

#include "lifetime.h"
#include "object.h"
#include "base/backends.h"
#include "operations/operations.h"

/*
 * Returns the element of an array of one element as a Python object. Raises TypeError for other arrays. Without this
 * function int() would parse the bytes of the array as text, and bool() would use its length.
 */
static PyObject *only_element(PyObject *self, const char *function)
{
	struct bi_view *view = bip_hold(self);
	struct bi_layout layout;
	int64_t size;

	if (!view)
		return NULL;
	bi_view_layout(view, &layout);
	size = bi_layout_size(&layout);
	bip_release_view(view);
	if (size == 1)
		return bip_item(self, NULL, 0);
	return PyErr_Format(PyExc_TypeError,
			    "%s() takes an array of one element, not one of %lld elements: a[i].item() gives one",
			    function, (long long)size);
}

static int truth_of(PyObject *self)
{
	PyObject *element = only_element(self, "bool");
	int truth = element ? PyObject_IsTrue(element) : -1;

	Py_XDECREF(element);
	return truth;
}

#define CONVERSION(name, function, convert) \
	static PyObject *name(PyObject *self) \
	{ \
		PyObject *element = only_element(self, function); \
		PyObject *result = element ? convert(element) : NULL; \
\
		Py_XDECREF(element); \
		return result; \
	}

CONVERSION(int_of, "int", PyNumber_Long)
CONVERSION(float_of, "float", PyNumber_Float)

static PyObject *call_complex(PyObject *element)
{
	return PyObject_CallOneArg((PyObject *)&PyComplex_Type, element);
}

CONVERSION(complex_of, "complex", call_complex)

PyObject *bip_complex(PyObject *self, PyObject *Py_UNUSED(none))
{
	return complex_of(self);
}

/*
 * operator.index(). Raises TypeError for an array with axes, as NumPy does. bytes() and bytearray() try __index__
 * before the buffer protocol, so the element of an array of one element would count as the length of the result.
 */
static PyObject *index_of(PyObject *self)
{
	struct bi_view *view = bip_hold(self);
	PyObject *element;
	int ndim;

	if (!view)
		return NULL;
	ndim = bi_view_ndim(view);
	bip_release_view(view);
	if (ndim)
		return PyErr_Format(
			PyExc_TypeError,
			"operator.index() takes an array without axes, not one with %d: a[i] removes an axis", ndim);
	element = bip_item(self, NULL, 0);
	Py_XSETREF(element, element ? PyNumber_Index(element) : NULL);
	return element;
}

/*
 * Raises the exception with a message that names libraries that compute on the memory of the array. `call` is the text
 * that follows the array in the message, such as ".sum()", or "".
 */
static void refuse_computing(PyObject *self, PyObject *exception, const char *call)
{
	static const char start[] = "a BufferInterface does not compute";
	struct bi_view *view = bip_hold(self);
	const struct bi_memory *memory = view ? bi_view_memory(view) : NULL;

	if (!view)
		return;
	if (bi_memory_is_host(memory))
		PyErr_Format(exception, "%s: NumPy does, with a.numpy()%s", start, call);
	else if (bip_backend_of(bi_memory_context(memory)).named_by_ordinal)
		PyErr_Format(exception,
			     "%s: CuPy does on the device, with cupy.from_dlpack(a)%s, PyTorch with "
			     "torch.from_dlpack(a), and NumPy on the host, with a.numpy()%s",
			     start, call, call);
	else
		PyErr_Format(exception,
			     "%s: pyopencl does on the device, with pyopencl_array(a, queue), and NumPy on the host, "
			     "with a.numpy()%s",
			     start, call);
	bip_release_view(view);
}

PyObject *bip_refuse_arithmetic(PyObject *left, PyObject *right)
{
	PyObject *self = BIP_CHECK(left) ? left : right, *other = self == left ? right : left;

	if (!BIP_CHECK(other) && !PyLong_Check(other) && !PyFloat_Check(other) && !PyComplex_Check(other))
		Py_RETURN_NOTIMPLEMENTED;
	refuse_computing(self, PyExc_TypeError, "");
	return NULL;
}

PyObject *bip_refuse_method(PyObject *self, void *name)
{
	char call[32];

	if (!strcmp(name, "flatten"))
		return PyErr_Format(PyExc_AttributeError, "flatten() is copy().ravel() here; ravel() alone copies only "
							  "elements that are not dense");
	PyOS_snprintf(call, sizeof(call), ".%s()", (const char *)name);
	refuse_computing(self, PyExc_AttributeError, call);
	return NULL;
}

/* Python also calls this function if only the modulus is an array. */
static PyObject *refuse_power(PyObject *left, PyObject *right, PyObject *Py_UNUSED(modulus))
{
	if (!BIP_CHECK(left) && !BIP_CHECK(right))
		Py_RETURN_NOTIMPLEMENTED;
	return bip_refuse_arithmetic(left, right);
}

static PyObject *refuse_unary(PyObject *self)
{
	return bip_refuse_arithmetic(self, self);
}

PyNumberMethods bip_number_methods = {
	.nb_bool = truth_of,
	.nb_int = int_of,
	.nb_float = float_of,
	.nb_index = index_of,
	.nb_add = bip_refuse_arithmetic,
	.nb_subtract = bip_refuse_arithmetic,
	.nb_multiply = bip_refuse_arithmetic,
	.nb_matrix_multiply = bip_refuse_arithmetic,
	.nb_true_divide = bip_refuse_arithmetic,
	.nb_floor_divide = bip_refuse_arithmetic,
	.nb_remainder = bip_refuse_arithmetic,
	.nb_power = refuse_power,
	.nb_and = bip_refuse_arithmetic,
	.nb_or = bip_refuse_arithmetic,
	.nb_xor = bip_refuse_arithmetic,
	.nb_negative = refuse_unary,
	.nb_positive = refuse_unary,
	.nb_absolute = refuse_unary,
	.nb_invert = refuse_unary,
};
