#include "locate.h"

#include <stdlib.h>

#define STEPS 4096

static int longest_first(const void *a, const void *b)
{
	const struct locator_axis *left = a, *right = b;

	return (left->stride < right->stride) - (left->stride > right->stride);
}

static void add_axis(struct locator *locator, int64_t extent, int64_t stride, int64_t weight)
{
	struct locator_axis *axis = &locator->axes[locator->count];

	if (!stride) {
		locator->repeats *= extent;
		return;
	}
	if (stride < 0)
		locator->lowest += (extent - 1) * stride;
	*axis = (struct locator_axis){ stride < 0 ? -stride : stride, extent, weight, 0, stride < 0 };
	locator->count++;
}

void locator_init(struct locator *locator, const struct bi_layout *layout)
{
	int64_t weight = 1, reach = 0;

	*locator = (struct locator){ .lowest = layout->offset, .repeats = 1, .empty = !bi_layout_size(layout) };
	if (locator->empty)
		return;
	for (int i = layout->ndim; i-- > 0; weight *= layout->shape[i])
		if (layout->shape[i] > 1)
			add_axis(locator, layout->shape[i], layout->strides[i], weight);
	qsort(locator->axes, (size_t)locator->count, sizeof(locator->axes[0]), longest_first);
	for (int i = locator->count; i-- > 0;) {
		reach += (locator->axes[i].extent - 1) * locator->axes[i].stride;
		locator->axes[i].reach = reach;
	}
}

/* The state of a search. */
struct search {
	const struct locator *locator;
	int steps; /* number of steps so far, to bound the work */
	struct located found;
};

/*
 * Counts the elements that begin `low` to `high` bytes away from the current place along the axes from `at` on.
 * `number` is the part of their C-order numbers that the axes before `at` add.
 */
static void search_axes(struct search *search, int at, int64_t low, int64_t high, int64_t number)
{
	const struct locator *locator = search->locator;
	const struct locator_axis *axis = &locator->axes[at];
	struct located *found = &search->found;
	int64_t later, first, last, step, lowest;

	if (at == locator->count) {
		if (low > 0 || high < 0)
			return;
		if (!found->count++ || number < found->number)
			found->number = number;
		return;
	}
	later = at + 1 < locator->count ? axis[1].reach : 0;
	first = low > later ? (low - later - 1) / axis->stride + 1 : 0;
	last = high < 0 ? -1 : high / axis->stride < axis->extent - 1 ? high / axis->stride : axis->extent - 1;
	if (at + 1 < locator->count) {
		for (int64_t i = first; i <= last && !found->is_cut; i++) {
			if (search->steps++ < STEPS)
				search_axes(search, at + 1, low - i * axis->stride, high - i * axis->stride,
					    number + (axis->backwards ? axis->extent - 1 - i : i) * axis->weight);
			else
				found->is_cut = 1;
		}
		return;
	}
	if (first > last)
		return;
	step = axis->backwards ? axis->extent - 1 - last : first;
	lowest = number + step * axis->weight;
	if (!found->count || lowest < found->number)
		found->number = lowest;
	found->count += last - first + 1;
}

struct located locate(const struct locator *locator, int64_t first, int64_t last)
{
	struct search search = { locator, 0, { 0, -1, 0 } };
	struct located *found = &search.found;
	int64_t reach = locator->count ? locator->axes[0].reach : 0, low = first - locator->lowest,
		high = last - locator->lowest;

	if (locator->empty || high < 0 || low > reach)
		return *found;
	search_axes(&search, 0, low < 0 ? 0 : low, high > reach ? reach : high, 0);
	found->count = found->count > INT64_MAX / locator->repeats ? INT64_MAX : found->count * locator->repeats;
	return *found;
}
