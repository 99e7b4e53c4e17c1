#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/dlpack.h"
#include "buffer_interface.h"
#include "common/layout/descr.h"
#include "common/layout/dtype.h"
#include "random.h"

static const uint16_t one = 1;

static char native(void)
{
	return *(const unsigned char *)&one ? '<' : '>';
}

static char foreign(void)
{
	return native() == '<' ? '>' : '<';
}

/* Writes `text` with '<' for this machine's byte order and '>' for the other. */
static const char *local(const char *text, char *buffer)
{
	strcpy(buffer, text);
	if (*buffer == '<' || *buffer == '>')
		*buffer = *buffer == '<' ? native() : foreign();
	return buffer;
}

static void assert_refused(int rc, int status, const struct bi_error *err)
{
	assert_int_equal(rc, status);
	assert_int_equal(err->status, status);
	assert_true(err->message[0] != '\0');
}

struct sample {
	const char *text;
	int type;
	unsigned lanes, item_size;
	int swapped;
	const char *typestr; /* as written back, or NULL if there is none */
	const char *name; /* as written back */
};

static const struct sample samples[] = {
	{ "|b1", BI_BOOL, 1, 1, 0, "|b1", "bool" },
	{ "b1", BI_BOOL, 1, 1, 0, "|b1", "bool" },
	{ ">b1", BI_BOOL, 1, 1, 0, "|b1", "bool" },
	{ "<i1", BI_INT8, 1, 1, 0, "|i1", "int8" },
	{ "|u1", BI_UINT8, 1, 1, 0, "|u1", "uint8" },
	{ "<i2", BI_INT16, 1, 2, 0, "<i2", "int16" },
	{ ">i2", BI_INT16, 1, 2, 1, ">i2", ">i2" },
	{ "=i4", BI_INT32, 1, 4, 0, "<i4", "int32" },
	{ "i8", BI_INT64, 1, 8, 0, "<i8", "int64" },
	{ "u2", BI_UINT16, 1, 2, 0, "<u2", "uint16" },
	{ ">u4", BI_UINT32, 1, 4, 1, ">u4", ">u4" },
	{ "<u8", BI_UINT64, 1, 8, 0, "<u8", "uint64" },
	{ "<f2", BI_FLOAT16, 1, 2, 0, "<f2", "float16" },
	{ ">f4", BI_FLOAT32, 1, 4, 1, ">f4", ">f4" },
	{ "f8", BI_FLOAT64, 1, 8, 0, "<f8", "float64" },
	{ "<c8", BI_COMPLEX64, 1, 8, 0, "<c8", "complex64" },
	{ ">c16", BI_COMPLEX128, 1, 16, 1, ">c16", ">c16" },
	{ "|S8", BI_BYTES, 1, 8, 0, "|S8", "bytes8" },
	{ ">S3", BI_BYTES, 1, 3, 0, "|S3", "bytes3" },
	{ "S0", BI_BYTES, 1, 0, 0, "|S0", "bytes0" },
	{ "<U5", BI_UNICODE, 1, 20, 0, "<U5", "unicode20" },
	{ ">U5", BI_UNICODE, 1, 20, 1, ">U5", ">U5" },
	{ "|V12", BI_VOID, 1, 12, 0, "|V12", "void12" },
	{ "<V3", BI_VOID, 1, 3, 0, "|V3", "void3" },
	{ "V0", BI_VOID, 1, 0, 0, "|V0", "void0" },
	{ "|V4294967295", BI_VOID, 1, 4294967295u, 0, "|V4294967295", "void4294967295" },
	{ "float32", BI_FLOAT32, 1, 4, 0, "<f4", "float32" },
	{ "float32x1", BI_FLOAT32, 1, 4, 0, "<f4", "float32" },
	{ "float32x4", BI_FLOAT32, 4, 16, 0, NULL, "float32x4" },
	{ "complex128x65535", BI_COMPLEX128, 65535, 1048560, 0, NULL, "complex128x65535" },
	{ "boolx2", BI_BOOL, 2, 2, 0, NULL, "boolx2" },
	{ "bfloat16", BI_BFLOAT16, 1, 2, 0, NULL, "bfloat16" },
	{ "float8_e4m3", BI_FLOAT8_E4M3, 1, 1, 0, NULL, "float8_e4m3" },
	{ "float8_e4m3fn", BI_FLOAT8_E4M3FN, 1, 1, 0, NULL, "float8_e4m3fn" },
	{ "float8_e4m3b11fnuz", BI_FLOAT8_E4M3B11FNUZ, 1, 1, 0, NULL, "float8_e4m3b11fnuz" },
	{ "float6_e2m3fn", BI_FLOAT6_E2M3FN, 1, 1, 0, NULL, "float6_e2m3fn" },
	{ "float4_e2m1fnx8", BI_FLOAT4_E2M1FN, 8, 8, 0, NULL, "float4_e2m1fnx8" },
	{ "void12", BI_VOID, 1, 12, 0, "|V12", "void12" },
	{ "bytes8", BI_BYTES, 1, 8, 0, "|S8", "bytes8" },
	{ "unicode8", BI_UNICODE, 1, 8, 0, "<U2", "unicode8" },
};

static void parse_reads_typestrs_and_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
		const struct sample *s = &samples[i];
		char input[64], wanted[64], text[BI_DTYPE_TEXT];
		struct bi_dtype dtype;

		assert_int_equal(bi_dtype_parse(local(s->text, input), &dtype, NULL), BI_OK);
		assert_int_equal(dtype.type, s->type);
		assert_int_equal(dtype.lanes, s->lanes);
		assert_int_equal(dtype.item_size, s->item_size);
		assert_int_equal(dtype.swapped, s->swapped);
		bi_dtype_name(dtype, text);
		assert_string_equal(text, local(s->name, wanted));
		if (s->typestr) {
			assert_int_equal(bi_dtype_typestr(dtype, text, NULL), BI_OK);
			assert_string_equal(text, local(s->typestr, wanted));
		} else {
			struct bi_error err;

			assert_refused(bi_dtype_typestr(dtype, text, &err), BI_EDTYPE, &err);
		}
	}
}

static void parse_refuses_everything_else(void **state)
{
	static const char *const bad[] = {
		"",
		"<",
		"|",
		"f",
		"<f",
		"f4 ",
		" f4",
		"<f4x",
		"<<f4",
		"<f",
		"<f3",
		"<f16",
		"<f0",
		"<i16",
		"<i3",
		"|b2",
		"|b0",
		"<c4",
		"<c32",
		"|i4",
		"|f8",
		"|U5",
		"|c8",
		"!f4",
		"@f4",
		"<f-4",
		"<f+4",
		"<f4.",
		"|V",
		"|S",
		"<U",
		"|V-1",
		"|V4294967296",
		"|V18446744073709551616",
		"|V99999999999999999999999",
		"<U1073741824",
		"<U4294967295",
		"<x4",
		"<a4",
		"(2)f4",
		"float",
		"float32x",
		"float32x0",
		"float32x65536",
		"float32x-1",
		"float32x4x2",
		"float32 ",
		"Float32",
		"<float32",
		"float8",
		"int",
		"int128",
		"void",
		"void-1",
		"bytes",
		"unicode5",
		"unicode",
		"void12x2",
		"void4294967296",
		"bfloat",
		"complex32",
		"|O8",
		"<M8[ns]",
	};
	struct bi_dtype dtype = { 7, 7, 7, 7 };
	struct bi_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		if (bi_dtype_parse(bad[i], &dtype, &err) == BI_OK)
			fail_msg("\"%s\" was accepted", bad[i]);
		assert_int_equal(err.status, BI_EDTYPE);
		assert_int_equal(dtype.item_size, 7);
	}
	assert_refused(bi_dtype_parse(NULL, &dtype, &err), BI_EINVAL, &err);
	assert_refused(bi_dtype_parse("f4", NULL, &err), BI_EINVAL, &err);
}

/* Returns the message for a text that is no type. */
static const char *refusal_of(const char *text)
{
	static struct bi_error err;
	struct bi_dtype dtype;

	assert_refused(bi_dtype_parse(text, &dtype, &err), BI_EDTYPE, &err);
	return err.message;
}

static void parse_suggests_names(void **state)
{
	static const char *const bad[][2] = {
		{ "f32", "float32" },
		{ "double", "float64" },
		{ "float", "float32 or float64" },
		{ "u16", "uint16" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_non_null(strstr(refusal_of(bad[i][0]), bad[i][1]));
}

static void parse_says_what_is_wrong(void **state)
{
	static const char *const bad[][2] = {
		{ "floaty", "\"floaty\" is neither a typestr, such as <f4, nor a name, such as float32" },
		{ "", "\"\" is neither a typestr, such as <f4, nor a name, such as float32" },
		{ "float32x4x", "\"float32x4x\" is neither a typestr, such as <f4, nor a name, such as float32" },
		{ "<floaty", "\"<floaty\" is not a typestr" },
		{ "void", "\"void\": the size is missing; write the number of bytes behind it, such as void8" },
		{ "bytes", "\"bytes\": the size is missing; write the number of bytes behind it, such as bytes8" },
		{ "unicode",
		  "\"unicode\": the size is missing; write the number of bytes behind it, such as unicode8" },
		{ "V", "\"V\": the size is missing; write the number of bytes behind it, such as V8" },
		{ "|S", "\"|S\": the size is missing; write the number of bytes behind it, such as |S8" },
		{ "<U", "\"<U\": the size is missing; write the number of characters behind it, such as <U8" },
		{ "float32x70000", "\"float32x70000\": the number of lanes is not in 1..65535" },
		{ "float8_e4m3fnx0", "\"float8_e4m3fnx0\": the number of lanes is not in 1..65535" },
		{ "unicode6", "\"unicode6\": the number of bytes is not a multiple of 4 up to 4294967292" },
		{ "void4294967296", "\"void4294967296\": the number of bytes is above 4294967295" },
		{ "|V4294967296", "\"|V4294967296\": the number of bytes is above 4294967295" },
		{ "S99999999999999999999", "\"S99999999999999999999\": the number of bytes is above 4294967295" },
		{ "<U1073741824", "\"<U1073741824\": the number of characters is above 1073741823" },
		{ "<f4294967297", "\"<f4294967297\": no type has this kind and size" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_string_equal(refusal_of(bad[i][0]), bad[i][1]);
}

static void parse_refuses_kinds_by_name(void **state)
{
	static const char *const bad[][2] = {
		{ "|O", "objects" },
		{ "|O8", "objects" },
		{ "O", "objects" },
		{ "<t4", "bit fields" },
		{ "<M8[ns]", "dates" },
		{ "M8", "dates" },
		{ ">m8[us]", "time differences" },
		{ "<m8", "time differences" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_non_null(strstr(refusal_of(bad[i][0]), bad[i][1]));
}

static void refusals_quote_one_line(void **state)
{
	static const char *const bad[][2] = {
		{ "<f4\n\x1b[31m", "\"<f4??[31m\" is not a typestr" },
		{ "<M8[\n]", "\"<M8[?]\": dates are not supported; view them as int64" },
		{ "<f\xc3\xa9\x7f\xc2\x85", "\"<f\xc3\xa9???\" is not a typestr" },
		{ "<f123456789012345678901\xc3\xa9", "\"<f123456789012345678901\" is not a typestr" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_string_equal(refusal_of(bad[i][0]), bad[i][1]);
}

static int is_sized(int type)
{
	return type == BI_BYTES || type == BI_UNICODE || type == BI_VOID;
}

/* Every type, with some lanes and sizes, through each text and triple and back. */
static void every_type_comes_back(void **state)
{
	static const unsigned lanes[] = { 1, 2, 16, 65535 };
	unsigned names = 0, typestrs = 0, triples = 0;

	(void)state;
	for (int type = 0; type < BI_TYPE_COUNT; type++)
		for (size_t i = 0; i < ARRAY_LENGTH(lanes) && (i == 0 || !is_sized(type)); i++)
			for (uint8_t swapped = 0; swapped < 2; swapped++) {
				char text[BI_DTYPE_TEXT];
				struct bi_dtype dtype, again;
				uint8_t code, bits;
				uint16_t n;

				assert_int_equal(bi_dtype_make((enum bi_type)type, lanes[i], is_sized(type) ? 12 : 0,
							       &dtype, NULL),
						 BI_OK);
				dtype.swapped = swapped;
				if (bi_dtype_typestr(dtype, text, NULL) == BI_OK) {
					typestrs++;
					assert_int_equal(bi_dtype_parse(text, &again, NULL), BI_OK);
					assert_true(bi_dtype_equal(dtype, again));
				} else if (swapped) {
					continue;
				}
				names++;
				bi_dtype_name(dtype, text);
				assert_int_equal(bi_dtype_parse(text, &again, NULL), BI_OK);
				assert_true(bi_dtype_equal(dtype, again));
				if (bi_dtype_to_dlpack(dtype, &code, &bits, &n, NULL) == BI_OK) {
					triples++;
					assert_int_equal(swapped, 0);
					assert_int_equal(n, lanes[i]);
					assert_int_equal(bi_dtype_from_dlpack(code, bits, n, &again, NULL), BI_OK);
					assert_true(bi_dtype_equal(dtype, again));
				}
			}
	/* 17 types have a kind, 12 of them a byte order; all but three have a triple. */
	assert_int_equal(typestrs, 17 + 12);
	assert_int_equal(triples, 26 * ARRAY_LENGTH(lanes));
	assert_int_equal(names, 26 * ARRAY_LENGTH(lanes) + 3 + 12);
}

static void dlpack_triples_are_exact(void **state)
{
	static const unsigned known[][4] = {
		{ 0, 8, BI_INT8, 1 },
		{ 0, 64, BI_INT64, 8 },
		{ 1, 8, BI_UINT8, 1 },
		{ 1, 32, BI_UINT32, 4 },
		{ 2, 16, BI_FLOAT16, 2 },
		{ 2, 64, BI_FLOAT64, 8 },
		{ 4, 16, BI_BFLOAT16, 2 },
		{ 5, 64, BI_COMPLEX64, 8 },
		{ 5, 128, BI_COMPLEX128, 16 },
		{ 6, 8, BI_BOOL, 1 },
		{ 7, 8, BI_FLOAT8_E3M4, 1 },
		{ 8, 8, BI_FLOAT8_E4M3, 1 },
		{ 9, 8, BI_FLOAT8_E4M3B11FNUZ, 1 },
		{ 10, 8, BI_FLOAT8_E4M3FN, 1 },
		{ 11, 8, BI_FLOAT8_E4M3FNUZ, 1 },
		{ 12, 8, BI_FLOAT8_E5M2, 1 },
		{ 13, 8, BI_FLOAT8_E5M2FNUZ, 1 },
		{ 14, 8, BI_FLOAT8_E8M0FNU, 1 },
		{ 15, 6, BI_FLOAT6_E2M3FN, 1 },
		{ 16, 6, BI_FLOAT6_E3M2FN, 1 },
		{ 17, 4, BI_FLOAT4_E2M1FN, 1 },
	};
	unsigned accepted = 0;
	struct bi_dtype dtype;
	struct bi_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
		assert_int_equal(bi_dtype_from_dlpack(known[i][0], known[i][1], 1, &dtype, NULL), BI_OK);
		assert_int_equal(dtype.type, known[i][2]);
		assert_int_equal(dtype.item_size, known[i][3]);
	}
	for (unsigned code = 0; code < 300; code++)
		for (unsigned bits = 0; bits < 300; bits++)
			accepted += bi_dtype_from_dlpack(code, bits, 1, &dtype, NULL) == BI_OK;
	assert_int_equal(accepted, 26);
	assert_refused(bi_dtype_from_dlpack(15, 8, 1, &dtype, &err), BI_EDTYPE, &err);
	assert_refused(bi_dtype_from_dlpack(2, 32, 0, &dtype, &err), BI_EDTYPE, &err);
	assert_refused(bi_dtype_from_dlpack(2, 32, 65536, &dtype, &err), BI_EDTYPE, &err);
	assert_refused(bi_dtype_from_dlpack((unsigned)-1, 8, 1, &dtype, &err), BI_EDTYPE, &err);
	assert_refused(bi_dtype_from_dlpack(2, 32, 1, NULL, &err), BI_EINVAL, &err);
}

static void dlpack_has_no_structures_and_no_foreign_order(void **state)
{
	static const char *const bad[] = { "|V12", "|S4", "<U4" };
	struct bi_dtype dtype;
	struct bi_error err;
	uint8_t code, bits;
	uint16_t lanes;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		assert_int_equal(bi_dtype_parse(bad[i], &dtype, NULL), BI_OK);
		assert_refused(bi_dtype_to_dlpack(dtype, &code, &bits, &lanes, &err), BI_EDTYPE, &err);
	}
	assert_int_equal(bi_dtype_make(BI_FLOAT32, 1, 0, &dtype, NULL), BI_OK);
	dtype.swapped = 1;
	assert_refused(bi_dtype_to_dlpack(dtype, &code, &bits, &lanes, &err), BI_EDTYPE, &err);
}

static void make_checks_its_arguments(void **state)
{
	static const struct {
		int type;
		unsigned lanes, item_size;
	} bad[] = {
		{ -1, 1, 0 },          { BI_TYPE_COUNT, 1, 0 }, { BI_INT8, 0, 0 },
		{ BI_INT8, 65536, 0 }, { BI_INT16, 1, 4 },      { BI_FLOAT32, 4, 4 },
		{ BI_VOID, 2, 8 },     { BI_UNICODE, 1, 6 },    { BI_BYTES, 0, 6 },
	};
	struct bi_dtype dtype;
	struct bi_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_refused(bi_dtype_make((enum bi_type)bad[i].type, bad[i].lanes, bad[i].item_size, &dtype, &err),
			       BI_EINVAL, &err);
	assert_refused(bi_dtype_make(BI_INT8, 1, 0, NULL, &err), BI_EINVAL, &err);
	assert_int_equal(bi_dtype_make(BI_FLOAT32, 4, 16, &dtype, NULL), BI_OK);
	assert_int_equal(dtype.item_size, 16);
	assert_int_equal(bi_dtype_make(BI_VOID, 1, 0, &dtype, NULL), BI_OK);
	assert_int_equal(dtype.item_size, 0);
}

static void types_filled_in_by_hand_are_checked(void **state)
{
	static const struct bi_dtype bad[] = {
		{ 4, 1, BI_TYPE_COUNT, 0 }, { 4, 1, 255, 0 },     { 4, 0, BI_INT32, 0 },    { 8, 1, BI_INT32, 0 },
		{ 4, 1, BI_INT32, 2 },      { 1, 1, BI_INT8, 1 }, { 2, 1, BI_BFLOAT16, 1 }, { 8, 2, BI_INT32, 1 },
		{ 8, 1, BI_VOID, 1 },       { 8, 2, BI_VOID, 0 }, { 5, 1, BI_UNICODE, 0 },
	};
	char text[BI_DTYPE_TEXT];
	struct bi_layout layout;
	struct bi_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		assert_refused(bi_dtype_typestr(bad[i], text, &err), BI_EDTYPE, &err);
		assert_refused(bi_layout_init(&layout, bad[i], 0, NULL, NULL, 0, &err), BI_EDTYPE, &err);
		bi_dtype_name(bad[i], text);
	}
}

static void kinds_and_equality(void **state)
{
	struct bi_dtype a, b;

	(void)state;
	assert_int_equal(bi_dtype_parse("<f4", &a, NULL), BI_OK);
	assert_int_equal(bi_dtype_parse(">f4", &b, NULL), BI_OK);
	assert_int_equal(bi_dtype_kind(a), 'f');
	assert_false(bi_dtype_equal(a, b));
	assert_int_equal(bi_dtype_parse("int32", &b, NULL), BI_OK);
	assert_false(bi_dtype_equal(a, b));
	assert_int_equal(bi_dtype_parse("bfloat16", &b, NULL), BI_OK);
	assert_int_equal(bi_dtype_kind(b), 0);
	assert_int_equal(bi_dtype_parse("void4", &a, NULL), BI_OK);
	assert_int_equal(bi_dtype_parse("void5", &b, NULL), BI_OK);
	assert_false(bi_dtype_equal(a, b));
}

static void descr_adds_up(void **state)
{
	static const struct {
		const char *text;
		unsigned size;
	} good[] = {
		{ "[]", 0 },
		{ "[('x', '<f4')]", 4 },
		{ "[('x','<f4'),('y','>i2')]", 6 },
		{ " [ ( \"x\" , \"<f4\" , ) , ] \n", 4 },
		{ "[('x', '<f4'), ('', '|V4'), ('y', '<f8')]", 16 },
		{ "[('', '<f4')]", 4 },
		{ "[(('the title', 'x'), '<f4')]", 4 },
		{ "[('x', '<f4', 3)]", 12 },
		{ "[('x', '<f4', (3,))]", 12 },
		{ "[('x', '<f4', (3, 4,),)]", 48 },
		{ "[('x', '<f4', ())]", 4 },
		{ "[('x', '<f4', (0, 5))]", 0 },
		{ "[('x', [('a', '|u1'), ('b', '<u2', (2,))], (2, 2)), ('s', '|S3')]", 23 },
		{ "[('x', [('y', [('z', '<U2')])])]", 8 },
		{ "[('it\\'s', '|u1'), (\"a\\\"b\", '|u1'), ('back\\\\', '|u1'), ('(],', '|u1')]", 4 },
		{ "[('a', '|V4294967295')]", 4294967295u },
	};
	struct bi_dtype dtype;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		if (bi_dtype_parse_descr(good[i].text, &dtype, NULL) != BI_OK)
			fail_msg("%s was refused", good[i].text);
		assert_int_equal(dtype.type, BI_VOID);
		assert_int_equal(dtype.lanes, 1);
		assert_int_equal(dtype.item_size, good[i].size);
	}
}

static void malformed_descrs_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"<f4",
		"'<f4'",
		"(('x', '<f4'),)",
		"{'names': ['x']}",
		"[",
		"]",
		"[[]]",
		"[()]",
		"[(]",
		"[,]",
		"[('x')]",
		"[('x',)]",
		"[('x', )]",
		"[('x' '<f4')]",
		"[('x', '<f4'",
		"[('x', '<f4')",
		"[('x', '<f4'))]",
		"[('x', '<f4')],",
		"[('x', '<f4')] x",
		"[('x', '<f4'),,]",
		"[('x', '<f4') ('y', '<f4')]",
		"[('x', '<f4', 1, 2)]",
		"[('x', '<f4', -1)]",
		"[('x', '<f4', (-1,))]",
		"[('x', '<f4', (,))]",
		"[('x', '<f4', (1 2))]",
		"[('x', '<f4', (1,,2))]",
		"[('x', '<f4', (1, 2)]",
		"[('x', '<f4', 1.5)]",
		"[('x', '<f4', '3')]",
		"[('x', '<f4', 03)]",
		"[('x', '<f4', [3])]",
		"[('x', '<f4', ((3,),))]",
		"[(x, '<f4')]",
		"[(1, '<f4')]",
		"[('x\", '<f4')]",
		"[('x, '<f4')]",
		"[('x\n', '<f4')]",
		"[('x\\q', '<f4')]",
		"[('x\\",
		"[('x', '<f4",
		"[('x', f4)]",
		"[('x', '|O8')]",
		"[('x', '<M8[ns]')]",
		"[('x', '<t4')]",
		"[('x', 'float32')]",
		"[('x', '')]",
		"[('x', '<f3')]",
		"[(('t', 'x', 'y'), '<f4')]",
		"[(('t',), '<f4')]",
		"[(('t'), '<f4')]",
		"[((1, 'x'), '<f4')]",
		"[(('t' 'x'), '<f4')]",
		"[(('t', 'x', '<f4')]",
		"[('x', ('y', '<f4'))]",
		"[('x', [('y', '<f4'])]",
		"[('x', [])",
		"[None]",
		"[['x', '<f4']]",
	};
	struct bi_dtype dtype = { 7, 7, 7, 7 };
	struct bi_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		if (bi_dtype_parse_descr(bad[i], &dtype, &err) != BI_EDTYPE)
			fail_msg("not refused: %s", bad[i]);
		assert_true(err.message[0] != '\0');
		assert_int_equal(dtype.item_size, 7);
	}
	assert_refused(bi_dtype_parse_descr(NULL, &dtype, &err), BI_EINVAL, &err);
}

static void descrs_that_are_too_large_are_refused(void **state)
{
	static const char *const bad[] = {
		"[('a', '|V4294967295'), ('b', '|u1')]",    "[('a', '<f8', 536870912)]",
		"[('a', '<f8', (4294967296, 4294967296))]", "[('a', '|u1', 9223372036854775807)]",
		"[('a', '|u1', 9223372036854775808)]",      "[('a', '|u1', 99999999999999999999999999)]",
		"[('a', [('b', '|V2147483648')], 2)]",
	};
	struct bi_dtype dtype;
	struct bi_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_refused(bi_dtype_parse_descr(bad[i], &dtype, &err), BI_EOVERFLOW, &err);
}

static void write_nested(char *text, int depth)
{
	*text = '\0';
	for (int i = 0; i < depth; i++)
		strcat(text, "[('a', ");
	strcat(text, "'|u1'");
	for (int i = 0; i < depth; i++)
		strcat(text, ")]");
}

static void nesting_and_dimensions_are_bounded(void **state)
{
	static char text[200000];
	struct bi_dtype dtype;
	struct bi_error err;
	char *at;

	(void)state;
	write_nested(text, 16);
	assert_int_equal(bi_dtype_parse_descr(text, &dtype, NULL), BI_OK);
	assert_int_equal(dtype.item_size, 1);
	write_nested(text, 17);
	assert_refused(bi_dtype_parse_descr(text, &dtype, &err), BI_EDTYPE, &err);
	memset(text, '[', sizeof(text) - 1);
	assert_refused(bi_dtype_parse_descr(text, &dtype, &err), BI_EDTYPE, &err);
	for (at = text; at < text + 7 * 20000; at += 7)
		memcpy(at, "[('a', ", 8);
	assert_refused(bi_dtype_parse_descr(text, &dtype, &err), BI_EDTYPE, &err);
	for (int n = BI_MAX_NDIM; n <= BI_MAX_NDIM + 1; n++) {
		strcpy(text, "[('a', '|u1', (");
		for (int i = 0; i < n; i++)
			strcat(text, "1,");
		strcat(text, "))]");
		assert_int_equal(bi_dtype_parse_descr(text, &dtype, &err), n > BI_MAX_NDIM ? BI_EDTYPE : BI_OK);
	}
}

/* Whatever becomes of a good text, the parser stays inside it: the copies have no byte to spare, not even a NUL. */
static void damaged_descrs_never_crash(void **state)
{
	static const char good[] =
		"[(('a title', 'x'), '<f4', (3, 4)), ('', '|V4'), ('y\\'', [(\"a\", '|u1'), ('b', '>i2')])]";
	static const char letters[] = "[](),'\"\\<>|=fiuSUV0123456789 xn-";
	struct test_random random = { test_seed() };
	int accepted = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		size_t length = (size_t)test_between(&random, 1, sizeof(good) - 1);
		struct bi_dtype dtype;
		uint32_t size;
		char *text;

		if (test_between(&random, 0, 1))
			length = sizeof(good) - 1;
		text = malloc(length);
		assert_non_null(text);
		memcpy(text, good, length);
		for (int64_t n = test_between(&random, 0, 3); n > 0; n--)
			text[test_between(&random, 0, (int64_t)length - 1)] =
				letters[test_between(&random, 0, sizeof(letters) - 2)];
		accepted += bi__descr_size(text, length, &size, NULL) == BI_OK;
		bi__dtype_parse_typestr(text, length, &dtype, NULL);
		free(text);
	}
	assert_in_range(accepted, 1000, 19000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_reads_typestrs_and_names),
		cmocka_unit_test(parse_refuses_everything_else),
		cmocka_unit_test(parse_suggests_names),
		cmocka_unit_test(parse_says_what_is_wrong),
		cmocka_unit_test(parse_refuses_kinds_by_name),
		cmocka_unit_test(refusals_quote_one_line),
		cmocka_unit_test(every_type_comes_back),
		cmocka_unit_test(dlpack_triples_are_exact),
		cmocka_unit_test(dlpack_has_no_structures_and_no_foreign_order),
		cmocka_unit_test(make_checks_its_arguments),
		cmocka_unit_test(types_filled_in_by_hand_are_checked),
		cmocka_unit_test(kinds_and_equality),
		cmocka_unit_test(descr_adds_up),
		cmocka_unit_test(malformed_descrs_are_refused),
		cmocka_unit_test(descrs_that_are_too_large_are_refused),
		cmocka_unit_test(nesting_and_dimensions_are_bounded),
		cmocka_unit_test(damaged_descrs_never_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
