/* New arrays: empty(), zeros(), full(), empty_like(). */
#include "dense.h"
#include "device_argument.h"
#include "lifetime.h"
#include "object.h"
#include "streams.h"
#include "uses.h"
#include "base/arguments.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "base/shapes.h"
#include "import/import.h"
#include "import/values.h"
#include "operations/operations.h"

enum { SHAPE, VALUE, DTYPE, DEVICE, STREAM, ARGUMENTS };

/* Element type and shape of a new array. layout.descr points into `descr`, which is owned. */
struct pattern {
	struct bi_layout layout;
	PyObject *descr;
};

/*
 * Returns the element type that an array gets without the argument dtype, as a new reference: that of an array or
 * scalar of NumPy, the Python type of a bool, int or complex number, and float for all else.
 */
static PyObject *default_type(PyObject *value)
{
	if (!value || PyFloat_CheckExact(value))
		return Py_NewRef(&PyFloat_Type);
	if (PyLong_Check(value))
		return Py_NewRef(PyBool_Check(value) ? &PyBool_Type : &PyLong_Type);
	if (bip_is_ndarray(Py_TYPE(value)) || bip_is_numpy_scalar(Py_TYPE(value)))
		return PyObject_GetAttr(value, bip_name.dtype);
	return Py_NewRef(PyComplex_Check(value) ? &PyComplex_Type : &PyFloat_Type);
}

/* Reads the element type of an array of any library but NumPy, without NumPy. */
static int type_of_array(PyObject *value, struct pattern *out)
{
	PyObject *array = bip_as_object(value);
	struct bi_view *view = array ? bip_hold(array) : NULL;
	struct bi_layout layout;

	Py_XDECREF(array);
	if (!view)
		return -1;
	bi_view_layout(view, &layout);
	out->layout.dtype = layout.dtype;
	if (layout.descr)
		out->descr = PyUnicode_DecodeUTF8(layout.descr, layout.descr_length, NULL);
	bip_release_view(view);
	return layout.descr && !out->descr ? -1 : 0;
}

/* Extends an UnsupportedTypeError: the refused element type is that of the value. Returns -1. */
static int refuse_default(void)
{
	PyObject *text = PyErr_ExceptionMatches(bip_UnsupportedTypeError) ? bip_take_message() : NULL;

	if (text)
		bip_refuse(bip_UnsupportedTypeError, "%U; this is the type of the value, and dtype= sets another",
			   text);
	Py_XDECREF(text);
	return -1;
}

static int read_default(PyObject *value, struct pattern *out)
{
	PyObject *dtype;
	int rc;

	if (value && BIP_CHECK(value))
		return type_of_array(value, out);
	if (value && bip_is_foreign_number(value)) {
		if (type_of_array(value, out) == 0)
			return 0;
		/* Such a value may be a number for Python alone, as a tensor of PyTorch that requires a gradient. */
		if (PyErr_ExceptionMatches(PyExc_MemoryError) || bip_clear_error())
			return -1;
	}
	dtype = default_type(value);
	rc = dtype ? bip_dtype_argument(dtype, &out->layout.dtype, &out->descr) : -1;
	Py_XDECREF(dtype);
	return rc && dtype ? refuse_default() : rc;
}

/* Reads the element type. `given` is the argument dtype; for NULL and None it is the default type for the value. */
static int read_dtype(PyObject *given, PyObject *value, struct pattern *out)
{
	if (given && given != Py_None)
		return bip_dtype_argument(given, &out->layout.dtype, &out->descr);
	return read_default(value, out);
}

/* Reads shape and element type. The library checks the size when the array is allocated. */
static int read_pattern(PyObject *const *values, struct pattern *out)
{
	out->descr = NULL;
	if (bip_read_sequence("shape", values[SHAPE], out->layout.shape, &out->layout.ndim) ||
	    read_dtype(values[DTYPE], values[VALUE], out))
		return -1;
	return bip_set_descr(&out->layout, out->descr);
}

static int fill_zeros(const struct bi_view *view, PyObject *stream)
{
	void *zero = PyMem_Calloc(1, bi_view_dtype(view).item_size);
	int rc = zero ? bip_fill_element(view, zero, stream) : bip_no_memory();

	PyMem_Free(zero);
	return rc;
}

/* Makes the memory ready for work on the stream: the stream waits for the allocation. */
static int acquire_for(struct bi_view *view, PyObject *stream)
{
	struct bi_stream *on;
	struct bi_error err;
	int rc = BI_OK;

	if (bip_stream(stream, bi_memory_context(bi_view_memory(view)), &on))
		return -1;
	if (on)
		rc = bip_begin_use(view, on, &err);
	bi_stream_release(on);
	return bip_check(rc, &err, bip_raise);
}

enum contents { UNDEFINED, ZEROS, VALUES };

static int fill_new(struct bi_view *view, enum contents contents, PyObject *const *values)
{
	if (contents == UNDEFINED)
		return acquire_for(view, values[STREAM]);
	if (contents == ZEROS)
		return fill_zeros(view, values[STREAM]);
	return bip_fill_view(view, values[VALUE], values[STREAM]);
}

static struct bi_view *allocate_view(const struct bi_layout *layout, PyObject *device)
{
	struct bi_context *context;
	struct bi_view *view;

	if (bip_device_context(device, &context))
		return NULL;
	bip_new_array(context, layout, &view);
	bi_context_release(context);
	return view;
}

static PyObject *make_array(enum contents contents, PyObject *const *values)
{
	struct pattern pattern;
	struct bi_view *view = NULL;

	if (read_pattern(values, &pattern) == 0)
		view = allocate_view(&pattern.layout, values[DEVICE]);
	Py_XDECREF(pattern.descr);
	if (view && fill_new(view, contents, values)) {
		bip_release_view(view);
		view = NULL;
	}
	return view ? bip_new(view) : NULL;
}

/* Makes an array without a value. The arguments are those of full() without the second one. */
static PyObject *make_without_value(const struct bip_signature *signature, enum contents contents,
				    PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	PyObject *given[ARGUMENTS - 1];

	if (bip_arguments(signature, args, count, names, given))
		return NULL;
	return make_array(contents, (PyObject *[ARGUMENTS]){ given[0], NULL, given[1], given[2], given[3] });
}

PyObject *bip_empty(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "empty", 1, 2, { "shape", "dtype", "device", "stream", NULL } };

	return make_without_value(&signature, UNDEFINED, args, count, names);
}

PyObject *bip_zeros(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "zeros", 1, 2, { "shape", "dtype", "device", "stream", NULL } };

	return make_without_value(&signature, ZEROS, args, count, names);
}

PyObject *bip_full(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = {
		"full", 2, 3, { "shape", "value", "dtype", "device", "stream", NULL }
	};
	PyObject *values[ARGUMENTS];

	if (bip_arguments(&signature, args, count, names, values))
		return NULL;
	return make_array(VALUES, values);
}

PyObject *bip_empty_like(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "empty_like", 1, 1, { "x", "device", NULL } };
	struct bip_operand like;
	struct bi_layout layout;
	struct bi_view *view;
	PyObject *values[2];

	if (bip_arguments(&signature, args, count, names, values) || bip_operand_take(values[0], &like))
		return NULL;
	bi_view_layout(like.view, &layout);
	view = allocate_view(&layout, values[1] && values[1] != Py_None ? values[1] : like.object);
	/* The elements of the operand were not used, so there is no work to wait for. */
	like.is_temporary = 0;
	bip_operand_finish(&like, NULL, 0);
	return view ? bip_new(view) : NULL;
}
