#include "common/plan/rect.h"

#include "common/base/checked.h"

/* Computes the pitches of one side from its strides, outermost first. Returns 1, or 0 if they do not form a box. */
static int make_pitch(const struct bi__rect *rect, const int64_t *strides, int ndim, struct bi__pitch *out)
{
	size_t slice;

	for (int i = 0; i < ndim; i++)
		if (strides[i] <= 0)
			return 0;
	out->row = ndim ? (size_t)strides[ndim - 1] : rect->width;
	if (out->row < rect->width || bi__mul_size(out->row, rect->rows, &slice))
		return 0;
	out->slice = ndim == 2 ? (size_t)strides[0] : slice;
	return out->slice >= slice && out->slice % out->row == 0;
}

int bi__rect_make(const struct bi__plan *plan, struct bi__rect *out)
{
	int n = plan->ndim;

	if (n > 2)
		return 0;
	out->width = plan->unit;
	out->rows = n ? (size_t)plan->shape[n - 1] : 1;
	out->slices = n == 2 ? (size_t)plan->shape[0] : 1;
	return make_pitch(out, plan->dst_strides, n, &out->dst) && make_pitch(out, plan->src_strides, n, &out->src);
}
