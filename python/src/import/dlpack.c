/*
 * DLPack as a consumer: the C table on the type, __dlpack__, and bare capsules
 *
 * CUDA memory is ordered as follows, unless the caller gives producer_stream or sync=False. With the table, the memory
 * is ready on the producer's current stream, which becomes the home stream. With __dlpack__, the argument `stream` is
 * the context stream, and the producer makes this stream wait for its work [E10]. The argument is never 0, which has
 * two meanings, and never 2, which some producers refuse. A bare capsule names no stream, so its memory counts as ready
 * on the context stream.
 *
 * After a capsule is renamed, its tensor is deleted exactly once, also on failure [E3]. The object that exported the
 * tensor is kept until the deleter has returned, because some tensors do not own their memory, and some deleters use
 * the object. Nothing is kept for a bare capsule, whose object is not known, or for a tensor that this library
 * exported.
 */
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "dlpack_table.h"
#include "lifetime.h"
#include "object.h"
#include "streams.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/import.h"

/* The handle of CUDA's legacy default stream. The function current_work_stream may also return NULL for this stream. */
#define LEGACY 1

/* Tensors */

/* A tensor of either version. Exactly one of the members is not NULL. */
struct tensor {
	struct bi_dl_managed_versioned *versioned;
	struct bi_dl_managed *plain;
};

static void call_deleter(const struct tensor *tensor)
{
	if (tensor->versioned && tensor->versioned->deleter)
		tensor->versioned->deleter(tensor->versioned);
	if (tensor->plain && tensor->plain->deleter)
		tensor->plain->deleter(tensor->plain);
}

static void delete_tensor(const struct tensor *tensor)
{
	struct bip_raised raised = bip_put_aside();

	call_deleter(tensor);
	bip_put_back(raised);
}

/* A copy of the producer's tensor that also keeps the object which exported it. */
struct kept_tensor {
	union {
		struct bi_dl_managed_versioned versioned;
		struct bi_dl_managed plain;
	} copy; /* has a deleter of this file; manager_ctx is the kept_tensor */
	struct tensor producers;
	PyObject *owner;
};

/* Runs on any thread, with or without the GIL. */
static void delete_kept(struct kept_tensor *kept)
{
	call_deleter(&kept->producers);
	bip_release_owner(kept->owner);
	free(kept);
}

static void delete_kept_versioned(struct bi_dl_managed_versioned *tensor)
{
	delete_kept(tensor->manager_ctx);
}

static void delete_kept_plain(struct bi_dl_managed *tensor)
{
	delete_kept(tensor->manager_ctx);
}

/* Replaces *tensor by a kept_tensor, which keeps `owner` too. On failure *tensor is unchanged. */
static int keep_owner(struct tensor *tensor, PyObject *owner)
{
	struct kept_tensor *kept = malloc(sizeof(*kept));

	if (!kept)
		return bip_no_memory();
	kept->producers = *tensor;
	kept->owner = Py_NewRef(owner);
	if (tensor->versioned) {
		kept->copy.versioned = *tensor->versioned;
		kept->copy.versioned.manager_ctx = kept;
		kept->copy.versioned.deleter = delete_kept_versioned;
		tensor->versioned = &kept->copy.versioned;
	} else {
		kept->copy.plain = *tensor->plain;
		kept->copy.plain.manager_ctx = kept;
		kept->copy.plain.deleter = delete_kept_plain;
		tensor->plain = &kept->copy.plain;
	}
	return 0;
}

/* Returns the DLTensor inside. Returns NULL with an exception for an unknown major version [E2]. */
static const struct bi_dl_tensor *check_version(const struct tensor *tensor)
{
	const struct bi_dl_managed_versioned *versioned = tensor->versioned;

	if (!versioned)
		return &tensor->plain->tensor;
	if (versioned->version.major == BI_DLPACK_MAJOR)
		return &versioned->tensor;
	PyErr_Format(bip_InvalidArrayError, "the tensor has version %u.%u, not %d.x [E2]", versioned->version.major,
		     versioned->version.minor, BI_DLPACK_MAJOR);
	return NULL;
}

static int raise_no_tensor(PyObject *capsule)
{
	const char *name;

	if (!PyCapsule_CheckExact(capsule))
		return bip_refuse(bip_InvalidArrayError,
				  "__dlpack__() gives an object of type %.100s, not a capsule [E4]",
				  Py_TYPE(capsule)->tp_name);
	name = PyCapsule_GetName(capsule);
	if (!PyErr_Occurred())
		PyErr_Format(bip_InvalidArrayError,
			     "the capsule is named '%.100s', not 'dltensor' or 'dltensor_versioned'%s [E4]",
			     name ? name : "",
			     name && strncmp(name, "used_", 5) == 0 ? "; it was consumed before" : "");
	return -1;
}

/* Takes the tensor out of the capsule. Renaming the capsule transfers ownership of the tensor to the caller [E3]. */
static int take_tensor(PyObject *capsule, struct tensor *out)
{
	int rc = 1;

	*out = (struct tensor){ NULL, NULL };
	BIP_LOCK(capsule)
	if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
		out->versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
		rc = PyCapsule_SetName(capsule, "used_dltensor_versioned");
	} else if (PyCapsule_IsValid(capsule, "dltensor")) {
		out->plain = PyCapsule_GetPointer(capsule, "dltensor");
		rc = PyCapsule_SetName(capsule, "used_dltensor");
	}
	BIP_UNLOCK()
	return rc == 1 ? raise_no_tensor(capsule) : rc;
}

/* Kinds of memory, by DLPack's device type */

enum place { ON_HOST, ON_CUDA, ON_OPENCL, ELSEWHERE };

static enum place place_of(int device_type)
{
	switch (device_type) {
	case BI_EXCHANGE_DEVICE_CPU:
	case BI_EXCHANGE_DEVICE_CUDA_HOST:
		return ON_HOST;
	case BI_EXCHANGE_DEVICE_CUDA:
	case BI_EXCHANGE_DEVICE_CUDA_MANAGED:
		return ON_CUDA;
	case BI_EXCHANGE_DEVICE_OPENCL:
		return ON_OPENCL;
	default:
		return ELSEWHERE;
	}
}

static int check_place(int device_type)
{
	if (place_of(device_type) != ELSEWHERE)
		return 0;
	return bip_refuse(bip_UnsupportedError,
			  "device type %d is none of 1 (host), 2, 3, 13 (CUDA) and 4 (OpenCL) [E7]", device_type);
}

static int is_own(const struct tensor *tensor)
{
	return (tensor->versioned ? bi_dlpack_view(tensor->versioned) : bi_dlpack_view_unversioned(tensor->plain)) !=
	       NULL;
}

/*
 * Refuses a cl_mem unless the caller trusts it (trust=True) or this library exported the tensor. The check comes before
 * any driver call, because the driver crashes on a number that is no cl_mem. `tensor` is NULL before the export.
 */
static int check_trust(const struct tensor *tensor, int device_type, const struct bip_request *request)
{
	if (place_of(device_type) != ON_OPENCL || request->trust || (tensor && is_own(tensor)))
		return 0;
	return bip_refuse(
		bip_UnsupportedError,
		"nothing shows that the tensor's data is a cl_mem, and another number crashes the driver; trust=True "
		"accepts it");
}

/*
 * Sets *out to the context for a tensor. `announced` is the context of the CUDA device that __dlpack_device__ returned,
 * or NULL. If it is NULL, *out is the context of the CUDA device, of the cl_mem, or of the host. For an OpenCL tensor
 * without memory *out is the context of the default OpenCL device.
 */
static int open_place(const struct bi_dl_tensor *tensor, struct bi_context *announced, struct bi_context **out)
{
	if (announced) {
		*out = bi_context_retain(announced);
		return 0;
	}
	switch (place_of(tensor->device.device_type)) {
	case ON_CUDA:
		return bip_context_cuda(tensor->device.device_id, out);
	case ON_OPENCL:
		return tensor->data ? bip_context_of_memory(BI_HANDLE_CL_MEM, (uintptr_t)tensor->data, out)
				    : bip_context_open("opencl", out);
	default:
		return bip_context_host(out);
	}
}

/* Import */

static unsigned import_flags(const struct bip_request *request)
{
	unsigned flags = 0;

	if (!request->sync)
		flags |= BI_DLPACK_UNORDERED;
	if (!request->check)
		flags |= BI_DLPACK_UNCHECKED;
	if (request->writable == 1)
		flags |= BI_DLPACK_WRITABLE;
	if (request->trust)
		flags |= BI_DLPACK_TRUSTED;
	return flags;
}

/* Makes the view. Takes ownership of the tensor, also on failure. `stream` may be NULL. Returns 1, or -1. */
static int make_view(const struct tensor *tensor, struct bi_context *context, struct bi_stream *stream,
		     const struct bip_request *request, struct bip_found *found)
{
	struct bi_dlpack_import_options options = BI_DLPACK_IMPORT_INIT;
	struct bi_error err;
	int rc;

	options.flags = import_flags(request);
	options.producer_stream = stream;
	rc = tensor->versioned ? bi_dlpack_import(context, tensor->versioned, &options, &found->view, &err)
			       : bi_dlpack_import_unversioned(context, tensor->plain, &options, &found->view, &err);
	if (rc) {
		delete_tensor(tensor);
		return bip_check(rc, &err, bip_raise_import);
	}
	if (request->sync && !stream && !bi_memory_is_host(bi_view_memory(found->view)))
		found->flags |= BIP_WAIT_AT_EXIT;
	if (!tensor->versioned && bi_view_flags(found->view) & BI_VIEW_READONLY)
		found->flags |= BIP_PRESUMED_READONLY;
	return 1;
}

/* The function current_work_stream of a table. */
typedef int work_stream(int32_t device_type, int32_t device_id, void **out);

/* Wraps the producer's current stream. *out stays NULL if the producer works on the context stream. */
static int wrap_work_stream(work_stream *ask, const struct bi_dl_device *device, struct bi_context *context,
			    struct bi_stream **out)
{
	struct bi_error err;
	void *handle = NULL;
	uintptr_t stream;
	int rc;

	if (ask(device->device_type, device->device_id, &handle))
		return PyErr_Occurred() ? -1
					: bip_refuse(bip_InvalidArrayError,
						     "the DLPack table names no stream of device (%d, %d), and gives "
						     "no exception [X3]",
						     device->device_type, device->device_id);
	stream = handle ? (uintptr_t)handle : LEGACY;
	if (stream == bi_stream_handle(bi_context_stream(context)))
		return 0;
	rc = bi_stream_wrap(context, stream, NULL, NULL, out, &err);
	return bip_check(rc, &err, bip_raise_import);
}

/*
 * Finds the stream that becomes the home stream. If *out is NULL, no stream is named. `ask` is NULL if there is no
 * table.
 */
static int find_home(const struct bi_dl_tensor *tensor, work_stream *ask, struct bi_context *context,
		     const struct bip_request *request, struct bi_stream **out)
{
	*out = NULL;
	if (request->producer_stream)
		return bip_stream_named("producer_stream", request->producer_stream, context, out);
	if (!ask || !request->sync || !tensor->data || place_of(tensor->device.device_type) != ON_CUDA)
		return 0;
	return wrap_work_stream(ask, &tensor->device, context, out);
}

/*
 * Imports a tensor. Takes ownership of the tensor, also on failure. `owner` is the object that exported the tensor, or
 * NULL. A tensor that this library exported holds a reference to its memory, so it needs no owner. Returns 1, or -1.
 */
static int import_tensor(struct tensor *tensor, PyObject *owner, struct bi_context *announced, work_stream *ask,
			 const struct bip_request *request, struct bip_found *found)
{
	const struct bi_dl_tensor *inside = check_version(tensor);
	struct bi_context *context = NULL;
	struct bi_stream *stream;
	int rc;

	if (!inside || check_place(inside->device.device_type) ||
	    check_trust(tensor, inside->device.device_type, request) || open_place(inside, announced, &context) ||
	    (owner && !is_own(tensor) && keep_owner(tensor, owner)) ||
	    find_home(inside, ask, context, request, &stream)) {
		delete_tensor(tensor);
		bi_context_release(context);
		return -1;
	}
	rc = make_view(tensor, context, stream, request, found);
	bi_stream_release(stream);
	bi_context_release(context);
	return rc == 1 && owner && bip_check_resolved(owner, found) ? -1 : rc;
}

/*
 * Decides what follows an exception of the producer. After BufferError, the array may still have the buffer protocol.
 * Returns 0 without an exception if the next protocol is to be tried, or -1 with the exception.
 */
static int try_next_protocol(PyObject *object, const struct bip_request *request)
{
	if (request->protocol || !PyObject_CheckBuffer(object) || !PyErr_ExceptionMatches(PyExc_BufferError))
		return -1;
	PyErr_Clear();
	return 0;
}

/* __dlpack__ */

static int raise_device(PyObject *pair)
{
	return bip_refuse(PyExc_TypeError, "__dlpack_device__() gives %R, not a tuple of two int of 32 bits [D10]",
			  bip_printable(pair));
}

static int read_device(PyObject *pair, struct bi_dl_device *out)
{
	long type, id;

	if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyLong_Check(PyTuple_GET_ITEM(pair, 0)) ||
	    !PyLong_Check(PyTuple_GET_ITEM(pair, 1)))
		return raise_device(pair);
	type = PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
	id = PyLong_AsLong(PyTuple_GET_ITEM(pair, 1));
	if (PyErr_Occurred() || type != (int32_t)type || id != (int32_t)id) {
		PyErr_Clear();
		return raise_device(pair);
	}
	*out = (struct bi_dl_device){ (int32_t)type, (int32_t)id };
	return 0;
}

/* Calls __dlpack_device__. Returns 1, 0 if the object has no such method, -1 with an exception. */
static int call_dlpack_device(PyObject *object, struct bi_dl_device *out)
{
	PyObject *method, *pair;
	int rc;

	if (bip_attribute(object, bip_name.__dlpack_device__, &method))
		return -1;
	if (!method)
		return 0;
	pair = bip_check_method(method, bip_name.__dlpack_device__) ? NULL : PyObject_CallNoArgs(method);
	Py_DECREF(method);
	if (!pair)
		return -1;
	rc = read_device(pair, out);
	Py_DECREF(pair);
	return rc ? -1 : 1;
}

/* Returns true if the producer makes the context stream wait. `context` is NULL unless the device is a CUDA device. */
static int producer_orders(const struct bi_context *context, const struct bip_request *request)
{
	return context && request->sync && !request->producer_stream;
}

/*
 * Returns the argument `stream` for __dlpack__: on CUDA the handle of the context stream, or -1 if producer_orders is
 * false; on other devices None.
 */
static PyObject *stream_argument(const struct bi_context *context, const struct bip_request *request)
{
	if (!context)
		return Py_NewRef(Py_None);
	if (!producer_orders(context, request))
		return PyLong_FromLong(-1);
	return PyLong_FromSize_t(bi_stream_handle(bi_context_stream(context)));
}

/* Calls the method with keyword arguments: stream if `count` is 1, stream and max_version if it is 2. */
static PyObject *call_with(PyObject *method, PyObject *stream, PyObject *version, int count)
{
	PyObject *names =
		count == 2 ? PyTuple_Pack(2, bip_name.stream, bip_name.max_version) : PyTuple_Pack(1, bip_name.stream);
	PyObject *values[] = { NULL, stream, version };
	PyObject *result;

	if (!names)
		return NULL;
	result = PyObject_Vectorcall(method, values + 1, PY_VECTORCALL_ARGUMENTS_OFFSET, names);
	Py_DECREF(names);
	return result;
}

/*
 * Returns true if the exception may mean that the producer does not accept an argument. An exception of a subclass of
 * TypeError does not mean that: pyarrow has such a class for arrays with nulls.
 */
static int is_type_error(void)
{
	return PyErr_Occurred() == PyExc_TypeError;
}

static int is_unknown_argument(const PyObject *result)
{
	if (result || !is_type_error())
		return 0;
	PyErr_Clear();
	return 1;
}

/*
 * Calls __dlpack__. Older producers do not accept max_version, and some accept no keyword, so a call that fails with
 * TypeError is repeated with fewer arguments [E1]. The argument stream is left out only if it is None or -1, because
 * then the producer has nothing to order [E10].
 */
static PyObject *call_method(PyObject *method, PyObject *stream, int is_ordered)
{
	PyObject *version = Py_BuildValue("(ii)", BI_DLPACK_MAJOR, BI_DLPACK_MINOR);
	PyObject *capsule = version ? call_with(method, stream, version, 2) : NULL;

	if (version && is_unknown_argument(capsule))
		capsule = call_with(method, stream, version, 1);
	Py_XDECREF(version);
	if (!is_ordered && is_unknown_argument(capsule))
		capsule = PyObject_CallNoArgs(method);
	return capsule;
}

/* Calls __dlpack__ while the CUDA context `context` is current [E9]. `context` is NULL for other devices. */
static PyObject *call_dlpack(PyObject *method, struct bi_context *context, const struct bip_request *request)
{
	PyObject *stream, *capsule;
	int pushed = 0;

	if (bip_check_method(method, bip_name.__dlpack__))
		return NULL;
	stream = stream_argument(context, request);
	if (!stream)
		return NULL;
	/* A failure is ignored, because a producer may not depend on the current context. */
	if (context)
		bi_context_push_current(context, &pushed, NULL);
	capsule = call_method(method, stream, producer_orders(context, request));
	bi_context_pop_current(context, pushed);
	Py_DECREF(stream);
	return capsule;
}

/*
 * Refuses a tensor on another kind of device, or on another CUDA device, than __dlpack_device__ returned: the producer
 * was given a stream of the announced device. The device id of managed memory has no meaning and is not compared.
 */
static int check_announced(const struct tensor *tensor, const struct bi_dl_device *announced)
{
	const struct bi_dl_tensor *inside = check_version(tensor);

	if (!inside)
		return -1;
	if (place_of(inside->device.device_type) == place_of(announced->device_type) &&
	    (inside->device.device_type != BI_EXCHANGE_DEVICE_CUDA || inside->device.device_id == announced->device_id))
		return 0;
	return bip_refuse(
		bip_InvalidArrayError, "the tensor is on device (%d, %d), but __dlpack_device__() says (%d, %d) [D10]",
		inside->device.device_type, inside->device.device_id, announced->device_type, announced->device_id);
}

/*
 * Imports the tensor of a capsule. `owner` is the object that gave the capsule, and `announced` the device that the
 * object named. Both are NULL for a bare capsule.
 */
static int import_capsule(PyObject *capsule, PyObject *owner, const struct bi_dl_device *announced,
			  struct bi_context *context, const struct bip_request *request, struct bip_found *found)
{
	struct tensor tensor;

	if (take_tensor(capsule, &tensor))
		return -1;
	if (announced && check_announced(&tensor, announced)) {
		delete_tensor(&tensor);
		return -1;
	}
	return import_tensor(&tensor, owner, context, NULL, request, found);
}

/* Releases a capsule. The current exception is put aside, because the producer's destructor may run Python code. */
static void release_capsule(PyObject *capsule)
{
	struct bip_raised raised = bip_put_aside();

	Py_DECREF(capsule);
	bip_put_back(raised);
}

/*
 * Decides what follows a TypeError of a CUDA producer that was called with the argument `stream`. If the producer does
 * not accept the argument, nothing makes the stream wait for the producer's work [E10]. Returns as try_next_protocol
 * does.
 */
static int refuse_unordered(PyObject *object, const struct bip_request *request)
{
	PyObject *text;

	if (request->has_cai) {
		PyErr_Clear();
		return 0;
	}
	text = bip_take_message();
	if (!text)
		return -1;
	bip_refuse(PyExc_TypeError,
		   "__dlpack__() of type %.100s fails with the argument stream: %U. A producer without this argument "
		   "orders nothing: producer_stream= names the stream of its work, or with sync=False the caller "
		   "orders it [E10]",
		   Py_TYPE(object)->tp_name, text);
	Py_DECREF(text);
	return -1;
}

/*
 * Calls __dlpack__ and imports the tensor. CUDA: the tensor is imported into `context`, whose stream the producer was
 * given; after the call the cache may have another context for the device.
 */
static int ask_and_import(PyObject *object, PyObject *method, const struct bi_dl_device *device,
			  struct bi_context *context, const struct bip_request *request, struct bip_found *found)
{
	PyObject *capsule = call_dlpack(method, context, request);
	int rc;

	if (!capsule && producer_orders(context, request) && is_type_error())
		return refuse_unordered(object, request);
	if (!capsule)
		return try_next_protocol(object, request);
	rc = import_capsule(capsule, object, device, context, request, found);
	release_capsule(capsule);
	return rc;
}

static int import_by_method(PyObject *object, const struct bi_dl_device *device, const struct bip_request *request,
			    struct bip_found *found)
{
	struct bi_context *context = NULL;
	PyObject *method;
	int rc;

	if (check_place(device->device_type) || check_trust(NULL, device->device_type, request) ||
	    bip_attribute(object, bip_name.__dlpack__, &method))
		return -1;
	if (!method)
		return 0;
	rc = place_of(device->device_type) == ON_CUDA ? bip_context_cuda(device->device_id, &context) : 0;
	if (!rc)
		rc = ask_and_import(object, method, device, context, request, found);
	bi_context_release(context);
	Py_DECREF(method);
	return rc;
}

/* The table */

/*
 * Returns the first table of the type whose major version is known, or NULL without an exception. Also returns NULL if
 * the table lacks a function that an import calls: then the methods are used.
 */
static const struct bip_dlpack_table *find_table(PyTypeObject *type)
{
	PyObject *capsule = bip_type_attribute(type, bip_name.__dlpack_c_exchange_api__);
	const struct bip_dlpack_header *header = NULL;
	const struct bip_dlpack_table *table;

	if (capsule && PyCapsule_IsValid(capsule, BIP_DLPACK_TABLE))
		header = PyCapsule_GetPointer(capsule, BIP_DLPACK_TABLE);
	Py_XDECREF(capsule);
	while (header && header->version.major != BI_DLPACK_MAJOR)
		header = header->previous;
	table = (const struct bip_dlpack_table *)header;
	return table && table->from_object && table->current_work_stream ? table : NULL;
}

/*
 * Refuses an array that requires a gradient, because a write would be missing in the gradients. PyTorch's __dlpack__
 * refuses such an array, but PyTorch's table does not.
 */
static int check_gradient(PyObject *object)
{
	PyObject *value;
	int is_required;

	if (bip_attribute(object, bip_name.requires_grad, &value))
		return -1;
	is_required = value ? PyObject_IsTrue(value) : 0;
	Py_XDECREF(value);
	if (is_required <= 0)
		return is_required;
	return bip_refuse(PyExc_BufferError, "this %.100s requires a gradient: pass x.detach()",
			  Py_TYPE(object)->tp_name);
}

/*
 * Decides what follows an exception of a table. A C++ exception of PyTorch becomes a RuntimeError whose text has a
 * backtrace. So after RuntimeError __dlpack__ is called, which raises an exception for users, or exports the array.
 */
static int import_after_exception(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	struct bi_dl_device device;
	struct bip_raised raised;
	int rc;

	if (!PyErr_ExceptionMatches(PyExc_RuntimeError))
		return try_next_protocol(object, request);
	raised = bip_put_aside();
	rc = call_dlpack_device(object, &device);
	if (rc == 1)
		rc = import_by_method(object, &device, request, found);
	if (rc) {
		bip_drop_raised(&raised);
		return rc;
	}
	bip_put_back(raised);
	return -1;
}

static int import_by_table(PyObject *object, const struct bip_dlpack_table *table, const struct bip_request *request,
			   struct bip_found *found)
{
	struct tensor tensor = { NULL, NULL };
	int rc;

	if (check_gradient(object))
		return -1;
	rc = table->from_object(object, &tensor.versioned);
	if (rc && PyErr_Occurred())
		return import_after_exception(object, request, found);
	if (!rc && tensor.versioned)
		return import_tensor(&tensor, object, NULL, table->current_work_stream, request, found);
	return bip_refuse(bip_InvalidArrayError, "the DLPack table of type %.100s returns %d, and gives no %s [X3]",
			  Py_TYPE(object)->tp_name, rc, rc ? "exception" : "tensor");
}

int bip_import_dlpack(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	const struct bip_dlpack_table *table;
	struct bi_dl_device device;
	int rc;

	if (PyCapsule_CheckExact(object))
		return import_capsule(object, NULL, NULL, NULL, request, found);
	/* If __cuda_array_interface__ raised, a table may export an array that __dlpack__ refuses. */
	table = request->cai_raised ? NULL : find_table(Py_TYPE(object));
	if (table)
		return import_by_table(object, table, request, found);
	rc = call_dlpack_device(object, &device);
	return rc == 1 ? import_by_method(object, &device, request, found) : rc;
}
