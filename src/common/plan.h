/*
 * How bytes move between two layouts: a pure description in canonical form, made once, executed by any backend.
 *
 * plan = make(dst layout, src layout): extents of 1 are dropped, axes along which the destination runs backwards are
 * turned round on both sides, axes are sorted by the destination's strides, axes that continue each other on both sides
 * are merged, and a dense innermost run becomes one larger unit. What is left is a loop nest over `ndim` axes that
 * moves `unit` bytes each time.
 */
#ifndef BI_COMMON_PLAN_H
#define BI_COMMON_PLAN_H

#include "buffer_interface.h"

/*
 * Name, text in reports and of `bi show --plan`. Executors may treat a kind that they have no faster way for as the loop
 * nest that every plan is; only LINEAR has no axis.
 */
#define BI__PLAN_MAP(X) \
	X(NOTHING, "nothing") /* no element, or the same bytes */ \
	X(LINEAR, "linear") /* one run of `unit` bytes */ \
	X(ROWS, "rows") /* runs longer than one element, and none of the kinds below */ \
	X(STRIDED, "strided") /* element by element, both sides nearest along the last axis */ \
	X(TILES, "tiles") /* the source is nearest along axis `cross`, the destination along the last */ \
	X(BROADCAST, "broadcast") /* the source stands still along the last axis */ \
	X(FILL, "fill") /* the source stands still along every axis: one element for all */

enum bi__plan_kind {
#define BI__PLAN_ENUM(name, text) BI__PLAN_##name,
	BI__PLAN_MAP(BI__PLAN_ENUM)
#undef BI__PLAN_ENUM
		BI__PLAN_COUNT
};

struct bi__plan {
	enum bi__plan_kind kind;
	int ndim;
	int cross; /* TILES: an axis before the last; else -1 */
	size_t unit; /* bytes of the innermost run */
	uint64_t bytes; /* moved in all */
	int64_t dst_offset; /* of the first run, from the start of each memory (as wrapped, origin not added) */
	int64_t src_offset;
	int64_t shape[BI_MAX_NDIM]; /* outermost first, each > 1 */
	int64_t dst_strides[BI_MAX_NDIM]; /* > 0, falling */
	int64_t src_strides[BI_MAX_NDIM]; /* any sign, 0 for fills and broadcasts */
};

/* Shapes and item sizes are equal and fit (checked by the caller). Cannot fail. */
void bi__plan_make(struct bi__plan *plan, const struct bi_layout *dst, const struct bi_layout *src);

/* The plan of filling dst with one item that lies at source offset 0. */
void bi__plan_fill(struct bi__plan *plan, const struct bi_layout *dst);

/* Sets kind and cross of a nest that is there and moves something; the last step of the two above. */
void bi__plan_classify(struct bi__plan *plan, size_t item_size);

const char *bi__plan_name(enum bi__plan_kind kind);

#endif
