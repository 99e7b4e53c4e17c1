/*
 * BufferInterface: arrays in host, OpenCL and CUDA memory, chosen at run time
 *
 * The library describes, exchanges, orders and moves n-dimensional arrays. It does not compute. No vendor library is
 * linked: a driver is opened when the first function that needs it is called.
 *
 *     struct bi_error err;
 *     struct bi_context *ctx;
 *     struct bi_options options = BI_OPTIONS_INIT;
 *     options.device = "auto";
 *     if (bi_context_open(&options, &ctx, &err) != BI_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *
 * Errors
 *   A function that can fail returns BI_OK (0) or a negative enum bi_status. Its last parameter points to a struct
 *   bi_error that the caller owns, or is NULL; on failure it receives the status, the vendor's own code and one
 *   sentence. On success it is left alone. Besides what its comment lists, every function may return BI_EINVAL (an
 *   argument is not valid; the message names it), BI_ENOMEM (host or device is out of memory), BI_EDRIVER (a driver
 *   call failed; `vendor` is its code) and BI_EFORK (a device object is used in a forked child), and every function
 *   that uses, orders or waits for work on a memory BI_EPRODUCER (work of its producer has failed) and BI_ECAPTURE (a
 *   stream involved is being captured into a CUDA graph that cannot take this; docs/ordering.md, row 27).
 *
 * Ownership words
 *   owned     a `**out` parameter receives a new reference that the caller releases; it is NULL after a failure
 *   borrowed  a returned pointer stays valid as long as the object that it was asked of
 *   taken     the function takes over what it is given, on success only; after a failure the caller still has it
 *   retained  the function takes a reference of its own; the caller keeps its own
 *   Release functions accept NULL.
 *
 * Threads
 *   Every object may be used, retained and released by any number of threads at once, unless its comment says
 *   otherwise; counts are atomic. Two threads that write the same bytes race about the bytes, not about the objects.
 *   Release callbacks run on whatever thread lets go last, exactly once, and no lock is held while they run.
 *
 * Asynchrony
 *   Functions that take a `stream` return when the work is enqueued, or done. docs/ordering.md is the table of who
 *   waits for whom; functions that make the calling thread wait say "host wait" here.
 *
 * Words of ordering (docs/ordering.md has the rules)
 *   home      the stream on which a device memory is ready: the context stream, or the one that its producer named
 *   pending   work was enqueued on a memory and its end has not been seen
 *   retired   a released memory that is kept until its pending work is done
 *   shown     a memory whose handle the caller, or an exchange, has seen; it never returns to the pool, and all work
 *             on it goes to the driver
 *
 * Units: sizes, offsets and strides are bytes; shapes are elements.
 */
#ifndef BUFFER_INTERFACE_H
#define BUFFER_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#include "buffer_interface/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BI_VERSION_MAJOR 0
#define BI_VERSION_MINOR 1
#define BI_VERSION_PATCH 0
#define BI_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define BI_API __attribute__((visibility("default")))
#else
#define BI_API
#endif

/* Version of the library that is running, "major.minor.patch". Borrowed for ever. */
BI_API const char *bi_version(void);

/* Most dimensions that a layout can have. */
#define BI_MAX_NDIM 64

/* Status and errors */

#define BI_STATUS_MAP(X) \
	X(OK, 0, "success") \
	X(EINVAL, -1, "an argument is not valid") \
	X(EOVERFLOW, -2, "a size or an offset does not fit into its type") \
	X(EBOUNDS, -3, "an index or a byte range lies outside") \
	X(EDTYPE, -4, "the element type does not fit or is not known") \
	X(EREADONLY, -5, "the memory is read-only") \
	X(EOVERLAP, -6, "two elements of the destination share bytes") \
	X(EBUSY, -7, "the memory is mapped") \
	X(EUNSUPPORTED, -8, "the device or this build cannot do it") \
	X(ENODEVICE, -9, "no such device") \
	X(ENOMEM, -10, "out of memory on the host or the device") \
	X(EDRIVER, -11, "a driver call failed") \
	X(EPRODUCER, -12, "work that the producer had enqueued has failed") \
	X(EFORK, -13, "a device object is used in a forked child") \
	X(EVERSION, -14, "a structure has an unknown version") \
	X(ECAPTURE, -15, "a stream is being captured into a graph that cannot take this")

enum bi_status {
#define BI_STATUS_ENUM(name, value, text) BI_##name = (value),
	BI_STATUS_MAP(BI_STATUS_ENUM)
#undef BI_STATUS_ENUM
	BI_STATUS_END = 1               /* not a status */
};

/* What went wrong. Owned by the caller, written on failure only. */
struct bi_error {
	int status;                     /* enum bi_status */
	int vendor;                     /* the driver's own code, 0 if no driver was involved */
	char message[256];              /* one sentence that names the argument, its value and the limit; no newline */
};

/* "BI_EINVAL" for -1; "BI_E?" for a number that is no status. Borrowed for ever. */
BI_API const char *bi_status_name(int status);

/* The one-line meaning of a status. Borrowed for ever. */
BI_API const char *bi_status_text(int status);

/* Element types */

/*
 * Scalar types: name, text, array interface kind (0: it has none), DLPack code, bits of one lane.
 * The float8, float6 and float4 types take one byte per element. BYTES, UNICODE and VOID have the size that they are
 * given and no DLPack code; a structured type is VOID with a descr text.
 */
#define BI_TYPE_MAP(X) \
	X(BOOL, "bool", 'b', 6, 8) \
	X(INT8, "int8", 'i', 0, 8) \
	X(INT16, "int16", 'i', 0, 16) \
	X(INT32, "int32", 'i', 0, 32) \
	X(INT64, "int64", 'i', 0, 64) \
	X(UINT8, "uint8", 'u', 1, 8) \
	X(UINT16, "uint16", 'u', 1, 16) \
	X(UINT32, "uint32", 'u', 1, 32) \
	X(UINT64, "uint64", 'u', 1, 64) \
	X(FLOAT16, "float16", 'f', 2, 16) \
	X(FLOAT32, "float32", 'f', 2, 32) \
	X(FLOAT64, "float64", 'f', 2, 64) \
	X(BFLOAT16, "bfloat16", 0, 4, 16) \
	X(COMPLEX64, "complex64", 'c', 5, 64) \
	X(COMPLEX128, "complex128", 'c', 5, 128) \
	X(FLOAT8_E3M4, "float8_e3m4", 0, 7, 8) \
	X(FLOAT8_E4M3, "float8_e4m3", 0, 8, 8) \
	X(FLOAT8_E4M3B11FNUZ, "float8_e4m3b11fnuz", 0, 9, 8) \
	X(FLOAT8_E4M3FN, "float8_e4m3fn", 0, 10, 8) \
	X(FLOAT8_E4M3FNUZ, "float8_e4m3fnuz", 0, 11, 8) \
	X(FLOAT8_E5M2, "float8_e5m2", 0, 12, 8) \
	X(FLOAT8_E5M2FNUZ, "float8_e5m2fnuz", 0, 13, 8) \
	X(FLOAT8_E8M0FNU, "float8_e8m0fnu", 0, 14, 8) \
	X(FLOAT6_E2M3FN, "float6_e2m3fn", 0, 15, 6) \
	X(FLOAT6_E3M2FN, "float6_e3m2fn", 0, 16, 6) \
	X(FLOAT4_E2M1FN, "float4_e2m1fn", 0, 17, 4) \
	X(BYTES, "bytes", 'S', -1, 8) \
	X(UNICODE, "unicode", 'U', -1, 32) \
	X(VOID, "void", 'V', -1, 8)

enum bi_type {
#define BI_TYPE_ENUM(name, text, kind, code, bits) BI_##name,
	BI_TYPE_MAP(BI_TYPE_ENUM)
#undef BI_TYPE_ENUM
	BI_TYPE_COUNT
};

/* Type of one element: a value of 8 bytes, compared with bi_dtype_equal. */
struct bi_dtype {
	uint32_t item_size;             /* bytes of one element, all lanes; > 0 except for BYTES, UNICODE and VOID */
	uint16_t lanes;                 /* vector lanes, 1 for scalars */
	uint8_t type;                   /* enum bi_type */
	uint8_t swapped;                /* 1: the bytes of each scalar are in the other order than this machine's */
};

/*
 * Makes a type of `lanes` lanes in native byte order. For BYTES, UNICODE and VOID, `item_size` is the size in bytes
 * (UNICODE: a multiple of 4) and lanes is 1; for the others item_size is 0, or must be the size that the type has.
 */
BI_API int bi_dtype_make(enum bi_type type, unsigned lanes, uint32_t item_size, struct bi_dtype *out,
			 struct bi_error *err);

/*
 * Reads a typestr ("<f4", "|b1", ">i8", "|V12", "=u2"; the order character may be left out and then means native) or a
 * name ("float32", "bfloat16", "float32x4" for four lanes, "void12", "bytes8"). Returns BI_EDTYPE for text that is
 * neither; objects, bit fields, dates and sizes that no type has are refused by name.
 */
BI_API int bi_dtype_parse(const char *text, struct bi_dtype *out, struct bi_error *err);

/* Room for any text that the two functions below write, the final NUL included. */
#define BI_DTYPE_TEXT 32

/*
 * Writes the typestr. Returns BI_EDTYPE for types that the array interface cannot name (bfloat16, float8, lanes > 1).
 */
BI_API int bi_dtype_typestr(struct bi_dtype dtype, char text[BI_DTYPE_TEXT], struct bi_error *err);

/* Writes a name that bi_dtype_parse reads back; a typestr where bytes are swapped. Never fails for a valid type. */
BI_API void bi_dtype_name(struct bi_dtype dtype, char text[BI_DTYPE_TEXT]);

/* From and to DLPack's triple. Returns BI_EDTYPE where the other side has no such type (void, swapped, packed). */
BI_API int bi_dtype_from_dlpack(unsigned code, unsigned bits, unsigned lanes, struct bi_dtype *out,
				struct bi_error *err);
BI_API int bi_dtype_to_dlpack(struct bi_dtype dtype, uint8_t *code, uint8_t *bits, uint16_t *lanes,
			      struct bi_error *err);

/* 1 if both are the same type. */
BI_API int bi_dtype_equal(struct bi_dtype a, struct bi_dtype b);

/* Kind character of the array interface, or 0. */
BI_API char bi_dtype_kind(struct bi_dtype dtype);

/* Layouts */

/*
 * How an array lies in a memory: pure arithmetic, no device, no allocation. Fill it with bi_layout_init. Functions that
 * change a layout leave it untouched when they fail; those that meet an item size or a field that does not fit return
 * BI_EDTYPE. Arrays without elements keep their offset, whatever is done to them. The returns of size and nbytes never
 * overflow, because bi_layout_init and every change check that the element count, the dense size and every reachable
 * offset fit into int64_t.
 */
struct bi_layout {
	struct bi_dtype dtype;
	int32_t ndim;                   /* 0..BI_MAX_NDIM */
	uint32_t descr_length;
	const char *descr;              /* of a structured type, borrowed, not always followed by a NUL; or NULL */
	int64_t offset;                 /* bytes from the start of the memory to element [0, ..., 0] */
	int64_t shape[BI_MAX_NDIM];     /* each >= 0 */
	int64_t strides[BI_MAX_NDIM];   /* bytes, any sign, 0 allowed */
};

/*
 * `strides` may be NULL: then the layout is dense in C order. `shape` may be NULL if ndim is 0. There is no descr.
 * BI_EDTYPE if the members of the type do not fit each other, BI_EOVERFLOW if a size or an offset does not fit.
 */
BI_API int bi_layout_init(struct bi_layout *layout, struct bi_dtype dtype, int ndim, const int64_t *shape,
			  const int64_t *strides, int64_t offset, struct bi_error *err);

/* Elements, and bytes of a dense array of these elements. */
BI_API int64_t bi_layout_size(const struct bi_layout *layout);
BI_API int64_t bi_layout_nbytes(const struct bi_layout *layout);

/* 1 if the elements follow each other without gaps, row by row ('C') or column by column ('F'). */
BI_API int bi_layout_is_contiguous(const struct bi_layout *layout, char order);

/* The bytes that elements can reach: [*first, *end) from the start of the memory. Empty arrays: both are the offset. */
BI_API void bi_layout_extent(const struct bi_layout *layout, int64_t *first, int64_t *end);

/* 1 if both describe the same elements: type, shape, offset, and strides where an extent is above 1. */
BI_API int bi_layout_equal(const struct bi_layout *a, const struct bi_layout *b);

/*
 * 1 if an element of one shares a byte with an element of the other, both counted from the same start. Exact, by a
 * search whose work is bounded; beyond the bound (no layout made by slicing a dense array reaches it) the answer is 1.
 */
BI_API int bi_layout_overlap(const struct bi_layout *a, const struct bi_layout *b);

/* 1 if two different indices of the layout share a byte. Bounded like bi_layout_overlap. */
BI_API int bi_layout_self_overlap(const struct bi_layout *layout);

/* Writes the offset of one element. `index` has ndim entries; negative ones count from the end. BI_EBOUNDS outside. */
BI_API int bi_layout_element(const struct bi_layout *layout, const int64_t *index, int64_t *offset,
			     struct bi_error *err);

/* One item of NumPy's basic indexing. */
enum bi_index_kind { BI_INDEX_INTEGER, BI_INDEX_SLICE, BI_INDEX_NEWAXIS, BI_INDEX_ELLIPSIS };

/* In a slice, start or stop that is left out. INT64_MIN can therefore be no limit; INT64_MIN + 1 means the same. */
#define BI_OMITTED INT64_MIN

struct bi_index {
	enum bi_index_kind kind;
	int64_t start;                  /* INTEGER: the index. SLICE: start or BI_OMITTED */
	int64_t stop;                   /* SLICE: stop or BI_OMITTED */
	int64_t step;                   /* SLICE: not 0 */
};

/*
 * layout[items...] as NumPy does it: slices are clipped, integers are not (BI_EBOUNDS), at most one ellipsis, missing
 * items at the end mean whole axes.
 */
BI_API int bi_layout_index(struct bi_layout *layout, const struct bi_index *items, int count, struct bi_error *err);

/* Axis i of the result is axis axes[i] of the layout; `axes` has ndim entries, negative ones count from the end; NULL
 * reverses all. Each axis must be there once. */
BI_API int bi_layout_permute(struct bi_layout *layout, const int *axes, struct bi_error *err);

/* Reverses one axis; negative axes count from the end. */
BI_API int bi_layout_flip(struct bi_layout *layout, int axis, struct bi_error *err);

/* C-order reshape without a copy; one extent may be -1. BI_EUNSUPPORTED if only a copy could do it. */
BI_API int bi_layout_reshape(struct bi_layout *layout, int ndim, const int64_t *shape, struct bi_error *err);

/* NumPy's broadcast_to: extents of 1 are repeated with stride 0, new axes come first. */
BI_API int bi_layout_broadcast(struct bi_layout *layout, int ndim, const int64_t *shape, struct bi_error *err);

/*
 * One field of a structured type by name; a field that is an array adds its axes at the end. BI_EDTYPE if the type
 * has no fields, BI_EINVAL if none has that name.
 */
BI_API int bi_layout_field(struct bi_layout *layout, const char *name, struct bi_error *err);

/*
 * The same bytes as another type, as ndarray.view: equal item sizes fit every layout, others need a last axis without
 * gaps whose bytes are a multiple of the new item size. `descr` (NULL or a text that outlives the layout) must add up
 * to the item size of a VOID type.
 */
BI_API int bi_layout_reinterpret(struct bi_layout *layout, struct bi_dtype dtype, const char *descr,
				 struct bi_error *err);

/*
 * Reads a descr text (a Python list of fields: "[('x', '<f4'), ('n', '<i2', (3,))]") and writes the VOID type of its
 * item size. bi_layout_reinterpret, or the members descr and descr_length, give a layout that structure. BI_EDTYPE,
 * BI_EOVERFLOW.
 */
BI_API int bi_dtype_parse_descr(const char *descr, struct bi_dtype *out, struct bi_error *err);

/* Plans */

/*
 * How bytes move, by which executors choose what they do: name, text.
 *   NOTHING    no element
 *   LINEAR     one run of `unit` bytes
 *   ROWS       runs longer than one element, and none of the kinds below
 *   STRIDED    element by element, both sides nearest along the last axis or neither worth turning
 *   TILES      squares are turned: the source is read along axis `cross`, the destination written along the last
 *   BROADCAST  the source stands still along the last axis
 *   FILL       the source stands still along every axis: one unit for all
 */
#define BI_PLAN_MAP(X) \
	X(NOTHING, "nothing") \
	X(LINEAR, "linear") \
	X(ROWS, "rows") \
	X(STRIDED, "strided") \
	X(TILES, "tiles") \
	X(BROADCAST, "broadcast") \
	X(FILL, "fill")

enum bi_plan_kind {
#define BI_PLAN_ENUM(name, text) BI_PLAN_##name,
	BI_PLAN_MAP(BI_PLAN_ENUM)
#undef BI_PLAN_ENUM
	BI_PLAN_COUNT
};

/*
 * A copy in canonical form: a nest of loops that moves `unit` bytes each time. Extents of 1 are gone, the destination
 * runs forward, its strides fall from axis to axis, axes that continue each other are one, and elements side by side on
 * both sides are one unit. However two layouts are written, if they move the same bytes the plan is the same (but for
 * destinations whose axes interleave, which no view of a dense array is).
 */
struct bi_plan {
	int kind;                       /* enum bi_plan_kind */
	int ndim;                       /* 0 for NOTHING and LINEAR */
	int cross;                      /* TILES: an axis before the last; else -1 */
	uint64_t unit;                  /* bytes of a run */
	uint64_t bytes;                 /* moved in all */
	int64_t dst_offset;             /* of the first run, from the start of each memory */
	int64_t src_offset;
	int64_t shape[BI_MAX_NDIM];     /* outermost first, each above 1 */
	int64_t dst_strides[BI_MAX_NDIM]; /* bytes, above 0, falling */
	int64_t src_strides[BI_MAX_NDIM]; /* bytes, any sign, 0 allowed */
	char reason[256];               /* why it is of its kind: one sentence; no newline */
};

/*
 * Which plan bi_copy makes of two layouts whose memories do not overlap; `src` NULL: bi_fill of `dst`. Pure arithmetic,
 * for people who want to know why a copy is slow or fast; a copy that goes through a third array (two contexts,
 * overlap, packing) has a plan for each of its parts. Refused as bi_copy refuses it: BI_EINVAL if the shapes, BI_EDTYPE
 * if the item sizes differ, BI_EOVERLAP if two elements of the destination share bytes. After a failure *out is as it
 * was.
 */
BI_API int bi_plan_make(const struct bi_layout *dst, const struct bi_layout *src, struct bi_plan *out,
			struct bi_error *err);

/* Devices */

/* What a device is: name, text. */
#define BI_DEVICE_KIND_MAP(X) \
	X(HOST, "host") \
	X(CPU, "cpu") \
	X(GPU, "gpu") \
	X(ACCELERATOR, "accelerator") \
	X(OTHER, "other")

enum bi_device_kind {
#define BI_DEVICE_KIND_ENUM(name, text) BI_DEVICE_KIND_##name,
	BI_DEVICE_KIND_MAP(BI_DEVICE_KIND_ENUM)
#undef BI_DEVICE_KIND_ENUM
	BI_DEVICE_KIND_COUNT
};

/*
 * What a device can do, as far as callers can use it: name, bit, text.
 *   ASYNC            work runs after the call that enqueued it has returned
 *   UNIFIED          the device uses the host's memory chips
 *   OUT_OF_ORDER     out-of-order streams
 *   PROFILING        nanoseconds of operations
 *   SVM              BI_MEMORY_UNIFIED can be allocated, and has a host pointer
 *   NATIVE_COPY      strided copies run on the device's own processor without a compiler
 *   EXTERNAL_MEMORY  the driver can import memory of other APIs
 */
#define BI_CAPABILITY_MAP(X) \
	X(ASYNC, 1, "async") \
	X(UNIFIED, 2, "unified") \
	X(OUT_OF_ORDER, 4, "out-of-order") \
	X(PROFILING, 8, "profiling") \
	X(SVM, 16, "svm") \
	X(NATIVE_COPY, 32, "native-copy") \
	X(EXTERNAL_MEMORY, 64, "external-memory")

enum bi_capability {
#define BI_CAPABILITY_ENUM(name, bit, text) BI_CAP_##name = (bit),
	BI_CAPABILITY_MAP(BI_CAPABILITY_ENUM)
#undef BI_CAPABILITY_ENUM
	BI_CAP_END = 128                /* not a capability */
};

struct bi_device {
	char spec[24];                  /* device string that opens exactly this one, "opencl:0:1", "cuda:1" */
	char backend[12];
	int platform;                   /* OpenCL: number of the platform, else 0 */
	int ordinal;
	int kind;                       /* enum bi_device_kind */
	int usable;                     /* 0: `reason` says why, and only spec and backend are filled */
	uint32_t capabilities;          /* enum bi_capability */
	uint64_t memory;                /* bytes, 0: unknown */
	char name[128];
	char platform_name[128];
	char platform_version[128];     /* what the driver says of itself: "OpenCL 3.0 PoCL 3.1 ...", "CUDA 12.4" */
	char reason[256];
};

/*
 * Writes up to `capacity` devices and the number that there is into *count. Usable ones come first, the best first;
 * "#2" means position 2 of this list. Then, one entry each, backends and devices that cannot be used, with the reason.
 * Never fails for lack of a driver. `devices` may be NULL if capacity is 0.
 */
BI_API int bi_devices(struct bi_device *devices, int capacity, int *count, struct bi_error *err);

/* What callers have to know of a backend, whatever its name is. */
struct bi_backend {
	const char *name;               /* device strings begin with it */
	int numbers;                    /* at most so many follow: 1 in "cuda:1", 2 in "opencl:0:1"; 0: none */
	enum bi_handle_kind handle;     /* of its device memory */
	unsigned stream_kinds;          /* bits 1 << enum bi_stream_kind that bi_stream_wrap takes; 0: no streams */
	int named_by_ordinal;           /* 1: exports name a device by its ordinal; 0: by its native context */
};

/* Writes the backend at that position of the list, and returns 1; 0 behind the last. The host is the last. */
BI_API int bi_backend_at(int position, struct bi_backend *out);

/* The most threads that bi_set_threads takes. */
#define BI_MAX_THREADS 64

/*
 * How many threads share a large copy of host memory, or of a device that runs on this processor; the calling thread is
 * one of them. 1 in a forked child whose parent had such threads. bi_set_threads holds for the process, from the next
 * copy on: 1..BI_MAX_THREADS, or 0 for what the environment variable BI_THREADS says if it is such a number, else as
 * many as there are processors that the process may use – its main thread, whoever asks –, but at most 8, because
 * memory is busy then. Small copies never start or wake a thread. Safe on any thread; BI_EINVAL for any other count.
 */
BI_API int bi_threads(void);
BI_API int bi_set_threads(int count, struct bi_error *err);

/* Contexts */

struct bi_context;
struct bi_stream;
struct bi_event;
struct bi_memory;
struct bi_view;
struct bi_map;

typedef void (*bi_release_fn)(void *data);

enum bi_log_level { BI_LOG_ERROR = 1, BI_LOG_WARNING = 2, BI_LOG_INFO = 3, BI_LOG_DEBUG = 4 };

/* Called with one line, no newline, on any thread, under no lock of the library. */
typedef void (*bi_log_fn)(void *data, enum bi_log_level level, const char *message);

/* Kinds of memory that can be allocated. */
enum bi_memory_kind {
	BI_MEMORY_DEFAULT = 0,          /* what the context's options say; DEVICE if they say nothing */
	BI_MEMORY_DEVICE = 1,
	BI_MEMORY_PINNED = 2,           /* host memory that the device transfers fastest; with a host pointer on CUDA */
	BI_MEMORY_UNIFIED = 3,          /* one address for host and device (SVM, managed; on CUDA never more than is
					   free); BI_EUNSUPPORTED without BI_CAP_SVM */
	BI_MEMORY_HOST = 4              /* plain host memory, in any context */
};

#define BI_POOL_DEFAULT ((size_t)0)     /* 256 MiB */
#define BI_POOL_NONE (~(size_t)0)       /* nothing is kept for reuse */

/* Start from BI_OPTIONS_INIT; members left 0 mean the default. */
struct bi_options {
	size_t struct_size;
	/*
	 * Device string: "auto", "host", "cuda", "cuda:1" (device), "opencl", "opencl:0:1" (platform, device),
	 * "opencl:0", "opencl:pocl", "cuda:H200" (part of the device's or platform's name or version, any case), "#2"
	 * (position in bi_devices). NULL: the environment variable BI_DEVICE, or if that is unset or empty "auto",
	 * which takes the best device that opens and falls back to the host. With an adopted handle: the name of its
	 * backend, and if wanted the position among the devices of that cl_context ("opencl:1").
	 */
	const char *device;
	/*
	 * cl_context (retained) or CUcontext (the caller keeps it alive) to use instead of an own one; 0: none. An own
	 * one is on CUDA the primary context of the device, which other libraries share.
	 */
	uintptr_t adopt_context;
	/*
	 * cl_command_queue (in-order, retained) or CUstream (1: legacy default; the caller keeps it alive) that becomes
	 * the context stream; 0: none. It needs adopt_context. CUDA's per-thread default stream (2) cannot: it is
	 * another one on each thread.
	 */
	uintptr_t adopt_stream;
	bi_release_fn release;          /* called once with release_data after the context has closed; or NULL */
	void *release_data;
	int debug;                      /* 1: synchronise after every operation, start every allocation 64 bytes in */
	int profile;                    /* 1: record operations for bi_context_report */
	bi_log_fn log;
	void *log_data;
	int log_level;                  /* highest level that is logged; 0: warnings and errors */
	size_t pool_limit;              /* bytes of free memory kept for reuse, or BI_POOL_… */
	int memory;                     /* enum bi_memory_kind that BI_MEMORY_DEFAULT stands for */
	const char *cache_directory;    /* where compiled kernels may be kept; NULL: no file is written */
};

#define BI_OPTIONS_INIT { sizeof(struct bi_options), NULL, 0, 0, NULL, NULL, 0, 0, NULL, NULL, 0, 0, 0, NULL }

/*
 * Opens a device, or adopts a context. `options` may be NULL. The release callback is taken. Returns BI_ENODEVICE with
 * every reason when nothing fits the device string. Owned.
 */
BI_API int bi_context_open(const struct bi_options *options, struct bi_context **out, struct bi_error *err);
BI_API struct bi_context *bi_context_retain(struct bi_context *context);
/*
 * The last release closes: it drains work that released memories still wait for (host wait). A host memory that the
 * device worked on counts as a reference until the end of that work is seen (bi_view_synchronize, a mapping, the next
 * use).
 */
BI_API void bi_context_release(struct bi_context *context);
/* Where something that somebody else made belongs: what to open a context with. */
struct bi_location {
	char device[24];                /* device string: "cuda:1"; "opencl:1": the position in its cl_context */
	uintptr_t context;              /* OpenCL: the cl_context, to be adopted. CUDA: 0, the device's primary one */
};

/*
 * Asks the driver about a handle; opens and retains nothing. CUDA pointers that no driver knows are BI_EINVAL. Numbers
 * that are no cl_mem crash the driver and cannot be checked. A cl_mem may be on any device of its cl_context: position
 * 0. BI_EUNSUPPORTED: host and SVM pointers, which say nothing of themselves.
 */
BI_API int bi_locate_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_location *out, struct bi_error *err);
/* The same for a stream: BI_STREAM_KIND_CL_QUEUE. BI_EUNSUPPORTED: streams of other kinds, which say nothing. */
BI_API int bi_locate_queue(enum bi_stream_kind kind, uintptr_t queue, struct bi_location *out, struct bi_error *err);

/* Borrowed. */
BI_API const struct bi_device *bi_context_device(const struct bi_context *context);
/* Why better devices were passed over when the string was "auto", one line each, with newline; "" if none. Borrowed. */
BI_API const char *bi_context_notes(const struct bi_context *context);
/* The context stream: in-order, the home of what is allocated here. Borrowed. */
BI_API struct bi_stream *bi_context_stream(const struct bi_context *context);
/* cl_context, CUcontext, or 0 on the host. Lives as long as the context. */
BI_API uintptr_t bi_context_handle(const struct bi_context *context);

/*
 * Makes the driver's context current on the calling thread, for libraries that look at CUDA's current context. Does
 * nothing on other backends, and if the context is current already.
 *
 * bi_context_push_current sets *pushed to 1 if bi_context_pop_current has something to undo, otherwise and after a
 * failure to 0. bi_context_pop_current is called on the same thread with that number. It undoes the push, and does
 * nothing if `pushed` is 0 or the context is not current. `context` may be NULL in bi_context_pop_current.
 */
BI_API int bi_context_push_current(struct bi_context *context, int *pushed, struct bi_error *err);
BI_API void bi_context_pop_current(struct bi_context *context, int pushed);

/*
 * Gives free memory back to the driver until at most `keep` bytes are pooled, lets go of released memories whose work
 * is complete, and drops caches if keep is 0. Does not wait for that; CUDA's driver may wait for the device when it
 * frees pinned memory, or device memory where it has no pools (docs/ordering.md, row 28).
 */
BI_API int bi_context_trim(struct bi_context *context, size_t keep, struct bi_error *err);

/*
 * What was done, as JSON (docs/report.md; stable): operations recorded while profiling ran, counters of host waits,
 * pool, caches and released memories that still wait. Owned: free with bi_report_free. May wait for recorded work.
 */
BI_API int bi_context_report(struct bi_context *context, char **out, struct bi_error *err);
/* Stop and go on recording. Without `profile` in the options these do nothing. */
BI_API void bi_context_profile_pause(struct bi_context *context);
BI_API void bi_context_profile_resume(struct bi_context *context);
/* Frees the text of a report. NULL is safe. */
BI_API void bi_report_free(char *report);

/* Streams and events */

enum bi_stream_flag { BI_STREAM_IN_ORDER = 0, BI_STREAM_OUT_OF_ORDER = 1 };

/* BI_EUNSUPPORTED if the device has no such stream. Owned. */
BI_API int bi_stream_create(struct bi_context *context, unsigned flags, struct bi_stream **out, struct bi_error *err);
/*
 * Wraps a cl_command_queue of this context: retained, let go when the stream is. Or a CUstream of this context, which
 * the caller keeps alive until the callback; 1 is CUDA's legacy default stream, 2 the per-thread one: that of the
 * thread that calls. The callback (may be NULL) is taken; it is called when the stream is let go.
 * BI_EINVAL if the queue belongs to another context, or to another device of it than the one opened. A number that is
 * no stream crashes the driver and cannot be checked. Owned.
 */
BI_API int bi_stream_wrap(struct bi_context *context, uintptr_t handle, bi_release_fn release, void *release_data,
			  struct bi_stream **out, struct bi_error *err);
BI_API struct bi_stream *bi_stream_retain(struct bi_stream *stream);
BI_API void bi_stream_release(struct bi_stream *stream);
BI_API struct bi_context *bi_stream_context(const struct bi_stream *stream);
/* cl_command_queue, CUstream, or 0 on the host. Borrowed. */
BI_API uintptr_t bi_stream_handle(const struct bi_stream *stream);
/* Host wait until everything enqueued so far is done. BI_EPRODUCER if work failed that others enqueued. */
BI_API int bi_stream_synchronize(struct bi_stream *stream, struct bi_error *err);
/* Work enqueued on `stream` from now on waits for what is now on each of `others` (CAI example: 7, 9, 15 -> 3). */
BI_API int bi_stream_join(struct bi_stream *stream, struct bi_stream *const *others, size_t count,
			  struct bi_error *err);
/* Work enqueued on `stream` from now on waits for `event`. */
BI_API int bi_stream_wait(struct bi_stream *stream, struct bi_event *event, struct bi_error *err);

/* The point that the stream has now reached with everything enqueued before. Owned. */
BI_API int bi_event_record(struct bi_stream *stream, struct bi_event **out, struct bi_error *err);
/*
 * Wraps a cl_event of this context, retained; whoever made it flushes its queue. Or a recorded CUevent, which the
 * caller keeps alive. Owned.
 */
BI_API int bi_event_wrap(struct bi_context *context, uintptr_t handle, struct bi_event **out, struct bi_error *err);
BI_API struct bi_event *bi_event_retain(struct bi_event *event);
BI_API void bi_event_release(struct bi_event *event);
BI_API uintptr_t bi_event_handle(const struct bi_event *event);
/* Writes 1 into *done if the event is complete, else 0. BI_EPRODUCER if it failed. */
BI_API int bi_event_query(struct bi_event *event, int *done, struct bi_error *err);
/* Host wait. BI_EPRODUCER if it failed. */
BI_API int bi_event_synchronize(struct bi_event *event, struct bi_error *err);

/* Memory */

/* Allocates, from the pool where it can. nbytes may be 0. The bytes are not initialised. Retains the context. Owned. */
BI_API int bi_memory_create(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind,
			    struct bi_memory **out, struct bi_error *err);

enum bi_wrap_flag {
	BI_WRAP_READONLY = 1,           /* views of it are read-only */
	BI_WRAP_STEAL = 2,              /* cl_mem: take over the caller's reference instead of retaining */
	/*
	 * The caller orders all work on the memory himself, with the library's own as well: no home, nothing is waited
	 * for, bi_use_begin and bi_use_end enqueue nothing, and the last release lets go at once.
	 */
	BI_WRAP_UNORDERED = 4,
	BI_WRAP_UNCHECKED = 8           /* CUDA: believe handle and nbytes without asking the driver */
};

/* Memory that somebody else made. Start from BI_FOREIGN_INIT. */
struct bi_foreign {
	size_t struct_size;
	/*
	 * BI_HANDLE_HOST in any context, BI_HANDLE_CL_MEM and BI_HANDLE_CL_SVM in OpenCL ones, BI_HANDLE_CUDA in CUDA
	 * ones.
	 */
	enum bi_handle_kind kind;
	uintptr_t handle;               /* may be 0 for host memory of 0 bytes */
	size_t nbytes;                  /* size; for a cl_mem 0 means "ask the driver" */
	unsigned flags;                 /* enum bi_wrap_flag */
	/*
	 * Stream that the producer named as the one on which the memory is ready (wrap it first), retained: it becomes
	 * the home, with work pending. NULL: the context stream is the home and nothing is pending.
	 */
	struct bi_stream *stream;
	/* Events that the first use waits for, retained. */
	struct bi_event *const *events;
	size_t event_count;
	/*
	 * Taken; called once when the memory is let go, at the latest at context close. If letting go has to wait for
	 * pending work, what the callback holds lives as long, so it is better not a reference to the context itself.
	 */
	bi_release_fn release;
	void *release_data;
};

#define BI_FOREIGN_INIT { sizeof(struct bi_foreign), BI_HANDLE_HOST, 0, 0, 0, NULL, NULL, 0, NULL, NULL }

/*
 * Wraps memory without a copy. A cl_mem is retained once (sub-buffers: their root; offsets of views still count from
 * the sub-buffer's start). What can be checked is: it is a buffer, of this context, of at least nbytes. A number that
 * is not a live cl_mem crashes the driver and cannot be checked.
 * A CUDA pointer is looked up with the driver: memory that CUDA does not know, that belongs to another device or
 * context, or that ends before nbytes is BI_EINVAL or BI_EBOUNDS; pinned, registered and managed memory has a host
 * pointer. Plain device memory may consist of several mapped ranges that follow each other. The producer keeps it alive
 * until `release`. Retains the context. Owned.
 */
BI_API int bi_memory_wrap(struct bi_context *context, const struct bi_foreign *foreign, struct bi_memory **out,
			  struct bi_error *err);
BI_API struct bi_memory *bi_memory_retain(struct bi_memory *memory);
/*
 * The last release lets go at once if nothing is pending on the memory or its producer named a stream; otherwise when
 * the pending work is seen to be complete (docs/ordering.md, retirement). Own memory goes back to the pool.
 */
BI_API void bi_memory_release(struct bi_memory *memory);
BI_API size_t bi_memory_nbytes(const struct bi_memory *memory);
BI_API struct bi_context *bi_memory_context(const struct bi_memory *memory);
/* 1 if the memory is host memory, on whatever context. */
BI_API int bi_memory_is_host(const struct bi_memory *memory);

/* Views */

enum bi_view_flag { BI_VIEW_READONLY = 1 };

/*
 * A memory seen through a layout: the BufferInterface itself. A view never changes after it is made. Every byte that
 * the layout can reach must lie inside the memory (BI_EBOUNDS). layout->descr is copied. Retains the memory. Owned.
 */
BI_API int bi_view_create(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags,
			  struct bi_view **out, struct bi_error *err);
/*
 * bi_memory_wrap and a view of all that it wraps, in one call: for what is imported often. The layout counts from the
 * start of the memory and may have been filled in by hand; it is checked as by bi_view_create. foreign->release is
 * taken on success only; BI_WRAP_STEAL is refused. Owned.
 */
BI_API int bi_view_wrap(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
			struct bi_view **out, struct bi_error *err);
/*
 * A new dense C-order array, not initialised. A structured one: make it with the VOID type of bi_dtype_parse_descr,
 * then bi_view_reinterpret with the descr. Owned.
 */
BI_API int bi_view_empty(struct bi_context *context, struct bi_dtype dtype, int ndim, const int64_t *shape,
			 struct bi_view **out, struct bi_error *err);
/*
 * Dense host bytes of the caller as an array, without a copy. It stays host memory; bi_copy moves it to a
 * bi_view_empty on the device. The caller keeps the bytes alive until `release` is called, or, without one, until
 * every reference is gone and pending work is done. Owned.
 */
BI_API int bi_view_wrap_host(struct bi_context *context, void *data, struct bi_dtype dtype, int ndim,
			     const int64_t *shape, bi_release_fn release, void *release_data, struct bi_view **out,
			     struct bi_error *err);
BI_API struct bi_view *bi_view_retain(struct bi_view *view);
BI_API void bi_view_release(struct bi_view *view);
/*
 * The same memory through another layout, typically bi_view_layout's after some changes. Read-only stays read-only.
 * The functions after it are the layout functions of the same name, as new views. Owned.
 */
BI_API int bi_view_with_layout(const struct bi_view *view, const struct bi_layout *layout, struct bi_view **out,
			       struct bi_error *err);
BI_API int bi_view_index(const struct bi_view *view, const struct bi_index *items, int count, struct bi_view **out,
			 struct bi_error *err);
BI_API int bi_view_permute(const struct bi_view *view, const int *axes, struct bi_view **out, struct bi_error *err);
BI_API int bi_view_flip(const struct bi_view *view, int axis, struct bi_view **out, struct bi_error *err);
BI_API int bi_view_reshape(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
			   struct bi_error *err);
/* The result is read-only: several of its elements share bytes. */
BI_API int bi_view_broadcast(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
			     struct bi_error *err);
BI_API int bi_view_field(const struct bi_view *view, const char *name, struct bi_view **out, struct bi_error *err);
BI_API int bi_view_reinterpret(const struct bi_view *view, struct bi_dtype dtype, const char *descr,
			       struct bi_view **out, struct bi_error *err);

/* Fills *layout; its descr is borrowed from the view. Offsets count from the start of the memory as it was wrapped. */
BI_API void bi_view_layout(const struct bi_view *view, struct bi_layout *layout);
/* Borrowed. shape and strides are NULL if ndim is 0. */
BI_API struct bi_memory *bi_view_memory(const struct bi_view *view);
BI_API int bi_view_ndim(const struct bi_view *view);
BI_API const int64_t *bi_view_shape(const struct bi_view *view);
BI_API const int64_t *bi_view_strides(const struct bi_view *view);
BI_API struct bi_dtype bi_view_dtype(const struct bi_view *view);
BI_API unsigned bi_view_flags(const struct bi_view *view);

/* The handle behind a view. */
struct bi_native {
	enum bi_handle_kind kind;
	uintptr_t handle;               /* 0 only for arrays without elements */
	size_t offset;                  /* bytes from the start of `handle` to element [0, ..., 0]; CUDA: 0 */
	size_t nbytes;                  /* from the start of `handle` to the end of the memory; 0 without a handle */
};

/* Shows the handle. From now on the memory never returns to the pool: it is freed for real. Does not synchronise. */
BI_API void bi_view_native(const struct bi_view *view, struct bi_native *out);

/* Address of element [0, ..., 0] if the CPU can use the memory as it stands, else NULL. Never synchronises. */
BI_API void *bi_view_host_pointer(const struct bi_view *view);

/* Ordering */

/* Accesses of work to a memory. A use needs at least one of the bits. */
enum bi_access { BI_ACCESS_READ = 1, BI_ACCESS_WRITE = 2, BI_ACCESS_READ_WRITE = 3 };

/* One array that work enqueued by the caller uses. */
struct bi_use {
	const struct bi_view *view;     /* borrowed for the call, not NULL */
	unsigned access;                /* enum bi_access */
};

/*
 * Begins and ends the use of arrays by work that the caller enqueues on `stream` with the driver's own functions:
 *
 *     struct bi_use uses[] = { { in, BI_ACCESS_READ }, { out, BI_ACCESS_WRITE } };
 *     rc = bi_use_begin(stream, uses, 2, &err);
 *     ... enqueue the kernel on the stream ...
 *     rc = bi_use_end(stream, uses, 2, &err);
 *
 * bi_use_begin: work enqueued on `stream` from now on comes after all work on each of the memories. bi_use_end: later
 * work on each of the memories comes after all that is now on `stream`. Both treat the memories one after the other
 * (docs/ordering.md, rows 8 and 9). Neither blocks the calling thread for device memory.
 *
 * The access is checked, but the order does not depend on it yet: two uses that only read are ordered as if they wrote.
 * Callers state the access that they need, because later versions will order reads less strictly.
 *
 * All arguments are checked before anything is enqueued. `uses` may be NULL if `count` is 0. BI_EINVAL: a view is NULL,
 * an access has no known bit or an unknown one, or the stream cannot reach the memory. BI_EREADONLY: a use writes to a
 * read-only view. BI_EBUSY (bi_use_begin only): the memory is mapped for writing, or it is mapped and the use writes.
 *
 * bi_use_begin fails: the stream may wait for some of the memories already; nothing has to be undone. bi_use_end fails:
 * the order of the other memories is recorded nevertheless. With BI_EPRODUCER and BI_ECAPTURE the order of the memory
 * that failed is not recorded: synchronise the stream before the memory is released.
 */
BI_API int bi_use_begin(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err);
BI_API int bi_use_end(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err);
/*
 * 1 if nothing was enqueued on the memory since its end was last seen. Bookkeeping: no driver is asked, nobody waits.
 */
BI_API int bi_view_is_idle(const struct bi_view *view);
/* Host wait until all work on the memory is done. */
BI_API int bi_view_synchronize(const struct bi_view *view, struct bi_error *err);

/* Operations */

/*
 * All of them check everything before anything is enqueued. With `stream` NULL the work runs on the home of the
 * destination (a host destination: of the source), else on that stream. Work between host memories is done by the
 * calling thread before the function returns, and so are few bytes between memories of the library's own that are idle
 * and were never shown, or the caller's bytes, where device memory lies in the processor's own (BI_AT_ONCE in the
 * environment: how many, 0: none); other work needs a stream of the context of a device memory involved, or of one with
 * the same cl_context. BI_EINVAL for a stream that does not serve, BI_EBUSY for mapped memory, BI_EPRODUCER if work of
 * a producer that must come first is known to have failed.
 * If the driver fails in the middle, later work is still ordered and the destination's contents are undefined.
 * Arrays without elements: success, no driver call.
 */

/*
 * dst[...] = src[...], byte for byte. Equal shapes and item sizes; any strides, any memories. If source and destination
 * overlap the result is as if the source had been copied aside first. BI_EREADONLY, BI_EOVERLAP (two elements of dst
 * share bytes), BI_EBUSY (mapped). Between two contexts that share nothing: host wait for the source, staged. Staged
 * copies, and strided ones between the host and a device that moves only dense bytes, go in pieces of a few megabytes:
 * what another thread does with the same memory meanwhile can come between two of them, and if it maps it the rest is
 * BI_EBUSY. Callers who need such a copy to be one step keep others away from both memories until it returns.
 */
BI_API int bi_copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream,
		   struct bi_error *err);

/* Every element becomes the item at `element`, which is read before the function returns. Errors as bi_copy. */
BI_API int bi_fill(const struct bi_view *view, const void *element, struct bi_stream *stream, struct bi_error *err);

/* One element, `index` as in bi_layout_element. Reading is a host wait, writing is not. */
BI_API int bi_view_get_element(const struct bi_view *view, const int64_t *index, void *element, struct bi_error *err);
BI_API int bi_view_set_element(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err);

/*
 * The whole array from or to dense C-order bytes of the caller; `nbytes` must be the array's dense size (BI_EBOUNDS).
 * Host wait: the bytes are the caller's again when the function returns. They are the caller's alone when it is called:
 * nothing that was enqueued, on whatever stream, may still use them; so too the element above.
 */
BI_API int bi_view_write(const struct bi_view *view, const void *bytes, size_t nbytes, struct bi_error *err);
BI_API int bi_view_read(const struct bi_view *view, void *bytes, size_t nbytes, struct bi_error *err);

enum bi_map_mode {
	BI_MAP_READ = 1,
	BI_MAP_WRITE = 2,
	BI_MAP_DISCARD = 4              /* with WRITE: every element will be written, what was there need not be seen */
};

/*
 * Makes the bytes of a view visible to the CPU after all pending work: host wait. Memory with a host pointer is lent as
 * it is, other memory is mapped by the driver or, on CUDA, copied to pinned memory and back. While a memory is mapped
 * for reading, the library may read it and map it again for reading; while it is mapped for writing, every copy, fill,
 * element access and other mapping is BI_EBUSY. That holds for the whole memory, whichever view was mapped. Retains the
 * view. Owned; bi_unmap takes it even if it fails. One thread at a time unmaps.
 */
BI_API int bi_view_map(const struct bi_view *view, unsigned mode, struct bi_map **out, struct bi_error *err);
/* Address of element [0, ..., 0]; the view's strides hold. NULL for arrays without elements. */
BI_API void *bi_map_data(const struct bi_map *map);
/*
 * What was written is ordered before later work on the memory. Does not wait. BI_ECAPTURE: the memory is still mapped;
 * unmap it again when the capture has ended.
 */
BI_API int bi_unmap(struct bi_map *map, struct bi_error *err);

/* Exchange */

enum bi_export_flag {
	BI_EXPORT_EVENT = 1,            /* record an event for the consumer */
	BI_EXPORT_SYNCHRONIZE = 2       /* host wait first, then no stream is named */
};

/*
 * Fills *out with the array, its stream and a reference that out->release lets go. The handle counts as shown. The
 * consumer gets a read-only struct from a read-only view. What *out held before is overwritten, not released.
 */
BI_API int bi_view_export(const struct bi_view *view, unsigned flags, struct bi_exchange *out, struct bi_error *err);

enum bi_import_flag {
	BI_IMPORT_UNORDERED = 1         /* ignore the struct's stream and event: ordering is the caller's */
};

/*
 * Makes a view of what a producer filled. The struct is taken (moved: exchange->release is NULL afterwards) and
 * released when the memory is let go. `context` must reach the memory: any for host memory, the same cl_context for a
 * cl_mem, the same device for CUDA memory (BI_EINVAL). Everything is checked against the allocation that stands behind
 * the handle. BI_EVERSION, BI_EDTYPE, BI_EBOUNDS, BI_EUNSUPPORTED (masked arrays). What bi_view_export of this very
 * library made comes back as another view of the exporter's memory, and the struct is let go at once. Owned.
 */
BI_API int bi_view_import(struct bi_context *context, struct bi_exchange *exchange, unsigned flags,
			  struct bi_view **out, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
