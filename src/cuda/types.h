/*
 * The types of the CUDA driver that this backend uses. They are declared here under other names, so that the backend
 * builds without a toolkit. A test (tests/checks/cuda_types) compares sizes, members, numbers and the prototypes of
 * api.h with the toolkit's cuda.h.
 *
 * The handles point to structs of the driver, whose names are part of the driver's interface. Enumerations are unsigned
 * integers here, as gcc and clang represent the driver's enumerations.
 */
#ifndef BI_CUDA_TYPES_H
#define BI_CUDA_TYPES_H

#include <stddef.h>

typedef unsigned bi__cu_result; /* enum bi__cu_code */
typedef int bi__cu_device;
typedef unsigned long long bi__cu_pointer;
typedef struct CUctx_st *bi__cu_context;
typedef struct CUstream_st *bi__cu_stream;
typedef struct CUevent_st *bi__cu_event;
typedef struct CUmod_st *bi__cu_module;
typedef struct CUfunc_st *bi__cu_function;
typedef struct CUmemPoolHandle_st *bi__cu_pool;
typedef struct CUgreenCtx_st *bi__cu_green_context;
typedef struct CUgraph_st *bi__cu_graph;
typedef struct CUgraphNode_st *bi__cu_node;
typedef void (*bi__cu_host_function)(void *data);

/* Values of enumerations: X(name here, the driver's name, value). */
#define BI__CU_CONSTANTS(X) \
	/* CUdevice_attribute, CUcomputemode */ \
	X(BI__CU_DEVICE_MAX_PITCH, CU_DEVICE_ATTRIBUTE_MAX_PITCH, 11) \
	X(BI__CU_DEVICE_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED, 18) \
	X(BI__CU_DEVICE_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20) \
	X(BI__CU_DEVICE_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41) \
	X(BI__CU_DEVICE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
	X(BI__CU_DEVICE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
	X(BI__CU_DEVICE_MANAGED_MEMORY, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83) \
	X(BI__CU_DEVICE_CONCURRENT_MANAGED_ACCESS, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89) \
	X(BI__CU_DEVICE_MEMORY_POOLS_SUPPORTED, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115) \
	X(BI__CU_COMPUTE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED, 2) \
	/* CUpointer_attribute */ \
	X(BI__CU_POINTER_CONTEXT, CU_POINTER_ATTRIBUTE_CONTEXT, 1) \
	X(BI__CU_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2) \
	X(BI__CU_POINTER_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3) \
	X(BI__CU_POINTER_HOST_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER, 4) \
	X(BI__CU_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED, 8) \
	X(BI__CU_POINTER_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9) \
	X(BI__CU_POINTER_RANGE_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11) \
	X(BI__CU_POINTER_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12) \
	X(BI__CU_POINTER_MAPPED, CU_POINTER_ATTRIBUTE_MAPPED, 13) \
	/* CUfunction_attribute */ \
	X(BI__CU_FUNCTION_MAX_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0) \
	X(BI__CU_FUNCTION_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1) \
	/* CUmemorytype */ \
	X(BI__CU_MEMORY_HOST, CU_MEMORYTYPE_HOST, 1) \
	X(BI__CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE, 2) \
	X(BI__CU_MEMORY_UNIFIED, CU_MEMORYTYPE_UNIFIED, 4) \
	/* CUmemAllocationType, CUmemLocationType, CUmemPool_attribute */ \
	X(BI__CU_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED, 1) \
	X(BI__CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE, 1) \
	X(BI__CU_POOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4) \
	/* CUmemAttach_flags, and flags of cuMemHostAlloc */ \
	X(BI__CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_GLOBAL, 1) \
	X(BI__CU_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE, 1) \
	X(BI__CU_HOST_ALLOC_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP, 2) \
	/* CUstream_flags, CUevent_flags */ \
	X(BI__CU_STREAM_BLOCKING, CU_STREAM_DEFAULT, 0) \
	X(BI__CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1) \
	X(BI__CU_EVENT_TIMED, CU_EVENT_DEFAULT, 0) \
	X(BI__CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING, 2) \
	/* CUstreamCaptureStatus */ \
	X(BI__CU_CAPTURE_NONE, CU_STREAM_CAPTURE_STATUS_NONE, 0) \
	X(BI__CU_CAPTURE_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE, 1) \
	X(BI__CU_CAPTURE_INVALIDATED, CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2) \
	/* CUstreamCaptureMode */ \
	X(BI__CU_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL, 0) \
	X(BI__CU_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1) \
	X(BI__CU_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED, 2)

enum bi__cu_constant {
#define BI__CU_CONSTANT_ENUM(name, theirs, value) name = (value),
	BI__CU_CONSTANTS(BI__CU_CONSTANT_ENUM)
#undef BI__CU_CONSTANT_ENUM
};

/*
 * Special values of a stream handle. 0 is never passed to the driver: its meaning depends on how the caller was
 * compiled.
 */
#define BI__CU_STREAM_LEGACY ((bi__cu_stream)0x1)
#define BI__CU_STREAM_PER_THREAD ((bi__cu_stream)0x2)

/*
 * Error codes: X(the driver's name without CUDA_, number, status of this library). Any other code is BI_EDRIVER, and
 * the driver gives its name.
 *
 * Codes with the status BI_EDRIVER are listed because this backend or the tests name them. DEINITIALIZED is listed
 * because a driver that the process is unloading gives no name.
 */
#define BI__CU_CODES(X) \
	X(ERROR_INVALID_VALUE, 1, BI_EDRIVER) \
	X(ERROR_OUT_OF_MEMORY, 2, BI_ENOMEM) \
	X(ERROR_NOT_INITIALIZED, 3, BI_EDRIVER) \
	X(ERROR_DEINITIALIZED, 4, BI_EDRIVER) \
	X(ERROR_STUB_LIBRARY, 34, BI_ENODEVICE) \
	X(ERROR_CALL_REQUIRES_NEWER_DRIVER, 36, BI_EUNSUPPORTED) \
	X(ERROR_DEVICE_UNAVAILABLE, 46, BI_ENODEVICE) \
	X(ERROR_NO_DEVICE, 100, BI_ENODEVICE) \
	X(ERROR_INVALID_DEVICE, 101, BI_ENODEVICE) \
	X(ERROR_INVALID_IMAGE, 200, BI_EDRIVER) \
	X(ERROR_INVALID_CONTEXT, 201, BI_EDRIVER) \
	X(ERROR_NO_BINARY_FOR_GPU, 209, BI_EDRIVER) \
	X(ERROR_ECC_UNCORRECTABLE, 214, BI_EPRODUCER) \
	X(ERROR_PEER_ACCESS_UNSUPPORTED, 217, BI_EDRIVER) \
	X(ERROR_INVALID_PTX, 218, BI_EDRIVER) \
	X(ERROR_NVLINK_UNCORRECTABLE, 220, BI_EPRODUCER) \
	X(ERROR_UNSUPPORTED_PTX_VERSION, 222, BI_EDRIVER) \
	X(ERROR_CONTAINED, 226, BI_EPRODUCER) \
	X(ERROR_INVALID_HANDLE, 400, BI_EDRIVER) \
	X(ERROR_ILLEGAL_STATE, 401, BI_EDRIVER) \
	X(ERROR_LOSSY_QUERY, 402, BI_EDRIVER) \
	X(ERROR_NOT_FOUND, 500, BI_EDRIVER) \
	X(ERROR_NOT_READY, 600, BI_EDRIVER) \
	X(ERROR_ILLEGAL_ADDRESS, 700, BI_EPRODUCER) \
	X(ERROR_LAUNCH_TIMEOUT, 702, BI_EPRODUCER) \
	X(ERROR_CONTEXT_IS_DESTROYED, 709, BI_EDRIVER) \
	X(ERROR_ASSERT, 710, BI_EPRODUCER) \
	X(ERROR_HARDWARE_STACK_ERROR, 714, BI_EPRODUCER) \
	X(ERROR_ILLEGAL_INSTRUCTION, 715, BI_EPRODUCER) \
	X(ERROR_MISALIGNED_ADDRESS, 716, BI_EPRODUCER) \
	X(ERROR_INVALID_ADDRESS_SPACE, 717, BI_EPRODUCER) \
	X(ERROR_INVALID_PC, 718, BI_EPRODUCER) \
	X(ERROR_LAUNCH_FAILED, 719, BI_EPRODUCER) \
	X(ERROR_TENSOR_MEMORY_LEAK, 721, BI_EPRODUCER) \
	X(ERROR_NOT_PERMITTED, 800, BI_EDRIVER) \
	X(ERROR_NOT_SUPPORTED, 801, BI_EUNSUPPORTED) \
	X(ERROR_SYSTEM_DRIVER_MISMATCH, 803, BI_ENODEVICE) \
	X(ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, BI_ENODEVICE) \
	X(ERROR_MPS_CLIENT_TERMINATED, 810, BI_EPRODUCER) \
	X(ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, BI_ECAPTURE) \
	X(ERROR_STREAM_CAPTURE_INVALIDATED, 901, BI_ECAPTURE) \
	X(ERROR_STREAM_CAPTURE_MERGE, 902, BI_ECAPTURE) \
	X(ERROR_STREAM_CAPTURE_UNMATCHED, 903, BI_ECAPTURE) \
	X(ERROR_STREAM_CAPTURE_UNJOINED, 904, BI_ECAPTURE) \
	X(ERROR_STREAM_CAPTURE_ISOLATION, 905, BI_ECAPTURE) \
	X(ERROR_STREAM_CAPTURE_IMPLICIT, 906, BI_ECAPTURE) \
	X(ERROR_CAPTURED_EVENT, 907, BI_ECAPTURE) \
	X(ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, BI_ECAPTURE) \
	X(ERROR_EXTERNAL_DEVICE, 911, BI_EPRODUCER) \
	X(ERROR_UNKNOWN, 999, BI_EDRIVER)

enum bi__cu_code {
	BI__CU_SUCCESS = 0,
#define BI__CU_CODE_ENUM(name, number, status) BI__CU_##name = (number),
	BI__CU_CODES(BI__CU_CODE_ENUM)
#undef BI__CU_CODE_ENUM
};

/* CUDA_MEMCPY2D: widths, pitches and x in bytes, heights and y in rows. */
struct bi__cu_copy_2d {
	size_t src_x, src_y;
	unsigned src_memory;
	const void *src_host;
	bi__cu_pointer src_device;
	void *src_array;
	size_t src_pitch;
	size_t dst_x, dst_y;
	unsigned dst_memory;
	void *dst_host;
	bi__cu_pointer dst_device;
	void *dst_array;
	size_t dst_pitch;
	size_t width, height;
};

/* CUDA_MEMCPY3D. The height of a side is the rows of one plane. z and depth are in planes. */
struct bi__cu_copy_3d {
	size_t src_x, src_y, src_z, src_level;
	unsigned src_memory;
	const void *src_host;
	bi__cu_pointer src_device;
	void *src_array;
	void *src_reserved;
	size_t src_pitch, src_height;
	size_t dst_x, dst_y, dst_z, dst_level;
	unsigned dst_memory;
	void *dst_host;
	bi__cu_pointer dst_device;
	void *dst_array;
	void *dst_reserved;
	size_t dst_pitch, dst_height;
	size_t width, height, depth;
};

/* CUmemPoolProps */
struct bi__cu_pool_properties {
	unsigned type, handle_types;
	struct {
		unsigned type;
		int id;
	} location;
	void *attributes;
	unsigned char zeros[64]; /* newer versions have members here; 0 is their default */
};

#endif
