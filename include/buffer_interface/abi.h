/*
 * BufferInterface exchange structure, version 0.1
 *
 * Two programs that share no library exchange an n-dimensional array in host, OpenCL or CUDA memory by one plain
 * struct. A producer fills it. A consumer reads it and calls `release` once. Nothing has to be linked. The header needs
 * <stddef.h> and <stdint.h> only, and compiles as C99, C11 and C++.
 *
 * Until the specification is published the version is 0.x, and the struct may change with every x. A consumer accepts
 * a struct only if it knows the major version. While the major version is 0, it must know the minor version as well.
 *
 * Ownership
 *   - The struct itself belongs to the code that declares it. All that it points to belongs to the producer and lives
 *     until `release` is called. A consumer never writes the strings and arrays.
 *   - The consumer calls `release(self)` exactly once, on any thread, without a lock, when its work on the memory is
 *     finished or ordered into the struct's stream. The producer's function sets `self->release` to NULL, so a struct
 *     whose `release` is NULL is already released. `release` and `owner` have the same place in all versions: a
 *     consumer can release a struct of a version that it does not know.
 *   - A struct is moved by copying its bytes and setting the source's `release` to NULL.
 *
 * Ordering
 *   The memory is ready for work that is enqueued on `stream` after the struct was received. If stream_kind is
 *   BI_STREAM_KIND_NONE and event is 0, the memory is ready immediately. If `event` is not 0, waiting for the event is
 *   enough, and the stream is not needed. A consumer that works on another stream makes later work on `stream` wait for
 *   its own work.
 *
 * Threads: the struct is read-only data until it is released. Several threads may read it at the same time.
 */
#ifndef BUFFER_INTERFACE_ABI_H
#define BUFFER_INTERFACE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BI_ABI_MAJOR 0
#define BI_ABI_MINOR 1
#define BI_ABI_VERSION ((uint32_t)((BI_ABI_MAJOR << 16) | BI_ABI_MINOR))

/* Kinds of memory. The numbers are DLPack's. */
enum bi_exchange_device {
	BI_EXCHANGE_DEVICE_CPU = 1,
	BI_EXCHANGE_DEVICE_CUDA = 2,
	BI_EXCHANGE_DEVICE_CUDA_HOST = 3,    /* pinned host memory */
	BI_EXCHANGE_DEVICE_OPENCL = 4,
	BI_EXCHANGE_DEVICE_CUDA_MANAGED = 13
};

/* Types of `handle`. */
enum bi_handle_kind {
	BI_HANDLE_HOST = 1,         /* address that the CPU can access */
	BI_HANDLE_CUDA = 2,         /* CUdeviceptr */
	BI_HANDLE_CL_MEM = 3,       /* cl_mem; a sub-buffer is named by its root, and `offset` includes its origin */
	BI_HANDLE_CL_SVM = 4,       /* pointer from clSVMAlloc */
	BI_HANDLE_CL_USM = 5        /* unified shared memory pointer */
};

/* Types of `stream`. The number 0 is never a stream. */
enum bi_stream_kind {
	BI_STREAM_KIND_NONE = 0,             /* nothing is pending on the memory */
	BI_STREAM_KIND_CUDA_LEGACY = 1,      /* CUDA legacy default stream; `stream` is 1 */
	BI_STREAM_KIND_CUDA_PER_THREAD = 2,  /* CUDA per-thread default stream; `stream` is 2 */
	BI_STREAM_KIND_CUDA = 3,             /* CUstream */
	BI_STREAM_KIND_CL_QUEUE = 4          /* cl_command_queue */
};

/* Bits of `flags`. */
enum bi_exchange_flag {
	BI_EXCHANGE_READONLY = 1,       /* the consumer must not write */
	BI_EXCHANGE_C_CONTIGUOUS = 2,   /* row-major without gaps, or empty; strides of extents of 1 do not matter */
	BI_EXCHANGE_F_CONTIGUOUS = 4,   /* column-major without gaps, or empty */
	BI_EXCHANGE_MASKED = 8,         /* `mask` is not NULL */
	BI_EXCHANGE_COPIED = 16         /* the memory is a copy made for this exchange */
};

struct bi_exchange {
	/* Release. These members have the same place in all versions. */
	uint32_t version;               /* BI_ABI_VERSION of the producer */
	uint32_t struct_size;           /* sizeof(struct bi_exchange) of the producer */
	void (*release)(struct bi_exchange *self);
	void *owner;                    /* private to the producer */

	/*
	 * Place. If the handle is an address, element [0, ..., 0] is at `handle` + `offset`. If it is a cl_mem, the
	 * element is `offset` bytes behind the start of the buffer. An array without elements may have handle 0.
	 * device_type and handle_kind agree: HOST with CPU or CUDA_HOST, CL_… with OPENCL, CUDA with CUDA or
	 * CUDA_MANAGED.
	 */
	int32_t device_type;            /* enum bi_exchange_device */
	int32_t device_id;              /* CUDA: ordinal. Others: 0 */
	uint32_t handle_kind;           /* enum bi_handle_kind */
	uint32_t flags;                 /* enum bi_exchange_flag, unknown bits are 0 */
	uint64_t handle;
	uint64_t offset;                /* bytes; 0 for BI_HANDLE_CUDA */
	uint64_t nbytes;                /* size of the allocation behind `handle`, 0: unknown */
	uint64_t context;               /* cl_context or CUcontext, 0: none */

	/*
	 * Type of one element: code, bits and lanes of DLPack, if DLPack has the type. DLPack has no types with swapped
	 * bytes, no texts and no structured types. These types have code 3, 8 bits and lanes = item size (0 if that is
	 * above 65535), and type_kind, byte_order and item_size describe them. With any other code, type_kind is the
	 * kind of that type or 0, and byte_order is '|' for lanes of one byte, otherwise the order of this machine.
	 */
	uint8_t type_code;              /* DLPack type code */
	uint8_t type_bits;              /* DLPack bits of one lane */
	uint16_t type_lanes;            /* DLPack lanes; 1 for scalars */
	uint32_t item_size;             /* bytes from one element of a dense array to the next */
	char type_kind;                 /* array interface kind: b i u f c S U V, or 0 if it has none for this type */
	char byte_order;                /* '<', '>' or '|' */
	uint8_t reserved_type[6];       /* 0 */
	const char *descr;              /* array interface descr of a structured type (Python list syntax), else NULL */

	/* Layout. The three arrays have `ndim` entries; they may be NULL when ndim is 0. */
	int64_t ndim;
	const int64_t *shape;
	const int64_t *strides;         /* bytes, may be negative or 0 */
	const int64_t *element_strides; /* strides / item_size, and 1 for extents below 2, as in DLPack 1.3; NULL if
					   a stride is no multiple */

	/* Ordering. */
	uint32_t stream_kind;           /* enum bi_stream_kind */
	uint32_t reserved_stream;       /* 0 */
	uint64_t stream;
	uint64_t event;                 /* cl_event (flushed) or CUevent that lives until release, 0: none */

	struct bi_exchange *mask;       /* the mask array, or NULL */
	uint64_t reserved[6];           /* 0 */
};

#ifdef __cplusplus
}
#endif

#endif
