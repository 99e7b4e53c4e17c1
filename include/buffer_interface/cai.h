/*
 * CUDA Array Interface (CAI), versions 0 to 3, as a plain struct
 *
 * Python libraries exchange arrays in CUDA memory as a dictionary, `__cuda_array_interface__`. Here each key is a
 * member, so a binding of any language only converts its own objects to this struct and back. bi_cai_export and
 * bi_cai_import interpret the members, and order the work on the device as the interface requires. For `stream` the
 * struct tells an absent key from the value None, because the interface gives them different meanings.
 *
 * The rules of buffer_interface.h about errors, NULL, ownership and threads hold. Messages end with the number of the
 * rule that refuses, such as "[C11]"; docs/conformance.md lists the rules.
 */
#ifndef BUFFER_INTERFACE_CAI_H
#define BUFFER_INTERFACE_CAI_H

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BI_CAI_VERSION 3 /* the newest */

/* Size of the longest typestr with its final NUL. */
#define BI_CAI_TYPESTR 32

enum bi_cai_stream {
	BI_CAI_STREAM_ABSENT = 0, /* no key, as in all versions below 3 */
	BI_CAI_STREAM_NONE = 1, /* None: the consumer need not wait */
	BI_CAI_STREAM_GIVEN = 2 /* `stream` is 1 (legacy default), 2 (per-thread default) or a CUstream */
};

struct bi_cai {
	int32_t version; /* 0..3; a dictionary without the key is version 0 */
	int32_t ndim;
	const int64_t *shape; /* ndim entries; may be NULL if ndim is 0 */
	const int64_t *strides; /* bytes, ndim entries; NULL: the key is None or absent, the array is C-contiguous */
	char typestr[BI_CAI_TYPESTR]; /* "<f4", with a final NUL */
	const char *descr; /* text of the list, "[('x', '<f4'), ('n', '<i2', (3,))]"; NULL: no key */
	size_t descr_length; /* characters in descr, which may lack a final NUL */
	uint64_t data; /* address of element [0, ..., 0]; 0 if there is no element */
	int32_t readonly; /* 0 or 1 */
	int32_t stream_kind; /* enum bi_cai_stream */
	uint64_t stream;
	const struct bi_cai *mask; /* NULL: the key is None or absent */
};

enum bi_cai_flag {
	/*
	 * Opts out of synchronisation for this call. Import: the producer's stream is ignored, and the memory is
	 * wrapped with BI_WRAP_UNORDERED. Export: no stream is named, and versions below 3 do not block.
	 */
	BI_CAI_UNORDERED = 1,
	BI_CAI_SYNCHRONIZE = 2, /* export: block until the work is done, and name no stream */
	BI_CAI_UNCHECKED = 4, /* import: the pointer is not checked with the driver */
	/* Export: return BI_EBUSY instead of waiting for a device, a driver or another thread. */
	BI_CAI_NONBLOCKING = 8,
	/*
	 * Import: producer_stream is the stream that the struct names, passed for example to keep it alive. Only with
	 * this flag does BI_CAI_SYNC=0 opt out of producer_stream.
	 */
	BI_CAI_SAME_STREAM = 16
};

/*
 * Describes a view of CUDA memory. *out borrows shape, strides and descr from the view, which must outlive *out.
 * Allocates nothing. If there are elements, the memory counts as exported.
 *
 * Calls the driver only in these cases: the call waits for pending work, events of a producer are still pending, the
 * driver has refused an earlier wait (docs/ordering.md, 19.2), or this is the first export of the memory (38.8). The
 * first export may also wait for a call of another thread.
 *
 * Version 3: if work is pending on the memory, `stream` names the home stream and is never 0. Otherwise stream_kind is
 * BI_CAI_STREAM_NONE. Older versions have no stream: the calling thread is blocked until pending work is complete
 * (`export`).
 *
 * out->mask is NULL. From version 1 on, a caller that has a mask exports it into a second struct and sets out->mask to
 * that struct. The environment variable BI_CAI_SYNC=0, read when a context is opened, opts the process out of
 * synchronisation.
 *
 * BI_EUNSUPPORTED: no CUDA device reaches the memory [P14]. BI_EDTYPE: the interface cannot name the type [P12], or the
 * bytes are swapped [P11]. BI_EVERSION: the version is not in 0..3. BI_EBUSY: the memory is mapped for writing;
 * or, with BI_CAI_NONBLOCKING, the call would have to wait.
 */
BI_API int bi_cai_export(const struct bi_view *view, int version, unsigned flags, struct bi_cai *out,
			 struct bi_error *err);

/* Options of an import. Start from BI_CAI_IMPORT_INIT. */
struct bi_cai_import_options {
	size_t struct_size;
	unsigned flags; /* enum bi_cai_flag */
	/* The stream on which the producer works. It replaces the stream in the struct. NULL: the one in the struct. */
	struct bi_stream *producer_stream;
	/* Receives a view of the mask, or NULL if there is no mask. If `mask` is NULL, masked arrays are refused. */
	struct bi_view **mask;
	/*
	 * Called once when the array and its mask are freed; or NULL. release_data keeps the producing object alive,
	 * and its ownership is transferred.
	 */
	bi_release_fn release;
	void *release_data;
};

#define BI_CAI_IMPORT_INIT \
	{ \
		sizeof(struct bi_cai_import_options), 0, BI__NULL, BI__NULL, BI__NULL, BI__NULL \
	}

/*
 * Makes a view of an array that a producer describes. Keeps no pointer to *cai. `context` is a context on the device of
 * the memory, which bi_cai_device finds. `options` may be NULL. On failure no ownership is transferred. Owned.
 *
 * The producer's stream becomes the home stream of the memory. The call does not wait for work on this stream. The
 * member `stream` is used in every version. Stream 2 is the per-thread default stream of the calling thread; then the
 * context stream waits for it, and is the home stream.
 *
 * All arguments are checked before anything is enqueued, and each byte that the array can reach is checked against the
 * allocation behind the pointer. An array without elements needs no driver, and may have any pointer. BI_EVERSION,
 * BI_EDTYPE, BI_EOVERFLOW, BI_EBOUNDS, BI_EINVAL: a member of *cai is not valid. BI_EUNSUPPORTED: the array is masked
 * and options->mask is NULL, the mask is masked itself, or a typestr names bit fields.
 */
BI_API int bi_cai_import(struct bi_context *context, const struct bi_cai *cai,
			 const struct bi_cai_import_options *options, struct bi_view **out, struct bi_error *err);

/*
 * Writes the ordinal of the device of the memory, or -1 for an array without elements. Opens no context. BI_ENODEVICE:
 * there is no driver. Errors of *cai as bi_cai_import. After a failure *ordinal is -1.
 */
BI_API int bi_cai_device(const struct bi_cai *cai, int *ordinal, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
