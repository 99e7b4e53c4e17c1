/* Runs along one axis, for every unit up to the ones that memcpy moves, any step, and with guards at both ends. */
#include "unit.h"

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
			axis.count = test_between(&random, 0, 1) ? count : 5000;
			/* Enough bytes that a shuffle is prepared where there is one. */
			axis.bytes = test_between(&random, 0, 1) ? 1 << 20 : 100;
			check_run(*simd, &axis, count);
		}
	}
}

static void streamed_runs_move_whole_lines(void **state)
{
	static _Alignas(BI__LINE) unsigned char lines[SIZE];
	struct bi__run_axis axis = { .unit = 4, .dst_step = 4, .src_step = 8, .count = 4000, .bytes = 1 << 20 };
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
		assert_int_equal(done * 4 % BI__LINE, 0);
		for (int64_t i = 0; i < done; i++)
			assert_memory_equal(lines + 4 * i, from + 8 * i, 4);
		assert_int_equal(lines[4 * done], 0xa5);
		streamed += done > 0;
		assert_true(!(*simd)->shuffle_streamed || done > 0);
	}
	print_message("%d instruction sets stream\n", streamed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_runs_move_their_units),
		cmocka_unit_test(streamed_runs_move_whole_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
