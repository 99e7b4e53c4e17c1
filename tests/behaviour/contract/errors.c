/*
 * What errors say. That each failure leaves one sentence, sets the status that is returned and makes *out NULL is
 * checked by REFUSED all over the suite; here are the words.
 */
#include "contract.h"

#include <stdio.h>

static void test_statuses(void **state)
{
	static const struct {
		int status;
		const char *name, *text;
	} statuses[] = {
#define STATUS(name, value, text) { (value), "BI_" #name, text },
		BI_STATUS_MAP(STATUS)
#undef STATUS
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++) {
		assert_string_equal(bi_status_name(statuses[i].status), statuses[i].name);
		assert_string_equal(bi_status_text(statuses[i].status), statuses[i].text);
		fixture.cases++;
	}
	assert_string_equal(bi_status_name(1), "BI_E?");
	assert_string_equal(bi_status_name(-99), "BI_E?");
	assert_true(*bi_status_text(-99));
}

static void test_version(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", BI_VERSION_MAJOR, BI_VERSION_MINOR, BI_VERSION_PATCH);
	assert_string_equal(bi_version(), text);
	fixture.cases++;
}

/* Fails unless the last message contains both words. */
static void says(const char *first, const char *second)
{
	if (!strstr(error.message, first) || !strstr(error.message, second))
		fail_msg("\"%s\" names neither %s nor %s", error.message, first, second);
	fixture.cases++;
}

static void test_numbers_in_messages(void **state)
{
	static const int64_t shape[] = { 3, 5 }, other[] = { 3, 6 }, index[] = { 2, 17 }, bad[] = { 3, -44 };
	static const int axes[] = { 0, 23 };
	static const struct bi_index item = { BI_INDEX_INTEGER, 81, 0, 0 };
	struct bi_view *view, *wide, *out;
	struct bi_layout layout;
	int32_t values[15] = { 0 };

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 2, shape, &view, &error));
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 2, other, &wide, &error));
	REFUSED(BI_EBOUNDS, bi_view_get_element(view, index, values, &error));
	says("17", "5");
	REFUSED(BI_EBOUNDS, bi_view_write(view, values, 59, &error));
	says("59", "60");
	REFUSED(BI_EINVAL, bi_copy(view, wide, NULL, &error));
	says("5", "6");
	REFUSED(BI_EINVAL, bi_view_permute(view, axes, &out, &error));
	says("23", "2");
	REFUSED(BI_EBOUNDS, bi_view_index(view, &item, 1, &out, &error));
	says("81", "3");
	REFUSED(BI_EINVAL, bi_view_empty(fixture.context, dtype_of("int32"), 2, bad, &out, &error));
	says("-44", "shape");
	REFUSED(BI_EINVAL, bi_view_flip(view, 9, &out, &error));
	says("9", "axis");
	bi_view_layout(view, &layout);
	layout.ndim = 65;
	FAILS(bi_view_create(bi_view_memory(view), &layout, 0, &out, &error));
	says("65", "64");
	layout.ndim = 2;
	layout.offset = 4;
	REFUSED(BI_EBOUNDS, bi_view_create(bi_view_memory(view), &layout, 0, &out, &error));
	says("64", "60");
	bi_view_release(view);
	bi_view_release(wide);
}

/* A message names the argument that is wrong and no other, the bits that are allowed, and what to do instead. */
static void test_limits_and_remedies_in_messages(void **state)
{
	static const int64_t shape[] = { 2 }, steps[] = { 0 };
	static const struct bi_index item = { BI_INDEX_INTEGER, 0, 0, 0 };
	static const char descr[] = "[('a', '<i2'), ('b', '<i2')]";
	struct bi_options options = { 0 };
	struct bi_stream *stream = bi_context_stream(fixture.context), *none = NULL, *made;
	struct bi_view *view, *shared, *out;
	struct bi_context *context;
	struct bi_layout layout;
	struct bi_map *map;
	int count;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 1, shape, &view, &error));
	REFUSED(BI_EINVAL, bi_view_index(view, NULL, 1, &out, &error));
	says("count is 1", "items is NULL");
	REFUSED(BI_EINVAL, bi_view_index(view, &item, -1, &out, &error));
	says("count is -1", "below 0");
	REFUSED(BI_EINVAL, bi_devices(NULL, 3, &count, &error));
	says("capacity is 3", "devices is NULL");
	REFUSED(BI_EINVAL, bi_stream_join(stream, &none, 1, &error));
	says("others[0] is NULL", "");
	assert_null(strstr(error.message, "context"));
	REFUSED(BI_EINVAL, bi_stream_create(fixture.context, 8, &made, &error));
	says("0x8", "not in 0x1");
	bi_view_layout(view, &layout);
	REFUSED(BI_EINVAL, bi_view_create(bi_view_memory(view), &layout, 8, &out, &error));
	says("0x8", "not in 0x1");
	REFUSED(BI_EINVAL, bi_context_open(&options, &context, &error));
	says("struct_size is 0", "_INIT");
	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	REFUSED(BI_EBUSY, bi_fill(view, &item, NULL, &error));
	says("mapped for reading", "end the mapping first");
	OK(bi_unmap(map, &error));
	OK(bi_layout_init(&layout, dtype_of("int32"), 1, shape, steps, 0, &error));
	OK(bi_view_create(bi_view_memory(view), &layout, 0, &shared, &error));
	REFUSED(BI_EOVERLAP, bi_fill(shared, &item, NULL, &error));
	says("share bytes", "write to a copy");
	bi_view_release(shared);
	OK(bi_view_reinterpret(view, dtype_of("V4"), descr, &shared, &error));
	REFUSED(BI_EINVAL, bi_view_field(shared, "c", &out, &error));
	says("\"c\"", descr);
	bi_view_release(shared);
	bi_view_release(view);
}

/* A message that is too long is cut, not broken. */
static void test_long_message(void **state)
{
	char spec[2000];
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = STALE(struct bi_context);

	(void)state;
	memset(spec, 'x', sizeof(spec) - 1);
	spec[sizeof(spec) - 1] = '\0';
	options.device = spec;
	REFUSED(BI_ENODEVICE, bi_context_open(&options, &context, &error));
	assert_null(context);
	fixture.cases++;
}

/* Whoever does not want to know passes NULL. */
static void test_no_error_struct(void **state)
{
	static const int64_t shape[] = { 3 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = STALE(struct bi_context);
	struct bi_view *view = STALE(struct bi_view);

	(void)state;
	options.device = "vulkan";
	assert_int_equal(bi_context_open(&options, &context, NULL), BI_ENODEVICE);
	assert_null(context);
	assert_int_equal(bi_view_empty(fixture.context, dtype_of("int32"), -1, shape, &view, NULL), BI_EINVAL);
	assert_null(view);
	assert_int_equal(bi_view_empty(fixture.context, dtype_of("int32"), 1, shape, &view, NULL), BI_OK);
	assert_int_equal(bi_view_write(view, "abc", 3, NULL), BI_EBOUNDS);
	bi_view_release(view);
	fixture.cases += 4;
}

int errors_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_statuses),
		TEST(test_version),
		TEST(test_numbers_in_messages),
		TEST(test_limits_and_remedies_in_messages),
		TEST(test_long_message),
		TEST(test_no_error_struct),
	};

	return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
