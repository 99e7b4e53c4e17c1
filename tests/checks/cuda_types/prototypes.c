/*
 * Prototypes of src/cuda/api.h, of CUDA_DRIVER_MORE and of NEWER_API, compared with the declarations of the vendor's
 * header when this is compiled. For that our types are the vendor's here, and types.h, which would declare them, is
 * left out.
 *
 * A version of a function that is no longer the current one is declared only for whoever builds the driver itself,
 * under this macro, which also takes the macros back that rename a function to its current version.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stdio.h>

#include "cuda_types.h"

#define BI_CUDA_TYPES_H
typedef CUresult bi__cu_result;
typedef CUdevice bi__cu_device;
typedef CUdeviceptr bi__cu_pointer;
typedef CUcontext bi__cu_context;
typedef CUstream bi__cu_stream;
typedef CUevent bi__cu_event;
typedef CUmodule bi__cu_module;
typedef CUfunction bi__cu_function;
typedef CUmemoryPool bi__cu_pool;
typedef CUgreenCtx bi__cu_green_context;
typedef CUgraph bi__cu_graph;
typedef CUgraphNode bi__cu_node;
typedef CUhostFn bi__cu_host_function;
#define bi__cu_copy_2d CUDA_MEMCPY2D_st
#define bi__cu_copy_3d CUDA_MEMCPY3D_st
#define bi__cu_pool_properties CUmemPoolProps_st

#include "cuda_driver.h"
#include "newer.h"

/* What this toolkit's header does not declare, as LISTED_symbol. Made by CMake. */
#include "cuda_undeclared.h"

#define SAME(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))

/*
 * Prototypes of ours that are deliberately not the vendor's, for tests that have no toolkit: pointers to types that
 * types.h lacks are pointers to void, an unsigned long long is a uint64_t. Symbol, the vendor's parameters, ours.
 */
#define OPAQUE_MAP(X) \
	X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long), (void **, CUgraph, uint64_t)) \
	X(cuGraphLaunch, (CUgraphExec, CUstream), (void *, CUstream)) \
	X(cuGraphExecDestroy, (CUgraphExec), (void *)) \
	X(cuMemAddressReserve, (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long), \
	  (CUdeviceptr *, size_t, size_t, CUdeviceptr, uint64_t)) \
	X(cuMemCreate, (unsigned long long *, size_t, const CUmemAllocationProp *, unsigned long long), \
	  (uint64_t *, size_t, const void *, uint64_t)) \
	X(cuMemRelease, (unsigned long long), (uint64_t)) \
	X(cuMemMap, (CUdeviceptr, size_t, size_t, unsigned long long, unsigned long long), \
	  (CUdeviceptr, size_t, size_t, uint64_t, uint64_t)) \
	X(cuMemSetAccess, (CUdeviceptr, size_t, const CUmemAccessDesc *, size_t), \
	  (CUdeviceptr, size_t, const void *, size_t)) \
	X(cuMemGetAllocationGranularity, (size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags), \
	  (size_t *, const void *, unsigned))

/*
 * Versions that some toolkit since 11.2 does not declare, being older or newer, with the parameters that the
 * documentation of a release that has them gives. Ours are compared with these where the header is silent.
 */
#define VERSIONS_MAP(X) \
	X(cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice)) \
	X(cuEventElapsedTime, (float *, CUevent, CUevent)) \
	X(cuStreamGetCaptureInfo, (CUstream, CUstreamCaptureStatus *, cuuint64_t *)) \
	X(cuStreamGetCaptureInfo_v2, \
	  (CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **, size_t *)) \
	X(cuStreamWaitValue32_v2, (CUstream, CUdeviceptr, cuuint32_t, unsigned)) \
	X(cuGraphInstantiateWithFlags, (void **, CUgraph, uint64_t))

_Static_assert(sizeof(uint64_t) == sizeof(unsigned long long), "uint64_t is passed as unsigned long long");

#define DECLARE_OPAQUE(symbol, theirs, ours) typedef CUresult(*theirs_##symbol) theirs, (*opaque_##symbol)ours;
OPAQUE_MAP(DECLARE_OPAQUE)
#define DECLARE_VERSION(symbol, parameters) typedef CUresult(*version_##symbol) parameters;
VERSIONS_MAP(DECLARE_VERSION)
/* Where the toolkit is too old to know these, ours are compared with nothing. */
#define DECLARE_NEWER(name, symbol, necessity, parameters) typedef CUresult(*version_##symbol) parameters;
NEWER_API(DECLARE_NEWER)

#ifndef LISTED_cuGraphInstantiateWithFlags
#define LISTED_cuGraphInstantiateWithFlags x, OPAQUE
#endif
#define LISTED_cuGraphLaunch x, OPAQUE
#define LISTED_cuGraphExecDestroy x, OPAQUE
#define LISTED_cuMemAddressReserve x, OPAQUE
#define LISTED_cuMemCreate x, OPAQUE
#define LISTED_cuMemRelease x, OPAQUE
#define LISTED_cuMemMap x, OPAQUE
#define LISTED_cuMemSetAccess x, OPAQUE
#define LISTED_cuMemGetAllocationGranularity x, OPAQUE

/* COMPARE(name, symbol, ...) becomes COMPARE_OPAQUE or COMPARE_UNDECLARED where LISTED_symbol says so. */
#define SECOND_OF(first, second, ...) second
#define SECOND(...) SECOND_OF(__VA_ARGS__, EXACT, EXACT)
#define JOIN_WORDS(a, b) a##b
#define JOIN(a, b) JOIN_WORDS(a, b)

#define COMPARE_EXACT(symbol, ours) _Static_assert(SAME(&symbol, ours), #symbol " has another prototype");
#define COMPARE_OPAQUE(symbol, ours) \
	_Static_assert(SAME(&symbol, theirs_##symbol), #symbol " has another prototype than is listed here"); \
	_Static_assert(SAME(ours, opaque_##symbol), #symbol " is not as it is listed here"); \
	_Static_assert(!SAME(theirs_##symbol, opaque_##symbol), #symbol " need not be listed here");
#define COMPARE_UNDECLARED(symbol, ours) \
	_Static_assert(SAME(ours, version_##symbol), #symbol " has another prototype than its documentation");

#define COMPARE(name, symbol, necessity, parameters) \
	typedef bi__cu_result(*ours_##symbol) parameters; \
	JOIN(COMPARE_, SECOND(LISTED_##symbol))(symbol, ours_##symbol)
BI__CU_API(COMPARE)
CUDA_DRIVER_MORE(COMPARE)
NEWER_API(COMPARE)

#define TEXT_OF(word) #word
#define TEXT(word) TEXT_OF(word)
#define ENTRY(name, symbol, necessity, parameters) { #symbol, TEXT(SECOND(LISTED_##symbol)) },

static const struct {
	const char *symbol, *how;
} functions[] = { BI__CU_API(ENTRY) CUDA_DRIVER_MORE(ENTRY) NEWER_API(ENTRY) };

/* The comparison happened when this was compiled; what is said here is with what, and where it could not be exact. */
int main(void)
{
	int exact = 0;

	if (!streams_are_the_same()) {
		printf("CU_STREAM_LEGACY or CU_STREAM_PER_THREAD has another value\n");
		return 1;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const char *how = functions[i].how;

		exact += how[0] == 'E';
		if (how[0] == 'O')
			printf("%s: declared with opaque pointers here\n", functions[i].symbol);
		if (how[0] == 'U')
			printf("%s: not declared by this toolkit\n", functions[i].symbol);
	}
	printf("%d prototypes are those of cuda.h %d\n", exact, CUDA_VERSION);
	return 0;
}
