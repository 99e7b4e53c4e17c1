/* A nest cut into boxes: each element is in one box, in order, and no box is larger than the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/plan/split.h"
#include "support/random.h"

#define ROUNDS 3000
#define ELEMENTS 4096

static struct test_random random_state;

static int64_t between(int64_t low, int64_t high)
{
	return test_between(&random_state, low, high);
}

static struct bi_layout random_layout(void)
{
	struct bi_layout layout = { .ndim = (int32_t)between(1, 5) };
	int64_t stride = 1;

	layout.dtype.item_size = (uint32_t)between(1, 9);
	for (int i = layout.ndim - 1; i >= 0; i--) {
		layout.shape[i] = between(0, 2) ? between(1, 5) : 1;
		layout.strides[i] = stride;
		stride *= layout.shape[i];
	}
	return layout;
}

/* Strides count elements here, so that the offset of an element is its number. */
static void mark(const struct bi_layout *box, int axis, int64_t number, int *seen, int64_t *count)
{
	if (axis == box->ndim) {
		seen[number]++;
		*count += 1;
		return;
	}
	for (int64_t i = 0; i < box->shape[axis]; i++)
		mark(box, axis + 1, number + i * box->strides[axis], seen, count);
}

static int64_t elements(const struct bi_layout *layout)
{
	int64_t n = 1;

	for (int i = 0; i < layout->ndim; i++)
		n *= layout->shape[i];
	return n;
}

static void test_boxes_cover_each_element_once_and_in_order(void **state)
{
	int cut = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct bi_layout layout = random_layout(), box;
		int64_t item = layout.dtype.item_size, limit = between(item, item * 40), at[BI_MAX_NDIM],
			shape[BI_MAX_NDIM], last = -1, boxes = 0;
		static int seen[ELEMENTS];
		struct bi__split split;

		memset(seen, 0, sizeof(seen));
		bi__split_start(&split, &layout, limit);
		while (bi__split_next(&split, &layout, at, shape)) {
			int64_t count = 0;

			bi__split_cut(&layout, at, shape, &box);
			mark(&box, 0, box.offset, seen, &count);
			assert_true(count > 0 && count * item <= limit);
			/* The box is one run of the nest, behind the last one. */
			assert_int_equal(box.offset, last + 1);
			last = box.offset + count - 1;
			boxes++;
		}
		assert_int_equal(last + 1, elements(&layout));
		for (int64_t i = 0; i <= last; i++)
			assert_int_equal(seen[i], 1);
		cut += boxes > 1;
		/* Nothing is cut that fits. */
		assert_true(boxes == 1 || elements(&layout) * item > limit);
	}
	assert_true(cut > ROUNDS / 10);
}

static int64_t count_boxes(const struct bi_layout *layout, int64_t limit, int64_t *smallest)
{
	int64_t at[BI_MAX_NDIM], shape[BI_MAX_NDIM], boxes = 0;
	struct bi__split split;
	struct bi_layout box;

	*smallest = INT64_MAX;
	bi__split_start(&split, layout, limit);
	while (bi__split_next(&split, layout, at, shape)) {
		bi__split_cut(layout, at, shape, &box);
		*smallest = elements(&box) < *smallest ? elements(&box) : *smallest;
		boxes++;
	}
	return boxes;
}

/* One element more than a box holds makes two halves, not a box and a crumb. */
static void test_boxes_are_about_equally_large(void **state)
{
	struct bi_layout layout = { .ndim = 2, .shape = { 101, 10 }, .strides = { 10, 1 } };
	int64_t smallest;

	(void)state;
	layout.dtype.item_size = 1;
	assert_int_equal(count_boxes(&layout, 1000, &smallest), 2);
	assert_int_equal(smallest, 500);
	assert_int_equal(count_boxes(&layout, 1010, &smallest), 1);
}

/* Sizes near the end of the numbers do not overflow. */
static void test_the_largest_nest(void **state)
{
	struct bi_layout layout = { .ndim = 3, .shape = { INT64_MAX / 8, 1, 1 }, .strides = { 8, 8, 8 } };
	int64_t at[BI_MAX_NDIM], shape[BI_MAX_NDIM];
	struct bi__split split;

	(void)state;
	layout.dtype.item_size = 8;
	bi__split_start(&split, &layout, 4 << 20);
	assert_int_equal(bi__split_next(&split, &layout, at, shape), 1);
	assert_int_equal(shape[0], (4 << 20) / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boxes_cover_each_element_once_and_in_order),
		cmocka_unit_test(test_boxes_are_about_equally_large),
		cmocka_unit_test(test_the_largest_nest),
	};

	random_state.state = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
