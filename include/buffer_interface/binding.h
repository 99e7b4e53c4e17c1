/*
 * BufferInterface for authors of language bindings
 *
 * A binding wraps views in objects of another language (Python, Julia, Lua), or takes arrays of a library that knows
 * nothing of this one. A program whose arrays come from this library or through an exchange protocol needs nothing of
 * this header. The Python package (python/src) uses these functions.
 *
 * Foreign handles
 *   Other libraries hand out a pointer, a cl_mem or a command queue without its device. bi_locate_memory and
 *   bi_locate_queue find the device. bi_backend_at describes a backend, so that a binding needs no list of backends.
 *
 * Importing by address
 *   Producers in other languages name the address of the first element and strides of any sign. bi_view_wrap_at derives
 *   the range of bytes from them.
 *
 * Waiting without the lock of the runtime
 *   A thread that blocks in the library should not hold the lock of the runtime, but dropping that lock is expensive.
 *   bi_view_is_idle and bi_view_release_is_immediate tell in advance whether a call can block, and
 *   bi_view_export_nonblocking never does. A release may close a context, which blocks: bi_options.around_close is
 *   called for each close, and can drop the lock.
 *
 * Finalisers
 *   A finaliser cannot return a failure after which its caller tries again. After bi_map_abandon, bi_unmap ends the
 *   mapping that it has refused to end.
 *
 * Attributes
 *   A language may give the members of an array one by one. bi_view_home_stream gives the stream.
 *
 * Consumers that know one stream
 *   In some protocols a consumer queries one stream per device, once, and no stream is named for an array.
 *   bi_view_switch_to_context_stream makes an array ready for such consumers.
 *
 * The rules of buffer_interface.h about errors, ownership, threads and NULL hold here as well.
 */
#ifndef BUFFER_INTERFACE_BINDING_H
#define BUFFER_INTERFACE_BINDING_H

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Properties of a backend, for code that lists no backends by name. */
struct bi_backend {
	const char *name;               /* device strings begin with it */
	int numbers;                    /* largest count of numbers behind the name: 1 in "cuda:1", 2 in "opencl:0:1" */
	enum bi_handle_kind handle;     /* kind of the handles of its device memory */
	unsigned stream_kinds;          /* bits 1 << enum bi_order_kind that bi_stream_wrap accepts; 0: no streams */
	int named_by_ordinal;           /* 1: exports name a device by its ordinal; 0: by its native context */
};

/*
 * Returns 1 and writes the backend at `position` of the list. Returns 0 if the list has no such position. The host is
 * the last backend.
 */
BI_API int bi_backend_at(int position, struct bi_backend *out);

/* The device and context that a foreign handle belongs to, for bi_context_open. */
struct bi_location {
	char device[24];                /* device string: "cuda:1", or "opencl:1" for position 1 in the cl_context */
	uintptr_t context;              /* OpenCL: the cl_context to adopt. CUDA: 0, for the device's primary context */
};

/*
 * Queries the driver for the device and context of a handle. Opens no device and retains nothing. For a cl_mem, the
 * result names position 0 of the cl_context, whose devices can all use it. BI_EINVAL: the handle is 0, or no driver
 * knows the CUDA pointer. BI_ENODEVICE: there is no driver. BI_EUNSUPPORTED: host and SVM pointers do not name their
 * device, and other kinds are not known. After a failure *out is zero. A number that is no cl_mem crashes the driver
 * and cannot be checked.
 */
BI_API int bi_locate_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_location *out, struct bi_error *err);
/*
 * Queries the driver for the device and context of a cl_command_queue (`kind` BI_ORDER_OPENCL). Opens no device and
 * retains nothing. BI_EUNSUPPORTED: `kind` is any other kind; such a stream does not name its device. After a failure
 * *out is zero.
 */
BI_API int bi_locate_queue(enum bi_order_kind kind, uintptr_t queue, struct bi_location *out, struct bi_error *err);

/*
 * Returns 1 if no work is pending on the memory as far as the library knows. Queries no driver and does not wait.
 */
BI_API int bi_view_is_idle(const struct bi_view *view);

/*
 * Returns 1 if releasing the last view of the memory would not wait for work: the memory is idle, or it is foreign
 * memory whose home stream is still the stream that its producer named. Otherwise returns 0. Queries no driver. The
 * answer does not cover the release of the last reference to a context, which blocks while the context closes
 * (bi_options.around_close).
 */
BI_API int bi_view_release_is_immediate(const struct bi_view *view);

/*
 * Does what bi_view_export does, but returns BI_EBUSY where that function would wait for a device or for another
 * thread, or would call the driver. It needs none of this for memory that is idle, or whose pending work is all on its
 * home stream. The first export, and the first export that names a stream, fail also while another thread works on the
 * memory.
 */
BI_API int bi_view_export_nonblocking(const struct bi_view *view, uint32_t wishes, struct bi_exchange *out,
				      struct bi_error *err);

/*
 * Sets *stream to the handle of the home stream, also if no work is pending, or to 0 for memory that has none. The
 * memory counts as exported. Unlike after bi_view_export, the memory is not pending after bi_view_synchronize
 * (docs/ordering.md, 11.5). If a consumer makes this stream wait for its work later, the caller orders that work.
 * Blocks the calling thread if work on host memory or pinned memory is pending (`export`). BI_EBUSY: the memory is
 * mapped for writing. The handle is borrowed from the view.
 */
BI_API int bi_view_home_stream(const struct bi_view *view, uintptr_t *stream, struct bi_error *err);

/*
 * Gives up the bytes of a mapping that is a copy (CUDA device memory): bi_unmap then writes nothing back, and so does
 * not return BI_ECAPTURE. The address of bi_map_data is not valid any more. Does nothing for other mappings.
 */
BI_API void bi_map_abandon(struct bi_map *map);

/*
 * Makes a view of memory whose producer names the address of element [0, ..., 0], without a copy. `data` is that
 * address. The memory is the range that the layout reaches from there; it starts below `data` if strides are negative.
 * In all else the function is like bi_view_wrap.
 *
 * Overwrites foreign->handle, foreign->nbytes and layout->offset with the derived values; a failure may leave some of
 * them changed.
 * BI_EBOUNDS, BI_EOVERFLOW: the range is not a range of addresses. BI_EINVAL: the handle is a cl_mem, which has no
 * address; or `data` is 0, and there are elements or the memory is not of the host (bi_view_empty makes an array
 * without elements). Owned.
 */
BI_API int bi_view_wrap_at(struct bi_context *context, uint64_t data, struct bi_foreign *foreign,
			   struct bi_layout *layout, struct bi_view **out, struct bi_error *err);

/*
 * Makes the context stream the home stream of the memory, and makes it wait for the work that is pending on the memory.
 * Serves consumers that know no stream except the context stream: from now on the memory counts as pending, because
 * they may enqueue work there. At the last release, the stream that the producer named waits for that work. Does
 * nothing for host memory and for memory that was wrapped with BI_WRAP_UNORDERED. docs/ordering.md, row 35.
 */
BI_API int bi_view_switch_to_context_stream(const struct bi_view *view, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
