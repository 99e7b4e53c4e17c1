/* Cuts a plan into chunks for several threads. */
#include "common/engine/parts.h"

/* Returns the smallest number of units that can be cut off an axis without cutting a cache line or a tile. */
static int64_t units_per_cut(const struct bi__plan *plan, int axis)
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

/* Returns true if the axis is one of the two tiled axes. To cut any other axis costs no time. */
static int is_tiled(const struct bi__plan *plan, int axis)
{
	return plan->kind == BI__PLAN_TILES && (axis == plan->cross || axis == plan->ndim - 1);
}

static int64_t most_chunks(const struct bi__plan *plan, int axis)
{
	int64_t units = units_per_cut(plan, axis);

	return plan->shape[axis] / units + (plan->shape[axis] % units != 0);
}

/* Chooses the outermost axis that is long enough, or else the axis that gives the most chunks. Tiled axes come last. */
static int choose_axis(const struct bi__plan *plan, int64_t chunks)
{
	int best = -1;

	for (int tiled = 0; tiled < 2; tiled++) {
		for (int i = 0; i < plan->ndim; i++) {
			if (is_tiled(plan, i) != tiled)
				continue;
			if (most_chunks(plan, i) >= chunks)
				return i;
			if (best < 0 || most_chunks(plan, i) > most_chunks(plan, best))
				best = i;
		}
	}
	return best;
}

int bi__engine_split(struct bi__engine_split *split, const struct bi__plan *plan, int64_t chunks)
{
	int64_t extent, units;

	split->axis = plan->ndim ? choose_axis(plan, chunks) : -1;
	extent = plan->ndim ? plan->shape[split->axis] : (int64_t)plan->unit;
	units = plan->ndim ? units_per_cut(plan, split->axis) : BI__PAGE;
	split->step = (extent / chunks + (extent % chunks != 0) + units - 1) / units * units;
	split->chunks = (int)(extent / split->step + (extent % split->step != 0));
	return split->chunks;
}

void bi__engine_chunk(struct bi__plan *chunk, const struct bi__engine_split *split, const struct bi__plan *plan, int i)
{
	const int axis = split->axis;
	const int64_t extent = axis < 0 ? (int64_t)plan->unit : plan->shape[axis], first = i * split->step;
	const int64_t count = extent - first < split->step ? extent - first : split->step;

	*chunk = *plan;
	chunk->bytes = plan->bytes / (uint64_t)extent * (uint64_t)count;
	if (axis < 0) {
		chunk->unit = (size_t)count;
		chunk->dst_offset += first;
		chunk->src_offset += first;
	} else {
		chunk->shape[axis] = count;
		chunk->dst_offset += first * plan->dst_strides[axis];
		chunk->src_offset += first * plan->src_strides[axis];
	}
}
