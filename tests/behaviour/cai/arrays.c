#include "arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Types of the map that the interface can name, and structured ones. */
static const struct {
	char kind;
	int is_sized;
	uint32_t bits;
} kinds[] = {
#define KIND(name, text, kind, code, bits) { kind, (code) < 0, bits },
	BI_TYPE_MAP(KIND)
#undef KIND
};

static const struct {
	const char *descr;
	uint32_t size;
} structured[] = {
	{ "[('x', '<f4'), ('n', '<i2', (3,))]", 10 },
	{ "[('', '|V3')]", 3 },
	{ "[('a', [('b', '|u1'), ('', '|V7')]), ('c', '<c8')]", 16 },
};

#define KINDS ((unsigned)(sizeof(kinds) / sizeof(*kinds)))
#define STRUCTURED ((unsigned)(sizeof(structured) / sizeof(*structured)))

static unsigned nameable(unsigned type)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (kinds[i].kind && !type--)
			return i;
	return KINDS;
}

unsigned type_count(void)
{
	unsigned count = STRUCTURED;

	for (unsigned i = 0; i < KINDS; i++)
		count += kinds[i].kind != 0;
	return count;
}

static char native_order(void)
{
	const uint16_t one = 1;

	return *(const unsigned char *)&one ? '<' : '>';
}

static void set_type(struct test_random *random, unsigned type, struct array *out)
{
	unsigned i = nameable(type), number;

	if (i == KINDS) {
		i = type - (type_count() - STRUCTURED);
		out->item_size = structured[i].size;
		memcpy(out->descr, structured[i].descr, strlen(structured[i].descr));
		out->cai.descr = out->descr;
		out->cai.descr_length = strlen(structured[i].descr);
		snprintf(out->cai.typestr, BI_CAI_TYPESTR, "|V%u", out->item_size);
		return;
	}
	number = kinds[i].is_sized ? (unsigned)test_between(random, 0, 9) : kinds[i].bits / 8;
	out->item_size = kinds[i].is_sized ? number * kinds[i].bits / 8 : number;
	snprintf(out->cai.typestr, BI_CAI_TYPESTR, "%c%c%u", kinds[i].bits > 8 ? native_order() : '|', kinds[i].kind,
		 number);
}

/* Dense axes in a random order, with gaps and signs, or strides that know nothing of each other. */
static void set_strides(struct test_random *random, struct array *array)
{
	int64_t step = array->item_size;
	int is_wild = test_between(random, 0, 3) == 0, is_dense = test_between(random, 0, 2) == 0;

	for (int i = array->cai.ndim - 1; i >= 0; i--) {
		int64_t extent = array->shape[i];

		array->strides[i] = is_wild ? test_between(random, -40, 40) : step;
		step *= extent > 0 ? extent : 1;
		if (is_wild || is_dense)
			continue;
		step += test_between(random, 0, 1) * array->item_size;
		if (test_between(random, 0, 3) == 0)
			array->strides[i] = -array->strides[i];
	}
}

static int is_dense_in_c(const struct array *array)
{
	int64_t expected = array->item_size;

	for (int i = array->cai.ndim - 1; i >= 0; i--) {
		if (array->shape[i] > 1 && array->strides[i] != expected)
			return 0;
		expected *= array->shape[i];
	}
	return 1;
}

void finish_array(struct array *array)
{
	int64_t size = naive_size(&array->cai), first, end;

	array->cai.shape = array->shape;
	array->cai.strides = size == 0 || is_dense_in_c(array) ? NULL : array->strides;
	naive_extent(array, &first, &end);
	if (first == end)
		array->cai.data = 0;
}

void random_array(struct test_random *random, unsigned type, struct array *out)
{
	memset(out, 0, sizeof(*out));
	out->cai.version = BI_CAI_VERSION;
	out->cai.stream_kind = BI_CAI_STREAM_NONE;
	set_type(random, type, out);
	out->cai.ndim = (int32_t)test_between(random, 0, 5);
	if (test_between(random, 0, 19) == 0)
		out->cai.ndim = BI_MAX_NDIM;
	for (int i = 0; i < out->cai.ndim; i++)
		out->shape[i] = i < 5 ? test_between(random, test_between(random, 0, 4) == 0 ? 0 : 1, 4) : 1;
	set_strides(random, out);
	out->cai.shape = out->shape;
	out->cai.data = UINT64_C(0x7f0000000000) + (uint64_t)test_between(random, 0, 1 << 20);
	finish_array(out);
}

int64_t naive_size(const struct bi_cai *cai)
{
	int64_t size = 1;

	for (int i = 0; i < cai->ndim; i++)
		size *= cai->shape[i];
	return size;
}

/* The k-th element in C order. */
static int64_t offset_of(const struct array *array, int64_t k)
{
	int64_t offset = 0;

	for (int i = array->cai.ndim - 1; i >= 0; i--) {
		offset += k % array->shape[i] * array->strides[i];
		k /= array->shape[i];
	}
	return offset;
}

void naive_extent(const struct array *array, int64_t *first, int64_t *end)
{
	int64_t size = naive_size(&array->cai);

	*first = *end = 0;
	for (int64_t k = 0; k < size; k++) {
		int64_t offset = offset_of(array, k);

		if (offset < *first)
			*first = offset;
		if (offset + array->item_size > *end)
			*end = offset + array->item_size;
	}
}

void assert_same_array(const struct bi_cai *got, const struct bi_cai *expected)
{
	assert_string_equal(got->typestr, expected->typestr);
	assert_int_equal(got->ndim, expected->ndim);
	for (int i = 0; i < got->ndim; i++)
		assert_int_equal(got->shape[i], expected->shape[i]);
	assert_int_equal(!got->strides, !expected->strides);
	for (int i = 0; got->strides && i < got->ndim; i++)
		if (got->shape[i] > 1)
			assert_int_equal(got->strides[i], expected->strides[i]);
	assert_int_equal(!got->descr, !expected->descr);
	assert_int_equal(got->descr_length, expected->descr_length);
	if (got->descr)
		assert_memory_equal(got->descr, expected->descr, got->descr_length);
	assert_true(got->data == expected->data);
	assert_null(got->mask);
}
