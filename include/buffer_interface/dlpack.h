/*
 * DLPack 1.3 as plain structs, and the translation of a view to and from them
 *
 * The structs have the same binary layout as those of dlpack.h (DLTensor, DLManagedTensor, DLManagedTensorVersioned),
 * but names of their own. So both headers can be included together, and casts between them are safe.
 *
 * The rules of buffer_interface.h about errors, NULL, ownership and threads hold. Messages end with the number of the
 * rule that refuses, such as "[D4]"; docs/conformance.md lists the rules.
 *
 * Ordering. DLPack has no member for a stream: producer and consumer agree on a stream by other means. An export
 * enqueues nothing, except for the wait of the first export (docs/ordering.md, 38.8). Before a tensor goes to a
 * consumer that works on a stream, the caller calls bi_use_begin with that stream. An imported memory counts as ready
 * on `producer_stream`, or on the context stream if producer_stream is NULL. docs/ordering.md has the rules.
 */
#ifndef BUFFER_INTERFACE_DLPACK_H
#define BUFFER_INTERFACE_DLPACK_H

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BI_DLPACK_MAJOR 1
#define BI_DLPACK_MINOR 3

/* Bits of bi_dl_managed_versioned.flags. */
#define BI_DL_READONLY 1
#define BI_DL_COPIED 2
#define BI_DL_PADDED 4 /* elements of less than a byte take a byte each */

struct bi_dl_device {
	int32_t device_type; /* enum bi_exchange_device of abi.h */
	int32_t device_id;
};

struct bi_dl_type {
	uint8_t code;
	uint8_t bits;
	uint16_t lanes;
};

struct bi_dl_tensor {
	void *data; /* address, or cl_mem */
	struct bi_dl_device device;
	int32_t ndim;
	struct bi_dl_type dtype;
	int64_t *shape; /* ndim entries, never written by a consumer; NULL if ndim is 0 */
	int64_t *strides; /* in elements; NULL: C order (imports only), or ndim is 0 */
	uint64_t byte_offset;
};

struct bi_dl_managed {
	struct bi_dl_tensor tensor;
	void *manager_ctx;
	void (*deleter)(struct bi_dl_managed *self); /* called once, on any thread; may be NULL in imports */
};

struct bi_dl_version {
	uint32_t major, minor;
};

struct bi_dl_managed_versioned {
	struct bi_dl_version version;
	void *manager_ctx;
	void (*deleter)(struct bi_dl_managed_versioned *self);
	uint64_t flags;
	struct bi_dl_tensor tensor;
};

/*
 * Convert from and to DLPack's code, bits and lanes. BI_EDTYPE: this library has no such type (packed types), or DLPack
 * has none (swapped types, BYTES, UNICODE, VOID).
 */
BI_API int bi_dtype_from_dlpack(unsigned code, unsigned bits, unsigned lanes, struct bi_dtype *out,
				struct bi_error *err);
BI_API int bi_dtype_to_dlpack(struct bi_dtype dtype, uint8_t *code, uint8_t *bits, uint16_t *lanes,
			      struct bi_error *err);

/*
 * Describes a view. *out borrows shape and strides from the view, which must outlive *out. The first call for a view
 * may allocate arrays that stay until the view is freed (BI_ENOMEM). The memory counts as exported. The first export of
 * a memory may call the driver and wait for a call of another thread (docs/ordering.md, 38.8). No later export calls
 * the driver.
 *
 * CPU, pinned, managed and CUDA memory: `data` is the address of element [0, ..., 0], and byte_offset is 0 [D7].
 * OpenCL: `data` is the cl_mem, and byte_offset counts from its start [D8]. Strides are in elements; axes of extent 0
 * or 1 have stride 1 [D4]. Without dimensions shape and strides are NULL [D5]. Without elements data is NULL and
 * byte_offset is 0 [D6].
 *
 * BI_EDTYPE: DLPack cannot name the type, the bytes are swapped, or an element has less than a byte [D9]: this struct
 * has no flag for elements that are not packed. BI_EUNSUPPORTED: a stride is no multiple of the item size [D4], or the
 * memory is OpenCL's shared virtual memory, which is no cl_mem [D8]. BI_EBUSY: the memory is mapped for writing.
 */
BI_API int bi_dlpack_describe(const struct bi_view *view, struct bi_dl_tensor *out, struct bi_error *err);

/* Returns the device of a view, as in bi_dlpack_describe, for any element type. Never fails. */
BI_API struct bi_dl_device bi_dlpack_device(const struct bi_view *view);

/*
 * Makes a tensor that holds a reference to the view. Its deleter, called on any thread, releases the reference.
 * `flags`: BI_DL_COPIED if the caller made a copy for this export, otherwise 0. The function adds BI_DL_READONLY and
 * BI_DL_PADDED where they apply. Errors as bi_dlpack_describe, but elements of less than a byte are accepted.
 * BI_EINVAL: `flags` has other bits. Owned.
 */
BI_API int bi_dlpack_export(const struct bi_view *view, uint64_t flags, struct bi_dl_managed_versioned **out,
			    struct bi_error *err);
/*
 * Makes a tensor like bi_dlpack_export, but without version and flags. Errors as bi_dlpack_describe. BI_EREADONLY: the
 * view is read-only, and `flags` lacks BI_DL_READONLY; such a tensor cannot say that it is read-only [D3]. The caller
 * sets BI_DL_READONLY for a view that is read-only only because it was imported from such a tensor [E8]. BI_DL_COPIED
 * has no effect. BI_EINVAL: `flags` has other bits. Owned.
 */
BI_API int bi_dlpack_export_unversioned(const struct bi_view *view, uint64_t flags, struct bi_dl_managed **out,
					struct bi_error *err);

/* Return the view of a tensor that this library exported, or NULL for any other tensor. Borrowed. */
BI_API struct bi_view *bi_dlpack_view(const struct bi_dl_managed_versioned *tensor);
BI_API struct bi_view *bi_dlpack_view_unversioned(const struct bi_dl_managed *tensor);

enum bi_dlpack_import_flag {
	BI_DLPACK_UNORDERED = 1, /* wrapped with BI_WRAP_UNORDERED: the caller orders all work */
	BI_DLPACK_UNCHECKED = 2, /* the pointer is not checked with the driver */
	BI_DLPACK_WRITABLE = 4, /* a tensor without version counts as writable instead of read-only */
	BI_DLPACK_TRUSTED = 8 /* a cl_mem is accepted, although it cannot be checked */
};

/* Options of an import. Start from BI_DLPACK_IMPORT_INIT. */
struct bi_dlpack_import_options {
	size_t struct_size;
	unsigned flags; /* enum bi_dlpack_import_flag */
	/*
	 * The stream on which the memory is ready. It becomes the home stream. NULL: the context stream becomes the
	 * home stream, and later work on it runs after the producer's work. The producer's work counts as pending: a
	 * memory that is released before this work is done is retired. Not used for host memory.
	 */
	struct bi_stream *producer_stream;
};

#define BI_DLPACK_IMPORT_INIT { sizeof(struct bi_dlpack_import_options), 0, BI__NULL }

/*
 * Makes a view of a producer's tensor. Takes ownership of the tensor on success: its deleter is called once, when the
 * memory is freed. An import that fails does not call the deleter. Never writes to the struct. If this library exported
 * the tensor, the result is another reference to the same view, and the deleter is called immediately. `options` may be
 * NULL. Owned.
 *
 * The producer keeps the memory and everything else that the tensor points to until the deleter has returned. The
 * library keeps nothing of the producer but the tensor. A binding may have to keep an object that the tensor depends
 * on. It then passes a tensor of its own. The deleter of that tensor calls the producer's deleter, and then releases the
 * object.
 *
 * `context` must reach the memory: any context for CPU and pinned memory, the same device for CUDA memory [E9], any
 * CUDA device for managed memory, the same cl_context for OpenCL memory.
 *
 * BI_EVERSION: the major version is not 1; nothing else was read [E2]. BI_EINVAL: ndim, shape, device or a pointer do
 * not fit [E7]. BI_EUNSUPPORTED: unknown flag bits, elements of less than a byte without BI_DL_PADDED [E11], a device
 * that no backend has, or a cl_mem without BI_DLPACK_TRUSTED. BI_EDTYPE: the type is not known. BI_EOVERFLOW: a size
 * does not fit. BI_EBOUNDS: a byte lies outside of the allocation.
 */
BI_API int bi_dlpack_import(struct bi_context *context, struct bi_dl_managed_versioned *tensor,
			    const struct bi_dlpack_import_options *options, struct bi_view **out, struct bi_error *err);
/*
 * Imports like bi_dlpack_import a tensor that has no version and no flags. The view is read-only [E8], unless `options`
 * has BI_DLPACK_WRITABLE or this library exported the tensor. Elements of less than a byte count as packed. Takes
 * ownership of the tensor on success. Owned.
 */
BI_API int bi_dlpack_import_unversioned(struct bi_context *context, struct bi_dl_managed *tensor,
					const struct bi_dlpack_import_options *options, struct bi_view **out,
					struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
