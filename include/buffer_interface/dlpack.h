/*
 * DLPack 1.3 as plain structs, and the translation of a view to and from them
 *
 * The structs are binary the same as those of dlpack.h (DLTensor, DLManagedTensor, DLManagedTensorVersioned), under
 * names of our own, so that the two headers can be included together and casts between them are safe.
 *
 * The words of buffer_interface.h about errors, ownership and threads hold. Messages end with the number of the rule
 * that refuses, "[D4]"; docs/conformance.md lists the rules.
 *
 * Ordering. DLPack has no member for a stream: producer and consumer agree on one beside the struct. An export enqueues
 * nothing; who hands it to a consumer that works on a stream calls bi_use_begin first. An import takes the memory as
 * ready on the context stream, or on `producer_stream` if that is given. docs/ordering.md has the rows.
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
	int64_t *strides; /* in elements; NULL: C order (in what we read), or ndim is 0 */
	uint64_t byte_offset;
};

struct bi_dl_managed {
	struct bi_dl_tensor tensor;
	void *manager_ctx;
	void (*deleter)(struct bi_dl_managed *self); /* once, on any thread; may be NULL in what we read */
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
 * Describes a view. Makes no driver call; *out borrows shape and strides from the view, which must outlive it. What a
 * view is asked for the first time may be allocated, and is kept in it (BI_ENOMEM). The handle counts as shown. CPU,
 * pinned, managed and CUDA memory: byte_offset is 0 and `data` the address of element [0, ..., 0] [D7]; OpenCL: `data`
 * is the cl_mem and byte_offset counts in it [D8]. Strides are in elements, those of extents below 2 are 1 [D4];
 * without dimensions shape and strides are NULL [D5]; without elements data is NULL and byte_offset 0 [D6].
 * BI_EDTYPE: a type that DLPack cannot name, swapped bytes, or elements of less than a byte, of which only a tensor
 * with flags can say that they are not packed [D9]; BI_EUNSUPPORTED: a stride that is no multiple of the item size
 * [D4], or OpenCL's shared virtual memory, which is no cl_mem [D8].
 */
BI_API int bi_dlpack_describe(const struct bi_view *view, struct bi_dl_tensor *out, struct bi_error *err);

/* Device of a view, as bi_dlpack_describe would say it; needs no type that DLPack can name. Never fails. */
BI_API struct bi_dl_device bi_dlpack_device(const struct bi_view *view);

/*
 * A tensor of its own that holds a reference to the view; let go by its deleter, on any thread. `flags`: BI_DL_COPIED
 * if the caller made a copy for this export, else 0; BI_DL_READONLY is the view's, BI_DL_PADDED the type's. Errors as
 * bi_dlpack_describe, but elements of less than a byte are fine. Owned.
 */
BI_API int bi_dlpack_export(const struct bi_view *view, uint64_t flags, struct bi_dl_managed_versioned **out,
			    struct bi_error *err);
/* The same without version and flags. BI_EREADONLY: it could not say that the view is read-only [D3]. */
BI_API int bi_dlpack_export_unversioned(const struct bi_view *view, struct bi_dl_managed **out, struct bi_error *err);

/* The view that a tensor holds which this very library exported, borrowed; NULL for any other tensor. */
BI_API struct bi_view *bi_dlpack_view(const struct bi_dl_managed_versioned *tensor);
BI_API struct bi_view *bi_dlpack_view_unversioned(const struct bi_dl_managed *tensor);

enum bi_dlpack_import_flag {
	BI_DLPACK_UNORDERED = 1, /* wrapped with BI_WRAP_UNORDERED: ordering is the caller's */
	BI_DLPACK_UNCHECKED = 2, /* the pointer is believed, no driver is asked */
	BI_DLPACK_WRITABLE = 4, /* a tensor without version, which cannot say read-only, counts as writable */
	BI_DLPACK_TRUSTED = 8 /* a cl_mem is taken, although there is no telling whether the number is one */
};

/* How an import is done. Start from BI_DLPACK_IMPORT_INIT. */
struct bi_dlpack_import_options {
	size_t struct_size;
	unsigned flags; /* enum bi_dlpack_import_flag */
	/* The stream on which the memory is ready: it becomes the home. NULL: the context stream, on which the producer
	   has ordered its work; it is pending, and retired when it is released before that is done. Host memory: not
	   used. */
	struct bi_stream *producer_stream;
};

#define BI_DLPACK_IMPORT_INIT { sizeof(struct bi_dlpack_import_options), 0, NULL }

/*
 * Makes a view of what a producer hands over. The tensor is taken: its deleter is called once when the memory is let
 * go, and never by an import that fails. Nothing that it points to is written. `context` must reach the memory: any for
 * CPU, the same device for CUDA [E9], any CUDA device for managed memory, the cl_context for OpenCL. Pinned memory is
 * host memory in any context. A tensor that this library exported comes back as what it was, a reference to the same
 * view. BI_EVERSION: the major version is not 1, nothing else was looked at [E2]; BI_EINVAL: ndim, shape, device or a
 * pointer do not fit [E7]; BI_EDTYPE; BI_EUNSUPPORTED: flag bits that are not known, elements of less than a byte
 * unless BI_DL_PADDED says that each takes one [E11], devices that no backend has, a cl_mem without BI_DLPACK_TRUSTED;
 * BI_EOVERFLOW, BI_EBOUNDS. `options` may be NULL. Owned.
 */
BI_API int bi_dlpack_import(struct bi_context *context, struct bi_dl_managed_versioned *tensor,
			    const struct bi_dlpack_import_options *options, struct bi_view **out, struct bi_error *err);
/*
 * The same for a tensor without version: read-only, unless BI_DLPACK_WRITABLE says otherwise [E8] or this library
 * exported it; elements of less than a byte count as packed.
 */
BI_API int bi_dlpack_import_unversioned(struct bi_context *context, struct bi_dl_managed *tensor,
					const struct bi_dlpack_import_options *options, struct bi_view **out,
					struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
