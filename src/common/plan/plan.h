/*
 * A plan describes how bytes move between two layouts. Every backend executes all plans within its own memory.
 *
 * Making a plan drops extents of 1, reverses on both sides the axes along which the destination runs backwards, sorts
 * the axes by the destination's strides, merges axes that continue each other on both sides, and makes a dense
 * innermost axis part of the unit. The result is a loop nest over `ndim` axes that moves `unit` bytes at each step. The
 * steps may run in any order, since no byte of the destination belongs to two elements.
 *
 * The form is canonical if the axes of the destination nest: two copies that move the same bytes to the same places
 * then have equal plans, with one exception. If the item sizes differ, one plan may be ROWS (units of several elements)
 * and the other STRIDED (units of one). Reordering, reversing, splitting or merging the axes of both layouts does not
 * change the plan, and neither do extents of 1.
 *
 * Axes nest if each stride is at least the number of bytes that all axes with smaller strides cover. Slices,
 * permutations and reshapes of a dense array have such axes. Two axes that continue each other are then neighbours
 * after the sort, so only neighbours are merged.
 */
#ifndef BI_COMMON_PLAN_PLAN_H
#define BI_COMMON_PLAN_PLAN_H

#include "buffer_interface.h"

struct bi__plan {
	enum bi_plan_kind kind;
	int ndim;
	int cross; /* TILES: the axis along which the source is read, not the last; else -1 */
	size_t unit; /* bytes of the innermost run; in a plan of elements, a multiple of the item size */
	uint64_t bytes; /* number of bytes that the plan moves */
	int64_t dst_offset; /* bytes from the first byte of the destination's memory to the first run */
	int64_t src_offset; /* bytes from the first byte of the source's memory to the first run */
	int64_t shape[BI_MAX_NDIM]; /* outermost first, each > 1 */
	int64_t dst_strides[BI_MAX_NDIM]; /* > 0, from the largest to the smallest */
	int64_t src_strides[BI_MAX_NDIM]; /* any sign, 0 where the source is repeated */
};

/*
 * A plan of more than one axis has the kind TILES if a unit has less than LONG bytes, and one of these is true:
 *
 *  - All units along the last axis together have less than SHORT bytes, and the source's stride along another axis is
 *    not 0.
 *  - Along the last axis, the source's stride is more than TILE_GAIN units, and at least TILE_GAIN times a stride along
 *    another axis that is not 0. With at most TILE_GAIN units, a loop along the last axis uses at least a quarter of
 *    the bytes that it reads.
 */
#define BI__PLAN_LONG 64
#define BI__PLAN_SHORT 256
#define BI__PLAN_TILE_GAIN 4

/* Returns BI_EINVAL if the shapes differ. Returns BI_EDTYPE if the item sizes differ. */
int bi__plan_check(const struct bi_layout *dst, const struct bi_layout *src, struct bi_error *err);

/*
 * Makes the plan of a copy. If `src` is NULL, makes the plan of a fill with one item at source offset 0. Both layouts
 * have passed bi__plan_check. To be executed, the plan needs a destination in which no two elements share bytes. Cannot
 * fail: if bi_layout_init accepts the layouts and the number of bytes fits into size_t, no sum or product overflows.
 */
void bi__plan_make(struct bi__plan *plan, const struct bi_layout *dst, const struct bi_layout *src);

/* Makes the plan that moves nbytes dense bytes. nbytes > 0. Does not set the shape and the strides. */
static inline void bi__plan_bytes(struct bi__plan *plan, int64_t dst_offset, int64_t src_offset, size_t nbytes)
{
	plan->kind = BI_PLAN_LINEAR;
	plan->ndim = 0;
	plan->cross = -1;
	plan->unit = nbytes;
	plan->bytes = nbytes;
	plan->dst_offset = dst_offset;
	plan->src_offset = src_offset;
}

/* Sets kind and cross of a plan whose other members are set. The plan moves at least one byte. */
void bi__plan_classify(struct bi__plan *plan, size_t item_size);

const char *bi__plan_name(enum bi_plan_kind kind);

/*
 * Returns the axis, except the last, whose stride in the source has the smallest absolute value above 0. Returns -1 if
 * there is none, or if TILE_GAIN times this value exceeds the absolute value for the last axis. The plan has at least
 * one axis.
 */
int bi__plan_cross(const struct bi__plan *plan);

#endif
