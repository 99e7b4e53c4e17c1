#include "common/engine/parts.h"

void bi__walk_add(struct bi__walk *walk, const struct bi__plan *plan, int axis)
{
	int i = walk->ndim++;

	walk->shape[i] = plan->shape[axis];
	walk->dst_strides[i] = plan->dst_strides[axis];
	walk->src_strides[i] = plan->src_strides[axis];
}

/* Steps the innermost axis that has a step left, and restarts the axes inside it. Returns 1, or 0 at the end. */
static int step_walk(const struct bi__walk *walk, int64_t *at, unsigned char **dst, const unsigned char **src)
{
	for (int i = walk->ndim - 1; i >= 0; i--) {
		if (++at[i] < walk->shape[i]) {
			*dst += walk->dst_strides[i];
			*src += walk->src_strides[i];
			return 1;
		}
		at[i] = 0;
		*dst -= (walk->shape[i] - 1) * walk->dst_strides[i];
		*src -= (walk->shape[i] - 1) * walk->src_strides[i];
	}
	return 0;
}

void bi__walk_run(const struct bi__walk *walk, bi__walk_fn fn, void *inner, unsigned char *dst,
		  const unsigned char *src)
{
	int64_t at[BI_MAX_NDIM];

	for (int i = 0; i < walk->ndim; i++)
		at[i] = 0;
	do
		fn(inner, dst, src);
	while (step_walk(walk, at, &dst, &src));
}
