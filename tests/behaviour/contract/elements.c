/* Single elements, and whole arrays from and to the caller's bytes. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>

#define LARGEST_ITEM 16

/* An array of random layout with the memory under it. */
struct array {
	struct oracle oracle;
	struct bi_layout layout;
	struct bi_view *view;
};

static enum place random_place(void)
{
	enum place place = (enum place)test_between(&fixture.random, 0, PLACE_COUNT - 1);

	return has_place(fixture.context, place) ? place : PLACE_DEVICE;
}

static void array_open(struct array *array, enum spread spread)
{
	int64_t shape[BI_MAX_NDIM];
	int ndim = random_shape(shape);

	random_layout(&array->layout, random_item(), ndim, shape, spread);
	oracle_open(&array->oracle, fixture.context, random_place(), settle_randomly(&array->layout));
	array->view = view_of(&array->oracle, &array->layout, 0);
}

static void array_close(struct array *array)
{
	bi_view_release(array->view);
	oracle_close(&array->oracle);
}

/* The index of a random element, counted from the end on some axes, and its offset. */
static int64_t random_index(const struct bi_layout *layout, int64_t *index)
{
	int64_t offset = layout->offset;

	for (int i = 0; i < layout->ndim; i++) {
		index[i] = test_between(&fixture.random, 0, layout->shape[i] - 1);
		offset += index[i] * layout->strides[i];
		if (test_between(&fixture.random, 0, 2) == 0)
			index[i] -= layout->shape[i];
	}
	return offset;
}

static void set_element(struct array *array)
{
	int64_t index[BI_MAX_NDIM], offset = random_index(&array->layout, index);
	unsigned char element[LARGEST_ITEM];

	random_bytes(element, sizeof(element));
	memcpy(array->oracle.bytes + offset, element, array->layout.dtype.item_size);
	OK(bi_view_set_element(array->view, index, element, &error));
	check_order(array->oracle.memory);
	memset(element, 0xee, sizeof(element));
	fixture.cases++;
}

/* No byte behind the element is written. */
static void get_element(struct array *array)
{
	int64_t index[BI_MAX_NDIM], offset = random_index(&array->layout, index);
	unsigned char element[LARGEST_ITEM + 1], expected[LARGEST_ITEM + 1];

	memset(element, 0x3c, sizeof(element));
	memset(expected, 0x3c, sizeof(expected));
	memcpy(expected, array->oracle.bytes + offset, array->layout.dtype.item_size);
	OK(bi_view_get_element(array->view, index, element, &error));
	assert_memory_equal(element, expected, sizeof(element));
	fixture.cases++;
}

/* One step beyond either end of each axis. */
static void check_outside(struct array *array)
{
	const struct bi_layout *layout = &array->layout;
	int64_t index[BI_MAX_NDIM] = { 0 };
	unsigned char element[LARGEST_ITEM] = { 0 };
	char number[24];

	for (int axis = 0; axis < layout->ndim && naive_size(layout); axis++)
		for (int side = 0; side < 2; side++) {
			random_index(layout, index);
			index[axis] = side ? layout->shape[axis] : -layout->shape[axis] - 1;
			snprintf(number, sizeof(number), "%lld", (long long)index[axis]);
			REFUSED(BI_EBOUNDS, bi_view_get_element(array->view, index, element, &error));
			assert_non_null(strstr(error.message, number));
			REFUSED(BI_EBOUNDS, bi_view_set_element(array->view, index, element, &error));
			fixture.cases += 2;
		}
}

static void test_get_and_set(void **state)
{
	(void)state;
	for (int i = 0; i < effort(200); i++) {
		struct array array;

		array_open(&array, SPREAD_NESTED);
		for (int j = 0; j < 4 && naive_size(&array.layout); j++) {
			set_element(&array);
			get_element(&array);
		}
		check_outside(&array);
		oracle_check(&array.oracle, "single elements");
		array_close(&array);
	}
}

/* Every index of an array without elements is outside. */
static void test_no_elements(void **state)
{
	static const int64_t shape[] = { 2, 0 }, indices[][2] = { { 0, 0 }, { 1, -1 }, { 0, 1 } };
	struct bi_view *view;
	int32_t element = 1;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 2, shape, &view, &error));
	for (size_t i = 0; i < 3; i++) {
		REFUSED(BI_EBOUNDS, bi_view_get_element(view, indices[i], &element, &error));
		REFUSED(BI_EBOUNDS, bi_view_set_element(view, indices[i], &element, &error));
		fixture.cases += 2;
	}
	bi_view_release(view);
}

static void test_no_axes(void **state)
{
	struct bi_view *view;
	int32_t in = 0x01020304, out = 0;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 0, NULL, &view, &error));
	OK(bi_view_set_element(view, NULL, &in, &error));
	OK(bi_view_get_element(view, NULL, &out, &error));
	assert_int_equal(in, out);
	bi_view_release(view);
	fixture.cases++;
}

/* Elements are read and written through read-only views as far as that goes, and NULL is refused. */
static void test_element_refusals(void **state)
{
	static const int64_t shape[] = { 3 }, index[] = { 1 };
	struct bi_view *whole, *view;
	struct bi_layout layout;
	int32_t element = 9, back = 0;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 1, shape, &whole, &error));
	bi_view_layout(whole, &layout);
	OK(bi_view_create(bi_view_memory(whole), &layout, BI_VIEW_READONLY, &view, &error));
	OK(bi_view_set_element(whole, index, &element, &error));
	OK(bi_view_get_element(view, index, &back, &error));
	assert_int_equal(back, 9);
	REFUSED(BI_EREADONLY, bi_view_set_element(view, index, &element, &error));
	REFUSED(BI_EINVAL, bi_view_set_element(whole, NULL, &element, &error));
	REFUSED(BI_EINVAL, bi_view_set_element(whole, index, NULL, &error));
	REFUSED(BI_EINVAL, bi_view_get_element(whole, NULL, &element, &error));
	REFUSED(BI_EINVAL, bi_view_get_element(whole, index, NULL, &error));
	bi_view_release(view);
	bi_view_release(whole);
	fixture.cases += 7;
}

static size_t dense_size(const struct bi_layout *layout)
{
	return naive_size(layout) * layout->dtype.item_size;
}

static void write_both(struct array *array)
{
	size_t nbytes = dense_size(&array->layout);
	unsigned char *dense = malloc(nbytes + 1);

	assert_non_null(dense);
	random_bytes(dense, nbytes);
	naive_scatter(array->oracle.bytes, &array->layout, dense);
	OK(bi_view_write(array->view, dense, nbytes, &error));
	memset(dense, 0xee, nbytes);
	free(dense);
	oracle_check(&array->oracle, layout_text(&array->layout));
	fixture.cases++;
}

static void read_both(struct array *array)
{
	size_t nbytes = dense_size(&array->layout);
	unsigned char *dense = malloc(nbytes + 8), *expected = malloc(nbytes + 8);

	assert_non_null(dense);
	assert_non_null(expected);
	memset(dense, 0x3c, nbytes + 8);
	memset(expected, 0x3c, nbytes + 8);
	naive_gather(array->oracle.bytes, &array->layout, expected);
	OK(bi_view_read(array->view, dense, nbytes, &error));
	if (memcmp(dense, expected, nbytes + 8) != 0)
		fail_msg("case %lu: read of %s differs", fixture.cases, layout_text(&array->layout));
	free(dense);
	free(expected);
	fixture.cases++;
}

static void test_write(void **state)
{
	(void)state;
	for (int i = 0; i < effort(500); i++) {
		struct array array;

		array_open(&array, random_target_spread());
		write_both(&array);
		read_both(&array);
		array_close(&array);
	}
}

/* Elements that share bytes can be read. */
static void test_read(void **state)
{
	(void)state;
	for (int i = 0; i < effort(300); i++) {
		struct array array;

		array_open(&array, random_source_spread());
		read_both(&array);
		array_close(&array);
	}
}

/* More or less than the view holds is refused and nothing has changed. */
static void test_wrong_sizes(void **state)
{
	(void)state;
	for (int i = 0; i < effort(60); i++) {
		struct array array;
		size_t nbytes, wrong[6];
		unsigned char *dense;

		array_open(&array, SPREAD_NESTED);
		nbytes = dense_size(&array.layout);
		dense = calloc(nbytes + 64, 1);
		assert_non_null(dense);
		memcpy(wrong,
		       (size_t[]){ nbytes + 1, nbytes - 1, 0, nbytes + array.layout.dtype.item_size, 2 * nbytes,
				   SIZE_MAX },
		       sizeof(wrong));
		for (size_t j = 0; j < 6; j++)
			if (wrong[j] != nbytes) {
				REFUSED(BI_EBOUNDS, bi_view_write(array.view, dense, wrong[j], &error));
				REFUSED(BI_EBOUNDS, bi_view_read(array.view, dense, wrong[j], &error));
				fixture.cases += 2;
			}
		for (size_t j = 0; j < nbytes + 64; j++)
			assert_int_equal(dense[j], 0);
		oracle_check(&array.oracle, "refused writes");
		free(dense);
		array_close(&array);
	}
}

static void test_write_refusals(void **state)
{
	static const int64_t shape[] = { 2, 2 }, strides[] = { 2, 2 };
	unsigned char bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct bi_layout layout;
	struct oracle oracle;
	struct bi_view *shared, *fixed;

	(void)state;
	OK(bi_layout_init(&layout, dtype_of("int16"), 2, shape, strides, 0, &error));
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, 8);
	shared = view_of(&oracle, &layout, 0);
	fixed = view_of(&oracle, &layout, BI_VIEW_READONLY);
	REFUSED(BI_EOVERLAP, bi_view_write(shared, bytes, 8, &error));
	REFUSED(BI_EREADONLY, bi_view_write(fixed, bytes, 8, &error));
	REFUSED(BI_EINVAL, bi_view_write(shared, NULL, 8, &error));
	REFUSED(BI_EINVAL, bi_view_read(shared, NULL, 8, &error));
	oracle_check(&oracle, "refused writes");
	bi_view_release(shared);
	bi_view_release(fixed);
	oracle_close(&oracle);
	fixture.cases += 4;
}

int elements_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_get_and_set), TEST(test_no_elements), TEST(test_no_axes),     TEST(test_element_refusals),
		TEST(test_write),       TEST(test_read),        TEST(test_wrong_sizes), TEST(test_write_refusals),
	};

	return cmocka_run_group_tests_name("elements", tests, NULL, NULL);
}
