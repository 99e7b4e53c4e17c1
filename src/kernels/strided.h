/*
 * The strided copy kernel, written once. The macros below are OpenCL C and plain C at the same time: the OpenCL backend
 * turns them into program text, a test pastes them behind `#define kernel`, `#define global`, the short type names and
 * a get_global_id of its own.
 *
 * One work-item moves one unit of 1, 2, 4 or 8 bytes, as an unsigned integer whatever the element type is. Offsets and
 * steps are counted in units, the axes go from the innermost to the outermost.
 */
#ifndef BI_KERNELS_STRIDED_H
#define BI_KERNELS_STRIDED_H

#include <stdint.h>

/* Axes of one launch. */
#define BI__NEST_NDIM 16

/* Work-items of one group; the last group is filled up with work-items that do nothing. */
#define BI__NEST_GROUP 64

/* Bytes of a unit, its type. */
#define BI__STRIDED_UNITS(X) X(1, uchar) X(2, ushort) X(4, uint) X(8, ulong)

#define BI__NEST_STRUCT \
	struct bi__nest { \
		bi__i64 count; \
		bi__i64 dst; \
		bi__i64 src; \
		bi__i64 ndim; \
		bi__i64 shape[BI__NEST_NDIM]; \
		bi__i64 dst_steps[BI__NEST_NDIM]; \
		bi__i64 src_steps[BI__NEST_NDIM]; \
	};

#define BI__STRIDED_KERNEL(size, type) \
	kernel void bi__strided_##size(global type *dst, global const type *src, struct bi__nest nest) \
	{ \
		bi__i64 rest = (bi__i64)get_global_id(0); \
		bi__i64 to = nest.dst; \
		bi__i64 from = nest.src; \
		if (rest >= nest.count) \
			return; \
		for (int i = 0; i < nest.ndim; i++) { \
			bi__i64 outer = rest / nest.shape[i]; \
			bi__i64 at = rest - outer * nest.shape[i]; \
			to += at * nest.dst_steps[i]; \
			from += at * nest.src_steps[i]; \
			rest = outer; \
		} \
		dst[to] = src[from]; \
	}

/* The host's view of a launch: the same struct. */
typedef int64_t bi__i64;
BI__NEST_STRUCT

/* Program text. */
#define BI__STRIDED_QUOTE(...) #__VA_ARGS__
#define BI__STRIDED_EXPAND(...) BI__STRIDED_QUOTE(__VA_ARGS__)
#define BI__STRIDED_KERNEL_TEXT(size, type) BI__STRIDED_EXPAND(BI__STRIDED_KERNEL(size, type)) "\n"
#define BI__STRIDED_SOURCE \
	"typedef long bi__i64;\n" BI__STRIDED_EXPAND(BI__NEST_STRUCT) "\n" BI__STRIDED_UNITS(BI__STRIDED_KERNEL_TEXT)

#endif
