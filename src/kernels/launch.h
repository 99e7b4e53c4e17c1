/*
 * Converts a plan to launches of the kernels of strided.h. It only computes: it calls no driver and allocates nothing.
 * The backends share it.
 *
 * 	struct bi__launches launches;
 * 	struct bi__launch launch;
 *
 * 	bi__launches_copy(&launches, plan, dst, src, &limits);
 * 	while (bi__launches_next(&launches, &launch))
 * 		... enqueue it ...
 *
 * For each launch a backend takes the kernel named bi__kernel_name(launch.kernel), sets
 *
 * 	argument 0     pointer to the destination
 * 	argument 1     pointer to the source (not for fills)
 * 	last argument  launch.arguments, launch.nbytes bytes by value
 *
 * and enqueues `groups` groups of `threads` threads along one dimension. (OpenCL counts threads, not groups: its global
 * size is groups * threads.) The kernels have static shared memory only.
 *
 * The pointers are multiples of BI__LAUNCH_ALIGN, or limits.misalignment has their low bits. `dst` and `src` are byte
 * offsets from the pointers. The plan's offsets are added to them. For a buffer object, the pointer is the buffer, and
 * the offset is the block's offset in it. For a device address, the pointer is address & ~(BI__LAUNCH_ALIGN - 1), and
 * the offset is address & (BI__LAUNCH_ALIGN - 1). The source and the destination may be in one buffer, but their
 * elements must not share bytes.
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
typedef int64_t bi__i64 __attribute__((aligned(8))); /* also on i386 */
typedef struct {
	_Alignas(16) bi__u64 low;
	bi__u64 high;
} bi__u128;

BI__KERNEL_TYPES

#define BI__LAUNCH_ALIGN 16

/* The most units (for tile kernels: tiles) of one launch. */
#define BI__LAUNCH_COUNT INT32_MAX

/*
 * Families of entry points, without the prefix bi__. Each family has one entry point for each unit, in the order of
 * BI__UNITS.
 */
#define BI__KERNEL_FAMILIES(X) X(strided32) X(strided64) X(fill) X(tile)

enum bi__kernel_family {
#define BI__KERNEL_FAMILY_ENUM(name) BI__KERNEL_##name,
	BI__KERNEL_FAMILIES(BI__KERNEL_FAMILY_ENUM)
#undef BI__KERNEL_FAMILY_ENUM
		BI__KERNEL_FAMILY_COUNT
};

#define BI__KERNEL_UNITS 5

/* Entry points are numbered from 0 to BI__KERNEL_COUNT - 1. */
#define BI__KERNEL_COUNT (BI__KERNEL_FAMILY_COUNT * BI__KERNEL_UNITS)

/* Returns the name of an entry point, such as "bi__strided32_1". The text is constant. */
const char *bi__kernel_name(int kernel);

/* Limits of launches, given by the device and by the caller. */
struct bi__launch_limits {
	uint32_t group; /* threads of a group for strided and fill kernels: 1 to BI__NEST_GROUP */
	int tiles; /* 1: the device can run groups of BI__TILE_GROUP threads, and has fast shared memory */
	uint32_t count; /* the most units (tiles) of one launch; 0: BI__LAUNCH_COUNT */
	uintptr_t misalignment; /* bits of the pointers, merged by OR; 0: all are multiples of BI__LAUNCH_ALIGN */
};

/* Every member begins with a nest. */
union bi__arguments {
	struct bi__nest nest;
	struct bi__fill fill;
	struct bi__tile tile;
};

struct bi__launch {
	int kernel;
	int has_source; /* 1: argument 1 is the source; 0: the kernel has no source pointer */
	int is_last;
	uint32_t groups; /* 1 to 2^31 - 1 */
	uint32_t threads;
	size_t nbytes;
	union bi__arguments arguments;
};

/* An axis of the copy or fill. Axes are ordered from the innermost to the outermost. Steps are in units. */
struct bi__launch_axis {
	int64_t extent, dst, src;
	int64_t index; /* index on this axis at which the next launch begins */
};

/* The state of an iteration over launches. It may be copied. Only launch.c uses its members. */
struct bi__launches {
	enum bi__kernel_family family;
	int unit; /* index in BI__UNITS */
	int is_done;
	uint32_t group, count;
	int64_t dst, src; /* positions at which the next launch begins, in units */
	int ndim;
	struct bi__launch_axis axes[BI_MAX_NDIM + 2];
	union bi__arguments arguments; /* all members except the nest are set */
};

/* Starts a copy. The plan is not of kind NOTHING. `dst` and `src` are byte offsets from the pointers. */
void bi__launches_copy(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, uint64_t src,
		       const struct bi__launch_limits *limits);

/*
 * Starts a fill with the item of at most BI__FILL_BYTES bytes at item + plan->src_offset. The item is copied before the
 * call returns. The source strides of the plan are 0.
 */
void bi__launches_fill(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, const void *item,
		       const struct bi__launch_limits *limits);

/* Writes the next launch. Returns 1, or 0 if there is none left. */
int bi__launches_next(struct bi__launches *launches, struct bi__launch *launch);

#endif
