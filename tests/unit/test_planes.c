/* Planes: transposes without tables, with edges that are no whole vectors, and plans that have no planes. */
#include "unit.h"

#include "engine_part.h"

static void copy_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	assert_true(bi__engine_planes(part, dst, src));
}

static void copy_in_caches(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	if (part->streams)
		bi__engine_lines(part, dst, src);
	else
		copy_planes(part, dst, src);
}

/* Copies random planes, each of shape[1] by shape[2] units and read along axis 1, with lines that may have a gap. */
static void check_planes(void (*copy)(const struct bi__engine_part *, unsigned char *, const unsigned char *),
			 const char *type, const int64_t *shape, struct test_random *random)
{
	int64_t size = dtype_of(type).item_size, pitch = size * (shape[1] + test_between(random, 0, 9));
	int64_t strides[] = { pitch * shape[2], size, pitch };
	struct bi_layout to = layout_at(type, test_between(random, 0, 90), 3, shape, NULL);
	struct bi_layout from = layout_at(type, test_between(random, 0, 90), 3, shape, strides);

	check_engine_part(copy, BI__PLAN_TILES, &to, &from);
}

static const char *const types[] = { "uint8", "int16", "float32", "float64" };

static void planes_arrive(void **state)
{
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 60; i++) {
		int64_t shape[] = { test_between(&random, 2, 3), test_between(&random, 16, 150),
				    test_between(&random, 16, 150) };

		check_planes(copy_in_caches, types[i % (int)ARRAY_LENGTH(types)], shape, &random);
	}
}

/* Rows of the fewest to the most units that are streamed, more and fewer of them than the writer takes at a time. */
static void pixels_are_streamed(void **state)
{
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 80; i++) {
		const char *type = types[i % (int)ARRAY_LENGTH(types)];
		int64_t fewest = 16 / dtype_of(type).item_size;
		int64_t width = i < 4 ? fewest : i < 8 ? 32 : test_between(&random, fewest, 32);
		int64_t shape[] = { test_between(&random, 2, 3), test_between(&random, 192, 600), width };

		check_planes(copy_planes, type, shape, &random);
	}
}

/* Rows with gaps, rows of more units, and short runs of the source are left to tiles. */
static void other_rows_are_not_streamed(void **state)
{
	const int64_t few[] = { 600, 7 }, many[] = { 600, 33 }, planes[] = { 4, 2400 }, gaps[] = { 32, 4 };
	const int64_t short_runs[] = { 90, 47, 7 }, far[] = { 200, 4, 18000 };
	struct bi__engine_part part = { .simd = bi__simd_best(), .streams = 1 };
	struct bi_layout to = layout_at("float32", 0, 2, many, NULL), from = layout_at("float32", 0, 2, many, planes);
	struct bi__plan plan;

	(void)state;
	part.plan = &plan;
	bi__plan_make(&plan, &to, &from);
	assert_false(bi__engine_planes(&part, NULL, NULL));
	to = layout_at("float32", 0, 3, short_runs, NULL);
	from = layout_at("float32", 0, 3, short_runs, far);
	bi__plan_make(&plan, &to, &from);
	assert_false(bi__engine_planes(&part, NULL, NULL));
	to = layout_at("float32", 0, 2, few, gaps);
	from = layout_at("float32", 0, 2, few, planes);
	bi__plan_make(&plan, &to, &from);
	assert_int_equal(plan.kind, BI__PLAN_TILES);
	assert_false(bi__engine_planes(&part, NULL, NULL));
}

static void only_small_dense_units_have_planes(void **state)
{
	const int64_t shape[] = { 40, 50 }, dense[] = { 12, 480 }, spread[] = { 8, 400 };
	struct bi_layout to = layout_at("bytes12", 0, 2, shape, NULL), from = layout_at("bytes12", 0, 2, shape, dense);
	struct bi__engine_part part = { .simd = bi__simd_best() };
	struct bi__plan plan;

	(void)state;
	part.plan = &plan;
	bi__plan_make(&plan, &to, &from);
	assert_false(bi__engine_planes(&part, NULL, NULL));
	to = layout_at("float32", 0, 2, shape, NULL);
	from = layout_at("float32", 0, 2, shape, spread);
	bi__plan_make(&plan, &to, &from);
	assert_int_equal(plan.kind, BI__PLAN_TILES);
	assert_false(bi__engine_planes(&part, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planes_arrive),
		cmocka_unit_test(pixels_are_streamed),
		cmocka_unit_test(other_rows_are_not_streamed),
		cmocka_unit_test(only_small_dense_units_have_planes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
