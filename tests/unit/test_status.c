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

/* Messages begin with the value and end with the reason. */
static void long_messages_lose_their_middle(void **state)
{
	char text[10000], expected[sizeof(((struct bi_error *)NULL)->message)];
	struct bi_error err;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t length = sizeof(expected) - 1; length < sizeof(expected) + 3; length++) {
		bi__fail(&err, BI_EINVAL, "a %.*s z", (int)length - 4, text);
		snprintf(expected, sizeof(expected), "a %.*s%s%.*s z", length < sizeof(expected) ? 251 : 124, text,
			 length < sizeof(expected) ? "" : "...", length < sizeof(expected) ? 0 : 124, text);
		assert_string_equal(err.message, expected);
	}
	bi__fail(&err, BI_EINVAL, "\"%.8000s\" names no device", text);
	assert_memory_equal(err.message, "\"xxx", 4);
	assert_string_equal(err.message + strlen(err.message) - 18, "x\" names no device");
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	bi__fail(&err, BI_EINVAL, "%.*s", (int)sizeof(text), text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

/* The first part has 126 bytes, and so has the last. */
static void messages_are_cut_between_characters(void **state)
{
	const char *euro = "\xe2\x82\xac";
	char euros[12000];
	struct bi_error err;

	(void)state;
	for (int before = 123; before <= 126; before++) {
		bi__fail(&err, BI_EINVAL, "%0*d%s%0200d", before, 0, euro, 0);
		assert_memory_equal(err.message + before, before == 123 ? euro : "...", 3);
		bi__fail(&err, BI_EINVAL, "%0200d%s%0*d", 0, euro, before, 0);
		assert_memory_equal(err.message + 126, "...", 3);
		assert_memory_equal(err.message + 129, before == 123 ? euro : "000", 3);
		assert_int_equal(strlen(err.message), before == 123 ? 255 : 129 + before);
	}
	for (int i = 0; i < 4000; i++)
		memcpy(euros + 3 * (size_t)i, euro, 3);
	for (int before = 0; before < 3; before++) {
		bi__fail(&err, BI_EINVAL, "%.*s%.12000s", before, "abc", euros);
		assert_string_equal(err.message + strlen(err.message) - 3, euro);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status_has_its_name_and_words),
		cmocka_unit_test(fail_overwrites_the_error),
		cmocka_unit_test(messages_are_one_line),
		cmocka_unit_test(long_messages_lose_their_middle),
		cmocka_unit_test(messages_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
