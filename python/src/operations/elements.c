/* Values of elements: fill() and item(). */
#include <string.h>

#include "lifetime.h"
#include "object.h"
#include "streams.h"
#include "base/arguments.h"
#include "base/errors.h"
#include "base/shapes.h"
#include "operations/operations.h"

int bip_fill_element(const struct bi_view *view, const void *element, PyObject *stream)
{
	struct bi_stream *on;
	struct bi_error err;
	int rc;

	if (bip_stream(stream, bi_memory_context(bi_view_memory(view)), &on))
		return -1;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_fill(view, element, on, &err);
	Py_END_ALLOW_THREADS
	bi_stream_release(on);
	return bip_check(rc, &err, bip_raise);
}

int bip_fill_view(struct bi_view *view, PyObject *value, PyObject *stream)
{
	void *element = PyMem_Malloc(bi_view_dtype(view).item_size);
	int rc = element ? bip_scalar_pack(view, value, element) : bip_no_memory();

	if (!rc)
		rc = bip_fill_element(view, element, stream);
	PyMem_Free(element);
	return rc;
}

PyObject *bip_fill(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "fill", 1, 1, { "value", "stream", NULL } };
	PyObject *values[2];
	struct bi_view *view;
	int rc = -1;

	if (bip_arguments(&signature, args, count, names, values) || bip_refuse_mask(self, "fill"))
		return NULL;
	view = bip_hold(self);
	if (view)
		rc = bip_fill_view(view, values[0], values[1]);
	bip_release_view(view);
	return rc ? NULL : Py_NewRef(Py_None);
}

/* After BI_EUNFINISHED the driver may still write the element, so it is not on the stack, and is not freed then. */
static PyObject *read_element(struct bi_view *view, const int64_t *index)
{
	void *element = PyMem_Malloc(bi_view_dtype(view).item_size);
	PyObject *value = NULL;
	struct bi_error err;
	int rc;

	if (!element)
		return PyErr_NoMemory();
	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_get_element(view, index, element, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise(rc, &err);
	else
		value = bip_scalar_unpack(view, element);
	if (rc != BI_EUNFINISHED)
		PyMem_Free(element);
	return value;
}

/*
 * Writes to *index the index of the element at `position` in C order. A negative position counts from the end: -1 is
 * the last element. Raises IndexError if there is no such element.
 */
static int unravel_position(const struct bi_view *view, int64_t position, int64_t *index)
{
	const int64_t *shape = bi_view_shape(view);
	struct bi_layout layout;
	int64_t size;

	bi_view_layout(view, &layout);
	size = bi_layout_size(&layout);
	if (position < -size || position >= size)
		return bip_refuse(PyExc_IndexError, "item %lld of an array of %lld elements", (long long)position,
				  (long long)size);
	position += position < 0 ? size : 0;
	for (int i = layout.ndim - 1; i >= 0; i--) {
		index[i] = position % shape[i];
		position /= shape[i];
	}
	return 0;
}

/*
 * Writes the full index of an element. `given` has one number for each dimension, or one position in C order, or no
 * number if the array has exactly one element.
 */
static int complete_index(const struct bi_view *view, const int64_t *given, int count, int64_t *index)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	if (count == 0 && bi_layout_size(&layout) != 1)
		return bip_refuse(PyExc_ValueError, "item() needs an index, the array has %lld elements",
				  (long long)bi_layout_size(&layout));
	if (count == layout.ndim)
		memcpy(index, given, (size_t)count * sizeof(*index));
	else if (count < 2)
		return unravel_position(view, count ? given[0] : 0, index);
	else
		return bip_refuse(PyExc_ValueError, "item() has %d indices, the array %d dimensions", count,
				  layout.ndim);
	return 0;
}

/* The arguments are integers, or one sequence of integers. */
PyObject *bip_item(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	int64_t given[BI_MAX_NDIM], index[BI_MAX_NDIM];
	PyObject *value = NULL;
	struct bi_view *view;
	int number, rc = count == 1 ? bip_read_sequence("index", args[0], given, &number)
				    : bip_read_numbers("index", args, count, given, &number);

	if (rc || bip_refuse_mask(self, "item"))
		return NULL;
	view = bip_hold(self);
	if (view && complete_index(view, given, number, index) == 0)
		value = read_element(view, index);
	bip_release_view(view);
	return value;
}
