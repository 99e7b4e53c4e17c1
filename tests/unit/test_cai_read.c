/*
 * The CUDA Array Interface where no driver is needed: every rule of docs/conformance.md that can be decided from the
 * struct alone. A test bears the number of its rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arrays.h"
#include "interop/cai.h"
#include "interop/place.h"

#define ROUNDS 400

static struct test_random generator;

/* Four floats in a row: what most of the refusals below spoil. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE "<"
#else
#define NATIVE ">"
#endif

static struct bi_cai floats(void)
{
	static const int64_t shape[] = { 4 };

	return (struct bi_cai){
		.version = 3,
		.ndim = 1,
		.shape = shape,
		.typestr = NATIVE "f4",
		.data = 0x10000,
		.stream_kind = BI_CAI_STREAM_NONE,
	};
}

static struct bi_cai typed(const char *typestr)
{
	struct bi_cai cai = floats();

	memset(cai.typestr, 0, sizeof(cai.typestr));
	memcpy(cai.typestr, typestr, strlen(typestr));
	return cai;
}

static struct bi_cai described(const char *typestr, const char *descr)
{
	struct bi_cai cai = typed(typestr);

	cai.descr = descr;
	cai.descr_length = strlen(descr);
	return cai;
}

static struct bi_cai shaped(int ndim, const int64_t *shape, const int64_t *strides)
{
	struct bi_cai cai = floats();

	cai.ndim = ndim;
	cai.shape = shape;
	cai.strides = strides;
	return cai;
}

static void accept_masked(const struct bi_cai *cai, struct bi__cai_array *array, struct bi__cai_array *mask)
{
	struct bi_error err = { 0, 0, "" };

	if (bi__cai_read(cai, array, mask, &err) != BI_OK)
		fail_msg("refused: %d, \"%s\"", err.status, err.message);
}

static struct bi__cai_array accept(const struct bi_cai *cai)
{
	struct bi__cai_array array;

	accept_masked(cai, &array, NULL);
	return array;
}

static void check_refusal(int rc, const struct bi_error *err, int status, const char *rule, const char *reason)
{
	size_t length = strlen(err->message), tail = strlen(rule);

	if (rc != status || err->status != rc || !strstr(err->message, reason) || length < tail ||
	    strcmp(err->message + length - tail, rule) != 0)
		fail_msg("%d, %d \"%s\" instead of %d \"%s %s\"", rc, err->status, err->message, status, reason, rule);
}

static void refuse_masked(const struct bi_cai *cai, struct bi__cai_array *mask, int status, const char *rule,
			  const char *reason)
{
	struct bi_error err = { 0, 0, "" };
	struct bi__cai_array array;
	int rc = bi__cai_read(cai, &array, mask, &err);

	check_refusal(rc, &err, status, rule, reason);
	assert_int_equal(bi__cai_read(cai, &array, mask, NULL), status);
}

static void refuse(const struct bi_cai *cai, int status, const char *rule, const char *reason)
{
	refuse_masked(cai, NULL, status, rule, reason);
}

static void cai_round_trip_is_identity(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS * type_count(); i++) {
		struct bi__cai_array read;
		struct bi_cai written;
		struct array array;

		random_array(&generator, i % type_count(), &array);
		read = accept(&array.cai);
		assert_int_equal(bi__cai_write(&read.layout, read.address, &written, NULL), BI_OK);
		assert_same_array(&written, &array.cai);
	}
}

static void cai_C1_accepts_versions_0_to_3(void **state)
{
	struct bi_cai cai = floats();

	(void)state;
	for (cai.version = 0; cai.version <= 3; cai.version++)
		assert_int_equal(accept(&cai).nbytes, 16);
}

static void cai_C1_refuses_other_versions(void **state)
{
	static const struct {
		int32_t version;
		const char *reason;
	} cases[] = {
		{ 4, "version 4 " },
		{ -1, "version -1 " },
		{ INT32_MAX, "version 2147483647 " },
		{ INT32_MIN, "version -2147483648 " },
	};
	struct bi_cai cai = floats();

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		cai.version = cases[i].version;
		refuse(&cai, BI_EVERSION, "[C1]", cases[i].reason);
		refuse(&cai, BI_EVERSION, "[C1]", "0..3");
	}
}

static void cai_C3_masked_is_refused_without_room(void **state)
{
	struct bi_cai mask = typed("|b1"), cai = floats();

	(void)state;
	cai.mask = &mask;
	for (cai.version = 0; cai.version <= 3; cai.version++)
		refuse(&cai, BI_EUNSUPPORTED, "[C3]", "masked");
}

static void cai_C3_mask_is_an_array_of_its_own(void **state)
{
	static const char *const types[] = { "|b1", "|u1", "|i1", NATIVE "i8", NATIVE "u2", NATIVE "f4", NATIVE "c8" };
	struct bi__cai_array array, mask;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		struct bi_cai of = typed(types[i]), cai = floats();

		of.data = 0x20000;
		cai.mask = &of;
		accept_masked(&cai, &array, &mask);
		assert_int_equal(array.address, 0x10000);
		assert_int_equal(mask.address, 0x20000);
		assert_int_equal(mask.layout.ndim, 1);
		assert_int_equal(mask.layout.shape[0], 4);
		assert_int_equal(mask.nbytes, 4 * mask.layout.dtype.item_size);
	}
}

static void cai_C3_mask_needs_a_truth(void **state)
{
	static const char *const types[] = { "|V1", "|S1", NATIVE "U1" };
	struct bi__cai_array mask;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		struct bi_cai of = typed(types[i]), cai = floats();

		cai.mask = &of;
		refuse_masked(&cai, &mask, BI_EDTYPE, "[C3]", "neither true nor false");
	}
}

/* What NumPy's broadcast_to((2, 3, 4)) takes, and what it does not. */
static void cai_C3_mask_broadcasts_to_the_array(void **state)
{
	static const int64_t shape[] = { 2, 3, 4 };
	static const struct {
		int fits, ndim;
		int64_t shape[4];
	} cases[] = {
		{ 1, 3, { 2, 3, 4 } },     { 1, 0, { 0 } },          { 1, 1, { 4 } }, { 1, 1, { 1 } },
		{ 1, 2, { 3, 1 } },        { 1, 3, { 2, 1, 4 } },    { 0, 1, { 3 } }, { 0, 2, { 2, 4 } },
		{ 0, 3, { 2, 3, 1 + 4 } }, { 0, 4, { 1, 2, 3, 4 } }, { 0, 1, { 0 } }, { 0, 3, { 4, 3, 2 } },
	};
	struct bi__cai_array array, mask;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_cai of = typed("|b1"), cai = shaped(3, shape, NULL);

		of.ndim = cases[i].ndim;
		of.shape = cases[i].shape;
		cai.mask = &of;
		if (cases[i].fits)
			accept_masked(&cai, &array, &mask);
		else
			refuse_masked(&cai, &mask, BI_EINVAL, "[C3]", cases[i].ndim > 3 ? "ndim 4" : "neither 1 nor");
	}
}

static void cai_C3_mask_obeys_the_other_rules(void **state)
{
	struct bi_cai of = typed("|b1"), cai = floats();
	struct bi__cai_array mask;

	(void)state;
	cai.mask = &of;
	of.mask = &of;
	refuse_masked(&cai, &mask, BI_EUNSUPPORTED, "[C3]", "masked itself");
	of.mask = NULL;
	of.version = 4;
	refuse_masked(&cai, &mask, BI_EVERSION, "[C1]", "mask: version 4");
	of.version = 3;
	of.data = 0;
	refuse_masked(&cai, &mask, BI_EINVAL, "[C4]", "data is 0");
	cai.mask = &cai;
	refuse_masked(&cai, &mask, BI_EUNSUPPORTED, "[C3]", "masked itself");
}

static void cai_C4_no_pointer_but_bytes(void **state)
{
	static const int64_t shape[] = { 4 }, zero[] = { 0 };
	struct bi_cai cai = floats();

	(void)state;
	cai.data = 0;
	refuse(&cai, BI_EINVAL, "[C4]", "16 bytes");
	cai = shaped(1, shape, zero);
	cai.data = 0;
	refuse(&cai, BI_EINVAL, "[C4]", "4 bytes");
	cai = shaped(0, NULL, NULL);
	cai.data = 0;
	refuse(&cai, BI_EINVAL, "[C4]", "4 bytes");
}

static void cai_C5_without_elements_any_pointer(void **state)
{
	static const uint64_t pointers[] = { 0, 1, 0xdead0000, UINT64_MAX };
	static const int64_t shapes[][3] = { { 0, 3, 4 }, { 2, 0, 4 }, { 2, 3, 0 }, { 0, 0, 0 } };
	static const int64_t strides[] = { INT64_MIN, INT64_MAX, -7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(pointers) * ARRAY_LENGTH(shapes); i++) {
		struct bi_cai cai = shaped(3, shapes[i / ARRAY_LENGTH(pointers)], i % 2 ? strides : NULL);
		struct bi__cai_array array;

		cai.data = pointers[i % ARRAY_LENGTH(pointers)];
		array = accept(&cai);
		assert_int_equal(array.nbytes, 0);
		assert_int_equal(array.address, 0);
		assert_int_equal(array.layout.offset, 0);
	}
}

/* The environment of this test names no driver, so a query would be a failure. */
static void cai_C5_device_of_nothing_is_not_asked_for(void **state)
{
	static const int64_t shape[] = { 3, 0 };
	struct bi_cai cai = shaped(2, shape, NULL);
	int ordinal = 7;

	(void)state;
	cai.data = 0xdead0000;
	assert_int_equal(bi_cai_device(&cai, &ordinal, NULL), BI_OK);
	assert_int_equal(ordinal, -1);
	cai.version = 9;
	assert_int_equal(bi_cai_device(&cai, &ordinal, NULL), BI_EVERSION);
}

static void cai_C6_stream_0_is_refused(void **state)
{
	struct bi_cai cai = floats();

	(void)state;
	cai.stream_kind = BI_CAI_STREAM_GIVEN;
	for (cai.version = 0; cai.version <= 3; cai.version++)
		refuse(&cai, BI_EINVAL, "[C6]", "stream is 0");
}

static void cai_C6_other_streams_are_taken(void **state)
{
	static const uint64_t streams[] = { 1, 2, 3, UINTPTR_MAX };
	struct bi_cai cai = floats();

	(void)state;
	cai.stream_kind = BI_CAI_STREAM_GIVEN;
	for (size_t i = 0; i < ARRAY_LENGTH(streams); i++) {
		cai.stream = streams[i];
		accept(&cai);
	}
	/* Without the kind the number means nothing. */
	cai.stream = 0;
	cai.stream_kind = BI_CAI_STREAM_NONE;
	accept(&cai);
	cai.stream_kind = BI_CAI_STREAM_ABSENT;
	accept(&cai);
}

static void cai_C6_stream_kind_is_known(void **state)
{
	struct bi_cai cai = floats();

	(void)state;
	cai.stream_kind = 3;
	refuse(&cai, BI_EINVAL, "[C6]", "stream_kind 3 is not in 0..2");
	cai.stream_kind = -1;
	refuse(&cai, BI_EINVAL, "[C6]", "stream_kind -1");
}

static void cai_C10_no_strides_are_c_order(void **state)
{
	static const int64_t shape[] = { 2, 3, 4 };
	struct bi_cai cai = shaped(3, shape, NULL);
	struct bi__cai_array array = accept(&cai);

	(void)state;
	assert_int_equal(array.layout.strides[0], 48);
	assert_int_equal(array.layout.strides[1], 16);
	assert_int_equal(array.layout.strides[2], 4);
}

static void cai_C10_strides_need_not_be_multiples(void **state)
{
	static const int64_t shape[] = { 3, 2 }, strides[] = { 13, -5 };
	struct bi_cai cai = shaped(2, shape, strides);
	struct bi__cai_array array = accept(&cai);

	(void)state;
	assert_int_equal(array.address, 0x10000 - 5);
	assert_int_equal(array.layout.offset, 5);
	assert_int_equal(array.nbytes, 5 + 26 + 4);
}

static void cai_C11_extents_are_those_of_every_element(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS * type_count(); i++) {
		struct bi__cai_array read;
		struct array array;
		int64_t first, end;

		random_array(&generator, i % type_count(), &array);
		naive_extent(&array, &first, &end);
		read = accept(&array.cai);
		assert_int_equal(read.nbytes, end - first);
		if (read.nbytes)
			assert_true(read.address == array.cai.data + (uint64_t)first);
		assert_int_equal(read.layout.offset, -first);
	}
}

static void cai_C11_all_strides_zero_reach_one_element(void **state)
{
	static const int64_t shape[] = { 5, 7 }, strides[] = { 0, 0 };
	struct bi_cai cai = shaped(2, shape, strides);

	(void)state;
	assert_int_equal(accept(&cai).nbytes, 4);
}

static void cai_C11_shapes_that_are_none(void **state)
{
	static const int64_t negative[] = { 2, -3 }, least[] = { INT64_MIN };
	struct bi_cai cai = shaped(2, negative, NULL);

	(void)state;
	refuse(&cai, BI_EINVAL, "[C11]", "shape[1] is -3");
	cai = shaped(1, least, NULL);
	refuse(&cai, BI_EINVAL, "[C11]", "-9223372036854775808");
	cai = shaped(1, NULL, NULL);
	refuse(&cai, BI_EINVAL, "[C11]", "shape is NULL, but ndim is 1");
	cai = shaped(-1, least, NULL);
	refuse(&cai, BI_EINVAL, "[C11]", "ndim -1 is not in 0..64");
	cai = shaped(65, least, NULL);
	refuse(&cai, BI_EINVAL, "[C11]", "ndim 65");
	cai = shaped(INT32_MAX, least, NULL);
	refuse(&cai, BI_EINVAL, "[C11]", "ndim 2147483647");
	cai = shaped(INT32_MIN, NULL, NULL);
	refuse(&cai, BI_EINVAL, "[C11]", "ndim -2147483648");
}

static void cai_C11_shapes_that_overflow(void **state)
{
	static const int64_t many[] = { INT64_C(1) << 32, INT64_C(1) << 32 }, large[] = { INT64_MAX };
	static const int64_t bytes[] = { INT64_C(1) << 61 }, hidden[] = { INT64_MAX, 0, 2 };
	struct bi_cai cai = shaped(2, many, NULL);

	(void)state;
	refuse(&cai, BI_EOVERFLOW, "[C11]", "shape");
	cai = shaped(1, large, NULL);
	refuse(&cai, BI_EOVERFLOW, "[C11]", "9223372036854775807");
	cai = shaped(1, bytes, NULL);
	refuse(&cai, BI_EOVERFLOW, "[C11]", "2305843009213693952 elements of 4 bytes");
	cai = shaped(3, hidden, NULL);
	refuse(&cai, BI_EOVERFLOW, "[C11]", "shape[2]");
}

static void cai_C11_strides_that_overflow(void **state)
{
	static const int64_t shape[] = { 3, 2 };
	static const int64_t cases[][2] = {
		{ INT64_MAX, 4 },
		{ INT64_MIN, 4 },
		{ INT64_MAX / 2 + 1, 4 },
		{ 4, INT64_MAX },
		{ INT64_MAX / 2, INT64_MAX / 2 },
		{ INT64_MIN / 2, INT64_MIN / 2 },
		{ 4, INT64_MIN },
		{ INT64_MAX / 2, INT64_MIN / 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_cai cai = shaped(2, shape, cases[i]);

		refuse(&cai, BI_EOVERFLOW, "[C11]", "");
	}
}

/* Each side fits by itself, but not the way from the lowest byte to the highest. */
static void cai_C11_reach_that_overflows(void **state)
{
	static const int64_t shape[] = { 2, 2 }, strides[] = { INT64_C(1) << 62, -(INT64_C(1) << 62) };
	struct bi_cai cai = shaped(2, shape, strides);

	(void)state;
	cai.data = UINT64_C(1) << 62;
	refuse(&cai, BI_EOVERFLOW, "[C11]", "reaches over 9223372036854775812 bytes");
}

static void cai_C11_addresses_that_do_not_exist(void **state)
{
	static const int64_t shape[] = { 5 }, backward[] = { -0x4000 };
	struct bi_cai cai = shaped(1, shape, backward);

	(void)state;
	assert_int_equal(accept(&cai).address, 0);
	cai.data--;
	refuse(&cai, BI_EBOUNDS, "[C11]", "65536 bytes below");
	cai = floats();
	cai.data = UINT64_MAX - 16;
	accept(&cai);
	cai.data++;
	refuse(&cai, BI_EBOUNDS, "[C11]", "16 above");
}

static void cai_C12_typestr_is_a_text(void **state)
{
	struct bi_cai cai = typed("");

	(void)state;
	refuse(&cai, BI_EDTYPE, "[C12]", "typestr \"\"");
	memset(cai.typestr, '1', sizeof(cai.typestr));
	refuse(&cai, BI_EDTYPE, "[C12]", "has no NUL in its 32 bytes");
	cai = typed("<f4\n");
	refuse(&cai, BI_EDTYPE, "[C12]", "byte 3 is 0x0a");
	cai = typed("\xff"
		    "f4");
	refuse(&cai, BI_EDTYPE, "[C12]", "byte 0 is 0xff");
}

static void cai_C12_order_characters(void **state)
{
	static const char *const good[] = { "=f4", "|u1", "<u1", ">u1", "=b1", "|S3", "|V3", "=i8" };
	static const char *const bad[] = { "f4", "!f4", "@f4", "4f", " <f4", "^u1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		struct bi_cai cai = typed(good[i]);

		accept(&cai);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct bi_cai cai = typed(bad[i]);

		refuse(&cai, BI_EDTYPE, "[C12]", "begin with one of");
	}
}

static void cai_C12_other_byte_order_is_not_reinterpreted(void **state)
{
	const uint16_t one = 1;
	char typestr[] = "?i2";
	struct bi_cai cai;

	(void)state;
	typestr[0] = *(const unsigned char *)&one ? '>' : '<';
	cai = typed(typestr);
	refuse(&cai, BI_EDTYPE, "[C12]", "byte order");
	cai = typed("|i2");
	refuse(&cai, BI_EDTYPE, "[C12]", "\"|i2\"");
}

static void cai_C12_types_that_are_none(void **state)
{
	static const struct {
		int status;
		const char *typestr;
	} cases[] = {
		{ BI_EDTYPE, "|O" },
		{ BI_EDTYPE, "|O8" },
		{ BI_EUNSUPPORTED, "|t1" },
		{ BI_EUNSUPPORTED, "|t" },
		{ BI_EDTYPE, "<f" },
		{ BI_EDTYPE, "<f4x" },
		{ BI_EDTYPE, NATIVE "f3" },
		{ BI_EDTYPE, NATIVE "f16" },
		{ BI_EDTYPE, NATIVE "x4" },
		{ BI_EDTYPE, "<" },
		{ BI_EDTYPE, "<f-4" },
		{ BI_EDTYPE, NATIVE "V99999999999" },
		{ BI_EDTYPE, NATIVE "f04294967300" },
		{ BI_EDTYPE, "<M8[ns]" },
		{ BI_EDTYPE, "<float32" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_cai cai = typed(cases[i].typestr);

		refuse(&cai, cases[i].status, "[C12]", cases[i].typestr);
	}
}

static void cai_C12_masks_of_bits_are_not_taken(void **state)
{
	struct bi_cai of = typed("|t1"), cai = floats();
	struct bi__cai_array mask;

	(void)state;
	cai.mask = &of;
	refuse_masked(&cai, &mask, BI_EUNSUPPORTED, "[C12]", "bit fields");
}

static void cai_C13_structured_adds_up(void **state)
{
	struct bi_cai cai = described("|V10", "[('x', '<f4'), ('n', '<i2', (3,))]");
	struct bi__cai_array array = accept(&cai);

	(void)state;
	assert_ptr_equal(array.layout.descr, cai.descr);
	assert_int_equal(array.layout.descr_length, cai.descr_length);
	assert_int_equal(array.ignores_descr, 0);
	cai = described("|V12", cai.descr);
	refuse(&cai, BI_EDTYPE, "[C13]", "adds up to 10 bytes, typestr \"|V12\" has 12");
	cai = described("|V3", "[('', '|V3')]");
	accept(&cai);
}

static void cai_C13_descr_is_a_list(void **state)
{
	static const char *const cases[] = {
		"", "x", "'<f4'", "[('x', '<f4')", "[('x', '<f4')] x", "[('x', '|O')]", "None", "[('\xff', '<f4')]"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_cai cai = described("|V4", cases[i]);

		refuse(&cai, BI_EDTYPE, "[C13]", "");
	}
}

/* Bytes behind the end belong to somebody else: a text without a NUL, in an allocation of exactly its size. */
static void cai_C13_descr_ends_where_it_says(void **state)
{
	static const char text[] = "[('x', '<f4')]";
	char *exact = malloc(sizeof(text) - 1);
	struct bi_cai cai;

	(void)state;
	assert_non_null(exact);
	memcpy(exact, text, sizeof(text) - 1);
	cai = typed("|V4");
	cai.descr = exact;
	cai.descr_length = sizeof(text) - 1;
	assert_int_equal(accept(&cai).layout.descr_length, sizeof(text) - 1);
	cai.descr_length = sizeof(text) - 2;
	refuse(&cai, BI_EDTYPE, "[C13]", "expected");
	cai.descr_length = SIZE_MAX;
	refuse(&cai, BI_EOVERFLOW, "[C13]", "the limit is 4294967295");
	free(exact);
}

static void cai_C13_descr_of_a_simple_type(void **state)
{
	static const struct {
		int is_ignored;
		const char *descr;
	} cases[] = {
		{ 0, "[('', '" NATIVE "f4')]" },
		{ 0, "[(\"\", \"" NATIVE "f4\")]" },
		{ 0, " [ ( '' ,\n'=f4' ) ] " },
		{ 1, "[('', '<i4')]" },
		{ 1, "[('', '|V4')]" },
		{ 1, "[('x', '<f4')]" },
		{ 1, "[('', '<f4'), ('', '<f4')]" },
		{ 1, "[('', '<f4', (1,))]" },
		{ 1, "[]" },
		{ 1, "" },
		{ 1, "nonsense" },
		{ 1, "[('', '<f4')]                                        [('', '<f4')]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_cai cai = described(NATIVE "f4", cases[i].descr);
		struct bi__cai_array array = accept(&cai);

		assert_int_equal(array.ignores_descr, cases[i].is_ignored);
		assert_null(array.layout.descr);
		assert_int_equal(array.layout.descr_length, 0);
	}
}

/* The other way. */

static struct bi_layout layout_of(const char *type, int ndim, const int64_t *shape, const int64_t *strides,
				  int64_t offset)
{
	struct bi_layout layout;
	struct bi_dtype dtype;

	assert_int_equal(bi_dtype_parse(type, &dtype, NULL), BI_OK);
	assert_int_equal(bi_layout_init(&layout, dtype, ndim, shape, strides, offset, NULL), BI_OK);
	return layout;
}

static struct bi_cai write(const struct bi_layout *layout)
{
	struct bi_cai cai;

	assert_int_equal(bi__cai_write(layout, 0x10000, &cai, NULL), BI_OK);
	return cai;
}

static void cai_P3_pointer_is_0_without_elements_only(void **state)
{
	static const int64_t empty[] = { 2, 0, 3 }, one[] = { 1, 1, 1 };
	struct bi_layout layout = layout_of(NATIVE "f4", 3, empty, NULL, 64);

	(void)state;
	assert_true(write(&layout).data == 0);
	layout = layout_of(NATIVE "f4", 3, one, NULL, 64);
	assert_true(write(&layout).data == 0x10040);
	layout = layout_of(NATIVE "f4", 0, NULL, NULL, 0);
	assert_true(write(&layout).data == 0x10000);
}

static void cai_P4_strides_are_left_out_if_c_contiguous(void **state)
{
	static const int64_t shape[] = { 2, 1, 3 }, empty[] = { 2, 0, 3 };
	static const struct {
		int is_explicit;
		int64_t strides[3];
	} cases[] = {
		{ 0, { 12, 12, 4 } }, { 0, { 12, 999, 4 } }, { 0, { 12, -4, 4 } }, { 1, { 4, 8, 8 } },
		{ 1, { 16, 12, 4 } }, { 1, { -12, 12, 4 } }, { 1, { 0, 0, 0 } },   { 1, { 12, 12, 8 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_layout layout = layout_of(NATIVE "f4", 3, shape, cases[i].strides, 100);

		assert_int_equal(write(&layout).strides != NULL, cases[i].is_explicit);
		layout = layout_of(NATIVE "f4", 3, empty, cases[i].strides, 100);
		assert_null(write(&layout).strides);
	}
}

static void cai_P5_P16_pointer_is_that_of_the_first_element(void **state)
{
	static const int64_t shape[] = { 3, 2 }, strides[] = { -16, 0 };
	struct bi_layout layout = layout_of(NATIVE "f4", 2, shape, strides, 96);
	struct bi_cai cai = write(&layout);

	(void)state;
	assert_true(cai.data == 0x10060);
	assert_int_equal(cai.strides[0], -16);
	assert_int_equal(cai.strides[1], 0);
}

static void cai_P10_descr_of_structured_types_only(void **state)
{
	static const char descr[] = "[('x', '<f4'), ('', '|V8')]";
	struct bi_layout layout = layout_of("|V12", 0, NULL, NULL, 0);

	(void)state;
	assert_null(write(&layout).descr);
	layout.descr = descr;
	layout.descr_length = sizeof(descr) - 1;
	assert_ptr_equal(write(&layout).descr, descr);
	assert_int_equal(write(&layout).descr_length, sizeof(descr) - 1);
	layout = layout_of(NATIVE "f4", 0, NULL, NULL, 0);
	assert_null(write(&layout).descr);
}

static void cai_P11_typestr_has_native_order(void **state)
{
	const uint16_t one = 1;
	int is_little = *(const unsigned char *)&one;
	struct bi_layout layout = layout_of("float32", 0, NULL, NULL, 0);
	struct bi_error err = { 0, 0, "" };
	struct bi_cai cai;
	int rc;

	(void)state;
	assert_string_equal(write(&layout).typestr, is_little ? "<f4" : ">f4");
	layout = layout_of("bool", 0, NULL, NULL, 0);
	assert_string_equal(write(&layout).typestr, "|b1");
	layout = layout_of("void12", 0, NULL, NULL, 0);
	assert_string_equal(write(&layout).typestr, "|V12");
	layout = layout_of(is_little ? ">f4" : "<f4", 0, NULL, NULL, 0);
	rc = bi__cai_write(&layout, 0x10000, &cai, &err);
	check_refusal(rc, &err, BI_EDTYPE, "[P11]", "byte order");
}

static void cai_P12_types_without_a_name(void **state)
{
	static const char *const names[] = { "bfloat16", "float8_e5m2", "float6_e2m3fn", "float4_e2m1fn", "float32x4" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct bi_layout layout = layout_of(names[i], 0, NULL, NULL, 0);
		struct bi_error err = { 0, 0, "" };
		struct bi_cai cai;
		int rc = bi__cai_write(&layout, 0x10000, &cai, &err);

		check_refusal(rc, &err, BI_EDTYPE, "[P12]", "no name for");
	}
}

/* A sentence that fills its room is cut for the number's sake. */
static void cai_rule_number_is_never_cut(void **state)
{
	struct bi_error err = { BI_EINVAL, 0, "" };

	(void)state;
	memset(err.message, 'x', sizeof(err.message) - 1);
	assert_int_equal(bi__cite(BI_EINVAL, "C11", &err), BI_EINVAL);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_string_equal(err.message + sizeof(err.message) - 8, "x [C11]");
	assert_int_equal(bi__cite(BI_EINVAL, "C11", NULL), BI_EINVAL);
	err.message[0] = '\0';
	assert_int_equal(bi__cite(BI_OK, "C11", &err), BI_OK);
	assert_string_equal(err.message, "");
}

static void cai_message_is_one_line(void **state)
{
	static const char text[] = "[('x', '<i\r\f4')]";
	struct bi_cai cai = described("|V4", text);
	struct bi__cai_array array;
	struct bi_error err;

	(void)state;
	assert_int_equal(bi__cai_read(&cai, &array, NULL, &err), BI_EDTYPE);
	assert_null(strpbrk(err.message, "\r\n"));
	assert_non_null(strstr(err.message, "<i??4"));
}

/* The public functions, as far as a context of the host takes them. */

static struct bi_context *open_host(void)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = "host";
	assert_int_equal(bi_context_open(&options, &context, NULL), BI_OK);
	return context;
}

static void cai_P14_host_memory_is_not_exported(void **state)
{
	static const int64_t shapes[][1] = { { 4 }, { 0 } };
	struct bi_context *context = open_host();
	struct bi_dtype dtype;

	(void)state;
	assert_int_equal(bi_dtype_parse(NATIVE "f4", &dtype, NULL), BI_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
		struct bi_error err = { 0, 0, "" };
		struct bi_cai cai, zero;
		struct bi_view *view;
		int rc;

		assert_int_equal(bi_view_empty(context, dtype, 1, shapes[i], &view, NULL), BI_OK);
		rc = bi_cai_export(view, 3, 0, &cai, &err);
		check_refusal(rc, &err, BI_EUNSUPPORTED, "[P14]", "no CUDA device reaches");
		memset(&zero, 0, sizeof(zero));
		assert_memory_equal(&cai, &zero, sizeof(cai));
		bi_view_release(view);
	}
	bi_context_release(context);
}

static void cai_P17_versions_of_exports(void **state)
{
	static const int versions[] = { -1, 4, 100 };
	struct bi_context *context = open_host();
	struct bi_view *view;
	struct bi_dtype dtype;

	(void)state;
	assert_int_equal(bi_dtype_parse(NATIVE "f4", &dtype, NULL), BI_OK);
	assert_int_equal(bi_view_empty(context, dtype, 0, NULL, &view, NULL), BI_OK);
	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct bi_error err = { 0, 0, "" };
		struct bi_cai cai;
		int rc = bi_cai_export(view, versions[i], 0, &cai, &err);

		check_refusal(rc, &err, BI_EVERSION, "[P17]", "is not in 0..3");
	}
	bi_view_release(view);
	bi_context_release(context);
}

static void cai_export_checks_its_arguments(void **state)
{
	struct bi_context *context = open_host();
	struct bi_error err = { 0, 0, "" };
	struct bi_dtype dtype;
	struct bi_view *view;
	struct bi_cai cai;
	int rc;

	(void)state;
	assert_int_equal(bi_dtype_parse(NATIVE "f4", &dtype, NULL), BI_OK);
	assert_int_equal(bi_view_empty(context, dtype, 0, NULL, &view, NULL), BI_OK);
	assert_int_equal(bi_cai_export(NULL, 3, 0, &cai, NULL), BI_EINVAL);
	assert_int_equal(bi_cai_export(view, 3, 0, NULL, NULL), BI_EINVAL);
	rc = bi_cai_export(view, 3, BI_CAI_UNCHECKED, &cai, &err);
	check_refusal(rc, &err, BI_EINVAL, "", "flags 0x4");
	rc = bi_cai_export(view, 3, 16, &cai, &err);
	check_refusal(rc, &err, BI_EINVAL, "", "flags 0x10");
	rc = bi_cai_export(view, 3, BI_CAI_UNORDERED | BI_CAI_SYNCHRONIZE, &cai, &err);
	check_refusal(rc, &err, BI_EINVAL, "", "flags 0x3");
	rc = bi_cai_export(view, 3, BI_CAI_UNORDERED | BI_CAI_SYNCHRONIZE | BI_CAI_NONBLOCKING, &cai, &err);
	check_refusal(rc, &err, BI_EINVAL, "", "flags 0xb");
	bi_view_release(view);
	bi_context_release(context);
}

static void refuse_import(struct bi_context *context, const struct bi_cai *cai,
			  const struct bi_cai_import_options *options, int status, const char *reason)
{
	struct bi_error err = { 0, 0, "" };
	struct bi_view *view = (struct bi_view *)(void *)&err;
	int rc = bi_cai_import(context, cai, options, &view, &err);

	check_refusal(rc, &err, status, "", reason);
	assert_null(view);
}

static void never(void *data)
{
	(void)data;
	fail_msg("what was not taken is released");
}

static void cai_import_checks_its_arguments(void **state)
{
	struct bi_context *context = open_host();
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_cai cai = floats();

	(void)state;
	options.release = never;
	assert_int_equal(bi_cai_import(context, &cai, &options, NULL, NULL), BI_EINVAL);
	refuse_import(NULL, &cai, &options, BI_EINVAL, "context is NULL");
	refuse_import(context, NULL, &options, BI_EINVAL, "cai is NULL");
	refuse_import(context, &cai, &options, BI_EINVAL, "device host is not a CUDA device");
	refuse_import(context, &cai, NULL, BI_EINVAL, "device host is not a CUDA device");
	options.flags = BI_CAI_SYNCHRONIZE;
	refuse_import(context, &cai, &options, BI_EINVAL, "flags 0x2");
	options.flags = BI_CAI_UNORDERED;
	options.producer_stream = bi_context_stream(context);
	refuse_import(context, &cai, &options, BI_EINVAL, "producer_stream is given");
	options = (struct bi_cai_import_options)BI_CAI_IMPORT_INIT;
	options.struct_size--;
	refuse_import(context, &cai, &options, BI_EINVAL, "struct_size");
	bi_context_release(context);
}

/* What is wrong with the struct is said before what is wrong with the context; a mask is NULL after a failure. */
static void cai_import_reads_before_it_asks(void **state)
{
	struct bi_context *context = open_host();
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_cai of = typed("|b1"), cai = floats();
	struct bi_view *mask = (struct bi_view *)(void *)&cai;

	(void)state;
	cai.mask = &of;
	refuse_import(context, &cai, NULL, BI_EUNSUPPORTED, "[C3]");
	options.mask = &mask;
	refuse_import(context, &cai, &options, BI_EINVAL, "not a CUDA device");
	assert_null(mask);
	cai.version = 4;
	refuse_import(context, &cai, NULL, BI_EVERSION, "[C1]");
	bi_context_release(context);
}

static void cai_device_checks_its_arguments(void **state)
{
	struct bi_cai cai = floats();
	int ordinal = 7;

	(void)state;
	assert_int_equal(bi_cai_device(NULL, &ordinal, NULL), BI_EINVAL);
	assert_int_equal(ordinal, -1);
	assert_int_equal(bi_cai_device(&cai, NULL, NULL), BI_EINVAL);
	ordinal = 7;
	assert_true(bi_cai_device(&cai, &ordinal, NULL) < 0);
	assert_int_equal(ordinal, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cai_round_trip_is_identity),
		cmocka_unit_test(cai_C1_accepts_versions_0_to_3),
		cmocka_unit_test(cai_C1_refuses_other_versions),
		cmocka_unit_test(cai_C3_masked_is_refused_without_room),
		cmocka_unit_test(cai_C3_mask_is_an_array_of_its_own),
		cmocka_unit_test(cai_C3_mask_needs_a_truth),
		cmocka_unit_test(cai_C3_mask_broadcasts_to_the_array),
		cmocka_unit_test(cai_C3_mask_obeys_the_other_rules),
		cmocka_unit_test(cai_C4_no_pointer_but_bytes),
		cmocka_unit_test(cai_C5_without_elements_any_pointer),
		cmocka_unit_test(cai_C5_device_of_nothing_is_not_asked_for),
		cmocka_unit_test(cai_C6_stream_0_is_refused),
		cmocka_unit_test(cai_C6_other_streams_are_taken),
		cmocka_unit_test(cai_C6_stream_kind_is_known),
		cmocka_unit_test(cai_C10_no_strides_are_c_order),
		cmocka_unit_test(cai_C10_strides_need_not_be_multiples),
		cmocka_unit_test(cai_C11_extents_are_those_of_every_element),
		cmocka_unit_test(cai_C11_all_strides_zero_reach_one_element),
		cmocka_unit_test(cai_C11_shapes_that_are_none),
		cmocka_unit_test(cai_C11_shapes_that_overflow),
		cmocka_unit_test(cai_C11_strides_that_overflow),
		cmocka_unit_test(cai_C11_reach_that_overflows),
		cmocka_unit_test(cai_C11_addresses_that_do_not_exist),
		cmocka_unit_test(cai_C12_typestr_is_a_text),
		cmocka_unit_test(cai_C12_order_characters),
		cmocka_unit_test(cai_C12_other_byte_order_is_not_reinterpreted),
		cmocka_unit_test(cai_C12_types_that_are_none),
		cmocka_unit_test(cai_C12_masks_of_bits_are_not_taken),
		cmocka_unit_test(cai_C13_structured_adds_up),
		cmocka_unit_test(cai_C13_descr_is_a_list),
		cmocka_unit_test(cai_C13_descr_ends_where_it_says),
		cmocka_unit_test(cai_C13_descr_of_a_simple_type),
		cmocka_unit_test(cai_P3_pointer_is_0_without_elements_only),
		cmocka_unit_test(cai_P4_strides_are_left_out_if_c_contiguous),
		cmocka_unit_test(cai_P5_P16_pointer_is_that_of_the_first_element),
		cmocka_unit_test(cai_P10_descr_of_structured_types_only),
		cmocka_unit_test(cai_P11_typestr_has_native_order),
		cmocka_unit_test(cai_P12_types_without_a_name),
		cmocka_unit_test(cai_P14_host_memory_is_not_exported),
		cmocka_unit_test(cai_P17_versions_of_exports),
		cmocka_unit_test(cai_rule_number_is_never_cut),
		cmocka_unit_test(cai_message_is_one_line),
		cmocka_unit_test(cai_export_checks_its_arguments),
		cmocka_unit_test(cai_import_checks_its_arguments),
		cmocka_unit_test(cai_import_reads_before_it_asks),
		cmocka_unit_test(cai_device_checks_its_arguments),
	};

	generator.state = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
