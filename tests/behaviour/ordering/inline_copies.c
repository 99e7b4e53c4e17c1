/* Row 36: bytes of memory that nobody else knows; and what row 21 says before and after. */
#include <pthread.h>
#include <stdlib.h>

#include "buffer_interface/binding.h"
#include "buffer_interface/dlpack.h"
#include "common/base/inline_limit.h"
#include "uses.h"
#include "support/use.h"

static const struct producer nobody;

static void read_all(struct bi_view *view, unsigned char bytes[ARRAY_BYTES])
{
	OK(bi_view_read(view, bytes, ARRAY_BYTES, &error));
}

/* The value of all bytes as the library reads them, or -1 if they differ. */
static int read_value(struct bi_view *view)
{
	unsigned char bytes[ARRAY_BYTES];

	read_all(view, bytes);
	for (int i = 1; i < ARRAY_BYTES; i++)
		if (bytes[i] != bytes[0])
			return -1;
	return bytes[0];
}

static void write_value(struct bi_view *view, int value)
{
	unsigned char bytes[ARRAY_BYTES];

	memset(bytes, value, sizeof(bytes));
	OK(bi_view_write(view, bytes, sizeof(bytes), &error));
}

/* Bytes of the library's own, whatever device and size. */
static struct bi_view *allocate_bytes(int64_t count)
{
	struct bi_dtype byte;
	struct bi_view *view;

	OK(bi_dtype_make(BI_UINT8, 1, 0, &byte, &error));
	OK(bi_view_empty(fixture.context, byte, 1, &count, &view, &error));
	return view;
}

/* Everything there is, and the driver is not called at all. */
static void row_36_nothing_is_enqueued(void **state)
{
	struct bi_view *a = allocate(), *b = allocate(), *even, *odd;
	const int64_t one = 7;
	unsigned char bytes[ARRAY_BYTES], byte = 9;
	uint64_t before = all_calls();

	(void)state;
	fill(a, 1, NULL);
	copy(b, a, NULL);
	assert_int_equal(read_value(b), 1);
	write_value(a, 2);
	even = slice(a, 0, ARRAY_BYTES / 2, 2);
	odd = slice(b, 1, ARRAY_BYTES / 2, 2);
	OK(bi_view_set_element(even, &one, &byte, &error));
	copy(odd, even, NULL);
	byte = 0;
	OK(bi_view_get_element(a, &(int64_t){ 2 * one }, &byte, &error));
	assert_int_equal(byte, 9);
	read_all(b, bytes);
	for (int i = 0; i < ARRAY_BYTES; i++)
		assert_int_equal(bytes[i], i == 2 * one + 1 ? 9 : i % 2 ? 2 : 1);
	assert_true(bi_view_is_idle(a) && bi_view_is_idle(b));
	MORE(all_calls(), before, 0);
	bi_view_release(even);
	bi_view_release(odd);
	bi_view_release(a);
	bi_view_release(b);
}

/* Own memory of the host's on the other side, and a stream that is not the home. */
static void row_36_from_and_to_the_host(void **state)
{
	struct bi_view *device = allocate(), *host = allocate_in(fixture.context, BI_MEMORY_HOST);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before = all_calls();

	(void)state;
	write_value(host, 3);
	copy(device, host, stream);
	fill(host, 4, NULL);
	assert_int_equal(read_value(device), 3);
	copy(host, device, NULL);
	assert_int_equal(read_value(host), 3);
	MORE(all_calls(), before, 0);
	bi_view_release(device);
	bi_view_release(host);
}

/* What waits on the home has nothing to do with it. */
static void row_36_not_behind_what_is_on_the_home(void **state)
{
	struct bi_view *view = allocate();
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	fill(view, 5, NULL);
	assert_int_equal(read_value(view), 5);
	assert_false(is_open(gate));
	open_and_finish(gate);
	bi_view_release(view);
}

/* Who knows the handle may have enqueued something. */
static void row_36_what_was_shown_is_enqueued(void **state)
{
	struct bi_view *view = allocate(), *hidden = allocate(), *taken;
	struct gate *gate;

	(void)state;
	fill(view, 1, NULL);
	fill(hidden, 2, NULL);
	handle_of(view);
	taken = allocate();
	gate = close_gate(home_of(fixture.context));
	copy(taken, view, NULL);
	copy(view, hidden, NULL);
	settle();
	assert_int_equal(value_of(view), 1);
	assert_false(bi_view_is_idle(view) || bi_view_is_idle(hidden) || bi_view_is_idle(taken));
	open_and_finish(gate);
	assert_int_equal(value_of(view), 2);
	assert_int_equal(value_of(taken), 1);
	bi_view_release(view);
	bi_view_release(hidden);
	bi_view_release(taken);
}

/* Memory of a producer, on either side, also the host's. */
static void row_36_what_was_wrapped_is_enqueued(void **state)
{
	(void)state;
	for (enum place place = PLACE_DEVICE; place <= PLACE_HOST; place++) {
		struct bi_view *own = allocate(), *wrapped = wrap(place, 1, nobody);
		struct gate *gate = close_gate(home_of(fixture.context));

		copy(own, wrapped, NULL);
		assert_false(bi_view_is_idle(own));
		open_and_finish(gate);
		assert_int_equal(value_of(own), 1);
		bi_view_release(own);
		bi_view_release(wrapped);
		clear_case();
	}
}

/* Work that is enqueued uses the memory until it is done; once that was seen, small work is done at once again. */
static void row_21_once_it_is_idle_small_work_is_done_at_once(void **state)
{
	struct bi_view *view = allocate(), *result = wrap(PLACE_DEVICE, 0, nobody);
	struct gate *gate;
	uint64_t before;

	(void)state;
	fill(view, 1, NULL);
	gate = close_gate(home_of(fixture.context));
	copy(result, view, NULL);
	fill(view, 2, NULL);
	open_and_finish(gate);
	assert_int_equal(value_of(result), 1);
	expect_waits("value", 1);
	assert_int_equal(read_value(view), 2);
	before = all_calls();
	fill(view, 3, NULL);
	assert_int_equal(read_value(view), 3);
	MORE(all_calls(), before, 0);
	bi_view_release(view);
	bi_view_release(result);
}

static void row_21_mapped_memory_is_not_written_at_once(void **state)
{
	struct bi_view *view = allocate();
	const unsigned char byte = 2;
	struct bi_map *map;

	(void)state;
	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	assert_true(bi_view_is_idle(view));
	REFUSED(BI_EBUSY, bi_fill(view, &byte, NULL, &error));
	unmap(map, view);
	bi_view_release(view);
}

/*
 * The end of private work is known once the home stream was waited for, but not that of later work. A second wait for the
 * stream calls no driver, unless other code may have enqueued work.
 */
static void row_21_a_wait_for_the_stream_makes_memory_idle(void **state)
{
	const int64_t most = (int64_t)bi__inline_limit();
	struct bi_view *more = allocate_bytes(most + 1), *few = slice(more, 1, most, 1);
	const unsigned char byte = 1;
	struct bi_event *event;
	struct gate *gate;
	uint64_t before;

	(void)state;
	OK(bi_fill(more, &byte, NULL, &error));
	expect_waits("synchronize", 1);
	OK(bi_stream_synchronize(home_of(fixture.context), &error));
	before = all_calls();
	OK(bi_fill(few, &byte, NULL, &error));
	OK(bi_view_synchronize(more, &error));
	OK(bi_stream_synchronize(home_of(fixture.context), &error));
	MORE(all_calls(), before, 0);
	OK(bi_event_record(home_of(fixture.context), &event, &error));
	before = all_calls();
	expect_waits("synchronize", 1);
	OK(bi_stream_synchronize(home_of(fixture.context), &error)); /* the event is complete afterwards */
	assert_true(all_calls() > before);
	bi_event_release(event);
	gate = close_gate(home_of(fixture.context));
	OK(bi_fill(more, &byte, NULL, &error));
	before = all_calls();
	OK(bi_fill(few, &byte, NULL, &error));
	assert_true(all_calls() > before);
	open_and_finish(gate);
	expect_waits("synchronize", 2);
	OK(bi_stream_synchronize(home_of(fixture.context), &error));
	before = all_calls();
	OK(bi_stream_synchronize(home_of(fixture.context), &error)); /* the gate knows the handle */
	assert_true(all_calls() > before);
	bi_view_release(few);
	bi_view_release(more);
}

/* A use of another stream is not covered by a wait for the home stream. */
static void row_21_a_wait_for_the_stream_covers_no_other_stream(void **state)
{
	const int64_t most = (int64_t)bi__inline_limit();
	struct bi_view *more = allocate_bytes(most + 1), *few = slice(more, 1, most, 1);
	const unsigned char byte = 1;
	struct bi_stream *other;
	struct gate *gate;
	uint64_t before;

	(void)state;
	OK(bi_stream_create(fixture.context, BI_STREAM_IN_ORDER, &other, &error));
	OK(bi_fill(more, &byte, NULL, &error));
	gate = close_gate(other);
	OK(bi_fill(more, &byte, other, &error));
	expect_waits("synchronize", 1);
	OK(bi_stream_synchronize(home_of(fixture.context), &error));
	before = all_calls();
	OK(bi_fill(few, &byte, other, &error));
	assert_true(all_calls() > before);
	open_and_finish(gate);
	bi_stream_release(other);
	bi_view_release(few);
	bi_view_release(more);
}

/* No driver call, and the memory stays idle. Memory that other code knows is mapped by the driver. */
static void row_21_private_memory_is_mapped_in_place(void **state)
{
	struct bi_view *view = allocate();
	uint64_t before = all_calls();
	struct bi_native native;
	struct bi_map *map;

	(void)state;
	OK(bi_view_map(view, BI_MAP_READ | BI_MAP_WRITE, &map, &error));
	memset(bi_map_data(map), 5, ARRAY_BYTES);
	OK(bi_unmap(map, &error));
	assert_true(bi_view_is_idle(view));
	assert_int_equal(read_value(view), 5);
	MORE(all_calls(), before, 0);
	bi_view_native(view, &native);
	expect_waits("map", 1);
	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	assert_true(all_calls() > before);
	assert_int_equal(*(unsigned char *)bi_map_data(map), 5);
	unmap(map, view);
	bi_view_release(view);
}

static void row_21_a_mapping_in_place_waits_for_pending_work(void **state)
{
	struct bi_view *view = allocate_bytes((int64_t)bi__inline_limit() + 1);
	struct gate *gate = close_gate(home_of(fixture.context));
	const unsigned char byte = 6;
	struct bi_map *map;

	(void)state;
	OK(bi_fill(view, &byte, NULL, &error));
	open_gate_soon(gate);
	expect_waits("map", 1);
	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	assert_true(is_open(gate));
	assert_int_equal(*(unsigned char *)bi_map_data(map), 6);
	unmap(map, view);
	bi_view_release(view);
}

/* As many bytes as the limit says; one more is enqueued. */
static void row_36_no_bytes_above_the_limit(void **state)
{
	const int64_t most = (int64_t)bi__inline_limit();
	struct bi_view *more = allocate_bytes(most + 1), *few = slice(more, 1, most, 1);
	const unsigned char byte = 1;
	uint64_t before = all_calls();

	(void)state;
	OK(bi_fill(few, &byte, NULL, &error));
	MORE(all_calls(), before, 0);
	assert_true(bi_view_is_idle(more));
	OK(bi_fill(more, &byte, NULL, &error));
	assert_false(bi_view_is_idle(more));
	bi_view_release(few);
	bi_view_release(more);
}

/* So for bytes of the caller. */
static void row_21_no_bytes_of_the_caller_above_the_limit(void **state)
{
	const int64_t most = (int64_t)bi__inline_limit();
	struct bi_view *more = allocate_bytes(most + 1), *few = slice(more, 1, most, 1);
	unsigned char *bytes = calloc(1, (size_t)most + 1);
	uint64_t before = all_calls();

	(void)state;
	assert_non_null(bytes);
	OK(bi_view_write(few, bytes, (size_t)most, &error));
	OK(bi_view_read(few, bytes, (size_t)most, &error));
	MORE(all_calls(), before, 0);
	expect_waits("value", 1);
	OK(bi_view_read(more, bytes, (size_t)most + 1, &error));
	assert_true(all_calls() > before);
	bi_view_release(few);
	bi_view_release(more);
	free(bytes);
}

static void check_inline_write(struct bi_view *view, int value)
{
	uint64_t before = all_calls();

	write_value(view, value);
	assert_int_equal(read_value(view), value);
	MORE(all_calls(), before, 0);
}

/* Bytes of the caller's that a copy under way still fills are not read before they are there. */
static void row_21_bytes_with_work_pending_are_not_copied(void **state)
{
	static unsigned char bytes[ARRAY_BYTES];
	const int64_t count = ARRAY_BYTES;
	struct bi_view *from = allocate(), *to = allocate(), *host;
	struct bi_dtype byte;
	struct gate *gate;

	(void)state;
	OK(bi_dtype_make(BI_UINT8, 1, 0, &byte, &error));
	OK(bi_view_wrap_host(fixture.context, bytes, byte, 1, &count, NULL, NULL, &host, &error));
	fill(from, 7, NULL);
	gate = close_gate(home_of(fixture.context));
	OK(bi_copy(host, from, NULL, &error));
	open_gate_soon(gate);
	OK(bi_view_write(to, bytes, sizeof(bytes), &error));
	expect_waits("value", 1);
	assert_true(is_open(gate));
	expect_waits("value", 1);
	assert_int_equal(read_value(to), 7);
	/* Seen complete, and released while pending and seen complete: both leave the way of small copies free. */
	expect_waits("synchronize", 1);
	OK(bi_view_synchronize(host, &error));
	check_inline_write(to, 8);
	gate = close_gate(home_of(fixture.context));
	OK(bi_copy(host, from, NULL, &error));
	bi_view_release(host);
	open_and_finish(gate);
	OK(bi_context_trim(fixture.context, SIZE_MAX, &error));
	expect_waits("synchronize", 1);
	OK(bi_view_synchronize(from, &error));
	check_inline_write(to, 9);
	bi_view_release(from);
	bi_view_release(to);
}

/* 256 allocations at a time lie over shared memory; what is freed makes room for others. */
static void row_36_few_allocations(void **state)
{
	enum { FEW = 256, MANY = 300 };
	struct bi_view *views[MANY];
	uint64_t before = calls_of("clSVMAlloc");

	(void)state;
	for (int i = 0; i < MANY; i++)
		views[i] = allocate();
	assert_int_equal(calls_of("clSVMAlloc"), before + FEW);
	fill(views[FEW - 1], 1, NULL);
	fill(views[FEW], 2, NULL);
	assert_true(bi_view_is_idle(views[FEW - 1]));
	assert_false(bi_view_is_idle(views[FEW]));
	finish_all();
	for (int i = 0; i < MANY; i++)
		bi_view_release(views[i]);
	OK(bi_context_trim(fixture.context, 0, &error));
	views[0] = allocate();
	fill(views[0], 3, NULL);
	assert_true(bi_view_is_idle(views[0]));
	bi_view_release(views[0]);
}

static void row_36_where_no_memory_is_shared(void **state)
{
	struct bi_view *view;

	(void)state;
	arm("clSVMAlloc", 1);
	view = allocate();
	fill(view, 1, NULL);
	assert_false(bi_view_is_idle(view));
	finish_all();
	assert_int_equal(value_of(view), 1);
	bi_view_release(view);
}

struct writer {
	struct bi_view *view;
	atomic_int is_over;
	int failed;
};

static void *write_on(void *data)
{
	struct writer *writer = data;

	for (unsigned char value = 1; !atomic_load(&writer->is_over); value++)
		writer->failed |= bi_fill(writer->view, &value, NULL, NULL) != BI_OK;
	return NULL;
}

/* Ways to get to know a memory whose home one then works on. */
static void show_and_acquire(struct bi_view *view)
{
	handle_of(view);
	OK(begin_use(view, home_of(fixture.context), &error));
}

static void acquire_and_show(struct bi_view *view)
{
	OK(begin_use(view, home_of(fixture.context), &error));
	handle_of(view);
}

static void just_show(struct bi_view *view)
{
	handle_of(view);
}

static void export_it(struct bi_view *view)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	OK(bi_view_export(view, 0, &exchange, &error));
	exchange.release(&exchange);
}

static void export_for_dlpack(struct bi_view *view)
{
	struct bi_dl_managed_versioned *tensor;

	OK(begin_use(view, home_of(fixture.context), &error));
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	tensor->deleter(tensor);
}

/* Who is told of memory while another thread writes to it, and then works on its home, sees no half of a write. */
static void row_36_showing_it_waits_for_what_is_under_way(void **state)
{
	static void (*const ways[])(struct bi_view * view) = { show_and_acquire, acquire_and_show, just_show, export_it,
							       export_for_dlpack };
	struct bi_stream *home = home_of(fixture.context);
	struct bi_view *result = wrap(PLACE_DEVICE, 0, nobody);

	(void)state;
	for (size_t i = 0; i < 100 * ARRAY_LENGTH(ways); i++) {
		struct writer writer = { .view = allocate() };
		pthread_t thread;

		fill(writer.view, 0, NULL);
		assert_int_equal(pthread_create(&thread, NULL, write_on, &writer), 0);
		ways[i % ARRAY_LENGTH(ways)](writer.view);
		raw_copy(home, result, writer.view);
		OK(end_use(writer.view, home, &error));
		atomic_store(&writer.is_over, 1);
		pthread_join(thread, NULL);
		assert_int_equal(writer.failed, 0);
		finish_all();
		assert_true(value_of(result) >= 0);
		bi_view_release(writer.view);
	}
	bi_view_release(result);
}

int inline_copies_rows(void)
{
	static const struct row rows[] = {
		ROW(row_36_nothing_is_enqueued, NEED_INLINE | NEED_COUNTS),
		ROW(row_36_from_and_to_the_host, NEED_INLINE | NEED_COUNTS),
		ROW(row_36_not_behind_what_is_on_the_home, NEED_INLINE | NEED_GATE),
		ROW(row_36_what_was_shown_is_enqueued, NEED_INLINE | NEED_GATE),
		ROW(row_36_what_was_wrapped_is_enqueued, NEED_INLINE | NEED_GATE),
		ROW(row_21_once_it_is_idle_small_work_is_done_at_once, NEED_INLINE | NEED_GATE),
		ROW(row_21_mapped_memory_is_not_written_at_once, NEED_INLINE),
		ROW(row_21_a_wait_for_the_stream_makes_memory_idle, NEED_INLINE | NEED_COUNTS | NEED_GATE),
		ROW(row_21_a_wait_for_the_stream_covers_no_other_stream, NEED_INLINE | NEED_COUNTS | NEED_GATE),
		ROW(row_21_private_memory_is_mapped_in_place, NEED_INLINE | NEED_COUNTS),
		ROW(row_21_a_mapping_in_place_waits_for_pending_work, NEED_INLINE | NEED_GATE),
		ROW(row_36_no_bytes_above_the_limit, NEED_INLINE | NEED_COUNTS),
		ROW(row_21_no_bytes_of_the_caller_above_the_limit, NEED_INLINE | NEED_COUNTS),
		ROW(row_21_bytes_with_work_pending_are_not_copied, NEED_INLINE | NEED_GATE),
		ROW(row_36_few_allocations, NEED_INLINE | NEED_COUNTS),
		ROW(row_36_where_no_memory_is_shared, NEED_INLINE | NEED_COUNTS),
		ROW(row_36_showing_it_waits_for_what_is_under_way, NEED_INLINE),
	};

	return run_rows("at once", rows, ARRAY_LENGTH(rows));
}
