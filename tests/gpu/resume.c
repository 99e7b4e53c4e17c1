/*
 * Lets a suite go on behind its first tests: BI_TEST_FIRST=12 leaves 12 tests out, in the order in which they run. Linked
 * with -Wl,--wrap=_cmocka_run_group_tests. tests/gpu/run goes on so behind a test that has ended its process, or hangs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown);

static size_t left_out;

/* What was printed stays printed if the process is killed. */
__attribute__((constructor)) static void begin(void)
{
	const char *first = getenv("BI_TEST_FIRST");

	left_out = first ? (size_t)atoi(first) : 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
}

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
				   CMFixtureFunction setup, CMFixtureFunction teardown)
{
	size_t behind = left_out < count ? left_out : count;

	left_out -= behind;
	return behind == count ? 0 : __real__cmocka_run_group_tests(group, tests + behind, count - behind, setup,
								     teardown);
}
