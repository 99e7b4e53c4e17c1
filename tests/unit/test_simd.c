/* Every instruction set that runs here (simd_*.c) does what the portable one does, and the best is chosen. */
#include "unit.h"

#include "common/engine/simd.h"

#define SIZE 32768

static _Alignas(BI__LINE) unsigned char from[SIZE], to[SIZE], expected[SIZE];

static void the_best_runs_here(void **state)
{
	const struct bi__simd *const *all = bi__simd_all(), *best = bi__simd_best();
	int i = 0;

	(void)state;
	assert_true(best->runs_here());
	while (all[i] != best)
		assert_false(all[i++]->runs_here());
	while (all[i + 1])
		i++;
	assert_ptr_equal(all[i], &bi__simd_portable);
	assert_true(bi__simd_portable.runs_here());
}

/* dst[y][x] = src[x][y]. */
static void transpose_by_index(int log, ptrdiff_t pitch, ptrdiff_t height, ptrdiff_t width)
{
	const size_t size = (size_t)1 << log;

	for (ptrdiff_t y = 0; y < height; y++)
		for (ptrdiff_t x = 0; x < width; x++)
			memcpy(expected + y * pitch + x * (ptrdiff_t)size, from + x * pitch + y * (ptrdiff_t)size,
			       size);
}

static void check_transpose(const struct bi__simd *simd, bi__transpose_fn fn, int log, ptrdiff_t height,
			    ptrdiff_t width)
{
	const ptrdiff_t pitch = 256;

	memset(to, 0xa5, sizeof(to));
	memset(expected, 0xa5, sizeof(expected));
	transpose_by_index(log, pitch, height, width);
	fn(to, pitch, from, pitch, height, width);
	if (memcmp(to, expected, sizeof(to)))
		fail_msg("%s: %td by %td elements of %d bytes", simd->name, height, width, 1 << log);
}

static void all_sets_transpose_alike(void **state)
{
	struct test_random random = { test_seed() };

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)test_next(&random);
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++) {
		if (!(*simd)->runs_here())
			continue;
		for (int log = 0; log < 4; log++)
			for (int tall = 1; tall <= 4; tall++) {
				ptrdiff_t height = (16 >> log) * tall, line = 64 >> log, part = 16 >> log;

				check_transpose(*simd, (*simd)->transpose[log], log, height, line);
				check_transpose(*simd, (*simd)->transpose_narrow[log], log, height, part);
			}
	}
}

static void streams_copy_whole_lines(void **state)
{
	(void)state;
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++) {
		if (!(*simd)->runs_here())
			continue;
		assert_true(!(*simd)->stream == !(*simd)->fence);
		if (!(*simd)->stream)
			continue;
		memset(to, 0xa5, sizeof(to));
		(*simd)->stream(to + BI__LINE, from + 3, 5);
		(*simd)->fence();
		assert_memory_equal(to + BI__LINE, from + 3, 5 * BI__LINE);
		assert_int_equal(to[BI__LINE - 1], 0xa5);
		assert_int_equal(to[6 * BI__LINE], 0xa5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_runs_here),
		cmocka_unit_test(all_sets_transpose_alike),
		cmocka_unit_test(streams_copy_whole_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
