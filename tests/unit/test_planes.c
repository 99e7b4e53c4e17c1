/* Planes: transposes without tables, with edges that are no whole vectors, and plans that have no planes. */
#include "unit.h"

#include "engine_part.h"

static void copy_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	assert_true(bi__engine_planes(part, dst, src));
}

/* Large results may be left to tiles. */
static void copy_in_caches(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	if (!part->streams)
		copy_planes(part, dst, src);
	else if (!bi__engine_planes(part, dst, src))
		bi__engine_lines(part, dst, src);
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

/* Rows at multiples of a power of two have blocks of few rows. The last block is not whole. */
static void blocks_fit_the_sets_of_a_cache(void **state)
{
	static const int64_t pitches[] = { 256, 512, 1024, 2048, 4096, 8192 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LENGTH(types) * ARRAY_LENGTH(pitches); i++) {
		const char *type = types[i / 2 % ARRAY_LENGTH(types)];
		const int64_t size = dtype_of(type).item_size, pitch = pitches[i / 2 / ARRAY_LENGTH(types)];
		const int64_t shape[] = { 71, (pitch < 1024 ? pitch : 1024) / size - 1 }, read = 73 * size;
		const int64_t from_strides[] = { size, i % 2 ? -read : read }, to_strides[] = { pitch, size };
		struct bi_layout to = layout_at(type, 3, 2, shape, to_strides);
		struct bi_layout from = layout_at(type, i % 2 ? (shape[1] - 1) * read : 5, 2, shape, from_strides);

		check_engine_part(copy_in_caches, BI__PLAN_TILES, &to, &from);
	}
}

/* Copies a large result. Returns 1 if it was copied as planes. */
static int has_planes(const struct bi__simd *simd, int ndim, const int64_t *shape, const int64_t *written,
		      const int64_t *read)
{
	struct bi_layout to = layout_at("float32", 0, ndim, shape, written);
	struct bi_layout from = layout_at("float32", 0, ndim, shape, read);
	unsigned char *dst = calloc(1, ENGINE_BYTES), *src = calloc(1, ENGINE_BYTES);
	struct bi__engine_part part = { .simd = simd, .streams = 1 };
	struct bi__plan plan;
	int found;

	assert_inside(&to);
	assert_inside(&from);
	part.plan = &plan;
	bi__plan_make(&plan, &to, &from);
	assert_int_equal(plan.kind, BI__PLAN_TILES);
	found = bi__engine_planes(&part, dst, src);
	free(dst);
	free(src);
	return found;
}

/*
 * Rows with gaps, rows of more units, and short runs of the source are left to tiles if vectors have a line. Shorter
 * vectors leave to tiles short runs that are far from each other, and rows that are all in the same set of a cache.
 */
static void other_rows_are_not_streamed(void **state)
{
	const int64_t few[] = { 600, 7 }, many[] = { 600, 33 }, planes[] = { 4, 2400 }, gaps[] = { 32, 4 };
	const int64_t short_runs[] = { 90, 47, 7 }, far[] = { 200, 4, 18000 }, dense[] = { 1316, 4, 188 };
	const int64_t block[] = { 60, 50 }, near[] = { 4, 2048 }, same[] = { 4, 4096 }, spread[] = { 4096, 4 };

	(void)state;
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++) {
		const int is_short = (*simd)->vector < BI__LINE;

		if (!(*simd)->stream || !(*simd)->runs_here())
			continue;
		assert_int_equal(has_planes(*simd, 2, many, NULL, planes), is_short);
		assert_false(has_planes(*simd, 3, short_runs, NULL, far));
		assert_int_equal(has_planes(*simd, 3, short_runs, NULL, dense), is_short);
		assert_int_equal(has_planes(*simd, 2, few, gaps, planes), is_short);
		assert_int_equal(has_planes(*simd, 2, block, NULL, near), is_short);
		assert_false(has_planes(*simd, 2, block, NULL, same));
		assert_false(has_planes(*simd, 2, block, spread, near));
	}
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
		cmocka_unit_test(blocks_fit_the_sets_of_a_cache),
		cmocka_unit_test(other_rows_are_not_streamed),
		cmocka_unit_test(only_small_dense_units_have_planes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
