/* Operations: each is recorded for the report while profiling runs, and complete when it returns with option debug. */
#include "unit.h"

static struct bi_context *open_profiled(int debug)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = "cuda:0";
	options.profile = 1;
	options.debug = debug;
	OK(bi_context_open(&options, &context, &error));
	return context;
}

static int count_in_report(struct bi_context *context, const char *text)
{
	char *report;
	int found = 0;

	OK(bi_context_report(context, &report, &error));
	for (const char *at = report; (at = strstr(at, text)); at++)
		found++;
	bi_report_free(report);
	return found;
}

static void every_operation_is_recorded(void **state)
{
	struct bi_context *context = open_profiled(0);
	struct bi_view *a = NEW_ARRAY(context, "float32", 40, 30), *b = NEW_ARRAY(context, "float32", 30, 40);
	struct bi_view *turned = transposed(a);
	const float one = 1;

	(void)state;
	OK(bi_fill(a, &one, NULL, &error));
	OK(bi_copy(b, turned, NULL, &error));
	assert_int_equal(count_in_report(context, "\"fill\""), 2); /* the operation and its plan */
	assert_int_equal(count_in_report(context, "\"tiles\""), 1);
	bi_context_profile_pause(context);
	OK(bi_copy(b, turned, NULL, &error));
	assert_int_equal(count_in_report(context, "\"tiles\""), 1);
	bi_view_release(turned);
	bi_view_release(b);
	bi_view_release(a);
	bi_context_release(context);
}

static void debug_completes_every_operation(void **state)
{
	struct bi_context *context = open_profiled(1);
	struct bi_view *a = NEW_ARRAY(context, "float32", 4000);
	const float one = 1;

	(void)state;
	assert_int_equal(count_in_report(context, "\"debug\": 0"), 1);
	OK(bi_fill(a, &one, NULL, &error));
	assert_int_equal(count_in_report(context, "\"debug\": 1"), 1);
	bi_view_release(a);
	bi_context_release(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_is_recorded),
		cmocka_unit_test(debug_completes_every_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
