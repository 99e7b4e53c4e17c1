/* Order of work: synchronize(), marks, acquire(), hand_back(), join(). */
#include "device_argument.h"
#include "lifetime.h"
#include "object.h"
#include "streams.h"
#include "uses.h"
#include "base/arguments.h"
#include "base/errors.h"
#include "operations/operations.h"

/* Like acquire(), hand_back() and join(), synchronize() applies to the mask of the array as well. */
PyObject *bip_synchronize(PyObject *self, PyObject *Py_UNUSED(none))
{
	PyObject *mask = bip_mask(self);
	int rc = bip_wait(self);

	if (!rc && mask)
		rc = bip_wait(mask);
	Py_XDECREF(mask);
	return rc ? NULL : Py_NewRef(Py_None);
}

/*
 * A mark is a capsule of an event. The event is complete when the work is complete that was pending on an array when
 * the mark was made.
 */
static const char mark_name[] = "buffer_interface._core mark";

static void free_mark(PyObject *mark)
{
	bi_event_release(PyCapsule_GetPointer(mark, mark_name));
}

/* Records the event on a new stream, on which is nothing but the wait for the array. */
static int record_mark(const struct bi_view *view, struct bi_event **out, struct bi_error *err)
{
	struct bi_stream *stream;
	int rc = bi_stream_create(bi_memory_context(bi_view_memory(view)), BI_STREAM_IN_ORDER, &stream, err);

	if (rc)
		return rc;
	rc = bip_begin_use(view, stream, err);
	if (!rc)
		rc = bi_event_record(stream, out, err);
	bi_stream_release(stream);
	return rc;
}

PyObject *bip_mark(PyObject *Py_UNUSED(module), PyObject *array)
{
	struct bi_view *view = BIP_CHECK(array) ? bip_hold(array) : NULL;
	struct bi_event *event = NULL;
	struct bi_error err;
	PyObject *mark;
	int rc;

	if (!view)
		return PyErr_Occurred() ? NULL
					: PyErr_Format(PyExc_TypeError, "array is of type %.100s, not BufferInterface",
						       Py_TYPE(array)->tp_name);
	Py_BEGIN_ALLOW_THREADS
	rc = record_mark(view, &event, &err);
	Py_END_ALLOW_THREADS
	bip_release_view(view);
	if (rc)
		return bip_raise(rc, &err);
	mark = PyCapsule_New(event, mark_name, free_mark);
	if (!mark)
		bi_event_release(event);
	return mark;
}

PyObject *bip_is_complete(PyObject *Py_UNUSED(module), PyObject *mark)
{
	struct bi_event *event = PyCapsule_GetPointer(mark, mark_name);
	struct bi_error err;
	int done, rc;

	if (!event)
		return NULL;
	rc = bi_event_query(event, &done, &err);
	return rc ? bip_raise(rc, &err) : PyBool_FromLong(done);
}

/* The function bip_begin_use or bip_end_use. */
typedef int order_fn(const struct bi_view *view, struct bi_stream *stream, struct bi_error *err);

/*
 * Calls the function for a view and a stream. Drops the GIL, because the function may block the calling thread (rows
 * 15, 17 and 19 of docs/ordering.md).
 */
static int order_view(const struct bi_view *view, struct bi_stream *stream, order_fn *function)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = function(view, stream, &err);
	Py_END_ALLOW_THREADS
	return bip_check(rc, &err, bip_raise);
}

/*
 * Drops the reference to the stream that was given to the import, if it is this stream. Otherwise the release would
 * hand the stream back again, and the owner of the stream may have destroyed it before.
 */
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

static int order_by_object(PyObject *self, const struct bi_view *view, PyObject *object, order_fn *function)
{
	struct bi_stream *stream;
	int rc;

	if (object == Py_None)
		return bip_refuse(PyExc_TypeError, "stream is None, not a stream");
	if (bip_stream(object, bi_memory_context(bi_view_memory(view)), &stream))
		return -1;
	rc = order_view(view, stream, function);
	if (!rc && function == bip_end_use)
		forget_acquired((struct bip_object *)self, stream);
	bi_stream_release(stream);
	return rc;
}

static int order_array(PyObject *self, PyObject *const *streams, Py_ssize_t count, order_fn *function)
{
	struct bi_view *view = bip_hold(self);
	int rc = view ? 0 : -1;

	for (Py_ssize_t i = 0; i < count && !rc; i++)
		rc = order_by_object(self, view, streams[i], function);
	bip_release_view(view);
	return rc;
}

static PyObject *order_with_mask(PyObject *self, PyObject *const *streams, Py_ssize_t count, order_fn *function)
{
	PyObject *mask = bip_mask(self);
	int rc = order_array(self, streams, count, function);

	if (!rc && mask)
		rc = order_array(mask, streams, count, function);
	Py_XDECREF(mask);
	return rc ? NULL : Py_NewRef(Py_None);
}

PyObject *bip_acquire(PyObject *self, PyObject *stream)
{
	return order_with_mask(self, &stream, 1, bip_begin_use);
}

PyObject *bip_hand_back(PyObject *self, PyObject *stream)
{
	return order_with_mask(self, &stream, 1, bip_end_use);
}

PyObject *bip_join(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature words = { "join", 0, 0, { NULL } };

	if (names && bip_arguments(&words, args + count, 0, names, NULL))
		return NULL;
	return order_with_mask(self, args, count, bip_end_use);
}

/*
 * Wraps the objects as streams. The entries of `streams` are NULL before the call. The caller releases them, also on
 * failure.
 */
static int wrap_streams(PyObject *const *objects, Py_ssize_t count, struct bi_context *context,
			struct bi_stream **streams)
{
	for (Py_ssize_t i = 0; i < count; i++) {
		if (bip_stream(objects[i], context, &streams[i]))
			return -1;
		if (streams[i])
			continue;
		return bip_refuse(PyExc_TypeError, "a stream to join is None: name the stream");
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
	return bip_check(rc, &err, bip_raise);
}

/* Joins streams: the last object is the stream `into`, which waits for all others. */
static int join_objects(PyObject *const *objects, Py_ssize_t count, struct bi_context *context)
{
	struct bi_stream **streams = PyMem_Calloc((size_t)count, sizeof(*streams));
	int rc;

	if (!streams)
		return bip_no_memory();
	rc = wrap_streams(objects, count, context, streams);
	if (!rc)
		rc = join_wrapped(streams[count - 1], streams, count - 1);
	for (Py_ssize_t i = 0; i < count; i++)
		bi_stream_release(streams[i]);
	PyMem_Free(streams);
	return rc;
}

static PyObject *list_streams(PyObject *streams)
{
	PyObject *list = PySequence_List(streams);

	if (!list && PyErr_ExceptionMatches(PyExc_TypeError))
		PyErr_Format(PyExc_TypeError, "streams is of type %.100s, not a sequence of streams",
			     Py_TYPE(streams)->tp_name);
	return list;
}

PyObject *bip_join_streams(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "join", 3, 3, { "streams", "into", "device", NULL } };
	struct bi_context *context;
	PyObject *values[3], *objects;
	int rc = -1;

	if (bip_arguments(&signature, args, count, names, values))
		return NULL;
	objects = list_streams(values[0]);
	if (!objects)
		return NULL;
	if (PyList_Append(objects, values[1]) == 0 && bip_device_context(values[2], &context) == 0) {
		PyObject *all = PyList_AsTuple(objects);

		if (all)
			rc = join_objects(&PyTuple_GET_ITEM(all, 0), PyTuple_GET_SIZE(all), context);
		Py_XDECREF(all);
		bi_context_release(context);
	}
	Py_DECREF(objects);
	return rc ? NULL : Py_NewRef(Py_None);
}
