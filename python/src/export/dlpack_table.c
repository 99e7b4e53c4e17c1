/*
 * DLPack's table of C functions as a producer: the attribute `__dlpack_c_exchange_api__` of the type
 *
 * Consumers launch work on the stream that current_work_stream returns, without waiting. For CUDA memory this is the
 * context stream, which becomes the home stream of exported memory. Host memory, pinned memory and OpenCL memory have
 * no such stream, so an export waits for pending work.
 */
#include "contexts.h"
#include "dlpack_table.h"
#include "handle.h"
#include "host_memory.h"
#include "lifetime.h"
#include "object.h"
#include "base/errors.h"
#include "export/export.h"

typedef void set_error(void *error, const char *kind, const char *message);

/* Exports of BufferInterface objects */

static int check_object(PyObject *object)
{
	if (BIP_CHECK(object))
		return bip_refuse_mask(object, "DLPack");
	return bip_refuse(PyExc_TypeError, "a BufferInterface is needed, not %.100s [X6]", Py_TYPE(object)->tp_name);
}

static int is_on_cuda(int32_t device_type)
{
	return device_type == BI_EXCHANGE_DEVICE_CUDA || device_type == BI_EXCHANGE_DEVICE_CUDA_MANAGED;
}

static int make_ready(struct bi_view *view, int32_t device_type)
{
	struct bi_error err;
	int rc;

	if (!is_on_cuda(device_type))
		return bip_settle(view);
	/* The GIL is dropped, because another thread that waits for a device may hold the lock of the memory. */
	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_switch_to_context_stream(view, &err);
	Py_END_ALLOW_THREADS
	return bip_check(rc, &err, bip_raise_export);
}

/* Exports the view and makes its memory ready for the consumer. The caller owns a reference to the view. */
static int export_view(struct bi_view *view, struct bi_dl_managed_versioned **out)
{
	struct bi_error err;
	int rc;

	bip_mark_exported(view);
	rc = bi_dlpack_export(view, 0, out, &err);
	if (rc)
		return bip_check(rc, &err, bip_raise_export);
	if (make_ready(view, (*out)->tensor.device.device_type) == 0)
		return 0;
	bip_delete_export(*out);
	*out = NULL;
	return -1;
}

static int export_pending(PyObject *object, struct bi_dl_managed_versioned **out)
{
	struct bi_view *view = bip_hold(object);
	int rc = view ? export_view(view, out) : -1;

	bip_release_view(view);
	return rc;
}

static int is_ready(const struct bi_view *view)
{
	return bi_view_is_idle(view) && !is_on_cuda(bi_dlpack_device(view).device_type);
}

/*
 * The function from_object of the table. For idle memory that is not on CUDA, only the tensor takes a reference to the
 * view. Otherwise, and after an error, calls export_pending, which makes the memory ready or raises the error.
 */
static int from_object(void *object, struct bi_dl_managed_versioned **out)
{
	struct bi_view *view;
	int is_done;

	*out = NULL;
	if (check_object(object))
		return -1;
	BIP_LOCK(object)
	view = ((struct bip_object *)object)->view;
	is_done = view && is_ready(view) && bi_dlpack_export(view, 0, out, NULL) == BI_OK;
	BIP_UNLOCK()
	return is_done ? 0 : export_pending(object, out);
}

static int describe_view(const struct bi_view *view, struct bi_dl_tensor *out)
{
	struct bi_error err;
	int rc;

	bip_mark_exported(view);
	rc = bi_dlpack_describe(view, out, &err);
	return bip_check(rc, &err, bip_raise_export);
}

/*
 * Describes an array that is not ready, or raises the error. *out borrows from the view, so it is valid only if the
 * object still has the view afterwards.
 */
static int describe_pending(PyObject *object, struct bi_dl_tensor *out)
{
	struct bi_view *view = bip_hold(object);
	int rc = view && !describe_view(view, out) && !make_ready(view, out->device.device_type) &&
				 !bip_refuse_released(object)
			 ? 0
			 : -1;

	bip_release_view(view);
	return rc;
}

/*
 * The function describe_object of the table. For idle memory that is not on CUDA, takes no reference. Otherwise, and
 * after an error, calls describe_pending, which makes the memory ready or raises the error.
 */
static int describe_object(void *object, struct bi_dl_tensor *out)
{
	struct bi_view *view;
	int is_done;

	if (check_object(object))
		return -1;
	BIP_LOCK(object)
	view = ((struct bip_object *)object)->view;
	is_done = view && is_ready(view) && bi_dlpack_describe(view, out, NULL) == BI_OK;
	BIP_UNLOCK()
	return is_done ? 0 : describe_pending(object, out);
}

/* Imports of tensors */

static int context_of(struct bi_dl_device device, struct bi_context **out)
{
	if (is_on_cuda(device.device_type))
		return bip_context_cuda(device.device_id, out);
	return bip_context_host(out);
}

/* Imports a tensor as a view. Takes ownership of the tensor on success. */
static struct bi_view *import_tensor(struct bi_dl_managed_versioned *tensor)
{
	struct bi_context *context;
	struct bi_error err;
	struct bi_view *view;
	int rc;

	if (tensor->version.major != BI_DLPACK_MAJOR) {
		PyErr_Format(bip_InvalidArrayError, "the tensor has version %u.%u, not %d.x [E2]",
			     tensor->version.major, tensor->version.minor, BI_DLPACK_MAJOR);
		return NULL;
	}
	if (context_of(tensor->tensor.device, &context))
		return NULL;
	rc = bi_dlpack_import(context, tensor, NULL, &view, &err);
	bi_context_release(context);
	return rc ? bip_raise_import(rc, &err) : view;
}

/* Deletes a tensor. The current exception is put aside, because the deleter may run Python code. */
static void delete_tensor(struct bi_dl_managed_versioned *tensor)
{
	struct bip_raised raised = bip_put_aside();

	if (tensor->deleter)
		tensor->deleter(tensor);
	bip_put_back(raised);
}

/* The function to_object of the table. Takes ownership of the tensor, also on failure [X7]. */
static int to_object(struct bi_dl_managed_versioned *tensor, void **out)
{
	struct bi_view *view = import_tensor(tensor);
	struct bip_object *object;

	*out = NULL;
	if (!view) {
		delete_tensor(tensor);
		return -1;
	}
	object = (struct bip_object *)bip_new(view);
	if (!object)
		return -1;
	if (!bip_is_host(view))
		object->flags |= BIP_WAIT_AT_EXIT;
	*out = object;
	return 0;
}

/* Streams */

/*
 * The function current_work_stream of the table. Writes NULL for a device without such a stream, and for a device that
 * cannot be opened. Always returns 0, because callers ignore failures [X8].
 */
static int current_work_stream(int32_t device_type, int32_t device_id, void **out)
{
	struct bi_context *context;

	*out = NULL;
	if (!is_on_cuda(device_type))
		return 0;
	if (bip_context_cuda(device_id, &context)) {
		PyErr_Clear();
		return 0;
	}
	*out = (void *)bi_stream_handle(bi_context_stream(context));
	bi_context_release(context);
	return 0;
}

/* New tensors */

static int set_failure(void *error, set_error *set, const char *kind, const char *message)
{
	if (set)
		set(error, kind, message);
	return -1;
}

/*
 * Passes the text of the current exception to `set`, and clears the exception. Returns -1. An exception would be lost,
 * because the caller of `allocate` need not hold the GIL.
 */
static int set_failure_from_exception(void *error, set_error *set)
{
	PyObject *text = bip_take_message();
	const char *message = text ? PyUnicode_AsUTF8(text) : NULL;
	int rc = set_failure(error, set, "RuntimeError", message && *message ? message : "the device cannot be opened");

	Py_XDECREF(text);
	PyErr_Clear();
	return rc;
}

/* Finds the context of a device, CPU or CUDA. Takes the GIL, which the cache of contexts needs. */
static int find_context(struct bi_dl_device device, struct bi_context **out, void *error, set_error *set)
{
	PyGILState_STATE state;
	int rc;

	if (device.device_type != BI_EXCHANGE_DEVICE_CPU && device.device_type != BI_EXCHANGE_DEVICE_CUDA)
		return set_failure(error, set, "BufferError",
				   "tensors are allocated on devices of type 1 (CPU) and 2 (CUDA)");
	state = PyGILState_Ensure();
	rc = context_of(device, out);
	if (rc)
		rc = set_failure_from_exception(error, set);
	PyGILState_Release(state);
	return rc;
}

static int allocate_on(struct bi_context *context, const struct bi_dl_tensor *prototype,
		       struct bi_dl_managed_versioned **out, struct bi_error *err)
{
	const struct bi_dl_type *type = &prototype->dtype;
	struct bi_dtype dtype;
	struct bi_view *view = NULL;
	int rc = bi_dtype_from_dlpack(type->code, type->bits, type->lanes, &dtype, err);

	if (!rc)
		rc = bi_view_empty(context, dtype, prototype->ndim, prototype->shape, &view, err);
	if (!rc)
		rc = bi_dlpack_export(view, 0, out, err);
	bi_view_release(view);
	return rc;
}

/* The function allocate of the table. The caller need not hold the GIL. */
static int allocate(struct bi_dl_tensor *prototype, struct bi_dl_managed_versioned **out, void *error, set_error *set)
{
	struct bi_context *context;
	PyThreadState *thread;
	struct bi_error err;
	int rc;

	*out = NULL;
	if (find_context(prototype->device, &context, error, set))
		return -1;
	thread = bip_has_gil() ? PyEval_SaveThread() : NULL;
	rc = allocate_on(context, prototype, out, &err);
	bi_context_release(context);
	if (thread)
		PyEval_RestoreThread(thread);
	if (rc)
		return set_failure(error, set, rc == BI_ENOMEM ? "MemoryError" : "BufferError", err.message);
	return 0;
}

PyObject *bip_dlpack_capsule(void)
{
	static const struct bip_dlpack_table api = {
		.header = { { BI_DLPACK_MAJOR, BI_DLPACK_MINOR }, NULL },
		.allocate = allocate,
		.from_object = from_object,
		.to_object = to_object,
		.describe_object = describe_object,
		.current_work_stream = current_work_stream,
	};

	return PyCapsule_New((void *)(uintptr_t)&api, BIP_DLPACK_TABLE, NULL);
}
