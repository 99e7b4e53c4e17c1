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
#ifdef BI_TEST_AVX512
	assert_string_equal(best->name, "avx512");
#endif
	while (all[i] != best)
		assert_false(all[i++]->runs_here());
	while (all[i + 1])
		i++;
	assert_ptr_equal(all[i], &bi__simd_portable);
	assert_true(bi__simd_portable.runs_here());
}

#define PITCH 256

/* dst[y][x] = element y of row x, which begins rows[x] bytes after the source. */
static void transpose_by_index(ptrdiff_t size, const int64_t *rows, ptrdiff_t height, ptrdiff_t width)
{
	for (ptrdiff_t y = 0; y < height; y++)
		for (ptrdiff_t x = 0; x < width; x++)
			memcpy(expected + y * PITCH + x * size, from + rows[x] + y * size, (size_t)size);
}

/* Compares without the bytes that elements of 3 and 6 bytes may overwrite. */
static void check_transposed(const struct bi__simd *simd, ptrdiff_t size, ptrdiff_t height, ptrdiff_t width)
{
	for (ptrdiff_t y = 0; y < height && size % 3 == 0; y++)
		memset(to + y * PITCH + width * size, 0xa5, 16);
	if (memcmp(to, expected, sizeof(to)))
		fail_msg("%s: %td by %td elements of %td bytes", simd->name, height, width, size);
}

static void check_transpose(const struct bi__simd *simd, bi__transpose_fn fn, struct test_random *random,
			    const ptrdiff_t *shape, ptrdiff_t size)
{
	int64_t rows[4 * BI__LINE];

	for (ptrdiff_t x = 0; x < shape[1]; x++)
		rows[x] = test_between(random, 0, SIZE - BI__LINE);
	memset(to, 0xa5, sizeof(to));
	memset(expected, 0xa5, sizeof(expected));
	transpose_by_index(size, rows, shape[0], shape[1]);
	fn(to, PITCH, from, rows, shape[0], shape[1]);
	check_transposed(simd, size, shape[0], shape[1]);
}

static void all_sets_transpose_alike(void **state)
{
	static const int sizes[] = { 1, 2, 3, 4, 6, 8 }, slots[] = { 16, 8, 4, 4, 2, 2 };
	struct test_random random = { test_seed() };

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)test_next(&random);
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++) {
		if (!(*simd)->runs_here()) {
			print_message("this processor has no %s\n", (*simd)->name);
			continue;
		}
		for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
			for (int wide = 1; wide <= 3; wide++) {
				const ptrdiff_t tall = slots[i] * (4 - wide), shape[] = { tall, slots[i] * 4 * wide },
						narrow[] = { tall, slots[i] * wide };

				check_transpose(*simd, (*simd)->transpose[sizes[i]], &random, shape, sizes[i]);
				check_transpose(*simd, (*simd)->transpose_narrow[sizes[i]], &random, narrow, sizes[i]);
			}
		}
	}
}

static void streams_copy_whole_lines(void **state)
{
	(void)state;
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++) {
		assert_int_equal(!(*simd)->stream, !(*simd)->scatters_here);
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
