/* Opening a driver library: which one is chosen, which symbols it must have, and what the error says. */
#define _GNU_SOURCE /* dladdr */
#include "unit.h"

#include <dlfcn.h>
#include <stdio.h>

#include "common/base/dl.h"

#define VARIABLE "BI_TEST_DL_LIBRARY"
#define PRESENT "libm.so.6" /* a library of every system that the tests run on */

struct table {
	void *library;
	double (*cosine)(double x);
	void (*missing)(void);
};

static const struct bi__symbol cosine = { offsetof(struct table, cosine), "cos", 1 };
static const char *const names[] = { "libbi-no-such-one.so", PRESENT, NULL };

static void the_first_that_loads_is_taken(void **state)
{
	struct table table = { NULL, NULL, NULL };

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

static void the_reason_follows_a_long_path(void **state)
{
	static const size_t lengths[] = { 299, 1000, 4000 };
	char path[4001], reason[4500];
	struct table table;

	(void)state;
	memset(path, 'p', sizeof(path));
	memcpy(path, "/", 1);
	for (size_t i = 3; i-- > 0;) {
		path[lengths[i]] = '\0';
		assert_false(bi__dl_loads(path, reason, sizeof(reason)));
		setenv(VARIABLE, path, 1);
		REFUSED_FOR(BI_ENODEVICE, reason + strlen(path) - 1,
			    bi__dl_open(VARIABLE, names, &cosine, 1, &table, &error));
	}
	unsetenv(VARIABLE);
}

static void only_optional_symbols_may_be_missing(void **state)
{
	struct bi__symbol symbols[] = { cosine, { offsetof(struct table, missing), "bi_no_such_function", 0 } };
	struct table table = { NULL, NULL, (void (*)(void))abort };

	(void)state;
	OK(bi__dl_open(VARIABLE, names, symbols, 2, &table, &error));
	assert_true(table.cosine != NULL);
	assert_true((double (*)(double))bi__dl_symbol(table.library, "cos") == table.cosine);
	assert_true(bi__dl_symbol(table.library, "bi_no_such_function") == NULL);
	assert_true(table.missing == NULL);
	symbols[1].required = 1;
	table.cosine = NULL;
	REFUSED_FOR(BI_ENODEVICE, "the driver library " PRESENT " lacks bi_no_such_function",
		    bi__dl_open(VARIABLE, names, symbols, 2, &table, &error));
	/* A table is filled completely or not at all. */
	assert_true(table.cosine == NULL);
}

/* A Python package brings a library under another name, and only its own code is linked with it. */
static void a_library_of_the_process_comes_first(void **state)
{
	static const char *const carried[] = { "libbi-carried.so.1", PRESENT, NULL };
	static const char path[] = "./libbi-carried-0a1b2c.so.1.0.0";
	const struct bi__symbol symbol = { offsetof(struct table, missing), "bi_layer_reset", 1 };
	struct table table = { NULL, NULL, NULL };
	char command[1024];
	void *library;

	(void)state;
	snprintf(command, sizeof(command), "cp '%s' %s", getenv("BI_TEST_LAYER"), path);
	assert_int_equal(system(command), 0);
	REFUSED_FOR(BI_ENODEVICE, "lacks", bi__dl_open(VARIABLE, carried, &symbol, 1, &table, &error));
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	OK(bi__dl_open(VARIABLE, carried, &symbol, 1, &table, &error));
	assert_true(table.missing != NULL);
	/* Not if another one is named, not for a name of which it has only the beginning, and not of another version. */
	setenv(VARIABLE, "libbi-chosen.so", 1);
	REFUSED(BI_ENODEVICE, bi__dl_open(VARIABLE, carried, &symbol, 1, &table, &error));
	unsetenv(VARIABLE);
	REFUSED(BI_ENODEVICE,
		bi__dl_open(VARIABLE, (const char *const[]){ "libbi-carr.so.1", NULL }, &symbol, 1, &table, &error));
	REFUSED(BI_ENODEVICE,
		bi__dl_open(VARIABLE, (const char *const[]){ "libbi-carried.so.10", NULL }, &symbol, 1, &table, &error));
	dlclose(library);
	remove(path);
}

/* A library of the process that lacks a symbol does not hide one that has all. */
static void the_first_usable_library_of_the_process_comes_first(void **state)
{
	static const char *const carried[] = { "libbi-brought.so.1", PRESENT, NULL };
	static const char *const paths[] = { "./libbi-brought-useless.so.1", "./libbi-brought-useful.so.1" };
	const struct bi__symbol symbol = { offsetof(struct table, missing), "bi_layer_reset", 1 };
	struct table table = { NULL, NULL, NULL };
	char command[2048];
	void *libraries[2];
	Dl_info info;

	(void)state;
	OK(bi__dl_open(VARIABLE, names, &cosine, 1, &table, &error));
	assert_true(dladdr((void *)(uintptr_t)table.cosine, &info));
	snprintf(command, sizeof(command), "cp '%s' %s && cp '%s' %s", info.dli_fname, paths[0],
		 getenv("BI_TEST_LAYER"), paths[1]);
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 2; i++) {
		libraries[i] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
		assert_non_null(libraries[i]);
	}
	OK(bi__dl_open(VARIABLE, carried, &symbol, 1, &table, &error));
	assert_true(table.library == libraries[1]);
	for (int i = 0; i < 2; i++) {
		dlclose(libraries[i]);
		remove(paths[i]);
	}
}

static void a_library_is_tried(void **state)
{
	char reason[200];

	(void)state;
	assert_true(bi__dl_loads(PRESENT, reason, sizeof(reason)));
	assert_string_equal(reason, "");
	assert_false(bi__dl_loads("libbi-one.so", reason, sizeof(reason)));
	assert_memory_equal(reason, "libbi-one.so: ", 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_loads_is_taken),
		cmocka_unit_test(the_environment_names_the_only_one),
		cmocka_unit_test(the_error_lists_what_was_tried),
		cmocka_unit_test(the_reason_follows_a_long_path),
		cmocka_unit_test(only_optional_symbols_may_be_missing),
		cmocka_unit_test(a_library_of_the_process_comes_first),
		cmocka_unit_test(the_first_usable_library_of_the_process_comes_first),
		cmocka_unit_test(a_library_is_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
