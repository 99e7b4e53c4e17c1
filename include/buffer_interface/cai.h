/*
 * CUDA Array Interface (CAI), versions 0 to 3, as a plain struct
 *
 * Python libraries hand each other arrays in CUDA memory as a dictionary, `__cuda_array_interface__`. Here each key is
 * a member, so that a binding of any language only moves values between its own objects and this struct; what they
 * mean, and who waits for whom, is decided by the two functions below. A key that a producer left out and a key whose
 * value is None are told apart where it matters.
 *
 * The words of buffer_interface.h about errors, ownership and threads hold. Messages end with the number of the rule
 * that refuses, "[C11]"; docs/conformance.md lists the rules.
 */
#ifndef BUFFER_INTERFACE_CAI_H
#define BUFFER_INTERFACE_CAI_H

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BI_CAI_VERSION 3 /* the newest */

/* Room for a typestr with its final NUL; longer ones do not exist. */
#define BI_CAI_TYPESTR 32

enum bi_cai_stream {
	BI_CAI_STREAM_ABSENT = 0, /* no key: all versions below 3 */
	BI_CAI_STREAM_NONE = 1, /* None: the consumer need not wait */
	BI_CAI_STREAM_GIVEN = 2 /* `stream` is 1 (legacy default), 2 (per-thread default) or a CUstream */
};

struct bi_cai {
	int32_t version; /* 0..3; a dictionary without the key is version 0 */
	int32_t ndim;
	const int64_t *shape; /* ndim entries; may be NULL if ndim is 0 */
	const int64_t *strides; /* bytes, ndim entries; NULL: None or no key, C-contiguous */
	char typestr[BI_CAI_TYPESTR]; /* "<f4", with a final NUL */
	const char *descr; /* text of the list, "[('x', '<f4'), ('n', '<i2', (3,))]"; NULL: no key */
	size_t descr_length; /* without a NUL, which need not be there */
	uint64_t data; /* address of element [0, ..., 0]; 0 if there is no element */
	int32_t readonly;
	int32_t stream_kind; /* enum bi_cai_stream */
	uint64_t stream;
	const struct bi_cai *mask; /* NULL: None or no key */
};

enum bi_cai_flag {
	/*
	 * Opt-out of synchronisation for this call. Import: the producer's stream is ignored and the memory is wrapped
	 * with BI_WRAP_UNORDERED. Export: no stream is named, and versions below 3 do not wait.
	 */
	BI_CAI_UNORDERED = 1,
	BI_CAI_SYNCHRONIZE = 2, /* export: host wait first, then no stream is named */
	BI_CAI_UNCHECKED = 4, /* import: the pointer is believed, no driver is asked */
	/* Export: BI_EBUSY where the calling thread would have to wait, for a device, a driver or another thread. */
	BI_CAI_NONBLOCKING = 8
};

/*
 * Describes a view of CUDA memory. Does not allocate and makes no driver call where nothing is pending from events of a
 * producer's first use; *out borrows shape, strides and descr from the view, which must outlive it. The handle counts
 * as shown.
 *
 * In version 3 `stream` is given if work is pending on the memory (its home; never 0), else None. Below there is no
 * stream, and pending work is a host wait.
 *
 * out->mask is NULL; a caller who keeps a mask exports it into a struct of its own and links it, from version 1 on. The
 * process opts out of synchronisation with the environment variable BI_CAI_SYNC=0, read when a context is opened.
 *
 * BI_EUNSUPPORTED: memory that no CUDA device reaches [P14]; BI_EDTYPE: a type that the interface cannot name [P12] or
 * whose bytes are swapped [P11]; BI_EVERSION: version not in 0..3; BI_EBUSY: BI_CAI_NONBLOCKING, try again without it.
 */
BI_API int bi_cai_export(const struct bi_view *view, int version, unsigned flags, struct bi_cai *out,
			 struct bi_error *err);

/* How an import is done. Start from BI_CAI_IMPORT_INIT. */
struct bi_cai_import_options {
	size_t struct_size;
	unsigned flags; /* enum bi_cai_flag */
	/* The stream on which the producer works, whatever it says (None included); NULL: what it
	   says. */
	struct bi_stream *producer_stream;
	/* Receives the mask as a view of its own, or NULL if there is none. If this is NULL, masked arrays are refused.
	 */
	struct bi_view **mask;
	/* Taken; called once when the array and its mask are let go: keeps the producing object alive until then. */
	bi_release_fn release;
	void *release_data;
};

#define BI_CAI_IMPORT_INIT \
	{ \
		sizeof(struct bi_cai_import_options), 0, NULL, NULL, NULL, NULL \
	}

/*
 * Makes a view of what a producer describes; nothing in *cai is kept. `context` must be that of the device on which the
 * memory lies (bi_cai_device). The producer's stream becomes the home of the memory; work on it is never waited for by
 * the calling thread. A `stream` is honoured in any version. Stream 2 names the calling thread's own.
 * Everything is checked before anything is enqueued, and every byte that the array can reach against the allocation
 * that stands behind the pointer; an array without elements makes no query and may have any pointer. `options` may be
 * NULL. Owned; on failure nothing is taken. BI_EVERSION, BI_EDTYPE, BI_EOVERFLOW, BI_EBOUNDS, BI_EUNSUPPORTED (masked),
 * BI_EINVAL.
 */
BI_API int bi_cai_import(struct bi_context *context, const struct bi_cai *cai,
			 const struct bi_cai_import_options *options, struct bi_view **out, struct bi_error *err);

/* Ordinal of the device that the memory belongs to; -1 for an array without elements. Opens no context. */
BI_API int bi_cai_device(const struct bi_cai *cai, int *ordinal, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
