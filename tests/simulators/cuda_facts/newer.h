/*
 * Functions that only the facts use, most of them newer than CUDA 11.2. tests/checks/cuda_types compares the
 * prototypes.
 */
#ifndef BI_TESTS_CUDA_FACTS_NEWER_H
#define BI_TESTS_CUDA_FACTS_NEWER_H

#include "cuda_driver.h"

struct CUdevResource_st;
struct CUdevResourceDesc_st;
struct CUlaunchConfig_st;
struct CUlib_st;
struct CUkern_st;

/* X(name here, the driver's symbol, optional, parameters) */
#define NEWER_API(X) \
	X(StreamGetId, cuStreamGetId, optional, (bi__cu_stream stream, unsigned long long *id)) \
	X(DeviceGetDevResource, cuDeviceGetDevResource, optional, \
	  (bi__cu_device device, struct CUdevResource_st *resource, unsigned type)) \
	X(DevResourceGenerateDesc, cuDevResourceGenerateDesc, optional, \
	  (struct CUdevResourceDesc_st **description, struct CUdevResource_st *resources, unsigned count)) \
	X(GreenCtxCreate, cuGreenCtxCreate, optional, \
	  (bi__cu_green_context *green, struct CUdevResourceDesc_st *description, bi__cu_device device, \
	   unsigned flags)) \
	X(GreenCtxDestroy, cuGreenCtxDestroy, optional, (bi__cu_green_context green)) \
	X(GreenCtxStreamCreate, cuGreenCtxStreamCreate, optional, \
	  (bi__cu_stream *stream, bi__cu_green_context green, unsigned flags, int priority)) \
	X(CtxFromGreenCtx, cuCtxFromGreenCtx, optional, (bi__cu_context *context, bi__cu_green_context green)) \
	X(LaunchKernelEx, cuLaunchKernelEx, optional, \
	  (const struct CUlaunchConfig_st *configuration, bi__cu_function function, void **arguments, void **extra)) \
	X(LibraryLoadData, cuLibraryLoadData, optional, \
	  (struct CUlib_st **library, const void *image, unsigned *options, void **values, unsigned count, \
	   unsigned *library_options, void **library_values, unsigned library_count)) \
	X(LibraryGetKernel, cuLibraryGetKernel, optional, \
	  (struct CUkern_st **kernel, struct CUlib_st *library, const char *name)) \
	X(KernelGetFunction, cuKernelGetFunction, optional, (bi__cu_function *function, struct CUkern_st *kernel)) \
	X(DeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, optional, (bi__cu_pool *pool, bi__cu_device device)) \
	X(MemPoolGetAttribute, cuMemPoolGetAttribute, optional, (bi__cu_pool pool, unsigned what, void *value))

struct newer {
#define NEWER_MEMBER(name, symbol, necessity, parameters) bi__cu_result(*name) parameters;
	NEWER_API(NEWER_MEMBER)
#undef NEWER_MEMBER
};

/* Returns the functions. A member is NULL if the driver lacks the function. */
const struct newer *newer(void);

/* Returns from the question if the driver lacks the function. */
#define NEEDS(name) \
	do { \
		if (!newer()->name) \
			return "not asked: cu" #name " is missing"; \
	} while (0)

#endif
