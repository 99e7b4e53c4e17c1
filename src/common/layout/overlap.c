/*
 * Decides whether two layouts, or two elements of one layout, have a byte in common.
 *
 * The distance of a common byte from the first byte of one layout, plus its distance from the last byte of the other,
 * is a known number. This sum consists of terms step * u with 0 <= u <= count, so the problem is whether such a sum can
 * equal that number. The terms are sorted by step, largest first, and cut into groups. Each sum of a group is a
 * multiple of the divisor of the group. The sum of all terms after the group is less than two times this divisor. So at
 * most two sums of each group have to be tried. Two slices of a dense array usually have one group of two terms for
 * each axis, and one group for the bytes of an item.
 */
#include "common/base/checked.h"
#include "common/layout/layout.h"

#define MAX_TERMS (2 * BI_MAX_NDIM + 1)
#define MAX_WORK (1 << 20)

struct term {
	int64_t step; /* > 0 */
	int64_t count; /* > 0 */
};

struct sum {
	int n;
	int work; /* search steps left; at 0 the search ends and assumes a common byte */
	int too_large; /* 1: the largest sum overflows */
	int64_t total; /* largest possible sum */
	struct term terms[MAX_TERMS];
	int64_t reach[MAX_TERMS + 1]; /* largest possible sum of the terms from term i on */
	int64_t divisor[MAX_TERMS]; /* greatest common divisor of the steps from term i to the end of its group */
	int end[MAX_TERMS]; /* end of the group of term i */
};

static void add_term(struct sum *sum, int64_t step, int64_t count)
{
	int64_t reach;

	if (count <= 0 || step == 0)
		return;
	sum->terms[sum->n++] = (struct term){ step, count };
	sum->too_large |= bi__mul(step, count, &reach) || bi__add(sum->total, reach, &sum->total);
}

static void sort_terms(struct sum *sum)
{
	for (int i = 1; i < sum->n; i++) {
		struct term term = sum->terms[i];
		int j = i;

		for (; j > 0 && sum->terms[j - 1].step < term.step; j--)
			sum->terms[j] = sum->terms[j - 1];
		sum->terms[j] = term;
	}
}

/* Finds the group that begins at `begin`, and sets divisor[] and end[] of its terms. Returns its end. */
static int close_group(struct sum *sum, int begin)
{
	int end = begin;
	int64_t divisor = 0;

	do
		divisor = (int64_t)bi__common_divisor((uint64_t)sum->terms[end++].step, (uint64_t)divisor);
	while (sum->reach[end] / 2 >= divisor);
	divisor = 0;
	for (int i = end - 1; i >= begin; i--) {
		divisor = (int64_t)bi__common_divisor((uint64_t)sum->terms[i].step, (uint64_t)divisor);
		sum->divisor[i] = divisor;
		sum->end[i] = end;
	}
	return end;
}

static void prepare_sum(struct sum *sum)
{
	sort_terms(sum);
	sum->reach[sum->n] = 0;
	for (int i = sum->n - 1; i >= 0; i--)
		sum->reach[i] = sum->reach[i + 1] + sum->terms[i].step * sum->terms[i].count;
	for (int i = 0; i < sum->n;)
		i = close_group(sum, i);
}

/* Returns 1 if the sum of the terms from i to the end of their group can equal `target`, or if no work is left. */
static int group_meets(struct sum *sum, int i, int64_t target)
{
	int64_t step = sum->terms[i].step, reach = sum->reach[i] - sum->reach[sum->end[i]];
	int64_t rest = reach - step * sum->terms[i].count, first, last;

	if (target < 0 || target > reach || target % sum->divisor[i])
		return 0;
	if (i + 1 == sum->end[i])
		return 1;
	first = target > rest ? (target - rest - 1) / step + 1 : 0;
	last = target / step < sum->terms[i].count ? target / step : sum->terms[i].count;
	for (int64_t u = first; u <= last; u++)
		if (sum->work-- <= 0 || group_meets(sum, i + 1, target - u * step))
			return 1;
	return 0;
}

/* Returns 1 if the sum of all terms from i, the start of a group, can equal `target`, or if no work is left. */
static int sum_meets(struct sum *sum, int i, int64_t target)
{
	int end;

	if (target < 0 || target > sum->reach[i])
		return 0;
	if (i == sum->n)
		return 1;
	end = sum->end[i];
	for (int64_t rest = target % sum->divisor[i]; rest <= sum->reach[end] && rest <= target;
	     rest += sum->divisor[i])
		if (sum->work-- <= 0 || (sum_meets(sum, end, rest) && group_meets(sum, i, target - rest)))
			return 1;
	return 0;
}

static int sum_can_equal(struct sum *sum, int64_t target)
{
	if (sum->too_large)
		return 1;
	prepare_sum(sum);
	return sum_meets(sum, 0, target);
}

static void start_sum(struct sum *sum, int work)
{
	sum->n = 0;
	sum->work = work;
	sum->too_large = 0;
	sum->total = 0;
}

static void add_axes(struct sum *sum, const struct bi_layout *layout)
{
	for (int i = 0; i < layout->ndim; i++)
		if (layout->shape[i] > 1)
			add_term(sum, layout->strides[i] < 0 ? -layout->strides[i] : layout->strides[i],
				 layout->shape[i] - 1);
}

/* Writes the extent of the layout after a move by `distance` bytes. Returns 1, or 0 if the move overflows. */
static int move_extent(const struct bi_layout *layout, int64_t distance, int64_t *first, int64_t *end)
{
	bi_layout_extent(layout, first, end);
	return !bi__add(*first, distance, first) && !bi__add(*end, distance, end);
}

int bi__layout_overlap_at(const struct bi_layout *a, int64_t distance, const struct bi_layout *b)
{
	int64_t a_first, a_end, b_first, b_end, target;
	struct sum sum;

	if (!move_extent(a, distance, &a_first, &a_end))
		return 0;
	bi_layout_extent(b, &b_first, &b_end);
	if (a_end <= b_first || b_end <= a_first || bi_layout_nbytes(a) == 0 || bi_layout_nbytes(b) == 0)
		return 0;
	if (bi__sub(b_end - 1, a_first, &target))
		return 1;
	/*
	 * A byte of `a` and a byte of `b` are the same if the distance of one from the first byte of `a` and the
	 * distance of the other from the last byte of `b` add up to `target`.
	 */
	start_sum(&sum, MAX_WORK);
	add_axes(&sum, a);
	add_axes(&sum, b);
	add_term(&sum, 1, (int64_t)a->dtype.item_size - 1 + b->dtype.item_size - 1);
	return sum_can_equal(&sum, target);
}

int bi_layout_overlap(const struct bi_layout *a, const struct bi_layout *b)
{
	return bi__layout_overlap_at(a, 0, b);
}

/*
 * Returns true if two elements can share a byte whose indices are equal on the axes before k and differ on axis k. Also
 * returns true if the search cannot decide this. On an axis after k the indices differ by -count to count. Counted from
 * -count, the difference is the sum of two terms of `count` each. All terms add up to `target` for a shared byte.
 */
static int axis_overlaps(const struct sum *axes, int k, int64_t item_size, int64_t target, int *work)
{
	struct sum sum;
	int found;

	start_sum(&sum, *work);
	add_term(&sum, axes->terms[k].step, axes->terms[k].count - 1);
	for (int j = k + 1; j < axes->n; j++) {
		add_term(&sum, axes->terms[j].step, axes->terms[j].count);
		add_term(&sum, axes->terms[j].step, axes->terms[j].count);
	}
	add_term(&sum, 1, 2 * (item_size - 1));
	found = sum_can_equal(&sum, target);
	*work = sum.work;
	return found;
}

int bi_layout_self_overlap(const struct bi_layout *layout)
{
	int64_t below = (int64_t)layout->dtype.item_size - 1;
	int work = MAX_WORK;
	int64_t reach;
	struct sum axes;

	if (bi_layout_nbytes(layout) == 0)
		return 0;
	for (int i = 0; i < layout->ndim; i++)
		if (layout->shape[i] > 1 && layout->strides[i] == 0)
			return 1;
	start_sum(&axes, work);
	add_axes(&axes, layout);
	sort_terms(&axes);
	for (int k = axes.n - 1; k >= 0; k--) {
		const struct term *term = &axes.terms[k];

		/* Usually a stride exceeds the reach of all smaller ones, and no search is needed. */
		if (below >= term->step && axis_overlaps(&axes, k, layout->dtype.item_size, below - term->step, &work))
			return 1;
		if (bi__mul(term->step, term->count, &reach) || bi__add(below, reach, &below))
			return k > 0;
	}
	return 0;
}
