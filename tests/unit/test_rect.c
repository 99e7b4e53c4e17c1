/* Which plans are boxes of rows, and that a box moves what its plan does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/plan/rect.h"
#include "support/random.h"

#define ROUNDS 2000
#define ARRAY 65536

static struct test_random random_state;

static int64_t between(int64_t low, int64_t high)
{
	return test_between(&random_state, low, high);
}

static struct bi_dtype bytes_of(int64_t item_size)
{
	return (struct bi_dtype){ .item_size = (uint32_t)item_size };
}

/* The plan as it is read. */
static void follow_plan(const struct bi__plan *plan, int axis, unsigned char *dst, const unsigned char *src)
{
	if (axis == plan->ndim) {
		memcpy(dst, src, plan->unit);
		return;
	}
	for (int64_t i = 0; i < plan->shape[axis]; i++)
		follow_plan(plan, axis + 1, dst + i * plan->dst_strides[axis], src + i * plan->src_strides[axis]);
}

/* The box as a driver reads it, with the driver's own conditions. */
static void follow_rect(const struct bi__rect *rect, unsigned char *dst, const unsigned char *src)
{
	const struct bi__pitch *pitches[] = { &rect->dst, &rect->src };

	for (int i = 0; i < 2; i++) {
		assert_true(pitches[i]->row >= rect->width);
		assert_true(pitches[i]->slice >= rect->rows * pitches[i]->row);
		assert_true(pitches[i]->slice % pitches[i]->row == 0);
	}
	assert_true(rect->width && rect->rows && rect->slices);
	for (size_t z = 0; z < rect->slices; z++)
		for (size_t y = 0; y < rect->rows; y++)
			memcpy(dst + z * rect->dst.slice + y * rect->dst.row,
			       src + z * rect->src.slice + y * rect->src.row, rect->width);
}

static void expect_same_bytes(const struct bi__plan *plan, const struct bi__rect *rect)
{
	static unsigned char src[ARRAY], by_plan[ARRAY], by_rect[ARRAY];

	for (size_t i = 0; i < ARRAY; i++)
		src[i] = (unsigned char)test_next(&random_state);
	memset(by_plan, 0, ARRAY);
	memset(by_rect, 0, ARRAY);
	follow_plan(plan, 0, by_plan + plan->dst_offset, src + plan->src_offset);
	follow_rect(rect, by_rect + plan->dst_offset, src + plan->src_offset);
	assert_memory_equal(by_plan, by_rect, ARRAY);
}

/* A layout of three axes as a box has them: some rows of `width` bytes, pitched at random. */
static struct bi_layout random_box(const int64_t *shape, int64_t item_size)
{
	struct bi_layout layout = { .dtype = bytes_of(item_size), .ndim = 3, .offset = between(0, 7) };
	int64_t row = shape[2] * item_size + between(0, 1) * between(0, 20);

	memcpy(layout.shape, shape, 3 * sizeof(*shape));
	layout.strides[2] = item_size;
	layout.strides[1] = row;
	layout.strides[0] = row * (shape[1] + between(0, 1) * between(0, 3));
	return layout;
}

static void test_every_pair_of_boxes_is_a_box(void **state)
{
	int dimensions[3] = { 0 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		const int64_t shape[3] = { between(1, 4), between(1, 5), between(1, 6) };
		int64_t item_size = between(1, 5);
		struct bi_layout to = random_box(shape, item_size), from = random_box(shape, item_size);
		struct bi__plan plan;
		struct bi__rect rect;

		bi__plan_make(&plan, &to, &from);
		assert_int_equal(1, bi__rect_make(&plan, &rect));
		assert_int_equal(plan.bytes, rect.width * rect.rows * rect.slices);
		expect_same_bytes(&plan, &rect);
		dimensions[plan.ndim]++;
	}
	for (int i = 0; i < 3; i++)
		assert_true(dimensions[i] > 100);
}

/* What stands in the way of a box; written a second time, from the drivers' manuals. */
static int is_pitched(const int64_t *strides, const struct bi__plan *plan)
{
	int n = plan->ndim;
	int64_t row = n ? strides[n - 1] : 0;

	if (n > 2)
		return 0;
	if (n && row < (int64_t)plan->unit)
		return 0;
	return n < 2 || (strides[0] >= row * plan->shape[1] && strides[0] % row == 0);
}

/* Axes nested in any order, with gaps; those of a source may also share bytes, run backwards or stand still. */
static struct bi_layout random_layout(const int64_t *shape, int ndim, int64_t item_size, int is_source)
{
	struct bi_layout layout = { .dtype = bytes_of(item_size), .ndim = ndim };
	int64_t span = item_size, first, end;
	int turn = ndim ? (int)between(0, ndim - 1) * (int)between(0, 1) : 0;

	memcpy(layout.shape, shape, (size_t)ndim * sizeof(*shape));
	for (int i = ndim - 1; i >= 0; i--) {
		int axis = (i + turn) % ndim;

		span += between(0, 1) * between(0, 3) * (between(0, 1) ? span : 1);
		layout.strides[axis] = span;
		if (is_source && between(0, 9) == 0)
			layout.strides[axis] = span * between(-1, 0);
		else if (is_source && between(0, 3) == 0)
			layout.strides[axis] = between(1, span);
		span *= shape[axis];
	}
	bi_layout_extent(&layout, &first, &end);
	layout.offset = -first;
	return layout;
}

static void test_of_any_plans_the_pitched_ones_are_boxes(void **state)
{
	int boxes = 0, others = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		const int64_t shape[4] = { between(1, 3), between(1, 3), between(1, 2), between(1, 3) };
		int ndim = (int)between(0, 4);
		int64_t item_size = between(1, 3);
		struct bi_layout to = random_layout(shape, ndim, item_size, 0);
		struct bi_layout from = random_layout(shape, ndim, item_size, 1);
		struct bi__plan plan;
		struct bi__rect rect;
		int expected;

		bi__plan_make(&plan, &to, &from);
		expected = is_pitched(plan.dst_strides, &plan) && is_pitched(plan.src_strides, &plan);
		assert_int_equal(expected, bi__rect_make(&plan, &rect));
		if (expected)
			expect_same_bytes(&plan, &rect);
		*(expected ? &boxes : &others) += 1;
	}
	assert_true(boxes > 100 && others > 100);
}

/* Rows of a matrix whose last pitch would end behind the last address. */
static void test_a_pitch_that_does_not_fit_is_no_box(void **state)
{
	struct bi__plan plan = { .kind = BI_PLAN_ROWS, .ndim = 1, .unit = 8, .bytes = 24 };
	struct bi__rect rect;

	(void)state;
	plan.shape[0] = 3;
	plan.dst_strides[0] = 8;
	plan.src_strides[0] = PTRDIFF_MAX / 2;
	assert_int_equal(1, bi__rect_make(&plan, &rect));
	plan.src_strides[0] = PTRDIFF_MAX;
	assert_int_equal(0, bi__rect_make(&plan, &rect));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair_of_boxes_is_a_box),
		cmocka_unit_test(test_of_any_plans_the_pitched_ones_are_boxes),
		cmocka_unit_test(test_a_pitch_that_does_not_fit_is_no_box),
	};

	random_state.state = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
