/* Order of work, values, shared memory; and the table of the module's functions. */
#include <string.h>

#include "operations.h"

/* Order */

static int synchronize(PyObject *self)
{
	struct bi_view *view = bip_hold(self);
	struct bi_error err;
	int rc;

	if (!view)
		return -1;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_synchronize(view, &err);
	Py_END_ALLOW_THREADS
	bip_release_view(view);
	if (rc)
		bip_raise(rc, &err);
	return rc ? -1 : 0;
}

/* What orders an array orders its mask as well. */
PyObject *bip_synchronize(PyObject *self, PyObject *none)
{
	PyObject *mask = bip_mask(self);
	int rc = synchronize(self);

	(void)none;
	if (!rc && mask)
		rc = synchronize(mask);
	Py_XDECREF(mask);
	return rc ? NULL : Py_NewRef(Py_None);
}

typedef int order_fn(const struct bi_view *view, struct bi_stream *stream, struct bi_error *err);

/* Handing back to a per-thread stream of another thread waits for it, so both ways go without the GIL. */
static int order_wrapped(const struct bi_view *view, struct bi_stream *stream, order_fn *way)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = way(view, stream, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise(rc, &err);
	return rc ? -1 : 0;
}

/* A stream that the import acquired is handed back once: its owner may let it go afterwards. */
static void forget_acquired(struct bip_object *self, const struct bi_stream *stream)
{
	struct bi_stream *forgotten = NULL;

	BIP_LOCK(self)
	if (self->acquired && bi_stream_handle(self->acquired) == bi_stream_handle(stream)) {
		forgotten = self->acquired;
		self->acquired = NULL;
	}
	BIP_UNLOCK()
	bi_stream_release(forgotten);
}

static int order(PyObject *self, const struct bi_view *view, PyObject *object, order_fn *way)
{
	struct bi_stream *stream;
	int rc;

	if (object == Py_None) {
		PyErr_SetString(PyExc_TypeError, "stream is None, and there is no stream to order the memory with");
		return -1;
	}
	if (bip_stream(object, bi_memory_context(bi_view_memory(view)), &stream))
		return -1;
	rc = order_wrapped(view, stream, way);
	if (!rc && way == bi_view_hand_back)
		forget_acquired((struct bip_object *)self, stream);
	bi_stream_release(stream);
	return rc;
}

static int order_one(PyObject *self, PyObject *const *streams, Py_ssize_t count, order_fn *way)
{
	struct bi_view *view = bip_hold(self);
	int rc = view ? 0 : -1;

	for (Py_ssize_t i = 0; i < count && !rc; i++)
		rc = order(self, view, streams[i], way);
	bip_release_view(view);
	return rc;
}

static PyObject *order_all(PyObject *self, PyObject *const *streams, Py_ssize_t count, order_fn *way)
{
	PyObject *mask = bip_mask(self);
	int rc = order_one(self, streams, count, way);

	if (!rc && mask)
		rc = order_one(mask, streams, count, way);
	Py_XDECREF(mask);
	return rc ? NULL : Py_NewRef(Py_None);
}

PyObject *bip_acquire(PyObject *self, PyObject *stream)
{
	return order_all(self, &stream, 1, bi_view_acquire);
}

PyObject *bip_hand_back(PyObject *self, PyObject *stream)
{
	return order_all(self, &stream, 1, bi_view_hand_back);
}

PyObject *bip_join(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature words = { "join", 0, 0, { NULL } };

	if (names && bip_arguments(&words, args + count, 0, names, NULL))
		return NULL;
	return order_all(self, args, count, bi_view_hand_back);
}

/* Streams in an array, so that each of them can be let go. */
static int wrap_streams(PyObject *const *objects, Py_ssize_t count, struct bi_context *context,
			struct bi_stream **streams)
{
	for (Py_ssize_t i = 0; i < count; i++) {
		if (bip_stream(objects[i], context, &streams[i]))
			return -1;
		if (streams[i])
			continue;
		PyErr_SetString(PyExc_TypeError, "None is among the streams to join");
		return -1;
	}
	return 0;
}

static int join_wrapped(struct bi_stream *into, struct bi_stream **streams, Py_ssize_t count)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = bi_stream_join(into, streams, (size_t)count, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise(rc, &err);
	return rc ? -1 : 0;
}

/* The last of the objects is the stream that waits. */
static int join_objects(PyObject *const *objects, Py_ssize_t count, struct bi_context *context)
{
	struct bi_stream **streams = PyMem_Calloc((size_t)count, sizeof(*streams));
	int rc;

	if (!streams) {
		PyErr_NoMemory();
		return -1;
	}
	rc = wrap_streams(objects, count, context, streams);
	if (!rc)
		rc = join_wrapped(streams[count - 1], streams, count - 1);
	for (Py_ssize_t i = 0; i < count; i++)
		bi_stream_release(streams[i]);
	PyMem_Free(streams);
	return rc;
}

static PyObject *list_of(PyObject *streams)
{
	PyObject *list = PySequence_List(streams);

	if (!list && PyErr_ExceptionMatches(PyExc_TypeError))
		PyErr_Format(PyExc_TypeError, "streams is of type %.100s, not a sequence of streams",
			     Py_TYPE(streams)->tp_name);
	return list;
}

static PyObject *join_streams(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "join", 3, 3, { "streams", "into", "device", NULL } };
	struct bi_context *context;
	PyObject *values[3], *objects;
	int rc = -1;

	(void)module;
	if (bip_arguments(&signature, args, count, names, values))
		return NULL;
	objects = list_of(values[0]);
	if (!objects)
		return NULL;
	if (PyList_Append(objects, values[1]) == 0 && bip_device_context(values[2], &context) == 0) {
		PyObject *all = PyList_AsTuple(objects);

		if (all)
			rc = join_objects(&PyTuple_GET_ITEM(all, 0), PyTuple_GET_SIZE(all), context);
		Py_XDECREF(all);
		bip_release_context(context);
	}
	Py_DECREF(objects);
	return rc ? NULL : Py_NewRef(Py_None);
}

/* Values */

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
	rc = bi_view_get(view, index, element, &err);
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

/* Shared memory */

/* Where element [0, ..., 0] lies. Addresses are one space, of whatever device; a cl_mem is a space of its own. */
struct place {
	uintptr_t space; /* cl_mem, or 0 */
	uintptr_t at;
};

static struct place place_of(const struct bi_view *view)
{
	void *pointer = bi_view_host_pointer(view);
	struct bi_native native;

	if (pointer)
		return (struct place){ 0, (uintptr_t)pointer };
	bi_view_native(view, &native);
	if (native.kind == BI_HANDLE_CL_MEM)
		return (struct place){ native.handle, native.offset };
	return (struct place){ 0, native.handle + native.offset };
}

static int shares(const struct bi_view *a, const struct bi_view *b)
{
	struct bi_layout first, second;

	bi_view_layout(a, &first);
	bi_view_layout(b, &second);
	if (bi_view_memory(a) != bi_view_memory(b)) {
		struct place here = place_of(a), there = place_of(b);

		if (here.space != there.space)
			return 0;
		first.offset = (int64_t)(here.at - there.at);
		second.offset = 0;
	}
	return bi_layout_size(&first) && bi_layout_size(&second) && bi_layout_overlap(&first, &second);
}

static PyObject *shares_memory(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "shares_memory", 2, 2, { "a", "b", NULL } };
	struct bip_operand a, b;
	PyObject *values[2];
	int answer = -1;

	(void)module;
	if (bip_arguments(&signature, args, count, names, values) || bip_operand_take(values[0], &a))
		return NULL;
	a.is_temporary = 0;
	if (bip_operand_take(values[1], &b) == 0) {
		b.is_temporary = 0;
		answer = shares(a.view, b.view);
		bip_operand_finish(&b, NULL, 0);
	}
	bip_operand_finish(&a, NULL, 0);
	return answer < 0 ? NULL : PyBool_FromLong(answer);
}

static PyObject *trim(PyObject *module, PyObject *none)
{
	(void)module;
	(void)none;
	bip_contexts_close(0);
	Py_RETURN_NONE;
}

/* The module's functions */

#define FAST(function) ((PyCFunction)(void (*)(void))(function))
#define FAST_WORDS (METH_FASTCALL | METH_KEYWORDS)

PyMethodDef bip_operation_functions[] = {
	{ "empty", FAST(bip_empty), FAST_WORDS,
	  "empty(shape, dtype, *, device='auto', stream=None)\n--\n\n"
	  "A dense C-order array whose elements are not set. `device` is a device string, an ordinal of CUDA, an entry "
	  "of\n"
	  "devices() or another BufferInterface; 'auto' is what the environment variable BI_DEVICE names, or else the "
	  "best\n"
	  "that there is. With a stream, what is enqueued on it from now on may use the "
	  "array." },
	{ "zeros", FAST(bip_zeros), FAST_WORDS,
	  "zeros(shape, dtype, *, device='auto', stream=None)\n--\n\nLike empty(), and every byte becomes 0. "
	  "Enqueued." },
	{ "full", FAST(bip_full), FAST_WORDS,
	  "full(shape, value, dtype, *, device='auto', stream=None)\n--\n\n"
	  "Like empty(), and every element becomes the value. Enqueued. OverflowError for an integer that does not "
	  "fit." },
	{ "empty_like", FAST(bip_empty_like), FAST_WORDS,
	  "empty_like(x, *, device=None)\n--\n\nA dense array with the shape and type of any array, on its device or "
	  "another." },
	{ "from_numpy", FAST(bip_from_numpy), FAST_WORDS,
	  "from_numpy(array, *, device='auto')\n--\n\n"
	  "A dense copy of any array on a device. An array that is not a BufferInterface has been read when this "
	  "returns." },
	{ "copyto", FAST(bip_copyto), FAST_WORDS,
	  "copyto(dst, src, *, stream=None)\n--\n\n"
	  "dst[...] = src between any arrays of any devices; src is broadcast, or a scalar. Bytes are moved, nothing "
	  "is\n"
	  "converted: TypeError if the types differ. Enqueued where both are BufferInterfaces; host memory has been "
	  "read\n"
	  "when this returns. The stream is one of dst's device, or of src's if dst is in host memory." },
	{ "asarray", FAST(bip_asarray), FAST_WORDS,
	  "asarray(obj, *, dtype=None, device=None, copy=None)\n--\n\n"
	  "Any array as a BufferInterface, copied if it is elsewhere than on `device`, or if copy is True. ValueError "
	  "if\n"
	  "copy is False and it must be copied, TypeError if it is not of the given type." },
	{ "shares_memory", FAST(shares_memory), FAST_WORDS,
	  "shares_memory(a, b)\n--\n\nTrue if an element of one array shares a byte with one of the other. Exact." },
	{ "join", FAST(join_streams), FAST_WORDS,
	  "join(streams, into, device)\n--\n\n"
	  "What is enqueued on the stream `into` from now on comes after what is now on each of the streams." },
	{ "trim", trim, METH_NOARGS, "trim()\n--\n\nGives memory and contexts that nothing uses back to the drivers." },
	{ NULL, NULL, 0, NULL },
};
