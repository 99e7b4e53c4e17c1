/*
 * Typed access to CUDA handles, for programs that have the toolkit's cuda.h. All functions are inline translations to
 * functions of buffer_interface.h, whose rules about errors, NULL, ownership and threads hold. Handles of the runtime
 * library (cudaStream_t, cudaEvent_t) are handles of the driver.
 */
#ifndef BUFFER_INTERFACE_CUDA_H
#define BUFFER_INTERFACE_CUDA_H

#include <cuda.h>

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens a context on an adopted CUcontext. `stream`, which becomes the context stream, is a stream of that CUcontext or
 * CU_STREAM_LEGACY; NULL: the library creates one. The caller keeps `context` and `stream` alive until options.release
 * is called. The remaining options are used as given. Owned.
 */
static inline int bi_cuda_context_wrap(CUcontext context, CUstream stream, struct bi_options options,
				       struct bi_context **out, struct bi_error *err)
{
	if (!options.device)
		options.device = "cuda";
	options.adopt_context = BI__HANDLE(uintptr_t, context);
	/* bi_context_open refuses a stream without a context, so a `context` of NULL is BI_EINVAL. */
	options.adopt_stream = context ? BI__HANDLE(uintptr_t, stream) : 1;
	return bi_context_open(&options, out, err);
}

/*
 * Wraps a stream of this context, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD. The caller keeps it alive. NULL is refused,
 * because the default stream that it stands for depends on how a program was compiled. Owned.
 */
static inline int bi_cuda_stream_wrap(struct bi_context *context, CUstream stream, struct bi_stream **out,
				      struct bi_error *err)
{
	return bi_stream_wrap(context, BI__HANDLE(uintptr_t, stream), BI__NULL, BI__NULL, out, err);
}

/* Wraps a recorded event. The caller keeps it alive. Owned. */
static inline int bi_cuda_event_wrap(struct bi_context *context, CUevent event, struct bi_event **out,
				     struct bi_error *err)
{
	return bi_event_wrap(context, BI__HANDLE(uintptr_t, event), out, err);
}

/*
 * Wraps nbytes of memory whose pending work is on `stream` (NULL: nothing is pending). The caller keeps the memory
 * alive until the library no longer uses it; then `release` (may be NULL) is called once with `release_data`, as in
 * struct bi_foreign. After a failure it is not called. Without `release`, the caller keeps the memory alive until the
 * context is closed. Owned.
 */
static inline int bi_cuda_memory_wrap(struct bi_context *context, CUdeviceptr pointer, size_t nbytes,
				      struct bi_stream *stream, bi_release_fn release, void *release_data,
				      struct bi_memory **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = BI__CAST(uintptr_t, pointer);
	foreign.nbytes = nbytes;
	foreign.stream = stream;
	foreign.release = release;
	foreign.release_data = release_data;
	return bi_memory_wrap(context, &foreign, out, err);
}

/* The functions below return native handles. Borrowed. */
static inline CUcontext bi_cuda_context(const struct bi_context *context)
{
	return BI__HANDLE(CUcontext, bi_context_handle(context));
}

static inline CUdevice bi_cuda_device(const struct bi_context *context)
{
	return BI__CAST(CUdevice, bi_context_device_handle(context));
}

static inline CUstream bi_cuda_stream(const struct bi_stream *stream)
{
	return BI__HANDLE(CUstream, bi_stream_handle(stream));
}

static inline CUevent bi_cuda_event(const struct bi_event *event)
{
	return BI__HANDLE(CUevent, bi_event_handle(event));
}

/*
 * Returns the address of element [0, ..., 0] of a view, or 0 if its memory has no bytes or is not CUDA memory. For a
 * view without elements, returns the address that the offset of its layout gives. The memory counts as exported.
 */
static inline CUdeviceptr bi_cuda_pointer(const struct bi_view *view)
{
	struct bi_native native;

	bi_view_native(view, &native);
	if (native.kind != BI_HANDLE_CUDA || !native.handle)
		return 0;
	return BI__CAST(CUdeviceptr, native.handle + native.offset);
}

#ifdef __cplusplus
}
#endif

#endif
