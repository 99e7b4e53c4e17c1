/* An array as an operand: int(), float(), bool(), and the operators of arithmetic. */
#include "lifetime.h"
#include "object.h"
#include "operations/operations.h"

/*
 * Returns the only element of an array with at most one element as a Python object. Raises TypeError for other arrays.
 * Without this function int() would parse the bytes of the array as text, and bool() would use its length.
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
	PyErr_Format(PyExc_TypeError,
		     "%s() of an array with %lld elements: only one element has one value, a[i].item()", function,
		     (long long)size);
	return NULL;
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
CONVERSION(index_of, "operator.index", PyNumber_Index)

PyObject *bip_refuse_arithmetic(PyObject *left, PyObject *right)
{
	PyObject *other = BIP_CHECK(left) ? right : left;

	if (!BIP_CHECK(other) && !PyLong_Check(other) && !PyFloat_Check(other) && !PyComplex_Check(other))
		Py_RETURN_NOTIMPLEMENTED;
	PyErr_SetString(PyExc_TypeError,
			"a BufferInterface does not compute: use a.numpy(), or import the array with a "
			"library that computes on its device, such as cupy.from_dlpack(a), "
			"torch.from_dlpack(a) or pyopencl_array(a, queue)");
	return NULL;
}

static PyObject *refuse_power(PyObject *left, PyObject *right, PyObject *modulus)
{
	(void)modulus;
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
