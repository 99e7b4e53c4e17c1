/* Transposes that stay in the caches: directly, because a buffer would take longer than the lines it saves. */
#include "common/engine/parts.h"

struct planes {
	const struct bi__simd *simd;
	int level; /* units have 1 << level bytes */
	struct bi__plan plane; /* axis 0: dense in the source; axis 1: dense in the destination */
};

/* Copies `height` rows of `width` units in lines: those that are no whole vectors. */
static void copy_edge(const struct planes *planes, unsigned char *dst, const unsigned char *src, int64_t height,
		      int64_t width)
{
	struct bi__plan plan = planes->plane;
	const struct bi__engine_part part = { .plan = &plan, .simd = planes->simd };

	if (height == 0 || width == 0)
		return;
	plan.shape[0] = height;
	plan.shape[1] = width;
	plan.bytes = (uint64_t)(height * width) * plan.unit;
	bi__engine_lines(&part, dst, src);
}

static void turn_plane(void *inner, unsigned char *dst, const unsigned char *src)
{
	const struct planes *planes = inner;
	const struct bi__plan *plane = &planes->plane;
	const bi__transpose_fn *wide = planes->simd->transpose, *narrow = planes->simd->transpose_narrow;
	const int64_t per_16 = 16 >> planes->level, per_line = BI__LINE >> planes->level, width = plane->shape[1];
	const int64_t high = plane->shape[0] / per_16 * per_16, turned = width / per_16 * per_16;
	const int64_t lines = narrow ? width / per_line * per_line : turned;

	wide[planes->level](dst, plane->dst_strides[0], src, plane->src_strides[1], high, lines);
	if (narrow)
		narrow[planes->level](dst + lines * (int64_t)plane->unit, plane->dst_strides[0],
				      src + lines * plane->src_strides[1], plane->src_strides[1], high, turned - lines);
	copy_edge(planes, dst + turned * (int64_t)plane->unit, src + turned * plane->src_strides[1], plane->shape[0],
		  width - turned);
	copy_edge(planes, dst + high * plane->dst_strides[0], src + high * (int64_t)plane->unit, plane->shape[0] - high,
		  turned);
}

static int has_planes(const struct bi__plan *plan)
{
	const int x = plan->ndim - 1, y = plan->cross;
	const int64_t unit = (int64_t)plan->unit;

	return unit <= 8 && (unit & (unit - 1)) == 0 && plan->dst_strides[x] == unit && plan->src_strides[y] == unit &&
	       plan->shape[x] * unit >= 16 && plan->shape[y] * unit >= 16;
}

int bi__engine_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;
	struct planes planes = { .simd = part->simd, .plane = { .ndim = 2, .cross = -1, .unit = plan->unit } };
	struct bi__walk walk;

	if (!has_planes(plan))
		return 0;
	while (1u << planes.level < plan->unit)
		planes.level++;
	walk.ndim = 0;
	for (int i = 0; i < plan->ndim - 1; i++)
		if (i != plan->cross)
			bi__walk_add(&walk, plan, i);
	for (int i = 0; i < 2; i++) {
		const int axis = i == 0 ? plan->cross : plan->ndim - 1;

		planes.plane.shape[i] = plan->shape[axis];
		planes.plane.dst_strides[i] = plan->dst_strides[axis];
		planes.plane.src_strides[i] = plan->src_strides[axis];
	}
	bi__walk_run(&walk, turn_plane, &planes, dst, src);
	return 1;
}
