/* Structured element types: the fields that a descr names, nested ones too, and the descrs that are refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/binding.h"
#include "common/layout/descr.h"
#include "layout_reference.h"

static const char record[] =
	"[('x', '<f4'), ('', '|V4'), (('title', 'y'), '>i2', (3, 2)), ('n', [('a', '|u1'), ('b', '<f8', (2,))], (2,)), "
	"('it\\'s', '<U2'), ('z', '|u1', 0)]";

static void field_matches_the_reference(void **state)
{
	static const struct {
		const char *name;
		int64_t offset, item_size;
		int ndim;
		int64_t shape[2];
	} fields[] = {
		{ "x", 0, 4, 0, { 0 } },     { "y", 8, 2, 2, { 3, 2 } }, { "n", 20, 17, 1, { 2 } },
		{ "it's", 54, 8, 0, { 0 } }, { "z", 62, 1, 1, { 0 } },
	};
	static struct reference ref, old;
	struct test_random random = { test_seed() };
	struct bi_dtype dtype;

	(void)state;
	assert_int_equal(bi_dtype_parse_descr(record, &dtype, NULL), BI_OK);
	assert_int_equal(dtype.item_size, 62);
	for (int i = 0; i < CASES; i++) {
		size_t f = (size_t)test_between(&random, 0, ARRAY_LENGTH(fields) - 1);
		int64_t shape[MAX_AXES], each;
		struct bi_layout layout;

		random_layout(&random, 200, &layout, &old);
		layout.dtype.item_size = 62;
		assert_int_equal(bi_layout_reinterpret(&layout, dtype, record, NULL), BI_OK);
		memcpy(shape, old.shape, sizeof(shape));
		memcpy(shape + old.ndim, fields[f].shape, (size_t)fields[f].ndim * sizeof(*shape));
		start_reference(&ref, old.ndim + fields[f].ndim, shape, fields[f].item_size);
		each = product(fields[f].ndim, fields[f].shape);
		for (int64_t k = 0; k < ref.count; k++)
			ref.offsets[k] = old.offsets[k / each] + fields[f].offset + k % each * fields[f].item_size;
		assert_int_equal(bi_layout_field(&layout, fields[f].name, NULL), BI_OK);
		compare(&layout, &ref);
	}
}

static void fields_lead_into_nested_structures(void **state)
{
	struct bi_layout layout;
	struct bi_dtype dtype;
	int64_t shape[] = { 2 }, strides[] = { -100 };

	(void)state;
	assert_int_equal(bi_dtype_parse_descr(record, &dtype, NULL), BI_OK);
	layout = make("V62", 1, shape, strides, 1000);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "x", &err), BI_EDTYPE);
	assert_int_equal(bi_layout_reinterpret(&layout, dtype, record, NULL), BI_OK);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "title", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "b", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "it", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "it's not", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, NULL, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(NULL, "x", &err), BI_EINVAL);
	assert_int_equal(bi_layout_field(&layout, "n", NULL), BI_OK);
	assert_int_equal(layout.dtype.type, BI_VOID);
	assert_int_equal(layout.dtype.item_size, 17);
	assert_int_equal(layout.descr_length, strlen("[('a', '|u1'), ('b', '<f8', (2,))]"));
	assert_memory_equal(layout.descr, "[('a', '|u1'), ('b', '<f8', (2,))]", layout.descr_length);
	assert_int_equal(bi_layout_field(&layout, "b", NULL), BI_OK);
	assert_int_equal(layout.ndim, 3);
	assert_int_equal(layout.offset, 1021);
	assert_int_equal(layout.strides[0], -100);
	assert_int_equal(layout.strides[1], 17);
	assert_int_equal(layout.strides[2], 8);
	assert_null(layout.descr);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "b", &err), BI_EDTYPE);
}

/* repr writes characters that cannot be printed as escapes with digits. */
static void names_have_the_escapes_of_repr(void **state)
{
	static const char descr[] =
		"[('a\\xa0b', '|u1'), ('\\u200b', '<i2'), ('\\U0001F600', '<i4'), ('\\x1b', '<f8'), ('\\x41', '|u1')]";
	static const struct {
		const char *name;
		int64_t offset;
	} fields[] = {
		{ "a\xc2\xa0" "b", 0 }, { "\xe2\x80\x8b", 1 }, { "\xf0\x9f\x98\x80", 3 }, { "\x1b", 7 }, { "A", 15 },
	};
	static const char *const refused[] = { "\\x00", "\\xa", "\\xg0", "\\u200", "\\ud800", "\\U0010fff", "\\U00110000",
					       "\\N{DIGIT ONE}", "\\0" };
	struct bi_layout layout, field;
	struct bi_dtype dtype;
	char text[64];

	(void)state;
	assert_int_equal(bi_dtype_parse_descr(descr, &dtype, NULL), BI_OK);
	layout = make("V16", 0, NULL, NULL, 0);
	assert_int_equal(bi_layout_reinterpret(&layout, dtype, descr, NULL), BI_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
		field = layout;
		assert_int_equal(bi_layout_field(&field, fields[i].name, NULL), BI_OK);
		assert_int_equal(field.offset, fields[i].offset);
	}
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "a\xc2", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "\\x41", &err), BI_EINVAL);
	for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
		snprintf(text, sizeof(text), "[('%s', '|u1')]", refused[i]);
		assert_int_equal(bi_dtype_parse_descr(text, &dtype, NULL), BI_EDTYPE);
	}
}

static struct bi_layout with_descr(uint32_t item_size, const char *descr, size_t length)
{
	const struct bi_dtype dtype = { item_size, 1, BI_VOID, 0 };
	struct bi_layout layout;

	memset(&layout, 0, sizeof(layout)); /* ASSERT_UNTOUCHED compares all bytes */
	assert_int_equal(bi_layout_init(&layout, dtype, 0, NULL, NULL, 0, NULL), BI_OK);
	layout.descr = descr;
	layout.descr_length = (uint32_t)length;
	return layout;
}

/* A name is searched without the characters that follow a NUL. */
static void a_text_has_no_nul(void **state)
{
	static const char name[] = "[('x\0bcdefg\0\0\0\0\0\0\0\0', '|S3')]", behind[] = "[('x', '|S3')]\0 more";
	struct bi_layout layout = with_descr(3, name, sizeof(name) - 1);
	char *wanted = malloc(2);

	(void)state;
	assert_non_null(wanted);
	memcpy(wanted, "x", 2);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, wanted, &err), BI_EDTYPE);
	free(wanted);
	layout = with_descr(3, behind, sizeof(behind) - 1);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "x", &err), BI_EDTYPE);
	layout.descr_length = (uint32_t)strlen(behind);
	assert_int_equal(bi_layout_field(&layout, "x", NULL), BI_OK);
}

/* The text of a view has the length that the layout says. */
static void a_view_has_the_whole_text(void **state)
{
	static const char text[] = "[('x', '|S3')]\0 more";
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_layout layout = with_descr(3, text, sizeof(text) - 1), made;
	struct bi_context *context;
	struct bi_error err;
	struct bi_view *view;
	char memory[3];

	(void)state;
	assert_int_equal(bi_context_shared("host", &context, &err), BI_OK);
	assert_int_equal(bi_view_wrap_at(context, (uintptr_t)memory, &foreign, &layout, &view, &err), BI_EDTYPE);
	assert_string_equal(err.message, "descr: the end of the text is expected at byte 14");
	layout = with_descr(3, text, strlen(text));
	assert_int_equal(bi_view_wrap_at(context, (uintptr_t)memory, &foreign, &layout, &view, &err), BI_OK);
	bi_view_layout(view, &made);
	assert_string_equal(made.descr, text);
	assert_int_equal(made.descr_length, strlen(text));
	bi_view_release(view);
	bi_context_release(context);
}

/* The text is passed on in JSON and to Python, which read UTF-8 only. */
static void a_text_is_utf8(void **state)
{
	static const char *const wrong[] = { "\xff", "\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80" };
	struct bi_error err;
	struct bi_dtype dtype;
	char text[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		snprintf(text, sizeof(text), "[('a%s', '|u1')]", wrong[i]);
		assert_int_equal(bi_dtype_parse_descr(text, &dtype, &err), BI_EDTYPE);
		assert_string_equal(err.message, "descr: byte 4 is not UTF-8: write the text in UTF-8");
		snprintf(text, sizeof(text), "[(('%s', 'a'), '|u1')]", wrong[i]);
		assert_int_equal(bi_dtype_parse_descr(text, &dtype, &err), BI_EDTYPE);
		assert_string_equal(err.message, "descr: byte 4 is not UTF-8: write the text in UTF-8");
	}
	assert_int_equal(bi_dtype_parse_descr("[('\xc3\xa9\xf0\x9f\x98\x80', '|u1')]", &dtype, &err), BI_OK);
}

/* The byte that a message names is a byte of the text or its end, and the escapes are not read beyond it. */
static void an_escape_that_is_cut_short_is_named_by_its_byte(void **state)
{
	static const struct {
		const char *text, *byte;
	} wrong[] = {
		{ "\"\\ud800\"", "backslash is expected at byte 2" },
		{ "\"\\ud800", "backslash is expected at byte 2" },
		{ "\"\\ud800\\u\"", "backslash is expected at byte 2" },
		{ "\"\\u00", "backslash is expected at byte 2" },
		{ "\"\\udc00\"", "backslash is expected at byte 2" },
		{ "\"\\", "backslash is expected at byte 2" },
		{ "\"\\u0000\"", "backslash is expected at byte 2" },
	};
	struct bi_dtype dtype;
	struct bi_error err;

	(void)state;
	/* Two surrogates are one character. */
	assert_int_equal(bi__descr_read_word("\"\\ud83d\\ude00\"", 14, &dtype, &err), BI_EDTYPE);
	assert_null(strstr(err.message, "backslash"));
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		assert_int_equal(bi__descr_read_word(wrong[i].text, strlen(wrong[i].text), &dtype, &err), BI_EDTYPE);
		if (!strstr(err.message, wrong[i].byte))
			fail_msg("%s: \"%s\" does not say \"%s\"", wrong[i].text, err.message, wrong[i].byte);
	}
}

/* Writes lists that are nested `depth` deep in Python's notation. */
static void nest(int depth, char *text, size_t size)
{
	size_t used = 0;

	for (int i = 1; i < depth; i++)
		used += (size_t)snprintf(text + used, size - used, "[('a', ");
	used += (size_t)snprintf(text + used, size - used, "[('a', '|u1')]");
	for (int i = 1; i < depth; i++)
		used += (size_t)snprintf(text + used, size - used, ")]");
	assert_true(used < size);
}

/* A type that is read can be passed on in the exchange structure (B-28). */
static void both_notations_have_one_limit_of_depth(void **state)
{
	char text[400], json[400];
	struct bi_dtype dtype;
	struct bi_error err;
	size_t room = sizeof(json), back = 0;

	(void)state;
	nest(16, text, sizeof(text));
	assert_int_equal(bi_dtype_parse_descr(text, &dtype, &err), BI_OK);
	assert_int_equal(bi__descr_translate(text, strlen(text), BI__DESCR_PYTHON, json, &room, &err), BI_OK);
	assert_int_equal(bi__descr_translate(json, room, BI__DESCR_JSON, NULL, &back, &err), BI_OK);
	assert_int_equal(back, strlen(text));
	nest(17, text, sizeof(text));
	assert_int_equal(bi_dtype_parse_descr(text, &dtype, &err), BI_EDTYPE);
	assert_string_equal(err.message, "descr: lists are nested more than 16 deep");
}

/* RFC 8259 has four characters of white space. */
static void white_space_is_that_of_json(void **state)
{
	static const char spaced[] = " [\t[\"a\",\n\"<i2\"\r]]";
	size_t room = 0;

	(void)state;
	assert_int_equal(bi__descr_translate(spaced, strlen(spaced), BI__DESCR_JSON, NULL, &room, NULL), BI_OK);
	for (const char *space = "\v\f"; *space; space++) {
		const char text[] = { '[', *space, ']' };

		room = 0;
		assert_int_equal(bi__descr_translate(text, 3, BI__DESCR_JSON, NULL, &room, NULL), BI_EDTYPE);
	}
}

static void fields_cannot_have_too_many_dimensions(void **state)
{
	static const char descr[] = "[('a', '|u1', (1, 1, 1))]";
	int64_t ones[BI_MAX_NDIM];
	struct bi_layout layout;

	(void)state;
	for (int i = 0; i < BI_MAX_NDIM; i++)
		ones[i] = 1;
	for (int ndim = BI_MAX_NDIM - 3; ndim <= BI_MAX_NDIM - 2; ndim++) {
		layout = make("V1", ndim, ones, NULL, 0);
		assert_int_equal(bi_layout_reinterpret(&layout, layout.dtype, descr, NULL), BI_OK);
		if (ndim + 3 > BI_MAX_NDIM)
			ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "a", &err), BI_EINVAL);
		else
			assert_int_equal(bi_layout_field(&layout, "a", NULL), BI_OK);
	}
}

static void reinterpret_checks_the_descr(void **state)
{
	struct bi_layout layout = MAKE("V8", 0, 3), point = make("<i4", 0, NULL, NULL, 0);
	struct bi_dtype floats, item = layout.dtype, none = { 0, 1, BI_VOID, 0 };

	(void)state;
	assert_int_equal(bi_dtype_parse("<f8", &floats, NULL), BI_OK);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, item, "[('a', '<f4')]", &err), BI_EDTYPE);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, item, "[('a', '<f8'", &err), BI_EDTYPE);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, floats, "[('a', '<f8')]", &err), BI_EDTYPE);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(NULL, floats, NULL, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, none, NULL, &err), BI_EDTYPE);
	ASSERT_UNTOUCHED(&point, bi_layout_reinterpret(&point, floats, NULL, &err), BI_EDTYPE);
	assert_int_equal(bi_layout_reinterpret(&layout, item, "[('a', '<f8')]", NULL), BI_OK);
	assert_non_null(layout.descr);
	assert_int_equal(bi_layout_reinterpret(&layout, floats, NULL, NULL), BI_OK);
	assert_null(layout.descr);
	floats.swapped = 1;
	assert_int_equal(bi_layout_reinterpret(&layout, floats, NULL, NULL), BI_OK);
	assert_int_equal(layout.dtype.swapped, 1);
}

/* bi_layout.descr_length has 32 bits. Nothing of a longer text is read, so the text need not have that length. */
static void a_text_has_a_length_of_32_bits(void **state)
{
	static const char text[] = "[('a', '<f4')]";
	struct bi_error err;
	uint32_t size;

	(void)state;
	assert_int_equal(bi__descr_size(text, sizeof(text) - 1, &size, NULL), BI_OK);
	if (SIZE_MAX == UINT32_MAX)
		return;
	assert_int_equal(bi__descr_size(text, (size_t)1 << 31 << 1, &size, &err), BI_EOVERFLOW);
	assert_string_equal(err.message, "descr: the text has 4294967296 bytes; the limit is 4294967295");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(field_matches_the_reference),
		cmocka_unit_test(fields_lead_into_nested_structures),
		cmocka_unit_test(names_have_the_escapes_of_repr),
		cmocka_unit_test(a_text_has_no_nul),
		cmocka_unit_test(a_view_has_the_whole_text),
		cmocka_unit_test(a_text_is_utf8),
		cmocka_unit_test(an_escape_that_is_cut_short_is_named_by_its_byte),
		cmocka_unit_test(both_notations_have_one_limit_of_depth),
		cmocka_unit_test(white_space_is_that_of_json),
		cmocka_unit_test(fields_cannot_have_too_many_dimensions),
		cmocka_unit_test(reinterpret_checks_the_descr),
		cmocka_unit_test(a_text_has_a_length_of_32_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
