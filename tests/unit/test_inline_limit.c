/* BI_INLINE_LIMIT: numbers up to 1 GiB are the limit, everything else leaves the default. Read once in a process. */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include "common/base/inline_limit.h"

struct expectation {
	const char *text; /* NULL: the variable is not set */
	size_t limit;
};

/* In a child, because the limit of a process does not change. */
static int has_limit(void *data)
{
	const struct expectation *expectation = data;

	if (expectation->text)
		setenv("BI_INLINE_LIMIT", expectation->text, 1);
	else
		unsetenv("BI_INLINE_LIMIT");
	if (bi__inline_limit() != expectation->limit)
		return 1;
	setenv("BI_INLINE_LIMIT", "77", 1);
	return bi__inline_limit() == expectation->limit ? 0 : 2;
}

static void the_environment_sets_the_limit(void **state)
{
	static const size_t usual = 16777216, most = 1073741824;
	struct expectation all[] = {
		{ NULL, usual },
		{ "", usual },
		{ "0", 0 },
		{ "1", 1 },
		{ "1073741824", most },
		{ "1073741825", usual },
		{ "-1", usual },
		{ " 5", usual },
		{ "+5", usual },
		{ "5k", usual },
		{ "0x10", usual },
		{ "many", usual },
		{ "007", 7 },
		{ "5 ", usual },
		{ "4096", 4096 },
		{ "99999999999999999999999", usual },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (status_of_child(has_limit, &all[i]))
			fail_msg("BI_INLINE_LIMIT=%s does not give %zu", all[i].text ? all[i].text : "(unset)",
				 all[i].limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_environment_sets_the_limit) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
