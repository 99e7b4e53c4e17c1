/* Rows 11 and 12: what a consumer is told. */
#include "uses.h"

static const struct producer nobody;

static void row_11_idle_memory_has_no_stream(void **state)
{
	struct bi_view *device = wrap(PLACE_DEVICE, 1, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_exchange exchange;

	(void)state;
	assert_exported_stream(device, NULL);
	assert_exported_stream(host, NULL);
	OK(bi_view_export(device, BI_EXPORT_EVENT, &exchange, &error));
	assert_int_equal(exchange.stream_kind, BI_STREAM_KIND_NONE);
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

/* A consumer without this library: his own queue, and the stream or the event that he is given. */
static void consume(int with_event)
{
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_stream *consumer = new_producer_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_exchange exchange;
	uintptr_t event;

	fill(view, 7, NULL);
	OK(bi_view_export(view, with_event ? BI_EXPORT_EVENT : 0, &exchange, &error));
	event = (uintptr_t)exchange.event;
	if (with_event) {
		assert_false(is_done(event));
		raw_wait(consumer, event);
	}
	raw_copy(with_event ? consumer : home_of(fixture.context), to, view);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	if (with_event)
		assert_true(is_done(event));
	exchange.release(&exchange);
	bi_view_release(view);
	bi_view_release(to);
	clear_case();
}

static void row_11_a_consumer_waits_for_the_stream(void **state)
{
	(void)state;
	consume(0);
}

static void row_11_a_consumer_waits_for_the_event(void **state)
{
	(void)state;
	consume(1);
}

/* An import makes the stream the home, and the event one for the first use. */
static void import_pending(unsigned flags)
{
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *imported;
	struct bi_exchange exchange;

	fill(view, 7, NULL);
	OK(bi_view_export(view, flags, &exchange, &error));
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
	clear_case();
}

static void row_11_an_import_waits(void **state)
{
	(void)state;
	import_pending(0);
	import_pending(BI_EXPORT_EVENT);
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
	struct bi_exchange exchange;

	OK(bi_view_export(view, BI_EXPORT_SYNCHRONIZE, &exchange, &error));
	assert_int_equal(exchange.stream_kind, BI_STREAM_KIND_NONE);
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
		ROW(row_11_a_consumer_waits_for_the_event, NEED_GATE),
		ROW(row_11_an_import_waits, NEED_GATE),
		ROW(row_11_first_use_events_are_taken_over_by_the_home, NEED_GATE),
		ROW(row_11_host_memory_waits_for_its_tail, NEED_DEVICE),
		ROW(row_11_host_memory_waits_until_the_work_is_done, NEED_GATE),
		ROW(row_12_synchronizes, 0),
		ROW(row_12_waits_until_the_work_is_done, NEED_GATE),
	};

	return run_rows("exchange", rows, ARRAY_LENGTH(rows));
}
