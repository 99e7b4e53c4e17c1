/* Row 7: two memories. */
#include "uses.h"

static const struct producer nobody;

/* Which sides are host memory, and on what the copy runs. */
struct way {
	enum place from, to;
	unsigned home; /* kind of the producers' streams */
	int stream; /* kind of the caller's, or -1: none */
};

static struct bi_stream *stream_of(const struct way *way)
{
	return way->stream < 0 ? NULL : new_stream((unsigned)way->stream);
}

static void for_each_way(void (*run)(const struct way *way))
{
	static const enum place sides[][2] = {
		{ PLACE_DEVICE, PLACE_DEVICE },
		{ PLACE_HOST, PLACE_DEVICE },
		{ PLACE_DEVICE, PLACE_HOST },
	};

	for (size_t side = 0; side < ARRAY_LENGTH(sides); side++)
		for (unsigned home = 0; home < stream_kinds(); home++)
			for (int stream = -1; stream < (int)stream_kinds(); stream++) {
				const struct way way = { sides[side][0], sides[side][1], home, stream };

				run(&way);
				clear_case();
			}
}

static void copy_to_end(struct bi_view *to, struct bi_view *from, const struct way *way, struct gate *gate)
{
	copy(to, from, stream_of(way));
	SETTLE_UNTIL(value_of(to) == 1);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(to);
}

static void copy_pending_source(const struct way *way)
{
	struct gate *gate;
	struct bi_view *to = wrap(way->to, 1, (struct producer){ .stream = new_producer(way->home) });
	struct bi_view *from = wrap_gated(way->from, 7, new_producer(way->home), &gate);

	copy_to_end(to, from, way, gate);
}

static void row_07_waits_for_the_source(void **state)
{
	(void)state;
	for_each_way(copy_pending_source);
}

/* What the producer still writes is written over. */
static void copy_to_pending_destination(const struct way *way)
{
	struct gate *gate;
	struct bi_view *from = wrap(way->from, 7, (struct producer){ .stream = new_producer(way->home) });
	struct bi_view *to = wrap_gated(way->to, 2, new_producer(way->home), &gate);

	copy(to, from, stream_of(way));
	settle();
	assert_int_equal(value_of(to), 0);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(to);
}

static void row_07_waits_for_the_destination(void **state)
{
	(void)state;
	for_each_way(copy_to_pending_destination);
}

/* Later work on the memory: of its producer on its home, or of the library where it has none. */
static void write_later(struct bi_view *view, int value, struct bi_stream *home)
{
	struct bi_view *value_view;

	if (!bi_view_host_pointer(view)) {
		raw_write(home, view, value);
		return;
	}
	value_view = wrap(PLACE_DEVICE, value, nobody);
	copy(view, value_view, new_stream(BI_STREAM_IN_ORDER));
	bi_view_release(value_view);
}

/* The copy is behind the gate. Later writes of either memory must not come before it. */
static void copy_before_later_work(const struct way *way, int write_source)
{
	struct bi_stream *homes[2] = { new_producer(way->home), new_producer(way->home) };
	struct bi_view *from = wrap(way->from, 7, (struct producer){ .stream = homes[0] });
	struct bi_view *to = wrap(way->to, 1, (struct producer){ .stream = homes[1] });
	struct bi_stream *stream = stream_of(way);
	struct gate *gate = close_gate(stream ? stream : homes[way->to == PLACE_DEVICE]);

	copy(to, from, stream);
	if (way->to == PLACE_DEVICE)
		assert_ordered(homes[1], to);
	if (way->from == PLACE_DEVICE)
		assert_ordered(homes[0], from);
	write_later(write_source ? from : to, 8, homes[!write_source]);
	SETTLE_UNTIL(value_of(from) == 7 && value_of(to) == 1);
	open_and_finish(gate);
	assert_int_equal(value_of(from), write_source ? 8 : 7);
	assert_int_equal(value_of(to), write_source ? 7 : 8);
	bi_view_release(from);
	bi_view_release(to);
}

static void copy_then_write_source(const struct way *way)
{
	copy_before_later_work(way, 1);
}

static void copy_then_write_destination(const struct way *way)
{
	copy_before_later_work(way, 0);
}

static void row_07_the_home_of_the_source_waits(void **state)
{
	(void)state;
	for_each_way(copy_then_write_source);
}

static void row_07_the_home_of_the_destination_waits(void **state)
{
	(void)state;
	for_each_way(copy_then_write_destination);
}

/* Without a stream: on the home of the destination, or of the source where that is host memory. */
static void row_07_runs_on_the_home_of_the_destination(void **state)
{
	(void)state;
	for (int download = 0; download < 2; download++) {
		struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
		struct bi_view *from = wrap(PLACE_DEVICE, 7, (struct producer){ .stream = producer });
		struct bi_view *to = wrap(download ? PLACE_HOST : PLACE_DEVICE, 1, nobody);
		struct gate *gate = close_gate(download ? producer : home_of(fixture.context));

		copy_to_end(to, from, &(const struct way){ .stream = -1 }, gate);
	}
}

static void expect_strided(const unsigned char *bytes, size_t count, int value)
{
	for (size_t i = 0; i < ARRAY_BYTES; i++)
		assert_int_equal(bytes[i], i < 2 * count && i % 2 == 0 ? value : 1);
}

/* Every second element. Between host and device not for devices that pack: the host has a part in that (row 17). */
static void copy_strided(enum place from_place, int64_t step, enum place to_place)
{
	struct bi_view *from = wrap(from_place, 7, nobody), *to = wrap(to_place, 1, nobody);
	struct bi_view *from_part = slice(from, 0, 100, step), *to_part = slice(to, 0, 100, 2);
	struct gate *gate = close_gate(home_of(fixture.context));
	unsigned char bytes[ARRAY_BYTES];

	make_early(fixture.context, 1);
	copy(to_part, from_part, NULL);
	make_early(fixture.context, 0);
	bi_view_release(from_part);
	bi_view_release(to_part);
	settle();
	assert_int_equal(value_of(to), 1);
	open_and_finish(gate);
	peek(to, bytes);
	expect_strided(bytes, 100, 7);
	bi_view_release(from);
	bi_view_release(to);
	clear_case();
}

static void row_07_strided(void **state)
{
	(void)state;
	copy_strided(PLACE_DEVICE, 3, PLACE_DEVICE);
	if (!can(fixture.context, BI_CAP_NATIVE_COPY) && !setting.is_pinned)
		return;
	copy_strided(PLACE_HOST, 3, PLACE_DEVICE);
	copy_strided(PLACE_HOST, 2, PLACE_DEVICE);
	copy_strided(PLACE_DEVICE, 3, PLACE_HOST);
}

static void count_up(unsigned char bytes[ARRAY_BYTES])
{
	for (size_t i = 0; i < ARRAY_BYTES; i++)
		bytes[i] = (unsigned char)(i * 7 / 3);
}

static void row_07_overlap_goes_through_a_third(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 0, nobody), *low = slice(view, 0, 4000, 1);
	struct bi_view *high = slice(view, 64, 4000, 1);
	unsigned char before[ARRAY_BYTES], after[ARRAY_BYTES];

	(void)state;
	count_up(before);
	poke(view, before);
	copy(high, low, new_stream(BI_STREAM_IN_ORDER));
	finish_all();
	peek(view, after);
	assert_memory_equal(after + 64, before, 4000);
	assert_memory_equal(after, before, 64);
	bi_view_release(view);
	bi_view_release(low);
	bi_view_release(high);
}

static void row_07_overlap_does_not_wait(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 0, nobody), *low = slice(view, 0, 4000, 1);
	struct bi_view *high = slice(view, 64, 4000, 1);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(stream);
	unsigned char before[ARRAY_BYTES], after[ARRAY_BYTES];

	(void)state;
	count_up(before);
	poke(view, before);
	copy(high, low, stream);
	fill(low, 1, NULL);
	settle();
	peek(view, after);
	assert_memory_equal(after, before, ARRAY_BYTES);
	open_and_finish(gate);
	peek(view, after);
	assert_memory_equal(after + 4000, before + 4000 - 64, 64);
	assert_int_equal(after[64], 1);
	bi_view_release(view);
	bi_view_release(low);
	bi_view_release(high);
}

/* Without a gate, on every device. */
static void row_07_copies_in_a_row(void **state)
{
	struct bi_view *first = wrap(PLACE_HOST, 7, nobody), *second = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_view *third = wrap(PLACE_DEVICE, 2, nobody), *last = wrap(PLACE_HOST, 3, nobody);

	(void)state;
	copy(second, first, NULL);
	copy(third, second, new_stream(BI_STREAM_IN_ORDER));
	copy(last, third, NULL);
	finish_all();
	assert_int_equal(value_of(last), 7);
	bi_view_release(first);
	bi_view_release(second);
	bi_view_release(third);
	bi_view_release(last);
}

int copies_rows(void)
{
	static const struct row rows[] = {
		ROW(row_07_copies_in_a_row, 0),
		ROW(row_07_waits_for_the_source, NEED_GATE),
		ROW(row_07_waits_for_the_destination, NEED_GATE),
		ROW(row_07_the_home_of_the_source_waits, NEED_GATE),
		ROW(row_07_the_home_of_the_destination_waits, NEED_GATE),
		ROW(row_07_runs_on_the_home_of_the_destination, NEED_GATE),
		ROW(row_07_strided, NEED_GATE),
		ROW(row_07_overlap_goes_through_a_third, 0),
		ROW(row_07_overlap_does_not_wait, NEED_GATE),
	};

	return run_rows("copies", rows, ARRAY_LENGTH(rows));
}
