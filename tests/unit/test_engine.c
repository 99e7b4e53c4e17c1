/*
 * The copy engine against loops over every unit: each instruction set, each kind of plan, each item size from 1 to 40,
 * with every tuning of the engine (streamed or not, in chunks or not). Source and destination lie against a page
 * without access, so an access outside ends the program; every byte of the destination is compared.
 */
#define _DEFAULT_SOURCE

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "buffer_interface.h"
#include "common/engine/engine.h"
#include "common/engine/parts.h"
#include "common/engine/run.h"
#include "common/engine/workers.h"
#include "random.h"

#define ROOM ((size_t)1 << 20)
#define PAGE ((size_t)65536) /* a multiple of every page size that there is */
#define LARGEST_ITEM 40
#define LAYOUTS 6

static struct test_random dice;
static unsigned char *fenced, *source; /* ROOM bytes between two pages without access; where in them */
static unsigned char *destination, *expected; /* the destination has ROOM bytes between such pages, too */
static uint64_t met[BI_PLAN_COUNT];

static int64_t between(int64_t low, int64_t high)
{
	return test_between(&dice, low, high);
}

/* Returns ROOM bytes between two pages without access, or NULL. */
static unsigned char *fence_room(void)
{
	unsigned char *pages = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED || mprotect(pages + PAGE, ROOM, PROT_READ | PROT_WRITE) ? NULL : pages + PAGE;
}

static int set_up(void **state)
{
	(void)state;
	dice.state = test_seed();
	fenced = fence_room();
	destination = fence_room();
	expected = malloc(ROOM);
	if (!fenced || !destination || !expected)
		return -1;
	for (size_t i = 0; i < ROOM; i++)
		fenced[i] = (unsigned char)test_next(&dice);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(expected);
	return munmap(fenced - PAGE, ROOM + 2 * PAGE) || munmap(destination - PAGE, ROOM + 2 * PAGE);
}

/* Moves the nest unit by unit, and calls no code of the engine. */
static void naive(const struct bi__plan *plan, int axis, unsigned char *dst, const unsigned char *src)
{
	if (axis == plan->ndim) {
		memcpy(dst, src, plan->unit);
		return;
	}
	for (int64_t i = 0; i < plan->shape[axis]; i++)
		naive(plan, axis + 1, dst + i * plan->dst_strides[axis], src + i * plan->src_strides[axis]);
}

/* ------------------------------------------------------------------------------------------------ random layouts */

/* A layout whose axes lie in memory in the given order, last innermost, with gaps; bytes it takes, or 0: too many. */
static size_t lay_out(struct bi_layout *layout, struct bi_dtype dtype, int ndim, const int64_t *shape, const int *order,
		      int gaps, int stands)
{
	int64_t strides[BI_MAX_NDIM], step = dtype.item_size, first, end;

	for (int i = ndim - 1; i >= 0; i--) {
		int axis = order[i];

		if (gaps && between(0, 2) == 0)
			step += between(0, 2) ? between(1, 3) * dtype.item_size : between(1, 70);
		strides[axis] = gaps && between(0, 3) == 0 ? -step : step;
		if (stands && between(0, 2) == 0)
			strides[axis] = 0;
		else
			step *= shape[axis];
	}
	if (bi_layout_init(layout, dtype, ndim, shape, strides, 0, NULL))
		return 0;
	bi_layout_extent(layout, &first, &end);
	layout->offset = -first;
	return end - first <= (int64_t)ROOM / 2 ? (size_t)(end - first) : 0;
}

static void shuffle_axes(int *order, int ndim)
{
	for (int i = 0; i < ndim; i++)
		order[i] = i;
	for (int i = ndim - 1; i > 0; i--) {
		int j = (int)between(0, i), kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
}

/* Two axes that are long enough for tiles, with all their edges, and at times a third. */
static int random_plane(int64_t *shape)
{
	int ndim = (int)between(2, 3);

	shape[0] = between(2, 4);
	shape[ndim - 2] = between(8, 300);
	shape[ndim - 1] = between(8, shape[ndim - 2] > 100 ? 70 : 300);
	return ndim;
}

/* One long axis, where lines are met with all their edges; or a few short ones. */
static int random_shape(int64_t *shape, uint32_t item_size)
{
	int ndim = (int)between(1, 5);
	int64_t left = 30000 / item_size;

	for (int i = 0; i < ndim; i++) {
		int64_t most = between(0, 1) ? left : between(1, 12);

		shape[i] = between(1, most > 700 ? 700 : most < 1 ? 1 : most);
		left /= shape[i];
		if (left < 1)
			left = 1;
	}
	return ndim;
}

struct layouts {
	struct bi_layout dst, src;
	size_t dst_bytes, src_bytes;
};

static void random_layouts(struct layouts *out, uint32_t item_size)
{
	struct bi_dtype dtype;
	int64_t shape[BI_MAX_NDIM];
	int order[BI_MAX_NDIM], ndim;

	assert_int_equal(bi_dtype_make(BI_VOID, 1, item_size, &dtype, NULL), BI_OK);
	do {
		ndim = between(0, 1) ? random_plane(shape) : random_shape(shape, item_size);
		shuffle_axes(order, ndim);
		out->dst_bytes = lay_out(&out->dst, dtype, ndim, shape, order, between(0, 2) == 0, 0);
		if (between(0, 1))
			shuffle_axes(order, ndim);
		out->src_bytes = lay_out(&out->src, dtype, ndim, shape, order, between(0, 1) == 0, between(0, 3) == 0);
	} while (!out->dst_bytes || !out->src_bytes);
}

/* ---------------------------------------------------------------------------------------------------- comparison */

/* Against the end of what can be read, or its start. */
static unsigned char *place_source(size_t bytes)
{
	return between(0, 1) ? fenced + ROOM - bytes : fenced;
}

static void compare(const struct bi__engine_tuning *tuning, const struct bi__plan *plan, size_t dst_bytes)
{
	const size_t before = between(0, 1) ? (size_t)between(0, 130) : 0, after = between(0, 1) ? 256 : 0;
	const size_t size = before + dst_bytes + after;
	unsigned char *dst = after ? destination : destination + ROOM - size;

	memset(dst, 0xa5, size);
	memset(expected, 0xa5, size);
	naive(plan, 0, expected + before + plan->dst_offset, source + plan->src_offset);
	bi__engine_copy_tuned(tuning, plan, dst + before, source);
	if (memcmp(dst, expected, size) == 0)
		return;
	print_error("%s: kind %s, unit %zu, %llu bytes, streamed from %llu, chunks from %llu\n", tuning->simd->name,
		    bi__plan_name(plan->kind), plan->unit, (unsigned long long)plan->bytes,
		    (unsigned long long)tuning->stream_from, (unsigned long long)tuning->chunk_from);
	for (int i = 0; i < plan->ndim; i++)
		print_error("  axis %d: %lld, to %lld, from %lld\n", i, (long long)plan->shape[i],
			    (long long)plan->dst_strides[i], (long long)plan->src_strides[i]);
	fail();
}

/* Everywhere by one thread first, then streamed, then in chunks. */
static void compare_all_ways(const struct bi__simd *simd, const struct bi__plan *plan, size_t dst_bytes)
{
	struct bi__engine_tuning tuning = { simd, UINT64_MAX, UINT64_MAX, UINT64_MAX, 1, 0 };

	compare(&tuning, plan, dst_bytes);
	tuning.stream_from = tuning.stream_fills_from = 0;
	compare(&tuning, plan, dst_bytes);
	tuning.chunk_from = 0;
	tuning.chunk = (uint64_t)between(1, 5000);
	compare(&tuning, plan, dst_bytes);
	met[plan->kind]++;
}

static void copies_equal_the_naive_ones(const struct bi__simd *simd)
{
	for (uint32_t item_size = 1; item_size <= LARGEST_ITEM; item_size++) {
		for (int i = 0; i < test_cases(LAYOUTS * (item_size <= 16 ? 3 : 1)); i++) {
			struct layouts layouts;
			struct bi__plan plan;

			random_layouts(&layouts, item_size);
			source = place_source(layouts.src_bytes);
			bi__plan_make(&plan, &layouts.dst, &layouts.src);
			compare_all_ways(simd, &plan, layouts.dst_bytes);
			source = place_source(item_size);
			bi__plan_make(&plan, &layouts.dst, NULL);
			compare_all_ways(simd, &plan, layouts.dst_bytes);
		}
	}
}

static const struct bi__simd *simd_at(int index)
{
	const struct bi__simd *simd = bi__simd_all()[index];

	if (!simd->runs_here()) {
#ifdef BI_TEST_AVX512
		fail_msg("%s does not run with simulated instructions", simd->name);
#endif
		print_message("this processor has no %s\n", simd->name);
		return NULL;
	}
	return simd;
}

static int every_kind_is_met(void)
{
	for (int kind = BI_PLAN_LINEAR; kind < BI_PLAN_COUNT; kind++)
		if (!met[kind])
			return 0;
	return 1;
}

static void every_instruction_set_equals_the_naive_copy(void **state)
{
	(void)state;
	for (int k = 0; bi__simd_all()[k]; k++) {
		const struct bi__simd *simd = simd_at(k);

		if (!simd)
			continue;
		memset(met, 0, sizeof(met));
		for (int round = 0; round < 20 && !every_kind_is_met(); round++)
			copies_equal_the_naive_ones(simd);
		for (int kind = BI_PLAN_LINEAR; kind < BI_PLAN_COUNT; kind++) {
			print_message("%s %s: %llu\n", simd->name, bi__plan_name((enum bi_plan_kind)kind),
				      (unsigned long long)met[kind]);
			assert_true(met[kind] > 0);
		}
	}
}

/* Every step of every unit that a shuffle is made for, and those beside it, at every short length. */
static void runs_move_their_units_and_nothing_else(void **state)
{
	(void)state;
	for (int k = 0; bi__simd_all()[k]; k++) {
		const struct bi__simd *simd = simd_at(k);

		for (int64_t unit = 1; simd && unit <= 20; unit++) {
			for (int64_t step = -10 * unit; step <= 10 * unit; step += unit > 4 ? unit : 1) {
				const int64_t count = between(1, 400), gap = between(0, 1) ? 0 : between(0, 16);
				const int64_t length = step < 0 ? -step : step;
				struct bi__plan plan = { .kind = BI_PLAN_STRIDED, .ndim = 1, .cross = -1 };
				struct bi__run run;

				plan.unit = (size_t)unit;
				plan.shape[0] = count;
				plan.dst_strides[0] = unit + gap;
				plan.src_strides[0] = step;
				source = place_source((size_t)((count - 1) * length + unit));
				plan.src_offset = step < 0 ? (count - 1) * length : 0;
				memset(destination, 0xa5, (size_t)(count * (unit + gap)) + 64);
				memset(expected, 0xa5, (size_t)(count * (unit + gap)) + 64);
				naive(&plan, 0, expected, source + plan.src_offset);
				bi__run_init(&run, simd,
					     &(struct bi__run_axis){ plan.unit, unit + gap, step, UINT64_MAX });
				bi__run(&run, destination, source + plan.src_offset, count);
				assert_memory_equal(destination, expected, (size_t)(count * (unit + gap)) + 64);
			}
		}
	}
}

/* Runs of many periods, shuffled to where they belong and by way of a buffer. */
static void long_runs_equal_the_naive_copy(void **state)
{
	(void)state;
	for (int k = 0; bi__simd_all()[k]; k++) {
		const struct bi__simd *simd = simd_at(k);

		for (int64_t unit = 1; simd && unit <= 17; unit++) {
			for (int64_t step = -9 * unit; step <= 9 * unit; step += unit) {
				const int64_t count = 1024 + between(0, 2000), length = step < 0 ? -step : step;
				struct bi__plan plan = { .kind = BI_PLAN_STRIDED, .ndim = 1, .cross = -1 };

				plan.unit = (size_t)unit;
				plan.bytes = (uint64_t)(count * unit);
				plan.shape[0] = count;
				plan.dst_strides[0] = unit;
				plan.src_strides[0] = step;
				plan.src_offset = step < 0 ? (count - 1) * length : 0;
				source = place_source((size_t)((count - 1) * length + unit));
				compare_all_ways(simd, &plan, (size_t)(count * unit));
			}
		}
	}
}

/* Rows repeat a run of a few units, which begins or ends the source. */
static void repeated_runs_equal_the_naive_copy(void **state)
{
	(void)state;
	for (int k = 0; bi__simd_all()[k]; k++) {
		const struct bi__simd *simd = simd_at(k);

		for (int64_t unit = 1; simd && unit <= 8; unit *= 2)
			for (int64_t run = 2; run <= 20; run++) {
				const int64_t shape[] = { 9, run, 200 / unit }, strides[] = { 0, unit, 0 };
				struct bi_layout to, from;
				struct bi_dtype dtype;
				struct bi__plan plan;

				assert_int_equal(bi_dtype_make(BI_VOID, 1, (uint32_t)unit, &dtype, NULL), BI_OK);
				assert_int_equal(bi_layout_init(&to, dtype, 3, shape, NULL, 0, NULL), BI_OK);
				assert_int_equal(bi_layout_init(&from, dtype, 3, shape, strides, 0, NULL), BI_OK);
				bi__plan_make(&plan, &to, &from);
				assert_int_equal(plan.kind, BI_PLAN_TILES);
				source = fenced;
				compare_all_ways(simd, &plan, (size_t)plan.bytes);
				source = fenced + ROOM - run * unit;
				compare_all_ways(simd, &plan, (size_t)plan.bytes);
			}
	}
}

static void make_plan(struct bi__plan *plan, int ndim, const int64_t *shape, const int *axes, uint32_t item_size)
{
	struct bi_layout dst, src;
	struct bi_dtype dtype;
	int64_t turned[BI_MAX_NDIM];

	assert_int_equal(bi_dtype_make(BI_VOID, 1, item_size, &dtype, NULL), BI_OK);
	assert_int_equal(bi_layout_init(&src, dtype, ndim, shape, NULL, 0, NULL), BI_OK);
	assert_int_equal(bi_layout_permute(&src, axes, NULL), BI_OK);
	for (int i = 0; i < ndim; i++)
		turned[i] = shape[axes[i]];
	assert_int_equal(bi_layout_init(&dst, dtype, ndim, turned, NULL, 0, NULL), BI_OK);
	bi__plan_make(plan, &dst, &src);
}

/* Planes of several strips, whose rows have lines that begin together, or would but for the first byte. */
static void random_strips(struct bi__plan *plan, size_t *bytes, uint32_t item_size)
{
	static const int crossed[] = { 1, 0 };
	const int64_t shape[] = { 64 * between(1, 10) + (item_size % 4 ? 0 : 16 * between(0, 3)), between(8, 40) };

	make_plan(plan, 2, shape, crossed, item_size);
	*bytes = (size_t)(shape[0] * shape[1]) * item_size;
}

/* Planes that continue the rows of each other, wherever they begin and end. */
static void random_planes(struct bi__plan *plan, size_t *bytes, uint32_t item_size)
{
	static const int axes[][4] = { { 3, 2, 1, 0 }, { 3, 1, 2, 0 } };
	const int64_t shape[] = { between(8, 70), between(2, 5), between(2, 5), between(8, 20) };

	make_plan(plan, 4, shape, axes[between(0, (int)ARRAY_LENGTH(axes) - 1)], item_size);
	*bytes = (size_t)(shape[0] * shape[1] * shape[2] * shape[3]) * item_size;
}

static void strips_equal_the_naive_copy(void **state)
{
	(void)state;
	for (int k = 0; bi__simd_all()[k]; k++) {
		const struct bi__simd *simd = simd_at(k);

		for (uint32_t item_size = 1; simd && item_size <= 16; item_size++) {
			for (int i = 0; i < 16; i++) {
				struct bi__plan plan;
				size_t bytes;

				(i % 2 ? random_planes : random_strips)(&plan, &bytes, item_size);
				assert_int_equal(plan.kind, BI_PLAN_TILES);
				source = place_source(bytes);
				compare_all_ways(simd, &plan, bytes);
			}
		}
	}
}

/* Long units, whose source runs on along another axis than the destination, so that lines are moved in pieces. */
static void pieces_equal_the_naive_copy(void **state)
{
	static const int axes[][3] = { { 0, 2, 1 }, { 2, 1, 0 } };

	(void)state;
	for (int k = 0; bi__simd_all()[k]; k++) {
		const struct bi__simd *simd = simd_at(k);

		for (uint32_t unit = 17; simd && unit <= 5000; unit += unit < 80 ? 1 : unit / 2) {
			const int which = (int)between(0, 1);
			const int64_t many = 4096 / unit * between(1, 3) + between(2, 9), few = between(2, 3);
			const int64_t shape[3] = { which ? many : few, which ? few : many, between(4, 7) };
			const size_t bytes = (size_t)(shape[0] * shape[1] * shape[2]) * unit;
			struct bi__plan plan;

			make_plan(&plan, 3, shape, axes[which], unit);
			assert_int_equal(plan.unit, unit);
			source = place_source(bytes);
			compare_all_ways(simd, &plan, bytes);
		}
	}
}

/* Tiles that are cut along both runs, with axes that both sides share and axes that the source repeats. */
static void random_permutation(struct layouts *out, uint32_t item_size)
{
	const int ndim = (int)between(2, 5);
	int64_t shape[5], left = 200000 / item_size;
	struct bi_dtype dtype;
	int order[5];

	assert_int_equal(bi_dtype_make(BI_VOID, 1, item_size, &dtype, NULL), BI_OK);
	do {
		int64_t rest = left;

		for (int i = 0; i < ndim; i++) {
			shape[i] = between(0, 1) ? between(2, 9) : between(2, 600);
			if (shape[i] > rest || i == ndim - 1)
				shape[i] = rest > 2 ? rest : 2;
			rest /= shape[i];
		}
		shuffle_axes(order, ndim);
		out->dst_bytes = lay_out(&out->dst, dtype, ndim, shape, order, between(0, 5) == 0, 0);
		shuffle_axes(order, ndim);
		out->src_bytes = lay_out(&out->src, dtype, ndim, shape, order, between(0, 1) == 0, between(0, 5) == 0);
	} while (!out->dst_bytes || !out->src_bytes);
}

static void permutations_equal_the_naive_copy(void **state)
{
	(void)state;
	for (int k = 0; bi__simd_all()[k]; k++) {
		const struct bi__simd *simd = simd_at(k);

		memset(met, 0, sizeof(met));
		for (uint32_t item_size = 1; simd && item_size <= 24; item_size++) {
			for (int i = 0; i < 10; i++) {
				struct layouts layouts;
				struct bi__plan plan;

				random_permutation(&layouts, item_size);
				source = place_source(layouts.src_bytes);
				bi__plan_make(&plan, &layouts.dst, &layouts.src);
				compare_all_ways(simd, &plan, layouts.dst_bytes);
			}
		}
		assert_true(!simd || met[BI_PLAN_TILES] > 50);
	}
}

/* ---------------------------------------------------------------------------------------------------------- split */

/* Counts how often each unit is moved from where it belongs. */
static void count_units(const struct bi__plan *plan, int axis, int64_t dst, int64_t src)
{
	if (axis < plan->ndim) {
		for (int64_t i = 0; i < plan->shape[axis]; i++)
			count_units(plan, axis + 1, dst + i * plan->dst_strides[axis],
				    src + i * plan->src_strides[axis]);
		return;
	}
	for (size_t i = 0; i < plan->unit; i++)
		destination[(size_t)dst + i] =
			(unsigned char)(destination[(size_t)dst + i] + 1 + (src + (int64_t)i) % 100);
}

static void chunks_move_each_byte_once(void **state)
{
	(void)state;
	for (int i = 0; i < test_cases(400); i++) {
		struct layouts layouts;
		struct bi__plan plan, chunk;
		struct bi__engine_split split;
		const int64_t wanted = between(1, 40);
		uint64_t bytes = 0;
		int chunks;

		random_layouts(&layouts, (uint32_t)between(1, 20));
		bi__plan_make(&plan, &layouts.dst, &layouts.src);
		memset(destination, 0, layouts.dst_bytes);
		count_units(&plan, 0, plan.dst_offset, plan.src_offset);
		memcpy(expected, destination, layouts.dst_bytes);
		memset(destination, 0, layouts.dst_bytes);
		chunks = bi__engine_split(&split, &plan, wanted);
		assert_int_equal(chunks, split.chunks);
		assert_in_range(chunks, 1, wanted);
		for (int part = 0; part < chunks; part++) {
			bi__engine_chunk(&chunk, &split, &plan, part);
			assert_int_equal(chunk.kind, plan.kind);
			count_units(&chunk, 0, chunk.dst_offset, chunk.src_offset);
			bytes += chunk.bytes;
		}
		assert_int_equal(bytes, plan.bytes);
		assert_memory_equal(destination, expected, layouts.dst_bytes);
	}
}

/* Tiles are cut last, and then between panels of the source and lines of the destination. */
static void cuts_keep_panels_and_lines_whole(void **state)
{
	static const int64_t cube[] = { 64, 64, 64, 64 }, plane[] = { 4096, 4096 }, dense[] = { 1000000 };
	static const int reversed[] = { 3, 2, 1, 0 }, crossed[] = { 1, 0 }, same[] = { 0 };
	struct bi__engine_split split;
	struct bi__plan plan;

	(void)state;
	make_plan(&plan, 4, cube, reversed, 4);
	assert_int_equal(plan.kind, BI_PLAN_TILES);
	assert_int_equal(bi__engine_split(&split, &plan, 16), 16);
	assert_true(split.axis != plan.cross && split.axis != 3);
	assert_int_equal(bi__engine_split(&split, &plan, 2), 2);
	assert_int_equal(split.axis, 1);
	make_plan(&plan, 2, plane, crossed, 4);
	assert_int_equal(bi__engine_split(&split, &plan, 10), 10);
	assert_int_equal(split.axis, plan.cross);
	assert_int_equal(split.step * 4 % BI__PANEL, 0);
	make_plan(&plan, 1, dense, same, 4);
	assert_int_equal(plan.kind, BI_PLAN_LINEAR);
	assert_int_equal(bi__engine_split(&split, &plan, 7), 7);
	assert_int_equal(split.axis, -1);
	assert_int_equal(split.step % BI__PAGE, 0);
}

/* ------------------------------------------------------------------------------------------- as everybody calls it */

/* Large enough for threads and for streaming, with ragged edges, by each number of threads. */
static void large_copies_are_the_same_by_any_number_of_threads(void **state)
{
	enum { HEIGHT = 1031, WIDTH = 1543, ITEM = 3 };
	static const int64_t shape[] = { HEIGHT, WIDTH };
	static const int crossed[] = { 1, 0 }, same[] = { 0, 1 };
	const size_t bytes = (size_t)HEIGHT * WIDTH * ITEM;
	unsigned char *from = malloc(bytes), *to = malloc(bytes), *right = malloc(bytes);

	(void)state;
	assert_true(from && to && right);
	for (size_t i = 0; i < bytes; i++)
		from[i] = (unsigned char)(i * 2654435761u >> 11);
	for (int turned = 0; turned < 2; turned++) {
		struct bi__plan plan;

		make_plan(&plan, 2, shape, turned ? crossed : same, ITEM);
		naive(&plan, 0, right, from);
		for (int threads = 1; threads <= 8; threads++) {
			assert_int_equal(bi_set_threads(threads, NULL), BI_OK);
			memset(to, 0, bytes);
			bi__engine_copy(&plan, to, from);
			assert_memory_equal(to, right, bytes);
		}
	}
	assert_int_equal(bi_set_threads(0, NULL), BI_OK);
	free(from);
	free(to);
	free(right);
}

static void the_best_instruction_set_is_chosen(void **state)
{
	int k = 0;

	(void)state;
	while (!bi__simd_all()[k]->runs_here())
		k++;
	assert_ptr_equal(bi__simd_best(), bi__simd_all()[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_move_their_units_and_nothing_else),
		cmocka_unit_test(long_runs_equal_the_naive_copy),
		cmocka_unit_test(every_instruction_set_equals_the_naive_copy),
		cmocka_unit_test(repeated_runs_equal_the_naive_copy),
		cmocka_unit_test(strips_equal_the_naive_copy),
		cmocka_unit_test(pieces_equal_the_naive_copy),
		cmocka_unit_test(permutations_equal_the_naive_copy),
		cmocka_unit_test(chunks_move_each_byte_once),
		cmocka_unit_test(cuts_keep_panels_and_lines_whole),
		cmocka_unit_test(large_copies_are_the_same_by_any_number_of_threads),
		cmocka_unit_test(the_best_instruction_set_is_chosen),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
