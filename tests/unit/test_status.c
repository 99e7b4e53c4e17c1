/* Errors: names and words of every status, and what bi__fail writes. */
#include "unit.h"

#include "common/base/status.h"

static void every_status_has_its_name_and_words(void **state)
{
	static const struct {
		int value;
		const char *name, *text;
	} all[] = {
#define STATUS(status, number, words) { number, "BI_" #status, words },
		BI_STATUS_MAP(STATUS)
#undef STATUS
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		assert_string_equal(bi_status_name(all[i].value), all[i].name);
		assert_string_equal(bi_status_text(all[i].value), all[i].text);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(all[i].value, all[j].value);
	}
	assert_string_equal(bi_status_name(-999), "BI_E?");
	assert_string_equal(bi_status_text(-999), "not a status");
}

static void fail_overwrites_the_error(void **state)
{
	struct bi_error err = { 7, 8, "before" };

	(void)state;
	assert_int_equal(bi__fail(&err, BI_EINVAL, "%d of %s", 3, "four"), BI_EINVAL);
	assert_int_equal(err.status, BI_EINVAL);
	assert_int_equal(err.vendor, 0);
	assert_string_equal(err.message, "3 of four");
	assert_int_equal(bi__fail_vendor(&err, BI_ENOMEM, -61, "%s", "driver"), BI_ENOMEM);
	assert_int_equal(err.status, BI_ENOMEM);
	assert_int_equal(err.vendor, -61);
	assert_string_equal(err.message, "driver");
	assert_int_equal(bi__fail(NULL, BI_EBOUNDS, "nobody reads this"), BI_EBOUNDS);
}

static void messages_are_one_line(void **state)
{
	struct bi_error err;

	(void)state;
	bi__fail(&err, BI_EINVAL, "%s",
		 "a\nb\tc\x7f"
		 "d\xc2\x85"
		 "e\xc3\xa4");
	assert_string_equal(err.message, "a?b?c?d??e\xc3\xa4");
}

static void long_messages_are_cut(void **state)
{
	char text[2 * sizeof(((struct bi_error *)NULL)->message)];
	struct bi_error err;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	bi__fail(&err, BI_EINVAL, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static void messages_are_cut_between_characters(void **state)
{
	char text[] = "\xe2\x82\xac"; /* the euro sign */
	struct bi_error err;

	(void)state;
	for (int before = 0; before < 3; before++) {
		bi__fail(&err, BI_EINVAL, "%0*d%s", (int)sizeof(err.message) - 1 - before, 0, text);
		assert_int_equal(strlen(err.message), sizeof(err.message) - 1 - (size_t)before);
		assert_int_equal(err.message[strlen(err.message) - 1], '0');
	}
	bi__fail(&err, BI_EINVAL, "%0*d%s", (int)sizeof(err.message) - 4, 0, text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_string_equal(err.message + sizeof(err.message) - 4, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status_has_its_name_and_words),
		cmocka_unit_test(fail_overwrites_the_error),
		cmocka_unit_test(messages_are_one_line),
		cmocka_unit_test(long_messages_are_cut),
		cmocka_unit_test(messages_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
