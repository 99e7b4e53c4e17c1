/* The tables of tiles: as many offsets as a tile has parts, and buffers that lie apart in the memory. */
#include "unit.h"

#include <stdlib.h>

#include "engine_part.h"
#include "common/engine/tiles.h"

/* Checks that the buffers begin with a line, in the order in which they are placed, and end before `end`. */
static void check_buffers(const struct bi__tiles *tiles, const unsigned char *end)
{
	const unsigned char *const a = tiles->a ? tiles->a : tiles->c - BI__LINE;
	const unsigned char *const starts[] = { a, tiles->c, tiles->rest };
	const int64_t rest = tiles->along < 0 ? BI__LINE : tiles->rows.count * tiles->together * BI__LINE;

	for (int i = 0; i < 3; i++)
		assert_int_equal((uintptr_t)starts[i] % BI__LINE, 0);
	assert_true(a < tiles->c && tiles->c < tiles->rest);
	assert_true((const unsigned char *)(tiles->rows.list + tiles->rows.count) <= a);
	assert_true(tiles->rest + rest <= end);
}

static void check_counts(const struct bi__tiles *tiles, const struct bi__plan *plan)
{
	int64_t in_tile = tiles->element;

	for (int i = 0; i < tiles->n; i++)
		in_tile *= tiles->axes[i].block;
	assert_int_equal(tiles->rows.count * tiles->row * tiles->element, in_tile);
	if (tiles->way != BI__TILES_LARGE)
		assert_int_equal(tiles->pieces.count * tiles->span, tiles->width * tiles->element);
	if (tiles->way == BI__TILES_TWICE) {
		assert_int_equal(tiles->lines.count, tiles->rows.count * tiles->row);
	} else {
		assert_int_equal(tiles->lines.count, tiles->rows.count);
		assert_int_equal(tiles->reads.count, tiles->row);
	}
	for (int64_t i = 0; i < tiles->rows.count; i++)
		assert_true(tiles->rows.list[i] >= 0 && tiles->rows.list[i] < (int64_t)plan->bytes);
}

static void check_tables(const struct bi__plan *plan, int streams)
{
	const struct bi__engine_part part = { .plan = plan, .simd = bi__simd_best(), .streams = streams };
	unsigned char *memory, *aligned;
	struct bi__tiles tiles;
	size_t bytes;

	bi__tiles_choose(&tiles, &part);
	bi__tiles_list(&tiles);
	bytes = (size_t)bi__tiles_place(&tiles, NULL);
	assert_null(tiles.rows.list);
	memory = malloc(bytes + BI__LINE);
	assert_non_null(memory);
	aligned = memory + BI__LINE - (uintptr_t)memory % BI__LINE;
	assert_int_equal(bi__tiles_place(&tiles, aligned), bytes);
	bi__tiles_list(&tiles);
	check_buffers(&tiles, aligned + bytes);
	check_counts(&tiles, plan);
	free(memory);
}

static void tables_have_an_offset_for_each_part(void **state)
{
	static const char *const types[] = { "uint8", "int16", "bytes3", "float32", "bytes6", "float64", "bytes12" };
	struct test_random random = { test_seed() };
	int checked = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		const char *type = types[i % (int)ARRAY_LENGTH(types)];
		const int64_t shape[] = { test_between(&random, 2, 90), test_between(&random, 2, 90),
					  test_between(&random, 2, 12) };
		const int64_t orders[][3] = { { 1, shape[0] * shape[2], shape[0] },
					      { shape[1], 1, shape[0] * shape[1] },
					      { shape[2], shape[0] * shape[2], 1 } };
		struct bi_layout to = layout_at(type, 0, 3, shape, NULL), from;
		int64_t strides[3];
		struct bi__plan plan;

		for (int k = 0; k < 3; k++)
			strides[k] = orders[i % 3][k] * dtype_of(type).item_size;
		from = layout_at(type, 0, 3, shape, strides);
		bi__plan_make(&plan, &to, &from);
		if (plan.kind != BI_PLAN_TILES)
			continue;
		check_tables(&plan, i / 3 % 2);
		checked++;
	}
	assert_true(checked > 20);
}

/* Returns 1 if vectors of this size transpose rows of a source with this pitch directly, without a copy of its runs. */
static int reads_directly(size_t vector, const char *type, int64_t rows, int64_t columns, int64_t pitch, int streams)
{
	const int64_t size = dtype_of(type).item_size, shape[] = { rows, columns }, strides[] = { size, pitch };
	struct bi_layout to = layout_at(type, 0, 2, shape, NULL), from = layout_at(type, 0, 2, shape, strides);
	struct bi__simd simd = bi__simd_portable;
	struct bi__engine_part part = { .simd = &simd, .streams = streams };
	struct bi__tiles tiles;
	unsigned char *memory;
	struct bi__plan plan;

	simd.vector = vector;
	bi__plan_make(&plan, &to, &from);
	part.plan = &plan;
	bi__tiles_choose(&tiles, &part);
	bi__tiles_list(&tiles);
	memory = malloc((size_t)bi__tiles_place(&tiles, NULL));
	assert_non_null(memory);
	bi__tiles_place(&tiles, memory);
	bi__tiles_list(&tiles);
	free(memory);
	assert_int_equal(tiles.way, BI__TILES_ONCE);
	return !tiles.a;
}

/* Vectors of 16 bytes read runs directly, unless these evict each other, or an access could pass their ends. */
static void runs_that_fit_are_read_directly(void **state)
{
	(void)state;
	assert_true(reads_directly(16, "float32", 300, 256, 1200, 0));
	assert_false(reads_directly(0, "float32", 300, 256, 1200, 0));
	assert_false(reads_directly(BI__LINE, "float32", 300, 256, 1200, 0));
	assert_true(reads_directly(16, "float32", 300, 256, 4096, 0));
	assert_true(reads_directly(16, "float32", 300, 256, 1200, 1));
	assert_false(reads_directly(16, "float32", 300, 256, 4096, 1));
	assert_true(reads_directly(16, "uint8", 300, 256, 333, 0));
	assert_false(reads_directly(16, "uint8", 300, 256, 4096, 0));
	assert_false(reads_directly(16, "bytes3", 300, 256, 1200, 0));
	assert_false(reads_directly(16, "bytes6", 300, 256, 2400, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_have_an_offset_for_each_part),
		cmocka_unit_test(runs_that_fit_are_read_directly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
