/* What an export says of order: a stream while work is pending, nothing once it is complete. */
#include "unit.h"

#include "buffer_interface/binding.h"
#include "common/runtime/object.h"

static struct bi_context *device, *host;

static struct bi_exchange export_of(struct bi_view *view, uint32_t wishes)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	OK(bi_view_export(view, wishes, &exchange, &error));
	return exchange;
}

static void release(struct bi_exchange *exchange)
{
	if (exchange->release)
		exchange->release(exchange);
}

static void pending_memory_names_its_stream(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100);
	const float one = 1;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	OK(bi_fill(a, &one, NULL, &error));
	exchange = export_of(a, 0);
	assert_int_equal(exchange.order_kind, BI_ORDER_CUDA);
	assert_int_equal(exchange.stream, bi_stream_handle(bi_context_stream(device)));
	assert_int_equal(exchange.event, 0);
	release(&exchange);
	bi_view_release(a);
}

static void synchronized_memory_names_nothing(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100);
	const float one = 1;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	OK(bi_fill(a, &one, NULL, &error));
	exchange = export_of(a, BI_ACQUIRE_READY);
	assert_int_equal(exchange.order_kind, BI_ORDER_NONE);
	assert_int_equal(exchange.event, 0);
	release(&exchange);
	bi_view_release(a);
}

static void host_memory_is_complete_when_it_is_exported(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 1 << 16), *b = NEW_ARRAY(host, "uint8", 1 << 16);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	number_bytes(a);
	OK(bi_copy(b, a, NULL, &error));
	exchange = export_of(b, 0);
	assert_int_equal(exchange.order_kind, BI_ORDER_NONE);
	/* Nobody waits any more, and the bytes are there. */
	for (size_t i = 0; i < 1 << 16; i++)
		assert_int_equal(((unsigned char *)bi_view_host_pointer(b))[i], number_at(i));
	release(&exchange);
	bi_view_release(b);
	bi_view_release(a);
}

static void refuse_at_once(struct bi_view *view, uint32_t wishes)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	REFUSED(BI_EBUSY, bi_view_export_nonblocking(view, wishes, &exchange, &error));
	assert_null(exchange.release);
}

static void an_export_that_would_wait_is_refused_at_once(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 1 << 16), *b = NEW_ARRAY(host, "uint8", 1 << 16);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	number_bytes(a);
	OK(bi_copy(b, a, NULL, &error));
	refuse_at_once(a, BI_ACQUIRE_READY);
	refuse_at_once(b, 0);
	OK(bi_view_synchronize(a, &error));
	OK(bi_view_synchronize(b, &error));
	OK(bi_view_export_nonblocking(a, BI_ACQUIRE_READY, &exchange, &error));
	assert_int_equal(exchange.order_kind, BI_ORDER_NONE);
	release(&exchange);
	OK(bi_view_export_nonblocking(b, 0, &exchange, &error));
	release(&exchange);
	bi_view_release(b);
	bi_view_release(a);
}

/* A consumer may use the stream that was named at any time, so each later export names it too. */
static void a_stream_that_was_named_is_named_again(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100);
	const float one = 1;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	OK(bi_fill(a, &one, NULL, &error));
	for (int i = 0; i < 2; i++) {
		OK(bi_view_export_nonblocking(a, 0, &exchange, &error));
		assert_int_equal(exchange.stream, bi_stream_handle(bi_context_stream(device)));
		release(&exchange);
		OK(bi_view_synchronize(a, &error));
		assert_false(bi_view_is_idle(a));
	}
	refuse_at_once(a, BI_ACQUIRE_READY);
	exchange = export_of(a, BI_ACQUIRE_READY);
	assert_int_equal(exchange.order_kind, BI_ORDER_NONE);
	release(&exchange);
	bi_view_release(a);
}

/* Reading the home stream names it to nobody. */
static void a_stream_that_was_read_is_not_pending_after_a_wait(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(host, "float32", 100);
	const float one = 1;
	uintptr_t stream = 0;

	(void)state;
	OK(bi_fill(a, &one, NULL, &error));
	OK(bi_view_home_stream(a, &stream, &error));
	assert_int_equal(stream, bi_stream_handle(bi_context_stream(device)));
	OK(bi_view_synchronize(a, &error));
	assert_true(bi_view_is_idle(a));
	stream = 0;
	OK(bi_view_home_stream(a, &stream, &error));
	assert_int_equal(stream, bi_stream_handle(bi_context_stream(device)));
	assert_true(bi_view_is_idle(a));
	OK(bi_view_home_stream(b, &stream, &error));
	assert_int_equal(stream, 0);
	REFUSED(BI_EINVAL, bi_view_home_stream(NULL, &stream, &error));
	bi_view_release(a);
	bi_view_release(b);
}

static void an_export_that_would_call_the_driver_is_refused(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100), *b = NEW_ARRAY(device, "float32", 100);
	struct bi_exchange exchange;
	struct bi_stream *stream;

	(void)state;
	OK(bi_stream_create(device, 0, &stream, &error));
	OK(bi_copy(b, a, stream, &error));
	refuse_at_once(a, 0);
	exchange = export_of(a, 0);
	assert_int_equal(exchange.stream, bi_stream_handle(bi_context_stream(device)));
	release(&exchange);
	bi_stream_release(stream);
	bi_view_release(b);
	bi_view_release(a);
}

/* Another thread is in a step on the memory, or copies its bytes inline. */
static void an_export_that_would_wait_for_a_thread_is_refused(void **state)
{
	struct bi_view *views[2] = { NEW_ARRAY(device, "uint8", 100), NEW_ARRAY(host, "uint8", 100) };
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	pthread_mutex_lock(&views[0]->memory->lock);
	refuse_at_once(views[0], 0);
	pthread_mutex_unlock(&views[0]->memory->lock);
	for (int i = 0; i < 2; i++) {
		atomic_fetch_or(&views[i]->memory->marks, BI__MARK_INLINE);
		for (int again = 0; again < 2; again++)
			refuse_at_once(views[i], 0);
		atomic_fetch_and(&views[i]->memory->marks, (unsigned char)~BI__MARK_INLINE);
		OK(bi_view_export_nonblocking(views[i], 0, &exchange, &error));
		release(&exchange);
		bi_view_release(views[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pending_memory_names_its_stream),
		cmocka_unit_test(synchronized_memory_names_nothing),
		cmocka_unit_test(host_memory_is_complete_when_it_is_exported),
		cmocka_unit_test(an_export_that_would_wait_is_refused_at_once),
		cmocka_unit_test(a_stream_that_was_named_is_named_again),
		cmocka_unit_test(a_stream_that_was_read_is_not_pending_after_a_wait),
		cmocka_unit_test(an_export_that_would_call_the_driver_is_refused),
		cmocka_unit_test(an_export_that_would_wait_for_a_thread_is_refused),
	};
	int failed;

	device = open_device("cuda:0");
	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(device);
	return failed;
}
