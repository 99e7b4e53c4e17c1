/* The loop nest of the engine: which addresses it visits, and in which order. */
#include "unit.h"

#include "common/engine/parts.h"

#define MOST 64

static struct visit {
	ptrdiff_t dst, src;
} visits[MOST];
static int count;
static unsigned char bases[2][4096];

static void note_visit(void *inner, unsigned char *dst, const unsigned char *src)
{
	assert_ptr_equal(inner, &count);
	assert_true(count < MOST);
	visits[count++] = (struct visit){ dst - (bases[0] + 2048), src - (bases[1] + 2048) };
}

static void run(const struct bi__plan *plan, int x, int y)
{
	count = 0;
	bi__walk(plan, x, y, note_visit, &count, bases[0] + 2048, bases[1] + 2048);
}

/* A plan without other axes than those that the function runs along. */
static void without_a_loop_the_function_is_called_once(void **state)
{
	const struct bi__plan plan = { .ndim = 2, .shape = { 3, 5 }, .dst_strides = { 5, 1 }, .src_strides = { 1, 3 } };

	(void)state;
	run(&plan, 1, 0);
	assert_int_equal(count, 1);
	assert_int_equal(visits[0].dst, 0);
}

static void loops_run_innermost_first(void **state)
{
	const struct bi__plan plan = { .ndim = 5,
				       .shape = { 3, 9, 2, 9, 4 },
				       .dst_strides = { 100, 99, 30, 25, 7 },
				       .src_strides = { -5, 1000, 0, 1000, 11 } };
	int i = 0;

	(void)state;
	run(&plan, 1, 3);
	assert_int_equal(count, 3 * 2 * 4);
	for (int x = 0; x < 3; x++)
		for (int y = 0; y < 2; y++)
			for (int z = 0; z < 4; z++, i++) {
				assert_int_equal(visits[i].dst, 100 * x + 30 * y + 7 * z);
				assert_int_equal(visits[i].src, -5 * x + 11 * z);
			}
}

static void an_axis_may_be_missing(void **state)
{
	const struct bi__plan plan = {
		.ndim = 2, .shape = { 3, 9 }, .dst_strides = { 50, 1 }, .src_strides = { 7, 1 }
	};

	(void)state;
	run(&plan, 1, -1);
	assert_int_equal(count, 3);
	for (int x = 0; x < 3; x++) {
		assert_int_equal(visits[x].dst, 50 * x);
		assert_int_equal(visits[x].src, 7 * x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_loop_the_function_is_called_once),
		cmocka_unit_test(loops_run_innermost_first),
		cmocka_unit_test(an_axis_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
