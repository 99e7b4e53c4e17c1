/*
 * BufferInterface: arrays in host, OpenCL and CUDA memory, chosen at run time
 *
 * The library describes, exchanges, orders and moves n-dimensional arrays. It does not compute. No vendor library is
 * linked: the library opens a driver when the first function that needs it is called.
 *
 * A context is an opened device. A stream is a queue of work on a device. A memory is a range of bytes on the device or
 * on the host. A layout is the type, shape and strides of an array. A view is a memory seen through a layout: an array.
 * Copies and fills work on views, and views are exchanged with other libraries.
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
 *   bi_error that the caller owns, or is NULL. On failure the struct receives the status, the vendor's own code and one
 *   sentence. On success it is not changed.
 *   A function's comment lists the failures that are special to it. Each function may also return BI_EINVAL (an
 *   argument is not valid, and the message names it), BI_ENOMEM (the host or the device is out of memory), BI_EDRIVER
 *   (a driver call failed, and `vendor` is its code) and BI_EFORK (a device object is used in a forked child). Each
 *   function that allocates or uses a memory, or that orders or waits for work, may return BI_EPRODUCER (work of the
 *   memory's producer has failed) and BI_ECAPTURE (a stream is being captured into a CUDA graph that cannot take the
 *   call; docs/ordering.md, row 27).
 *
 * NULL
 *   Functions that return a status check their pointers: NULL is BI_EINVAL unless the comment allows it. Functions
 *   without a status do not check: NULL is not allowed, and crashes. The exceptions are all functions whose names end
 *   in _release and _free, and bi_context_pop_current, which do nothing if the object is NULL.
 *
 * Ownership
 *   owned        a `**out` parameter receives a new reference, which the caller releases. It is NULL after a failure
 *   borrowed     a returned pointer stays valid as long as the object that it came from
 *   transferred  the function takes ownership on success only; after a failure the caller still owns the argument
 *   retained     the function takes a reference of its own, and the caller keeps its own
 *
 * Structs with struct_size
 *   Start from the …_INIT macro, which sets struct_size. A program that was built with an older header has a shorter
 *   struct: the missing members have their defaults. A program that was built with a newer header has a longer struct:
 *   members that this library does not know must be 0, otherwise the call fails with BI_EINVAL.
 *
 * Threads
 *   Any number of threads may use, retain and release an object at the same time, unless its comment says otherwise.
 *   Reference counts are atomic. If two threads write the same bytes, the bytes are undefined, and the objects stay
 *   valid.
 *   A release callback runs once, on the thread that releases the last reference or sees the last work end. The
 *   exception is memory that is never freed (struct bi_foreign). The library holds no lock while the callback runs.
 *   No function is a cancellation point of pthread_cancel, and cancellation is disabled while functions of the caller
 *   log, read, write or run as kernels. A release callback must not be a cancellation point: a thread that is cancelled
 *   in a release callback leaves references behind.
 *
 * Unloading
 *   Once the library has opened a driver, the shared object that contains its code stays loaded until the process ends,
 *   also after dlclose. A plug-in that has a copy of the library is such an object. A program that opened no driver may
 *   call dlclose after the last release.
 *
 * Asynchrony
 *   Functions that take a `stream` return when the work is enqueued or done. The comments say which functions block the
 *   calling thread until work is done. docs/ordering.md lists all waits. Each wait has a reason such as `export`, which
 *   the comments name in brackets. An allocation, copy, fill, launch or bi_use_begin blocks (`pressure`) if the context
 *   has more retired memory than its limit (pool_limit). Do not enqueue work that waits for a later act of the calling
 *   thread: the next call may block for that work, for ever.
 *
 * Words of ordering (docs/ordering.md has the rules)
 *   context stream  the stream that a context has from the start
 *   home stream     the stream on which a device memory is ready: the context stream, or the stream that the producer
 *                   named
 *   pending         work was enqueued on a memory, and the library has not seen its end; or other code may enqueue
 *                   work without the library (11.5, 35.2)
 *   retired         a released memory that is kept until its pending work is done
 *   exported        the handle or the address of the memory was given to the caller or to another library
 *                   (bi_use_native does not count): the memory never returns to the pool, and rows 36 and 38 do not
 *                   apply to it
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

/* The attribute of every function of the library. A build of the library may define it. */
#ifndef BI_API
#if defined(__GNUC__) && !defined(_WIN32)
#define BI_API __attribute__((visibility("default")))
#else
#define BI_API
#endif
#endif

/* Returns the version of the library that is running, "major.minor.patch". The string is never freed. */
BI_API const char *bi_version(void);

/* The largest number of dimensions. */
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
	X(ECAPTURE, -15, "a stream is being captured into a graph that cannot take this") \
	X(EUNFINISHED, -16, "the driver failed, and the device may still use the caller's bytes")

enum bi_status {
#define BI_STATUS_ENUM(name, value, text) BI_##name = (value),
	BI_STATUS_MAP(BI_STATUS_ENUM)
#undef BI_STATUS_ENUM
	BI_STATUS_END = 1               /* not a status */
};

/*
 * Description of a failure. The caller owns it; the library writes it on failure only. A message that ends with a
 * number in brackets, such as "[O6]", names the rule that refuses; docs/conformance.md lists the rules.
 */
struct bi_error {
	int status;                     /* enum bi_status */
	int vendor;                     /* the driver's own code, or an errno of the system; 0 if there is none */
	char message[256];              /* one sentence without a newline; "..." replaces the middle if it is too long */
};

/* Returns the name of a status: "BI_EINVAL" for -1, "BI_E?" for a number that is no status. Never freed. */
BI_API const char *bi_status_name(int status);

/* Returns the meaning of a status in a few words: "not a status" for a number that is no status. Never freed. */
BI_API const char *bi_status_text(int status);

/* Element types */

/*
 * Scalar types: name, text, array interface kind (0: none), DLPack code (-1: none), bits of one lane.
 * Each lane of the float8, float6 and float4 types takes one byte. The caller chooses the item size of BYTES, UNICODE
 * and VOID. A structured type is VOID with a descr text.
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

/* Type of one element. It has 8 bytes and is passed by value; bi_dtype_equal compares two. */
struct bi_dtype {
	uint32_t item_size;             /* bytes of one element, all lanes; > 0 except for BYTES, UNICODE and VOID */
	uint16_t lanes;                 /* vector lanes, 1 for scalars */
	uint8_t type;                   /* enum bi_type */
	uint8_t swapped;                /* 1: the bytes of each scalar are in the reverse of this machine's order */
};

/*
 * Makes a type of `lanes` lanes in native byte order. BYTES, UNICODE and VOID: `item_size` is the size in bytes
 * (UNICODE: a multiple of 4), and `lanes` is 1. Other types: `item_size` is 0 or the size of the type.
 */
BI_API int bi_dtype_make(enum bi_type type, unsigned lanes, uint32_t item_size, struct bi_dtype *out,
			 struct bi_error *err);

/*
 * Reads a typestr ("<f4", "|b1", ">i8", "|V12", "=u2"; without the order character the order is native) or a name
 * ("float32", "bfloat16", "float32x4" for four lanes, "void12", "bytes8", "unicode8"). The number in "void12", "bytes8"
 * and "unicode8" counts bytes. The number in "<U2" counts characters of 4 bytes. BI_EDTYPE: the text is neither a
 * typestr nor a name. The message says so if the text means Python objects, bit fields or dates, if the size is
 * missing, if no type has the size, or if the number of lanes is out of range.
 */
BI_API int bi_dtype_parse(const char *text, struct bi_dtype *out, struct bi_error *err);

/* Size of the longest text that the two functions below write, with the final NUL. */
#define BI_DTYPE_TEXT 32

/*
 * Writes the typestr. BI_EDTYPE: the array interface has no name for the type (bfloat16, float8, float6, float4,
 * lanes > 1), or the members of `dtype` contradict each other.
 */
BI_API int bi_dtype_typestr(struct bi_dtype dtype, char text[BI_DTYPE_TEXT], struct bi_error *err);

/*
 * Writes a name that bi_dtype_parse reads. If the bytes are swapped, the name is a typestr. If the type is not valid,
 * the text is "invalid type N".
 */
BI_API void bi_dtype_name(struct bi_dtype dtype, char text[BI_DTYPE_TEXT]);

/* Returns 1 if both are the same type, otherwise 0. */
BI_API int bi_dtype_equal(struct bi_dtype a, struct bi_dtype b);

/* Returns the kind character of the array interface for one lane, or 0 if it has none for the type. */
BI_API char bi_dtype_kind(struct bi_dtype dtype);

/* Layouts */

/*
 * Type, shape and strides of an array, and its place in a memory. Layouts are pure arithmetic: no device, no
 * allocation. Fill a layout with bi_layout_init. A function that changes a layout does not change it on failure.
 * BI_EDTYPE: the item size or a member of the type is not valid. The offset of an array without elements never changes.
 * bi_layout_init and each change check that the number of elements, the dense size and each reachable offset fit into
 * int64_t, so bi_layout_size and bi_layout_nbytes never overflow. Extents of 0 count as 1 in this check. BI_EOVERFLOW:
 * a number does not fit.
 */
struct bi_layout {
	struct bi_dtype dtype;
	int32_t ndim;                   /* 0..BI_MAX_NDIM */
	uint32_t descr_length;          /* bytes of `descr`, without a final NUL */
	const char *descr;              /* text of a structured type in UTF-8, borrowed, may lack a final NUL; or NULL */
	int64_t offset;                 /* bytes from the start of the memory to element [0, ..., 0] */
	int64_t shape[BI_MAX_NDIM];     /* each >= 0 */
	int64_t strides[BI_MAX_NDIM];   /* bytes, any sign, 0 allowed */
};

/*
 * Fills a layout without a descr. `strides` NULL: dense, in C order. `shape` may be NULL if ndim is 0. BI_EDTYPE: the
 * members of `dtype` contradict each other. BI_EOVERFLOW: a size or an offset does not fit into int64_t.
 */
BI_API int bi_layout_init(struct bi_layout *layout, struct bi_dtype dtype, int ndim, const int64_t *shape,
			  const int64_t *strides, int64_t offset, struct bi_error *err);

/* Return the number of elements, and the number of bytes of a dense array of these elements. */
BI_API int64_t bi_layout_size(const struct bi_layout *layout);
BI_API int64_t bi_layout_nbytes(const struct bi_layout *layout);

/*
 * Returns 1 if the elements follow each other without gaps, row by row ('C') or column by column ('F'), or if there are
 * none. Returns 0 for any other order.
 */
BI_API int bi_layout_is_contiguous(const struct bi_layout *layout, char order);

/*
 * Writes the range of bytes that the elements cover: [*first, *end) from the start of the memory. If the array is
 * empty, both are the offset of the layout.
 */
BI_API void bi_layout_extent(const struct bi_layout *layout, int64_t *first, int64_t *end);

/* Returns 1 if both have the same type, descr, shape and offset, and the same strides along axes of extents above 1. */
BI_API int bi_layout_equal(const struct bi_layout *a, const struct bi_layout *b);

/*
 * Returns 1 if an element of one layout shares a byte with an element of the other layout. Both offsets count from the
 * same start. The search is exact up to a limit of steps. Beyond the limit the function returns 1. Slices of dense
 * arrays below 1 TiB never reach the limit.
 */
BI_API int bi_layout_overlap(const struct bi_layout *a, const struct bi_layout *b);

/* Returns 1 if two elements of the layout share a byte. The search has the limit of bi_layout_overlap. */
BI_API int bi_layout_self_overlap(const struct bi_layout *layout);

/*
 * Writes the offset of one element. `index` has ndim entries; negative entries count from the end. BI_EBOUNDS: an entry
 * lies outside of its axis.
 */
BI_API int bi_layout_element(const struct bi_layout *layout, const int64_t *index, int64_t *offset,
			     struct bi_error *err);

/*
 * Changes `index` to that of the next element in C order. `index` has ndim entries, which are 0 before the first call.
 * Returns the number of bytes from the element to the next one. The first element follows the last one. The layout has
 * at least one element.
 *
 *     char *at = bi_map_data(map);
 *     int64_t index[BI_MAX_NDIM] = { 0 };
 *
 *     for (int64_t left = bi_layout_size(&layout); left > 0; left--, at += bi_layout_step(&layout, index))
 *         use(at);
 */
BI_API int64_t bi_layout_step(const struct bi_layout *layout, int64_t *index);

/* One item of NumPy's basic indexing. */
enum bi_index_kind { BI_INDEX_INTEGER, BI_INDEX_SLICE, BI_INDEX_NEWAXIS, BI_INDEX_ELLIPSIS };

/* A start or stop that a slice leaves out. For a limit of INT64_MIN, use INT64_MIN + 1: the slice is the same. */
#define BI_OMITTED INT64_MIN

struct bi_index {
	enum bi_index_kind kind;
	int64_t start;                  /* INTEGER: the index. SLICE: start or BI_OMITTED */
	int64_t stop;                   /* SLICE: stop or BI_OMITTED */
	int64_t step;                   /* SLICE: not 0 */
};

/*
 * Applies layout[items...] with NumPy's rules: slices are clipped, an integer outside is BI_EBOUNDS, there is at most
 * one ellipsis, and items that are missing at the end stand for whole axes.
 */
BI_API int bi_layout_index(struct bi_layout *layout, const struct bi_index *items, int count, struct bi_error *err);

/*
 * Permutes the axes: axis i of the result is axis axes[i] of the layout. `axes` has ndim entries and names each axis
 * once; negative entries count from the end. NULL reverses the order of the axes.
 */
BI_API int bi_layout_permute(struct bi_layout *layout, const int *axes, struct bi_error *err);

/* Reverses one axis; negative axes count from the end. */
BI_API int bi_layout_flip(struct bi_layout *layout, int axis, struct bi_error *err);

/*
 * Reshapes in C order. One extent may be -1. BI_EINVAL: the number of elements would differ. BI_EUNSUPPORTED: the
 * result would need a copy.
 */
BI_API int bi_layout_reshape(struct bi_layout *layout, int ndim, const int64_t *shape, struct bi_error *err);

/*
 * Broadcasts like NumPy's broadcast_to: extents of 1 are repeated with stride 0, and new axes come first. BI_EINVAL:
 * the shape does not fit.
 */
BI_API int bi_layout_broadcast(struct bi_layout *layout, int ndim, const int64_t *shape, struct bi_error *err);

/*
 * Selects one field of a structured type by name. A field that is an array adds its axes at the end. BI_EDTYPE: the
 * type has no fields. BI_EINVAL: no field has that name.
 */
BI_API int bi_layout_field(struct bi_layout *layout, const char *name, struct bi_error *err);

/*
 * Changes the element type without changing bytes, like ndarray.view. One of these conditions holds, otherwise the
 * result is BI_EDTYPE:
 *
 *   - The new item size is the old one.
 *   - The new item size is smaller, and divides the old one. There is a last axis, and it has no gaps.
 *   - The new item size is larger, and divides the bytes of the last axis. There is a last axis, and it has no gaps.
 *
 * `descr` is NULL, or a text that outlives the layout. With a descr, `dtype` is VOID and has the size of all fields
 * together.
 */
BI_API int bi_layout_reinterpret(struct bi_layout *layout, struct bi_dtype dtype, const char *descr,
				 struct bi_error *err);

/*
 * Reads a descr text (a Python list of fields: "[('x', '<f4'), ('n', '<i2', (3,))]") and writes a VOID type that has
 * the size of all fields together. bi_layout_reinterpret, or the members descr and descr_length, give a layout the
 * fields. BI_EDTYPE: the text is no list of fields, or is not UTF-8. BI_EOVERFLOW: the size or the length does not fit.
 */
BI_API int bi_dtype_parse_descr(const char *descr, struct bi_dtype *out, struct bi_error *err);

/* Plans */

/*
 * The kinds of plans: name, text. The kind decides which code moves the bytes.
 *   NOTHING    no element
 *   LINEAR     one run of `unit` bytes
 *   ROWS       runs longer than one element, and none of the kinds below
 *   STRIDED    single elements along the last axis, in the order of the destination
 *   TILES      reordered in tiles that hold long runs of both sides: the source is read along axis `cross`
 *   BROADCAST  the last axis of the source has zero stride: each unit of the source is repeated
 *   FILL       all axes of the source have zero stride: one unit is repeated
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
 * A copy in canonical form: a nest of loops that moves `unit` bytes each time. Extents of 1 are removed, the
 * destination is written forwards, its strides fall from axis to axis, axes that continue each other are joined, and
 * elements that are neighbours on both sides form one unit. Two copies that move the same bytes have the same plan,
 * with two exceptions. If the sizes of their elements differ, one plan may be ROWS and the other STRIDED. The plans may
 * also differ if the axes of the destination are interleaved. No view of a dense array has such axes.
 */
struct bi_plan {
	int kind;                       /* enum bi_plan_kind */
	int ndim;                       /* 0 for NOTHING and LINEAR */
	int cross;                      /* TILES: the axis along which the source is read; else -1 */
	uint64_t unit;                  /* bytes of a run */
	uint64_t bytes;                 /* number of bytes that the plan moves */
	int64_t dst_offset;             /* bytes from the start of the destination's memory to the first run */
	int64_t src_offset;             /* bytes from the start of the source's memory to the first run */
	int64_t shape[BI_MAX_NDIM];     /* outermost first, each above 1 */
	int64_t dst_strides[BI_MAX_NDIM]; /* bytes, above 0, falling */
	int64_t src_strides[BI_MAX_NDIM]; /* bytes, any sign, 0 allowed */
	char reason[256];               /* why the plan has its kind: one sentence, no newline */
};

/*
 * Writes the plan that bi_copy makes for two layouts whose memories do not overlap. If `src` is NULL, writes the plan
 * that bi_fill makes for `dst`. The plan shows why a copy is slow or fast. The call only computes; it uses no device.
 * Some copies go through a third array or staging buffers (two contexts, overlap, packing). bi_copy makes a plan for
 * each part of such a copy, and this function does not write these plans. BI_EINVAL: the shapes differ. BI_EDTYPE: the
 * item sizes differ. BI_EOVERLAP: two elements of the destination share bytes. *out is not changed on failure.
 */
BI_API int bi_plan_make(const struct bi_layout *dst, const struct bi_layout *src, struct bi_plan *out,
			struct bi_error *err);

/* Devices */

/* Kinds of devices: name, text. */
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
 * Capabilities of devices that callers can use: name, bit, text.
 *   ASYNC            work may run after the call that enqueued it has returned
 *   UNIFIED          the device uses the host's memory chips
 *   OUT_OF_ORDER     out-of-order streams can be created
 *   PROFILING        the device measures the time of operations in nanoseconds
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
	char spec[24];                  /* device string that opens exactly this device, "opencl:0:1", "cuda:1" */
	char backend[12];
	int platform;                   /* OpenCL: number of the platform, else 0 */
	int ordinal;                    /* number of the device in its OpenCL platform, or in its backend */
	int kind;                       /* enum bi_device_kind */
	int usable;                     /* 0: it cannot be used; only spec, backend, platform and reason are filled */
	uint32_t capabilities;          /* enum bi_capability */
	uint64_t memory;                /* bytes, 0: unknown */
	char name[128];
	char platform_name[128];
	char platform_version[128];     /* as the driver reports it: "OpenCL 3.0 PoCL 3.1 ...", "CUDA 12.4" */
	char reason[256];               /* why the device cannot be used, otherwise "" */
};

/*
 * Writes up to `capacity` entries, and the number of all entries into *count. The list begins with the devices that can
 * be used, the best first; "#2" means position 2 of this list. Entries with a reason follow: one for each backend that
 * lists no device, one for each OpenCL platform without a usable device, and one for each device of a backend other than
 * OpenCL that cannot be used. An OpenCL device that cannot be used has no entry of its own. A missing driver is no
 * failure. `devices` may be NULL if capacity is 0. The list has at most 64 entries; further devices are left out.
 */
BI_API int bi_devices(struct bi_device *devices, int capacity, int *count, struct bi_error *err);

/* The largest count that bi_set_threads accepts. */
#define BI_MAX_THREADS 64

/*
 * bi_threads returns the number of threads that work on a large copy of host memory, or of memory of a device that runs
 * on this processor. The calling thread is one of them. The number is 1 in a forked child if the parent had such
 * threads, had opened a context, or had listed or located a device of a driver. Small copies neither start nor wake a
 * thread.
 *
 * bi_set_threads sets the number for the process, from the next copy on: 1..BI_MAX_THREADS, or 0 for the default. The
 * default is the environment variable BI_THREADS if it is such a number, otherwise the number of processors that the
 * main thread of the process may use, but at most 8, because more threads hardly make a copy faster. BI_EINVAL: any
 * other count.
 *
 * A thread that was started stays until the process calls exit or unloads the library. So if the main thread calls
 * pthread_exit, the process stays after the last thread of the program has ended, and SIGTERM does not end it. In such a
 * program the last thread calls exit, or the number is set to 1 before the first large copy.
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

/* Receives one line without a newline. Called on any thread, while the thread holds no lock of the library. */
typedef void (*bi_log_fn)(void *data, enum bi_log_level level, const char *message);

/* Kinds of memory that can be allocated. */
enum bi_memory_kind {
	BI_MEMORY_DEFAULT = 0,          /* the kind in the context's options, otherwise DEVICE */
	BI_MEMORY_DEVICE = 1,
	BI_MEMORY_PINNED = 2,           /* host memory that the device copies fastest; has a host pointer on CUDA */
	BI_MEMORY_UNIFIED = 3,          /* one address for host and device (SVM, managed; on CUDA never more than is
					   free); BI_EUNSUPPORTED without BI_CAP_SVM */
	BI_MEMORY_HOST = 4              /* plain host memory, in any context */
};

#define BI_POOL_DEFAULT BI__CAST(size_t, 0) /* of bi_options.pool_limit: 256 MiB */
#define BI_POOL_NONE (~BI__CAST(size_t, 0)) /* of bi_options.pool_limit: nothing is kept for reuse */

/* Start from BI_OPTIONS_INIT; members left 0 mean the default. */
struct bi_options {
	size_t struct_size;
	/*
	 * Device string: "auto", "host", "cuda", "cuda:1" (device), "opencl", "opencl:0:1" (platform, device),
	 * "opencl:0", "opencl:pocl", "cuda:H200" (part of the device's name, or of the platform's name or version, in
	 * any case), "#2" (position in bi_devices). NULL: the environment variable BI_DEVICE; if that is unset or
	 * empty, "auto". "auto" takes the best device that opens, and the host if none does. "cpu" is the host, "gpu"
	 * the first GPU that opens. With adopt_context, the string is "cuda", "opencl" or, for the device at position 1
	 * in the cl_context, "opencl:1".
	 */
	const char *device;
	/*
	 * A cl_context (retained) or CUcontext (the caller keeps it alive) to use; 0: the library opens one. On CUDA
	 * the library opens the primary context of the device, which other libraries share.
	 */
	uintptr_t adopt_context;
	/*
	 * A cl_command_queue (in-order, retained) or CUstream (1: legacy default; the caller keeps it alive) that
	 * becomes the context stream; 0: the library creates one. Needs adopt_context. CUDA's per-thread default stream
	 * (2) is refused, because it is another stream on each thread.
	 */
	uintptr_t adopt_stream;
	bi_release_fn release;          /* called once with release_data after the context has closed; or NULL */
	void *release_data;
	int debug;                      /* 1: wait for every operation; start allocations 64 bytes behind their handle
					   (not seen on CUDA, where the handle is the address of the element) */
	int profile;                    /* 1: record operations for bi_context_report. Each record takes about 100 bytes
					   until the context closes, and on a device one or two events until a report
					   has read it */
	bi_log_fn log;
	void *log_data;
	int log_level;                  /* highest level that is logged; 0: warnings and errors */
	size_t pool_limit;              /* bytes of free memory kept for reuse, or BI_POOL_…; retired memory has the
					   same limit, but at least 64 MiB (docs/ordering.md, row 15). On CUDA the
					   driver keeps freed device memory beyond the limit, until bi_context_trim
					   with 0, or with BI_POOL_NONE until its next synchronisation */
	int memory;                     /* enum bi_memory_kind that BI_MEMORY_DEFAULT stands for */
	/*
	 * The folder for compiled kernels; NULL: no file is written. The last folder of the path is made if it is
	 * missing. The folder is used only if it belongs to the user of the process, and nobody else can write it.
	 */
	const char *cache_directory;
	/*
	 * Called by the last release of the context, on its thread; or NULL. It calls close(context) once, which may
	 * block. It may do something before and after, such as dropping the lock of a runtime.
	 */
	void (*around_close)(void (*close)(struct bi_context *context), struct bi_context *context);
};

#define BI_OPTIONS_INIT \
	{ sizeof(struct bi_options), BI__NULL, 0, 0, BI__NULL, BI__NULL, 0, 0, BI__NULL, BI__NULL, 0, 0, 0, BI__NULL, \
	  BI__NULL }

/*
 * Opens a device, or adopts a context. `options` may be NULL. Ownership of release_data is transferred. "auto" and
 * "gpu" try one device after the other; any other string tries the first device that fits. BI_ENODEVICE: no device fits
 * the device string; the message has the reasons as far as they fit, and bi_devices has all of them. BI_EUNSUPPORTED:
 * options->memory is BI_MEMORY_UNIFIED, and the device has none. Other failures are those of the driver. A CUDA driver
 * may block until pending work of the CUcontext is complete, because it loads the library's kernels. Owned.
 */
BI_API int bi_context_open(const struct bi_options *options, struct bi_context **out, struct bi_error *err);
/*
 * Returns the shared context of a device. Two modules of a program that call this function work on one context, and
 * need no copy between each other. The first call opens the context. A later call opens the device too, compares, and
 * closes it again: keep the context instead of calling often. `device` is a device string as in bi_options, or NULL;
 * different strings for one device give the same context. The other options are the defaults. Errors as
 * bi_context_open. Any thread may call it. Owned: the last release closes the context. If a process forks after it has
 * used the library, each call in the child opens a context of its own.
 */
BI_API int bi_context_shared(const char *device, struct bi_context **out, struct bi_error *err);
/* Returns its argument, which gets one more reference. */
BI_API struct bi_context *bi_context_retain(struct bi_context *context);
/*
 * The last release closes the context: it blocks the calling thread until the work of retired memories is done
 * (`close`), and until streams of the context are empty as docs/ordering.md says (16.1 and 16.2). If that work waits
 * for something that only the calling thread does later, the call never returns. Streams, events, memories, views and
 * programs hold a reference, so the last release of one of these may close the context too. Host memory holds a
 * reference while a device of the context works on it, until bi_view_synchronize, a mapping or the next use sees the
 * end of that work.
 */
BI_API void bi_context_release(struct bi_context *context);

/* Returns the device. Borrowed. */
BI_API const struct bi_device *bi_context_device(const struct bi_context *context);
/*
 * After "auto" and "gpu", returns one line with newline for each device that did not open: its device string and the
 * reason. After "auto", also one for each entry of bi_devices that cannot be used. "" if there is none. Borrowed.
 */
BI_API const char *bi_context_notes(const struct bi_context *context);
/* Returns the context stream. It is in-order, and the home stream of memory allocated in the context. Borrowed. */
BI_API struct bi_stream *bi_context_stream(const struct bi_context *context);
/* Return the cl_context or CUcontext, and the cl_device_id or CUdevice. 0 on the host. Borrowed. */
BI_API uintptr_t bi_context_handle(const struct bi_context *context);
BI_API uintptr_t bi_context_device_handle(const struct bi_context *context);

/* Any function. The caller converts it to its own type. */
typedef void bi_function(void);
/*
 * Returns a function of the driver library that the library has opened, such as "clSetKernelArg" or "cuLaunchKernel":
 * a program that calls the driver links no vendor library. CUDA: the name of the symbol, with its version
 * ("cuMemAlloc_v2"). Returns NULL on the host, and if the driver does not have the function. The driver library is
 * never unloaded.
 */
BI_API bi_function *bi_context_symbol(const struct bi_context *context, const char *name);

/*
 * Makes the driver's context current on the calling thread, for libraries that use CUDA's current context. Does nothing
 * if the context is current already, or if its backend is not CUDA.
 *
 * bi_context_push_current sets *pushed to 1 if bi_context_pop_current has something to undo, otherwise and after a
 * failure to 0. bi_context_pop_current is called on the same thread with that number. It undoes the push, and does
 * nothing if `pushed` is 0 or the context is not current. `context` may be NULL in bi_context_pop_current.
 */
BI_API int bi_context_push_current(struct bi_context *context, int *pushed, struct bi_error *err);
BI_API void bi_context_pop_current(struct bi_context *context, int pushed);

/*
 * Gives free memory back to the driver until at most `keep` bytes are pooled, and frees retired memories whose work is
 * complete. If `keep` is 0, also frees unused staging buffers and drops caches. With SIZE_MAX, all pooled memory stays.
 * The library does not wait for work. The CUDA driver may wait when it frees pinned memory, or device memory on a
 * device without memory pools (docs/ordering.md, row 28).
 */
BI_API int bi_context_trim(struct bi_context *context, size_t keep, struct bi_error *err);

/*
 * Writes a report as JSON (docs/report.md; stable): the operations recorded while profiling ran, and counters of
 * blocking waits, pool, caches and retired memories. May block the calling thread until recorded work is complete
 * (`report`). Owned; free it with bi_report_free.
 */
BI_API int bi_context_report(struct bi_context *context, char **out, struct bi_error *err);
/* Stop and continue the recording of operations. They do nothing if the options had no `profile`. */
BI_API void bi_context_profile_pause(struct bi_context *context);
BI_API void bi_context_profile_resume(struct bi_context *context);
/* Frees the text of a report. NULL is safe. */
BI_API void bi_report_free(char *report);

/* Streams and events */

enum bi_stream_flag { BI_STREAM_IN_ORDER = 0, BI_STREAM_OUT_OF_ORDER = 1 };

/*
 * Creates a stream. BI_EUNSUPPORTED: the device has no out-of-order streams. If there are many streams, a CUDA driver
 * may block until pending work is complete. Owned.
 */
BI_API int bi_stream_create(struct bi_context *context, unsigned flags, struct bi_stream **out, struct bi_error *err);
/*
 * Wraps a cl_command_queue or CUstream of this context. The library retains a cl_command_queue until the stream is
 * released, and an out-of-order one possibly until the context is closed (docs/ordering.md, 16.1). The caller keeps a
 * CUstream alive until `release` is called. CUDA: 1 is the legacy default stream, 2 is the per-thread default stream of
 * the calling thread. `release` (may be NULL) is called when the last reference is released. Ownership of release_data
 * is transferred. BI_EINVAL: `handle` is 0, or the queue belongs to another context, or to another device than the
 * opened one. BI_EUNSUPPORTED: the host has no streams to wrap. A number that is no stream crashes the driver and
 * cannot be checked. Owned.
 */
BI_API int bi_stream_wrap(struct bi_context *context, uintptr_t handle, bi_release_fn release, void *release_data,
			  struct bi_stream **out, struct bi_error *err);
/* Returns its argument, which gets one more reference. A context stream shares the reference count of its context. */
BI_API struct bi_stream *bi_stream_retain(struct bi_stream *stream);
/*
 * OpenCL: the last release may block for a short time if the library keeps more than 256 queues of released streams
 * (`close`; docs/ordering.md, 16.1).
 */
BI_API void bi_stream_release(struct bi_stream *stream);
/* Returns the context. Borrowed. */
BI_API struct bi_context *bi_stream_context(const struct bi_stream *stream);
/* Returns the cl_command_queue or CUstream, or 0 on the host. Borrowed. */
BI_API uintptr_t bi_stream_handle(const struct bi_stream *stream);
/*
 * Blocks the calling thread until all work on the stream is done. BI_EPRODUCER: foreign work has failed, and the work
 * before it has ended (docs/ordering.md, 18.3).
 */
BI_API int bi_stream_synchronize(struct bi_stream *stream, struct bi_error *err);
/*
 * Makes later work on `stream` wait for the work that is now on each of `others`. BI_EINVAL: a stream of `others`
 * belongs to another native context. BI_ECAPTURE: `stream` is in a graph capture, and a stream of `others` is not in
 * the same capture. After a failure `stream` may wait for some of `others`. `others` may be NULL if `count` is 0.
 */
BI_API int bi_stream_join(struct bi_stream *stream, struct bi_stream *const *others, size_t count,
			  struct bi_error *err);
/*
 * Makes later work on `stream` wait for `event`. With CUDA, a stream joins the graph capture in which the event was
 * recorded. BI_EINVAL: the event belongs to another native context. BI_EPRODUCER: the work before the event has failed.
 * BI_ECAPTURE: the stream is in a capture, and the event is pending and was recorded by bi_event_record outside of
 * captures.
 */
BI_API int bi_stream_wait(struct bi_stream *stream, struct bi_event *event, struct bi_error *err);

/* Records an event that is complete when all work that is now on the stream is done. Owned. */
BI_API int bi_event_record(struct bi_stream *stream, struct bi_event **out, struct bi_error *err);
/*
 * Wraps a cl_event of this context or a recorded CUevent. The library retains a cl_event, and flushes its queue unless
 * the event is complete: the caller keeps the queue alive until this call returns. The caller keeps a CUevent alive as
 * long as the wrap. BI_EINVAL: the handle is 0, or the cl_event belongs to
 * another context. BI_EUNSUPPORTED: the host has no events to wrap. Owned.
 */
BI_API int bi_event_wrap(struct bi_context *context, uintptr_t handle, struct bi_event **out, struct bi_error *err);
/* Returns its argument, which gets one more reference. */
BI_API struct bi_event *bi_event_retain(struct bi_event *event);
BI_API void bi_event_release(struct bi_event *event);
/* Returns the cl_event or CUevent, or 0 on the host. Borrowed. */
BI_API uintptr_t bi_event_handle(const struct bi_event *event);
/*
 * Writes 1 into *done if the event is complete, otherwise 0. BI_EPRODUCER: the work has failed; work before it in its
 * queue may still run (docs/ordering.md, 18.3).
 */
BI_API int bi_event_query(struct bi_event *event, int *done, struct bi_error *err);
/*
 * Blocks the calling thread until the event is complete. BI_EPRODUCER: the work has failed, and the work before it in
 * its queue has ended (docs/ordering.md, 18.3).
 */
BI_API int bi_event_synchronize(struct bi_event *event, struct bi_error *err);

/* Memory */

/* Allocates memory, from the pool if possible. nbytes may be 0. The bytes are undefined. Retains the context. Owned. */
BI_API int bi_memory_create(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind,
			    struct bi_memory **out, struct bi_error *err);

enum bi_wrap_flag {
	BI_WRAP_READONLY = 1,           /* views of the memory are read-only */
	BI_WRAP_STEAL = 2,              /* cl_mem: take ownership of the caller's reference instead of retaining */
	/*
	 * The caller orders all work on the memory, the library's own included. The memory has no home stream, and the
	 * library does not wait for work on it. bi_use_begin and bi_use_end enqueue nothing for it. The last release
	 * frees it immediately.
	 */
	BI_WRAP_UNORDERED = 4,
	BI_WRAP_UNCHECKED = 8           /* CUDA: handle and nbytes are not checked with the driver */
};

/* Memory of a producer outside of the library. Start from BI_FOREIGN_INIT. */
struct bi_foreign {
	size_t struct_size;
	/*
	 * BI_HANDLE_HOST in any context. BI_HANDLE_CL_MEM and BI_HANDLE_CL_SVM in OpenCL contexts. BI_HANDLE_CUDA in
	 * CUDA contexts.
	 */
	enum bi_handle_kind kind;
	uintptr_t handle;               /* may be 0 for host memory of 0 bytes */
	size_t nbytes;                  /* 0 with a cl_mem: the size of the buffer */
	unsigned flags;                 /* enum bi_wrap_flag */
	/*
	 * The stream on which the memory is ready: the producer's stream, wrapped with bi_stream_wrap. The library
	 * retains it. It becomes the home stream, and the memory is pending. There are two exceptions. For CUDA's
	 * per-thread default stream, the context stream is the home stream, and waits for it. Host memory has no home
	 * stream; its next use waits for the work on `stream`. NULL: the context stream is the home stream, and nothing
	 * is pending.
	 */
	struct bi_stream *stream;
	/* The first use of the memory waits for these events. The library retains them. NULL if there are none. */
	struct bi_event *const *events;
	size_t event_count;
	/*
	 * Called once when the memory is freed, at the latest when the context is closed; or NULL. It is not called for
	 * memory that is never freed (docs/ordering.md, 19.2 and 27.4). Ownership of release_data is transferred.
	 * release_data should hold no reference to the context: pending work can delay the callback until the context
	 * closes, and the reference would keep the context open.
	 */
	bi_release_fn release;
	void *release_data;
};

#define BI_FOREIGN_INIT \
	{ sizeof(struct bi_foreign), BI_HANDLE_HOST, 0, 0, 0, BI__NULL, BI__NULL, 0, BI__NULL, BI__NULL }

/*
 * Wraps memory without a copy. The producer keeps it alive until `release` is called. Retains the context. Owned.
 * BI_EBOUNDS: `handle` + `nbytes` is beyond the address space (not tested for a cl_mem, which is no address).
 *
 * cl_mem: retained once. If it is a sub-buffer, the library retains the root, but offsets of views count from the start
 * of the sub-buffer. A cl_mem that is no buffer is refused with BI_EUNSUPPORTED, a cl_mem of another context with
 * BI_EINVAL, and a cl_mem of less than nbytes bytes with BI_EBOUNDS. A number that is not a live cl_mem crashes the
 * driver and cannot be checked.
 *
 * SVM pointer: nbytes must not be 0.
 *
 * CUDA pointer: checked with the driver. BI_EINVAL: CUDA does not know the memory, or it belongs to another device or
 * context. BI_EBOUNDS: it ends before nbytes. Pinned, registered and managed memory has a host pointer. Device memory
 * may consist of several mapped ranges that follow each other.
 *
 * A kind of handle that the context cannot wrap is BI_EUNSUPPORTED, on the host BI_EINVAL. BI_WRAP_STEAL has an effect
 * only on a cl_mem, because no other kind has a reference to take over.
 */
BI_API int bi_memory_wrap(struct bi_context *context, const struct bi_foreign *foreign, struct bi_memory **out,
			  struct bi_error *err);
/* Returns its argument, which gets one more reference. */
BI_API struct bi_memory *bi_memory_retain(struct bi_memory *memory);
/*
 * The last release frees the memory immediately if nothing is pending on it, or if its producer named a stream or gave
 * the function `done` (abi.h). Otherwise the memory is retired. It is freed by the next call that sees that its work is
 * complete: an allocation, import, wrap, copy, fill, launch or bi_use_begin in its context, bi_view_synchronize,
 * bi_stream_synchronize, bi_event_synchronize, bi_context_trim or the close of the context (docs/ordering.md, rows 13
 * to 15). Memory that the library allocated and never exported enters the pool instead, if it fits into the limit of the
 * pool. The pool then frees what entered it first, until the limit holds (15.2).
 */
BI_API void bi_memory_release(struct bi_memory *memory);
/* Return the size in bytes, and the context. The context is borrowed. */
BI_API size_t bi_memory_nbytes(const struct bi_memory *memory);
BI_API struct bi_context *bi_memory_context(const struct bi_memory *memory);
/* Returns 1 if the memory is host memory, in any context. */
BI_API int bi_memory_is_host(const struct bi_memory *memory);

/* Views */

enum bi_view_flag { BI_VIEW_READONLY = 1 };

/*
 * Makes a view: a memory seen through a layout. A view never changes. Copies layout->descr. Retains the memory.
 * BI_EBOUNDS: a byte that the layout can reach lies outside of the memory, or the offset of an empty layout does.
 * Owned.
 */
BI_API int bi_view_create(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags,
			  struct bi_view **out, struct bi_error *err);
/*
 * Wraps memory and makes a view of it in one call. The offset of the layout counts from the start of the memory. The
 * caller may fill the layout by hand, because it is checked as in bi_view_create. Ownership of foreign->release_data is
 * transferred. BI_EINVAL: the flags have BI_WRAP_STEAL. Owned.
 */
BI_API int bi_view_wrap(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
			struct bi_view **out, struct bi_error *err);
/*
 * Allocates a dense array in C order. The bytes are undefined. For a structured array, use the VOID type of
 * bi_dtype_parse_descr, then bi_view_reinterpret with the descr. The first element is the first byte of the handle
 * (bi_view_native: offset 0), unless the context has the option `debug`, which puts it at byte 64. On CUDA the offset
 * is 0 with `debug`, too, because the handle is the address of the first element. Owned.
 */
BI_API int bi_view_empty(struct bi_context *context, struct bi_dtype dtype, int ndim, const int64_t *shape,
			 struct bi_view **out, struct bi_error *err);
/*
 * Makes a view of dense host bytes without a copy. The memory stays host memory; bi_copy moves it to a device. The
 * caller keeps the bytes alive until `release` is called. Without `release`, the caller keeps them alive until all
 * references are released and pending work is done. Ownership of release_data is transferred. Owned.
 */
BI_API int bi_view_wrap_host(struct bi_context *context, void *data, struct bi_dtype dtype, int ndim,
			     const int64_t *shape, bi_release_fn release, void *release_data, struct bi_view **out,
			     struct bi_error *err);
/* Returns its argument, which gets one more reference. */
BI_API struct bi_view *bi_view_retain(struct bi_view *view);
/* The last release of a view releases its reference to the memory, as bi_memory_release does. */
BI_API void bi_view_release(struct bi_view *view);
/*
 * Makes a view of the same memory through another layout, usually a changed copy of the layout that bi_view_layout
 * writes. A view of a read-only view is read-only. The functions below apply the layout function of the same name.
 * Owned.
 */
BI_API int bi_view_with_layout(const struct bi_view *view, const struct bi_layout *layout, struct bi_view **out,
			       struct bi_error *err);
BI_API int bi_view_index(const struct bi_view *view, const struct bi_index *items, int count, struct bi_view **out,
			 struct bi_error *err);
/*
 * Applies one item to one axis and keeps the others whole. Negative axes count from the end. INTEGER: the axis is
 * dropped. SLICE: the axis is cut. NEWAXIS: an axis of extent 1 is put in front of `axis`, which may be ndim; -1 is
 * ndim. BI_EINVAL: there is no such axis, or the item is an ellipsis. Owned.
 */
BI_API int bi_view_index_axis(const struct bi_view *view, int axis, struct bi_index item, struct bi_view **out,
			      struct bi_error *err);
/* Drops all axes of extent 1. Owned. */
BI_API int bi_view_squeeze(const struct bi_view *view, struct bi_view **out, struct bi_error *err);
BI_API int bi_view_permute(const struct bi_view *view, const int *axes, struct bi_view **out, struct bi_error *err);
BI_API int bi_view_flip(const struct bi_view *view, int axis, struct bi_view **out, struct bi_error *err);
BI_API int bi_view_reshape(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
			   struct bi_error *err);
/* The result is always read-only, because several of its elements may share bytes. Owned. */
BI_API int bi_view_broadcast(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
			     struct bi_error *err);
BI_API int bi_view_field(const struct bi_view *view, const char *name, struct bi_view **out, struct bi_error *err);
/* Copies `descr`, which need not outlive the view. Owned. */
BI_API int bi_view_reinterpret(const struct bi_view *view, struct bi_dtype dtype, const char *descr,
			       struct bi_view **out, struct bi_error *err);

/* Fills *layout. Its descr is borrowed from the view. Offsets count from the start of the memory. */
BI_API void bi_view_layout(const struct bi_view *view, struct bi_layout *layout);
/* Return properties of the view. Pointers are borrowed. Shape and strides are NULL if ndim is 0. */
BI_API struct bi_memory *bi_view_memory(const struct bi_view *view);
BI_API int bi_view_ndim(const struct bi_view *view);
BI_API const int64_t *bi_view_shape(const struct bi_view *view);
BI_API const int64_t *bi_view_strides(const struct bi_view *view);
BI_API struct bi_dtype bi_view_dtype(const struct bi_view *view);
BI_API unsigned bi_view_flags(const struct bi_view *view);

/* The handle behind a view. */
struct bi_native {
	enum bi_handle_kind kind;
	uintptr_t handle;               /* 0 only if the elements have no bytes */
	size_t offset;                  /* bytes from the start of `handle` to element [0, ..., 0]; CUDA: 0 */
	size_t nbytes;                  /* from the start of `handle` to the end of the memory; 0 without a handle */
};

/*
 * Writes the handle. The memory counts as exported from now on, and never returns to the pool. Does not wait for work;
 * the first call may wait for a call of another thread that works on the memory.
 */
BI_API void bi_view_native(const struct bi_view *view, struct bi_native *out);

/*
 * Returns the address of element [0, ..., 0], or NULL if the CPU cannot use the memory directly. A memory whose address
 * was returned counts as exported. Does not wait for work; the first call may wait for a call of another thread that
 * works on the memory. Borrowed.
 */
BI_API void *bi_view_host_pointer(const struct bi_view *view);

/* Ordering */

/* How work accesses a memory. A use needs at least one of the bits. */
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
 *     bi_use_native(in, &handle);
 *     ... enqueue the kernel on the stream ...
 *     rc = bi_use_end(stream, uses, 2, &err);
 *
 * bi_use_begin: work enqueued on `stream` from now on runs after all work on each of the memories. bi_use_end: later
 * work on each of the memories runs after all work that is now on `stream`. bi_use_begin blocks the calling thread if
 * too much memory is retired (`pressure`), or if a device that shares no events with `stream` still uses a host memory
 * (`cross`). bi_use_end blocks if the driver refuses to record the order (`failure`). If no bi_use_begin came before,
 * bi_use_end also blocks as bi_use_begin does (`cross`). Up to 32 memories are one step: `stream` waits once for what
 * they share (docs/ordering.md, rows 8 and 9).
 *
 * Uses that only read do not wait for each other if the library allocated the device memory and never exported it, and
 * the streams belong to its context (docs/ordering.md, row 38). So a use that writes must say so. Uses of all other
 * memory are ordered as if each use wrote. bi_view_native and bi_view_export export the memory; bi_use_native,
 * bi_launch and copies do not.
 *
 * All arguments are checked before anything is enqueued. `uses` may be NULL if `count` is 0. BI_EINVAL: a view is NULL,
 * an access has no known bit or an unknown one, or the stream cannot reach the memory. BI_EREADONLY: a use writes to a
 * read-only view. BI_EBUSY (bi_use_begin only): the memory is mapped for writing, or it is mapped and the use writes.
 *
 * If bi_use_begin fails, the stream may already wait for some of the memories. Nothing has to be undone. If bi_use_end
 * fails for one memory, the order of the remaining memories is still recorded. With BI_EPRODUCER and BI_ECAPTURE the
 * order of the memory that failed is not recorded: synchronise the stream before you release this memory. If
 * `stream` has nothing to wait for, only bi_use_end can return BI_ECAPTURE.
 */
BI_API int bi_use_begin(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err);
BI_API int bi_use_end(struct bi_stream *stream, const struct bi_use *uses, size_t count, struct bi_error *err);
/*
 * Writes the handle for one use. The caller enqueues work with it after bi_use_begin and before bi_use_end, and not
 * later. Until bi_use_end, the caller makes no other call that uses the memory. The memory does not count as exported
 * (bi_view_native), so its reads run side by side, and it returns to the pool. Does not wait.
 */
BI_API void bi_use_native(const struct bi_view *view, struct bi_native *out);
/* Blocks the calling thread until all work on the memory is done (`synchronize`). */
BI_API int bi_view_synchronize(const struct bi_view *view, struct bi_error *err);

/* Operations */

/*
 * Operations check all arguments before they enqueue work. An operation on arrays without elements succeeds without a
 * driver call.
 *
 * If `stream` is NULL, the work runs on the home stream of the destination, or of the source if the destination is host
 * memory. Otherwise the work runs on `stream`, which must reach a device memory of the operation: it belongs to the
 * context of this memory, or to a context with the same native context. In an operation on host memory alone, `stream`
 * belongs to any host context. BI_EINVAL: neither holds. A copy between pinned memory of one CUDA context and memory of
 * another context runs on a stream of the other context. If `stream` belongs to the context of the pinned memory, the
 * copy runs after earlier work on `stream` and before later work on it (docs/ordering.md, 30.3 and 30.4).
 *
 * The calling thread itself copies between host memories. On a CPU device it also does copies and fills of at most 16
 * MiB if no other work can be pending on either side (docs/ordering.md, row 36; the environment variable
 * BI_INLINE_LIMIT sets the size in bytes).
 *
 * BI_EBUSY: a memory is mapped for writing, or the operation writes to a memory that is mapped for reading.
 * BI_EPRODUCER: work of a producer that must come first has failed. If the driver fails during the operation, later
 * work is still ordered, and the contents of the destination are undefined.
 */

/*
 * Copies the bytes of all elements: dst[...] = src[...]. Shapes and item sizes are equal; strides and memories are
 * arbitrary. No number is converted, and no bytes are swapped: a copy of >f8 to <f8 has other numbers. If source and
 * destination overlap, the result is as if the source had been copied aside first. BI_EINVAL: the shapes differ.
 * BI_EDTYPE: the item sizes differ. BI_EREADONLY: `dst` is read-only. BI_EOVERLAP: two elements of `dst` share bytes.
 *
 * Two kinds of copies go through staging buffers in chunks of a few megabytes: copies between two contexts that share
 * no events, and strided copies between the host and a device that copies only dense bytes. They block the calling
 * thread while chunks are on the way (`cross`). Work of another thread on the same memory can run between two chunks.
 * If another thread maps the memory meanwhile, the call fails with BI_EBUSY at the next chunk. A caller that needs one
 * step keeps other threads away until the call returns.
 */
BI_API int bi_copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream,
		   struct bi_error *err);

/*
 * Return an array that has the elements of `view`, for callers that need a certain device or layout.
 *
 *     bi_view_clone        a new array, dense in C order and writable, in `context`. If `context` is NULL, it is in the
 *                          context and the kind of memory (device or host) of `view`
 *     bi_view_contiguous   `view` itself if it is dense in C order, otherwise a clone
 *     bi_view_to_device    `view` itself if work on the context stream of `context` can use its memory, otherwise a
 *                          clone in `context`
 *
 * A result that is `view` itself is another reference to it. A clone is filled by bi_copy without a stream, so the
 * functions block only where bi_copy blocks. Owned.
 */
BI_API int bi_view_clone(const struct bi_view *view, struct bi_context *context, struct bi_view **out,
			 struct bi_error *err);
BI_API int bi_view_contiguous(const struct bi_view *view, struct bi_view **out, struct bi_error *err);
BI_API int bi_view_to_device(const struct bi_view *view, struct bi_context *context, struct bi_view **out,
			     struct bi_error *err);

/*
 * Sets all elements to the item at `element`, which is read before the function returns and may lie in the array. No
 * enqueued work may write the item. Errors as bi_copy.
 */
BI_API int bi_fill(const struct bi_view *view, const void *element, struct bi_stream *stream, struct bi_error *err);

/*
 * Read and write one element; `index` as in bi_layout_element. Reading blocks the calling thread (`value`). BI_EBOUNDS:
 * there is no such element. BI_EREADONLY: bi_view_set_element was called with a read-only view.
 */
BI_API int bi_view_get_element(const struct bi_view *view, const int64_t *index, void *element, struct bi_error *err);
BI_API int bi_view_set_element(const struct bi_view *view, const int64_t *index, const void *element,
			       struct bi_error *err);

/*
 * Copy the whole array from and to dense bytes in C order. BI_EBOUNDS: `nbytes` is not the dense size of the array.
 * BI_EREADONLY, BI_EOVERLAP: as for the destination of bi_copy.
 * Both block the calling thread (`value`), so the caller may use the bytes afterwards. No enqueued work may use the
 * bytes when the function is called. The same holds for the bytes of bi_view_get_element and bi_view_set_element.
 *
 * BI_EUNFINISHED (these functions, bi_view_get_element, bi_views_read and bi_views_write): the driver failed after work
 * had been enqueued, and refused to wait for it. The device may still read or write the bytes until bi_view_synchronize
 * for the same view returns BI_OK (memory with BI_WRAP_UNORDERED: bi_stream_synchronize for the context stream). Until
 * then the bytes must stay valid, and the caller must not write them. After bi_view_get_element, bi_view_read or
 * bi_views_read the caller must not read them either. After every other status, no work uses the bytes.
 * bi_view_set_element reads the element before it enqueues work.
 */
BI_API int bi_view_write(const struct bi_view *view, const void *bytes, size_t nbytes, struct bi_error *err);
BI_API int bi_view_read(const struct bi_view *view, void *bytes, size_t nbytes, struct bi_error *err);

/* A whole array and the dense bytes that it is copied from or to. */
struct bi_transfer {
	const struct bi_view *view;     /* borrowed for the call */
	void *bytes;                    /* bi_views_write only reads them */
	size_t nbytes;
};

/*
 * Do bi_view_write and bi_view_read for several arrays. Up to 32 copies are enqueued before the calling thread waits,
 * so that the copies of one stream need only one wait for their end. All arguments are checked before anything is
 * enqueued. If an array fails, the arrays behind it may have been copied or not. After BI_EUNFINISHED, the rules above
 * hold for each array of the call. `transfers` may be NULL if `count` is 0.
 */
BI_API int bi_views_write(const struct bi_transfer *transfers, size_t count, struct bi_error *err);
BI_API int bi_views_read(const struct bi_transfer *transfers, size_t count, struct bi_error *err);

enum bi_map_mode {
	BI_MAP_READ = 1,
	BI_MAP_WRITE = 2,
	BI_MAP_DISCARD = 4              /* with WRITE: every element will be written; the old bytes are undefined */
};

/*
 * Makes the bytes of a view accessible to the CPU. Blocks the calling thread until pending work is complete (`map`).
 * Host memory, and memory of CUDA with a host pointer, is used in place. Other memory of CUDA is copied to pinned
 * memory and back. Memory of OpenCL is mapped by the driver, or used in place (docs/ordering.md, 21.3). Any thread may
 * use and end a mapping. If the elements have no bytes, a mapping maps nothing, and succeeds. BI_EREADONLY: the mode
 * has WRITE, and the view is read-only. BI_EINVAL: the mode has DISCARD without WRITE, or with READ. BI_ECAPTURE: the
 * home stream is being captured.
 *
 * While a memory is mapped for reading, the library may read it and map it again for reading; work that writes to it
 * fails with BI_EBUSY. While it is mapped for writing, each copy, fill, launch, element access, bi_use_begin, export
 * and further mapping fails with BI_EBUSY. Both rules hold for the whole memory, not only for the bytes of the view.
 * bi_view_native and bi_view_host_pointer cannot fail: their callers announce their work with bi_use_begin.
 *
 * Retains the view. Owned.
 */
BI_API int bi_view_map(const struct bi_view *view, unsigned mode, struct bi_map **out, struct bi_error *err);
/*
 * Returns the address of element [0, ..., 0], or NULL if the elements have no bytes. The strides are those of the view.
 * Borrowed.
 */
BI_API void *bi_map_data(const struct bi_map *map);
/*
 * Ends the mapping, or does nothing if `map` is NULL. Later work on the memory sees the bytes that the CPU wrote.
 * Blocks only if the driver refuses the call (`failure`). Only one thread may unmap a mapping. Takes ownership of
 * `map`, on failure as well. BI_ECAPTURE is the exception: the memory is still mapped, and the caller still owns `map`.
 * Call bi_unmap again when the capture has ended, or after bi_map_abandon (binding.h), which gives up the bytes.
 */
BI_API int bi_unmap(struct bi_map *map, struct bi_error *err);

/* Exchange */

/*
 * Fills *out with the array, the stream of pending work, and a reference that out->release releases. The memory counts
 * as exported. The struct is read-only if the view is. The caller has set *out to BI_EXCHANGE_INIT; an array that is in
 * *out is overwritten without a release. `wishes` are 0 or BI_ACQUIRE_ bits (abi.h). In two cases the call blocks the
 * calling thread until pending work is complete (`export`), and names no stream: with BI_ACQUIRE_READY, and for host
 * memory and pinned memory that the library allocated for CUDA. The first export may wait for a call of another thread
 * that works on the memory. Memory whose stream was named counts as pending until its last release, because the
 * consumer may make this stream wait for its work at any time.
 *
 * With BI_ACQUIRE_BORROW *out holds no reference: the view must outlive *out, and out->release only marks the struct as
 * released.
 *
 * BI_EVERSION: the caller's version or struct_size is not known. BI_EUNSUPPORTED: a demand is not known. BI_EDTYPE: the
 * exchange has no name for the element type. BI_EBUSY: the memory is mapped for writing. After a failure out->release
 * is NULL.
 */
BI_API int bi_view_export(const struct bi_view *view, uint32_t wishes, struct bi_exchange *out, struct bi_error *err);

enum bi_import_flag {
	BI_IMPORT_UNORDERED = 1         /* ignore stream, event and done: the caller orders the producer's work */
};

/*
 * Makes a view of an array that a producer describes. Takes ownership of *exchange on success: its contents are moved,
 * exchange->release is NULL afterwards, and the producer's release is called when the memory is freed. Owned.
 *
 * `context` must reach the memory. Host memory: any context. OpenCL memory: a context with the cl_context of the
 * struct. CUDA memory: a context of the same device; if the struct names a CUcontext and the memory is not managed,
 * also with this CUcontext. BI_EINVAL: `context` does not reach the memory, or the structure contradicts itself or was
 * released. BI_EVERSION: the version or struct_size is not known. BI_EOVERFLOW: an offset does not fit. BI_EDTYPE: the
 * element type is not known. BI_EBOUNDS: an element lies outside of the memory. BI_EUNSUPPORTED: a flag below bit 16 or
 * a kind is not known, or the device cannot wait for an order of this kind. If bi_view_export of this library made the
 * struct, the result is another view of the same memory, and the struct is released immediately.
 */
BI_API int bi_view_import(struct bi_context *context, struct bi_exchange *exchange, unsigned flags,
			  struct bi_view **out, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
