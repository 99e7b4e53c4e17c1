/* Tiles: transposes of every size of unit, with edges that are no whole tile, and with gaps on both sides. */
#include "unit.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "engine_part.h"

/* While this is set, no allocation succeeds. The program is linked with -Wl,--wrap=malloc. */
static atomic_int has_no_memory;

void *__real_malloc(size_t nbytes);
void *__wrap_malloc(size_t nbytes);

void *__wrap_malloc(size_t nbytes)
{
	return has_no_memory ? NULL : __real_malloc(nbytes);
}

static void copy_without_memory(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	has_no_memory = 1;
	bi__engine_tiles(part, dst, src);
	has_no_memory = 0;
}

static void transposes_arrive(void **state)
{
	static const char *const types[] = { "uint8",  "int16",   "bytes3",  "float32",   "bytes5",
					     "bytes6", "float64", "bytes12", "complex128" };
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 80; i++) {
		const char *type = types[i % (int)ARRAY_LENGTH(types)];
		int64_t size = dtype_of(type).item_size;
		int64_t shape[] = { test_between(&random, 8, 150), test_between(&random, 8, 150) };
		int64_t pitch = size * (shape[0] + test_between(&random, 0, 9)), strides[] = { size, pitch };
		int64_t row = size * (shape[1] + test_between(&random, 0, 9)), rows[] = { row, size };
		struct bi_layout to = layout_at(type, test_between(&random, 0, 90), 2, shape, rows);
		struct bi_layout from = layout_at(type, test_between(&random, 0, 90), 2, shape, strides);

		check_engine_part(bi__engine_tiles, BI_PLAN_TILES, &to, &from);
	}
}

static void stacks_of_transposes_arrive(void **state)
{
	const int64_t shape[] = { 5, 40, 33 }, strides[] = { 4, 20, 800 };
	struct bi_layout to = layout_at("float32", 0, 3, shape, NULL),
			 from = layout_at("float32", 8, 3, shape, strides);

	(void)state;
	check_engine_part(bi__engine_tiles, BI_PLAN_TILES, &to, &from);
}

static void units_with_gaps_arrive(void **state)
{
	const int64_t shape[] = { 70, 90 }, from_strides[] = { 12, 1200 }, to_strides[] = { 1000, 8 };
	struct bi_layout to = layout_at("float32", 0, 2, shape, to_strides),
			 from = layout_at("float32", 0, 2, shape, from_strides);

	(void)state;
	check_engine_part(bi__engine_tiles, BI_PLAN_TILES, &to, &from);
}

static void a_source_that_runs_backwards_arrives(void **state)
{
	const int64_t shape[] = { 64, 128 }, strides[] = { -4, 256 };
	struct bi_layout to = layout_at("float32", 0, 2, shape, NULL),
			 from = layout_at("float32", 252, 2, shape, strides);

	(void)state;
	check_engine_part(bi__engine_tiles, BI_PLAN_TILES, &to, &from);
}

/* Units that tiles turn twice, because both sides have their shortest steps along the same axis. */
static void axes_that_both_sides_need_arrive(void **state)
{
	static const char *const types[] = { "uint8", "int16", "bytes3", "float32", "bytes6", "float64", "bytes12" };
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 56; i++) {
		const char *type = types[i % (int)ARRAY_LENGTH(types)];
		int64_t size = dtype_of(type).item_size, some = test_between(&random, 2, 5);
		int64_t shape[] = { test_between(&random, 40, 90), test_between(&random, 20, 60), some };
		int64_t strides[] = { some * size, shape[0] * some * size, -size };
		struct bi_layout to = layout_at(type, test_between(&random, 0, 90), 3, shape, NULL);
		struct bi_layout from = layout_at(type, (some - 1) * size, 3, shape, strides);

		check_engine_part(bi__engine_tiles, BI_PLAN_TILES, &to, &from);
	}
}

/* Elements of sliding windows share bytes. */
static void windows_arrive(void **state)
{
	static const char *const types[] = { "uint8", "int16", "bytes3", "float32", "bytes6", "float64", "bytes12" };
	const int64_t shape[] = { 8, 32, 32, 2 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		const int64_t size = dtype_of(types[i]).item_size, strides[] = { 900 * size, size, size, 430 * size };
		struct bi_layout to = layout_at(types[i], 0, 4, shape, NULL);
		struct bi_layout from = layout_at(types[i], 0, 4, shape, strides);

		check_engine_part(bi__engine_tiles, BI_PLAN_TILES, &to, &from);
	}
}

static void tiles_need_no_memory(void **state)
{
	const int64_t shape[] = { 300, 200 }, strides[] = { 4, 1200 };
	struct bi_layout to = layout_at("float32", 0, 2, shape, NULL),
			 from = layout_at("float32", 8, 2, shape, strides);

	(void)state;
	check_engine_part(copy_without_memory, BI_PLAN_TILES, &to, &from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transposes_arrive),
		cmocka_unit_test(stacks_of_transposes_arrive),
		cmocka_unit_test(units_with_gaps_arrive),
		cmocka_unit_test(a_source_that_runs_backwards_arrives),
		cmocka_unit_test(axes_that_both_sides_need_arrive),
		cmocka_unit_test(windows_arrive),
		cmocka_unit_test(tiles_need_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
