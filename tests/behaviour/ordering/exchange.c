/* Rows 11 and 12: what a consumer is told. */
#include "raw_driver.h"
#include "uses.h"

static const struct producer nobody;

static void row_11_idle_memory_has_no_stream(void **state)
{
	struct bi_view *device = wrap(PLACE_DEVICE, 1, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	assert_exported_stream(device, NULL);
	assert_exported_stream(host, NULL);
	OK(bi_view_export(device, 0, &exchange, &error));
	assert_int_equal(exchange.order_kind, BI_ORDER_NONE);
	assert_int_equal(exchange.event, 0);
	exchange.release(&exchange);
	bi_view_release(device);
	bi_view_release(host);
}

static void row_11_pending_memory_names_its_home(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *named = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = home });
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);

	(void)state;
	fill(view, 2, new_stream(BI_STREAM_IN_ORDER));
	assert_exported_stream(view, home_of(fixture.context));
	assert_exported_stream(named, home);
	bi_view_release(view);
	bi_view_release(named);
}

/* A consumer without this library works on the named stream. */
static void row_11_a_consumer_waits_for_the_stream(void **state)
{
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	fill(view, 7, NULL);
	OK(bi_view_export(view, 0, &exchange, &error));
	assert_int_equal(exchange.stream, bi_stream_handle(home_of(fixture.context)));
	raw_copy(home_of(fixture.context), to, view);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	exchange.release(&exchange);
	bi_view_release(view);
	bi_view_release(to);
}

/* A consumer works on a stream of its own and hands the memory back, by the stream or by an event. */
static void hand_back_to_export(int by_event)
{
	struct bi_stream *consumer = new_producer_in(fixture.context, BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(consumer);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *from = wrap(PLACE_DEVICE, 7, nobody);
	struct bi_view *to = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_event *event = NULL;

	OK(bi_view_export(view, 0, &exchange, &error));
	raw_copy(consumer, view, from);
	if (by_event)
		OK(bi_event_record(consumer, &event, &error));
	assert_int_equal(exchange.done(&exchange, setting.driver->stream_kind,
				       by_event ? 0 : bi_stream_handle(consumer),
				       by_event ? bi_event_handle(event) : 0),
			 0);
	bi_event_release(event);
	exchange.release(&exchange);
	copy(to, view, new_stream(BI_STREAM_IN_ORDER));
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(from);
	bi_view_release(to);
	clear_case();
}

static void row_11_work_follows_a_consumer_that_hands_back(void **state)
{
	(void)state;
	hand_back_to_export(0);
	hand_back_to_export(1);
}

/* A consumer that keeps the array may use the stream that was named at any time, also after a synchronisation. */
static void row_21_a_named_stream_gets_work_after_a_wait(void **state)
{
	struct bi_stream *home = home_of(fixture.context);
	struct bi_stream *consumer = new_producer_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *from = wrap(PLACE_DEVICE, 7, nobody);
	struct bi_view *to = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_event *event;
	struct gate *gate;

	(void)state;
	fill(view, 3, NULL);
	OK(bi_view_export(view, 0, &exchange, &error));
	assert_int_equal(exchange.stream, bi_stream_handle(home));
	OK(bi_view_synchronize(view, &error));
	expect_waits("synchronize", 1);
	gate = close_gate(consumer);
	raw_copy(consumer, view, from);
	OK(bi_event_record(consumer, &event, &error));
	raw_wait(home, bi_event_handle(event));
	exchange.release(&exchange);
	assert_exported_stream(view, home);
	copy(to, view, new_stream(BI_STREAM_IN_ORDER));
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_event_release(event);
	bi_view_release(view);
	bi_view_release(from);
	bi_view_release(to);
}

/* `done` refuses a stream or event that the library cannot wait for, so that the consumer waits itself. */
static void row_11_a_wrong_hand_back_is_refused(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	uintptr_t stream = bi_stream_handle(home_of(fixture.context));

	(void)state;
	OK(bi_view_export(view, 0, &exchange, &error));
	assert_int_not_equal(exchange.done(&exchange, 200, stream, 0), 0);
	assert_int_not_equal(exchange.done(&exchange, 65536, stream, 0), 0);
	assert_int_not_equal(exchange.done(&exchange, setting.driver->stream_kind, 0, 0), 0);
	assert_int_equal(exchange.done(&exchange, BI_ORDER_NONE, 0, 0), 0);
	assert_int_equal(exchange.done(&exchange, setting.driver->stream_kind, stream, 0), 0);
	exchange.release(&exchange);
	bi_view_release(view);
}

static void row_11_an_import_waits(void **state)
{
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *imported;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	fill(view, 7, NULL);
	OK(bi_view_export(view, 0, &exchange, &error));
	OK(bi_view_import(fixture.context, &exchange, 0, &imported, &error));
	assert_exported_stream(imported, home_of(fixture.context));
	copy(to, imported, new_stream(BI_STREAM_IN_ORDER));
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(imported);
	bi_view_release(view);
	bi_view_release(to);
}

/* Events that the first use would wait for are not told: the home waits for them. */
static void row_11_first_use_events_are_taken_over_by_the_home(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *view;
	struct gate *gate;
	struct bi_event *event = gated_event(setting.other, producer, made, 7, &gate);

	(void)state;
	view = wrap_again(made, (struct producer){ .event = event });
	bi_event_release(event);
	assert_exported_stream(view, home_of(fixture.context));
	raw_copy(home_of(fixture.context), to, view);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(made);
	bi_view_release(to);
}

/* Whoever takes host memory can wait for no event. */
static void row_11_host_memory_waits_for_its_tail(void **state)
{
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);

	(void)state;
	copy(host, from, NULL);
	expect_waits("export", 1);
	assert_exported_stream(host, NULL);
	assert_int_equal(value_of(host), 7);
	assert_exported_stream(host, NULL);
	bi_view_release(from);
	bi_view_release(host);
}

static void row_11_host_memory_waits_until_the_work_is_done(void **state)
{
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	copy(host, from, NULL);
	expect_waits("export", 1);
	open_gate_soon(gate);
	assert_exported_stream(host, NULL);
	assert_true(is_open(gate));
	assert_int_equal(value_of(host), 7);
	bi_view_release(from);
	bi_view_release(host);
}

static void synchronize_export(struct bi_view *view)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	OK(bi_view_export(view, BI_ACQUIRE_READY, &exchange, &error));
	assert_int_equal(exchange.order_kind, BI_ORDER_NONE);
	assert_int_equal(exchange.event, 0);
	exchange.release(&exchange);
}

/* The second time there is nothing to wait for, and nothing is asked. */
static void row_12_synchronizes(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	uint64_t before;

	(void)state;
	fill(view, 7, NULL);
	expect_waits("export", on_device(1));
	synchronize_export(view);
	assert_int_equal(value_of(view), 7);
	before = all_calls();
	synchronize_export(view);
	assert_exported_stream(view, NULL);
	MORE(all_calls(), before, 0);
	bi_view_release(view);
}

static void row_12_waits_until_the_work_is_done(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	fill(view, 7, NULL);
	expect_waits("export", 1);
	open_gate_soon(gate);
	synchronize_export(view);
	assert_true(is_open(gate));
	assert_int_equal(value_of(view), 7);
	bi_view_release(view);
}

int exchange_rows(void)
{
	static const struct row rows[] = {
		ROW(row_11_idle_memory_has_no_stream, 0),
		ROW(row_11_pending_memory_names_its_home, NEED_DEVICE),
		ROW(row_11_a_consumer_waits_for_the_stream, NEED_GATE),
		ROW(row_11_work_follows_a_consumer_that_hands_back, NEED_GATE),
		ROW(row_21_a_named_stream_gets_work_after_a_wait, NEED_GATE),
		ROW(row_11_a_wrong_hand_back_is_refused, NEED_DEVICE),
		ROW(row_11_an_import_waits, NEED_GATE),
		ROW(row_11_first_use_events_are_taken_over_by_the_home, NEED_GATE),
		ROW(row_11_host_memory_waits_for_its_tail, NEED_DEVICE),
		ROW(row_11_host_memory_waits_until_the_work_is_done, NEED_GATE),
		ROW(row_12_synchronizes, 0),
		ROW(row_12_waits_until_the_work_is_done, NEED_GATE),
	};

	return run_rows("exchange", rows, ARRAY_LENGTH(rows));
}
