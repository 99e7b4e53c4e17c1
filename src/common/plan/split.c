#include "common/plan/split.h"

#include <string.h>

/* A box has all indices of as many last axes as the limit allows. The axis before these is cut into steps. */
void bi__split_start(struct bi__split *split, const struct bi_layout *layout, int64_t limit)
{
	int64_t inside = layout->dtype.item_size, count;
	int axis = layout->ndim - 1;

	memset(split->at, 0, sizeof(split->at));
	split->is_done = 0;
	for (; axis > 0 && layout->shape[axis] <= limit / inside; axis--)
		inside *= layout->shape[axis];
	split->axis = axis;
	split->step = limit / inside < layout->shape[axis] ? limit / inside : layout->shape[axis];
	count = (layout->shape[axis] - 1) / split->step + 1;
	split->step = (layout->shape[axis] - 1) / count + 1;
}

/* Moves split->at to the next box in C order. The axis that is cut advances by a step, the axes before it by 1. */
static void move_to_next_box(struct bi__split *split, const struct bi_layout *layout)
{
	for (int i = split->axis; i >= 0; i--) {
		int64_t step = i == split->axis ? split->step : 1;

		if (layout->shape[i] - split->at[i] > step) {
			split->at[i] += step;
			return;
		}
		split->at[i] = 0;
	}
	split->is_done = 1;
}

int bi__split_next(struct bi__split *split, const struct bi_layout *layout, int64_t *at, int64_t *shape)
{
	int64_t left;

	if (split->is_done)
		return 0;
	left = layout->shape[split->axis] - split->at[split->axis];
	for (int i = 0; i < layout->ndim; i++) {
		at[i] = split->at[i];
		shape[i] = i < split->axis ? 1 : layout->shape[i];
	}
	shape[split->axis] = left < split->step ? left : split->step;
	move_to_next_box(split, layout);
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
