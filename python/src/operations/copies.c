/*
 * Copies: copy(), to(), copyto(), asarray(), assignment
 *
 * The library enqueues a copy and orders later work on the memory behind it. Some producers cannot wait for this
 * library's streams. An operation that imports an array of such a producer for itself waits until the work on the array
 * is complete (bip_operand_finish).
 */
#include <string.h>

#include "dense.h"
#include "device_argument.h"
#include "lifetime.h"
#include "object.h"
#include "streams.h"
#include "base/arguments.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/shapes.h"
#include "import/values.h"
#include "operations/operations.h"

/* Places */

static int is_host(const struct bi_view *view)
{
	return bi_memory_is_host(bi_view_memory(view));
}

static int is_same_context(const struct bi_context *a, const struct bi_context *b)
{
	if (a == b)
		return 1;
	return bi_context_handle(a) && bi_context_handle(a) == bi_context_handle(b) &&
	       strcmp(bi_context_device(a)->spec, bi_context_device(b)->spec) == 0;
}

/* Returns true if the memory belongs to the context. Host memory belongs to each host context. */
static int is_in_context(const struct bi_view *view, const struct bi_context *context)
{
	if (is_host(view))
		return bi_context_device(context)->kind == BI_DEVICE_KIND_HOST;
	return is_same_context(bi_memory_context(bi_view_memory(view)), context);
}

/* Copying */

/*
 * Waits until the copy has read its source, if this is host memory: the owner of the memory may write to it at any
 * time, for example through NumPy. Nothing is pending after a copy between host memories, or after an import with
 * sync=False.
 */
static int finish_reading(const struct bi_view *src)
{
	return is_host(src) && !bi_view_is_idle(src) ? bip_wait_for(src, 0) : 0;
}

/*
 * Copies on a stream given by the user. The stream belongs to the destination's device, or to the source's device if
 * the destination is host memory.
 */
static int copy_on(const struct bi_view *dst, const struct bi_view *src, PyObject *stream)
{
	const struct bi_view *device = is_host(dst) ? src : dst;
	struct bi_stream *on = NULL;
	int rc;

	if (stream && stream != Py_None && is_host(device))
		return bip_refuse(PyExc_ValueError, "stream is given, but a copy between host memories uses none");
	rc = bip_stream(stream, bi_memory_context(bi_view_memory(device)), &on);
	if (!rc)
		rc = bip_copy_enqueue(dst, src, on);
	bi_stream_release(on);
	return rc ? rc : finish_reading(src);
}

/* Copies a view to a context. Returns the dense copy as a BufferInterface without a mask. */
static PyObject *copy_as_object(struct bi_context *context, const struct bi_view *view, PyObject *stream)
{
	struct bi_layout layout;
	struct bi_view *result;

	bi_view_layout(view, &layout);
	if (bip_new_array(context, &layout, &result))
		return NULL;
	if (copy_on(result, view, stream)) {
		bip_release_view(result);
		return NULL;
	}
	return bip_new(result);
}

/* Copies a mask to the context of the copied array, and makes it the mask of the object `to`. */
static int copy_mask(struct bi_context *context, PyObject *mask, PyObject *to, PyObject *stream)
{
	struct bi_view *view = bip_hold(mask);

	if (!view)
		return -1;
	((struct bip_object *)to)->mask = copy_as_object(context, view, stream);
	bip_release_view(view);
	return ((struct bip_object *)to)->mask ? 0 : -1;
}

/*
 * Copies an array with its mask. The mask is read first, because another thread may release the array during the copy.
 * If there is no mask, the array may have lost it by a release after the caller held the view. Then the function
 * raises InvalidArrayError.
 */
static PyObject *copy_with_mask(struct bi_context *context, PyObject *object, const struct bi_view *view,
				PyObject *stream)
{
	PyObject *mask = bip_mask(object);
	PyObject *result = !mask && bip_refuse_released(object) ? NULL : copy_as_object(context, view, stream);

	if (result && mask && copy_mask(context, mask, result, stream))
		Py_CLEAR(result);
	Py_XDECREF(mask);
	return result;
}

/* Methods */

PyObject *bip_copy(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "copy", 0, 0, { "stream", NULL } };
	struct bi_context *context = NULL;
	PyObject *stream, *result = NULL;
	struct bi_view *view;

	if (bip_arguments(&signature, args, count, names, &stream))
		return NULL;
	view = bip_hold(self);
	if (view && bip_own_context(view, &context) == 0)
		result = copy_with_mask(context, self, view, stream);
	bi_context_release(context);
	bip_release_view(view);
	return result;
}

/* Returns the array itself, after making it ready for work on the stream. */
static PyObject *acquire_itself(PyObject *self, PyObject *stream)
{
	PyObject *acquired = stream && stream != Py_None ? bip_acquire(self, stream) : Py_NewRef(Py_None);

	if (!acquired)
		return NULL;
	Py_DECREF(acquired);
	return Py_NewRef(self);
}

PyObject *bip_to(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "to", 1, 1, { "device", "stream", NULL } };
	struct bi_context *context = NULL;
	PyObject *values[2], *result = NULL;
	struct bi_view *view;

	if (bip_arguments(&signature, args, count, names, values))
		return NULL;
	if (values[0] == Py_None)
		return PyErr_Format(PyExc_TypeError, "device is None, and to() needs a device; 'auto' names one");
	if (bip_device_context(values[0], &context))
		return NULL;
	view = bip_hold(self);
	if (view && is_in_context(view, context))
		result = acquire_itself(self, values[1]);
	else if (view)
		result = copy_with_mask(context, self, view, values[1]);
	bip_release_view(view);
	bi_context_release(context);
	return result;
}

/* Assignment */

static int is_same_structure(const struct bi_layout *a, const struct bi_layout *b)
{
	if (!a->descr || !b->descr)
		return 1;
	return a->descr_length == b->descr_length && memcmp(a->descr, b->descr, a->descr_length) == 0;
}

/* Raises TypeError if the element types or their fields differ, because a copy does not convert elements. */
static int check_types(const struct bi_layout *dst, const struct bi_layout *src)
{
	char to[BI_DTYPE_TEXT], from[BI_DTYPE_TEXT];

	bi_dtype_name(dst->dtype, to);
	bi_dtype_name(src->dtype, from);
	if (!bi_dtype_equal(dst->dtype, src->dtype))
		return bip_refuse(
			PyExc_TypeError,
			"the destination has elements of type %s, the source of %s, and nothing is converted: "
			"convert the source before, for example by NumPy's astype('%s')",
			to, from, to);
	if (!is_same_structure(dst, src))
		return bip_refuse(PyExc_TypeError, "the destination and the source have different fields in their %s",
				  to);
	return 0;
}

/* Makes a view without the leading axes of extent 1 that the destination does not have. */
static int drop_leading_axes(const struct bi_view *src, int ndim, struct bi_view **out, struct bi_error *err)
{
	struct bi_index items[BI_MAX_NDIM];
	int surplus = 0;

	while (bi_view_ndim(src) - surplus > ndim && bi_view_shape(src)[surplus] == 1)
		items[surplus++] = (struct bi_index){ BI_INDEX_INTEGER, 0, 0, 1 };
	return bi_view_index(src, items, surplus, out, err);
}

static void refuse_shapes(const struct bi_view *src, const struct bi_layout *to)
{
	PyObject *from = bip_tuple(bi_view_shape(src), bi_view_ndim(src));
	PyObject *wanted = from ? bip_tuple(to->shape, to->ndim) : NULL;

	if (wanted)
		PyErr_Format(PyExc_ValueError, "the source of shape %S does not fit into the destination of shape %S",
			     from, wanted);
	Py_XDECREF(from);
	Py_XDECREF(wanted);
}

/* Makes a view of the source with the shape of the destination, by broadcasting. */
static int broadcast_source(const struct bi_view *src, const struct bi_layout *to, struct bi_view **out)
{
	struct bi_view *dropped;
	struct bi_error err;
	int rc = drop_leading_axes(src, to->ndim, &dropped, &err);

	if (!rc) {
		rc = bi_view_broadcast(dropped, to->ndim, to->shape, out, &err);
		bip_release_view(dropped);
	}
	if (rc == BI_EINVAL)
		refuse_shapes(src, to);
	else if (rc)
		bip_raise(rc, &err);
	return rc ? -1 : 0;
}

static int assign_view(const struct bi_view *dst, const struct bi_view *src, PyObject *stream)
{
	struct bi_layout to, from;
	struct bi_view *fitted;
	int rc;

	bi_view_layout(dst, &to);
	bi_view_layout(src, &from);
	if (check_types(&to, &from) || broadcast_source(src, &to, &fitted))
		return -1;
	rc = copy_on(dst, fitted, stream);
	bip_release_view(fitted);
	return rc;
}

static int assign_array(const struct bi_view *dst, PyObject *value, PyObject *stream)
{
	struct bip_operand src;
	int rc;

	if (bip_operand_take(value, &src))
		return -1;
	rc = bip_refuse_mask(src.object, "assignment");
	if (!rc)
		rc = assign_view(dst, src.view, stream);
	return bip_operand_finish(&src, stream, rc);
}

int bip_assign(PyObject *dst, PyObject *value, PyObject *stream)
{
	struct bi_view *view;
	int rc;

	if (bip_refuse_mask(dst, "assignment"))
		return -1;
	view = bip_hold(dst);
	if (!view)
		return -1;
	if (bip_is_scalar(value, bi_view_dtype(view)))
		rc = bip_fill_view(view, value, stream);
	else
		rc = assign_array(view, value, stream);
	bip_release_view(view);
	return rc;
}

/* Module functions */

PyObject *bip_copyto(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "copyto", 2, 2, { "dst", "src", "stream", NULL } };
	struct bip_operand dst;
	PyObject *values[3];
	int rc;

	if (bip_arguments(&signature, args, count, names, values) || bip_operand_take(values[0], &dst))
		return NULL;
	rc = bip_assign(dst.object, values[1], values[2]);
	rc = bip_operand_finish(&dst, values[2], rc);
	return rc ? NULL : Py_NewRef(Py_None);
}

/* asarray() */

static int check_dtype(PyObject *wanted, const struct bi_view *view)
{
	struct bi_layout asked, given;
	PyObject *descr = NULL;
	int rc;

	if (!wanted || wanted == Py_None)
		return 0;
	if (bip_dtype_argument(wanted, &asked.dtype, &descr))
		return -1;
	bi_view_layout(view, &given);
	rc = bip_set_descr(&asked, descr) ? -1 : check_types(&asked, &given);
	Py_XDECREF(descr);
	return rc;
}

/*
 * Decides whether asarray() copies. `stays` is 1 if the array is on the requested device. Returns 1 to copy, 0 to use
 * the array itself, -1 with an exception if copy=False forbids a necessary copy, or `copy` has no truth value.
 */
static int decide_copy(PyObject *copy_argument, int stays)
{
	int must = 0, may = 1;

	if (copy_argument && copy_argument != Py_None) {
		must = PyObject_IsTrue(copy_argument);
		if (must < 0)
			return -1;
		may = must;
	}
	if (stays || may)
		return must || !stays;
	return bip_refuse(PyExc_ValueError, "copy is False, but the array is on another device");
}

static int choose_context(PyObject *device, const struct bi_view *view, struct bi_context **out)
{
	return device && device != Py_None ? bip_device_context(device, out) : bip_own_context(view, out);
}

static PyObject *place_operand(const struct bip_operand *operand, PyObject *device, PyObject *copy_argument)
{
	struct bi_context *context;
	PyObject *result = NULL;
	int copies;

	if (choose_context(device, operand->view, &context))
		return NULL;
	copies = decide_copy(copy_argument, is_in_context(operand->view, context));
	if (copies == 0)
		result = Py_NewRef(operand->object);
	else if (copies == 1)
		result = copy_with_mask(context, operand->object, operand->view, NULL);
	bi_context_release(context);
	return result;
}

PyObject *bip_asarray(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "asarray", 1, 1, { "obj", "dtype", "device", "copy", NULL } };
	struct bip_operand operand;
	PyObject *values[4], *result = NULL;

	if (bip_arguments(&signature, args, count, names, values) || bip_operand_take(values[0], &operand))
		return NULL;
	if (check_dtype(values[1], operand.view) == 0)
		result = place_operand(&operand, values[2], values[3]);
	/* If the result is the operand itself, it is used after this operation, so it is not temporary. */
	if (result == operand.object)
		operand.is_temporary = 0;
	if (bip_operand_finish(&operand, NULL, result ? 0 : -1))
		Py_CLEAR(result);
	return result;
}
