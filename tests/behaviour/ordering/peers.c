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

/* Whose stream the caller names for a copy between pinned or managed memory of the first context and memory of the
 * second device.
 */
enum whose { NOBODYS, OF_THE_PINNED_SIDE, OF_THE_DEVICE_SIDE };

/* The library's own memory: that of the device comes from a pool, and belongs to no context. */
struct pinned_case {
	struct bi_context *second;
	struct bi_view *from, *to;
	struct bi_stream *stream; /* or NULL */
};

static struct pinned_case begin_pinned(enum bi_memory_kind kind, int is_upload, enum whose whose)
{
	struct bi_context *second = open_second();
	struct bi_view *pinned = allocate_in(fixture.context, kind);
	struct bi_view *device = allocate_in(second, BI_MEMORY_DEVICE);
	struct pinned_case made = { second, is_upload ? pinned : device, is_upload ? device : pinned, NULL };

	if (whose != NOBODYS)
		made.stream = new_stream_in(whose == OF_THE_PINNED_SIDE ? fixture.context : second, 0);
	fill(made.from, 1, NULL);
	fill(made.to, 2, NULL);
	finish_all();
	return made;
}

static void end_pinned(struct pinned_case used)
{
	bi_view_release(used.from);
	bi_view_release(used.to);
	clear_case();
	close_context(used.second, 0);
}

/* The test works on one side on the caller's stream, before the copy and after it, and says nothing to the library. */
static void copy_pinned_on_a_stream(enum bi_memory_kind kind, int is_upload, enum whose whose)
{
	struct pinned_case used = begin_pinned(kind, is_upload, whose);
	int is_source = is_upload == (whose == OF_THE_PINNED_SIDE);
	struct bi_view *worked_on = is_source ? used.from : used.to;
	struct gate *gate = close_gate(used.stream);

	raw_write(used.stream, worked_on, 7);
	copy(used.to, used.from, used.stream);
	if (is_source)
		raw_write(used.stream, used.from, 8);
	else
		raw_write(used.stream, used.to, 9);
	settle();
	assert_int_equal(value_of(used.to), 2);
	assert_int_equal(value_of(used.from), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(used.to), is_source ? 7 : 9);
	assert_int_equal(value_of(used.from), is_source ? 8 : 1);
	end_pinned(used);
}

/* Copies while a gate on the home stream of the source is closed. */
static void copy_pinned(enum bi_memory_kind kind, int is_upload, enum whose whose, int64_t from_step, int64_t to_step)
{
	struct pinned_case used = begin_pinned(kind, is_upload, whose);
	struct bi_view *from = slice(used.from, 0, 100, from_step), *to = slice(used.to, 0, 100, to_step);
	struct gate *gate = close_gate(home_of(is_upload ? fixture.context : used.second));
	unsigned char bytes[ARRAY_BYTES];

	fill(used.from, 7, NULL);
	copy(to, from, used.stream);
	fill(used.from, 8, NULL);
	settle();
	assert_int_equal(value_of(used.to), 2);
	open_and_finish(gate);
	peek(used.to, bytes);
	for (int64_t i = 0; i < ARRAY_BYTES; i++)
		assert_int_equal(bytes[i], i % to_step == 0 && i < 100 * to_step ? 7 : 2);
	assert_int_equal(value_of(used.from), 8);
	bi_view_release(from);
	bi_view_release(to);
	end_pinned(used);
}

static void row_30_the_other_device_copies_pinned_memory(void **state)
{
	(void)state;
	for (int is_upload = 0; is_upload < 2; is_upload++)
		for (enum whose whose = NOBODYS; whose <= OF_THE_DEVICE_SIDE; whose++)
			copy_pinned(BI_MEMORY_PINNED, is_upload, whose, 1, 1);
}

static void row_30_a_stream_of_the_pinned_side_waits(void **state)
{
	(void)state;
	for (int is_upload = 0; is_upload < 2; is_upload++)
		for (enum whose whose = OF_THE_PINNED_SIDE; whose <= OF_THE_DEVICE_SIDE; whose++)
			copy_pinned_on_a_stream(BI_MEMORY_PINNED, is_upload, whose);
}

/* Managed memory has an address of the host, and is not pinned: 7.1 has the stream of the copy. */
static void row_30_managed_memory_of_another_device(void **state)
{
	(void)state;
	for (int is_upload = 0; is_upload < 2; is_upload++)
		for (enum whose whose = NOBODYS; whose <= OF_THE_DEVICE_SIDE; whose++) {
			copy_pinned(BI_MEMORY_UNIFIED, is_upload, whose, 1, 1);
			if (whose != NOBODYS)
				copy_pinned_on_a_stream(BI_MEMORY_UNIFIED, is_upload, whose);
		}
}

static void row_30_strided_pinned_and_managed_memory(void **state)
{
	static const int64_t steps[][2] = { { 3, 1 }, { 1, 3 }, { 3, 2 } };

	(void)state;
	for (int is_upload = 0; is_upload < 2; is_upload++)
		for (enum whose whose = NOBODYS; whose <= OF_THE_DEVICE_SIDE; whose++)
			for (size_t i = 0; i < ARRAY_LENGTH(steps); i++)
				for (int is_managed = 0; is_managed < 2; is_managed++)
					copy_pinned(is_managed ? BI_MEMORY_UNIFIED : BI_MEMORY_PINNED, is_upload, whose,
						    steps[i][0], steps[i][1]);
}

/* The pinned array that the first copy reads is above the limit of its context, and retired there. */
static void row_15_a_copy_on_another_device_keeps_the_limit(void **state)
{
	static const int64_t nbytes = ((int64_t)64 << 20) + 1;
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *second = open_second(), *first;
	struct bi_view *to = allocate_in(second, BI_MEMORY_DEVICE), *all, *from, *other;
	struct bi_memory *memory;
	struct bi_stream *stream;
	struct bi_layout layout;
	struct gate *gate;

	(void)state;
	options.pool_limit = BI_POOL_NONE;
	first = open_context(fixture.spec, options);
	stream = new_stream_in(first, 0);
	OK(bi_memory_create(first, (size_t)nbytes, BI_MEMORY_PINNED, &memory, &error));
	OK(bi_layout_init(&layout, dtype_of("uint8"), 1, &nbytes, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &all, &error));
	bi_memory_release(memory);
	from = slice(all, 0, ARRAY_BYTES, 1);
	other = allocate_in(first, BI_MEMORY_PINNED);
	finish_all();
	gate = close_gate(home_of(second));
	copy(to, from, stream);
	bi_view_release(from);
	bi_view_release(all);
	open_gate_soon(gate);
	copy(to, other, stream);
	assert_true(is_open(gate));
	expect_waits("pressure", 1);
	bi_view_release(other);
	bi_view_release(to);
	finish_all();
	clear_case();
	close_context(first, 0);
	close_context(second, 0);
}

/* The report of the context that runs the copy has its time. */
static void row_30_the_other_device_reports_the_copy(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *second;
	struct bi_view *pinned = allocate_in(fixture.context, BI_MEMORY_PINNED), *device;
	char *report;

	(void)state;
	options.profile = 1;
	second = open_context(fixture.second_spec, options);
	device = allocate_in(second, BI_MEMORY_DEVICE);
	copy(device, pinned, NULL);
	copy(pinned, device, NULL);
	finish_all();
	OK(bi_context_report(second, &report, &error));
	assert_non_null(strstr(report, "\"copy\""));
	assert_non_null(strstr(strstr(report, "\"copy\"") + 1, "\"copy\""));
	assert_null(strstr(report, "\"nanoseconds\": null"));
	bi_report_free(report);
	bi_view_release(pinned);
	bi_view_release(device);
	clear_case();
	close_context(second, 0);
}

/* The work that the second device does with memory of the first is complete before the first is closed. */
static void row_16_close_waits_for_the_other_device(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *second = open_second(), *first = open_context(fixture.spec, options);
	struct bi_view *from = allocate_in(first, BI_MEMORY_DEVICE), *to = allocate_in(second, BI_MEMORY_DEVICE);
	struct gate *gate;

	(void)state;
	fill(from, 7, NULL);
	fill(to, 2, NULL);
	finish_all();
	gate = close_gate(home_of(second));
	copy(to, from, NULL);
	bi_view_release(from);
	open_gate_soon(gate);
	close_context(first, allocates_in_order() ? 0 : 1);
	assert_true(is_open(gate));
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(to);
}

int peers_rows(void)
{
	static const struct row rows[] = {
		ROW(row_30_dense_bytes_go_on_the_home_of_the_destination, NEED_PEERS | NEED_GATE),
		ROW(row_30_on_streams, NEED_PEERS | NEED_GATE),
		ROW(row_30_strided, NEED_PEERS | NEED_GATE),
		ROW(row_30_host_memory_between_two_devices, NEED_PEERS | NEED_GATE),
		ROW(row_30_the_other_device_copies_pinned_memory, NEED_PEERS | NEED_GATE),
		ROW(row_30_a_stream_of_the_pinned_side_waits, NEED_PEERS | NEED_GATE),
		ROW(row_30_managed_memory_of_another_device, NEED_PEERS | NEED_GATE),
		ROW(row_30_strided_pinned_and_managed_memory, NEED_PEERS | NEED_GATE),
		ROW(row_15_a_copy_on_another_device_keeps_the_limit, NEED_PEERS | NEED_GATE),
		ROW(row_30_the_other_device_reports_the_copy, NEED_PEERS),
		ROW(row_16_close_waits_for_the_other_device, NEED_PEERS | NEED_GATE),
	};

	return run_rows("two CUDA devices", rows, ARRAY_LENGTH(rows));
}
