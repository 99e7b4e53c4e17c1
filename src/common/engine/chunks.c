/* Cuts a plan into chunks for several threads. */
#include "common/engine/parts.h"

/*
 * Returns a number of units. Along the axis, each chunk but the last has a multiple of this number. Along `cross`, so
 * many units have about BI__PANEL bytes. Along the last axis, so many units fill whole cache lines if they are
 * adjacent. Along any other axis the number is 1.
 */
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

/* Returns the length of a chunk, a multiple of `units`, if an axis is cut into at most `chunks` equal chunks. */
static int64_t chunk_step(int64_t extent, int64_t chunks, int64_t units)
{
	return (extent / chunks + (extent % chunks != 0) + units - 1) / units * units;
}

/* Runs of this many bytes are read and written at nearly full speed. Longer runs do not count as better. */
#define LONG_RUN 1024

/* Returns the bytes that a chunk spans along the axis, on the side where they are fewer, at most LONG_RUN. */
static int64_t shorter_run(const struct bi__plan *plan, int axis, int64_t step)
{
	const int64_t src = plan->src_strides[axis] < 0 ? -plan->src_strides[axis] : plan->src_strides[axis];
	const int64_t dst = plan->dst_strides[axis];
	const int64_t stride = src && src < dst ? src : dst;

	return stride > LONG_RUN / step ? LONG_RUN : stride * step;
}

/*
 * Chooses the axis along which the plan is cut. An axis is good if it gives many chunks, and if these have long runs.
 * If chunks have only a few bytes of each run, several chunks read or write the same cache line. Of equally good axes,
 * the outermost is chosen.
 */
static int choose_axis(const struct bi__plan *plan, int64_t chunks)
{
	int64_t most = 0;
	int best = 0;

	for (int i = 0; i < plan->ndim; i++) {
		const int64_t step = chunk_step(plan->shape[i], chunks, units_per_cut(plan, i)),
			      count = (plan->shape[i] - 1) / step + 1;
		const int64_t worth = shorter_run(plan, i, step) * count;

		if (worth > most) {
			most = worth;
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
	split->step = chunk_step(extent, chunks, units);
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
