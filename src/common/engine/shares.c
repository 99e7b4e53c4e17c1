/* A plan in shares, for several threads. */
#include "common/engine/parts.h"

/* Units between two places where an axis can be cut without cutting a line or a panel. */
static int64_t grain(const struct bi__plan *plan, int axis)
{
	int64_t units = 1;

	if (axis == plan->cross)
		return plan->unit < BI__PANEL ? BI__PANEL / (int64_t)plan->unit : 1;
	if (axis != plan->ndim - 1)
		return 1;
	while (units * (int64_t)plan->unit % BI__LINE)
		units *= 2;
	return units;
}

/* An axis that is not worked on in tiles is cut without a loss. */
static int is_tiled(const struct bi__plan *plan, int axis)
{
	return plan->kind == BI__PLAN_TILES && (axis == plan->cross || axis == plan->ndim - 1);
}

/* How many shares an axis gives at most. */
static int64_t most_shares(const struct bi__plan *plan, int axis)
{
	int64_t units = grain(plan, axis);

	return plan->shape[axis] / units + (plan->shape[axis] % units != 0);
}

/* The outermost axis with enough for all, if there is one, else the one that gives most; tiled ones last. */
static int choose_axis(const struct bi__plan *plan, int64_t shares)
{
	int best = -1;

	for (int tiled = 0; tiled < 2; tiled++) {
		for (int i = 0; i < plan->ndim; i++) {
			if (is_tiled(plan, i) != tiled)
				continue;
			if (most_shares(plan, i) >= shares)
				return i;
			if (best < 0 || most_shares(plan, i) > most_shares(plan, best))
				best = i;
		}
	}
	return best;
}

int bi__engine_split(struct bi__engine_split *split, const struct bi__plan *plan, int64_t shares)
{
	int64_t extent, units;

	split->axis = plan->ndim ? choose_axis(plan, shares) : -1;
	extent = plan->ndim ? plan->shape[split->axis] : (int64_t)plan->unit;
	units = plan->ndim ? grain(plan, split->axis) : BI__PAGE;
	split->step = (extent / shares + (extent % shares != 0) + units - 1) / units * units;
	split->shares = (int)(extent / split->step + (extent % split->step != 0));
	return split->shares;
}

void bi__engine_share(struct bi__plan *share, const struct bi__engine_split *split, const struct bi__plan *plan, int i)
{
	const int axis = split->axis;
	const int64_t extent = axis < 0 ? (int64_t)plan->unit : plan->shape[axis], first = i * split->step;
	const int64_t count = extent - first < split->step ? extent - first : split->step;

	*share = *plan;
	share->bytes = plan->bytes / (uint64_t)extent * (uint64_t)count;
	if (axis < 0) {
		share->unit = (size_t)count;
		share->dst_offset += first;
		share->src_offset += first;
	} else {
		share->shape[axis] = count;
		share->dst_offset += first * plan->dst_strides[axis];
		share->src_offset += first * plan->src_strides[axis];
	}
}
