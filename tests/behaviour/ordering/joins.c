/* Rows 6, 8, 10, 26 and 31 with several streams at once, and what need not be ordered. */
#include "uses.h"

static const struct producer nobody;

/* ---------------------------------------------------------------------------------------------------- rows 8 and 10 */

#define PRODUCERS 3

/* The example of the CUDA Array Interface: work on streams 7, 9 and 15 comes before what stream 3 does next. */
static void row_08_streams_are_joined(void **state)
{
	struct bi_stream *consumer = new_stream(BI_STREAM_IN_ORDER), *producers[PRODUCERS];
	struct bi_view *from[PRODUCERS], *to[PRODUCERS];
	struct gate *gates[PRODUCERS];
	uint64_t before;

	(void)state;
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i] = new_producer(BI_STREAM_IN_ORDER);
		from[i] = wrap(PLACE_DEVICE, 1, nobody);
		to[i] = wrap(PLACE_DEVICE, 2, nobody);
		gates[i] = close_gate_on_write(producers[i], from[i], 10 + i);
		assert_unordered(consumer, from[i]);
	}
	before = waits();
	OK(bi_stream_join(consumer, producers, PRODUCERS, &error));
	MORE(waits(), before, PRODUCERS);
	for (int i = 0; i < PRODUCERS; i++) {
		assert_ordered(consumer, from[i]);
		raw_copy(consumer, to[i], from[i]);
	}
	for (int i = 0; i < PRODUCERS; i++) {
		settle();
		assert_int_equal(value_of(to[0]), 2);
		open_gate(gates[i]);
	}
	finish_all();
	for (int i = 0; i < PRODUCERS; i++) {
		assert_int_equal(value_of(to[i]), 10 + i);
		bi_view_release(from[i]);
		bi_view_release(to[i]);
	}
}

#define ROUNDS 5

/*
 * Three producers write again and again on their streams, a consumer reads on his: each round takes what was written
 * for it, and no producer is ahead of the consumer. Nobody waits on the host.
 */
static void row_10_three_producers_and_a_consumer(void **state)
{
	struct bi_stream *consumer = new_stream(BI_STREAM_IN_ORDER), *producers[PRODUCERS];
	struct bi_view *from[PRODUCERS], *seen[PRODUCERS][ROUNDS];

	(void)state;
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i] = new_producer(BI_STREAM_IN_ORDER);
		from[i] = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producers[i] });
		for (int round = 0; round < ROUNDS; round++)
			seen[i][round] = wrap(PLACE_DEVICE, 2, nobody);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < PRODUCERS; i++)
			raw_write(producers[i], from[i], 10 * round + i);
		for (int i = 0; i < PRODUCERS; i++) {
			hand_back(from[i], producers[i]);
			acquire(from[i], consumer);
			assert_readable(consumer, from[i]);
			raw_copy(consumer, seen[i][round], from[i]);
			hand_back(from[i], consumer);
			assert_ordered(producers[i], from[i]);
		}
	}
	finish_all();
	for (int i = 0; i < PRODUCERS; i++) {
		for (int round = 0; round < ROUNDS; round++) {
			assert_int_equal(value_of(seen[i][round]), 10 * round + i);
			bi_view_release(seen[i][round]);
		}
		bi_view_release(from[i]);
	}
}

/* The same by copies of the library, and with the consumer's results going back to the producers. */
static void row_10_there_and_back_again(void **state)
{
	struct bi_stream *consumer = new_stream(BI_STREAM_IN_ORDER), *producers[PRODUCERS];
	struct bi_view *given[PRODUCERS], *result = wrap(PLACE_DEVICE, 3, nobody);

	(void)state;
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i] = new_producer(BI_STREAM_IN_ORDER);
		given[i] = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producers[i] });
	}
	for (int round = 0; round < ROUNDS; round++) {
		raw_write(producers[0], given[0], 20 + round);
		copy(given[1], given[0], consumer);
		copy(given[2], given[1], NULL);
		copy(result, given[2], consumer);
		fill(given[2], 5, NULL);
	}
	raw_write(producers[1], given[1], 6);
	finish_all();
	assert_int_equal(value_of(given[0]), 20 + ROUNDS - 1);
	assert_int_equal(value_of(given[1]), 6);
	assert_int_equal(value_of(given[2]), 5);
	assert_int_equal(value_of(result), 20 + ROUNDS - 1);
	for (int i = 0; i < PRODUCERS; i++)
		bi_view_release(given[i]);
	bi_view_release(result);
}

/* ----------------------------------------------------------------------------------------------------------- row 26 */

static void row_26_unordered_memory_waits_for_nothing(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *view =
		wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer, .flags = BI_WRAP_UNORDERED });
	uint64_t before = all_calls();

	(void)state;
	acquire(view, stream);
	acquire(view, producer);
	MORE(all_calls(), before, 0);
	before = enqueued();
	hand_back(view, stream);
	MORE(enqueued(), before, 0);
	fill(view, 2, stream);
	MORE(enqueued(), before, 1);
	acquire(view, home_of(fixture.context));
	MORE(enqueued(), before, 1);
	assert_exported_stream(view, NULL);
	finish_all();
	assert_int_equal(value_of(view), 2);
	bi_view_release(view);
}

/* The producer's work, and that of the home, are behind gates; the fill is not. */
static void row_26_nothing_waits_because_of_it(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .flags = BI_WRAP_UNORDERED });
	struct bi_view *other = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *home_gate = close_gate(home_of(fixture.context)), *gate;

	(void)state;
	fill(view, 2, stream);
	SETTLE_UNTIL(value_of(view) == 2);
	OK(bi_stream_join(producer, &stream, 1, &error));
	gate = close_gate(producer);
	fill(view, 3, producer);
	open_gate(home_gate);
	fill(other, 4, NULL);
	SETTLE_UNTIL(value_of(other) == 4);
	assert_int_equal(value_of(view), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 3);
	bi_view_release(view);
	bi_view_release(other);
}

static void row_26_the_last_release_lets_go_at_once(void **state)
{
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view;
	struct gate *gate = close_gate(home_of(fixture.context));
	atomic_int released = 0;

	(void)state;
	view = wrap_again(made, (struct producer){ .flags = BI_WRAP_UNORDERED, .released = &released });
	fill(view, 2, NULL);
	bi_view_release(view);
	assert_int_equal(released, 1);
	assert_int_equal(reported(fixture.context, "retired"), 0);
	open_and_finish(gate);
	assert_int_equal(value_of(made), 2);
	bi_view_release(made);
}

/* ----------------------------------------------------------------------------------------------------------- row 31 */

/* What the second copy waits for: the home of the other array, but not the tail, if that is on its own stream. */
static void copy_twice(struct bi_stream *first, struct bi_stream *second, unsigned more)
{
	struct bi_view *host = wrap(PLACE_HOST, 7, nobody), *to = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_view *last = wrap(PLACE_DEVICE, 3, nobody);
	struct gate *gate = close_gate(first);
	uint64_t before = waits();

	copy(to, host, first);
	MORE(waits(), before, 1);
	before = waits();
	copy(host, to, second);
	copy(last, host, second);
	MORE(waits(), before, more);
	settle();
	assert_int_equal(value_of(to), 2);
	assert_int_equal(value_of(last), 3);
	open_and_finish(gate);
	assert_int_equal(value_of(host), 7);
	assert_int_equal(value_of(last), 7);
	bi_view_release(host);
	bi_view_release(to);
	bi_view_release(last);
	clear_case();
}

static void row_31_the_tail_is_not_waited_for_on_its_stream(void **state)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);

	(void)state;
	copy_twice(stream, stream, 3);
}

static void row_31_other_streams_wait_for_the_tail(void **state)
{
	(void)state;
	copy_twice(new_stream(BI_STREAM_IN_ORDER), new_stream(BI_STREAM_IN_ORDER), 4);
}

/* Not so device memory: on its home the producer works without telling, and the stream comes after him each time. */
static void row_06_the_stream_waits_for_what_the_producer_did_meanwhile(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = home });
	struct gate *gate;

	(void)state;
	fill(view, 2, stream);
	gate = close_gate_on_write(home, view, 3);
	assert_unordered(stream, view);
	fill(view, 4, stream);
	assert_ordered(stream, view);
	SETTLE_UNTIL(value_of(view) == 2);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 4);
	bi_view_release(view);
}

int joins_rows(void)
{
	static const struct row rows[] = {
		ROW(row_08_streams_are_joined, NEED_GATE),
		ROW(row_10_three_producers_and_a_consumer, NEED_DEVICE),
		ROW(row_10_there_and_back_again, NEED_DEVICE),
		ROW(row_26_unordered_memory_waits_for_nothing, NEED_DEVICE),
		ROW(row_26_nothing_waits_because_of_it, NEED_GATE),
		ROW(row_26_the_last_release_lets_go_at_once, NEED_GATE),
		ROW(row_06_the_stream_waits_for_what_the_producer_did_meanwhile, NEED_GATE),
		ROW(row_31_other_streams_wait_for_the_tail, NEED_GATE),
		ROW(row_31_the_tail_is_not_waited_for_on_its_stream, NEED_GATE),
	};

	return run_rows("joins", rows, ARRAY_LENGTH(rows));
}
