/* bi__cite: the rule at the end of a message. */
#include "unit.h"

#include "interop/place.h"

static void a_rule_is_cited_once(void **state)
{
	struct bi_error err = { BI_EINVAL, 0, "the strides are odd" };

	(void)state;
	assert_int_equal(bi__cite(BI_EINVAL, "C7", &err), BI_EINVAL);
	assert_non_null(strstr(err.message, "the strides are odd"));
	assert_non_null(strstr(err.message, "C7"));
	bi__cite(BI_EINVAL, "C9", &err);
	assert_non_null(strstr(err.message, "C9"));
	assert_null(strstr(err.message, "C7"));
	assert_int_equal(bi__cite(BI_OK, "C1", &err), BI_OK);
	assert_null(strstr(err.message, "C1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_cited_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
