/* One step on one stream: which stream it is, which streams are refused, and what the log says. */
#include "unit.h"

static struct log_lines log_lines;
static struct bi_context *device, *other, *host;

static void without_a_stream_work_goes_to_the_home_stream(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(device, "float32", 100);

	(void)state;
	log_lines.count = 0;
	OK(bi_copy(a, b, NULL, &error));
	assert_int_equal(count_lines(&log_lines, "copy: linear, 400 bytes, stream 0: success"), 1);
	bi_view_release(b);
	bi_view_release(a);
}

static void the_stream_of_the_caller_is_taken(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(device, "float32", 100);
	struct bi_stream *stream;
	const float one = 1;

	(void)state;
	OK(bi_stream_create(device, BI_STREAM_IN_ORDER, &stream, &error));
	log_lines.count = 0;
	OK(bi_copy(a, b, stream, &error));
	OK(bi_fill(a, &one, stream, &error));
	assert_int_equal(count_lines(&log_lines, "stream 0"), 0);
	OK(bi_copy(a, b, stream, &error));
	assert_int_equal(count_lines(&log_lines, "400 bytes, stream "), 1);
	bi_stream_release(stream);
	bi_view_release(b);
	bi_view_release(a);
}

static void streams_that_do_not_reach_the_memory_are_refused(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(device, "float32", 100);
	const float one = 1;

	(void)state;
	REFUSED_FOR(BI_EINVAL, "cannot reach memory of cuda:0", bi_copy(a, b, bi_context_stream(host), &error));
	REFUSED_FOR(BI_EINVAL, "the stream of device cuda:1", bi_fill(a, &one, bi_context_stream(other), &error));
	bi_view_release(b);
	bi_view_release(a);
}

/* A stream of either device serves a copy between two that are peers. */
static void either_stream_serves_peers(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(other, "float32", 100);

	(void)state;
	number_bytes(a);
	OK(bi_copy(b, a, bi_context_stream(device), &error));
	assert_same_elements(a, b);
	number_bytes(b);
	OK(bi_copy(a, b, bi_context_stream(other), &error));
	assert_same_elements(a, b);
	bi_view_release(b);
	bi_view_release(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_stream_work_goes_to_the_home_stream),
		cmocka_unit_test(the_stream_of_the_caller_is_taken),
		cmocka_unit_test(streams_that_do_not_reach_the_memory_are_refused),
		cmocka_unit_test(either_stream_serves_peers),
	};
	int failed;

	device = open_logging("cuda:0", &log_lines);
	other = open_logging("cuda:1", &log_lines);
	host = open_logging("host", &log_lines);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(other);
	bi_context_release(device);
	return failed;
}
