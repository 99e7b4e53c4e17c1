/*
 * The CUDA driver, which tests call directly for foreign memory, producers and gates. It is opened from the file that
 * the environment variable BI_CUDA_LIBRARY names, else from libcuda.so.1: the simulated driver, or a real one.
 */
#ifndef BI_TESTS_CUDA_DRIVER_H
#define BI_TESTS_CUDA_DRIVER_H

#include "cuda/api.h"
#include "cuda_sim.h"

/* Functions that tests need beside those of BI__CU_API. Optional functions of both may be NULL. */
#define CUDA_DRIVER_MORE(X) \
	X(GetErrorString, cuGetErrorString, required, (bi__cu_result code, const char **text)) \
	X(CtxCreate, cuCtxCreate_v2, required, (bi__cu_context *context, unsigned flags, bi__cu_device device)) \
	X(CtxDestroy, cuCtxDestroy_v2, required, (bi__cu_context context)) \
	X(CtxSetCurrent, cuCtxSetCurrent, required, (bi__cu_context context)) \
	X(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, required, \
	  (bi__cu_device device, unsigned *flags, int *active)) \
	X(DevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, required, (bi__cu_device device)) \
	X(PointerGetAttribute, cuPointerGetAttribute, required, (void *value, unsigned what, bi__cu_pointer pointer)) \
	X(MemAllocAsync, cuMemAllocAsync, optional, (bi__cu_pointer *pointer, size_t nbytes, bi__cu_stream stream)) \
	X(MemHostRegister, cuMemHostRegister_v2, required, (void *pointer, size_t nbytes, unsigned flags)) \
	X(MemHostUnregister, cuMemHostUnregister, required, (void *pointer)) \
	X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, required, \
	  (bi__cu_pointer *device, void *host, unsigned flags)) \
	X(StreamBeginCapture, cuStreamBeginCapture_v2, required, (bi__cu_stream stream, unsigned mode)) \
	X(StreamEndCapture, cuStreamEndCapture, required, (bi__cu_stream stream, bi__cu_graph *graph)) \
	X(GraphDestroy, cuGraphDestroy, required, (bi__cu_graph graph)) \
	X(GraphInstantiate, cuGraphInstantiateWithFlags, optional, (void **exec, bi__cu_graph graph, uint64_t flags)) \
	X(GraphLaunch, cuGraphLaunch, required, (void *exec, bi__cu_stream stream)) \
	X(GraphExecDestroy, cuGraphExecDestroy, required, (void *exec)) \
	X(StreamWaitValue32, cuStreamWaitValue32_v2, optional, \
	  (bi__cu_stream stream, bi__cu_pointer address, uint32_t value, unsigned flags)) \
	X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, required, \
	  (bi__cu_pointer dst, bi__cu_pointer src, size_t nbytes, bi__cu_stream stream)) \
	X(MemcpyHtoD, cuMemcpyHtoD_v2, required, (bi__cu_pointer dst, const void *src, size_t nbytes)) \
	X(MemcpyDtoH, cuMemcpyDtoH_v2, required, (void *dst, bi__cu_pointer src, size_t nbytes)) \
	X(MemAddressReserve, cuMemAddressReserve, optional, \
	  (bi__cu_pointer *pointer, size_t nbytes, size_t alignment, bi__cu_pointer wanted, uint64_t flags)) \
	X(MemAddressFree, cuMemAddressFree, optional, (bi__cu_pointer pointer, size_t nbytes)) \
	X(MemCreate, cuMemCreate, optional, \
	  (uint64_t *handle, size_t nbytes, const void *properties, uint64_t flags)) \
	X(MemRelease, cuMemRelease, optional, (uint64_t handle)) \
	X(MemMap, cuMemMap, optional, \
	  (bi__cu_pointer pointer, size_t nbytes, size_t offset, uint64_t handle, uint64_t flags)) \
	X(MemUnmap, cuMemUnmap, optional, (bi__cu_pointer pointer, size_t nbytes)) \
	X(MemSetAccess, cuMemSetAccess, optional, \
	  (bi__cu_pointer pointer, size_t nbytes, const void *access, size_t count)) \
	X(MemGetAllocationGranularity, cuMemGetAllocationGranularity, optional, \
	  (size_t *nbytes, const void *properties, unsigned option))

struct cuda_driver {
#define CUDA_DRIVER_MEMBER(name, symbol, necessity, parameters) bi__cu_result(*name) parameters;
	BI__CU_API(CUDA_DRIVER_MEMBER)
	CUDA_DRIVER_MORE(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
};

/* Opens the driver and calls cuInit once. Ends the program with a message if there is no driver. */
const struct cuda_driver *cuda_driver(void);

/*
 * Retains the primary contexts of all devices until the program ends, if the device string names CUDA and the driver is
 * a real one, because creating a context takes long. The simulated driver would report contexts that stay retained.
 */
void cuda_driver_hold(const char *spec);

/* Returns the controls of the simulated driver, or NULL if the driver is a real one. */
const struct cuda_sim *cuda_sim(void);

#endif
