/*
 * Numbers, sizes and members of src/cuda/types.h, compared with the vendor's header when this is compiled. What is left
 * to run are the streams that are no pointers: a cast is no constant.
 */
#include <cuda.h>

#include "cuda/api.h"
#include "../../simulators/cuda_facts/kinds.h"
#include "cuda_types.h"

#define SAME_TYPE(a, b) _Static_assert(__builtin_types_compatible_p(a, b), #a " is not " #b)

SAME_TYPE(bi__cu_device, CUdevice);
SAME_TYPE(bi__cu_pointer, CUdeviceptr);
SAME_TYPE(bi__cu_context, CUcontext);
SAME_TYPE(bi__cu_stream, CUstream);
SAME_TYPE(bi__cu_event, CUevent);
SAME_TYPE(bi__cu_module, CUmodule);
SAME_TYPE(bi__cu_function, CUfunction);
SAME_TYPE(bi__cu_pool, CUmemoryPool);
SAME_TYPE(bi__cu_green_context, CUgreenCtx);
SAME_TYPE(bi__cu_graph, CUgraph);
SAME_TYPE(bi__cu_node, CUgraphNode);
SAME_TYPE(bi__cu_host_function, CUhostFn);

/* An enumeration compares as the integer that it is passed as only where it is one parameter among others. */
SAME_TYPE(void (*)(bi__cu_result), void (*)(CUresult));
#define PASSED_AS_UNSIGNED(type) SAME_TYPE(void (*)(unsigned, unsigned *), void (*)(type, type *))
PASSED_AS_UNSIGNED(CUdevice_attribute);
PASSED_AS_UNSIGNED(CUpointer_attribute);
PASSED_AS_UNSIGNED(CUmemorytype);
PASSED_AS_UNSIGNED(CUmemPool_attribute);
PASSED_AS_UNSIGNED(CUstreamCaptureStatus);
PASSED_AS_UNSIGNED(CUstreamCaptureMode);
PASSED_AS_UNSIGNED(CUmemAllocationGranularity_flags);

#define COMPARE_CONSTANT(ours, theirs, value) \
	_Static_assert((long long)(ours) == (long long)(theirs) && (ours) == (value), #ours " is not " #theirs);
BI__CU_CONSTANTS(COMPARE_CONSTANT)

_Static_assert(BI__CU_SUCCESS == (int)CUDA_SUCCESS, "BI__CU_SUCCESS");
#define COMPARE_CODE(name, number, status) \
	_Static_assert((long long)BI__CU_##name == (long long)CUDA_##name && BI__CU_##name == (number), #name);
BI__CU_CODES(COMPARE_CODE)

/* Our member, the driver's. */
#define COPY_2D_MEMBERS(X) \
	X(src_x, srcXInBytes) \
	X(src_y, srcY) \
	X(src_memory, srcMemoryType) \
	X(src_host, srcHost) \
	X(src_device, srcDevice) \
	X(src_array, srcArray) \
	X(src_pitch, srcPitch) \
	X(dst_x, dstXInBytes) \
	X(dst_y, dstY) \
	X(dst_memory, dstMemoryType) \
	X(dst_host, dstHost) \
	X(dst_device, dstDevice) \
	X(dst_array, dstArray) \
	X(dst_pitch, dstPitch) \
	X(width, WidthInBytes) \
	X(height, Height)
#define COPY_3D_MEMBERS(X) \
	COPY_2D_MEMBERS(X) \
	X(src_z, srcZ) \
	X(src_level, srcLOD) \
	X(src_reserved, reserved0) \
	X(src_height, srcHeight) \
	X(dst_z, dstZ) \
	X(dst_level, dstLOD) \
	X(dst_reserved, reserved1) \
	X(dst_height, dstHeight) \
	X(depth, Depth)

#define SIZE_OF_MEMBER(type, member) sizeof(((type *)0)->member)
#define COMPARE_MEMBER(type, their_type, member, their_member) \
	_Static_assert(offsetof(type, member) == offsetof(their_type, their_member) && \
			       SIZE_OF_MEMBER(type, member) == SIZE_OF_MEMBER(their_type, their_member), \
		       #their_type "." #their_member);
#define COMPARE_2D(member, their_member) COMPARE_MEMBER(struct bi__cu_copy_2d, CUDA_MEMCPY2D, member, their_member)
#define COMPARE_3D(member, their_member) COMPARE_MEMBER(struct bi__cu_copy_3d, CUDA_MEMCPY3D, member, their_member)
COPY_2D_MEMBERS(COMPARE_2D)
COPY_3D_MEMBERS(COMPARE_3D)
_Static_assert(sizeof(struct bi__cu_copy_2d) == sizeof(CUDA_MEMCPY2D), "CUDA_MEMCPY2D");
_Static_assert(sizeof(struct bi__cu_copy_3d) == sizeof(CUDA_MEMCPY3D), "CUDA_MEMCPY3D");

/* No member is missing from the lists: with the padding behind the two types of memory they fill the structs. */
#define PADDING (2 * (sizeof(void *) - sizeof(unsigned)))
#define PLUS_2D(member, their_member) +SIZE_OF_MEMBER(struct bi__cu_copy_2d, member)
#define PLUS_3D(member, their_member) +SIZE_OF_MEMBER(struct bi__cu_copy_3d, member)
_Static_assert(PADDING COPY_2D_MEMBERS(PLUS_2D) == sizeof(CUDA_MEMCPY2D), "a member of CUDA_MEMCPY2D is not compared");
_Static_assert(PADDING COPY_3D_MEMBERS(PLUS_3D) == sizeof(CUDA_MEMCPY3D), "a member of CUDA_MEMCPY3D is not compared");

SAME_TYPE(__typeof__(((struct bi__cu_copy_2d *)0)->src_host), __typeof__(((CUDA_MEMCPY2D *)0)->srcHost));
SAME_TYPE(__typeof__(((struct bi__cu_copy_2d *)0)->src_device), __typeof__(((CUDA_MEMCPY2D *)0)->srcDevice));
SAME_TYPE(__typeof__(((struct bi__cu_copy_3d *)0)->src_host), __typeof__(((CUDA_MEMCPY3D *)0)->srcHost));
SAME_TYPE(__typeof__(((struct bi__cu_copy_3d *)0)->src_device), __typeof__(((CUDA_MEMCPY3D *)0)->srcDevice));

/* The rest of the struct is zero. */
#define COMPARE_POOL(member, their_member) \
	COMPARE_MEMBER(struct bi__cu_pool_properties, CUmemPoolProps, member, their_member)
COMPARE_POOL(type, allocType)
COMPARE_POOL(handle_types, handleTypes)
COMPARE_POOL(location.type, location.type)
COMPARE_POOL(location.id, location.id)
_Static_assert(sizeof(struct bi__cu_pool_properties) == sizeof(CUmemPoolProps), "CUmemPoolProps");

/* What the driver-facts program passes to the functions of virtual memory. */
#define COMPARE_PROPERTY(member, their_member) \
	COMPARE_MEMBER(struct segment_properties, CUmemAllocationProp, member, their_member)
COMPARE_PROPERTY(type, type)
COMPARE_PROPERTY(handle_types, requestedHandleTypes)
COMPARE_PROPERTY(location_type, location.type)
COMPARE_PROPERTY(location_id, location.id)
COMPARE_PROPERTY(compression, allocFlags.compressionType)
COMPARE_PROPERTY(usage, allocFlags.usage)
_Static_assert(sizeof(struct segment_properties) == sizeof(CUmemAllocationProp), "CUmemAllocationProp");
COMPARE_MEMBER(struct segment_access, CUmemAccessDesc, location_type, location.type)
COMPARE_MEMBER(struct segment_access, CUmemAccessDesc, location_id, location.id)
COMPARE_MEMBER(struct segment_access, CUmemAccessDesc, flags, flags)
_Static_assert(sizeof(struct segment_access) == sizeof(CUmemAccessDesc), "CUmemAccessDesc");
_Static_assert(CU_MEM_ALLOCATION_TYPE_PINNED == 1 && CU_MEM_LOCATION_TYPE_DEVICE == 1 &&
		       CU_MEM_ACCESS_FLAGS_PROT_READWRITE == 3,
	       "the numbers of kinds.c");

int streams_are_the_same(void)
{
	return BI__CU_STREAM_LEGACY == CU_STREAM_LEGACY && BI__CU_STREAM_PER_THREAD == CU_STREAM_PER_THREAD;
}
