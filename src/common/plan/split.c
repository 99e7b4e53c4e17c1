#include "common/plan/split.h"

/* A box has all indices of as many last axes as the limit allows. The axis before these is cut into steps. */
void bi__split_start(struct bi__split *split, const struct bi_layout *layout, int64_t limit)
{
	int64_t inside = layout->dtype.item_size;
	int axis = layout->ndim - 1;

	for (; axis > 0 && layout->shape[axis] <= limit / inside; axis--)
		inside *= layout->shape[axis];
	split->axis = axis;
	split->step = limit / inside < layout->shape[axis] ? limit / inside : layout->shape[axis];
	split->left = (layout->shape[axis] - 1) / split->step + 1;
	split->step = (layout->shape[axis] - 1) / split->left + 1;
	for (int i = 0; i < axis; i++)
		split->left *= layout->shape[i];
	split->next = 0;
}

/* The axis that is cut advances by a step, the axes before it by 1. */
int bi__split_next(struct bi__split *split, const struct bi_layout *layout, int64_t *at, int64_t *shape)
{
	int64_t number = split->next;

	if (!split->left)
		return 0;
	split->next++;
	split->left--;
	for (int i = layout->ndim - 1; i >= 0; i--) {
		int64_t extent = layout->shape[i], step = i > split->axis ? extent : i == split->axis ? split->step : 1;
		int64_t steps = (extent - 1) / step + 1;

		at[i] = number % steps * step;
		shape[i] = extent - at[i] < step ? extent - at[i] : step;
		number /= steps;
	}
	return 1;
}

void bi__split_cut(const struct bi_layout *layout, const int64_t *at, const int64_t *shape, struct bi_layout *out)
{
	*out = *layout;
	for (int i = 0; i < layout->ndim; i++) {
		out->shape[i] = shape[i];
		out->offset += at[i] * layout->strides[i];
	}
}
