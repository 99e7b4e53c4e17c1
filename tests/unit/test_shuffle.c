/* The table of a shuffle: where it exists, that each byte comes from the right place, and how far its loads reach. */
#include "unit.h"

#include "common/engine/run.h"

/* Executes one period of the table by index arithmetic. */
static void execute(const struct bi__shuffle *shuffle, size_t vector, unsigned char *dst, const unsigned char *src)
{
	for (int i = 0; i < shuffle->count; i++) {
		const struct bi__shuffle_load *load = &shuffle->loads[i];

		for (size_t j = 0; j < vector; j++)
			if (load->index[j] != 255)
				dst[j] = src[load->offset + load->index[j]];
		dst += load->last ? vector : 0;
	}
}

/* No load reaches beyond the units of the period and the spare ones, so that no other bytes are touched. */
static void check_reach(const struct bi__shuffle *shuffle, size_t vector, size_t unit, int64_t src_step)
{
	const int64_t last = ((int64_t)shuffle->units + shuffle->spare - 1) * src_step;

	for (int i = 0; i < shuffle->count; i++) {
		assert_true(shuffle->loads[i].offset >= (last < 0 ? last : 0));
		assert_true(shuffle->loads[i].offset + (int64_t)vector <= (last < 0 ? 0 : last) + (int64_t)unit);
	}
}

static void check_table(const struct bi__shuffle *shuffle, size_t vector, size_t unit, int64_t src_step)
{
	static unsigned char from[1 << 16], to[1 << 14];
	unsigned char *src = from + sizeof(from) / 2;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = number_at(i);
	memset(to, 0xa5, sizeof(to));
	assert_int_equal(shuffle->written, shuffle->units * unit);
	assert_int_equal(shuffle->written % vector, 0);
	assert_int_equal(shuffle->few, shuffle->written == vector && shuffle->count <= 4 ? shuffle->count : 0);
	assert_int_equal(shuffle->step, (ptrdiff_t)shuffle->units * src_step);
	check_reach(shuffle, vector, unit, src_step);
	execute(shuffle, vector, to, src);
	for (size_t i = 0; i < shuffle->units; i++)
		assert_memory_equal(to + i * unit, src + (int64_t)i * src_step, unit);
	assert_int_equal(to[shuffle->written], 0xa5);
}

static void tables_say_where_each_byte_comes_from(void **state)
{
	static struct bi__shuffle shuffle;
	int made = 0;

	(void)state;
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++)
		for (int64_t unit = 1; unit <= 16; unit++)
			for (int64_t src_step = -4 * unit; src_step <= 4 * unit; src_step++) {
				bi__shuffle_make(&shuffle, *simd, (size_t)unit, src_step);
				if (!shuffle.count)
					continue;
				check_table(&shuffle, (*simd)->vector, (size_t)unit, src_step);
				made++;
			}
	assert_true(made > 0 || !bi__simd_best()->vector);
}

static void some_runs_have_no_table(void **state)
{
	const struct bi__simd *simd = bi__simd_best();
	struct bi__shuffle shuffle;

	(void)state;
	bi__shuffle_make(&shuffle, simd, 4, 0);
	assert_int_equal(shuffle.count, 0);
	bi__shuffle_make(&shuffle, simd, 17, 20);
	assert_int_equal(shuffle.count, 0);
	bi__shuffle_make(&shuffle, simd, 4, 4000);
	assert_int_equal(shuffle.count, 0);
	bi__shuffle_make(&shuffle, &bi__simd_portable, 4, 8);
	assert_int_equal(shuffle.count, 0);
}

/* Only units that overlap in the source need spare units. */
static void separate_units_need_no_spare_ones(void **state)
{
	const struct bi__simd *simd = bi__simd_best();
	struct bi__shuffle shuffle;

	(void)state;
	bi__shuffle_make(&shuffle, simd, 2, 4);
	assert_true(!shuffle.count || shuffle.spare == 0);
	bi__shuffle_make(&shuffle, simd, 2, -2);
	assert_true(!shuffle.count || shuffle.spare == 0);
	bi__shuffle_make(&shuffle, simd, 2, 1);
	assert_true(!shuffle.count || shuffle.spare > 0);
}

#ifdef BI__SIMD_V128
static int has_table(size_t unit, int64_t src_step)
{
	struct bi__shuffle shuffle;

	bi__shuffle_make(&shuffle, &bi__simd_v128, unit, src_step);
	return shuffle.count > 0;
}
#endif

/* A vector of 16 bytes holds few units of 4 bytes and more, so they are worth few loads. */
static void short_vectors_move_small_units(void **state)
{
	(void)state;
#ifdef BI__SIMD_V128
	assert_true(has_table(1, 4));
	assert_false(has_table(1, 6));
	assert_true(has_table(2, 4));
	assert_true(has_table(2, 8));
	assert_false(has_table(2, 10));
	assert_true(has_table(3, -3));
	assert_true(has_table(4, -4));
	assert_true(has_table(4, 2));
	assert_false(has_table(4, 8));
	assert_false(has_table(6, 12));
	assert_false(has_table(8, -8));
	assert_false(has_table(16, 48));
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_say_where_each_byte_comes_from),
		cmocka_unit_test(some_runs_have_no_table),
		cmocka_unit_test(separate_units_need_no_spare_ones),
		cmocka_unit_test(short_vectors_move_small_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
