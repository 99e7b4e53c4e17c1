#include "common/plan/plan.h"

#include <stdlib.h>

#include "common/base/status.h"

int bi__plan_check(const struct bi_layout *dst, const struct bi_layout *src, struct bi_error *err)
{
	if (dst->ndim != src->ndim)
		return bi__fail(err, BI_EINVAL, "the destination has %d dimensions, the source %d", dst->ndim,
				src->ndim);
	for (int i = 0; i < dst->ndim; i++)
		if (dst->shape[i] != src->shape[i])
			return bi__fail(err, BI_EINVAL, "the destination has extent %lld on axis %d, the source %lld",
					(long long)dst->shape[i], i, (long long)src->shape[i]);
	if (dst->dtype.item_size != src->dtype.item_size)
		return bi__fail(err, BI_EDTYPE, "an item of the destination has %u bytes, of the source %u",
				dst->dtype.item_size, src->dtype.item_size);
	return BI_OK;
}

static const char *const plan_names[BI_PLAN_COUNT] = {
#define PLAN(name, text) [BI_PLAN_##name] = text,
	BI_PLAN_MAP(PLAN)
#undef PLAN
};

const char *bi__plan_name(enum bi_plan_kind kind)
{
	return plan_names[kind];
}

/* One loop of the plan that is being made: its extent, and its strides on both sides. */
struct axis {
	int64_t extent, dst, src;
};

/* Adds an axis, unless its extent is 1. If the destination runs backwards along the axis, reverses both sides. */
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

/*
 * Sorts the axes by the destination's strides, largest first, so that the destination is written as sequentially as
 * possible. Two strides are equal only if elements of the destination share bytes.
 */
static void sort_axes(struct axis *axes, int n)
{
	for (int i = 1; i < n; i++) {
		struct axis axis = axes[i];
		int j = i;

		for (; j > 0 && axis.dst > axes[j - 1].dst; j--)
			axes[j] = axes[j - 1];
		axes[j] = axis;
	}
}

/* Returns true if one step along the outer axis is as long as the whole inner axis, on both sides. */
static int axes_continue(const struct axis *outer, const struct axis *inner)
{
	int64_t dst, src;

	return !__builtin_mul_overflow(inner->dst, inner->extent, &dst) && dst == outer->dst &&
	       !__builtin_mul_overflow(inner->src, inner->extent, &src) && src == outer->src;
}

/* Merges neighbouring axes that continue each other. Returns the number of axes that are left. `n` > 0. */
static int merge_axes(struct axis *axes, int n)
{
	int last = 0;

	for (int i = 1; i < n; i++) {
		if (axes_continue(&axes[last], &axes[i])) {
			axes[i].extent *= axes[last].extent;
			axes[last] = axes[i];
		} else {
			axes[++last] = axes[i];
		}
	}
	return last + 1;
}

/* Makes a dense innermost axis part of the unit, and copies the other axes into the plan. */
static void absorb_rows(struct bi__plan *plan, const struct axis *axes, int n)
{
	const struct axis *inner = &axes[n - 1];

	if (inner->dst == inner->src && inner->dst == (int64_t)plan->unit) {
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

/* Returns the axis, except the last, whose stride in the source has the smallest absolute value in 1..most, or -1. */
static int nearest_axis(const struct bi__plan *plan, int64_t most)
{
	int nearest = -1;

	for (int y = 0; y < plan->ndim - 1; y++) {
		int64_t step = llabs(plan->src_strides[y]);

		if (step != 0 && step <= most) {
			nearest = y;
			most = step;
		}
	}
	return nearest;
}

int bi__plan_cross(const struct bi__plan *plan)
{
	return nearest_axis(plan, llabs(plan->src_strides[plan->ndim - 1]) / BI__PLAN_TILE_GAIN);
}

/* Returns the axis along which tiles read the source, or -1 if the plan is not TILES by the rules in plan.h. */
static int find_tiles(const struct bi__plan *plan)
{
	const int x = plan->ndim - 1;

	if (plan->unit >= BI__PLAN_LONG)
		return -1;
	if (plan->shape[x] * (int64_t)plan->unit < BI__PLAN_SHORT)
		return nearest_axis(plan, INT64_MAX);
	if (llabs(plan->src_strides[x]) <= BI__PLAN_TILE_GAIN * (int64_t)plan->unit)
		return -1;
	return bi__plan_cross(plan);
}

static int has_zero_strides(const struct bi__plan *plan)
{
	for (int i = 0; i < plan->ndim; i++)
		if (plan->src_strides[i] != 0)
			return 0;
	return 1;
}

void bi__plan_classify(struct bi__plan *plan, size_t item_size)
{
	plan->cross = -1;
	if (plan->ndim == 0)
		plan->kind = BI_PLAN_LINEAR;
	else if (has_zero_strides(plan))
		plan->kind = BI_PLAN_FILL;
	else if ((plan->cross = find_tiles(plan)) >= 0)
		plan->kind = BI_PLAN_TILES;
	else if (plan->src_strides[plan->ndim - 1] == 0)
		plan->kind = BI_PLAN_BROADCAST;
	else
		plan->kind = plan->unit > item_size ? BI_PLAN_ROWS : BI_PLAN_STRIDED;
}

/*
 * Makes the last axes part of the unit if they are dense on both sides. Returns the number of axes that are left. This
 * is possible before the sort: if no two elements of the destination share bytes, all other axes have larger strides,
 * and the sort would leave these axes last.
 */
static int absorb_dense(struct bi__plan *plan, const struct bi_layout *dst, const struct bi_layout *src)
{
	int n = dst->ndim;

	for (; n > 0; n--) {
		int64_t extent = dst->shape[n - 1], unit = (int64_t)plan->unit;

		if (extent != 1 && (dst->strides[n - 1] != unit || src->strides[n - 1] != unit))
			break;
		plan->unit *= (size_t)extent;
	}
	return n;
}

static void make_nest(struct bi__plan *plan, const struct bi_layout *dst, const struct bi_layout *src, int ndim)
{
	struct axis axes[BI_MAX_NDIM];

	for (int i = 0; i < ndim; i++)
		add_axis(plan, axes, dst->shape[i], dst->strides[i], src ? src->strides[i] : 0);
	if (!plan->ndim)
		return;
	sort_axes(axes, plan->ndim);
	absorb_rows(plan, axes, merge_axes(axes, plan->ndim));
}

void bi__plan_make(struct bi__plan *plan, const struct bi_layout *dst, const struct bi_layout *src)
{
	int left;

	plan->bytes = (uint64_t)bi_layout_nbytes(dst);
	plan->unit = dst->dtype.item_size;
	plan->dst_offset = dst->offset;
	plan->src_offset = src ? src->offset : 0;
	plan->ndim = 0;
	plan->kind = BI_PLAN_NOTHING;
	plan->cross = -1;
	if (plan->bytes == 0)
		return;
	left = src ? absorb_dense(plan, dst, src) : dst->ndim;
	if (left)
		make_nest(plan, dst, src, left);
	bi__plan_classify(plan, dst->dtype.item_size);
}
