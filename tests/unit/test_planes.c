/* Planes: transposes without tables, with edges that are no whole vectors, and plans that have no planes. */
#include "unit.h"

#include "engine_part.h"

static void copy_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	assert_true(bi__engine_planes(part, dst, src));
}

/* The planes of large results may be left to tiles. */
static void copy_planes_or_lines(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
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

	check_engine_part(copy, BI_PLAN_TILES, &to, &from);
}

static const char *const types[] = { "uint8", "int16", "float32", "float64" };

static void planes_arrive(void **state)
{
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 60; i++) {
		int64_t shape[] = { test_between(&random, 2, 3), test_between(&random, 16, 150),
				    test_between(&random, 16, 150) };

		check_planes(copy_planes_or_lines, types[i % (int)ARRAY_LENGTH(types)], shape, &random);
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

/* Rows at multiples of a power of two, and runs backwards. */
static void planes_with_any_pitch_arrive(void **state)
{
	static const int64_t pitches[] = { 256, 512, 1024, 2048, 4096, 8192 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LENGTH(types) * ARRAY_LENGTH(pitches); i++) {
		const char *type = types[i / 2 % ARRAY_LENGTH(types)];
		const int64_t size = dtype_of(type).item_size, pitch = pitches[i / 2 / ARRAY_LENGTH(types)];
		const int64_t shape[] = { 90, (pitch < 1024 ? pitch : 1024) / size - 1 }, read = 91 * size;
		const int64_t from_strides[] = { size, i % 2 ? -read : read }, to_strides[] = { pitch, size };
		struct bi_layout to = layout_at(type, 3, 2, shape, to_strides);
		struct bi_layout from = layout_at(type, i % 2 ? (shape[1] - 1) * read : 5, 2, shape, from_strides);

		check_engine_part(copy_planes_or_lines, BI_PLAN_TILES, &to, &from);
	}
}

/* Planes of more rows than a panel. The last panel has more rows than the smallest block. */
static void tall_planes_arrive(void **state)
{
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 40; i++) {
		const char *type = types[i % (int)ARRAY_LENGTH(types)];
		int64_t shape[] = { 1, i < 24 ? 2040 + i : test_between(&random, 2049, 4200),
				    test_between(&random, 16, 20) };

		check_planes(copy_planes_or_lines, type, shape, &random);
	}
}

static int64_t highest; /* of the blocks that were turned */

static void note_height(unsigned char *dst, int64_t dst_pitch, const unsigned char *src, const int64_t *rows,
			int64_t height, int64_t width)
{
	(void)dst, (void)dst_pitch, (void)src, (void)rows, (void)width;
	if (height > highest)
		highest = height;
}

/* Short vectors leave at most four rows of a block in a set of the cache. */
static void blocks_fit_the_sets_of_a_cache(void **state)
{
	static const struct {
		int64_t pitch, rows;
	} cases[] = { { 256, 64 }, { 512, 32 }, { 1024, 16 }, { 2048, 8 },
		      { 4096, 4 }, { 4100, 4 }, { 8192, 4 },  { 1000, 88 } };
	static unsigned char bytes[ENGINE_BYTES];
	struct bi__simd simd = bi__simd_portable;

	(void)state;
	simd.transpose[4] = note_height;
	for (size_t i = 0; i < 2 * ARRAY_LENGTH(cases); i++) {
		const int64_t shape[] = { 90, 40 }, read[] = { 4, 364 }, written[] = { cases[i / 2].pitch, 4 };
		struct bi_layout to = layout_at("float32", 0, 2, shape, written);
		struct bi_layout from = layout_at("float32", 0, 2, shape, read);
		struct bi__plan plan;
		const struct bi__engine_part part = { &plan, &simd, 0, ENGINE_BYTES };

		simd.vector = i % 2 ? BI__LINE : 16;
		highest = 0;
		bi__plan_make(&plan, &to, &from);
		assert_true(bi__engine_planes(&part, bytes, bytes));
		assert_int_equal(highest, i % 2 ? 88 : cases[i / 2].rows);
	}
}

static void refuse_to_stream(unsigned char *dst, const unsigned char *src, size_t lines)
{
	(void)dst, (void)src, (void)lines;
	fail_msg("the rows are streamed");
}

static int yes(void)
{
	return 1;
}

static int no(void)
{
	return 0;
}

/* A layout of units of one type that is large (streams) or small, and where it is written and read. */
struct direct_case {
	int is_direct, ndim;
	const char *type;
	const int64_t *shape, *written, *read;
};

/* Copies with vectors of 16 or 64 bytes. Returns 1 if the result was copied as planes, without streaming. */
static int is_direct(const struct direct_case *c, size_t vector, int (*scatters_here)(void), int streams)
{
	static unsigned char dst[ENGINE_BYTES], src[ENGINE_BYTES], expected[ENGINE_BYTES];
	struct bi_layout to = layout_at(c->type, 0, c->ndim, c->shape, c->written);
	const int last = c->ndim - 1;
	const int64_t offset = c->read[last] < 0 ? (1 - c->shape[last]) * c->read[last] : 0;
	struct bi_layout from = layout_at(c->type, offset, c->ndim, c->shape, c->read);
	struct bi__simd simd = bi__simd_portable;
	struct bi__plan plan;
	const struct bi__engine_part part = { .plan = &plan, .simd = &simd, .streams = streams };

	assert_inside(&to);
	assert_inside(&from);
	simd.vector = vector;
	simd.stream = refuse_to_stream;
	simd.scatters_here = scatters_here;
	for (size_t i = 0; i < ENGINE_BYTES; i++)
		src[i] = (unsigned char)(i * 7 + i / 251);
	memset(dst, 0xa5, ENGINE_BYTES);
	memset(expected, 0xa5, ENGINE_BYTES);
	naive_copy(expected, &to, src, &from);
	bi__plan_make(&plan, &to, &from);
	assert_int_equal(plan.kind, BI_PLAN_TILES);
	if (!bi__engine_planes(&part, dst, src + plan.src_offset))
		return 0;
	assert_memory_equal(dst, expected, ENGINE_BYTES);
	return 1;
}

/* Large planes are turned directly unless rows or runs are short and far from each other, or in one set. */
static void large_planes_are_turned_where_processors_scatter(void **state)
{
	static const int64_t many[] = { 600, 33 }, planes[] = { 4, 2400 };
	static const int64_t few[] = { 600, 7 }, gaps[] = { 32, 4 };
	static const int64_t short_runs[] = { 90, 40, 7 }, dense[] = { 1120, 4, 160 }, far[] = { 168, 4, 15120 };
	static const int64_t block[] = { 60, 50 }, near[] = { 4, 2048 }, same[] = { 4, 4096 }, spread[] = { 4096, 4 };
	static const int64_t bytes[] = { 240, 200 }, apart[] = { 1, 1000 }, one_set[] = { 1, 4096 };
	static const struct direct_case cases[] = {
		{ 1, 2, "float32", many, NULL, planes },      { 0, 2, "float32", few, gaps, planes },
		{ 1, 3, "float32", short_runs, NULL, dense }, { 0, 3, "float32", short_runs, NULL, far },
		{ 1, 2, "float32", block, NULL, near },       { 1, 2, "float32", block, NULL, same },
		{ 0, 2, "float32", block, spread, near },     { 1, 2, "uint8", bytes, NULL, apart },
		{ 0, 2, "uint8", bytes, NULL, one_set },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(is_direct(&cases[i], 16, yes, 1), cases[i].is_direct);
		assert_false(is_direct(&cases[i], 16, no, 1));
	}
}

/* Tiles copy small planes with many rows in few sets of the cache. */
static void small_planes_in_few_sets_are_left_to_tiles(void **state)
{
	static const int64_t rows[] = { 100, 40 }, read[] = { 4, 400 }, few_rows[] = { 4, 40 };
	static const struct {
		int64_t pitch;
		int is_direct;
	} cases[] = { { 160, 1 },  { 1000, 1 }, { 1024, 1 }, { 1364, 1 }, { 2040, 1 }, { 2048, 0 }, { 2056, 1 },
		      { 3072, 1 }, { 4080, 1 }, { 4096, 0 }, { 4100, 0 }, { 4112, 1 }, { 6144, 0 }, { 8192, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const int64_t written[] = { cases[i].pitch, 4 };
		const struct direct_case many = { 0, 2, "float32", rows, written, read };
		const struct direct_case few = { 1, 2, "float32", few_rows, written, read };

		assert_int_equal(is_direct(&many, 64, no, 0), cases[i].is_direct);
		assert_true(is_direct(&many, 16, no, 0));
		assert_true(is_direct(&few, 64, no, 0));
	}
}

/* With vectors of 16 bytes, few sets are enough for small planes of 4 and 8 bytes, unless the runs are in one set. */
static void few_sets_are_enough_for_short_vectors(void **state)
{
	static const int64_t backwards[] = { 4, -400 };
	static const int64_t rows[] = { 100, 40 }, other[] = { 100, 60 };
	static const int64_t read_2[] = { 2, 200 }, read_4[] = { 4, 400 }, read_8[] = { 8, 800 },
			     one_set[] = { 4, 4096 };
	static const int64_t written_2[] = { 2048, 2 }, written_4[] = { 2048, 4 }, written_8[] = { 2048, 8 };
	static const struct direct_case cases[] = {
		{ 0, 2, "int16", other, written_2, read_2 },     { 1, 2, "float32", rows, written_4, read_4 },
		{ 1, 2, "float64", rows, written_8, read_8 },    { 0, 2, "float32", rows, written_4, one_set },
		{ 1, 2, "float32", rows, written_4, backwards },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(is_direct(&cases[i], 16, no, 0), cases[i].is_direct);
}

/* The size of the plan alone decides here. */
static void few_sets_are_not_enough_for_larger_planes(void **state)
{
	static unsigned char dst[2 << 20], src[512 * 4160];
	const int64_t shape[] = { 1024, 512 }, read[] = { 4, 4160 };
	struct bi_layout to = layout_at("float32", 0, 2, shape, NULL), from = layout_at("float32", 0, 2, shape, read);
	struct bi__simd simd = bi__simd_portable;
	struct bi__plan plan;
	const struct bi__engine_part part = { .plan = &plan, .simd = &simd };

	(void)state;
	simd.vector = 16;
	simd.stream = refuse_to_stream;
	bi__plan_make(&plan, &to, &from);
	assert_int_equal(plan.bytes, 2 << 20);
	assert_false(bi__engine_planes(&part, dst, src));
	plan.bytes = 1 << 20;
	assert_true(bi__engine_planes(&part, dst, src));
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
	assert_int_equal(plan.kind, BI_PLAN_TILES);
	assert_false(bi__engine_planes(&part, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planes_arrive),
		cmocka_unit_test(pixels_are_streamed),
		cmocka_unit_test(planes_with_any_pitch_arrive),
		cmocka_unit_test(tall_planes_arrive),
		cmocka_unit_test(blocks_fit_the_sets_of_a_cache),
		cmocka_unit_test(large_planes_are_turned_where_processors_scatter),
		cmocka_unit_test(small_planes_in_few_sets_are_left_to_tiles),
		cmocka_unit_test(few_sets_are_enough_for_short_vectors),
		cmocka_unit_test(few_sets_are_not_enough_for_larger_planes),
		cmocka_unit_test(only_small_dense_units_have_planes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
