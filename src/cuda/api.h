/*
 * The CUDA driver library: its functions, opened at run time, and the names of its error codes.
 *
 * The library is libcuda.so.1 or libcuda.so (Windows: nvcuda.dll, macOS: libcuda.dylib), unless the environment
 * variable BI_CUDA_LIBRARY names another file (dl.h). CUDA 11.2 has all functions that are required here. The runtime
 * library (cudart) is never used.
 */
#ifndef BI_CUDA_API_H
#define BI_CUDA_API_H

#include <stdint.h>

#include "common/base/status.h"
#include "cuda/types.h"

/* X(member, symbol, required or optional, parameters). Each function returns a bi__cu_result. */
/* clang-format off */
#define BI__CU_API(X) \
	X(Init, cuInit, required, (unsigned flags)) \
	X(DriverGetVersion, cuDriverGetVersion, required, (int *version)) \
	X(GetErrorName, cuGetErrorName, required, (bi__cu_result code, const char **name)) \
	X(DeviceGetCount, cuDeviceGetCount, required, (int *count)) \
	X(DeviceGet, cuDeviceGet, required, (bi__cu_device *device, int ordinal)) \
	X(DeviceGetName, cuDeviceGetName, required, (char *name, int size, bi__cu_device device)) \
	X(DeviceTotalMem, cuDeviceTotalMem_v2, required, (size_t *nbytes, bi__cu_device device)) \
	X(DeviceGetAttribute, cuDeviceGetAttribute, required, (int *value, unsigned what, bi__cu_device device)) \
	X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, required, \
	  (bi__cu_context *context, bi__cu_device device)) \
	X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, required, (bi__cu_device device)) \
	X(CtxGetCurrent, cuCtxGetCurrent, required, (bi__cu_context *context)) \
	X(CtxPushCurrent, cuCtxPushCurrent_v2, required, (bi__cu_context context)) \
	X(CtxPopCurrent, cuCtxPopCurrent_v2, required, (bi__cu_context *context)) \
	X(CtxGetDevice, cuCtxGetDevice, required, (bi__cu_device *device)) \
	X(CtxSynchronize, cuCtxSynchronize, required, (void)) \
	X(CtxGetId, cuCtxGetId, optional, (bi__cu_context context, unsigned long long *id)) \
	X(MemGetInfo, cuMemGetInfo_v2, required, (size_t *free, size_t *total)) \
	X(MemAlloc, cuMemAlloc_v2, required, (bi__cu_pointer *pointer, size_t nbytes)) \
	X(MemFree, cuMemFree_v2, required, (bi__cu_pointer pointer)) \
	X(MemFreeAsync, cuMemFreeAsync, optional, (bi__cu_pointer pointer, bi__cu_stream stream)) \
	X(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync, optional, \
	  (bi__cu_pointer *pointer, size_t nbytes, bi__cu_pool pool, bi__cu_stream stream)) \
	X(MemPoolCreate, cuMemPoolCreate, optional, \
	  (bi__cu_pool *pool, const struct bi__cu_pool_properties *properties)) \
	X(MemPoolSetAttribute, cuMemPoolSetAttribute, optional, (bi__cu_pool pool, unsigned what, void *value)) \
	X(MemPoolTrimTo, cuMemPoolTrimTo, optional, (bi__cu_pool pool, size_t keep)) \
	X(MemPoolDestroy, cuMemPoolDestroy, optional, (bi__cu_pool pool)) \
	X(MemHostAlloc, cuMemHostAlloc, required, (void **pointer, size_t nbytes, unsigned flags)) \
	X(MemFreeHost, cuMemFreeHost, required, (void *pointer)) \
	X(MemAllocManaged, cuMemAllocManaged, required, (bi__cu_pointer *pointer, size_t nbytes, unsigned flags)) \
	X(MemGetAddressRange, cuMemGetAddressRange_v2, required, \
	  (bi__cu_pointer *base, size_t *nbytes, bi__cu_pointer pointer)) \
	X(PointerGetAttributes, cuPointerGetAttributes, required, \
	  (unsigned count, unsigned *what, void **values, bi__cu_pointer pointer)) \
	X(StreamCreate, cuStreamCreate, required, (bi__cu_stream *stream, unsigned flags)) \
	X(StreamDestroy, cuStreamDestroy_v2, required, (bi__cu_stream stream)) \
	X(StreamGetCtx, cuStreamGetCtx, required, (bi__cu_stream stream, bi__cu_context *context)) \
	X(StreamGetCtx_v2, cuStreamGetCtx_v2, optional, \
	  (bi__cu_stream stream, bi__cu_context *context, bi__cu_green_context *green)) \
	X(StreamWaitEvent, cuStreamWaitEvent, required, (bi__cu_stream stream, bi__cu_event event, unsigned flags)) \
	X(StreamQuery, cuStreamQuery, required, (bi__cu_stream stream)) \
	X(StreamSynchronize, cuStreamSynchronize, required, (bi__cu_stream stream)) \
	X(StreamIsCapturing, cuStreamIsCapturing, required, (bi__cu_stream stream, unsigned *status)) \
	X(StreamGetCaptureInfo, cuStreamGetCaptureInfo, optional, \
	  (bi__cu_stream stream, unsigned *status, uint64_t *id)) \
	X(StreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2, optional, \
	  (bi__cu_stream stream, unsigned *status, uint64_t *id, bi__cu_graph *graph, const bi__cu_node **nodes, \
	   size_t *count)) \
	X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, required, (unsigned *mode)) \
	X(EventCreate, cuEventCreate, required, (bi__cu_event *event, unsigned flags)) \
	X(EventDestroy, cuEventDestroy_v2, required, (bi__cu_event event)) \
	X(EventRecord, cuEventRecord, required, (bi__cu_event event, bi__cu_stream stream)) \
	X(EventQuery, cuEventQuery, required, (bi__cu_event event)) \
	X(EventSynchronize, cuEventSynchronize, required, (bi__cu_event event)) \
	X(EventElapsedTime, cuEventElapsedTime, required, (float *milliseconds, bi__cu_event start, bi__cu_event end)) \
	X(MemcpyAsync, cuMemcpyAsync, required, \
	  (bi__cu_pointer dst, bi__cu_pointer src, size_t nbytes, bi__cu_stream stream)) \
	X(MemcpyPeerAsync, cuMemcpyPeerAsync, required, \
	  (bi__cu_pointer dst, bi__cu_context dst_context, bi__cu_pointer src, bi__cu_context src_context, \
	   size_t nbytes, bi__cu_stream stream)) \
	X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, required, \
	  (bi__cu_pointer dst, const void *src, size_t nbytes, bi__cu_stream stream)) \
	X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, required, \
	  (void *dst, bi__cu_pointer src, size_t nbytes, bi__cu_stream stream)) \
	X(Memcpy2DAsync, cuMemcpy2DAsync_v2, required, (const struct bi__cu_copy_2d *copy, bi__cu_stream stream)) \
	X(Memcpy3DAsync, cuMemcpy3DAsync_v2, required, (const struct bi__cu_copy_3d *copy, bi__cu_stream stream)) \
	X(MemsetD8Async, cuMemsetD8Async, required, \
	  (bi__cu_pointer dst, unsigned char value, size_t count, bi__cu_stream stream)) \
	X(MemsetD16Async, cuMemsetD16Async, required, \
	  (bi__cu_pointer dst, unsigned short value, size_t count, bi__cu_stream stream)) \
	X(MemsetD32Async, cuMemsetD32Async, required, \
	  (bi__cu_pointer dst, unsigned value, size_t count, bi__cu_stream stream)) \
	X(ModuleLoadData, cuModuleLoadData, required, (bi__cu_module *module, const void *image)) \
	X(ModuleUnload, cuModuleUnload, required, (bi__cu_module module)) \
	X(ModuleGetFunction, cuModuleGetFunction, required, \
	  (bi__cu_function *function, bi__cu_module module, const char *name)) \
	X(FuncGetAttribute, cuFuncGetAttribute, required, (int *value, unsigned what, bi__cu_function function)) \
	X(LaunchKernel, cuLaunchKernel, required, \
	  (bi__cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
	   unsigned block_y, unsigned block_z, unsigned shared, bi__cu_stream stream, void **arguments, void **extra)) \
	X(LaunchHostFunc, cuLaunchHostFunc, required, (bi__cu_stream stream, bi__cu_host_function function, void *data))
/* clang-format on */

struct bi__cu_api {
	void *library;
#define BI__CU_MEMBER(name, symbol, necessity, parameters) bi__cu_result(*name) parameters;
	BI__CU_API(BI__CU_MEMBER)
#undef BI__CU_MEMBER
};

/*
 * The functions of the driver. They may be called after bi__cu_open has succeeded. Opening a device calls bi__cu_open
 * first. Optional functions that the driver lacks are NULL.
 */
extern const struct bi__cu_api *const bi__cu;

/*
 * Opens the library and initialises the driver, unless an earlier call has succeeded. After a failure, the next call
 * tries again.
 */
int bi__cu_open(struct bi_error *err);

/* Returns a function of the opened library, or NULL if the library does not have it. */
bi_function *bi__cu_symbol(const char *name);

/* Returns the CUDA version that the driver supports, for example 12040 for CUDA 12.4. */
int bi__cu_version(void);

/* Returns the name of an error code, such as "CUDA_ERROR_INVALID_VALUE", or "unknown code". */
const char *bi__cu_name(bi__cu_result code);

/*
 * Returns BI_OK if `code` is success. Otherwise returns the status for the code, and writes the message "cuSomething
 * failed: CUDA_ERROR_X (1)".
 */
int bi__cu_check(bi__cu_result code, const char *call, struct bi_error *err);

#endif
