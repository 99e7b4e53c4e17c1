/* UTF-8: the first and the last character of each length, and bytes that are none. */
#include "unit.h"

#include <string.h>

#include "array_length.h"
#include "common/base/utf8.h"

static void test_characters(void **state)
{
	static const char *const characters[] = {
		"a",
		"\x7f",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(characters); i++) {
		const char *at = characters[i];
		const size_t size = strlen(at);

		assert_int_equal(bi__utf8_size(at, at + size), size);
		assert_int_equal(bi__utf8_size(at, at + size + 1), size);
		for (size_t cut = 1; cut < size; cut++)
			assert_int_equal(bi__utf8_size(at, at + cut), 0);
	}
	assert_int_equal(bi__utf8_size("", &""[1]), 1);
}

static void test_other_bytes(void **state)
{
	static const char *const others[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2\x41",
		"\xc3\xc3",
		"\xe0\x9f\xbf",
		"\xe1\x80\x41",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xf1\x80\x80\x41",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff\x80\x80\x80",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		assert_int_equal(bi__utf8_size(others[i], others[i] + strlen(others[i])), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_other_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
