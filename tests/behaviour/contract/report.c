/* The report, and the log. */
#include "contract.h"
#include "json.h"
#include "support/use.h"

#include <stdatomic.h>
#include <stdio.h>

static void test_json_reader(void **state)
{
	static const char *const good[] = {
		"{}", " [] ", "[1, -0.5e+3, \"a\\u00e9\\n\", true, null, {\"a\": [[]]}]", "\"x\"", "0",
	};
	static const char *const bad[] = {
		"",    "{",       "[1,]", "{\"a\" 1}", "{a: 1}", "01", "1.",        "\"\n\"", "[1] 2", "{\"a\": 1,}",
		"nul", "\"\\x\"", "-",    "[1 2]",     "+1",     "\"", "\"\\u12\"",
	};
	static const char text[] = "{\"a\": {\"b\": [1, {\"c\": \"yes\"}, 33]}, \"ab\": 4}";

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
		assert_true(json_valid(good[i]));
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_false(json_valid(bad[i]));
	assert_true(json_is_string(json_find(text, "a.b.1.c"), "yes"));
	assert_true(json_number(json_find(text, "a.b.2")) == 33);
	assert_true(json_number(json_find(text, "ab")) == 4);
	assert_int_equal(json_count(json_find(text, "a.b")), 3);
	assert_null(json_find(text, "a.b.3"));
	assert_null(json_find(text, "b"));
	fixture.cases += 27;
}

static struct bi_context *profiled(void)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.profile = 1;
	return open_with(fixture.spec, options);
}

static char *report_of(struct bi_context *context)
{
	char *text = NULL;

	OK(bi_context_report(context, &text, &error));
	assert_non_null(text);
	if (!json_valid(text))
		fail_msg("not JSON: %s", text);
	return text;
}

static const char *member(const char *text, int operation, const char *name)
{
	char path[64];
	const char *value;

	snprintf(path, sizeof(path), "operations.%d.%s", operation, name);
	value = json_find(text, path);
	if (!value)
		fail_msg("no %s in %s", path, text);
	return value;
}

static void check_operation(const char *text, int i, const char *operation, const char *plan, double bytes)
{
	const char *time = member(text, i, "nanoseconds");

	if (!json_is_string(member(text, i, "operation"), operation) ||
	    !json_is_string(member(text, i, "plan"), plan) || json_number(member(text, i, "bytes")) != bytes)
		fail_msg("operation %d is not %s, %s, %.0f: %s", i, operation, plan, bytes, text);
	assert_true(*time == 'n' || json_number(time) >= 0);
	fixture.cases++;
}

static int operation_count(struct bi_context *context)
{
	char *text = report_of(context);
	const char *operations = json_find(text, "operations");
	int count;

	assert_non_null(operations);
	count = json_count(operations);
	bi_report_free(text);
	return count;
}

/* A dense array, and the same transposed. */
struct arrays {
	struct bi_view *a, *b, *turned;
	unsigned char bytes[4 * 60 * 70];
};

static void open_arrays(struct arrays *arrays, struct bi_context *context)
{
	static const int64_t shape[] = { 60, 70 }, turned[] = { 70, 60 };

	memset(arrays->bytes, 0, sizeof(arrays->bytes));
	OK(bi_view_empty(context, dtype_of("int32"), 2, shape, &arrays->a, &error));
	OK(bi_view_empty(context, dtype_of("int32"), 2, turned, &arrays->b, &error));
	OK(bi_view_permute(arrays->a, NULL, &arrays->turned, &error));
}

static void close_arrays(struct arrays *arrays)
{
	bi_view_release(arrays->a);
	bi_view_release(arrays->b);
	bi_view_release(arrays->turned);
}

static void test_operations(void **state)
{
	static const int64_t index[] = { 1, 2 };
	struct bi_context *context = profiled();
	struct arrays arrays;
	int32_t element;
	char *text;

	(void)state;
	open_arrays(&arrays, context);
	OK(bi_view_write(arrays.a, arrays.bytes, sizeof(arrays.bytes), &error));
	OK(bi_copy(arrays.b, arrays.turned, NULL, &error));
	OK(bi_fill(arrays.a, "\1\2\3\4", NULL, &error));
	OK(bi_view_read(arrays.b, arrays.bytes, sizeof(arrays.bytes), &error));
	OK(bi_view_set_element(arrays.a, index, &index[0], &error));
	OK(bi_view_get_element(arrays.a, index, &element, &error));
	text = report_of(context);
	assert_int_equal(json_count(json_find(text, "operations")), 6);
	check_operation(text, 0, "write", "linear", 16800);
	check_operation(text, 1, "copy", "tiles", 16800);
	check_operation(text, 2, "fill", "fill", 16800);
	check_operation(text, 3, "read", "linear", 16800);
	check_operation(text, 4, "set", "linear", 4);
	check_operation(text, 5, "get", "linear", 4);
	assert_true(json_find(text, "profiling") && *json_find(text, "profiling") == 't');
	assert_true(json_is_string(json_find(text, "device"), bi_context_device(context)->spec));
	bi_report_free(text);
	close_arrays(&arrays);
	bi_context_release(context);
}

/* The stream of an operation is the one that it was given. */
static void test_streams(void **state)
{
	struct bi_context *context = profiled();
	struct bi_stream *stream;
	struct arrays arrays;
	char *text;

	(void)state;
	open_arrays(&arrays, context);
	OK(bi_stream_create(context, 0, &stream, &error));
	OK(bi_fill(arrays.a, "\1\2\3\4", NULL, &error));
	OK(bi_fill(arrays.b, "\1\2\3\4", stream, &error));
	check_order(bi_view_memory(arrays.b));
	text = report_of(context);
	assert_true(json_number(member(text, 0, "stream")) == 0);
	assert_true(json_number(member(text, 1, "stream")) > 0);
	bi_report_free(text);
	bi_stream_release(stream);
	close_arrays(&arrays);
	bi_context_release(context);
	fixture.cases += 2;
}

/* The report of the arrays' context has the times of another context's stream, also after that one was closed. */
static void test_times_of_another_context(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = profiled(), *again;
	struct bi_stream *stream;
	struct arrays arrays;
	char *text;

	(void)state;
	if (!is_device(context)) {
		bi_context_release(context);
		return;
	}
	options.adopt_context = bi_context_handle(context);
	again = open_with(bi_context_device(context)->backend, options);
	OK(bi_stream_create(again, BI_STREAM_IN_ORDER, &stream, &error));
	open_arrays(&arrays, context);
	OK(bi_fill(arrays.a, "\1\2\3\4", stream, &error));
	OK(bi_stream_synchronize(stream, &error));
	bi_stream_release(stream);
	bi_context_release(again);
	text = report_of(context);
	check_operation(text, 0, "fill", "fill", 16800);
	if (is_cuda(context))
		assert_true(json_number(member(text, 0, "nanoseconds")) >= 0);
	bi_report_free(text);
	close_arrays(&arrays);
	bi_context_release(context);
}

static void test_pause(void **state)
{
	struct bi_context *context = profiled();
	struct arrays arrays;

	(void)state;
	open_arrays(&arrays, context);
	OK(bi_fill(arrays.a, "\1\2\3\4", NULL, &error));
	assert_int_equal(operation_count(context), 1);
	bi_context_profile_pause(context);
	OK(bi_fill(arrays.a, "\1\2\3\4", NULL, &error));
	OK(bi_copy(arrays.b, arrays.turned, NULL, &error));
	assert_int_equal(operation_count(context), 1);
	bi_context_profile_resume(context);
	OK(bi_copy(arrays.b, arrays.turned, NULL, &error));
	assert_int_equal(operation_count(context), 2);
	close_arrays(&arrays);
	bi_context_release(context);
	fixture.cases += 3;
}

static void test_not_profiled(void **state)
{
	struct bi_context *context = open_context(fixture.spec);
	struct arrays arrays;
	char *text;

	(void)state;
	open_arrays(&arrays, context);
	OK(bi_fill(arrays.a, "\1\2\3\4", NULL, &error));
	bi_context_profile_resume(context);
	OK(bi_fill(arrays.a, "\1\2\3\4", NULL, &error));
	assert_int_equal(operation_count(context), 0);
	text = report_of(context);
	assert_true(*json_find(text, "profiling") == 'f');
	bi_report_free(text);
	close_arrays(&arrays);
	bi_context_release(context);
	fixture.cases += 2;
}

/* Arrays without elements are no operation of a driver. */
static void test_nothing_is_not_reported(void **state)
{
	static const int64_t shape[] = { 0, 3 };
	struct bi_context *context = profiled();
	struct bi_view *view;

	(void)state;
	OK(bi_view_empty(context, dtype_of("int32"), 2, shape, &view, &error));
	OK(bi_fill(view, "\1\2\3\4", NULL, &error));
	OK(bi_copy(view, view, NULL, &error));
	assert_int_equal(operation_count(context), 0);
	bi_view_release(view);
	bi_context_release(context);
	fixture.cases++;
}

static double waits(struct bi_context *context, const char *reason)
{
	char *text = report_of(context), path[64];
	const char *value;
	double number;

	snprintf(path, sizeof(path), "host_waits.%s", reason);
	value = json_find(text, path);
	assert_non_null(value);
	number = json_number(value);
	bi_report_free(text);
	return number;
}

/* Enqueueing does not wait; asking for bytes does. */
static void test_waits(void **state)
{
	static const char *const reasons[] = { "synchronize", "value",  "map",   "cross",
					       "staging",     "export", "close", "debug" };
	struct bi_context *context = open_context(fixture.spec);
	struct arrays arrays;
	struct bi_stream *stream;
	int asks = can(context, BI_CAP_ASYNC);

	(void)state;
	open_arrays(&arrays, context);
	OK(bi_stream_create(context, 0, &stream, &error));
	OK(bi_fill(arrays.a, "\1\2\3\4", stream, &error));
	check_order(bi_view_memory(arrays.a));
	OK(bi_copy(arrays.b, arrays.turned, NULL, &error));
	OK(begin_use(arrays.b, stream, &error));
	OK(end_use(arrays.b, stream, &error));
	for (size_t i = 0; i < ARRAY_LENGTH(reasons); i++)
		assert_true(waits(context, reasons[i]) == 0);
	OK(bi_view_read(arrays.b, arrays.bytes, sizeof(arrays.bytes), &error));
	assert_true(!asks || waits(context, "value") > 0);
	bi_stream_release(stream);
	close_arrays(&arrays);
	bi_context_release(context);
	fixture.cases += 8;
}

struct lines {
	atomic_int count, bad;
};

static void take_line(void *data, enum bi_log_level level, const char *message)
{
	struct lines *lines = data;

	atomic_fetch_add(&lines->count, 1);
	if (!*message || strpbrk(message, "\n\r") || level < BI_LOG_ERROR || level > BI_LOG_DEBUG)
		atomic_fetch_add(&lines->bad, 1);
}

static int lines_at(int level)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct lines lines = { 0, 0 };
	struct bi_context *context;

	options.log = take_line;
	options.log_data = &lines;
	options.log_level = level;
	context = open_with(fixture.spec, options);
	bi_context_release(context);
	assert_int_equal(lines.bad, 0);
	fixture.cases++;
	return lines.count;
}

static void test_log(void **state)
{
	(void)state;
	assert_true(lines_at(BI_LOG_DEBUG) > 0);
	assert_true(lines_at(BI_LOG_INFO) > 0);
	assert_int_equal(lines_at(BI_LOG_ERROR), 0);
	assert_int_equal(lines_at(0), 0);
}

static void test_arguments(void **state)
{
	char *text = STALE(char);

	(void)state;
	REFUSED(BI_EINVAL, bi_context_report(NULL, &text, &error));
	assert_null(text);
	REFUSED(BI_EINVAL, bi_context_report(fixture.context, NULL, &error));
	fixture.cases += 2;
}

int report_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_json_reader),  TEST(test_operations),
		TEST(test_streams),      TEST(test_pause),
		TEST(test_not_profiled), TEST(test_nothing_is_not_reported),
		TEST(test_waits),        TEST(test_log),
		TEST(test_arguments),    TEST(test_times_of_another_context),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
