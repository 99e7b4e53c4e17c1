/*
 * Views of the same memory: indexing, axes, shapes, element types
 *
 * The operations follow NumPy's basic indexing and its exceptions. Making a view copies no element and calls no driver.
 * A view that would need a copy is refused. The mask of a masked array is changed in the same way as the array, except
 * that a masked array has no view of a field or of another element type.
 */
#include "lifetime.h"
#include "object.h"
#include "base/arguments.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "base/shapes.h"
#include "operations/operations.h"

/* Changes of a layout */

/*
 * One kind of view. If the library fails with `status`, `exception` is raised, because NumPy raises another exception
 * here than bip_raise. A struct with an exception is not static: on Windows the address of an exception is no constant.
 */
struct change {
	int (*apply)(const struct bi_view *view, const void *argument, struct bi_view **out, struct bi_error *err);
	int status;
	PyObject **exception;
	int fits_mask; /* 1: the change applies to the mask as well */
};

static void *raise_for_change(const struct change *change, int rc, const struct bi_error *err)
{
	if (rc != change->status)
		return bip_raise(rc, err);
	PyErr_Format(*change->exception, "%s", err->message);
	return NULL;
}

/* Changes a mask. The mask may be smaller than the array, and is then repeated over it, so it is broadcast first. */
static int change_broadcast_mask(const struct bi_view *view, const struct bi_view *mask, const struct change *change,
				 const void *argument, struct bi_view **out, struct bi_error *err)
{
	struct bi_view *whole;
	int rc = bi_view_broadcast(mask, bi_view_ndim(view), bi_view_shape(view), &whole, err);

	if (rc)
		return rc;
	rc = change->apply(whole, argument, out, err);
	bip_release_view(whole);
	return rc;
}

static PyObject *change_mask(const struct bi_view *view, PyObject *mask, const struct change *change,
			     const void *argument)
{
	struct bi_view *held, *changed;
	struct bi_error err;
	int rc;

	if (!change->fits_mask)
		return PyErr_Format(
			bip_UnsupportedError,
			"the array is masked, and a mask applies neither to a field nor to another element type");
	held = bip_hold(mask);
	if (!held)
		return NULL;
	rc = change_broadcast_mask(view, held, change, argument, &changed, &err);
	bip_release_view(held);
	return rc ? raise_for_change(change, rc, &err) : bip_derive((struct bip_object *)mask, changed);
}

/*
 * Returns the object for `changed`, with the mask changed in the same way. Takes ownership of `changed`. Gets the mask
 * before the view: if another thread has released the array, the view is missing, and the function raises.
 */
static PyObject *change_masked(PyObject *self, const struct change *change, const void *argument,
			       struct bi_view *changed)
{
	PyObject *whole = bip_mask(self), *result = NULL;
	struct bi_view *view = bip_hold(self);
	PyObject *mask = view ? change_mask(view, whole, change, argument) : NULL;

	bip_release_view(view);
	Py_XDECREF(whole);
	if (mask)
		result = bip_derive((struct bip_object *)self, changed);
	else
		bip_release_view(changed);
	if (result)
		((struct bip_object *)result)->mask = mask;
	else
		Py_XDECREF(mask);
	return result;
}

static PyObject *derive_view(PyObject *self, const struct change *change, const void *argument)
{
	struct bi_view *view, *changed = NULL;
	int is_masked, rc = 0;
	struct bi_error err;

	BIP_LOCK(self)
	view = bip_view_locked(self);
	is_masked = ((struct bip_object *)self)->mask != NULL;
	if (view)
		rc = change->apply(view, argument, &changed, &err);
	BIP_UNLOCK()
	if (!view)
		return NULL;
	if (rc)
		return raise_for_change(change, rc, &err);
	if (is_masked)
		return change_masked(self, change, argument, changed);
	return bip_derive((struct bip_object *)self, changed);
}

/* Indexing */

/* The most items of an index: an integer or a slice for each axis, as many new axes, and one ellipsis. */
#define MOST_ITEMS (2 * BI_MAX_NDIM + 1)

struct indices {
	int count;
	struct bi_index items[MOST_ITEMS];
};

static int refuse_key(PyObject *key)
{
	return bip_refuse(
		PyExc_IndexError,
		"only integers, slices (`:`), ellipsis (`...`), None and the name of a field are indices, not %.100s: "
		"a.numpy()[...] selects elements by a list or an array",
		Py_TYPE(key)->tp_name);
}

/* Replaces PY_SSIZE_T_MIN, which equals BI_OMITTED on 64 bits, by the next number. The slice stays the same. */
static int64_t slice_limit(Py_ssize_t given)
{
	return given == PY_SSIZE_T_MIN ? given + 1 : given;
}

static int read_slice(PyObject *key, struct bi_index *out)
{
	Py_ssize_t start, stop, step;

	if (PySlice_Unpack(key, &start, &stop, &step) < 0)
		return -1;
	*out = (struct bi_index){ BI_INDEX_SLICE, slice_limit(start), slice_limit(stop), step };
	return 0;
}

static int read_integer(PyObject *key, struct bi_index *out)
{
	Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_OverflowError);

	if (index == -1 && PyErr_Occurred())
		return PyErr_ExceptionMatches(PyExc_TypeError)
			       ? refuse_key(key)
			       : bip_refuse_range(PyExc_IndexError, "index", key, "numbers of 64 bits");
	*out = (struct bi_index){ BI_INDEX_INTEGER, index, 0, 1 };
	return 0;
}

static int read_index(PyObject *key, struct bi_index *out)
{
	if (PyLong_CheckExact(key))
		return read_integer(key, out);
	if (PySlice_Check(key))
		return read_slice(key, out);
	if (key == Py_None)
		*out = (struct bi_index){ BI_INDEX_NEWAXIS, 0, 0, 1 };
	else if (key == Py_Ellipsis)
		*out = (struct bi_index){ BI_INDEX_ELLIPSIS, 0, 0, 1 };
	else if (PyIndex_Check(key) && !PyBool_Check(key))
		return read_integer(key, out);
	else
		return refuse_key(key);
	return 0;
}

static int read_indices(PyObject *key, struct indices *out)
{
	if (!PyTuple_Check(key)) {
		out->count = 1;
		return read_index(key, out->items);
	}
	if (PyTuple_GET_SIZE(key) > MOST_ITEMS)
		return bip_refuse(PyExc_IndexError, "there are %zd indices, and no array takes more than %d",
				  PyTuple_GET_SIZE(key), MOST_ITEMS);
	out->count = (int)PyTuple_GET_SIZE(key);
	for (int i = 0; i < out->count; i++)
		if (read_index(PyTuple_GET_ITEM(key, i), &out->items[i]))
			return -1;
	return 0;
}

/*
 * Returns the first axis whose extent an integer exceeds, and the integer in *index; -1 if there is none. Two ellipses,
 * which the library refuses, may lead past the last axis.
 */
static int find_exceeded(const struct bi_view *view, const struct indices *indices, int indexed, int64_t *index)
{
	const int64_t *shape = bi_view_shape(view);
	int axis = 0;

	for (int i = 0; i < indices->count && axis < bi_view_ndim(view); i++) {
		const struct bi_index *item = &indices->items[i];

		*index = item->start;
		if (item->kind == BI_INDEX_INTEGER && (*index < -shape[axis] || *index >= shape[axis]))
			return axis;
		axis += item->kind == BI_INDEX_ELLIPSIS ? bi_view_ndim(view) - indexed : item->kind != BI_INDEX_NEWAXIS;
	}
	return -1;
}

static int apply_items(const struct bi_view *view, const void *argument, struct bi_view **out, struct bi_error *err)
{
	const struct indices *items = argument;

	return bi_view_index(view, items->items, items->count, out, err);
}

static int apply_field(const struct bi_view *view, const void *argument, struct bi_view **out, struct bi_error *err)
{
	return bi_view_field(view, argument, out, err);
}

static int refuse_bounds(const struct bi_view *view, const struct indices *indices)
{
	int ndim = bi_view_ndim(view), indexed = 0, axis;
	int64_t index;

	for (int i = 0; i < indices->count; i++)
		indexed += indices->items[i].kind == BI_INDEX_INTEGER || indices->items[i].kind == BI_INDEX_SLICE;
	if (indexed > ndim)
		return bip_refuse(PyExc_IndexError, "too many indices: the array has %d dimension%s, %d were given",
				  ndim, ndim == 1 ? "" : "s", indexed);
	axis = find_exceeded(view, indices, indexed, &index);
	if (axis < 0)
		return -1;
	return bip_refuse(PyExc_IndexError, "index %lld is out of bounds for axis %d with size %lld", (long long)index,
			  axis, (long long)bi_view_shape(view)[axis]);
}

/*
 * Replaces an IndexError by one in NumPy's words if an index exceeds the array or there are too many. The library's
 * message names the arguments of the C function.
 */
static void explain_bounds(PyObject *self, const struct indices *indices)
{
	struct bip_raised raised = bip_put_aside();
	struct bi_view *view = bip_hold(self);

	bip_put_back(raised);
	if (view && PyErr_ExceptionMatches(PyExc_IndexError))
		refuse_bounds(view, indices);
	bip_release_view(view);
}

PyObject *bip_subscript(PyObject *self, PyObject *key)
{
	const struct change index = { apply_items, BI_EINVAL, &PyExc_IndexError, 1 };
	const struct change field = { apply_field, BI_EDTYPE, &PyExc_IndexError, 0 };
	struct indices items;
	PyObject *view;

	if (PyUnicode_Check(key)) {
		const char *name = bip_utf8(key);

		if (!name && PyErr_ExceptionMatches(PyExc_ValueError))
			PyErr_Format(PyExc_IndexError, "name: the type has no field %R", key);
		return name ? derive_view(self, &field, name) : NULL;
	}
	if (read_indices(key, &items))
		return NULL;
	view = derive_view(self, &index, &items);
	if (!view)
		explain_bounds(self, &items);
	return view;
}

static int ndim_of(PyObject *self)
{
	const struct bi_view *view;
	int ndim = -1;

	BIP_LOCK(self)
	view = bip_view_locked(self);
	if (view)
		ndim = bi_view_ndim(view);
	BIP_UNLOCK()
	return ndim;
}

PyObject *bip_sequence_item(PyObject *self, Py_ssize_t index)
{
	PyObject *key, *view, *element;

	if (index < 0)
		return PyErr_Format(PyExc_IndexError, "the index is out of bounds for axis 0");
	key = PyLong_FromSsize_t(index);
	view = key ? bip_subscript(self, key) : NULL;
	Py_XDECREF(key);
	if (!view || ndim_of(view))
		return view;
	element = bip_item(view, NULL, 0);
	Py_DECREF(view);
	return element;
}

int bip_ass_subscript(PyObject *self, PyObject *key, PyObject *value)
{
	PyObject *target;
	int rc;

	if (!value)
		return bip_refuse(PyExc_TypeError, "elements of an array cannot be deleted");
	target = bip_subscript(self, key);
	if (!target)
		return -1;
	rc = bip_assign(target, value, NULL);
	Py_DECREF(target);
	return rc;
}

Py_ssize_t bip_length(PyObject *self)
{
	const struct bi_view *view;
	Py_ssize_t length = -1;

	BIP_LOCK(self)
	view = bip_view_locked(self);
	if (view && bi_view_ndim(view))
		length = (Py_ssize_t)bi_view_shape(view)[0];
	BIP_UNLOCK()
	if (view && length < 0)
		PyErr_SetString(PyExc_TypeError, "len() of an array without dimensions");
	return length;
}

/* Axes */

static int apply_axes(const struct bi_view *view, const void *argument, struct bi_view **out, struct bi_error *err)
{
	return bi_view_permute(view, argument, out, err);
}

static const struct change permutation = { apply_axes, 0, NULL, 1 };

PyObject *bip_get_T(PyObject *self, void *Py_UNUSED(closure))
{
	return derive_view(self, &permutation, NULL);
}

static int read_axes(PyObject *const *args, Py_ssize_t count, int ndim, int axes[BI_MAX_NDIM])
{
	if (count != ndim)
		return bip_refuse(PyExc_ValueError, "%zd axes are given, the array has %d", count, ndim);
	for (int i = 0; i < ndim; i++) {
		PyObject *number = PyNumber_Index(args[i]);
		Py_ssize_t axis = number ? PyNumber_AsSsize_t(number, NULL) : 0;

		if (number && (axis < -ndim || axis >= ndim))
			bip_refuse(PyExc_ValueError, "axes[%d] is %S, not in %d..%d", i, bip_printable(number), -ndim,
				   ndim - 1);
		Py_XDECREF(number);
		if (PyErr_Occurred())
			return -1;
		axes[i] = (int)axis;
	}
	return 0;
}

static PyObject *transpose_by(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	int ndim = ndim_of(self), axes[BI_MAX_NDIM];

	if (ndim < 0 || read_axes(args, count, ndim, axes))
		return NULL;
	return derive_view(self, &permutation, axes);
}

/* transpose(). The axes are one sequence, or one argument each. */
PyObject *bip_transpose(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	PyObject *axes, *result;
	int is_number;

	if (count == 0 || (count == 1 && args[0] == Py_None))
		return derive_view(self, &permutation, NULL);
	is_number = count == 1 ? bip_is_number(args[0]) : 1;
	if (is_number)
		return is_number < 0 ? NULL : transpose_by(self, args, count);
	axes = bip_tuple_of_numbers("axes", args[0]);
	if (!axes)
		return NULL;
	result = transpose_by(self, &PyTuple_GET_ITEM(axes, 0), PyTuple_GET_SIZE(axes));
	Py_DECREF(axes);
	return result;
}

/* Shapes */

struct shape {
	int ndim;
	int64_t extents[BI_MAX_NDIM];
};

static int apply_reshape(const struct bi_view *view, const void *argument, struct bi_view **out, struct bi_error *err)
{
	const struct shape *shape = argument;

	int rc = bi_view_reshape(view, shape->ndim, shape->extents, out, err);
	size_t used = rc == BI_EUNSUPPORTED ? strlen(err->message) : 0;

	if (used)
		snprintf(err->message + used, sizeof(err->message) - used, ": use .copy().reshape()");
	return rc;
}

static int apply_broadcast(const struct bi_view *view, const void *argument, struct bi_view **out, struct bi_error *err)
{
	const struct shape *shape = argument;

	return bi_view_broadcast(view, shape->ndim, shape->extents, out, err);
}

PyObject *bip_reshape(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	const struct change reshape = { apply_reshape, BI_EUNSUPPORTED, &PyExc_ValueError, 1 };
	struct shape shape;
	int rc;

	if (count == 1)
		rc = bip_read_sequence("shape", args[0], shape.extents, &shape.ndim);
	else
		rc = bip_read_numbers("shape", args, count, shape.extents, &shape.ndim);
	return rc ? NULL : derive_view(self, &reshape, &shape);
}

PyObject *bip_broadcast_to(PyObject *self, PyObject *object)
{
	static const struct change broadcast = { apply_broadcast, 0, NULL, 1 };
	struct shape shape;

	if (bip_read_sequence("shape", object, shape.extents, &shape.ndim))
		return NULL;
	return derive_view(self, &broadcast, &shape);
}

/* Types */

struct type {
	struct bi_dtype dtype;
	const char *descr; /* text of the fields of a structured type, or NULL */
};

static int apply_type(const struct bi_view *view, const void *argument, struct bi_view **out, struct bi_error *err)
{
	const struct type *type = argument;

	return bi_view_reinterpret(view, type->dtype, type->descr, out, err);
}

PyObject *bip_view_as(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "view", 1, 1, { "dtype", NULL } };
	const struct change reinterpretation = { apply_type, BI_EDTYPE, &PyExc_ValueError, 0 };
	struct type type = { { 0, 0, 0, 0 }, NULL };
	PyObject *object, *descr = NULL, *result = NULL;

	if (bip_arguments(&signature, args, count, names, &object) || bip_dtype_argument(object, &type.dtype, &descr))
		return NULL;
	if (descr)
		type.descr = PyUnicode_AsUTF8(descr);
	if (!descr || type.descr)
		result = derive_view(self, &reinterpretation, &type);
	Py_XDECREF(descr);
	return result;
}
