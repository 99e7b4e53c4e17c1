/*
 * How bytes move between two layouts: a pure description in canonical form, made once, executed by any backend.
 *
 * plan = make(dst layout, src layout): extents of 1 are dropped, axes along which the destination runs backwards are
 * turned round on both sides, axes are sorted by the destination's strides, axes that continue each other on both sides
 * are merged, and a dense innermost run becomes one larger unit. What is left is a loop nest over `ndim` axes that
 * moves `unit` bytes each time, in any order, since no byte of the destination belongs to two elements.
 *
 * Canonical: two pairs of layouts that move the same bytes to the same places have the same plan, whatever the order
 * and the signs of their axes, however often an axis is split in two and whatever extents of 1 there are, if the axes
 * of the destination nest: each stride is at least the reach of those below it together. The axes of every view of a
 * dense array do, and then nothing can lie between two axes that continue each other, so neighbours alone are merged.
 * Each plan is also that of its own nest.
 */
#ifndef BI_COMMON_PLAN_PLAN_H
#define BI_COMMON_PLAN_PLAN_H

#include "buffer_interface.h"

/* The public list, of which the kinds here have the numbers. */
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
	uint64_t bytes; /* moved in all */
	int64_t dst_offset; /* of the first run, from the start of each memory (as wrapped, origin not added) */
	int64_t src_offset;
	int64_t shape[BI_MAX_NDIM]; /* outermost first, each > 1 */
	int64_t dst_strides[BI_MAX_NDIM]; /* > 0, each below the one before */
	int64_t src_strides[BI_MAX_NDIM]; /* any sign, 0 for fills and broadcasts */
};

/*
 * Runs up to TILE_UNIT bytes are turned in tiles like elements, where both axes have TILE_EXTENT of them – below that
 * reading across the destination costs less than turning – and where the steps of the source along the crossed axis are
 * TILE_GAIN times shorter than along the last. Neither need be `unit`: both sides may have
 * gaps, and the axis that is nearest may be too short for a tile (the three colours of an image).
 */
#define BI__PLAN_TILE_UNIT 16
#define BI__PLAN_TILE_EXTENT 8
#define BI__PLAN_TILE_GAIN 4

/* BI_EINVAL if the shapes, BI_EDTYPE if the item sizes are not equal. */
int bi__plan_check(const struct bi_layout *dst, const struct bi_layout *src, struct bi_error *err);

/*
 * Both passed bi__plan_check, and no two elements of the destination share bytes. Cannot fail: whatever bi_layout_init
 * accepts, no sum or product in here overflows.
 */
void bi__plan_make(struct bi__plan *plan, const struct bi_layout *dst, const struct bi_layout *src);

/* The plan of moving so many dense bytes, more than 0. */
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

/* The plan of filling dst with one item that lies at source offset 0. */
void bi__plan_fill(struct bi__plan *plan, const struct bi_layout *dst);

/* Sets kind and cross of a nest that is there and moves something; the last step of the two above. */
void bi__plan_classify(struct bi__plan *plan, size_t item_size);

const char *bi__plan_name(enum bi__plan_kind kind);

/*
 * Of the axes before the last that have `extent` elements or more, the one with the shortest steps of the source, if
 * they are TILE_GAIN times shorter than those along the last axis; else -1. There is an axis.
 */
int bi__plan_cross(const struct bi__plan *plan, int64_t extent);

#endif
