/* The report of a context without operations and with them, and what is counted. */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include "common/runtime/report.h"

static struct bi_context *open_profiled(int profile)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = "host";
	options.profile = profile;
	OK(bi_context_open(&options, &context, &error));
	return context;
}

/* The position of a text, or -1. */
static long position_of(const char *report, const char *text)
{
	const char *at = strstr(report, text);

	return at ? (long)(at - report) : -1;
}

static void expect_balanced(const char *json)
{
	int depth = 0;

	for (const char *c = json; *c; c++) {
		depth += *c == '{' || *c == '[';
		depth -= *c == '}' || *c == ']';
		assert_true(depth >= 0);
	}
	assert_int_equal(depth, 0);
}

static void without_profiling_nothing_is_recorded(void **state)
{
	struct bi_context *context = open_profiled(0);
	struct bi_view *a = NEW_ARRAY(context, "uint8", 64);
	const unsigned char byte = 1;
	char *report;

	(void)state;
	assert_null(context->report);
	OK(bi_fill(a, &byte, NULL, &error));
	OK(bi_context_report(context, &report, &error));
	expect_balanced(report);
	assert_null(strstr(report, "\"fill\""));
	bi_report_free(report);
	REFUSED(BI_EINVAL, bi_context_report(NULL, &report, &error));
	REFUSED(BI_EINVAL, bi_context_report(context, NULL, &error));
	bi_report_free(NULL);
	bi_view_release(a);
	bi_context_release(context);
}

static void operations_are_in_the_order_in_which_they_were_done(void **state)
{
	struct bi_context *context = open_profiled(1);
	struct bi_view *a = NEW_ARRAY(context, "uint8", 64), *b = NEW_ARRAY(context, "uint8", 64);
	const unsigned char byte = 1;
	char *report;

	(void)state;
	assert_true(bi__report_is_recording(context->report));
	OK(bi_fill(a, &byte, NULL, &error));
	OK(bi_copy(b, a, NULL, &error));
	OK(bi_context_report(context, &report, &error));
	expect_balanced(report);
	assert_true(position_of(report, "\"fill\"") >= 0);
	assert_true(position_of(report, "\"copy\"") > position_of(report, "\"fill\""));
	bi_report_free(report);
	bi_view_release(b);
	bi_view_release(a);
	bi_context_release(context);
}

/* Drivers pad and cut names as they like. JSON is UTF-8. */
static void a_name_that_is_not_utf8_is_replaced(void **state)
{
	struct bi_context *context = open_profiled(0);
	char *report;

	(void)state;
	strcpy(context->own_info.name, "a\xff\"\\\x01\xc3\xa9\xc3");
	OK(bi_context_report(context, &report, &error));
	if (position_of(report, "\"name\": \"a\xef\xbf\xbd\\\"\\\\\\u0001\xc3\xa9\xef\xbf\xbd\",") < 0)
		fail_msg("%s", report);
	bi_report_free(report);
	bi_context_release(context);
}

#ifndef _WIN32
static int report_in_child(void *context)
{
	char *report;
	int rc;

	alarm(20);
	rc = bi_context_report(context, &report, NULL);
	if (!rc)
		bi_report_free(report);
	return rc;
}

/* Another thread of the parent may have the lock of the pool at the moment of the fork. */
static void a_forked_child_reports_without_the_lock_of_the_pool(void **state)
{
	struct bi_context *context = open_profiled(0);

	(void)state;
	pthread_mutex_lock(&context->pool.lock);
	assert_int_equal(status_of_child(report_in_child, context), 0);
	pthread_mutex_unlock(&context->pool.lock);
	bi_context_release(context);
}

struct filling {
	struct bi_view *view;
	atomic_int ends;
};

/* Not more fills than a report can list in a short time. */
static void *fill_many_times(void *data)
{
	struct filling *filling = data;
	const unsigned char byte = 1;

	for (int i = 0; i < 50000 && !filling->ends; i++)
		if (bi_fill(filling->view, &byte, NULL, NULL))
			abort();
	return NULL;
}

/* Each fill adds a record. */
static int fill_in_child(void *view)
{
	const unsigned char byte = 1;
	int rc = 0;

	alarm(20); /* a child that waits for the lock ends by the signal */
	for (int i = 0; i < 100 && !rc; i++)
		rc = bi_fill(view, &byte, NULL, NULL);
	return leave_child(rc);
}

static int report_and_leave(void *context)
{
	return leave_child(report_in_child(context));
}

static void fork_while_a_thread_records(void)
{
	struct bi_context *context = open_profiled(1);
	struct filling filling = { .view = NEW_ARRAY(context, "uint8", 1) };
	struct bi_view *view = NEW_ARRAY(context, "uint8", 1);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, fill_many_times, &filling), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(status_of_child(fill_in_child, view), 0);
	assert_int_equal(status_of_child(report_and_leave, context), 0);
	filling.ends = 1;
	assert_int_equal(pthread_join(thread, NULL), 0);
	bi_view_release(filling.view);
	bi_view_release(view);
	bi_context_release(context);
}

/*
 * The thread has the lock of the report at the moment of some of the forks. With AddressSanitizer it may also have the
 * lock of the allocator, for which the child would wait for ever.
 */
static void a_forked_child_records_while_the_parent_does(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	for (int round = 0; round < 5; round++)
		fork_while_a_thread_records();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_profiling_nothing_is_recorded),
		cmocka_unit_test(operations_are_in_the_order_in_which_they_were_done),
		cmocka_unit_test(a_name_that_is_not_utf8_is_replaced),
#ifndef _WIN32
		cmocka_unit_test(a_forked_child_reports_without_the_lock_of_the_pool),
		cmocka_unit_test(a_forked_child_records_while_the_parent_does),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
