/*
 * Fences: a reference to the context, complete once cleared, and waits that are counted under their reason. Events:
 * recorded, wrapped, queried and waited for.
 */
#include "unit.h"

#include <stdatomic.h>

#include "common/runtime/fence.h"

static struct bi_context *device, *host;

static unsigned references(struct bi_context *context)
{
	return atomic_load(&context->refs);
}

static void a_fence_holds_its_context(void **state)
{
	struct bi__fence fence = BI__FENCE_NONE, again = BI__FENCE_NONE;
	unsigned before = references(device);

	(void)state;
	OK(bi__fence_record(&device->stream, &fence, &error));
	assert_int_equal(references(device), before + 1);
	OK(bi__fence_share(&fence, &again, &error));
	assert_int_equal(references(device), before + 2);
	assert_int_equal(bi__fence_handle(&again), bi__fence_handle(&fence));
	/* Recording again releases what the fence held. */
	OK(bi__fence_record(&device->stream, &again, &error));
	assert_int_equal(references(device), before + 2);
	bi__fence_clear(&again);
	bi__fence_clear(&fence);
	bi__fence_clear(&fence);
	assert_int_equal(references(device), before);
}

static void a_cleared_fence_is_complete(void **state)
{
	struct bi__fence fence = BI__FENCE_NONE, copy = BI__FENCE_NONE;
	int done = 0;

	(void)state;
	OK(bi__fence_query(&fence, &done, &error));
	assert_int_equal(done, 1);
	OK(bi__fence_block(&fence, BI__WAIT_EXPORT, &error));
	OK(bi__fence_wait(&device->stream, &fence, &error));
	OK(bi__fence_share(&fence, &copy, &error));
	assert_null(copy.context);
	assert_int_equal(bi__fence_handle(&fence), 0);
}

static void waits_are_counted_under_their_reason(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 1 << 16);
	const unsigned char byte = 7;
	struct bi__fence fence = BI__FENCE_NONE;
	unsigned long long before = atomic_load(&device->waits[BI__WAIT_EXPORT]);
	int done = 0;

	(void)state;
	OK(bi_fill(a, &byte, NULL, &error));
	OK(bi__fence_record(&device->stream, &fence, &error));
	OK(bi__fence_block(&fence, BI__WAIT_EXPORT, &error));
	assert_int_equal(atomic_load(&device->waits[BI__WAIT_EXPORT]), before + 1);
	OK(bi__fence_query(&fence, &done, &error));
	assert_int_equal(done, 1);
	bi__fence_clear(&fence);
	bi_view_release(a);
}

static void a_fence_of_the_host_is_complete(void **state)
{
	struct bi__fence fence = BI__FENCE_NONE;
	int done = 0;

	(void)state;
	OK(bi__fence_record(&host->stream, &fence, &error));
	OK(bi__fence_query(&fence, &done, &error));
	assert_int_equal(done, 1);
	bi__fence_clear(&fence);
}

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
		cmocka_unit_test(a_fence_holds_its_context),
		cmocka_unit_test(a_cleared_fence_is_complete),
		cmocka_unit_test(waits_are_counted_under_their_reason),
		cmocka_unit_test(a_fence_of_the_host_is_complete),
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
