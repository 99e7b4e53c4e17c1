/* Runs along one axis: every unit up to those that memcpy moves, any step, and not a byte beyond either end. */
#define _DEFAULT_SOURCE
#include "unit.h"

#include <sys/mman.h>

#include "common/engine/run.h"

#define SIZE 65536

static unsigned char from[SIZE], to[SIZE], expected[SIZE];

static void check_run(const struct bi__simd *simd, const struct bi__run_axis *axis, int64_t count)
{
	unsigned char *src = from + (axis->src_step < 0 ? -axis->src_step * (count - 1) : 0) + 64;
	unsigned char *dst = to + 128;
	struct bi__run run;

	memset(to, 0xa5, sizeof(to));
	memset(expected, 0xa5, sizeof(expected));
	for (int64_t i = 0; i < count; i++)
		memcpy(expected + 128 + i * axis->dst_step, src + i * axis->src_step, axis->unit);
	bi__run_init(&run, simd, axis);
	bi__run(&run, dst, src, count);
	if (memcmp(to, expected, sizeof(to)))
		fail_msg("%s: %lld units of %zu, steps %lld and %lld", simd->name, (long long)count, axis->unit,
			 (long long)axis->dst_step, (long long)axis->src_step);
}

static void random_runs_move_their_units(void **state)
{
	struct test_random random = { test_seed() };

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)test_next(&random);
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++) {
		if (!(*simd)->runs_here())
			continue;
		for (int i = 0; i < 3000; i++) {
			struct bi__run_axis axis = { .unit = (size_t)test_between(&random, 1, 80) };
			int64_t unit = (int64_t)axis.unit, count = test_between(&random, 0, 200);

			axis.dst_step = unit + (i % 2 ? 0 : test_between(&random, 0, 9));
			axis.src_step = test_between(&random, -2 * unit, 2 * unit);
			/* Enough bytes that a shuffle is prepared where there is one. */
			axis.bytes = test_between(&random, 0, 1) ? 1 << 20 : 100;
			check_run(*simd, &axis, count);
		}
	}
}

/* The source begins right behind a page that cannot be read, and ends right before one. */
static void runs_read_nothing_beyond_their_ends(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), middle = 4 * page;
	struct test_random random = { test_seed() };
	unsigned char *guarded = mmap(NULL, middle + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(guarded != MAP_FAILED);
	guarded += page;
	assert_int_equal(mprotect(guarded, middle, PROT_READ | PROT_WRITE), 0);
	for (int i = 0; i < 4000; i++) {
		const struct bi__simd *const *simd = bi__simd_all();
		int64_t unit = test_between(&random, 1, 16), step = unit * test_between(&random, 1, 4);
		int64_t count = test_between(&random, 1, (int64_t)middle / step), reach = (count - 1) * step + unit;
		struct bi__run_axis axis = { (size_t)unit, unit, step, 1 << 20 };
		unsigned char *src = i % 4 < 2 ? guarded : guarded + middle - reach;
		struct bi__run run;

		if (test_between(&random, 0, 1)) {
			axis.src_step = -step;
			src += (count - 1) * step;
		}
		for (; *simd; simd++) {
			if (!(*simd)->runs_here())
				continue;
			bi__run_init(&run, *simd, &axis);
			bi__run(&run, to, src, count);
		}
	}
	munmap(guarded - page, middle + 2 * page);
}

static void streamed_runs_move_whole_lines(void **state)
{
	static _Alignas(BI__LINE) unsigned char lines[SIZE];
	struct bi__run_axis axis = { .unit = 2, .dst_step = 2, .src_step = 4, .bytes = 1 << 20 };
	int streamed = 0;

	(void)state;
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++) {
		struct bi__run run;
		int64_t done;

		if (!(*simd)->runs_here())
			continue;
		memset(lines, 0xa5, sizeof(lines));
		bi__run_init(&run, *simd, &axis);
		done = bi__run_streamed(&run, lines, from, 4000);
		if ((*simd)->fence)
			(*simd)->fence();
		assert_int_equal(done * 2 % BI__LINE, 0);
		for (int64_t i = 0; i < done; i++)
			assert_memory_equal(lines + 2 * i, from + 4 * i, 2);
		assert_int_equal(lines[2 * done], 0xa5);
		streamed += done > 0;
		assert_true(!(*simd)->vector || done > 0);
	}
	print_message("%d instruction sets stream\n", streamed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_runs_move_their_units),
		cmocka_unit_test(runs_read_nothing_beyond_their_ends),
		cmocka_unit_test(streamed_runs_move_whole_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
