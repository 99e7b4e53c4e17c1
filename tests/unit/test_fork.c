/* The generation of a process: one more in each forked child, from the first call of bi__fork_watch on. */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include "common/base/fork.h"

static int own_generation(void *unused)
{
	(void)unused;
	return (int)bi__fork_generation;
}

static int generation_of_grandchild(void *unused)
{
	return status_of_child(own_generation, unused);
}

static void forks_are_counted_once_watched(void **state)
{
	(void)state;
	assert_int_equal(bi__fork_generation, 0);
	assert_int_equal(status_of_child(own_generation, NULL), 0);
	bi__fork_watch();
	bi__fork_watch();
	assert_int_equal(status_of_child(own_generation, NULL), 1);
	assert_int_equal(status_of_child(generation_of_grandchild, NULL), 2);
	assert_int_equal(bi__fork_generation, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(forks_are_counted_once_watched) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
