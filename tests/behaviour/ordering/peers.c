/* Row 30: two CUDA devices. */
#include "uses.h"

static const struct producer nobody;

/* Both sides are behind gates, and what comes later on either home comes after the copy. */
static void row_30_dense_bytes_go_on_the_home_of_the_destination(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *from = wrap(PLACE_DEVICE, 1, nobody), *to = wrap_in(second, PLACE_DEVICE, 2, nobody);
	struct gate *gates[] = { close_gate(home_of(fixture.context)), close_gate(home_of(second)) };
	uint64_t before = calls_of("cuMemcpyPeerAsync");

	(void)state;
	fill(from, 7, NULL);
	assert_unordered(home_of(second), from);
	copy(to, from, NULL);
	MORE(calls_of("cuMemcpyPeerAsync"), before, 1);
	assert_ordered(home_of(second), from);
	assert_ordered(home_of(fixture.context), from);
	fill(from, 8, NULL);
	open_gate(gates[0]);
	settle();
	assert_int_equal(value_of(to), 2);
	assert_int_equal(value_of(from), 7);
	open_and_finish(gates[1]);
	assert_int_equal(value_of(to), 7);
	assert_int_equal(value_of(from), 8);
	bi_view_release(from);
	bi_view_release(to);
}

static void row_30_on_streams(void **state)
{
	struct bi_context *second = open_second();
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream_in(second, 0);
	struct bi_view *from = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer });
	struct bi_view *to = wrap_in(second, PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate_on_write(producer, from, 7);

	(void)state;
	copy(to, from, stream);
	raw_write(producer, from, 8);
	assert_ordered(home_of(second), to);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	assert_int_equal(value_of(from), 8);
	bi_view_release(from);
	bi_view_release(to);
}

/* Packed where the source lies, unpacked where the destination lies. */
static void copy_strided(int64_t from_step, int64_t to_step)
{
	struct bi_context *second = open_second();
	struct bi_view *from = wrap(PLACE_DEVICE, 1, nobody), *to = wrap_in(second, PLACE_DEVICE, 2, nobody);
	struct bi_view *from_part = slice(from, 1, 100, from_step), *to_part = slice(to, 0, 100, to_step);
	struct gate *gate = close_gate(home_of(fixture.context));
	unsigned char bytes[ARRAY_BYTES];

	fill(from, 7, NULL);
	copy(to_part, from_part, NULL);
	fill(from, 8, NULL);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	peek(to, bytes);
	for (int64_t i = 0; i < ARRAY_BYTES; i++)
		assert_int_equal(bytes[i], i % to_step == 0 && i < 100 * to_step ? 7 : 2);
	assert_int_equal(value_of(from), 8);
	bi_view_release(from_part);
	bi_view_release(to_part);
	bi_view_release(from);
	bi_view_release(to);
	clear_case();
}

static void row_30_strided(void **state)
{
	(void)state;
	copy_strided(3, 1);
	copy_strided(1, 4);
	copy_strided(5, 2);
}

/* The tail of host memory is an event of one device; a stream of the other waits for it. */
static void row_30_host_memory_between_two_devices(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_view *to = wrap_in(second, PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	copy(host, from, NULL);
	copy(to, host, NULL);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(host);
	bi_view_release(to);
}

int peers_rows(void)
{
	static const struct row rows[] = {
		ROW(row_30_dense_bytes_go_on_the_home_of_the_destination, NEED_PEERS | NEED_GATE),
		ROW(row_30_on_streams, NEED_PEERS | NEED_GATE),
		ROW(row_30_strided, NEED_PEERS | NEED_GATE),
		ROW(row_30_host_memory_between_two_devices, NEED_PEERS | NEED_GATE),
	};

	return run_rows("two CUDA devices", rows, ARRAY_LENGTH(rows));
}
