/* __dlpack__ and __dlpack_device__: capsules, and the order of the work before a capsule is returned. */
#include <string.h>

#include "contexts.h"
#include "dense.h"
#include "handle.h"
#include "host_memory.h"
#include "lifetime.h"
#include "object.h"
#include "uses.h"
#include "base/errors.h"
#include "base/names.h"
#include "export/export.h"

static const char versioned[] = "dltensor_versioned", unversioned[] = "dltensor";

/* The arguments of __dlpack__. References are borrowed. */
struct request {
	PyObject *stream; /* NULL: None */
	int has_version; /* 1: the consumer accepts versioned tensors: max_version is (1, 0) or above */
	int has_device;
	struct bi_dl_device device;
	int copy; /* -1: None */
	uint64_t presumed; /* BI_DL_READONLY if the array has BIP_PRESUMED_READONLY, else 0 */
};

/* Arguments */

static int read_pair(PyObject *value, const char *name, PyObject **first, PyObject **second)
{
	if (PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2) {
		*first = PyTuple_GET_ITEM(value, 0);
		*second = PyTuple_GET_ITEM(value, 1);
		if (PyLong_Check(*first) && PyLong_Check(*second))
			return 0;
	}
	return bip_refuse(PyExc_TypeError, "%s is %R, not a tuple of two ints [D2]", name, bip_printable(value));
}

static int read_version(PyObject *value, struct request *out)
{
	PyObject *major, *minor;
	int overflow;

	if (value == Py_None)
		return 0;
	if (read_pair(value, "max_version", &major, &minor))
		return -1;
	out->has_version = PyLong_AsLongAndOverflow(major, &overflow) >= 1 || overflow > 0;
	return 0;
}

static int read_device(PyObject *value, struct request *out)
{
	PyObject *first, *second;
	int overflow, overflow_id;
	long type, id;

	if (value == Py_None)
		return 0;
	if (read_pair(value, "dl_device", &first, &second))
		return -1;
	type = PyLong_AsLongAndOverflow(first, &overflow);
	id = PyLong_AsLongAndOverflow(second, &overflow_id);
	if (overflow || overflow_id || type != (int32_t)type || id != (int32_t)id)
		return bip_refuse(bip_UnsupportedError, "dl_device is %R, which does not fit into two int32 [D12]",
				  bip_printable(value));
	out->has_device = 1;
	out->device = (struct bi_dl_device){ (int32_t)type, (int32_t)id };
	return 0;
}

static int read_copy(PyObject *value, struct request *out)
{
	if (value != Py_None)
		out->copy = PyObject_IsTrue(value);
	return PyErr_Occurred() ? -1 : 0;
}

static int read_named(PyObject *name, PyObject *value, struct request *out)
{
	if (name == bip_name.max_version)
		return read_version(value, out);
	if (name == bip_name.dl_device)
		return read_device(value, out);
	if (name == bip_name.copy)
		return read_copy(value, out);
	if (name != bip_name.stream)
		return 1;
	out->stream = value == Py_None ? NULL : value;
	return 0;
}

/*
 * Reads one keyword argument. Compares addresses first, because most names are interned, and then texts, because a name
 * may have been made at run time [D1].
 */
static int read_keyword(PyObject *name, PyObject *value, struct request *out)
{
	PyObject *known[] = { bip_name.stream, bip_name.max_version, bip_name.dl_device, bip_name.copy };
	int rc = read_named(name, value, out);

	for (size_t i = 0; rc > 0 && i < Py_ARRAY_LENGTH(known); i++)
		if (PyUnicode_Compare(name, known[i]) == 0)
			return read_named(known[i], value, out);
	if (rc > 0)
		PyErr_Format(PyExc_TypeError, "__dlpack__() has no argument %R [D1]", name);
	return rc ? -1 : 0;
}

static int read_request(PyObject *const *args, Py_ssize_t count, PyObject *names, struct request *out)
{
	*out = (struct request){ .copy = -1 };
	if (count)
		return bip_refuse(PyExc_TypeError,
				  "__dlpack__() takes keywords only, not %zd positional arguments [D1]", count);
	for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
		if (read_keyword(PyTuple_GET_ITEM(names, i), args[i], out))
			return -1;
	return 0;
}

/* Order */

static int refuse_stream(PyObject *stream, const char *rule)
{
	return bip_refuse(bip_UnsupportedError, "stream is %R; %s [D11]", bip_printable(stream), rule);
}

/*
 * Reads the argument `stream` for CUDA memory. None is 1, the legacy default stream. 0 is refused, because it could
 * mean either default stream. -1 means that the consumer needs no order.
 */
static int read_stream(PyObject *stream, int64_t *out)
{
	*out = 1;
	if (!stream)
		return 0;
	if (!PyLong_Check(stream) || PyBool_Check(stream))
		return bip_refuse(PyExc_TypeError, "stream is of type %.100s, not an int [D11]",
				  Py_TYPE(stream)->tp_name);
	*out = PyLong_AsLongLong(stream);
	if (PyErr_Occurred())
		return bip_refuse_range(PyExc_ValueError, "stream", stream, "-1..2**63-1 [D11]");
	if (*out > 0 || *out == -1)
		return 0;
	return bip_refuse(PyExc_ValueError, "stream is %lld, not -1, 1, 2 or the handle of a stream [D11]",
			  (long long)*out);
}

/*
 * Makes the memory ready on the stream with this handle. Drops the GIL if work is pending, because another thread that
 * waits for a device may hold the lock of the memory.
 */
static int make_ready_on(const struct bi_view *view, int64_t handle)
{
	struct bi_stream *stream;
	struct bi_error err;
	uintptr_t native;
	int rc;

	if (bi_view_is_idle(view))
		return 0;
	if (bip_as_handle("stream", (uint64_t)handle, &native))
		return -1;
	rc = bi_stream_wrap(bi_memory_context(bi_view_memory(view)), native, NULL, NULL, &stream, &err);
	if (!rc) {
		Py_BEGIN_ALLOW_THREADS
		rc = bip_begin_use(view, stream, &err);
		bi_stream_release(stream);
		Py_END_ALLOW_THREADS
	}
	return bip_check(rc, &err, bip_raise_export);
}

static int is_minus_one(PyObject *stream)
{
	int overflow;

	return PyLong_Check(stream) && PyLong_AsLongAndOverflow(stream, &overflow) == -1 && !overflow;
}

/*
 * Makes the memory ready for the consumer. For CUDA memory, makes the consumer's stream wait for pending work. For
 * other memory, waits for pending work. Does nothing for the stream -1. For OpenCL memory, each stream is refused, also
 * -1.
 */
static int make_ready(struct bi_view *view, PyObject *stream)
{
	struct bi_dl_device device;
	int64_t handle;

	if (bip_is_host(view)) {
		if (stream && !is_minus_one(stream))
			return refuse_stream(stream, "host memory has no streams: only None and -1 are allowed");
		return stream ? 0 : bip_settle(view);
	}
	device = bi_dlpack_device(view);
	if (device.device_type == BI_EXCHANGE_DEVICE_OPENCL)
		return stream ? refuse_stream(stream, "DLPack has no numbers for command queues of OpenCL")
			      : bip_settle(view);
	if (read_stream(stream, &handle))
		return -1;
	return handle == -1 ? 0 : make_ready_on(view, handle);
}

/* Capsules */

void bip_delete_export(struct bi_dl_managed_versioned *tensor)
{
	struct bi_view *view = bi_dlpack_view(tensor); /* NULL: other code has replaced the deleter */

	if (!view || bip_is_short_release(view)) {
		tensor->deleter(tensor);
		return;
	}
	bi_view_retain(view);
	tensor->deleter(tensor);
	bip_release_view(view);
}

static void delete_plain(struct bi_dl_managed *tensor)
{
	struct bi_view *view = bi_dlpack_view_unversioned(tensor);

	if (view)
		bi_view_retain(view);
	tensor->deleter(tensor);
	bip_release_view(view);
}

/* Returns true if the capsule still has this name. A consumer that takes the tensor renames the capsule. */
static int has_name(PyObject *capsule, const char *name)
{
	const char *present = PyCapsule_GetName(capsule);

	return present == name || (present && strcmp(present, name) == 0);
}

static void free_versioned(PyObject *capsule)
{
	if (has_name(capsule, versioned))
		bip_delete_export(PyCapsule_GetPointer(capsule, versioned));
}

static void free_unversioned(PyObject *capsule)
{
	if (has_name(capsule, unversioned))
		delete_plain(PyCapsule_GetPointer(capsule, unversioned));
}

/* Makes a capsule. Takes ownership of the tensor, also on failure. */
static PyObject *wrap_versioned(struct bi_dl_managed_versioned *tensor)
{
	PyObject *capsule = PyCapsule_New(tensor, versioned, free_versioned);

	if (!capsule)
		bip_delete_export(tensor);
	return capsule;
}

static PyObject *versioned_capsule(struct bi_view *view, uint64_t flags)
{
	struct bi_dl_managed_versioned *tensor;
	struct bi_error err;
	int rc;

	bip_mark_exported(view);
	rc = bi_dlpack_export(view, flags, &tensor, &err);
	return rc ? bip_raise_export(rc, &err) : wrap_versioned(tensor);
}

/* Makes a tensor without version. `flags` is 0 or BI_DL_READONLY, as in bi_dlpack_export_unversioned. */
static PyObject *unversioned_capsule(struct bi_view *view, uint64_t flags)
{
	struct bi_dl_managed *tensor;
	struct bi_error err;
	PyObject *capsule;
	int rc;

	bip_mark_exported(view);
	rc = bi_dlpack_export_unversioned(view, flags, &tensor, &err);
	if (rc)
		return bip_raise_export(rc, &err);
	capsule = PyCapsule_New(tensor, unversioned, free_unversioned);
	if (!capsule)
		tensor->deleter(tensor); /* not the last reference to the view: the caller has one */
	return capsule;
}

static PyObject *export_view(struct bi_view *view, const struct request *request, uint64_t flags)
{
	if (make_ready(view, request->stream))
		return NULL;
	return request->has_version ? versioned_capsule(view, flags) : unversioned_capsule(view, request->presumed);
}

/* Copies */

/* Exports a dense copy in a context. If `context` is NULL, the copy is on the device of the array. */
static PyObject *export_copy(struct bi_view *view, struct bi_context *context, const struct request *request)
{
	struct bi_view *copy;
	PyObject *capsule;

	if (context ? bip_copy_into(context, view, NULL, &copy) : bip_copy_view(view, NULL, &copy))
		return NULL;
	capsule = export_view(copy, request, BI_DL_COPIED);
	bip_release_view(copy);
	return capsule;
}

/*
 * Exports a copy in host memory, or raises UnsupportedError for another device and for copy=False. A stream of the
 * consumer belongs to the device of the array, so the export of the copy ignores it.
 */
static PyObject *export_elsewhere(struct bi_view *view, struct request *request)
{
	struct bi_dl_device own = bi_dlpack_device(view), device = request->device;
	struct bi_dl_type type;
	struct bi_context *host;
	struct bi_error err;
	int rc;

	if (device.device_type != BI_EXCHANGE_DEVICE_CPU || device.device_id || !request->copy)
		return PyErr_Format(bip_UnsupportedError, "dl_device is (%d, %d), but the array is on (%d, %d)%s [D12]",
				    device.device_type, device.device_id, own.device_type, own.device_id,
				    request->copy ? "; it can be copied to (1, 0) only" : ", and copy is False");
	/* Refuses a type that DLPack does not have before the copy, which may take long. */
	rc = bi_dtype_to_dlpack(bi_view_dtype(view), &type.code, &type.bits, &type.lanes, &err);
	if (rc) {
		strncat(err.message, " [D9]", sizeof(err.message) - strlen(err.message) - 1);
		return bip_raise_export(rc, &err);
	}
	request->stream = NULL;
	host = bip_host_context();
	return host ? export_copy(view, host, request) : NULL;
}

static PyObject *export_as_requested(struct bi_view *view, struct request *request)
{
	if (request->has_device) {
		struct bi_dl_device own = bi_dlpack_device(view);

		if (own.device_type != request->device.device_type || own.device_id != request->device.device_id)
			return export_elsewhere(view, request);
	}
	return request->copy > 0 ? export_copy(view, NULL, request) : export_view(view, request, 0);
}

static PyObject *export_held(PyObject *self, struct request *request)
{
	struct bi_view *view = bip_hold(self);
	PyObject *capsule;

	if (((struct bip_object *)self)->flags & BIP_PRESUMED_READONLY)
		request->presumed = BI_DL_READONLY;
	if (!view)
		return NULL;
	capsule = export_as_requested(view, request);
	bip_release_view(view); /* may be the last reference: another thread may have released the array */
	return capsule;
}

/* Returns true if a tensor of idle memory satisfies the request without further work. */
static int is_plain(const struct request *request)
{
	return request->has_version && !request->has_device && !request->stream && request->copy <= 0;
}

/*
 * Exports idle memory quickly: only the tensor takes a reference to the view. If work is pending or an error occurs,
 * calls export_held, which makes the memory ready or raises the error.
 */
static PyObject *export_idle(PyObject *self, struct request *request)
{
	struct bi_dl_managed_versioned *tensor;
	struct bi_view *view;
	int is_done;

	BIP_LOCK(self)
	view = ((struct bip_object *)self)->view;
	is_done = view && bi_view_is_idle(view) && bi_dlpack_export(view, 0, &tensor, NULL) == BI_OK;
	BIP_UNLOCK()
	return is_done ? wrap_versioned(tensor) : export_held(self, request);
}

PyObject *bip_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct request request;

	if (read_request(args, count, names, &request) || bip_refuse_mask(self, "__dlpack__()"))
		return NULL;
	return is_plain(&request) ? export_idle(self, &request) : export_held(self, &request);
}

PyObject *bip_dlpack_device(PyObject *self, PyObject *Py_UNUSED(none))
{
	struct bi_view *view = bip_hold(self);
	struct bi_dl_device device;

	if (!view)
		return NULL;
	device = bi_dlpack_device(view);
	bip_release_view(view); /* perhaps the last reference, where there is no GIL */
	return Py_BuildValue("(ii)", device.device_type, device.device_id);
}
