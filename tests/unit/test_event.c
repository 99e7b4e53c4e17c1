/* Events: recorded, wrapped, asked and waited for. */
#include "unit.h"

static struct bi_context *device, *host;

static void arguments_are_checked(void **state)
{
	struct bi_event *event = STALE(struct bi_event);
	int done;

	(void)state;
	REFUSED(BI_EINVAL, bi_event_record(NULL, &event, &error));
	assert_null(event);
	REFUSED(BI_EINVAL, bi_event_record(bi_context_stream(device), NULL, &error));
	REFUSED(BI_EINVAL, bi_event_wrap(device, 0, &event, &error));
	REFUSED(BI_EINVAL, bi_event_wrap(NULL, 1, &event, &error));
	REFUSED(BI_EINVAL, bi_event_query(NULL, &done, &error));
	REFUSED(BI_EINVAL, bi_event_synchronize(NULL, &error));
	OK(bi_event_record(bi_context_stream(device), &event, &error));
	REFUSED(BI_EINVAL, bi_event_query(event, NULL, &error));
	bi_event_release(event);
	bi_event_release(NULL);
}

static void an_event_is_complete_after_its_work(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 1 << 16);
	const unsigned char byte = 7;
	struct bi_event *event;
	int done = 0;

	(void)state;
	OK(bi_fill(a, &byte, NULL, &error));
	OK(bi_event_record(bi_context_stream(device), &event, &error));
	assert_true(bi_event_handle(event) != 0);
	OK(bi_event_synchronize(event, &error));
	OK(bi_event_query(event, &done, &error));
	assert_int_equal(done, 1);
	bi_event_release(event);
	bi_view_release(a);
}

static void events_of_the_host_are_complete(void **state)
{
	struct bi_event *event;
	int done = 0;

	(void)state;
	OK(bi_event_record(bi_context_stream(host), &event, &error));
	assert_int_equal(bi_event_handle(event), 0);
	OK(bi_event_query(event, &done, &error));
	assert_int_equal(done, 1);
	OK(bi_event_synchronize(event, &error));
	OK(bi_stream_wait(bi_context_stream(host), event, &error));
	bi_event_release(event);
}

static void a_wrapped_event_is_the_same_point(void **state)
{
	struct bi_event *own, *wrapped;
	struct bi_stream *stream;
	int done = 0;

	(void)state;
	OK(bi_stream_create(device, BI_STREAM_IN_ORDER, &stream, &error));
	OK(bi_event_record(stream, &own, &error));
	OK(bi_event_wrap(device, bi_event_handle(own), &wrapped, &error));
	assert_int_equal(bi_event_handle(wrapped), bi_event_handle(own));
	OK(bi_stream_wait(bi_context_stream(device), wrapped, &error));
	OK(bi_event_synchronize(own, &error));
	OK(bi_event_query(wrapped, &done, &error));
	assert_int_equal(done, 1);
	assert_ptr_equal(bi_event_retain(wrapped), wrapped);
	bi_event_release(wrapped);
	bi_event_release(wrapped);
	bi_event_release(own);
	bi_stream_release(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(an_event_is_complete_after_its_work),
		cmocka_unit_test(events_of_the_host_are_complete),
		cmocka_unit_test(a_wrapped_event_is_the_same_point),
	};
	int failed;

	device = open_device("cuda:0");
	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(device);
	return failed;
}
