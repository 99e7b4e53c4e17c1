#include "common/engine/parts.h"

/*
 * Goes to the next position: one step along the innermost axis that has a step left, and back to the start along the
 * axes inside of it. The axes x and y are left out. Returns 1, or 0 after the last position.
 */
static int step_walk(const struct bi__plan *plan, int x, int y, int64_t *at, unsigned char **dst,
		     const unsigned char **src)
{
	for (int i = plan->ndim - 1; i >= 0; i--) {
		if (i == x || i == y)
			continue;
		if (++at[i] < plan->shape[i]) {
			*dst += plan->dst_strides[i];
			*src += plan->src_strides[i];
			return 1;
		}
		at[i] = 0;
		*dst -= (plan->shape[i] - 1) * plan->dst_strides[i];
		*src -= (plan->shape[i] - 1) * plan->src_strides[i];
	}
	return 0;
}

void bi__walk(const struct bi__plan *plan, int x, int y, bi__walk_fn fn, void *inner, unsigned char *dst,
	      const unsigned char *src)
{
	int64_t at[BI_MAX_NDIM];

	for (int i = 0; i < plan->ndim; i++)
		at[i] = 0;
	do
		fn(inner, dst, src);
	while (step_walk(plan, x, y, at, &dst, &src));
}
