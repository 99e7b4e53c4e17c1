/* Opening of contexts. A context lives until its last reference is released: by the caller, or by what was made in it.
 */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

static void expect_refusal(struct bi_options options, int status, const char *reason)
{
	struct bi_context *context = STALE(struct bi_context);

	if (!options.device)
		options.device = "host";
	REFUSED_FOR(status, reason, bi_context_open(&options, &context, &error));
	assert_null(context);
}

static void options_are_checked(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;

	(void)state;
	REFUSED(BI_EINVAL, bi_context_open(&options, NULL, &error));
	options.adopt_stream = 1;
	expect_refusal(options, BI_EINVAL, "adopt_context is 0, but adopt_stream is 0x");
	options = (struct bi_options)BI_OPTIONS_INIT;
	options.memory = BI_MEMORY_HOST + 1;
	expect_refusal(options, BI_EINVAL, "options->memory");
	options = (struct bi_options)BI_OPTIONS_INIT;
	options.log_level = BI_LOG_DEBUG + 1;
	expect_refusal(options, BI_EINVAL, "options->log_level");
	options = (struct bi_options)BI_OPTIONS_INIT;
	options.device = "cuda:77";
	expect_refusal(options, BI_ENODEVICE, "fits no device");
}

static void memory_that_the_device_lacks_is_refused(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	(void)state;
	options.memory = BI_MEMORY_UNIFIED;
	options.device = "cuda:0";
	OK(bi_context_open(&options, &context, &error));
	bi_context_release(context);
	options.memory = BI_MEMORY_HOST;
	OK(bi_context_open(&options, &context, &error));
	bi_context_release(context);
	options.memory = BI_MEMORY_UNIFIED;
	options.device = "host";
	if (bi_context_open(&options, &context, NULL) == BI_OK)
		bi_context_release(context);
	else
		expect_refusal(options, BI_EUNSUPPORTED, "no unified memory");
}

static void opening_is_logged(void **state)
{
	struct log_lines log = { 0 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	(void)state;
	options.device = "cuda:1";
	options.log = keep_log_line;
	options.log_data = &log;
	options.log_level = BI_LOG_INFO;
	OK(bi_context_open(&options, &context, &error));
	assert_int_equal(count_lines(&log, "opened cuda:1: "), 1);
	assert_string_equal(bi_context_device(context)->spec, "cuda:1");
	assert_string_equal(bi_context_notes(context), "");
	bi_context_release(context);
}

/* The OpenCL loader has no driver here, so "auto" on a machine without CUDA says why OpenCL was passed over. */
static int notes_of_auto(void *unused)
{
	struct bi_context *context;
	int rc;

	(void)unused;
	setenv("BI_CUDA_LIBRARY", "libbi-no-such-driver.so", 1);
	setenv("BI_OPENCL_LIBRARY", "libbi-no-such-loader.so", 1);
	if (bi_context_open(NULL, &context, NULL) != BI_OK)
		return 1;
	rc = strcmp(bi_context_device(context)->spec, "host") ? 2 : 0;
	if (!strstr(bi_context_notes(context), "cuda: ") || !strstr(bi_context_notes(context), "no-such-loader"))
		rc = 3;
	bi_context_release(context);
	return rc;
}

static void auto_says_what_it_passed_over(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(notes_of_auto, NULL), 0);
}

static struct bi_context *open_host(int *closed)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = "host";
	options.release = count_release;
	options.release_data = closed;
	assert_int_equal(bi_context_open(&options, &context, &error), BI_OK);
	return context;
}

static void test_last_reference(void **state)
{
	int closed = 0;
	struct bi_context *context = open_host(&closed);

	(void)state;
	assert_ptr_equal(bi_context_retain(context), context);
	bi_context_release(context);
	assert_int_equal(closed, 0);
	bi_context_release(context);
	assert_int_equal(closed, 1);
	bi_context_release(NULL);
}

/* What a caller has seen of the closing of a context. */
static struct {
	int calls; /* of close_around */
	int closed; /* calls of `release`, which comes after the close */
	int closed_before, closed_after; /* the same, before and after `close` was called */
} seen;

static void close_around(void (*close)(struct bi_context *context), struct bi_context *context)
{
	seen.calls++;
	seen.closed_before = seen.closed;
	close(context);
	seen.closed_after = seen.closed;
}

static void the_last_release_calls_around_close(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_stream *stream;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	options.device = "host";
	options.around_close = close_around;
	options.release = count_release;
	options.release_data = &seen.closed;
	OK(bi_context_open(&options, &context, &error));
	stream = bi_stream_retain(bi_context_stream(context));
	bi_context_release(context);
	assert_int_equal(seen.calls, 0);
	bi_stream_release(stream);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.closed_before, 0);
	assert_int_equal(seen.closed_after, 1);
}

static void test_view_keeps_it_open(void **state)
{
	static const int64_t shape[1] = { 4 };
	int numbers[4] = { 1, 2, 3, 4 }, back[4] = { 0 }, closed = 0, released = 0;
	struct bi_context *context = open_host(&closed);
	struct bi_view *view;
	struct bi_dtype type;

	(void)state;
	assert_int_equal(bi_dtype_make(BI_INT32, 1, 0, &type, &error), BI_OK);
	assert_int_equal(bi_view_wrap_host(context, numbers, type, 1, shape, count_release, &released, &view, &error),
			 BI_OK);
	bi_context_release(context);
	assert_int_equal(closed, 0);
	assert_ptr_equal(bi_memory_context(bi_view_memory(view)), context);
	assert_int_equal(bi_view_read(view, back, sizeof(back), &error), BI_OK);
	assert_memory_equal(back, numbers, sizeof(back));
	bi_view_release(view);
	assert_int_equal(released, 1);
	assert_int_equal(closed, 1);
}

static void test_trim_and_current(void **state)
{
	int closed = 0, entered = -1;
	struct bi_context *context = open_host(&closed);

	(void)state;
	assert_int_equal(bi_context_push_current(context, &entered, &error), BI_OK);
	assert_int_equal(entered, 0);
	bi_context_pop_current(context, entered);
	entered = 1;
	assert_int_equal(bi_context_push_current(NULL, &entered, &error), BI_EINVAL);
	assert_int_equal(entered, 0);
	assert_int_equal(bi_context_trim(context, 0, &error), BI_OK);
	assert_int_equal(bi_context_trim(NULL, 0, &error), BI_EINVAL);
	bi_context_release(context);
	assert_int_equal(closed, 1);
}

#ifndef _WIN32
/* The child gets a context of its own, and may release the reference that it inherited. Returns 0 if so. */
static int share_in_child(void *data)
{
	struct bi_context *inherited = *(struct bi_context **)data, *own;

	if (bi_context_shared("host", &own, NULL) || own == inherited)
		return 1;
	bi_context_release(own);
	bi_context_release(inherited);
	return 0;
}

static void a_child_shares_no_context_with_its_parent(void **state)
{
	struct bi_context *context, *again;

	(void)state;
	OK(bi_context_shared("host", &context, &error));
	assert_int_equal(status_of_child(share_in_child, &context), 0);
	OK(bi_context_shared("host", &again, &error));
	assert_ptr_equal(again, context);
	bi_context_release(again);
	bi_context_release(context);
}
#endif

int main(void)
{
	/* The child must be the first to open a driver. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auto_says_what_it_passed_over),
		cmocka_unit_test(options_are_checked),
		cmocka_unit_test(memory_that_the_device_lacks_is_refused),
		cmocka_unit_test(opening_is_logged),
		cmocka_unit_test(test_last_reference),
		cmocka_unit_test(the_last_release_calls_around_close),
		cmocka_unit_test(test_view_keeps_it_open),
		cmocka_unit_test(test_trim_and_current),
#ifndef _WIN32
		cmocka_unit_test(a_child_shares_no_context_with_its_parent),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
