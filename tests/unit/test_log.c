/* Lines for the log callback: levels, and lines that are too long. */
#include "unit.h"

#include "common/runtime/log.h"

static struct bi_context *open_with_level(struct log_lines *log, int level)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = "host";
	options.log = log ? keep_log_line : NULL;
	options.log_data = log;
	options.log_level = level;
	OK(bi_context_open(&options, &context, &error));
	if (log)
		log->count = 0;
	return context;
}

static void lines_above_the_level_are_dropped(void **state)
{
	struct log_lines log = { 0 };
	struct bi_context *context = open_with_level(&log, BI_LOG_INFO);

	(void)state;
	assert_int_equal(context->log.level, BI_LOG_INFO);
	bi__log(context, BI_LOG_INFO, "%s %d", "line", 1);
	bi__log(context, BI_LOG_DEBUG, "%s %d", "line", 2);
	assert_int_equal(log.count, 1);
	assert_string_equal(log.lines[0], "line 1");
	bi_context_release(context);
}

static void without_a_callback_nothing_happens(void **state)
{
	struct bi_context *context = open_with_level(NULL, BI_LOG_DEBUG);

	(void)state;
	assert_int_equal(context->log.level, 0);
	bi__log(context, BI_LOG_WARNING, "nobody reads this");
	bi_context_release(context);
}

static void long_lines_are_cut(void **state)
{
	struct log_lines log = { 0 };
	struct bi_context *context = open_with_level(&log, BI_LOG_DEBUG);
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	bi__log(context, BI_LOG_DEBUG, "%s", text);
	assert_int_equal(log.count, 1);
	assert_int_equal(strspn(log.lines[0], "x"), strlen(log.lines[0]));
	bi_context_release(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_above_the_level_are_dropped),
		cmocka_unit_test(without_a_callback_nothing_happens),
		cmocka_unit_test(long_lines_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
