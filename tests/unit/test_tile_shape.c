/* The shape of tiles: which way units are moved, and that all blocks and rows fit the plan. */
#include "unit.h"

#include "engine_part.h"
#include "common/engine/tiles.h"

/* Makes the plan of a copy into a dense array from one whose steps are given, in elements. */
static void make_plan(struct bi__plan *plan, const char *type, int ndim, const int64_t *shape, const int64_t *steps)
{
	struct bi_layout to = layout_at(type, 0, ndim, shape, NULL), from;
	int64_t strides[BI_MAX_NDIM];

	for (int i = 0; i < ndim; i++)
		strides[i] = steps[i] * dtype_of(type).item_size;
	from = layout_at(type, 0, ndim, shape, strides);
	bi__plan_make(plan, &to, &from);
}

static void choose(struct bi__tiles *tiles, const struct bi__plan *plan)
{
	const struct bi__engine_part part = { .plan = plan, .simd = bi__simd_best(), .streams = 1 };

	bi__tiles_choose(tiles, &part);
}

static void units_decide_the_way(void **state)
{
	static const struct {
		const char *type;
		int slots, way;
	} cases[] = {
		{ "uint8", 16, BI__TILES_ONCE },      { "int16", 8, BI__TILES_ONCE },
		{ "bytes3", 4, BI__TILES_ONCE },      { "float32", 4, BI__TILES_ONCE },
		{ "bytes5", 0, BI__TILES_LARGE },     { "bytes6", 2, BI__TILES_ONCE },
		{ "float64", 2, BI__TILES_ONCE },     { "bytes12", 0, BI__TILES_LARGE },
		{ "complex128", 0, BI__TILES_LARGE },
	};
	const int64_t shape[] = { 2000, 3000 }, steps[] = { 1, 2000 };
	struct bi__tiles tiles;
	struct bi__plan plan;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		make_plan(&plan, cases[i].type, 2, shape, steps);
		choose(&tiles, &plan);
		assert_int_equal(tiles.way, cases[i].way);
		assert_int_equal(tiles.slots, cases[i].slots);
	}
}

static void short_pixels_are_moved_twice(void **state)
{
	const int64_t shape[] = { 5000, 40, 3 }, strides[] = { 3, 15000, -1 };
	struct bi_layout to = layout_at("uint8", 0, 3, shape, NULL), from = layout_at("uint8", 2, 3, shape, strides);
	struct bi__tiles tiles;
	struct bi__plan plan;

	(void)state;
	bi__plan_make(&plan, &to, &from);
	choose(&tiles, &plan);
	assert_int_equal(tiles.way, BI__TILES_TWICE);
	assert_int_equal(tiles.backwards, -2);
}

/* Checks what the copy relies on. */
static void check_blocks(const struct bi__tiles *tiles)
{
	int64_t all = 1, in_row = 1, columns = 1;

	for (int i = 0; i < tiles->n; i++) {
		const struct bi__tile_axis *axis = &tiles->axes[i];

		assert_true(axis->block >= 1 && axis->block <= axis->extent);
		all *= i == tiles->along ? 1 : bi__tiles_blocks_of(axis);
		in_row *= axis->in_row ? axis->block : 1;
	}
	for (int i = 0; i < tiles->columns; i++) {
		columns *= tiles->column[i]->block;
		assert_true(i == 0 || llabs(tiles->column[i]->src) >= llabs(tiles->column[i - 1]->src));
	}
	assert_int_equal(tiles->outer, all);
	assert_int_equal(tiles->row, in_row);
	assert_true(tiles->way == BI__TILES_LARGE || (tiles->width >= columns && tiles->width <= 4 * columns));
	assert_true(tiles->along < 0 || (tiles->streams && tiles->row * tiles->element >= BI__LINE));
}

static void blocks_fit_the_plan(void **state)
{
	static const char *const types[] = { "uint8", "int16", "bytes3", "float32", "bytes6", "float64", "bytes12" };
	struct test_random random = { test_seed() };

	(void)state;
	for (int i = 0; i < 200; i++) {
		const int64_t shape[] = { test_between(&random, 2, 90), test_between(&random, 2, 90),
					  test_between(&random, 2, 12) };
		const int64_t orders[][3] = { { 1, shape[0] * shape[2], shape[0] },
					      { shape[1], 1, shape[0] * shape[1] },
					      { shape[2], shape[0] * shape[2], 1 } };
		struct bi__tiles tiles;
		struct bi__plan plan;

		make_plan(&plan, types[i % (int)ARRAY_LENGTH(types)], 3, shape, orders[i % 3]);
		if (plan.kind != BI_PLAN_TILES)
			continue;
		choose(&tiles, &plan);
		check_blocks(&tiles);
	}
}

/* Elements of sliding windows share bytes. The bytes between two windows, 8,000 apart, are not read with them. */
static void gaps_between_windows_are_left_out(void **state)
{
	const int64_t shape[] = { 60, 32, 32, 2 }, steps[] = { 16100, 1, 1, 8000 };
	struct bi__tiles tiles;
	struct bi__plan plan;

	(void)state;
	make_plan(&plan, "uint8", 4, shape, steps);
	assert_int_equal(plan.kind, BI_PLAN_TILES);
	choose(&tiles, &plan);
	assert_int_equal(tiles.way, BI__TILES_TWICE);
	assert_in_range(tiles.span, 1, 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_decide_the_way),
		cmocka_unit_test(short_pixels_are_moved_twice),
		cmocka_unit_test(blocks_fit_the_plan),
		cmocka_unit_test(gaps_between_windows_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
