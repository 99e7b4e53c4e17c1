/* bi_fill: every byte pattern and size, every layout, nothing outside of the view. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const types[] = { "uint8", "int16", "bytes3", "float32", "complex64", "void12", "complex128" };

#define TYPE_COUNT (ARRAY_LENGTH(types))
#define LARGEST_ITEM 16
#define MEMORY_SIZE 2048
#define STARTS 17

/* The element may change as soon as bi_fill has returned. */
static void fill_both(const struct oracle *oracle, const struct bi_layout *layout, const unsigned char *element,
		      struct bi_stream *stream)
{
	struct bi_view *view = view_of(oracle, layout, 0);
	unsigned char passing[LARGEST_ITEM];

	memcpy(passing, element, layout->dtype.item_size);
	OK(bi_fill(view, passing, stream, &error));
	check_order(oracle->memory);
	memset(passing, 0xee, sizeof(passing));
	bi_view_release(view);
	naive_fill(oracle->bytes, layout, element);
	fixture.cases++;
}

static void random_target(struct bi_layout *layout, const char *type)
{
	int64_t shape[BI_MAX_NDIM];
	struct bi_dtype dtype = dtype_of(type);

	do {
		int ndim = random_shape(shape);

		random_layout(layout, random_item_of_size(dtype.item_size), ndim, shape, random_target_spread());
		layout->dtype = dtype;
		layout->descr = NULL;
		layout->descr_length = 0;
	} while (settle_randomly(layout) > MEMORY_SIZE);
}

static void fill_and_check(const struct oracle *oracle, const char *type, const unsigned char *element)
{
	struct bi_layout layout;
	struct bi_stream *stream = random_stream(oracle->memory);
	char what[600];

	random_target(&layout, type);
	snprintf(what, sizeof(what), "fill of %s with 0x%02x...", layout_text(&layout), element[0]);
	fill_both(oracle, &layout, element, stream);
	bi_stream_release(stream);
	oracle_check(oracle, what);
}

/* All bytes of the element alike, the patterns for which a fill may become a memset. */
static void test_uniform_patterns(void **state)
{
	struct oracle oracle;

	(void)state;
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, MEMORY_SIZE);
	for (int i = 0; i < effort(256 * (int)TYPE_COUNT); i++) {
		int pattern = chosen(i, 256 * (int)TYPE_COUNT);
		unsigned char element[LARGEST_ITEM];

		memset(element, pattern % 256, sizeof(element));
		fill_and_check(&oracle, types[pattern / 256], element);
	}
	oracle_close(&oracle);
}

/* Elements that repeat a shorter pattern, or differ in one byte from one that does. */
static void periodic_element(unsigned char *element, size_t size)
{
	size_t period = (size_t)test_between(&fixture.random, 1, (int64_t)size);

	random_bytes(element, period);
	for (size_t i = period; i < LARGEST_ITEM; i++)
		element[i] = element[i - period];
	if (test_between(&fixture.random, 0, 1))
		element[test_between(&fixture.random, 0, (int64_t)size - 1)] ^= 0x80;
}

static void test_patterns(void **state)
{
	(void)state;
	for (int place = 0; place < PLACE_COUNT; place++) {
		struct oracle oracle;

		if (!has_place(fixture.context, (enum place)place))
			continue;
		oracle_open(&oracle, fixture.context, (enum place)place, MEMORY_SIZE);
		for (int i = 0; i < effort(140); i++) {
			const char *type = types[chosen(i, (int)TYPE_COUNT)];
			unsigned char element[LARGEST_ITEM];

			periodic_element(element, dtype_of(type).item_size);
			fill_and_check(&oracle, type, element);
		}
		oracle_close(&oracle);
	}
}

/* A dense view in the middle of a memory, at every alignment. */
static void test_neighbours(void **state)
{
	struct oracle oracle;

	(void)state;
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, 200);
	for (int i = 0; i < effort(STARTS * (int)TYPE_COUNT); i++) {
		int which = chosen(i, STARTS * (int)TYPE_COUNT), start = which % STARTS;
		const char *type = types[which / STARTS];
		const int64_t shape[] = { 1 + start % 9 };
		struct bi_layout layout;
		unsigned char element[LARGEST_ITEM];

		random_bytes(element, sizeof(element));
		OK(bi_layout_init(&layout, dtype_of(type), 1, shape, NULL, start, &error));
		fill_both(&oracle, &layout, element, NULL);
		oracle_check(&oracle, type);
	}
	oracle_close(&oracle);
}

/* Overlapping fills on several streams end in the order in which they were called. */
static void test_order(void **state)
{
	(void)state;
	for (int round = 0; round < effort(20); round++) {
		struct oracle oracle;

		oracle_open(&oracle, fixture.context, PLACE_DEVICE, MEMORY_SIZE);
		for (int i = 0; i < 25; i++) {
			struct bi_stream *stream = random_stream(oracle.memory);
			unsigned char element[LARGEST_ITEM];
			struct bi_layout layout;

			random_bytes(element, sizeof(element));
			random_target(&layout, types[(size_t)i % TYPE_COUNT]);
			fill_both(&oracle, &layout, element, stream);
			bi_stream_release(stream);
		}
		oracle_check(&oracle, "fills one over the other");
		oracle_close(&oracle);
	}
}

static void test_large(void **state)
{
	const int64_t rows = effort(300), shape[] = { rows, 1001 };
	static const int64_t strides[] = { 1003 * 3, 3 };
	struct bi_layout layout;
	struct oracle oracle;

	(void)state;
	OK(bi_layout_init(&layout, dtype_of("bytes3"), 2, shape, strides, 5, &error));
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, 5 + (size_t)rows * 1003 * 3);
	fill_both(&oracle, &layout, (const unsigned char *)"\x01\x80\xff", NULL);
	oracle_check(&oracle, "fill of long rows");
	oracle_close(&oracle);
}

/* Items as large as no register, no kernel argument and no piece of staging memory is. */
static void fill_with_large_item(uint32_t size)
{
	static const int64_t shape[] = { 2, 3 };
	const int64_t strides[] = { -(int64_t)(size + 5), 2 * (int64_t)(size + 5) };
	unsigned char *element = malloc(size);
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct oracle oracle;
	struct bi_view *view;

	assert_non_null(element);
	random_bytes(element, size);
	OK(bi_dtype_make(BI_VOID, 1, size, &dtype, &error));
	OK(bi_layout_init(&layout, dtype, 2, shape, strides, 0, &error));
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, settle_randomly(&layout));
	view = view_of(&oracle, &layout, 0);
	naive_fill(oracle.bytes, &layout, element);
	OK(bi_fill(view, element, NULL, &error));
	check_order(oracle.memory);
	memset(element, 0xee, size);
	free(element);
	bi_view_release(view);
	oracle_check(&oracle, "fill with a large item");
	oracle_close(&oracle);
	fixture.cases++;
}

static void test_large_items(void **state)
{
	static const uint32_t sizes[] = { 255, 256, 257, 300, 5000, 70000 };

	(void)state;
	for (int i = 0; i < effort(6); i++)
		fill_with_large_item(sizes[chosen(i, 6)]);
	if (is_thorough())
		fill_with_large_item((1 << 20) + 77);
}

/* Returns the first byte of the memory, or NULL if the CPU cannot use it directly. */
static const unsigned char *first_byte(const struct oracle *oracle)
{
	static const int64_t shape[] = { MEMORY_SIZE };
	struct bi_layout layout;
	struct bi_view *view;
	const void *first;

	OK(bi_layout_init(&layout, dtype_of("uint8"), 1, shape, NULL, 0, &error));
	view = view_of(oracle, &layout, 0);
	OK(bi_view_synchronize(view, &error));
	first = bi_view_host_pointer(view);
	bi_view_release(view);
	return first;
}

static void fill_with_own_bytes(const struct oracle *oracle, const unsigned char *first)
{
	const size_t at = (size_t)test_between(&fixture.random, 0, MEMORY_SIZE - LARGEST_ITEM);
	unsigned char element[LARGEST_ITEM];
	struct bi_layout layout;
	struct bi_view *view;

	random_target(&layout, types[test_between(&fixture.random, 0, (int64_t)TYPE_COUNT - 1)]);
	memcpy(element, oracle->bytes + at, layout.dtype.item_size);
	view = view_of(oracle, &layout, 0);
	OK(bi_fill(view, first + at, NULL, &error));
	bi_view_release(view);
	naive_fill(oracle->bytes, &layout, element);
	oracle_check(oracle, "fill with an item inside the memory");
}

/* The item is any bytes of the memory that is filled, at every distance from an element. */
static void test_items_inside_the_memory(void **state)
{
	(void)state;
	for (int i = 0; i < effort(200); i++) {
		struct oracle oracle;
		const unsigned char *first;

		oracle_open(&oracle, fixture.context, PLACE_DEVICE, MEMORY_SIZE);
		first = first_byte(&oracle);
		if (first)
			fill_with_own_bytes(&oracle, first);
		oracle_close(&oracle);
		if (!first)
			skip();
		fixture.cases++;
	}
}

static void test_refusals(void **state)
{
	static const int64_t shape[] = { 3, 3 }, strides[] = { 4, 4 };
	const int32_t item = 5;
	struct bi_layout layout;
	struct oracle oracle;
	struct bi_view *view;

	(void)state;
	OK(bi_layout_init(&layout, dtype_of("int32"), 2, shape, strides, 0, &error));
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, 64);
	view = view_of(&oracle, &layout, 0);
	REFUSED(BI_EOVERLAP, bi_fill(view, &item, NULL, &error));
	bi_view_release(view);
	layout.strides[0] = 12;
	view = view_of(&oracle, &layout, BI_VIEW_READONLY);
	REFUSED(BI_EREADONLY, bi_fill(view, &item, NULL, &error));
	bi_view_release(view);
	view = view_of(&oracle, &layout, 0);
	REFUSED(BI_EINVAL, bi_fill(view, NULL, NULL, &error));
	REFUSED(BI_EINVAL, bi_fill(NULL, &item, NULL, &error));
	bi_view_release(view);
	oracle_check(&oracle, "refused fills");
	oracle_close(&oracle);
	fixture.cases += 4;
}

int fill_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_uniform_patterns),
		TEST(test_patterns),
		TEST(test_neighbours),
		TEST(test_order),
		TEST(test_large),
		TEST(test_large_items),
		TEST(test_items_inside_the_memory),
		TEST(test_refusals),
	};

	return cmocka_run_group_tests_name("fill", tests, NULL, NULL);
}
