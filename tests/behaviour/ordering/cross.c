/* Rows 11 and 17 between contexts that share no events. */
#define _POSIX_C_SOURCE 200809L
#include "raw_driver.h"
#include "uses.h"

#include <pthread.h>
#include <time.h>

#include "common/runtime/order.h"

static const struct producer nobody;

static void copy_across(struct bi_context *to_context, struct bi_context *from_context)
{
	struct bi_view *from = wrap_in(from_context, PLACE_DEVICE, 7, nobody);
	struct bi_view *to = wrap_in(to_context, PLACE_DEVICE, 1, nobody);

	/* The pieces of the other way are the other context's. */
	trim_all();
	expect_piece(to_context, from_context);
	copy(to, from, NULL);
	finish_all();
	assert_int_equal(value_of(to), 7);
	assert_int_equal(reported(from_context, "cross"), 1);
	bi_view_release(from);
	bi_view_release(to);
}

/* The wait is that of the source's context. */
static void row_17_two_contexts(void **state)
{
	struct bi_context *second = open_second();

	(void)state;
	expect_waits("cross", 2);
	copy_across(second, fixture.context);
	copy_across(fixture.context, second);
}

static void row_17_two_contexts_strided(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *to = wrap_in(second, PLACE_DEVICE, 1, nobody);
	struct bi_view *from_part = slice(from, 1, 50, 5), *to_part = slice(to, 0, 50, 4);
	unsigned char bytes[ARRAY_BYTES];

	(void)state;
	expect_waits("cross", 1);
	expect_piece(fixture.context, second);
	copy(to_part, from_part, NULL);
	finish_all();
	peek(to, bytes);
	for (size_t i = 0; i < ARRAY_BYTES; i++)
		assert_int_equal(bytes[i], i % 4 == 0 && i < 200 ? 7 : 1);
	bi_view_release(from_part);
	bi_view_release(to_part);
	bi_view_release(from);
	bi_view_release(to);
}

/* The source's work is behind a gate that opens while the call waits. */
static void row_17_waits_for_the_source(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *from = wrap(PLACE_DEVICE, 1, nobody), *to = wrap_in(second, PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	fill(from, 7, NULL);
	expect_waits("cross", 1);
	expect_piece(fixture.context, second);
	open_gate_soon(gate);
	copy(to, from, NULL);
	assert_true(is_open(gate));
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(to);
}

/* Only the source is waited for. */
static void row_17_does_not_wait_for_the_destination(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *to = wrap_in(second, PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(second));

	(void)state;
	expect_waits("cross", 1);
	expect_piece(fixture.context, second);
	copy(to, from, NULL);
	settle();
	assert_int_equal(value_of(to), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(to);
}

/* The host's own work on bytes that a device still writes waits once. */
static void row_17_device_and_host(void **state)
{
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_view *last = wrap(PLACE_HOST, 2, nobody);

	(void)state;
	copy(host, from, NULL);
	expect_waits("cross", 1);
	copy(last, host, NULL);
	assert_int_equal(value_of(last), 7);
	fill(host, 3, NULL);
	assert_int_equal(value_of(host), 3);
	bi_view_release(from);
	bi_view_release(host);
	bi_view_release(last);
}

/* And on bytes that it still reads. */
static void row_17_the_host_waits_for_the_device(void **state)
{
	struct bi_view *host = wrap(PLACE_HOST, 7, nobody), *to = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	copy(to, host, NULL);
	expect_waits("cross", 1);
	open_gate_soon(gate);
	fill(host, 3, NULL);
	assert_true(is_open(gate));
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(host);
	bi_view_release(to);
}

/* The unpacking half of a download is work of the host, where the device moves only dense bytes to that memory. */
static void row_17_strided_download(void **state)
{
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_view *part = slice(from, 0, 100, 1), *host_part = slice(host, 0, 100, 2);
	unsigned waits = can(fixture.context, BI_CAP_NATIVE_COPY) || setting.is_pinned ? 0 : 1;

	(void)state;
	expect_waits("cross", waits);
	if (waits)
		expect_piece(fixture.context, NULL);
	copy(host_part, part, NULL);
	finish_all();
	for (size_t i = 0; i < 200; i++)
		assert_int_equal(((unsigned char *)bi_view_host_pointer(host))[i], i % 2 ? 1 : 7);
	bi_view_release(part);
	bi_view_release(host_part);
	bi_view_release(from);
	bi_view_release(host);
}

/* Every third element of the host goes to every second one of the device, on the stream. */
static void upload_strided(struct bi_view *to, struct bi_view *from, struct bi_stream *stream)
{
	struct bi_view *from_part = slice(from, 0, 100, 3), *to_part = slice(to, 0, 100, 2);

	make_early(fixture.context, 1);
	copy(to_part, from_part, stream);
	make_early(fixture.context, 0);
	bi_view_release(from_part);
	bi_view_release(to_part);
}

static void assert_uploaded(struct bi_view *view)
{
	unsigned char bytes[ARRAY_BYTES];

	peek(view, bytes);
	for (size_t i = 0; i < ARRAY_BYTES; i++)
		assert_int_equal(bytes[i], i % 2 == 0 && i < 200 ? 7 : 1);
}

/* Does a strided upload go through pieces of pinned memory? */
static int is_packed(void)
{
	return !can(fixture.context, BI_CAP_NATIVE_COPY) && !setting.is_pinned;
}

static void upload_behind_a_gate(struct bi_stream *stream)
{
	struct bi_view *from = wrap(PLACE_HOST, 7, nobody), *to = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(stream ? stream : home_of(fixture.context));

	if (is_packed())
		expect_piece(fixture.context, NULL);
	upload_strided(to, from, stream);
	/* The host has packed what it needed. */
	if (is_packed())
		memset(bi_view_host_pointer(from), 9, ARRAY_BYTES);
	settle();
	assert_int_equal(value_of(to), 1);
	open_and_finish(gate);
	assert_uploaded(to);
	bi_view_release(from);
	bi_view_release(to);
	clear_case();
}

/* The host's half comes first, and waits for nobody; whichever context's stream sends the piece gives it back. */
static void row_17_strided_upload(void **state)
{
	(void)state;
	upload_behind_a_gate(NULL);
	for (unsigned kind = 0; kind < stream_kinds(); kind++)
		upload_behind_a_gate(new_stream(kind));
}

/* The first transfer makes a piece, the second finds it. */
static void row_17_pieces_are_used_again(void **state)
{
	struct bi_view *from = wrap(PLACE_HOST, 7, nobody), *to = wrap(PLACE_DEVICE, 1, nobody);
	int64_t before = 0;

	(void)state;
	if (is_packed())
		expect_piece(fixture.context, NULL);
	for (int i = 0; i < 10; i++) {
		upload_strided(to, from, i % 2 ? new_stream(BI_STREAM_IN_ORDER) : NULL);
		finish_all();
		if (i == 0)
			before = live_memory();
		assert_int_equal(live_memory(), before);
	}
	assert_uploaded(to);
	bi_view_release(from);
	bi_view_release(to);
}

/* Also where others wait to be let go for longer, more than a call on its way looks at. */
static void row_17_pieces_behind_what_is_pending(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *from = wrap(PLACE_HOST, 7, nobody);
	struct bi_view *to = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer });
	struct bi_view *from_part = slice(from, 0, 1000, 3), *part = slice(to, 0, 1000, 1);
	struct gate *gate = close_gate(home_of(fixture.context));
	unsigned char bytes[ARRAY_BYTES];

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct bi_view *pending = wrap(PLACE_DEVICE, 2, nobody);

		fill(pending, 3, NULL);
		bi_view_release(pending);
	}
	if (is_packed())
		expect_piece(fixture.context, NULL);
	expect_waits("synchronize", 3);
	for (int i = 0; i < 3; i++) {
		make_early(fixture.context, 1);
		copy(part, from_part, NULL);
		make_early(fixture.context, 0);
		OK(bi_view_synchronize(to, &error));
	}
	assert_false(is_open(gate));
	open_and_finish(gate);
	peek(to, bytes);
	for (size_t i = 0; i < ARRAY_BYTES; i++)
		assert_int_equal(bytes[i], i < 1000 ? 7 : 1);
	bi_view_release(from_part);
	bi_view_release(part);
	bi_view_release(from);
	bi_view_release(to);
}

/* Its piece is still being sent, by the other context: that lets it go, and the context that it is of. */
static void row_17_pieces_outlive_their_context(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *from = wrap_in(second, PLACE_DEVICE, 7, nobody), *to = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));
	int is_kept;

	(void)state;
	expect_waits("cross", 1);
	expect_piece(fixture.context, second);
	copy(to, from, NULL);
	bi_view_release(from);
	is_kept = is_cuda(second);
	assert_int_equal(leave_context(second), is_kept ? 0 : 1);
	settle();
	assert_int_equal(value_of(to), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	empty_all();
	assert_int_equal(contexts_closed(), 1);
	bi_view_release(to);
}

/* The context whose stream sends a piece is closed before the piece is collected. */
static void row_17_pieces_outlive_the_context_that_sends_them(void **state)
{
	struct bi_view *to = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_context *sender = open_again();

	(void)state;
	if (is_packed())
		expect_piece(fixture.context, NULL);
	for (int i = 0; i < 2; i++) {
		struct bi_view *from = wrap(PLACE_HOST, 7, nobody);

		upload_strided(to, from, i ? NULL : home_of(sender));
		finish_all();
		bi_view_release(from);
		if (i == 0)
			assert_int_equal(leave_context(sender), 1);
	}
	assert_uploaded(to);
	bi_view_release(to);
}

/* A stream of one context takes over host memory that another one works on. */
static void row_17_host_memory_between_two_contexts(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_view *to = wrap_in(second, PLACE_DEVICE, 2, nobody);

	(void)state;
	copy(host, from, NULL);
	expect_waits("cross", 1);
	copy(to, host, NULL);
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(host);
	bi_view_release(to);
}

struct late_use {
	struct bi_stream *stream;
	struct bi_use uses[2];
};

static void *begin_late(void *data)
{
	const struct late_use *late = data;

	return bi_use_begin(late->stream, late->uses, 2, NULL) ? data : NULL;
}

/* Meanwhile other threads may use the other memories of the call. */
static void row_17_host_memory_is_waited_for_alone(void **state)
{
	const struct timespec moment = { 0, 1000000 };
	struct bi_context *second = open_second();
	struct bi_view *host = wrap(PLACE_HOST, 7, nobody), *to = wrap_in(second, PLACE_DEVICE, 2, nobody);
	struct bi_view *beside = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_stream *stream = home_of(fixture.context);

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct late_use late = { stream, { { host, BI_ACCESS_WRITE }, { host, BI_ACCESS_WRITE } } };
		struct gate *gate = close_gate(home_of(second));
		uint64_t before = library_waits();
		pthread_t thread;
		void *failed;

		late.uses[swap].view = beside;
		copy(to, host, NULL);
		assert_int_equal(pthread_create(&thread, NULL, begin_late, &late), 0);
		for (int i = 0; i < 100 && (i < 20 || (is_counted() && library_waits() == before)); i++)
			nanosleep(&moment, NULL);
		assert_true(bi__order_try_lock(bi_view_memory(beside)));
		bi__order_unlock(bi_view_memory(beside), NULL);
		open_gate(gate);
		assert_int_equal(pthread_join(thread, &failed), 0);
		assert_null(failed);
		expect_waits("cross", swap ? 2 : 1); /* the copy too, if the other stream used the host memory */
		OK(bi_use_end(stream, late.uses, 2, &error));
		finish_all();
	}
	bi_view_release(host);
	bi_view_release(to);
	bi_view_release(beside);
}

/* `done` does not block: the consumer waits itself if another device uses the memory. */
static void row_11_a_hand_back_does_not_wait_for_another_device(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *host = wrap(PLACE_HOST, 7, nobody), *to = wrap_in(second, PLACE_DEVICE, 2, nobody);
	const uintptr_t stream = bi_stream_handle(home_of(fixture.context));
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct gate *gate;

	(void)state;
	OK(bi_view_export(host, 0, &exchange, &error));
	gate = close_gate(home_of(second));
	copy(to, host, NULL);
	assert_int_equal(exchange.done(&exchange, setting.driver->stream_kind, stream, 0), BI_EUNSUPPORTED);
	open_and_finish(gate);
	expect_waits("cross", 1); /* for a complete event */
	assert_int_equal(exchange.done(&exchange, setting.driver->stream_kind, stream, 0), 0);
	assert_int_equal(value_of(to), 7);
	exchange.release(&exchange);
	bi_view_release(host);
	bi_view_release(to);
}

int cross_rows(void)
{
	static const struct row rows[] = {
		ROW(row_17_two_contexts, NEED_CROSS),
		ROW(row_17_two_contexts_strided, NEED_CROSS),
		ROW(row_17_waits_for_the_source, NEED_GATE | NEED_CROSS),
		ROW(row_17_does_not_wait_for_the_destination, NEED_GATE | NEED_CROSS),
		ROW(row_17_device_and_host, NEED_DEVICE),
		ROW(row_17_the_host_waits_for_the_device, NEED_GATE),
		ROW(row_17_strided_download, NEED_DEVICE),
		ROW(row_17_strided_upload, NEED_GATE),
		ROW(row_17_pieces_are_used_again, NEED_DEVICE | NEED_COUNTS),
		ROW(row_17_pieces_behind_what_is_pending, NEED_GATE),
		ROW(row_17_pieces_outlive_their_context, NEED_GATE | NEED_CROSS),
		ROW(row_17_pieces_outlive_the_context_that_sends_them, NEED_DEVICE),
		ROW(row_17_host_memory_between_two_contexts, NEED_CROSS),
		ROW(row_17_host_memory_is_waited_for_alone, NEED_GATE | NEED_CROSS),
		ROW(row_11_a_hand_back_does_not_wait_for_another_device, NEED_GATE | NEED_CROSS),
	};

	return run_rows("two contexts", rows, ARRAY_LENGTH(rows));
}
