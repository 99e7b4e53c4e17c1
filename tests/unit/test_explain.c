/* bi_plan_make: the kind of each plan, the words for it, and what is refused. */
#include "unit.h"

#include "common/plan/plan.h"

static struct bi_layout dense(int ndim, const int64_t *shape)
{
	struct bi_layout layout;

	OK(bi_layout_init(&layout, dtype_of("<f4"), ndim, shape, NULL, 0, &error));
	return layout;
}

#define DENSE(...) dense((int)ARRAY_LENGTH(((int64_t[]){ __VA_ARGS__ })), (int64_t[]){ __VA_ARGS__ })

static struct bi_layout strided(int64_t rows, int64_t columns, int64_t row, int64_t column)
{
	const int64_t shape[] = { rows, columns }, strides[] = { row, column };
	struct bi_layout layout;

	OK(bi_layout_init(&layout, dtype_of("<f4"), 2, shape, strides, 0, &error));
	return layout;
}

static void expect(const struct bi_layout *dst, const struct bi_layout *src, enum bi_plan_kind kind, const char *words)
{
	struct bi_plan plan;

	OK(bi_plan_make(dst, src, &plan, &error));
	assert_int_equal(plan.kind, kind);
	if (!strstr(plan.reason, words))
		fail_msg("\"%s\" does not say \"%s\"", plan.reason, words);
}

static void each_kind_has_its_reason(void **state)
{
	struct bi_layout square = DENSE(16, 16), empty = DENSE(0, 4);
	struct bi_layout turned = strided(16, 16, 4, 64), rows = strided(16, 16, 128, 4);
	struct bi_layout spread = strided(16, 64, 512, 8), repeated = strided(16, 64, 64, 0), wide = DENSE(16, 64);
	struct bi_layout one = strided(16, 16, 0, 0);

	(void)state;
	expect(&square, &square, BI_PLAN_LINEAR, "one run of 1024 bytes");
	expect(&square, &rows, BI_PLAN_ROWS, "dense in runs of 64 bytes");
	expect(&wide, &spread, BI_PLAN_STRIDED, "the step is 4 bytes in the destination, 8 in the source");
	expect(&square, &turned, BI_PLAN_TILES, "reordered in tiles");
	expect(&wide, &repeated, BI_PLAN_BROADCAST, "4 bytes are written 64 times");
	expect(&square, &one, BI_PLAN_FILL, "the same 4 bytes are written everywhere");
	expect(&square, NULL, BI_PLAN_FILL, "the same 4 bytes");
	expect(&empty, &empty, BI_PLAN_NOTHING, "no elements");
}

static void short_runs_are_a_reason_for_tiles(void **state)
{
	struct bi_layout to = DENSE(64, 4), from = strided(64, 4, 4, 256);
	struct bi_layout wide = DENSE(4, 64), near = strided(4, 64, 4, 16), far = strided(4, 64, 4, 20);

	(void)state;
	expect(&to, &from, BI_PLAN_TILES,
	       "runs along axis 1 have only 16 bytes, and the steps of the source along axis 0 have 4: units");
	expect(&wide, &far, BI_PLAN_TILES,
	       "the steps of the source along axis 1 have 20 bytes, and those along axis 0 have 4: units");
	expect(&wide, &near, BI_PLAN_STRIDED, "16 in the source");
}

static void the_numbers_are_those_of_the_nest(void **state)
{
	struct bi_layout to = DENSE(16, 16), from = strided(16, 16, 128, 4);
	struct bi_plan plan;

	(void)state;
	from.offset = 12;
	OK(bi_plan_make(&to, &from, &plan, &error));
	assert_int_equal(plan.ndim, 1);
	assert_int_equal(plan.unit, 64);
	assert_int_equal(plan.bytes, 1024);
	assert_int_equal(plan.src_offset, 12);
	assert_int_equal(plan.dst_offset, 0);
	assert_int_equal(plan.shape[0], 16);
	assert_int_equal(plan.dst_strides[0], 64);
	assert_int_equal(plan.src_strides[0], 128);
}

static void what_cannot_be_copied_has_no_plan(void **state)
{
	struct bi_layout a = DENSE(4, 4), b = DENSE(4, 5), overlapping = strided(4, 4, 4, 4), bytes = a;
	struct bi_plan plan;

	(void)state;
	REFUSED(BI_EINVAL, bi_plan_make(NULL, &a, &plan, &error));
	REFUSED(BI_EINVAL, bi_plan_make(&a, &a, NULL, &error));
	REFUSED(BI_EINVAL, bi_plan_make(&a, &b, &plan, &error));
	bytes.dtype = dtype_of("<f8");
	REFUSED(BI_EDTYPE, bi_plan_make(&a, &bytes, &plan, &error));
	REFUSED(BI_EOVERLAP, bi_plan_make(&overlapping, &a, &plan, &error));
	OK(bi_plan_make(&a, &overlapping, &plan, &error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_its_reason),
		cmocka_unit_test(short_runs_are_a_reason_for_tiles),
		cmocka_unit_test(the_numbers_are_those_of_the_nest),
		cmocka_unit_test(what_cannot_be_copied_has_no_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
