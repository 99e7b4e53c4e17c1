/*
 * A plan describes how bytes move between two layouts. It is in canonical form, made once, and executed by any backend.
 *
 * Making a plan drops extents of 1, reverses on both sides the axes along which the destination runs backwards, sorts
 * the axes by the destination's strides, merges axes that continue each other on both sides, and makes a dense
 * innermost axis part of the unit. The result is a loop nest over `ndim` axes that moves `unit` bytes at each step. The
 * steps may run in any order, since no byte of the destination belongs to two elements.
 *
 * Canonical means that two pairs of layouts that move the same bytes to the same places have the same plan, whatever
 * the order and the signs of their axes, however often an axis is split in two, and whatever extents of 1 they have.
 * This holds if the axes of the destination nest: each stride is at least the common reach of the smaller ones. Every
 * view of a dense array has such axes. Nothing can then lie between two axes that continue each other, so merging
 * neighbours is enough. The plan of a plan's own nest is the plan itself.
 */
#ifndef BI_COMMON_PLAN_PLAN_H
#define BI_COMMON_PLAN_PLAN_H

#include "buffer_interface.h"

/* The public list; the kinds here have its numbers. */
#define BI__PLAN_MAP BI_PLAN_MAP

enum bi__plan_kind {
#define BI__PLAN_ENUM(name, text) BI__PLAN_##name,
	BI__PLAN_MAP(BI__PLAN_ENUM)
#undef BI__PLAN_ENUM
		BI__PLAN_COUNT
};

struct bi__plan {
	enum bi__plan_kind kind;
	int ndim;
	int cross; /* TILES: the axis before the last along which the source is read; else -1 */
	size_t unit; /* bytes of the innermost run, a multiple of the item size */
	uint64_t bytes; /* moved in total */
	int64_t dst_offset; /* offset of the first run from the start of each memory (as wrapped, origin not added) */
	int64_t src_offset;
	int64_t shape[BI_MAX_NDIM]; /* outermost first, each > 1 */
	int64_t dst_strides[BI_MAX_NDIM]; /* > 0, each below the one before */
	int64_t src_strides[BI_MAX_NDIM]; /* any sign, 0 for fills and broadcasts */
};

/*
 * Units up to TILE_UNIT bytes are transposed in tiles if both axes have at least TILE_EXTENT of them and the steps of
 * the source along axis `cross` are at least TILE_GAIN times shorter than along the last axis. With fewer units,
 * reading across the destination costs less than transposing. The shorter step may be larger than `unit`: both sides
 * may have gaps, and the axis with the shortest steps may be too short for a tile (the three colours of an image).
 */
#define BI__PLAN_TILE_UNIT 16
#define BI__PLAN_TILE_EXTENT 8
#define BI__PLAN_TILE_GAIN 4

/* Returns BI_EINVAL if the shapes differ, BI_EDTYPE if the item sizes differ. */
int bi__plan_check(const struct bi_layout *dst, const struct bi_layout *src, struct bi_error *err);

/*
 * Makes the plan of a copy. Both layouts have passed bi__plan_check, and no two elements of the destination share
 * bytes. Cannot fail: no sum or product overflows for layouts that bi_layout_init accepts.
 */
void bi__plan_make(struct bi__plan *plan, const struct bi_layout *dst, const struct bi_layout *src);

/* Makes the plan of moving nbytes > 0 dense bytes. */
static inline void bi__plan_bytes(struct bi__plan *plan, int64_t dst_offset, int64_t src_offset, size_t nbytes)
{
	plan->kind = BI__PLAN_LINEAR;
	plan->ndim = 0;
	plan->cross = -1;
	plan->unit = nbytes;
	plan->bytes = nbytes;
	plan->dst_offset = dst_offset;
	plan->src_offset = src_offset;
}

/* Makes the plan of filling dst with one item at source offset 0. */
void bi__plan_fill(struct bi__plan *plan, const struct bi_layout *dst);

/* Sets kind and cross of a nest that moves at least one byte. Last step of the two functions above. */
void bi__plan_classify(struct bi__plan *plan, size_t item_size);

const char *bi__plan_name(enum bi__plan_kind kind);

/*
 * Returns the axis with the shortest steps of the source among those before the last that have at least `extent`
 * elements, or -1 if these steps are not TILE_GAIN times shorter than along the last axis. The plan has an axis.
 */
int bi__plan_cross(const struct bi__plan *plan, int64_t extent);

#endif
