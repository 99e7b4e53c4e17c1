/* Rows 6, 8, 9 and 10: one memory, its home and other streams. */
#include "uses.h"

static const struct producer nobody;

/* ------------------------------------------------------------------------------------------------------------ row 6 */

static void set_element(struct bi_view *view, int64_t index, int value)
{
	unsigned char byte = (unsigned char)value;

	OK(bi_view_set_element(view, &index, &byte, &error));
}

static void row_06_fill_and_set(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	unsigned char bytes[ARRAY_BYTES];

	(void)state;
	fill(view, 2, NULL);
	set_element(view, 5, 3);
	fill(view, 4, new_stream(BI_STREAM_IN_ORDER));
	set_element(view, 6, 5);
	finish_all();
	peek(view, bytes);
	assert_int_equal(bytes[5], 4);
	assert_int_equal(bytes[6], 5);
	bi_view_release(view);
}

static void row_06_fill_and_set_run_on_the_home(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));
	unsigned char bytes[ARRAY_BYTES];

	(void)state;
	fill(view, 2, NULL);
	set_element(view, 5, 3);
	settle();
	assert_int_equal(value_of(view), 1);
	open_and_finish(gate);
	peek(view, bytes);
	assert_int_equal(bytes[4], 2);
	assert_int_equal(bytes[5], 3);
	bi_view_release(view);
}

static void fill_after_home(unsigned home, unsigned stream)
{
	struct gate *gate;
	struct bi_view *view = wrap_gated(PLACE_DEVICE, 1, new_producer(home), &gate);

	fill(view, 2, new_stream(stream));
	settle();
	assert_int_equal(value_of(view), 0);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 2);
	bi_view_release(view);
	clear_case();
}

static void row_06_the_stream_waits_for_the_home(void **state)
{
	(void)state;
	for (unsigned home = 0; home < stream_kinds(); home++)
		for (unsigned stream = 0; stream < stream_kinds(); stream++)
			fill_after_home(home, stream);
}

/* The second fill is on the home, or on yet another stream. */
static void fill_twice(unsigned home, unsigned kind, struct bi_stream *second)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = new_producer(home) });
	struct bi_stream *stream = new_stream(kind);
	struct gate *gate = close_gate(stream);

	fill(view, 2, stream);
	fill(view, 3, second);
	settle();
	assert_int_equal(value_of(view), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 3);
	bi_view_release(view);
	clear_case();
}

static void row_06_the_home_waits_for_the_stream(void **state)
{
	(void)state;
	for (unsigned home = 0; home < stream_kinds(); home++)
		for (unsigned stream = 0; stream < stream_kinds(); stream++) {
			fill_twice(home, stream, NULL);
			fill_twice(home, stream, new_stream(BI_STREAM_IN_ORDER));
		}
}

/* A download; the home of the source waits for a marker on the stream, which is none of its own. */
static void download(struct bi_stream *stream, unsigned markers)
{
	struct bi_view *host = wrap(PLACE_HOST, 1, nobody), *from = wrap(PLACE_DEVICE, 7, nobody);
	uint64_t before = calls_of("clEnqueueMarkerWithWaitList");

	copy(host, from, stream);
	MORE(calls_of("clEnqueueMarkerWithWaitList"), before, markers);
	finish_all();
	assert_int_equal(value_of(host), 7);
	bi_view_release(host);
	bi_view_release(from);
}

/* On an in-order queue the event of the copy comes after everything, so host memory's tail needs no marker. */
static void row_10_the_tail_comes_with_the_copy(void **state)
{
	(void)state;
	download(NULL, 0);
	download(new_stream(BI_STREAM_IN_ORDER), 1);
	download(new_stream(BI_STREAM_OUT_OF_ORDER), 2);
}

/* The order of commands on one out-of-order queue cannot be seen from outside, the barriers between them can. */
static void row_06_an_out_of_order_home_gets_barriers(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_OUT_OF_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = home });
	uint64_t before = calls_of("clEnqueueBarrierWithWaitList");

	(void)state;
	fill(view, 2, NULL);
	assert_int_equal(calls_of("clEnqueueBarrierWithWaitList"), before + 2);
	fill(view, 3, NULL);
	assert_int_equal(calls_of("clEnqueueBarrierWithWaitList"), before + 4);
	finish_all();
	assert_int_equal(value_of(view), 3);
	bi_view_release(view);
}

/* ------------------------------------------------------------------------------------------------------------ row 8 */

static void row_08_nothing_to_wait_for(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before;

	(void)state;
	before = enqueued();
	acquire(view, stream);
	fill(view, 2, NULL);
	MORE(enqueued(), before, on_device(1));
	acquire(view, home_of(fixture.context));
	MORE(enqueued(), before, on_device(1));
	bi_view_release(view);
}

static void row_08_waits_by_one_event(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t recorded, waited;

	(void)state;
	fill(view, 2, NULL);
	recorded = records();
	waited = waits();
	assert_unordered(stream, view);
	acquire(view, stream);
	assert_ordered(stream, view);
	MORE(records(), recorded, 1);
	MORE(waits(), waited, 1);
	bi_view_release(view);
}

/* The consumer's own command comes after the producer's, or after the library's behind it. */
static void consume(unsigned home, unsigned kind, int with_fill)
{
	struct gate *gate;
	struct bi_view *view = wrap_gated(PLACE_DEVICE, 7, new_producer(home), &gate);
	struct bi_view *to = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_stream *stream = new_stream(kind);

	if (with_fill)
		fill(view, 8, NULL);
	assert_unordered(stream, view);
	acquire(view, stream);
	assert_ordered(stream, view);
	raw_copy(stream, to, view);
	settle();
	assert_int_equal(value_of(to), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(to), with_fill ? 8 : 7);
	bi_view_release(view);
	bi_view_release(to);
	clear_case();
}

static void row_08_the_stream_waits_for_the_home(void **state)
{
	(void)state;
	for (unsigned home = 0; home < stream_kinds(); home++)
		for (unsigned stream = 0; stream < stream_kinds(); stream++) {
			consume(home, stream, 0);
			consume(home, stream, 1);
		}
}

/* Host memory: the consumer's command reads what a device has written to it. */
static void row_08_the_stream_waits_for_the_tail(void **state)
{
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_view *to = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	copy(host, from, NULL);
	acquire(host, stream);
	raw_upload(stream, to, host);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(host);
	bi_view_release(to);
}

/* ------------------------------------------------------------------------------------------------------------ row 9 */

static void row_09_handed_back_memory_is_pending(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before = ordered();

	(void)state;
	if (is_device(fixture.context))
		raw_write(stream, view, 2);
	hand_back(view, stream);
	MORE(ordered(), before, on_device(2));
	assert_exported_stream(view, home_of(fixture.context));
	bi_view_release(view);
}

/* A consumer writes behind a gate; the library, and the producer on his stream, come after him. */
static void hand_back_and_follow(unsigned home, unsigned kind, int raw)
{
	struct bi_stream *producer = new_producer(home), *stream = new_stream(kind);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer });
	struct gate *gate;

	acquire(view, stream);
	gate = close_gate_on_write(stream, view, 7);
	assert_unordered(producer, view);
	hand_back(view, stream);
	assert_ordered(producer, view);
	if (raw)
		raw_write(producer, view, 8);
	else
		fill(view, 8, NULL);
	settle();
	assert_int_equal(value_of(view), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 8);
	bi_view_release(view);
	clear_case();
}

static void row_09_the_home_waits_for_the_stream(void **state)
{
	(void)state;
	for (unsigned home = 0; home < stream_kinds(); home++)
		for (unsigned stream = 0; stream < stream_kinds(); stream++) {
			hand_back_and_follow(home, stream, 0);
			hand_back_and_follow(home, stream, 1);
		}
}

static void row_09_the_tail_is_behind_the_stream(void **state)
{
	struct bi_view *host = wrap(PLACE_HOST, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate_on_write(stream, host, 7);

	(void)state;
	hand_back(host, stream);
	copy(to, host, NULL);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(host);
	bi_view_release(to);
}

/* Events of the first use belong to what later users wait for. */
static void row_09_first_use_events_come_before_the_end_of_the_stream(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view;
	struct gate *gate;
	struct bi_event *event = gated_event(setting.other, producer, made, 7, &gate);

	(void)state;
	view = wrap_again(made, (struct producer){ .event = event });
	bi_event_release(event);
	hand_back(view, stream);
	fill(view, 8, NULL);
	settle();
	assert_int_equal(value_of(view), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 8);
	bi_view_release(view);
	bi_view_release(made);
}

/* ----------------------------------------------------------------------------------------------------------- row 10 */

/* When the call returns, whoever enqueues on the home next, without the library, comes after its work. */
static void follow(enum use use, unsigned home, unsigned kind)
{
	struct bi_stream *producers[2] = { new_producer(home), new_producer(home) }, *stream = new_stream(kind);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producers[0] });
	struct bi_view *other = wrap(PLACE_DEVICE, 2, (struct producer){ .stream = producers[1] });
	struct bi_view *seen = wrap(PLACE_DEVICE, 0, nobody), *other_seen = wrap(PLACE_DEVICE, 0, nobody);
	struct gate *gate = close_gate(stream);
	/* A fill does not use the other array: on an out-of-order home nothing orders its producer's two writes. */
	int has_two_writes = use != USE_FILL || home == BI_STREAM_IN_ORDER;

	apply(use, view, other, stream);
	if (use == USE_ACQUIRE)
		hand_back(other, stream);
	assert_ordered(producers[0], view);
	assert_ordered(producers[1], other);
	/* On an out-of-order home these would race with the writes that follow. */
	if (home == BI_STREAM_IN_ORDER) {
		raw_copy(producers[0], seen, view);
		raw_copy(producers[1], other_seen, other);
	}
	raw_write(producers[0], view, 20);
	if (has_two_writes)
		raw_write(producers[1], other, 21);
	settle();
	open_and_finish(gate);
	if (home == BI_STREAM_IN_ORDER) {
		assert_int_equal(value_of(seen), applied_to_view(use, 1, 2));
		assert_int_equal(value_of(other_seen), use == USE_FILL ? 2 : applied_to_other(use, 1, 2));
	}
	assert_int_equal(value_of(view), 20);
	assert_int_equal(value_of(other), has_two_writes ? 21 : 2);
	bi_view_release(view);
	bi_view_release(other);
	bi_view_release(seen);
	bi_view_release(other_seen);
	clear_case();
}

static void row_10_homes_wait_when_the_call_returns(void **state)
{
	(void)state;
	for (int use = 0; use < USE_COUNT; use++)
		for (unsigned home = 0; home < stream_kinds(); home++)
			for (unsigned stream = 0; stream < stream_kinds(); stream++)
				follow((enum use)use, home, stream);
}

static void row_10_the_tail_is_there_when_the_call_returns(void **state)
{
	struct bi_view *host = wrap(PLACE_HOST, 1, nobody), *from = wrap(PLACE_DEVICE, 7, nobody);
	struct bi_view *to = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER), *last = new_stream(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(stream);

	(void)state;
	copy(host, from, stream);
	copy(to, host, last);
	copy(host, to, NULL);
	settle();
	assert_int_equal(value_of(host), 1);
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(host), 7);
	assert_int_equal(value_of(to), 7);
	bi_view_release(host);
	bi_view_release(from);
	bi_view_release(to);
}

/* On the host, work is done when the call returns. */
static void row_10_all_uses_in_a_row(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *other = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);

	(void)state;
	copy(view, other, stream);
	fill(other, 3, NULL);
	acquire(other, stream);
	hand_back(other, stream);
	set_element(other, 0, 3);
	finish_all();
	assert_int_equal(value_of(view), 2);
	assert_int_equal(value_of(other), 3);
	bi_view_release(view);
	bi_view_release(other);
}

int operations_rows(void)
{
	static const struct row rows[] = {
		ROW(row_06_fill_and_set, 0),
		ROW(row_06_fill_and_set_run_on_the_home, NEED_GATE),
		ROW(row_06_the_stream_waits_for_the_home, NEED_GATE),
		ROW(row_06_the_home_waits_for_the_stream, NEED_GATE),
		ROW(row_06_an_out_of_order_home_gets_barriers, NEED_OPENCL),
		ROW(row_10_the_tail_comes_with_the_copy, NEED_OPENCL),
		ROW(row_08_nothing_to_wait_for, 0),
		ROW(row_08_waits_by_one_event, NEED_DEVICE),
		ROW(row_08_the_stream_waits_for_the_home, NEED_GATE),
		ROW(row_08_the_stream_waits_for_the_tail, NEED_GATE),
		ROW(row_09_handed_back_memory_is_pending, 0),
		ROW(row_09_the_home_waits_for_the_stream, NEED_GATE),
		ROW(row_09_the_tail_is_behind_the_stream, NEED_GATE),
		ROW(row_09_first_use_events_come_before_the_end_of_the_stream, NEED_GATE),
		ROW(row_10_homes_wait_when_the_call_returns, NEED_GATE),
		ROW(row_10_the_tail_is_there_when_the_call_returns, NEED_GATE),
		ROW(row_10_all_uses_in_a_row, 0),
	};

	return run_rows("operations", rows, ARRAY_LENGTH(rows));
}
