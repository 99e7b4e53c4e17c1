/* Values of elements: fill() and item(). */
#include <string.h>

#include "arguments.h"
#include "errors.h"
#include "lifetime.h"
#include "object.h"
#include "shapes.h"
#include "streams.h"
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
	if (rc)
		bip_raise(rc, &err);
	return rc ? -1 : 0;
}

/* Room for an element: `small` if it is enough, or allocated. */
#define SMALL 32

static void *element_room(const struct bi_view *view, unsigned char small[SMALL])
{
	size_t size = bi_view_dtype(view).item_size;
	void *room = size <= SMALL ? small : PyMem_Malloc(size);

	return room ? room : PyErr_NoMemory();
}

static void free_room(void *room, const unsigned char *small)
{
	if (room != small)
		PyMem_Free(room);
}

int bip_fill_view(struct bi_view *view, PyObject *value, PyObject *stream)
{
	unsigned char small[SMALL];
	void *element = element_room(view, small);
	int rc;

	if (!element)
		return -1;
	rc = bip_scalar_pack(view, value, element);
	if (!rc)
		rc = bip_fill_element(view, element, stream);
	free_room(element, small);
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

static PyObject *read_item(struct bi_view *view, const int64_t *index)
{
	unsigned char small[SMALL];
	void *element = element_room(view, small);
	PyObject *value = NULL;
	struct bi_error err;
	int rc;

	if (!element)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_get_element(view, index, element, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise(rc, &err);
	else
		value = bip_scalar_unpack(view, element);
	free_room(element, small);
	return value;
}

/* The index of the element that comes as number `position` in C order; -1 is the last one. */
static int unravel(const struct bi_view *view, int64_t position, int64_t *index)
{
	const int64_t *shape = bi_view_shape(view);
	struct bi_layout layout;
	int64_t size;

	bi_view_layout(view, &layout);
	size = bi_layout_size(&layout);
	if (position < -size || position >= size) {
		PyErr_Format(PyExc_IndexError, "item %lld of an array of %lld elements", (long long)position,
			     (long long)size);
		return -1;
	}
	position += position < 0 ? size : 0;
	for (int i = layout.ndim - 1; i >= 0; i--) {
		index[i] = position % shape[i];
		position /= shape[i];
	}
	return 0;
}

/* Without an index the array must have one element; one number counts through the array. */
static int find_item(const struct bi_view *view, const int64_t *given, int count, int64_t *index)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	if (count == 0 && bi_layout_size(&layout) != 1) {
		PyErr_Format(PyExc_ValueError, "item() needs an index, the array has %lld elements",
			     (long long)bi_layout_size(&layout));
		return -1;
	}
	if (count == layout.ndim)
		memcpy(index, given, (size_t)count * sizeof(*index));
	else if (count < 2)
		return unravel(view, count ? given[0] : 0, index);
	else {
		PyErr_Format(PyExc_ValueError, "item() has %d indices, the array %d dimensions", count, layout.ndim);
		return -1;
	}
	return 0;
}

/* Like extents, but from several arguments or a tuple. */
static int read_index(PyObject *const *args, Py_ssize_t count, int64_t given[BI_MAX_NDIM], int *number)
{
	PyObject *tuple;
	int rc;

	if (count == 1)
		return bip_extents_from("index", args[0], given, number);
	tuple = PyTuple_New(count);
	if (!tuple)
		return -1;
	for (Py_ssize_t i = 0; i < count; i++)
		PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
	rc = bip_extents_from("index", tuple, given, number);
	Py_DECREF(tuple);
	return rc;
}

PyObject *bip_item(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	int64_t given[BI_MAX_NDIM], index[BI_MAX_NDIM];
	PyObject *value = NULL;
	struct bi_view *view;
	int number;

	if (read_index(args, count, given, &number) || bip_refuse_mask(self, "item"))
		return NULL;
	view = bip_hold(self);
	if (view && find_item(view, given, number, index) == 0)
		value = read_item(view, index);
	bip_release_view(view);
	return value;
}
