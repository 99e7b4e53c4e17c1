/*
 * Imports of pyopencl's arrays, buffers and SVM (shared virtual memory)
 *
 * An array is read by base_data and offset. Its attribute `data` is not used, because pyopencl raises an exception for
 * an offset other than 0 [O4]. The memory of an array is ready on its queue after its events. A bare buffer names no
 * queue.
 */
#include "contexts.h"
#include "lifetime.h"
#include "object.h"
#include "streams.h"
#include "base/backends.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/import.h"
#include "import/pyopencl_types.h"
#include "import/values.h"

/* Where the memory is */

struct place {
	enum bi_handle_kind kind;
	uintptr_t handle; /* 0: no memory; allowed for an array without elements [O3] */
	size_t nbytes; /* bytes of SVM; 0 for a cl_mem, whose size the driver reports */
	uintptr_t queue; /* handle of the queue of the array or SVM; 0: no queue, or the cache has given `stream` */
	struct bi_stream *stream; /* the queue as a stream, owned; or NULL */
	struct bi_context *context; /* borrowed from `stream` if that is not NULL, else owned */
};

static void release_place(struct place *place)
{
	if (!place->stream)
		bi_context_release(place->context);
	bi_stream_release(place->stream);
}

static int read_int_ptr(PyObject *object, uintptr_t *out)
{
	PyObject *value = PyObject_GetAttr(object, bip_name.int_ptr);

	if (!value)
		return -1;
	*out = PyLong_AsSize_t(value);
	if (PyErr_Occurred())
		bip_refuse_range(PyExc_ValueError, "int_ptr", value, BIP_HANDLES);
	Py_DECREF(value);
	return PyErr_Occurred() ? -1 : 0;
}

/* Reads the size of SVM. Raises UnsupportedError if pyopencl gives None, an unknown size. */
static int read_svm_size(PyObject *svm, size_t *out)
{
	PyObject *size = PyObject_GetAttr(svm, bip_name.size);

	if (!size)
		return -1;
	if (size == Py_None)
		PyErr_SetString(bip_UnsupportedError, "the SVM pointer does not know the size of its memory, "
						      "so nothing can be checked against it");
	else
		*out = PyLong_AsSize_t(size);
	if (PyErr_Occurred())
		bip_refuse_range(PyExc_ValueError, "size", size, BIP_HANDLES);
	Py_DECREF(size);
	return PyErr_Occurred() ? -1 : 0;
}

/* Reads int_ptr as read_int_ptr does. Raises TypeError for an object without this attribute. */
static int read_handle(PyObject *object, const char *what, uintptr_t *out)
{
	if (!read_int_ptr(object, out))
		return 0;
	if (PyErr_ExceptionMatches(PyExc_AttributeError))
		PyErr_Format(PyExc_TypeError, "%s is of type %.100s, which has no int_ptr", what,
			     Py_TYPE(object)->tp_name);
	return -1;
}

/* Reads the handle of a queue. *out is 0 if `queue` is NULL or None. */
static int read_queue(PyObject *queue, uintptr_t *out)
{
	*out = 0;
	return queue && queue != Py_None ? read_handle(queue, "a queue", out) : 0;
}

/* Reads the queue to which an SVM allocation is bound. Only a private attribute has this queue. */
static int read_queue_of_svm(PyObject *svm, uintptr_t *out)
{
	PyObject *queue;
	int rc;

	if (bip_attribute(svm, bip_name._queue, &queue))
		return -1;
	rc = read_queue(queue, out);
	Py_XDECREF(queue);
	return rc;
}

static int read_svm(PyObject *svm, struct place *place)
{
	PyObject *pointer;

	place->kind = BI_HANDLE_CL_SVM;
	if (read_svm_size(svm, &place->nbytes))
		return -1;
	if (!place->stream && !place->queue && read_queue_of_svm(svm, &place->queue))
		return -1;
	pointer = PyObject_GetAttr(svm, bip_name.svm_ptr);
	if (!pointer)
		return -1;
	place->handle = pointer == Py_None ? 0 : PyLong_AsSize_t(pointer);
	if (PyErr_Occurred())
		bip_refuse_range(PyExc_ValueError, "svm_ptr", pointer, BIP_HANDLES);
	Py_DECREF(pointer);
	return PyErr_Occurred() ? -1 : 0;
}

/*
 * Reads the memory of an object: the kind and the handle. For SVM, also reads the size, and the queue unless *place has
 * one. Returns 1, 0 if the object is neither a memory object nor SVM, -1 with an exception.
 */
static int read_memory(PyObject *object, struct place *place)
{
	int rc = bip_cl_is_a(object, BIP_CL_MEMORY);

	if (rc == 1) {
		place->kind = BI_HANDLE_CL_MEM;
		return read_int_ptr(object, &place->handle) ? -1 : 1;
	}
	if (!rc)
		rc = bip_cl_is_a(object, BIP_CL_SVM);
	if (rc == 1)
		return read_svm(object, place) ? -1 : 1;
	return rc;
}

/* Context */

/*
 * Finds the context of an SVM pointer without a queue, by the queue producer_stream: the pointer does not name its
 * cl_context.
 */
static int context_of_producer_stream(PyObject *queue, struct bi_context **out)
{
	uintptr_t handle;

	if (!queue)
		return bip_refuse(bip_UnsupportedError, "the cl_context of the SVM memory is not known: "
							"name a queue with producer_stream=");
	return read_queue(queue, &handle) ? -1 : bip_context_of_queue(handle, out);
}

static int find_context(struct place *place, const struct bip_request *request)
{
	if (!place->stream && place->queue && bip_stream_of_queue(place->queue, &place->stream))
		return -1;
	if (place->stream) {
		place->context = bi_stream_context(place->stream);
		return 0;
	}
	if (place->kind == BI_HANDLE_CL_SVM)
		return context_of_producer_stream(request->producer_stream, &place->context);
	return bip_context_of_memory(place->kind, place->handle, &place->context);
}

/* Finds the context of an array that has neither memory nor a queue, by the attribute `context`. */
static int find_context_of_nothing(PyObject *array, struct bi_context **out)
{
	PyObject *context = PyObject_GetAttr(array, bip_name.context);
	struct bi_backend backend;
	uintptr_t handle;
	int rc = context ? read_handle(context, "a context", &handle) : -1;

	bip_backend_with_handle(BI_HANDLE_CL_MEM, &backend);
	if (!rc)
		rc = bip_context_native(backend.name, handle, 0, out);
	Py_XDECREF(context);
	return rc;
}

/* Order */

/* The events for which each stream waits until the first use of the memory has ended (docs/ordering.md, row 4). */
struct events {
	struct bi_event **list;
	size_t count;
};

static void release_events(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		bi_event_release(events->list[i]);
	PyMem_Free(events->list);
}

/*
 * Returns the status of the command. The attribute command_execution_status has the same value, but is slower: it is a
 * property that Python code implements by get_info.
 */
static PyObject *read_status(PyObject *event)
{
	const long status_of_command = 0x11D3; /* CL_EVENT_COMMAND_EXECUTION_STATUS */
	PyObject *parameter = PyLong_FromLong(status_of_command);
	PyObject *status = parameter ? PyObject_CallMethodOneArg(event, bip_name.get_info, parameter) : NULL;

	Py_XDECREF(parameter);
	return status;
}

/* Returns 1 if the event is complete, 0 if it is pending, has failed or has no get_info, -1 with an exception. */
static int is_complete(PyObject *event)
{
	PyObject *status = read_status(event);
	long code;

	if (!status && !PyErr_ExceptionMatches(PyExc_AttributeError))
		return -1;
	if (!status) {
		PyErr_Clear();
		return 0;
	}
	code = PyLong_AsLong(status);
	Py_DECREF(status);
	return code == -1 && PyErr_Occurred() ? -1 : code == 0;
}

/* Adds an event, unless it is complete. A failed event is added too, so that the first use reports the failure. */
static int add_event(PyObject *object, struct bi_context *context, struct events *events)
{
	int done = is_complete(object);
	struct bi_error err;
	uintptr_t handle;

	if (done)
		return done < 0 ? -1 : 0;
	if (read_handle(object, "an event", &handle) ||
	    bip_check(bi_event_wrap(context, handle, &events->list[events->count], &err), &err, bip_raise_import))
		return -1;
	events->count++;
	return 0;
}

/*
 * Collects the events of an array. The caller releases them, also on failure. The list is copied first, because reading
 * an event may run Python code that changes the list.
 */
static int collect_events(PyObject *list, struct bi_context *context, struct events *events)
{
	PyObject *items = PySequence_Tuple(list);
	Py_ssize_t count = items ? PyTuple_GET_SIZE(items) : 0;
	int rc = items ? 0 : -1;

	if (count && !(events->list = PyMem_New(struct bi_event *, (size_t)count)))
		rc = bip_no_memory();
	for (Py_ssize_t i = 0; !rc && i < count; i++)
		rc = add_event(PyTuple_GET_ITEM(items, i), context, events);
	Py_XDECREF(items);
	return rc;
}

/* Views */

/* Makes the layout of a bare buffer or of SVM: a dense array of its bytes. */
static int make_byte_layout(const struct bi_memory *memory, struct bi_layout *out, struct bi_error *err)
{
	int64_t nbytes = (int64_t)bi_memory_nbytes(memory);
	struct bi_dtype dtype;
	int rc = bi_dtype_make(BI_UINT8, 1, 0, &dtype, err);

	return rc ? rc : bi_layout_init(out, dtype, 1, &nbytes, NULL, 0, err);
}

/*
 * Makes a view. If `layout` is NULL, the view has all bytes of the memory. Takes ownership of the memory, also on
 * failure.
 */
static int view_memory(struct bi_memory *memory, const struct bi_layout *layout, struct bi_view **out)
{
	struct bi_layout flat;
	struct bi_error err;
	int rc = layout ? BI_OK : make_byte_layout(memory, &flat, &err);

	if (!rc)
		rc = bi_view_create(memory, layout ? layout : &flat, 0, out, &err);
	bi_memory_release(memory);
	return bip_check(rc, &err, bip_raise_import);
}

/*
 * Wraps the memory and makes a view. If `layout` is NULL, the view has all bytes of the memory. The memory keeps
 * `owner`. If there is no handle, makes new memory of 0 bytes, which does not keep `owner`.
 */
static int wrap_place(const struct place *place, struct bi_foreign *foreign, const struct bi_layout *layout,
		      PyObject *owner, struct bi_view **out)
{
	struct bi_memory *memory;
	struct bi_error err;
	int rc;

	if (!place->handle) {
		rc = bi_memory_create(place->context, 0, BI_MEMORY_DEVICE, &memory, &err);
		return rc ? bip_check(rc, &err, bip_raise_import) : view_memory(memory, layout, out);
	}
	foreign->kind = place->kind;
	foreign->handle = place->handle;
	foreign->nbytes = place->nbytes;
	foreign->release = bip_release_owner;
	foreign->release_data = Py_NewRef(owner);
	rc = layout ? bi_view_wrap(place->context, foreign, layout, out, &err)
		    : bi_memory_wrap(place->context, foreign, &memory, &err);
	if (rc)
		Py_DECREF(owner);
	return rc || layout ? bip_check(rc, &err, bip_raise_import) : view_memory(memory, NULL, out);
}

/* Reads the argument producer_stream, which replaces the queue of the array. *out is NULL if it is not given. */
static int read_producer_stream(const struct bip_request *request, struct bi_context *context, struct bi_stream **out)
{
	*out = NULL;
	if (!request->sync || !request->producer_stream)
		return 0;
	return bip_stream_named("producer_stream", request->producer_stream, context, out);
}

/* Makes the view as wrap_place does, with the order of work. `list` contains the array's events, or is NULL. */
static int make_view(const struct place *place, const struct bip_request *request, const struct bi_layout *layout,
		     PyObject *list, PyObject *owner, struct bip_found *found)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct events events = { NULL, 0 };
	struct bi_stream *named;
	int rc = read_producer_stream(request, place->context, &named);

	if (!rc && list && request->sync && place->handle)
		rc = collect_events(list, place->context, &events);
	if (request->sync)
		foreign.stream = named ? named : place->stream;
	if (!rc) {
		foreign.flags = request->sync ? 0 : BI_WRAP_UNORDERED;
		foreign.events = events.list;
		foreign.event_count = events.count;
		rc = wrap_place(place, &foreign, layout, owner, &found->view);
	}
	found->flags = request->sync && !foreign.stream ? BIP_WAIT_AT_EXIT : 0;
	release_events(&events);
	bi_stream_release(named);
	return rc;
}

/* An array */

enum { BASE_DATA, OFFSET, SHAPE, STRIDES, DTYPE, QUEUE, EVENTS, MEMBERS };

/* Reads the attributes of an array. The caller releases the members, also on failure. */
static int read_members(PyObject *array, PyObject *members[MEMBERS])
{
	PyObject *const names[MEMBERS] = { bip_name.base_data, bip_name.offset, bip_name.shape, bip_name.strides,
					   bip_name.dtype,     bip_name.queue,  bip_name.events };

	for (int i = 0; i < MEMBERS; i++) {
		members[i] = PyObject_GetAttr(array, names[i]);
		if (!members[i])
			return -1;
	}
	return 0;
}

/* Reads the layout of an array. The layout borrows from *descr, which the caller releases, also on failure. */
static int read_layout(PyObject *const members[MEMBERS], struct bi_layout *layout, PyObject **descr)
{
	if (bip_number(members[OFFSET], "offset", "", &layout->offset) ||
	    bip_numbers(members[SHAPE], "shape", "", layout->shape, &layout->ndim) ||
	    bip_strides(members[STRIDES], layout->ndim, "", layout->strides) ||
	    bip_dtype_from_with_descr(members[DTYPE], &layout->dtype, descr))
		return -1;
	return bip_set_descr(layout, *descr);
}

static int read_place(PyObject *const members[MEMBERS], struct place *place)
{
	PyObject *base = members[BASE_DATA];
	int rc;

	place->stream = bip_stream_named_by(members[QUEUE]);
	if (!place->stream && read_queue(members[QUEUE], &place->queue))
		return -1;
	if (base == Py_None)
		return 0;
	rc = read_memory(base, place);
	if (rc == 0)
		PyErr_Format(PyExc_TypeError, "base_data is of type %.100s, neither a buffer nor SVM",
			     Py_TYPE(base)->tp_name);
	return rc == 1 ? 0 : -1;
}

/* Stores the queue object if its type is exactly CommandQueue, whose handle does not change. */
static int name_stream(struct bi_stream *stream, PyObject *queue)
{
	PyTypeObject *type = bip_cl_type(BIP_CL_QUEUE);

	if (type && Py_IS_TYPE(queue, type))
		bip_name_stream(stream, queue);
	return type || !PyErr_Occurred() ? 0 : -1;
}

static int make_array_view(PyObject *array, PyObject *const members[MEMBERS], const struct bi_layout *layout,
			   const struct bip_request *request, struct bip_found *found)
{
	struct place place = { BI_HANDLE_CL_MEM, 0, 0, 0, NULL, NULL };
	int rc = read_place(members, &place);

	if (!rc)
		rc = place.handle || place.queue || place.stream ? find_context(&place, request)
								 : find_context_of_nothing(array, &place.context);
	if (!rc && place.queue)
		rc = name_stream(place.stream, members[QUEUE]);
	if (!rc)
		rc = make_view(&place, request, layout, members[EVENTS], array, found);
	release_place(&place);
	return rc;
}

static int import_array(PyObject *array, const struct bip_request *request, struct bip_found *found)
{
	PyObject *members[MEMBERS] = { NULL }, *descr = NULL;
	struct bi_layout layout;
	int rc = read_members(array, members);

	if (!rc)
		rc = read_layout(members, &layout, &descr);
	if (!rc)
		rc = make_array_view(array, members, &layout, request, found);
	for (int i = 0; i < MEMBERS; i++)
		Py_XDECREF(members[i]);
	Py_XDECREF(descr);
	return rc ? -1 : 1;
}

static int import_memory(PyObject *object, struct place *place, const struct bip_request *request,
			 struct bip_found *found)
{
	int rc = find_context(place, request);

	if (!rc)
		rc = make_view(place, request, NULL, NULL, object, found);
	release_place(place);
	return rc ? -1 : 1;
}

int bip_import_pyopencl(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	struct place place = { BI_HANDLE_CL_MEM, 0, 0, 0, NULL, NULL };
	int rc;

	if (!bip_cl_type(BIP_CL_MEMORY))
		return PyErr_Occurred() ? -1 : 0;
	rc = bip_cl_is_a(object, BIP_CL_ARRAY);
	if (rc == 1)
		return import_array(object, request, found);
	if (!rc)
		rc = read_memory(object, &place);
	return rc == 1 ? import_memory(object, &place, request, found) : rc;
}
