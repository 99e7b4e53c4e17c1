#include "common/plan.h"

#include <string.h>

static const char *const plan_names[BI__PLAN_COUNT] = {
#define PLAN(name, text) [BI__PLAN_##name] = text,
	BI__PLAN_MAP(PLAN)
#undef PLAN
};

const char *bi__plan_name(enum bi__plan_kind kind)
{
	return plan_names[kind];
}

/* One loop of the nest while it is being brought into form. */
struct axis {
	int64_t extent, dst, src;
};

/* Takes over an axis; the destination never runs backwards afterwards. */
static void add_axis(struct bi__plan *plan, struct axis *axes, int64_t extent, int64_t dst, int64_t src)
{
	if (extent == 1)
		return;
	if (dst < 0) {
		plan->dst_offset += (extent - 1) * dst;
		plan->src_offset += (extent - 1) * src;
		dst = -dst;
		src = -src;
	}
	axes[plan->ndim++] = (struct axis){ extent, dst, src };
}

static int64_t magnitude(int64_t stride)
{
	return stride < 0 ? -stride : stride;
}

/* Does a belong outside b? By the destination first, so that it is written as sequentially as it can be. */
static int is_outer(const struct axis *a, const struct axis *b)
{
	if (a->dst != b->dst)
		return a->dst > b->dst;
	return magnitude(a->src) > magnitude(b->src);
}

static void sort_axes(struct axis *axes, int n)
{
	for (int i = 1; i < n; i++) {
		struct axis axis = axes[i];
		int j = i;

		for (; j > 0 && is_outer(&axis, &axes[j - 1]); j--)
			axes[j] = axes[j - 1];
		axes[j] = axis;
	}
}

/* Is stepping the outer axis once the same as running through the whole inner one? */
static int continues(const struct axis *outer, const struct axis *inner)
{
	int64_t dst, src;

	return !__builtin_mul_overflow(inner->dst, inner->extent, &dst) && dst == outer->dst &&
	       !__builtin_mul_overflow(inner->src, inner->extent, &src) && src == outer->src;
}

/* Merges axes that continue each other; returns how many are left. */
static int merge_axes(struct axis *axes, int n)
{
	int last = 0;

	if (n == 0)
		return 0;
	for (int i = 1; i < n; i++) {
		if (continues(&axes[last], &axes[i])) {
			axes[i].extent *= axes[last].extent;
			axes[last] = axes[i];
		} else {
			axes[++last] = axes[i];
		}
	}
	return last + 1;
}

/* A dense innermost axis becomes part of the unit. */
static void absorb_rows(struct bi__plan *plan, const struct axis *axes, int n)
{
	const struct axis *inner = &axes[n - 1];

	if (n && inner->dst == inner->src && inner->dst == (int64_t)plan->unit) {
		plan->unit *= (size_t)inner->extent;
		n--;
	}
	plan->ndim = n;
	for (int i = 0; i < n; i++) {
		plan->shape[i] = axes[i].extent;
		plan->dst_strides[i] = axes[i].dst;
		plan->src_strides[i] = axes[i].src;
	}
}

/* Runs up to this size are turned like elements. */
#define TILE_UNIT 16

/* Both extents of a tile; below it reading across the destination costs less than turning. */
#define TILE_EXTENT 8

/* Along the best axis of the source its steps must be so many times shorter than along the last one. */
#define TILE_GAIN 4

/* Along which axis is the source read best? -1: it stands still along all. */
static int nearest_in_source(const struct bi__plan *plan)
{
	int nearest = -1;

	for (int i = 0; i < plan->ndim; i++) {
		if (plan->src_strides[i] != 0 &&
		    (nearest < 0 || magnitude(plan->src_strides[i]) <= magnitude(plan->src_strides[nearest])))
			nearest = i;
	}
	return nearest;
}

static int is_crossed(const struct bi__plan *plan, int y)
{
	int x = plan->ndim - 1;

	return y != x && plan->unit <= TILE_UNIT && plan->shape[x] >= TILE_EXTENT && plan->shape[y] >= TILE_EXTENT &&
	       magnitude(plan->src_strides[y]) <= magnitude(plan->src_strides[x]) / TILE_GAIN;
}

void bi__plan_classify(struct bi__plan *plan, size_t item_size)
{
	int nearest = nearest_in_source(plan);

	plan->cross = -1;
	if (plan->ndim == 0) {
		plan->kind = BI__PLAN_LINEAR;
	} else if (nearest < 0) {
		plan->kind = BI__PLAN_FILL;
	} else if (plan->src_strides[plan->ndim - 1] == 0) {
		plan->kind = BI__PLAN_BROADCAST;
	} else if (is_crossed(plan, nearest)) {
		plan->kind = BI__PLAN_TILES;
		plan->cross = nearest;
	} else if (plan->unit > item_size) {
		plan->kind = BI__PLAN_ROWS;
	} else {
		plan->kind = BI__PLAN_STRIDED;
	}
}

/* src_strides may be NULL: the source is one item. */
static void make(struct bi__plan *plan, const struct bi_layout *dst, int64_t src_offset, const int64_t *src_strides)
{
	struct axis axes[BI_MAX_NDIM];
	int n;

	plan->bytes = (uint64_t)bi_layout_nbytes(dst);
	plan->unit = dst->dtype.item_size;
	plan->dst_offset = dst->offset;
	plan->src_offset = src_offset;
	plan->ndim = 0;
	plan->kind = BI__PLAN_NOTHING;
	plan->cross = -1;
	if (plan->bytes == 0)
		return;
	for (int i = 0; i < dst->ndim; i++)
		add_axis(plan, axes, dst->shape[i], dst->strides[i], src_strides ? src_strides[i] : 0);
	n = plan->ndim;
	sort_axes(axes, n);
	absorb_rows(plan, axes, merge_axes(axes, n));
	bi__plan_classify(plan, dst->dtype.item_size);
}

void bi__plan_make(struct bi__plan *plan, const struct bi_layout *dst, const struct bi_layout *src)
{
	make(plan, dst, src->offset, src->strides);
}

void bi__plan_fill(struct bi__plan *plan, const struct bi_layout *dst)
{
	make(plan, dst, 0, NULL);
}
