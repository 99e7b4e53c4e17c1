/* Opening a driver library: which one is chosen, which symbols it must have, and what the error says. */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include "common/base/dl.h"

#define VARIABLE "BI_TEST_DL_LIBRARY"
#define PRESENT "libm.so.6" /* a library of every system that the tests run on */

struct table {
	double (*cosine)(double x);
	void (*missing)(void);
};

static const struct bi__symbol cosine = { offsetof(struct table, cosine), "cos", 1 };
static const char *const names[] = { "libbi-no-such-one.so", PRESENT, NULL };

static void the_first_that_loads_is_taken(void **state)
{
	struct table table = { NULL, NULL };

	(void)state;
	unsetenv(VARIABLE);
	OK(bi__dl_open(VARIABLE, names, &cosine, 1, &table, &error));
	assert_true(table.cosine(0) > 0.999);
	/* An empty variable names nothing. */
	setenv(VARIABLE, "", 1);
	OK(bi__dl_open(VARIABLE, names, &cosine, 1, &table, &error));
}

static void the_environment_names_the_only_one(void **state)
{
	struct table table;

	(void)state;
	setenv(VARIABLE, "libbi-chosen.so", 1);
	REFUSED_FOR(BI_ENODEVICE, "libbi-chosen.so: ", bi__dl_open(VARIABLE, names, &cosine, 1, &table, &error));
	assert_null(strstr(error.message, "no-such-one"));
	unsetenv(VARIABLE);
}

static void the_error_lists_what_was_tried(void **state)
{
	static const char *const none[] = { "libbi-one.so", "libbi-two.so", NULL };
	struct table table;

	(void)state;
	REFUSED_FOR(BI_ENODEVICE, "; libbi-two.so: ", bi__dl_open(VARIABLE, none, &cosine, 1, &table, &error));
	assert_non_null(strstr(error.message, ": libbi-one.so: "));
	assert_non_null(strstr(error.message, VARIABLE));
	/* The loader's reason begins with the name, which is not said twice. */
	assert_null(strstr(error.message, "libbi-one.so: libbi-one.so"));
}

static void only_optional_symbols_may_be_missing(void **state)
{
	struct bi__symbol symbols[] = { cosine, { offsetof(struct table, missing), "bi_no_such_function", 0 } };
	struct table table = { NULL, (void (*)(void))abort };

	(void)state;
	OK(bi__dl_open(VARIABLE, names, symbols, 2, &table, &error));
	assert_true(table.cosine != NULL);
	assert_true(table.missing == NULL);
	symbols[1].required = 1;
	REFUSED_FOR(BI_ENODEVICE, "lacks bi_no_such_function",
		    bi__dl_open(VARIABLE, names, symbols, 2, &table, &error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_loads_is_taken),
		cmocka_unit_test(the_environment_names_the_only_one),
		cmocka_unit_test(the_error_lists_what_was_tried),
		cmocka_unit_test(only_optional_symbols_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
