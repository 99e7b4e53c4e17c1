/* Headers of NumPy files: what they say, what is refused and why, and that what is written is read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "interop/npy_header.h"
#include "array_length.h"

#define ENTRY(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

/* A header in an allocation of exactly its size, so that a sanitizer sees a byte read beyond it. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE "<"
#else
#define NATIVE ">"
#endif

static unsigned char *header(int major, const char *text, size_t *size)
{
	size_t length = strlen(text), prefix = major == 1 ? 10 : 12;
	unsigned char *bytes = malloc(prefix + length);

	assert_non_null(bytes);
	memcpy(bytes, "\x93NUMPY", 6);
	bytes[6] = (unsigned char)major;
	bytes[7] = 0;
	for (size_t i = 8; i < prefix; i++)
		bytes[i] = (unsigned char)(length >> 8 * (i - 8) & 0xff);
	memcpy(bytes + prefix, text, length);
	*size = prefix + length;
	return bytes;
}

/* The contents of a header that was read. */
struct npy {
	struct bi_layout layout;
	char *descr;
};

static void npy_clear(struct npy *npy)
{
	free(npy->descr);
	npy->descr = NULL;
}

static int parse(int major, const char *text, struct npy *out, struct bi_error *err)
{
	size_t size;
	unsigned char *bytes = header(major, text, &size);
	int rc = bi__npy_parse(bytes, size, &out->layout, &out->descr, err);

	free(bytes);
	return rc;
}

static void refuse(int status, const char *reason, const char *text)
{
	struct bi_error err = { 0, 0, "" };
	struct npy npy;

	if (parse(1, text, &npy, &err) != status || !strstr(err.message, reason))
		fail_msg("%s: status %d, \"%s\" instead of %d, \"%s\"", text, err.status, err.message, status, reason);
	assert_null(npy.descr);
}

static void test_simple(void **state)
{
	struct npy npy;

	(void)state;
	for (int major = 1; major <= 3; major++) {
		assert_int_equal(parse(major, ENTRY("'>i2'", "True", "(3, 4)"), &npy, NULL), BI_OK);
		assert_int_equal(npy.layout.dtype.type, BI_INT16);
		assert_int_equal(npy.layout.dtype.swapped, *NATIVE == '<');
		assert_int_equal(bi__npy_is_fortran(&npy.layout), 1);
		assert_int_equal(npy.layout.strides[0], 2);
		assert_int_equal(npy.layout.strides[1], 6);
		assert_int_equal(npy.layout.ndim, 2);
		assert_int_equal(npy.layout.shape[0], 3);
		assert_int_equal(npy.layout.shape[1], 4);
		assert_int_equal(bi_layout_nbytes(&npy.layout), 24);
		assert_null(npy.descr);
		assert_null(npy.layout.descr);
	}
}

static void test_spelling(void **state)
{
	static const char *const texts[] = {
		"{\"shape\":(5,),\"descr\":\"<f4\",\"fortran_order\":False}",
		" {\n'fortran_order' :\tFalse , 'shape': ( 5 , ) ,\r\n'descr' : 'f4' , }  \n",
	};
	struct npy npy;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		assert_int_equal(parse(1, texts[i], &npy, NULL), BI_OK);
		assert_int_equal(npy.layout.dtype.type, BI_FLOAT32);
		assert_int_equal(npy.layout.shape[0], 5);
	}
}

/* Python 2 had long integers. Format 3.0 is younger than NumPy's last version for it. */
static void test_long_extents(void **state)
{
	struct npy npy;

	(void)state;
	for (int major = 1; major <= 3; major++)
		assert_int_equal(parse(major, ENTRY("'<i4'", "False", "(2L, 3L)"), &npy, NULL),
				 major < 3 ? BI_OK : BI_EINVAL);
	assert_int_equal(parse(1, ENTRY("'<i4'", "False", "(2L,)"), &npy, NULL), BI_OK);
	assert_int_equal(npy.layout.shape[0], 2);
}

static void test_the_longest_extent(void **state)
{
	struct npy npy;

	(void)state;
	assert_int_equal(parse(1, ENTRY("'|u1'", "False", "(9223372036854775807,)"), &npy, NULL),
			 sizeof(size_t) == 8 ? BI_OK : BI_EOVERFLOW);
	if (sizeof(size_t) == 8)
		assert_true(npy.layout.shape[0] == INT64_MAX);
}

static void test_what_other_files_are(void **state)
{
	static const struct {
		const char *bytes;
		const char *reason;
	} cases[] = {
		{ "PK\3\4........", "an .npz archive; extract one array" },
		{ "PK\5\6........", "an .npz archive; extract one array" },
		{ "PKZIP.......", "not a .npy file: it does not begin with" },
		{ "hello, world", "not a .npy file: it does not begin with" },
	};
	struct bi_error err;
	size_t size;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(bi__npy_header_size((const unsigned char *)cases[i].bytes, 12, &size, &err),
				 BI_EDTYPE);
		assert_non_null(strstr(err.message, cases[i].reason));
	}
}

static void test_structured(void **state)
{
	struct npy npy;

	(void)state;
	assert_int_equal(parse(1,
			       ENTRY("[(\"x\",'f4'),(('t','n'),[('a','>i2',(2,3,)),],),('','|V3',()),(\"it's\",'=u1')]",
				     "False", "()"),
			       &npy, NULL),
			 BI_OK);
	assert_string_equal(npy.descr, "[('x', '" NATIVE
				       "f4'), (('t', 'n'), [('a', '>i2', (2, 3))]), ('', '|V3'), (\"it's\", '|u1')]");
	assert_int_equal(npy.layout.dtype.type, BI_VOID);
	assert_int_equal(npy.layout.dtype.item_size, 4 + 12 + 3 + 1);
	assert_int_equal(bi_layout_nbytes(&npy.layout), 20);
	npy_clear(&npy);
}

static void test_latin1_and_utf8(void **state)
{
	struct npy npy;

	(void)state;
	assert_int_equal(parse(1, ENTRY("[('\xe9', '|i1')]", "False", "()"), &npy, NULL), BI_OK);
	assert_string_equal(npy.descr, "[('\xc3\xa9', '|i1')]");
	npy_clear(&npy);
	assert_int_equal(parse(3, ENTRY("[('\xce\xbb', '|i1')]", "False", "()"), &npy, NULL), BI_OK);
	assert_string_equal(npy.descr, "[('\xce\xbb', '|i1')]");
	npy_clear(&npy);
	assert_int_equal(parse(3, ENTRY("[('\xe9', '|i1')]", "False", "()"), &npy, NULL), BI_EINVAL);
	assert_int_equal(parse(3, ENTRY("[('\xc0\xaf', '|i1')]", "False", "()"), &npy, NULL), BI_EINVAL);
	assert_int_equal(parse(3, ENTRY("[('\xed\xa0\x80', '|i1')]", "False", "()"), &npy, NULL), BI_EINVAL);
}

/* NumPy writes characters that cannot be printed as escapes. */
static void test_escapes(void **state)
{
	struct npy npy;

	(void)state;
	assert_int_equal(parse(1,
			       ENTRY("[('a\\xa0\\u200B\\U000e0001', '|i1'), ('\\x1b\\x7f\\x41\\x0a', '|i1')]",
				     "False", "()"),
			       &npy, NULL),
			 BI_OK);
	assert_string_equal(npy.descr, "[('a\\xa0\\u200b\\U000e0001', '|i1'), ('\\x1b\\x7fA\\n', '|i1')]");
	npy_clear(&npy);
	/* repr takes double quotes for a text that has single ones and no double ones. */
	assert_int_equal(parse(1, ENTRY("[('\\x27', '|i1'), ('\\x27\\u0022', '|i1'), ('\\x22', '|i1')]", "False", "()"),
			       &npy, NULL),
			 BI_OK);
	assert_string_equal(npy.descr, "[(\"'\", '|i1'), ('\\'\"', '|i1'), ('\"', '|i1')]");
	npy_clear(&npy);
	refuse(BI_EDTYPE, "digits, after a backslash", ENTRY("[('\\ud800', '|i1')]", "False", "()"));
}

static void test_refusals(void **state)
{
	(void)state;
	refuse(BI_EINVAL, "not a dict", "");
	refuse(BI_EINVAL, "not a dict", "('descr',)");
	refuse(BI_EINVAL, "missing", "{}");
	refuse(BI_EINVAL, "a key", "{,}");
	refuse(BI_EINVAL, "unknown key", "{'size': 3}");
	refuse(BI_EINVAL, "nothing more", ENTRY("'<i4'", "False", "(1,)") "}");
	refuse(BI_EINVAL, "negative", ENTRY("'<i4'", "False", "(3, -1)"));
	refuse(BI_EINVAL, "comma", ENTRY("'<i4'", "False", "(3)"));
	refuse(BI_EINVAL, "True or False", ENTRY("'<i4'", "None", "(3,)"));
	refuse(BI_EINVAL, "True or False", ENTRY("'<i4'", "TrueFalse", "(3,)"));
	refuse(BI_EINVAL, "','", ENTRY("'<i4'", "False", "(3LL,)"));
	refuse(BI_EINVAL, "an extent is expected at \"L,)", ENTRY("'<i4'", "False", "(L,)"));
	refuse(BI_EINVAL, "an extent without leading zeros is expected at \"03,)", ENTRY("'<i4'", "False", "(03,)"));
	refuse(BI_EINVAL, "twice", "{'shape': (), 'shape': ()}");
	refuse(BI_EDTYPE, "objects", ENTRY("'|O'", "False", "(3,)"));
	refuse(BI_EDTYPE, "objects", ENTRY("[('a', '|O')]", "False", "(3,)"));
	refuse(BI_EDTYPE, "is not a type", ENTRY("'<i4<i4<i4<i4<i4<i4<i4<i4<i4<i4<i4'", "False", "(3,)"));
	refuse(BI_EOVERFLOW, "extent 9223372036854775808 is too large; the limit is 9223372036854775807",
	       ENTRY("'<i4'", "False", "(9223372036854775808, 0)"));
	refuse(BI_EOVERFLOW, "", ENTRY("'<i4'", "False", "(4611686018427387904,)"));
	refuse(BI_EOVERFLOW, "", ENTRY("'|u1'", "False", "(4294967296, 4294967296)"));
}

/* A message shows at most 24 bytes of the file, whole characters, in one line. */
static void test_quotes_in_messages(void **state)
{
	static const struct {
		int major;
		const char *text;
		const char *message;
	} cases[] = {
		{ 1, ENTRY("'<f4'", "False", "\x1b]0;x\x07\n\n (2,)"),
		  "header: '(' of a shape is expected at \"?]0;x??? (2,), }\"" },
		{ 1, ENTRY("'<f4'", "False", "(2,") "\n", "header: an extent is expected at \", }?\"" },
		{ 1, ENTRY("'<f4\n\x1b[31m'", "False", "(2,)"), "\"<f4??[31m\" is not a typestr" },
		{ 1, ENTRY("'<f4\n\x7f\x85\x9b\xa0.....................'", "False", "(2,)"),
		  "header: \"<f4??????\xc2\xa0.............…\" is not a type" },
		{ 3, "{'12345678901234567890123\xc3\xa9': 1}", "header: unknown key \"12345678901234567890123\"" },
		{ 3, "{'1234567890123456789012\xc3\xa9': 1}",
		  "header: unknown key \"1234567890123456789012\xc3\xa9\"" },
	};
	struct bi_error err;
	struct npy npy;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_not_equal(parse(cases[i].major, cases[i].text, &npy, &err), BI_OK);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void test_nesting_is_bounded(void **state)
{
	static char text[100000];
	size_t used = 0;

	(void)state;
	used += (size_t)snprintf(text, sizeof(text), "{'descr': [");
	while (used < sizeof(text) - 10)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "('a',[");
	text[60000] = '\0';
	refuse(BI_EDTYPE, "nested", text);
}

static void test_too_many_dimensions(void **state)
{
	char text[512], shape[400];
	struct npy npy;

	(void)state;
	for (int ndim = BI_MAX_NDIM; ndim <= BI_MAX_NDIM + 1; ndim++) {
		size_t used = 0;

		for (int i = 0; i < ndim; i++)
			used += (size_t)snprintf(shape + used, sizeof(shape) - used, "1,");
		snprintf(text, sizeof(text), "{'descr': '<i4', 'fortran_order': False, 'shape': (%s)}", shape);
		if (ndim > BI_MAX_NDIM)
			refuse(BI_EINVAL, "64 dimensions", text);
		else
			assert_int_equal(parse(1, text, &npy, NULL), BI_OK);
	}
}

static void test_prefix(void **state)
{
	static const unsigned char bytes[] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0x01, 0x02, 0x03, 0x04 };
	unsigned char other[sizeof(bytes)];
	struct bi_error err;
	size_t size = 0;

	(void)state;
	assert_int_equal(bi__npy_header_size(bytes, 12, &size, &err), BI_OK);
	assert_int_equal(size, 12 + 0x04030201);
	for (size_t length = 0; length < 12; length++)
		assert_int_equal(bi__npy_header_size(bytes, length, &size, &err), BI_EBOUNDS);
	for (size_t i = 0; i < 8; i++) {
		memcpy(other, bytes, sizeof(bytes));
		other[i] ^= 0x40;
		assert_int_equal(bi__npy_header_size(other, 12, &size, &err), BI_EDTYPE);
	}
	memcpy(other, bytes, sizeof(bytes));
	other[6] = 1;
	assert_int_equal(bi__npy_header_size(other, 10, &size, &err), BI_OK);
	assert_int_equal(size, 10 + 0x0201);
}

static void test_every_truncation(void **state)
{
	static const char text[] = ENTRY("[('a', '<i4', (2,)), ('b', [('c', '|S3')])]", "False", "(3, 4)");
	struct npy npy;
	size_t size;
	unsigned char *bytes = header(1, text, &size), *cut;

	(void)state;
	for (size_t length = 0; length < size; length++) {
		cut = malloc(length + 1);
		assert_non_null(cut);
		memcpy(cut, bytes, length);
		assert_int_equal(bi__npy_parse(cut, length, &npy.layout, &npy.descr, NULL), BI_EBOUNDS);
		if (length >= 10) {
			cut[8] = (unsigned char)(length - 10);
			assert_int_not_equal(bi__npy_parse(cut, length, &npy.layout, &npy.descr, NULL), BI_OK);
		}
		free(cut);
	}
	free(bytes);
}

static void test_written_like_numpy(void **state)
{
	static const char text[] = "{'descr': '<i2', 'fortran_order': False, 'shape': (172, 403), }";
	struct npy npy;
	unsigned char *bytes;
	size_t size;

	(void)state;
	assert_int_equal(parse(1, text, &npy, NULL), BI_OK);
	assert_int_equal(bi__npy_format(&npy.layout, &bytes, &size, NULL), BI_OK);
	assert_int_equal(size, 128);
	assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
	assert_memory_equal(bytes + 10, text, sizeof(text) - 1);
	for (size_t i = 10 + sizeof(text) - 1; i < size - 1; i++)
		assert_int_equal(bytes[i], ' ');
	assert_int_equal(bytes[size - 1], '\n');
	free(bytes);
}

static void test_versions_written(void **state)
{
	static char descr[80000];
	struct bi_layout layout = { .dtype = { 1, 1, BI_VOID, 0 }, .descr = descr };
	unsigned char *bytes;
	size_t size, used;

	(void)state;
	layout.descr_length = (uint32_t)strlen(strcpy(descr, "[('\xc3\xa9', '|i1')]"));
	assert_int_equal(bi__npy_format(&layout, &bytes, &size, NULL), BI_OK);
	assert_int_equal(bytes[6], 1);
	assert_non_null(memchr(bytes, 0xe9, size));
	free(bytes);
	layout.descr_length = (uint32_t)strlen(strcpy(descr, "[('\xce\xbb', '|i1')]"));
	assert_int_equal(bi__npy_format(&layout, &bytes, &size, NULL), BI_OK);
	assert_int_equal(bytes[6], 3);
	free(bytes);
	used = (size_t)snprintf(descr, sizeof(descr), "[('");
	memset(descr + used, 'x', 70000);
	strcpy(descr + used + 70000, "', '|i1')]");
	layout.descr_length = (uint32_t)strlen(descr);
	assert_int_equal(bi__npy_format(&layout, &bytes, &size, NULL), BI_OK);
	assert_int_equal(bytes[6], 2);
	assert_int_equal(size % 64, 0);
	free(bytes);
}

static void test_round_trip(void **state)
{
	static const char *const descrs[] = { "'|b1'", "'>c16'", "'<U7'", "'|V0'", "[('a', '<f2', (2, 3))]" };
	struct npy npy, again;
	unsigned char *bytes;
	char text[256];
	size_t size;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(descrs); i++) {
		snprintf(text, sizeof(text), "{'descr': %s, 'fortran_order': False, 'shape': (7, 0, 2)}", descrs[i]);
		assert_int_equal(parse(1, text, &npy, NULL), BI_OK);
		assert_int_equal(bi__npy_format(&npy.layout, &bytes, &size, NULL), BI_OK);
		assert_int_equal(bi__npy_parse(bytes, size, &again.layout, &again.descr, NULL), BI_OK);
		assert_true(bi_dtype_equal(npy.layout.dtype, again.layout.dtype));
		assert_int_equal(again.layout.ndim, 3);
		assert_memory_equal(npy.layout.shape, again.layout.shape, 3 * sizeof(npy.layout.shape[0]));
		if (npy.descr)
			assert_string_equal(npy.descr, again.descr);
		free(bytes);
		npy_clear(&again);
		npy_clear(&npy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simple),
		cmocka_unit_test(test_spelling),
		cmocka_unit_test(test_long_extents),
		cmocka_unit_test(test_the_longest_extent),
		cmocka_unit_test(test_what_other_files_are),
		cmocka_unit_test(test_structured),
		cmocka_unit_test(test_latin1_and_utf8),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_quotes_in_messages),
		cmocka_unit_test(test_nesting_is_bounded),
		cmocka_unit_test(test_too_many_dimensions),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_written_like_numpy),
		cmocka_unit_test(test_versions_written),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
