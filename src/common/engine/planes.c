/* Transposes that stay in the caches: directly, because a buffer would take longer than the lines it saves. */
#include "common/engine/parts.h"

/* A plane is dense along its height in the source, along its width in the destination. */
struct planes {
	bi__transpose_fn turn;
	int64_t unit, dst_pitch, src_pitch; /* bytes */
	int64_t height, width; /* units */
	int64_t high, wide; /* units of the smallest block that `turn` accepts */
};

/* The last block of a row overlaps the one before it. */
static void turn_row(const struct planes *planes, unsigned char *dst, const unsigned char *src, int64_t height)
{
	const int64_t rest = planes->width % planes->wide, last = planes->width - planes->wide;

	planes->turn(dst, planes->dst_pitch, src, planes->src_pitch, height, planes->width - rest);
	if (rest)
		planes->turn(dst + last * planes->unit, planes->dst_pitch, src + last * planes->src_pitch,
			     planes->src_pitch, height, planes->wide);
}

/* The last row of blocks overlaps the one before it. */
static void turn_plane(void *inner, unsigned char *dst, const unsigned char *src)
{
	const struct planes *planes = inner;
	const int64_t rest = planes->height % planes->high, last = planes->height - planes->high;

	turn_row(planes, dst, src, planes->height - rest);
	if (rest)
		turn_row(planes, dst + last * planes->dst_pitch, src + last * planes->unit, planes->high);
}

int bi__engine_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;
	const int x = plan->ndim - 1, y = plan->cross;
	struct planes planes = { .unit = (int64_t)plan->unit, .height = plan->shape[y], .width = plan->shape[x] };
	const int is_narrow = planes.width * planes.unit < BI__LINE;
	struct bi__walk walk = { .ndim = 0 };

	planes.high = 16 / planes.unit;
	planes.wide = is_narrow ? planes.high : BI__LINE / planes.unit;
	if (plan->unit > 8 || (plan->unit & (plan->unit - 1)) || plan->dst_strides[x] != planes.unit ||
	    plan->src_strides[y] != planes.unit || planes.height < planes.high || planes.width < planes.wide)
		return 0;
	planes.turn = (is_narrow ? part->simd->transpose_narrow : part->simd->transpose)[plan->unit];
	planes.dst_pitch = plan->dst_strides[y];
	planes.src_pitch = plan->src_strides[x];
	for (int i = 0; i < x; i++)
		if (i != y)
			bi__walk_add(&walk, plan, i);
	bi__walk_run(&walk, turn_plane, &planes, dst, src);
	return 1;
}
