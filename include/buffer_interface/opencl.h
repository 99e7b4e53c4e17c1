/*
 * Typed access to OpenCL handles, for programs that have the Khronos headers. All functions are inline translations to
 * functions of buffer_interface.h, whose rules about errors, NULL, ownership and threads hold.
 *
 * A program that uses OpenCL above 1.2 defines CL_TARGET_OPENCL_VERSION before it includes this header.
 */
#ifndef BUFFER_INTERFACE_OPENCL_H
#define BUFFER_INTERFACE_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens a context on an adopted cl_context. `queue` becomes the context stream; NULL: the library creates one. The
 * library retains `context` and `queue`. The remaining options are used as given. Owned.
 */
static inline int bi_opencl_context_wrap(cl_context context, cl_command_queue queue, struct bi_options options,
					 struct bi_context **out, struct bi_error *err)
{
	if (!options.device)
		options.device = "opencl";
	options.adopt_context = BI__HANDLE(uintptr_t, context);
	/* bi_context_open refuses a stream without a context, so a `context` of NULL is BI_EINVAL. */
	options.adopt_stream = context ? BI__HANDLE(uintptr_t, queue) : 1;
	return bi_context_open(&options, out, err);
}

/* Wraps and retains a queue of this context, as bi_stream_wrap does. Owned. */
static inline int bi_opencl_stream_wrap(struct bi_context *context, cl_command_queue queue, struct bi_stream **out,
					struct bi_error *err)
{
	return bi_stream_wrap(context, BI__HANDLE(uintptr_t, queue), BI__NULL, BI__NULL, out, err);
}

/* Wraps and retains an event of this context, as bi_event_wrap does. Owned. */
static inline int bi_opencl_event_wrap(struct bi_context *context, cl_event event, struct bi_event **out,
				       struct bi_error *err)
{
	return bi_event_wrap(context, BI__HANDLE(uintptr_t, event), out, err);
}

/*
 * Wraps and retains a cl_mem whose pending work is on `stream` (NULL: nothing is pending). `release` (may be NULL) is
 * called with `release_data` when the library no longer uses the cl_mem. Until then, no other code may free the bytes,
 * or write them without order. The flags of the cl_mem are not checked. On GPUs, strided copies and fills are kernels,
 * and by clCreateBuffer a kernel must not write to a CL_MEM_READ_ONLY buffer or read a CL_MEM_WRITE_ONLY one. Owned.
 */
static inline int bi_opencl_memory_wrap(struct bi_context *context, cl_mem mem, struct bi_stream *stream,
					bi_release_fn release, void *release_data, struct bi_memory **out,
					struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.kind = BI_HANDLE_CL_MEM;
	foreign.handle = BI__HANDLE(uintptr_t, mem);
	foreign.stream = stream;
	foreign.release = release;
	foreign.release_data = release_data;
	return bi_memory_wrap(context, &foreign, out, err);
}

/* The functions below return native handles. Borrowed. */
static inline cl_context bi_opencl_context(const struct bi_context *context)
{
	return BI__HANDLE(cl_context, bi_context_handle(context));
}

static inline cl_device_id bi_opencl_device(const struct bi_context *context)
{
	return BI__HANDLE(cl_device_id, bi_context_device_handle(context));
}

static inline cl_command_queue bi_opencl_queue(const struct bi_stream *stream)
{
	return BI__HANDLE(cl_command_queue, bi_stream_handle(stream));
}

static inline cl_event bi_opencl_event(const struct bi_event *event)
{
	return BI__HANDLE(cl_event, bi_event_handle(event));
}

/*
 * Returns the root cl_mem of a view, or NULL if the view is not in a cl_mem. *offset receives the number of bytes from
 * the start of the cl_mem to element [0, ..., 0]. The memory counts as exported. Borrowed.
 */
static inline cl_mem bi_opencl_mem(const struct bi_view *view, size_t *offset)
{
	struct bi_native native;

	bi_view_native(view, &native);
	*offset = native.offset;
	return native.kind == BI_HANDLE_CL_MEM ? BI__HANDLE(cl_mem, native.handle) : BI__NULL;
}

/*
 * Makes a sub-buffer that begins with element [0, ..., 0] of a view and reaches to the end of its memory, for consumers
 * that know no offset. *code (may be NULL) receives the code of clCreateSubBuffer. CL_MISALIGNED_SUB_BUFFER_OFFSET: the
 * element is not at a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN bits; take a clone of the view (bi_view_clone).
 * CL_INVALID_BUFFER_SIZE: the view has no elements and begins at the end of its memory. CL_INVALID_MEM_OBJECT: the view
 * is not in a cl_mem. The driver does not refuse to write the sub-buffer of a read-only view; its consumer must not do
 * that. NULL after a failure. Owned: clReleaseMemObject. The memory counts as exported. The library orders the work of
 * the consumer by the view: keep the view, and use bi_use_begin and bi_use_end.
 */
static inline cl_mem bi_opencl_sub_buffer(const struct bi_view *view, cl_int *code)
{
	typedef cl_mem(CL_API_CALL * create_fn)(cl_mem, cl_mem_flags, cl_buffer_create_type, const void *, cl_int *);
	struct bi_native native;
	cl_buffer_region region;
	bi_function *symbol;
	create_fn create;

	bi_view_native(view, &native);
	region.origin = native.offset;
	region.size = native.nbytes - native.offset;
	symbol = bi_context_symbol(bi_memory_context(bi_view_memory(view)), "clCreateSubBuffer");
	create = BI__HANDLE(create_fn, symbol);
	if (create && native.kind == BI_HANDLE_CL_MEM && native.handle)
		return create(BI__HANDLE(cl_mem, native.handle), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, code);
	if (code)
		*code = CL_INVALID_MEM_OBJECT;
	return BI__NULL;
}

#ifdef __cplusplus
}
#endif

#endif
