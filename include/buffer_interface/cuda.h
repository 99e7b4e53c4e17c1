/*
 * Typed access to CUDA handles, for callers that have the toolkit's cuda.h. Everything here is an inline translation to
 * buffer_interface.h; ownership, errors and threads are said there. Handles of the runtime library (cudaStream_t,
 * cudaEvent_t) are the driver's.
 */
#ifndef BUFFER_INTERFACE_CUDA_H
#define BUFFER_INTERFACE_CUDA_H

#include <cuda.h>

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens a context on an adopted CUcontext; `stream` becomes the context stream: one of that context, CU_STREAM_LEGACY,
 * or NULL: one is created. Both stay the caller's, who keeps them alive until options.release. Other options as given.
 */
static inline int bi_cuda_context_wrap(CUcontext context, CUstream stream, struct bi_options options,
				       struct bi_context **out, struct bi_error *err)
{
	if (!options.device)
		options.device = "cuda";
	options.adopt_context = (uintptr_t)context;
	options.adopt_stream = (uintptr_t)stream;
	return bi_context_open(&options, out, err);
}

/*
 * A stream of this context, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD; the caller keeps it alive. NULL is no stream
 * here: which default stream it means depends on how its user was compiled.
 */
static inline int bi_cuda_stream_wrap(struct bi_context *context, CUstream stream, struct bi_stream **out,
				      struct bi_error *err)
{
	return bi_stream_wrap(context, (uintptr_t)stream, NULL, NULL, out, err);
}

/* A recorded event; the caller keeps it alive. */
static inline int bi_cuda_event_wrap(struct bi_context *context, CUevent event, struct bi_event **out,
				     struct bi_error *err)
{
	return bi_event_wrap(context, (uintptr_t)event, out, err);
}

/*
 * nbytes of memory whose pending work is on `stream` (NULL: nothing is pending); the caller keeps it alive until it has
 * been let go, for which bi_memory_wrap takes a callback.
 */
static inline int bi_cuda_memory_wrap(struct bi_context *context, CUdeviceptr pointer, size_t nbytes,
				      struct bi_stream *stream, struct bi_memory **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = (uintptr_t)pointer;
	foreign.nbytes = nbytes;
	foreign.stream = stream;
	return bi_memory_wrap(context, &foreign, out, err);
}

static inline CUcontext bi_cuda_context(const struct bi_context *context)
{
	return (CUcontext)bi_context_handle(context);
}

static inline CUstream bi_cuda_stream(const struct bi_stream *stream)
{
	return (CUstream)bi_stream_handle(stream);
}

static inline CUevent bi_cuda_event(const struct bi_event *event)
{
	return (CUevent)bi_event_handle(event);
}

/* The address of element [0, ..., 0] of a view; 0 if it has no elements or is no CUDA memory. */
static inline CUdeviceptr bi_cuda_pointer(const struct bi_view *view)
{
	struct bi_native native;

	bi_view_native(view, &native);
	return native.kind == BI_HANDLE_CUDA && native.handle ? (CUdeviceptr)(native.handle + native.offset) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
