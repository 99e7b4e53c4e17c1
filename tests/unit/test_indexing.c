/* Indexing text, and the comparison that --verify makes, which must see every kind of damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "indexing.h"
#include "naive.h"
#include "random.h"

static void expect_item(const struct bi_index *item, enum bi_index_kind kind, int64_t start, int64_t stop, int64_t step)
{
	assert_int_equal(item->kind, kind);
	if (kind == BI_INDEX_NEWAXIS || kind == BI_INDEX_ELLIPSIS)
		return;
	assert_true(item->start == start);
	if (kind == BI_INDEX_SLICE) {
		assert_true(item->stop == stop);
		assert_true(item->step == step);
	}
}

static void test_items(void **state)
{
	struct bi_index items[INDEXING_MAX];
	int count;

	(void)state;
	assert_int_equal(indexing_parse(" -3, 1:, :2 ,::-1, 4 : 5 : 6,None:+7:None,..., None,newaxis, np.newaxis ,: ,",
					items, &count, NULL),
			 BI_OK);
	assert_int_equal(count, 11);
	expect_item(&items[0], BI_INDEX_INTEGER, -3, 0, 0);
	expect_item(&items[1], BI_INDEX_SLICE, 1, BI_OMITTED, 1);
	expect_item(&items[2], BI_INDEX_SLICE, BI_OMITTED, 2, 1);
	expect_item(&items[3], BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, -1);
	expect_item(&items[4], BI_INDEX_SLICE, 4, 5, 6);
	expect_item(&items[5], BI_INDEX_SLICE, BI_OMITTED, 7, 1);
	expect_item(&items[6], BI_INDEX_ELLIPSIS, 0, 0, 0);
	for (int i = 7; i < 10; i++)
		expect_item(&items[i], BI_INDEX_NEWAXIS, 0, 0, 0);
	expect_item(&items[10], BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, 1);
}

static void test_numbers_are_clipped(void **state)
{
	struct bi_index items[INDEXING_MAX];
	int count;

	(void)state;
	assert_int_equal(
		indexing_parse("-99999999999999999999:99999999999999999999:-9223372036854775808", items, &count, NULL),
		BI_OK);
	expect_item(&items[0], BI_INDEX_SLICE, -INT64_MAX, INT64_MAX, -INT64_MAX);
	assert_int_equal(indexing_parse("9223372036854775806", items, &count, NULL), BI_OK);
	expect_item(&items[0], BI_INDEX_INTEGER, INT64_MAX - 1, 0, 0);
	assert_int_equal(indexing_parse("9223372036854775807, -9223372036854775807", items, &count, NULL), BI_OK);
	expect_item(&items[0], BI_INDEX_INTEGER, INT64_MAX, 0, 0);
	expect_item(&items[1], BI_INDEX_INTEGER, -INT64_MAX, 0, 0);
}

static void expect_refusal(const char *slice, const char *transpose, const char *message)
{
	static const int64_t shape[2] = { 3, 4 };
	struct selection selection;
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_error err = { 0, 0, "" };

	assert_int_equal(bi_dtype_make(BI_UINT8, 1, 0, &dtype, NULL), BI_OK);
	assert_int_equal(bi_layout_init(&layout, dtype, 2, shape, NULL, 0, NULL), BI_OK);
	if (selection_parse(slice, transpose, &selection, &err) == BI_OK)
		assert_int_not_equal(selection_apply(&selection, &layout, &err), BI_OK);
	assert_string_equal(err.message, message);
}

static void test_messages(void **state)
{
	(void)state;
	expect_refusal("9223372036854775808", NULL,
		       "--slice \"9223372036854775808\": 9223372036854775808 is too large; "
		       "the limit is 9223372036854775807");
	expect_refusal("-9223372036854775808", NULL,
		       "--slice \"-9223372036854775808\": -9223372036854775808 is too small; "
		       "the limit is -9223372036854775807");
	expect_refusal("0x2", NULL, "--slice \"0x2\": an integer is expected, not \"0x2\"");
	expect_refusal("1.5:", NULL, "--slice \"1.5:\": an integer is expected, not \"1.5\"");
	expect_refusal(":-1e3", NULL, "--slice \":-1e3\": an integer is expected, not \"-1e3\"");
	expect_refusal("1:2:3:4", NULL, "--slice \"1:2:3:4\": a slice has at most three parts");
	expect_refusal("", NULL, "--slice \"\": an index is expected, such as ::2");
	expect_refusal("..., ...", NULL, "--slice \"..., ...\": there can be only one '...'");
	expect_refusal("9", NULL, "--slice \"9\": 9 is outside of axis 0, whose extent is 3");
	expect_refusal("..., None, -5", NULL, "--slice \"..., None, -5\": -5 is outside of axis 1, whose extent is 4");
	expect_refusal("0,0,0", NULL, "--slice \"0,0,0\": 3 axes are indexed, the array has 2");
	expect_refusal(NULL, "", "--transpose \"\": axes are expected, such as 1,0");
	expect_refusal(NULL, "0", "--transpose \"0\": it names 1 axis, the array has 2");
	expect_refusal("0", "0,1", "--transpose \"0,1\": it names 2 axes, the array has 1 after --slice");
	expect_refusal("0", "1", "--transpose \"1\": there is no axis 1; the array has 1 axis after --slice");
	expect_refusal(NULL, "0,-3", "--transpose \"0,-3\": there is no axis -3; the array has 2 axes");
	expect_refusal(NULL, "1,-1", "--transpose \"1,-1\": axis 1 is repeated");
	expect_refusal(NULL, "0,1.0", "--transpose \"0,1.0\": an integer is expected, not \"1.0\"");
}

static void test_bad_items(void **state)
{
	static const char *const texts[] = {
		"",    " ",   ",",   "1,,2",  "1 2", "1:2:3:4", "::0",  "x",      "1x",      "....", "..",
		"- 1", "--1", "1.0", "Nonex", "[1]", "(1,2)",   "0x10", "1,...x", "::None:", "...:",
	};
	struct bi_index items[INDEXING_MAX];
	struct bi_error err;
	char text[4 * INDEXING_MAX];
	int count;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		if (indexing_parse(texts[i], items, &count, &err) != BI_EINVAL)
			fail_msg("\"%s\" is read as %d items", texts[i], count);
	memset(text, 0, sizeof(text));
	for (int i = 0; i < INDEXING_MAX; i++)
		strcat(text, ":,");
	assert_int_equal(indexing_parse(text, items, &count, &err), BI_OK);
	strcat(text, ":");
	assert_int_equal(indexing_parse(text, items, &count, &err), BI_EINVAL);
}

static void test_integers(void **state)
{
	static const struct {
		const char *text;
		int count; /* -1: refused */
	} cases[] = {
		{ "", -1 },
		{ " ", -1 },
		{ "()", 0 },
		{ " ( ) ", 0 },
		{ "4", 1 },
		{ "4,", 1 },
		{ "(4,)", 1 },
		{ "4,6", 2 },
		{ "(4, -6)", 2 },
		{ "4 6", -1 },
		{ "(4", -1 },
		{ "4)", -1 },
		{ ",", -1 },
		{ "4,,6", -1 },
		{ "x", -1 },
		{ "9223372036854775807", 1 },
		{ "-9223372036854775807", 1 },
		{ "9223372036854775808", -1 },
		{ "0x2", -1 },
		{ "1.5", -1 },
		{ "-99999999999999999999", -1 },
	};
	int64_t values[BI_MAX_NDIM];
	char text[400] = "";
	int count;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		int rc = integers_parse(cases[i].text, values, &count, NULL);

		if (rc == BI_OK ? count != cases[i].count : cases[i].count != -1)
			fail_msg("\"%s\": status %d, count %d", cases[i].text, rc, count);
	}
	assert_int_equal(integers_parse("(4, -6)", values, &count, NULL), BI_OK);
	assert_true(values[0] == 4 && values[1] == -6);
	for (int i = 0; i < BI_MAX_NDIM; i++)
		strcat(text, "1,");
	assert_int_equal(integers_parse(text, values, &count, NULL), BI_OK);
	strcat(text, "1");
	assert_int_equal(integers_parse(text, values, &count, NULL), BI_EINVAL);
}

/* ----------------------------------------------------------------------------------------------------- verification */

/* Rows of 4 and columns of 3, numbered in memory. */
static const unsigned char numbers[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
static const int64_t three_by_four[2] = { 3, 4 };

static enum naive_verdict judge(int fortran_order, const char *slice, const char *axes, int ndim, const int64_t *shape,
				const unsigned char *bytes, int64_t index[BI_MAX_NDIM])
{
	const struct naive_array source = { numbers, 1, fortran_order, 2, three_by_four };
	const struct naive_array result = { bytes, 1, 0, ndim, shape };
	struct selection selection;
	struct bi_error err;

	assert_int_equal(selection_parse(slice, axes, &selection, &err), BI_OK);
	return naive_compare(&source, &selection, &result, index);
}

static void test_known_views(void **state)
{
	static const struct {
		int fortran_order;
		const char *slice;
		const char *axes;
		int ndim;
		int64_t shape[3];
		unsigned char bytes[12];
	} cases[] = {
		{ 0, NULL, NULL, 2, { 3, 4 }, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 } },
		{ 1, NULL, NULL, 2, { 3, 4 }, { 0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11 } },
		{ 0, NULL, "1,0", 2, { 4, 3 }, { 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 } },
		{ 0, NULL, "-1,-2", 2, { 4, 3 }, { 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 } },
		{ 0, "::2, ::-1", NULL, 2, { 2, 4 }, { 3, 2, 1, 0, 11, 10, 9, 8 } },
		{ 0, "1", NULL, 1, { 4 }, { 4, 5, 6, 7 } },
		{ 0, "-1, -1", NULL, 0, { 0 }, { 11 } },
		{ 0, "..., -2", NULL, 1, { 3 }, { 2, 6, 10 } },
		{ 0, "None, 0, ..., None", NULL, 3, { 1, 4, 1 }, { 0, 1, 2, 3 } },
		{ 0, "-1::-2, 5:0:-2", NULL, 2, { 2, 2 }, { 11, 9, 3, 1 } },
		{ 0, "0:0", NULL, 2, { 0, 4 }, { 0 } },
		{ 0, "::9223372036854775807", NULL, 2, { 1, 4 }, { 0, 1, 2, 3 } },
		{ 0, "::-9223372036854775807", NULL, 2, { 1, 4 }, { 8, 9, 10, 11 } },
		{ 0, "-99:99, -99:1", NULL, 2, { 3, 1 }, { 0, 4, 8 } },
	};
	int64_t index[BI_MAX_NDIM];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		if (judge(cases[i].fortran_order, cases[i].slice, cases[i].axes, cases[i].ndim, cases[i].shape,
			  cases[i].bytes, index) != NAIVE_SAME)
			fail_msg("case %zu is judged wrong", i);
}

static void test_every_wrong_byte_is_seen(void **state)
{
	static const int64_t shape[2] = { 2, 4 };
	static const unsigned char right[8] = { 3, 2, 1, 0, 11, 10, 9, 8 };
	unsigned char bytes[8];
	int64_t index[BI_MAX_NDIM];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		memcpy(bytes, right, sizeof(bytes));
		bytes[i] ^= 0x80;
		assert_int_equal(judge(0, "::2, ::-1", NULL, 2, shape, bytes, index), NAIVE_OTHER_BYTES);
		assert_int_equal(index[0], i / 4);
		assert_int_equal(index[1], i % 4);
	}
}

static void test_wrong_shapes_are_seen(void **state)
{
	static const int64_t swapped[2] = { 4, 3 }, longer[3] = { 3, 4, 1 };
	int64_t index[BI_MAX_NDIM];

	(void)state;
	assert_int_equal(judge(0, NULL, NULL, 2, swapped, numbers, index), NAIVE_OTHER_SHAPE);
	assert_int_equal(judge(0, NULL, NULL, 3, longer, numbers, index), NAIVE_OTHER_SHAPE);
	assert_int_equal(judge(0, NULL, NULL, 1, swapped, numbers, index), NAIVE_OTHER_SHAPE);
}

static void test_views_that_there_are_not(void **state)
{
	int64_t index[BI_MAX_NDIM];

	(void)state;
	assert_int_equal(judge(0, "3", NULL, 1, three_by_four, numbers, index), NAIVE_NO_VIEW);
	assert_int_equal(judge(0, "-4", NULL, 1, three_by_four, numbers, index), NAIVE_NO_VIEW);
	assert_int_equal(judge(0, "0,0,0", NULL, 0, NULL, numbers, index), NAIVE_NO_VIEW);
	assert_int_equal(judge(0, NULL, "0", 2, three_by_four, numbers, index), NAIVE_NO_VIEW);
	assert_int_equal(judge(0, NULL, "0,2", 2, three_by_four, numbers, index), NAIVE_NO_VIEW);
}

/* The library's layouts and the naive reference were written apart; they must agree on every view of a random array. */
static void test_agrees_with_layouts(void **state)
{
	struct test_random random = { test_seed() };
	unsigned char source[256], result[256];

	(void)state;
	for (int i = 0; i < 256; i++)
		source[i] = (unsigned char)i;
	for (int round = 0; round < 3000; round++) {
		int64_t shape[4], index[BI_MAX_NDIM] = { 0 }, offset;
		struct selection selection = { .axis_count = -1 };
		struct naive_array from = { source, 1, 0, (int)test_between(&random, 1, 4), shape }, to;
		struct bi_layout layout;
		struct bi_dtype dtype;

		for (int i = 0; i < from.ndim; i++) {
			shape[i] = test_between(&random, 0, 4);
			selection.items[i] =
				(struct bi_index){ BI_INDEX_SLICE, test_between(&random, -6, 6),
						   test_between(&random, -6, 6), test_between(&random, 1, 3) };
			if (test_next(&random) & 1)
				selection.items[i].step *= -1;
			if (test_next(&random) & 1)
				selection.items[i].stop = BI_OMITTED;
		}
		selection.count = (int)test_between(&random, 0, from.ndim);
		assert_int_equal(bi_dtype_make(BI_UINT8, 1, 0, &dtype, NULL), BI_OK);
		assert_int_equal(bi_layout_init(&layout, dtype, from.ndim, shape, NULL, 0, NULL), BI_OK);
		assert_int_equal(selection_apply(&selection, &layout, NULL), BI_OK);
		to = (struct naive_array){ result, 1, 0, layout.ndim, layout.shape };
		for (int64_t i = 0; i < bi_layout_size(&layout); i++) {
			assert_int_equal(bi_layout_element(&layout, index, &offset, NULL), BI_OK);
			result[i] = source[offset];
			for (int axis = layout.ndim; axis-- > 0; index[axis] = 0)
				if (++index[axis] < layout.shape[axis])
					break;
		}
		assert_int_equal(naive_compare(&from, &selection, &to, index), NAIVE_SAME);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_numbers_are_clipped),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_bad_items),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_known_views),
		cmocka_unit_test(test_every_wrong_byte_is_seen),
		cmocka_unit_test(test_wrong_shapes_are_seen),
		cmocka_unit_test(test_views_that_there_are_not),
		cmocka_unit_test(test_agrees_with_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
