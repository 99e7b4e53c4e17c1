/* Streams: made, wrapped, joined, waited for. */
#include "unit.h"

#include <stdatomic.h>

#include "common/runtime/stream.h"
#include "cuda_driver.h"

static struct bi_context *device, *other, *host;

static struct bi_stream *new_stream(struct bi_context *context)
{
	struct bi_stream *stream;

	OK(bi_stream_create(context, BI_STREAM_IN_ORDER, &stream, &error));
	return stream;
}

static void arguments_are_checked(void **state)
{
	struct bi_stream *stream = STALE(struct bi_stream), *mine = new_stream(device), *theirs = new_stream(host);

	(void)state;
	REFUSED(BI_EINVAL, bi_stream_create(NULL, BI_STREAM_IN_ORDER, &stream, &error));
	assert_null(stream);
	REFUSED(BI_EINVAL, bi_stream_create(device, BI_STREAM_IN_ORDER, NULL, &error));
	FAILS(bi_stream_create(device, 0xff00, &stream, &error));
	REFUSED(BI_EINVAL, bi_stream_synchronize(NULL, &error));
	REFUSED(BI_EINVAL, bi_stream_join(NULL, &mine, 1, &error));
	REFUSED(BI_EINVAL, bi_stream_join(mine, NULL, 1, &error));
	FAILS(bi_stream_join(mine, &theirs, 1, &error));
	bi_stream_release(theirs);
	bi_stream_release(mine);
	bi_stream_release(NULL);
}

static void work_that_was_joined_is_complete(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 4096), *b = NEW_ARRAY(device, "uint8", 4096);
	struct bi_stream *first = new_stream(device), *second = new_stream(device);
	unsigned char byte = 0x5a, bytes[4096];

	(void)state;
	OK(bi_fill(a, &byte, first, &error));
	OK(bi_stream_join(second, &first, 1, &error));
	OK(bi_copy(b, a, second, &error));
	OK(bi_stream_synchronize(second, &error));
	OK(bi_view_read(b, bytes, sizeof(bytes), &error));
	assert_int_equal(bytes[0], byte);
	assert_int_equal(bytes[4095], byte);
	bi_stream_release(second);
	bi_stream_release(first);
	bi_view_release(b);
	bi_view_release(a);
}

static void a_wrapped_stream_gives_its_handle_back(void **state)
{
	struct bi_stream *own = new_stream(device), *wrapped;
	atomic_int released = 0;

	(void)state;
	OK(bi_stream_wrap(device, bi_stream_handle(own), count_release, &released, &wrapped, &error));
	assert_int_equal(bi_stream_handle(wrapped), bi_stream_handle(own));
	assert_ptr_equal(bi_stream_context(wrapped), device);
	assert_ptr_equal(bi_stream_retain(wrapped), wrapped);
	bi_stream_release(wrapped);
	assert_int_equal(released, 0);
	bi_stream_release(wrapped);
	assert_int_equal(released, 1);
	bi_stream_release(own);
}

static void streams_reach_memory_of_their_device(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 64), *b = NEW_ARRAY(host, "uint8", 64);
	struct bi_stream *stream = new_stream(device);

	(void)state;
	assert_true(bi__stream_reaches(stream, bi_view_memory(a)));
	assert_true(bi__stream_reaches(bi_context_stream(device), bi_view_memory(a)));
	assert_false(bi__stream_reaches(bi_context_stream(other), bi_view_memory(a)));
	assert_false(bi__stream_reaches(bi_context_stream(host), bi_view_memory(a)));
	assert_true(bi__stream_reaches(bi_context_stream(host), bi_view_memory(b)));
	bi_stream_release(stream);
	bi_view_release(b);
	bi_view_release(a);
}

static void numbers_are_unique_and_stay(void **state)
{
	struct bi_stream *a = new_stream(device), *b = new_stream(device);
	uint64_t number = a->serial;

	(void)state;
	assert_true(number != 0);
	assert_int_not_equal(b->serial, number);
	bi_stream_release(b);
	b = new_stream(device);
	assert_int_not_equal(b->serial, number);
	assert_int_equal(a->serial, number);
	assert_int_not_equal(bi_context_stream(device)->serial, b->serial);
	bi_stream_release(b);
	bi_stream_release(a);
}

/* The second wait is of a stream that takes part in the capture. The driver refuses to query the event there. */
static void a_wait_inside_of_a_capture_writes_no_error(void **state)
{
	struct bi_stream *stream = new_stream(device), *inside = new_stream(device);
	bi__cu_stream native = (bi__cu_stream)bi_stream_handle(stream);
	struct bi_event *event;
	bi__cu_graph graph;
	int pushed;

	(void)state;
	OK(bi_context_push_current(device, &pushed, &error));
	assert_int_equal(cuda_driver()->StreamBeginCapture(native, BI__CU_CAPTURE_MODE_THREAD_LOCAL), BI__CU_SUCCESS);
	OK(bi_event_record(stream, &event, &error));
	OK(bi_stream_wait(inside, event, &error));
	OK(bi_stream_wait(inside, event, &error));
	OK(bi_stream_join(stream, &inside, 1, &error));
	assert_int_equal(cuda_driver()->StreamEndCapture(native, &graph), BI__CU_SUCCESS);
	assert_int_equal(cuda_driver()->GraphDestroy(graph), BI__CU_SUCCESS);
	bi_context_pop_current(device, pushed);
	bi_event_release(event);
	bi_stream_release(inside);
	bi_stream_release(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(work_that_was_joined_is_complete),
		cmocka_unit_test(a_wrapped_stream_gives_its_handle_back),
		cmocka_unit_test(streams_reach_memory_of_their_device),
		cmocka_unit_test(numbers_are_unique_and_stay),
		cmocka_unit_test(a_wait_inside_of_a_capture_writes_no_error),
	};
	int failed;

	device = open_device("cuda:0");
	other = open_device("cuda:1");
	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(other);
	bi_context_release(device);
	return failed;
}
