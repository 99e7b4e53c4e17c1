/*
 * Each kind of plan, with each item size, in each direction: random layouts that become that kind, small ones of every
 * alignment and some so large that a copy is spread over threads, streamed past the caches or cut in pieces.
 *
 * A round that runs all cases prints how many there were of each, and fails if one of them is missing.
 */
#include <stdio.h>

#include "common/plan/plan.h"
#include "pair.h"

static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40 };

#define SIZES (ARRAY_LENGTH(sizes))

enum route { ROUTE_WITHIN, ROUTE_TO_DEVICE, ROUTE_FROM_DEVICE, ROUTE_FILL, ROUTE_COUNT };

static const char *const routes[ROUTE_COUNT] = { "within the device", "host to device", "device to host", "bi_fill" };

static unsigned met[ROUTE_COUNT][BI_PLAN_COUNT][SIZES];

static int64_t between(int64_t low, int64_t high)
{
	return test_between(&fixture.random, low, high);
}

/* A pair of layouts on its way: axes from the innermost on, and how far each side reaches so far. */
struct nest {
	int ndim;
	int64_t shape[8], dst[8], src[8];
	int64_t dst_span, src_span;
	int is_aligned; /* gaps are whole elements */
};

static int64_t magnitude(int64_t stride)
{
	return stride < 0 ? -stride : stride;
}

static void add_axis(struct nest *nest, int64_t extent, int64_t dst, int64_t src)
{
	nest->shape[nest->ndim] = extent;
	nest->dst[nest->ndim] = dst;
	nest->src[nest->ndim++] = src;
	nest->dst_span += magnitude(dst) * (extent - 1);
	nest->src_span += magnitude(src) * (extent - 1);
}

/* Between what is there and what comes next: nothing, whole elements, or bytes that spoil every alignment. */
static int64_t gap(const struct nest *nest, int64_t item)
{
	switch (between(nest->is_aligned ? 2 : 0, nest->is_aligned ? 3 : 5)) {
	case 0:
	case 1:
		return between(1, 5);
	case 2:
		return item * between(1, 2);
	default:
		return 0;
	}
}

/* Around all that is there on both sides. */
static void add_outer(struct nest *nest, int64_t extent, int64_t item)
{
	int64_t dst = nest->dst_span + gap(nest, item), src = nest->src_span + gap(nest, item);

	add_axis(nest, extent, dst, src);
}

/* Shares `count` elements out among an inner extent of at least `least` and an outer one. */
static int64_t inner_extent(int64_t count, int64_t least)
{
	int64_t most = count / 2 > least ? count / 2 : least;

	return between(0, 1) ? between(least, most) : between(least, least + 8 < most ? least + 8 : most);
}

static int64_t at_least(int64_t number, int64_t least)
{
	return number < least ? least : number;
}

static void make_rows(struct nest *nest, int64_t item, int64_t count)
{
	int64_t inner = inner_extent(count, 2), outer = at_least(count / inner, 2), both = outer / 2;

	add_axis(nest, inner, item, item);
	if (both < 2 || between(0, 1)) {
		add_outer(nest, outer, item);
		return;
	}
	/* Outer axes in different orders. */
	add_axis(nest, 2, nest->dst_span + gap(nest, item), nest->src_span * both);
	add_axis(nest, both, nest->dst_span + gap(nest, item), nest->src_span / (1 + both));
}

/* The fewest elements of a run that is not so short that the plan is copied in tiles. */
static int64_t long_run(int64_t item)
{
	return at_least((BI__PLAN_SHORT - 1) / item + 1, 2);
}

static void make_strided(struct nest *nest, int64_t item, int64_t count)
{
	int64_t inner = inner_extent(count, long_run(item));

	add_axis(nest, inner, item + (between(0, 1) ? 0 : gap(nest, item)),
		 between(0, 2) ? item * between(2, 4) : -item);
	add_outer(nest, at_least(count / inner, 2), item);
}

/* Rows without gaps, each beginning at a multiple of four elements, so long that small ones may be turned together. */
static void make_dense_tiles(struct nest *nest, int64_t item)
{
	int64_t ragged = between(0, 3) == 0 ? between(1, 3) : 0;
	int64_t nx = 4 * between(16, 18) + ragged, ny = 4 * between(16, 18) + ragged;

	add_axis(nest, nx, item, (ny + 3) / 4 * 4 * item);
	add_axis(nest, ny, (nx + 3) / 4 * 4 * item, item);
}

static void make_tiles(struct nest *nest, int64_t item, int64_t count)
{
	int64_t unit = item, outer = between(0, 2) ? 1 : 2, nx, ny;

	if (nest->is_aligned && between(0, 1)) {
		make_dense_tiles(nest, item);
		return;
	}
	if (item <= 8 && between(0, 3) == 0) {
		add_axis(nest, 2, item, item);
		unit = 2 * item;
	}
	nx = between(8, at_least(count / 8, 8));
	nx = between(0, 2) ? nx : between(8, 40);
	ny = at_least(count / nx / outer, 8);
	nest->dst_span = nest->src_span = unit;
	add_axis(nest, nx, unit + gap(nest, item), 0);
	add_axis(nest, ny, nest->dst_span + gap(nest, item), unit + gap(nest, item));
	nest->src[nest->ndim - 2] = nest->src_span + gap(nest, item);
	nest->src_span += nest->src[nest->ndim - 2] * (nx - 1);
	if (outer > 1)
		add_outer(nest, outer, item);
}

static void make_broadcast(struct nest *nest, int64_t item, int64_t count)
{
	int64_t inner = inner_extent(count, long_run(item));

	if (item <= 16 && between(0, 2) == 0)
		add_axis(nest, 2, item, item);
	add_axis(nest, inner, nest->dst_span + gap(nest, item), 0);
	add_outer(nest, at_least(count / inner, 2), item);
}

static void make_fill(struct nest *nest, int64_t item, int64_t count)
{
	int64_t inner = inner_extent(count, 2);

	add_axis(nest, inner, item + gap(nest, item), 0);
	add_axis(nest, at_least(count / inner, 2), nest->dst_span + gap(nest, item), 0);
}

static void make_linear(struct nest *nest, int64_t item, int64_t count)
{
	int64_t inner = between(1, at_least(count / 2, 1)), outer = at_least(count / inner, 1);

	add_axis(nest, inner, item, item);
	add_axis(nest, outer, nest->dst_span, nest->src_span);
}

static void make_nothing(struct nest *nest, int64_t item, int64_t count)
{
	make_strided(nest, item, count);
	nest->shape[between(0, nest->ndim - 1)] = 0;
}

static void (*const makers[BI_PLAN_COUNT])(struct nest *nest, int64_t item, int64_t count) = {
	[BI_PLAN_NOTHING] = make_nothing, [BI_PLAN_LINEAR] = make_linear, [BI_PLAN_ROWS] = make_rows,
	[BI_PLAN_STRIDED] = make_strided, [BI_PLAN_TILES] = make_tiles,   [BI_PLAN_BROADCAST] = make_broadcast,
	[BI_PLAN_FILL] = make_fill,
};

/* Tiles are of units below 64 bytes. */
static int is_possible(enum bi_plan_kind kind, uint32_t size)
{
	return kind != BI_PLAN_TILES || size < BI__PLAN_LONG;
}

static void swap(int64_t *values, int i, int j)
{
	int64_t value = values[i];

	values[i] = values[j];
	values[j] = value;
}

/* The axes in any order, some of them backwards on both sides. */
static void disguise(struct nest *nest)
{
	for (int i = 0; i < nest->ndim; i++) {
		int other = (int)between(0, i);

		if (between(0, 2) == 0) {
			nest->dst[i] = -nest->dst[i];
			nest->src[i] = -nest->src[i];
		}
		swap(nest->shape, i, other);
		swap(nest->dst, i, other);
		swap(nest->src, i, other);
	}
}

/* Backwards on the source alone, but for runs that must stay runs. */
static void turn_source(struct nest *nest)
{
	int axis = (int)between(0, nest->ndim - 1);

	if (nest->src[axis] != nest->dst[axis])
		nest->src[axis] = -nest->src[axis];
}

/* What a case is to be. */
struct wish {
	enum bi_plan_kind kind;
	size_t size; /* its place in sizes */
	int64_t count; /* about so many elements */
	int is_aligned; /* nothing begins at bytes that the elements are not aligned to */
};

/* Random layouts that a copy of this kind is between. */
static void make_pair(const struct wish *wish, struct bi_layout *dst, struct bi_layout *src)
{
	uint32_t size = sizes[wish->size];
	struct bi_dtype dtype;
	struct bi__plan plan;
	int tries = 0;

	OK(bi_dtype_make(BI_VOID, 1, size, &dtype, &error));
	do {
		struct nest nest = { .dst_span = size, .src_span = size, .is_aligned = wish->is_aligned };

		assert_in_range(++tries, 1, 100);
		makers[wish->kind](&nest, size, wish->count);
		turn_source(&nest);
		disguise(&nest);
		OK(bi_layout_init(dst, dtype, nest.ndim, nest.shape, nest.dst, 0, &error));
		OK(bi_layout_init(src, dtype, nest.ndim, nest.shape, nest.src, 0, &error));
		bi__plan_make(&plan, dst, src);
	} while (plan.kind != wish->kind);
	assert_false(bi_layout_self_overlap(dst));
}

/* Somewhere in a memory that is a few cache lines longer. */
static void place(struct oracle *oracle, enum place place, struct bi_layout *layout, int is_aligned)
{
	size_t start = is_aligned ? 16 * (size_t)between(0, 5) : (size_t)between(0, 70);
	size_t end = settle(layout, start);

	oracle_open(oracle, fixture.context, place, end + (size_t)between(0, 70));
}

static enum place host_place(void)
{
	static const enum place places[] = { PLACE_HOST, PLACE_WRAPPED, PLACE_PINNED };

	return places[between(0, (int)ARRAY_LENGTH(places) - 1)];
}

static void copy_case(const struct wish *wish, enum route route)
{
	struct oracle oracles[2];
	struct side dst = { &oracles[0], { .ndim = 0 } }, src = { &oracles[1], { .ndim = 0 } };

	make_pair(wish, &dst.layout, &src.layout);
	place(dst.oracle, route == ROUTE_FROM_DEVICE ? host_place() : PLACE_DEVICE, &dst.layout, wish->is_aligned);
	place(src.oracle, route == ROUTE_TO_DEVICE ? host_place() : PLACE_DEVICE, &src.layout, wish->is_aligned);
	copy_both(&dst, &src);
	oracle_close(dst.oracle);
	oracle_close(src.oracle);
}

/* The same destinations as those of copies that are fills, with an element that lies nowhere. */
static void fill_case(const struct wish *wish)
{
	unsigned char element[40];
	struct bi_layout layout, source;
	struct oracle oracle;
	struct bi_view *view;

	make_pair(wish, &layout, &source);
	random_bytes(element, sizeof(element));
	place(&oracle, between(0, 3) ? PLACE_DEVICE : host_place(), &layout, wish->is_aligned);
	view = view_of(&oracle, &layout, 0);
	OK(bi_fill(view, element, NULL, &error));
	check_order(oracle.memory);
	bi_view_release(view);
	naive_fill(oracle.bytes, &layout, element);
	oracle_check(&oracle, layout_text(&layout));
	oracle_close(&oracle);
	fixture.cases++;
}

static void run_case(const struct wish *wish, enum route route)
{
	if (!is_possible(wish->kind, sizes[wish->size]))
		return;
	if (route != ROUTE_FILL)
		copy_case(wish, route);
	else if (wish->kind == BI_PLAN_FILL)
		fill_case(wish);
	else
		return;
	met[route][wish->kind][wish->size]++;
}

/* "tiles 3 3 3 ...", a column for each item size; fails if a case that is possible is not there. */
static void print_met(enum route route)
{
	int missing = 0;

	print_message("%s; items of", routes[route]);
	for (size_t size = 0; size < SIZES; size++)
		print_message(" %4u", sizes[size]);
	for (int kind = 0; kind < BI_PLAN_COUNT; kind++) {
		if (route == ROUTE_FILL && kind != BI_PLAN_FILL)
			continue;
		print_message("\n%29s", bi__plan_name((enum bi_plan_kind)kind));
		for (size_t size = 0; size < SIZES; size++) {
			print_message(" %4u", met[route][kind][size]);
			missing += is_possible((enum bi_plan_kind)kind, sizes[size]) && !met[route][kind][size];
		}
	}
	print_message("\n");
	assert_int_equal(missing, 0);
}

/* Some have room for tiles with a ragged edge, aligned or not. */
static void run_small(enum route route)
{
	enum { CASES = BI_PLAN_COUNT * SIZES, ROUNDS = 4 };

	memset(met[route], 0, sizeof(met[route]));
	for (int i = 0; i < effort(ROUNDS * CASES); i++) {
		int which = chosen(i, CASES), round = i / CASES;
		struct wish wish = { .kind = (enum bi_plan_kind)(which / (int)SIZES), .size = (size_t)which % SIZES };

		wish.count = between(4, round % 4 ? 300 : 2500);
		wish.is_aligned = round % 2;
		run_case(&wish, route);
	}
	if (is_thorough())
		print_met(route);
}

static void test_plans_within(void **state)
{
	(void)state;
	run_small(ROUTE_WITHIN);
}

static void test_plans_to_device(void **state)
{
	(void)state;
	run_small(ROUTE_TO_DEVICE);
}

static void test_plans_from_device(void **state)
{
	(void)state;
	run_small(ROUTE_FROM_DEVICE);
}

static void test_plans_filled(void **state)
{
	(void)state;
	run_small(ROUTE_FILL);
}

/* Units of every size that a device has, and tiles of them with ragged edges. Few, for those who look at each access.
 */
static void test_plans_aligned(void **state)
{
	static const size_t powers[] = { 0, 1, 3, 7, 9 };
	enum { POWERS = ARRAY_LENGTH(powers), CASES = BI_PLAN_COUNT * POWERS };

	(void)state;
	for (int i = 0; i < effort(CASES); i++) {
		int which = chosen(i, CASES);
		struct wish wish = { (enum bi_plan_kind)(which / POWERS), powers[which % POWERS],
				     between(40 * 8, 40 * 9), 1 };

		run_case(&wish, ROUTE_WITHIN);
		run_case(&wish, ROUTE_FILL);
	}
}

/* A few of each kind and route, of any item size. */
static void test_plans_large(void **state)
{
	enum { CASES = (int)ROUTE_COUNT * (int)BI_PLAN_COUNT, ROUNDS = 2 };

	(void)state;
	if (!is_thorough())
		skip();
	for (int i = 0; i < ROUNDS * CASES; i++) {
		struct wish wish = { .kind = (enum bi_plan_kind)(i / ROUTE_COUNT % BI_PLAN_COUNT) };

		do
			wish.size = (size_t)between(0, SIZES - 1);
		while (!is_possible(wish.kind, sizes[wish.size]));
		wish.count = between(1500000, 4000000) / sizes[wish.size];
		wish.is_aligned = (int)between(0, 1);
		run_case(&wish, (enum route)(i % ROUTE_COUNT));
	}
}

int plans_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_plans_within), TEST(test_plans_to_device), TEST(test_plans_from_device),
		TEST(test_plans_filled), TEST(test_plans_aligned),   TEST(test_plans_large),
	};

	return cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
