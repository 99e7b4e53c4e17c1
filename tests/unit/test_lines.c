/* Lines: strided nests, short lines by columns, and destinations that are written past the caches. */
#include "unit.h"

#include "engine_part.h"

static void strided_nests_arrive(void **state)
{
	static const char *const types[] = { "uint8", "int16", "bytes3", "float32", "float64", "complex128" };
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 60; i++) {
		const char *type = types[i % (int)ARRAY_LENGTH(types)];
		int64_t size = dtype_of(type).item_size, gap = test_between(&random, 2, 5);
		int64_t shape[] = { test_between(&random, 2, 5), test_between(&random, 2, 8),
				    256 / size + test_between(&random, 0, 30) };
		int64_t strides[] = { shape[1] * shape[2] * gap * size, shape[2] * gap * size, gap * size };
		struct bi_layout to = layout_at(type, 64 * (i % 2), 3, shape, NULL), from;

		from = layout_at(type, 16, 3, shape, strides);
		check_engine_part(bi__engine_lines, BI_PLAN_STRIDED, &to, &from);
	}
}

static void rows_with_gaps_arrive(void **state)
{
	const int64_t shape[] = { 30, 700 }, wide[] = { 4096, 1 };
	struct bi_layout dense = layout_at("uint8", 0, 2, shape, NULL), spread = layout_at("uint8", 5, 2, shape, wide);

	(void)state;
	check_engine_part(bi__engine_lines, BI_PLAN_ROWS, &dense, &spread);
	check_engine_part(bi__engine_lines, BI_PLAN_ROWS, &spread, &dense);
}

/*
 * Rows that pass the buffer of the writer and rows that do not, in short and in long loops. The source is read in the
 * order of the destination or of the other axis, forwards or backwards.
 */
static void rows_of_any_length_arrive(void **state)
{
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 120; i++) {
		const int64_t most = i % 10 == 9 ? 9000
				     : i % 3     ? 300
						 : 1300,
			      unit = test_between(&random, 64, most), pitch = unit + test_between(&random, 1, 70),
			      bytes = (i % 2 ? 60 : 12) << 10, many = bytes / pitch / 4 + 2;
		const int64_t shape[] = { i % 4 < 2 ? many : 4, i % 4 < 2 ? 4 : many, unit };
		const int64_t strides[] = { i % 5 ? pitch : -pitch, shape[0] * pitch, 1 };
		const int64_t first = test_between(&random, 0, 90) + (i % 5 ? 0 : (shape[0] - 1) * pitch);
		struct bi_layout to = layout_at("uint8", test_between(&random, 0, 90), 3, shape, NULL);
		struct bi_layout from = layout_at("uint8", first, 3, shape, strides);

		check_engine_part(bi__engine_lines, BI_PLAN_ROWS, &to, &from);
	}
}

static void repeated_rows_arrive(void **state)
{
	static const int64_t units[] = { 64, 127, 128, 700, 1024, 5000 };
	const int64_t strides[] = { 0, 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
		const int64_t shape[] = { 100000 / units[i], units[i] };
		struct bi_layout to = layout_at("uint8", 7, 2, shape, NULL),
				 from = layout_at("uint8", 3, 2, shape, strides);

		check_engine_part(bi__engine_lines, BI_PLAN_FILL, &to, &from);
	}
}

/* Three colours of many pixels, without memory for tiles: lines of three units are moved column by column. */
static void short_lines_arrive(void **state)
{
	const int64_t shape[] = { 9000, 3 }, planes[] = { 1, 10000 }, pixels[] = { 5, 1 };
	struct bi_layout packed = layout_at("uint8", 3, 2, shape, NULL),
			 by_plane = layout_at("uint8", 0, 2, shape, planes);
	struct bi_layout apart = layout_at("uint8", 0, 2, shape, pixels);

	(void)state;
	check_engine_part(bi__engine_lines, BI_PLAN_TILES, &packed, &by_plane);
	check_engine_part(bi__engine_lines, BI_PLAN_TILES, &apart, &by_plane);
}

static void a_source_that_runs_backwards_arrives(void **state)
{
	const int64_t shape[] = { 20, 500 }, strides[] = { -4000, -4 };
	struct bi_layout to = layout_at("float32", 0, 2, shape, NULL),
			 from = layout_at("float32", 80000, 2, shape, strides);

	(void)state;
	check_engine_part(bi__engine_lines, BI_PLAN_STRIDED, &to, &from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strided_nests_arrive),      cmocka_unit_test(rows_with_gaps_arrive),
		cmocka_unit_test(rows_of_any_length_arrive), cmocka_unit_test(repeated_rows_arrive),
		cmocka_unit_test(short_lines_arrive),        cmocka_unit_test(a_source_that_runs_backwards_arrives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
