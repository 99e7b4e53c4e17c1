/*
 * Imports of BufferInterface objects, and of objects of other types with __buffer_interface_c__
 * (buffer_interface/python.h)
 *
 * The import of a BufferInterface shares its view. From an object of another type, the exchange structure is acquired
 * and imported into the context that the structure names.
 */
#include "contexts.h"
#include "object.h"
#include "streams.h"
#include "uses.h"
#include "base/backends.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/import.h"
#include "buffer_interface/python.h"

/* BufferInterface objects */

/* Makes later work on the memory wait for the work that is on the stream producer_stream now. */
static int follow_producer(struct bi_view *view, const struct bip_request *request)
{
	struct bi_stream *stream;
	struct bi_error err;
	int rc;

	if (!view || !request->producer_stream)
		return 0;
	if (bip_stream_named("producer_stream", request->producer_stream, bi_memory_context(bi_view_memory(view)),
			     &stream))
		return -1;
	/* The GIL is dropped, because another thread that waits for a device may hold the lock of the memory. */
	Py_BEGIN_ALLOW_THREADS
	rc = bip_end_use(view, stream, &err);
	Py_END_ALLOW_THREADS
	bi_stream_release(stream);
	return bip_check(rc, &err, bip_raise_import);
}

/*
 * Gets the mask; refuses a mask that would be lost. Called before the view is read: if another thread releases the
 * array in between, the view is missing and the import fails. In the other order the mask would be missing.
 */
static int hold_mask(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	PyObject *mask = bip_mask(object);

	if (!mask)
		return 0;
	if (request->keep_mask)
		found->mask = bip_hold(mask);
	else
		PyErr_SetString(bip_UnsupportedError,
				"the array is masked, and its mask would be lost: mask='keep' imports both [C3]");
	Py_DECREF(mask);
	return found->mask ? 0 : -1;
}

static int import_own(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	if (hold_mask(object, request, found))
		return -1;
	found->view = bip_hold(object);
	found->flags = ((const struct bip_object *)object)->flags;
	return found->view && !follow_producer(found->view, request) && !follow_producer(found->mask, request) ? 1 : -1;
}

/* Objects of other types */

/*
 * Finds the context of a struct with OpenCL memory. If the struct names a queue, uses the device of the queue, because
 * this device works on the memory. It may be another device of the cl_context than device_id.
 */
static int find_native_context(const struct bi_exchange *exchange, const char *name, struct bi_context **out)
{
	if (!exchange->context)
		return bip_refuse(bip_InvalidArrayError, "context is 0, but handle kind %u belongs to a context",
				  exchange->handle_kind);
	if (exchange->order_kind == BI_ORDER_OPENCL && exchange->stream)
		return bip_context_of_queue(exchange->stream, out);
	return bip_context_native(name, exchange->context, exchange->device_id, out);
}

static int find_device_context(const struct bi_exchange *exchange, struct bi_context **out)
{
	uint32_t kind = exchange->handle_kind;
	struct bi_backend backend;

	if (kind == BI_HANDLE_CL_SVM || kind == BI_HANDLE_CL_USM)
		kind = BI_HANDLE_CL_MEM;
	if (bip_backend_with_handle(kind, &backend))
		return backend.named_by_ordinal ? bip_context_cuda(exchange->device_id, out)
						: find_native_context(exchange, backend.name, out);
	return bip_refuse(bip_InvalidArrayError,
			  "handle_kind is %u, no value of enum bi_handle_kind (buffer_interface/abi.h)", kind);
}

/* Imports a struct. Takes ownership of the struct on success. */
static int import_struct(struct bi_exchange *exchange, const struct bip_request *request, struct bip_found *found)
{
	unsigned flags = request->sync ? 0 : BI_IMPORT_UNORDERED;
	int is_named = exchange->order_kind != BI_ORDER_NONE, is_host = exchange->handle_kind == BI_HANDLE_HOST;
	struct bi_context *context = is_host ? bip_host_context() : NULL;
	struct bi_error err;
	int rc;

	if (!BI_ABI_KNOWS(exchange->version))
		return bip_refuse(bip_InvalidArrayError, "the structure has version %u.%u, not %u.%u",
				  exchange->version >> 16, exchange->version & 0xffff, BI_ABI_VERSION >> 16,
				  BI_ABI_VERSION & 0xffff);
	/* A producer does not change struct_size (B-8). */
	if (exchange->struct_size != sizeof(*exchange))
		return bip_refuse(bip_InvalidArrayError, "struct_size is %u, not %zu as the caller's",
				  exchange->struct_size, sizeof(*exchange));
	if (is_host ? !context : find_device_context(exchange, &context))
		return -1;
	rc = bi_view_import(context, exchange, flags, &found->view, &err);
	if (!is_host)
		bi_context_release(context);
	if (rc)
		return bip_check(rc, &err, bip_raise_import);
	if (request->sync && !is_named && !bi_memory_is_host(bi_view_memory(found->view)))
		found->flags = BIP_WAIT_AT_EXIT;
	return 0;
}

/*
 * Releases a struct. The current exception is put aside, because the producer's release function may run Python code.
 */
static void release_struct(struct bi_exchange *exchange)
{
	struct bip_raised raised = bip_put_aside();

	if (exchange->release)
		exchange->release(exchange);
	bip_put_back(raised);
}

static int import_foreign(PyObject *object, const struct bi_python_api *api, const struct bip_request *request,
			  struct bip_found *found)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	if (api->acquire(object, 0, &exchange) < 0)
		return PyErr_Occurred() ? -1
					: bip_refuse(bip_InvalidArrayError,
						     "acquire of __buffer_interface_c__ of type %.100s fails without "
						     "an exception [B-46]",
						     Py_TYPE(object)->tp_name);
	if (import_struct(&exchange, request, found)) {
		release_struct(&exchange);
		return -1;
	}
	return follow_producer(found->view, request) ? -1 : 1;
}

/*
 * A table that is too short or of an unknown version is an error only with protocol='native'. Otherwise the next
 * protocol is tried (B-45).
 */
int bip_import_native(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	const struct bi_python_api *api;
	PyObject *capsule;

	if (BIP_CHECK(object))
		return import_own(object, request, found);
	capsule = bip_type_attribute(Py_TYPE(object), bip_name.__buffer_interface_c__);
	if (!capsule)
		return 0;
	api = bi_python_open_capsule(capsule);
	Py_DECREF(capsule);
	if (api)
		return import_foreign(object, api, request, found);
	if (request->protocol || !PyErr_ExceptionMatches(PyExc_BufferError))
		return -1;
	PyErr_Clear();
	return 0;
}
