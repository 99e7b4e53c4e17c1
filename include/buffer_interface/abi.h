/*
 * BufferInterface exchange structure, version 0.2
 *
 * A producer describes an n-dimensional array in host, OpenCL or CUDA memory. A consumer uses the array without a copy,
 * and releases it. The two share this header and no library. docs/specification.md has the rules. The header needs
 * <stddef.h> and <stdint.h> only, and compiles as C99, C11 and C++.
 */
#ifndef BUFFER_INTERFACE_ABI_H
#define BUFFER_INTERFACE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Casts and a null pointer that compile without warnings in C and in C++. BI__HANDLE casts a pointer or a uintptr_t. */
#ifdef __cplusplus
#define BI__CAST(type, value) static_cast<type>(value)
#define BI__HANDLE(type, value) reinterpret_cast<type>(value)
#else
#define BI__CAST(type, value) ((type)(value))
#define BI__HANDLE(type, value) ((type)(uintptr_t)(value))
#endif
#if defined(__cplusplus) && __cplusplus >= 201103L
#define BI__NULL nullptr
#else
#define BI__NULL NULL
#endif

#define BI_ABI_VERSION 0x00000002u      /* major << 16 | minor; while major is 0, no two minors are compatible */
#define BI_ABI_KNOWS(version)           /* 1 if a structure of that version can be read, or filled for its caller */ \
	((version) == BI_ABI_VERSION || (BI_ABI_VERSION > 0xffffu && (version) >> 16 == BI_ABI_VERSION >> 16))
#define BI_ABI_SIZE_MAX 4096u           /* the largest struct_size */

/*
 * There are two sets of bits: those of `flags`, and those of a caller's wishes (BI_ACQUIRE_). A consumer refuses
 * unknown bits 0..15 of `flags`. A producer refuses unknown bits 0..15 of the wishes. Both ignore unknown bits 16..31.
 * A consumer checks BI_READONLY before it writes.
 */
#define BI_READONLY        0x00000001u  /* the consumer must not write */
#define BI_C_CONTIGUOUS    0x00010000u  /* row-major without gaps, or no elements; set only if true */
#define BI_F_CONTIGUOUS    0x00020000u  /* column-major without gaps, or no elements; set only if true */
#define BI_COPIED          0x00040000u  /* the array is a copy made before; writes do not reach the original */
#define BI_ACQUIRE_READY   0x00000001u  /* demand: the memory is ready on return, and no stream is named */
#define BI_ACQUIRE_READING 0x00010000u  /* promise: the caller does not write */
#define BI_ACQUIRE_BORROW  0x00020000u  /* promise: released on this thread, while the caller still holds the object */

enum bi_exchange_device {               /* DLPack's numbers; its other numbers are not used */
	BI_EXCHANGE_DEVICE_CPU = 1,
	BI_EXCHANGE_DEVICE_CUDA = 2,
	BI_EXCHANGE_DEVICE_CUDA_HOST = 3, /* pinned host memory */
	BI_EXCHANGE_DEVICE_OPENCL = 4,
	BI_EXCHANGE_DEVICE_CUDA_MANAGED = 13
};

enum bi_handle_kind {
	BI_HANDLE_HOST = 1,             /* address that the CPU can access: devices 1 and 3 */
	BI_HANDLE_CUDA = 2,             /* CUdeviceptr: devices 2 and 13 */
	BI_HANDLE_CL_MEM = 3,           /* cl_mem of a buffer, no sub-buffer: device 4, as for the next two */
	BI_HANDLE_CL_SVM = 4,           /* pointer into memory of clSVMAlloc */
	BI_HANDLE_CL_USM = 5            /* pointer into unified shared memory */
};

enum bi_order_kind {
	BI_ORDER_NONE = 0,              /* the memory is ready; stream and event are 0 */
	BI_ORDER_CUDA = 1,              /* stream: CUstream, 1: legacy default stream of the context; event: CUevent */
	BI_ORDER_HIP = 2,               /* reserved */
	BI_ORDER_OPENCL = 3             /* stream: cl_command_queue; event: cl_event that was flushed */
};

struct bi_exchange {
	uint32_t version;               /* in: the caller's; out: the producer's */
	uint32_t struct_size;           /* bytes of the struct, all of which are written */
	void (*release)(struct bi_exchange *self); /* sets self->release to NULL */
	/*
	 * Hands the memory back: all work that is on the argument `stream` now, or that ends with the argument `event`,
	 * comes before all that the producer later enqueues on the memory or does to it, freeing included. Waits for no
	 * device. If the result is not 0, or the function is NULL, the consumer makes the member `stream` wait for its
	 * work, or waits itself. The consumer keeps the stream and the event alive during the call, and the event's
	 * queue until the event is complete.
	 */
	int (*done)(struct bi_exchange *self, uint32_t order_kind, uint64_t stream, uint64_t event);
	void *owner;                    /* for the producer alone */
	const char *descr;              /* JSON, with type code 3; otherwise NULL */
	const int64_t *shape;           /* NULL only if ndim is 0 */
	const int64_t *strides;         /* bytes; NULL only if ndim is 0 */
	uint64_t handle;                /* start of the memory; may be 0 if the elements reach no byte */
	uint64_t offset;                /* bytes from `handle` to element [0, ..., 0] */
	uint64_t size;                  /* bytes of the memory, from `handle`; not more than the allocation has */
	uint64_t context;               /* cl_context; CUcontext, 0: the primary context; host: 0 */
	uint64_t stream;                /* the memory is ready on it; valid until release; 0: none */
	/*
	 * The memory is ready after this event; 0: none. The event is valid until release. So is the queue of a cl_event,
	 * because a consumer may flush that queue.
	 */
	uint64_t event;
	uint32_t flags;
	int32_t device_type;            /* enum bi_exchange_device */
	int32_t device_id;              /* CUDA: ordinal; OpenCL: position in CL_CONTEXT_DEVICES; host: 0 */
	uint32_t item_size;             /* bytes of an element */
	uint8_t type_code, type_bits;   /* DLPack's code, and bits of one lane */
	uint16_t type_lanes;
	uint8_t ndim;                   /* 0..64 */
	uint8_t handle_kind;            /* enum bi_handle_kind */
	uint8_t order_kind;             /* enum bi_order_kind */
	uint8_t reserved;               /* 0 */
};

#define BI_EXCHANGE_INIT \
	{ BI_ABI_VERSION, sizeof(struct bi_exchange), BI__NULL, BI__NULL, BI__NULL, BI__NULL, BI__NULL, BI__NULL, \
	  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

#ifdef __cplusplus
}
#endif

#endif
