#include "common/engine/parts.h"

/* A loop nest over the axes of a plan, without axes x and y. */
struct walk {
	const struct bi__plan *plan;
	int x, y;
	int64_t at[BI_MAX_NDIM];
};

/* Steps the innermost axis that has a step left, and restarts the axes inside it. Returns 1, or 0 at the end. */
static int step_walk(struct walk *walk, unsigned char **dst, const unsigned char **src)
{
	const struct bi__plan *plan = walk->plan;

	for (int i = plan->ndim - 1; i >= 0; i--) {
		if (i == walk->x || i == walk->y)
			continue;
		if (++walk->at[i] < plan->shape[i]) {
			*dst += plan->dst_strides[i];
			*src += plan->src_strides[i];
			return 1;
		}
		walk->at[i] = 0;
		*dst -= (plan->shape[i] - 1) * plan->dst_strides[i];
		*src -= (plan->shape[i] - 1) * plan->src_strides[i];
	}
	return 0;
}

void bi__walk(const struct bi__plan *plan, int x, int y, bi__walk_fn fn, void *inner, unsigned char *dst,
	      const unsigned char *src)
{
	struct walk walk;

	walk.plan = plan;
	walk.x = x;
	walk.y = y;
	for (int i = 0; i < plan->ndim; i++)
		walk.at[i] = 0;
	do
		fn(inner, dst, src);
	while (step_walk(&walk, &dst, &src));
}
