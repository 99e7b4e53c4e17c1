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

static void run(const struct bi__walk *walk)
{
	count = 0;
	bi__walk_run(walk, note_visit, &count, bases[0] + 2048, bases[1] + 2048);
}

static void without_a_loop_the_function_is_called_once(void **state)
{
	struct bi__walk walk = { .ndim = 0 };

	(void)state;
	run(&walk);
	assert_int_equal(count, 1);
	assert_int_equal(visits[0].dst, 0);
}

static void loops_run_innermost_first(void **state)
{
	struct bi__plan plan = {
		.ndim = 3, .shape = { 3, 2, 4 }, .dst_strides = { 100, 30, 7 }, .src_strides = { -5, 0, 11 }
	};
	struct bi__walk walk = { .ndim = 0 };
	int i = 0;

	(void)state;
	bi__walk_add(&walk, &plan, 0);
	bi__walk_add(&walk, &plan, 2);
	bi__walk_add(&walk, &plan, 1);
	run(&walk);
	assert_int_equal(count, 3 * 4 * 2);
	for (int x = 0; x < 3; x++)
		for (int z = 0; z < 4; z++)
			for (int y = 0; y < 2; y++, i++) {
				assert_int_equal(visits[i].dst, 100 * x + 7 * z + 30 * y);
				assert_int_equal(visits[i].src, -5 * x + 11 * z);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_loop_the_function_is_called_once),
		cmocka_unit_test(loops_run_innermost_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
