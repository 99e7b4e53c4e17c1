/*
 * From a plan to launches of the kernels of strided.h: pure arithmetic, shared by the backends, without a driver and
 * without allocation.
 *
 *	struct bi__launches launches;
 *	struct bi__launch launch;
 *
 *	bi__launches_copy(&launches, plan, dst, src, &limits);
 *	while (bi__launches_next(&launches, &launch))
 *		... enqueue it ...
 *
 * What a backend does for each launch: it takes the kernel named bi__kernel_name(launch.kernel), sets
 *
 *	argument 0    pointer to the destination
 *	argument 1    pointer to the source (not for fills)
 *	the last one  launch.arguments, launch.nbytes bytes by value
 *
 * and enqueues `groups` groups along one dimension of `threads[0]` by `threads[1]` threads. (OpenCL counts threads, not
 * groups: a global size of groups * threads[0] by threads[1].) Kernels have static shared memory only.
 *
 * The pointers must be multiples of BI__LAUNCH_ALIGN. `dst` and `src` are byte offsets from them, to which those of
 * the plan are added. A buffer object is such a pointer, its offset is that of the block in it. Of a device address the
 * lowest bits are the offset: the pointer is address & ~(BI__LAUNCH_ALIGN - 1), the offset is
 * address & (BI__LAUNCH_ALIGN - 1). The two sides may be one buffer; no byte is both read and written.
 */
#ifndef BI_KERNELS_LAUNCH_H
#define BI_KERNELS_LAUNCH_H

#include "common/plan/plan.h"
#include "kernels/strided.h"

typedef uint8_t bi__u8;
typedef uint16_t bi__u16;
typedef uint32_t bi__u32;
typedef uint64_t bi__u64;
typedef int32_t bi__i32;
typedef int64_t bi__i64;
typedef struct {
	_Alignas(16) bi__u64 low;
	bi__u64 high;
} bi__u128;

BI__KERNEL_TYPES

#define BI__LAUNCH_ALIGN 16

/* Units, or tiles, of one launch at most. */
#define BI__LAUNCH_COUNT INT32_MAX

/*
 * The entry points, without bi__: of each family one for each unit, in the order of BI__UNITS; behind them the tiles of
 * words, in the order of BI__WORDS.
 */
#define BI__KERNEL_FAMILIES(X) X(strided32) X(strided64) X(fill) X(tile)

enum bi__kernel_family {
#define BI__KERNEL_FAMILY_ENUM(name) BI__KERNEL_##name,
	BI__KERNEL_FAMILIES(BI__KERNEL_FAMILY_ENUM)
#undef BI__KERNEL_FAMILY_ENUM
		BI__KERNEL_FAMILY_COUNT
};

#define BI__KERNEL_UNITS 5

/* Numbers of entry points: 0 to BI__KERNEL_COUNT - 1. */
enum bi__kernel_number {
	BI__KERNEL_LAST_OF_UNITS = BI__KERNEL_FAMILY_COUNT * BI__KERNEL_UNITS - 1,
#define BI__KERNEL_WORD_ENUM(size, n, width) BI__KERNEL_words_##size##x##n,
	BI__WORDS(BI__KERNEL_WORD_ENUM)
#undef BI__KERNEL_WORD_ENUM
		BI__KERNEL_COUNT
};

/* "bi__strided32_1" and so on; constant. */
const char *bi__kernel_name(int kernel);

/* What the device and the caller allow. */
struct bi__launch_limits {
	uint32_t group; /* threads of a group of strided and fill, 1 to BI__NEST_GROUP */
	int tiles; /* groups of BI__TILE by BI__TILE_ROWS threads are possible, and turning in shared memory pays */
	uint32_t count; /* units (tiles) of one launch; 0: BI__LAUNCH_COUNT */
	uintptr_t misalignment; /* the lowest bits of pointers that are no multiples of BI__LAUNCH_ALIGN after all */
};

struct bi__launch {
	int kernel;
	int has_source; /* argument 1 is the source; else the arguments are argument 1 */
	int is_last;
	uint32_t groups; /* 1 to 2^31 - 1 */
	uint32_t threads[2];
	size_t nbytes;
	union {
		struct bi__nest nest;
		struct bi__fill fill;
		struct bi__tile tile;
	} arguments;
};

/* An axis, from the innermost to the outermost; steps in units. */
struct bi__launch_axis {
	int64_t extent, dst, src;
	int64_t index; /* where the next launch starts */
};

/* Launches that are still to come. A value; its members are launch.c's. */
struct bi__launches {
	enum bi__kernel_family family;
	int unit; /* its place in BI__UNITS, or BI__KERNEL_UNITS and its place in BI__WORDS */
	int is_done;
	uint32_t group, count;
	int64_t dst, src; /* where the next launch starts, in units */
	int ndim;
	struct bi__launch_axis axes[BI_MAX_NDIM + 2];
	union {
		struct bi__fill fill; /* its item */
		struct bi__tile tile; /* without its nest */
	} rest;
};

/* The plan is not NOTHING; dst and src are byte offsets from the pointers. */
void bi__launches_copy(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, uint64_t src,
		       const struct bi__launch_limits *limits);

/*
 * Fills with the item that starts at item + plan->src_offset, which is read now. 0 if the plan is no fill with an item
 * of at most BI__FILL_BYTES bytes; then there are no launches.
 */
int bi__launches_fill(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, const void *item,
		      const struct bi__launch_limits *limits);

/* Writes the next launch; 0 if there is none left. */
int bi__launches_next(struct bi__launches *launches, struct bi__launch *launch);

#endif
