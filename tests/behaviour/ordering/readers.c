/* Row 38: reads of private memory on several streams run side by side, and a write waits for all of them. */
#define _POSIX_C_SOURCE 200809L
#include "uses.h"

#include <pthread.h>
#include <time.h>

#include "buffer_interface/binding.h"
#include "common/runtime/fence.h"
#include "common/runtime/order.h"
#include "common/runtime/points.h"
#include "raw_driver.h"
#include "support/use.h"

/* An array of the library's, of which no other code knows, with all bytes 7. */
static struct bi_view *allocate_seven(void)
{
	struct bi_view *view = allocate();

	fill(view, 7, NULL);
	return view;
}

/* A read of the array behind a gate. The result is another array of the library. */
struct late_read {
	struct bi_view *from, *to;
	struct bi_stream *stream;
	struct gate *gate;
};

static void read_late(struct late_read *read, struct bi_view *from, unsigned kind)
{
	read->from = from;
	read->to = allocate();
	read->stream = new_stream_in(fixture.context, kind);
	finish_all();
	read->gate = close_gate(read->stream);
	copy(read->to, from, read->stream);
}

/* The read came before everything that was called after it. */
static void end_late(struct late_read *read)
{
	settle();
	open_and_finish(read->gate);
	assert_int_equal(value_of(read->to), 7);
	bi_view_release(read->to);
	if (read->from)
		bi_view_release(read->from);
	clear_case();
}

static void row_38_two_reads_run_side_by_side(void **state)
{
	struct bi_view *other;
	struct late_read read;

	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++) {
		read_late(&read, allocate_seven(), kind);
		other = allocate();
		copy(other, read.from, new_stream_in(fixture.context, kind));
		SETTLE_UNTIL(value_of(other) == 7);
		assert_false(is_open(read.gate));
		bi_view_release(other);
		end_late(&read);
	}
}

static void row_38_a_write_waits_for_all_reads(void **state)
{
	struct late_read read;

	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++)
		for (int on = 0; on < 3; on++) {
			struct bi_view *other = allocate();

			read_late(&read, allocate_seven(), kind);
			copy(other, read.from, new_stream_in(fixture.context, kind));
			copy(other, read.from, NULL);
			fill(read.from, 9,
			     on == 0   ? NULL
			     : on == 1 ? read.stream
				       : new_stream_in(fixture.context, kind));
			bi_view_release(other);
			end_late(&read);
		}
}

static void row_38_a_read_waits_for_the_write(void **state)
{
	struct bi_view *view = allocate_seven(), *to = allocate(), *last = allocate();
	struct bi_stream *stream = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
	struct gate *gate;

	(void)state;
	finish_all();
	gate = close_gate(stream);
	fill(view, 9, stream);
	copy(to, view, new_stream_in(fixture.context, BI_STREAM_IN_ORDER));
	copy(last, view, NULL);
	settle();
	open_and_finish(gate);
	assert_int_equal(value_of(to), 9);
	assert_int_equal(value_of(last), 9);
	bi_view_release(view);
	bi_view_release(to);
	bi_view_release(last);
}

/* More streams read than there are entries. */
static void row_38_many_streams_read(void **state)
{
	enum { STREAMS = 9 };
	struct bi_view *results[STREAMS];
	struct late_read read;

	(void)state;
	read_late(&read, allocate_seven(), 0);
	for (int i = 0; i < STREAMS; i++) {
		results[i] = allocate();
		copy(results[i], read.from, new_stream_in(fixture.context, BI_STREAM_IN_ORDER));
	}
	fill(read.from, 9, new_stream_in(fixture.context, BI_STREAM_IN_ORDER));
	settle();
	open_and_finish(read.gate);
	for (int i = 0; i < STREAMS; i++) {
		assert_int_equal(value_of(results[i]), 7);
		bi_view_release(results[i]);
	}
	assert_int_equal(value_of(read.to), 7);
	bi_view_release(read.to);
	bi_view_release(read.from);
}

/* Code that learns of the handle or of the address may work on the home stream, which has waited for the read. */
static void row_38_the_home_stream_waits_before_the_handle_is_known(void **state)
{
	const int has_addresses = (bi_context_device(fixture.context)->capabilities & BI_CAP_SVM) != 0;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	enum { HANDLE, EXPORT, ADDRESS };
	struct late_read read;

	(void)state;
	for (int way = HANDLE; way <= (has_addresses ? ADDRESS : EXPORT); way++) {
		struct bi_view *view =
			allocate_in(fixture.context, way == ADDRESS ? BI_MEMORY_UNIFIED : BI_MEMORY_DEFAULT);

		fill(view, 7, NULL);
		read_late(&read, view, 0);
		if (way == EXPORT)
			OK(bi_view_export(view, 0, &exchange, &error));
		else
			assert_true(way == HANDLE ? handle_of(view) != 0 : bi_view_host_pointer(view) != NULL);
		assert_ordered(home_of(fixture.context), view);
		if (way != ADDRESS) /* the map of an address blocks behind the gate */
			raw_write(home_of(fixture.context), view, 9);
		if (way == EXPORT)
			exchange.release(&exchange);
		end_late(&read);
	}
}

/* From then on the reads are ordered, because other code may write on the home stream without telling. */
static void row_38_reads_of_exported_memory_are_ordered(void **state)
{
	struct bi_view *view = allocate_seven(), *to = allocate();
	struct bi_stream *stream = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);

	(void)state;
	handle_of(view);
	copy(to, view, stream);
	assert_ordered(home_of(fixture.context), view);
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(to);
}

static void *ask_for_the_handle(void *view)
{
	handle_of(view);
	return NULL;
}

/*
 * A thread that finds the memory marked as exported takes the handle without a lock. So the mark is set only after the
 * step of another thread has ended.
 */
static void row_38_the_mark_comes_after_the_wait(void **state)
{
	const struct timespec moment = { 0, 20000000 };
	struct bi_memory *memory;
	struct late_read read;
	pthread_t thread;
	int is_marked;

	(void)state;
	read_late(&read, allocate_seven(), 0);
	memory = bi_view_memory(read.from);
	bi__order_lock(memory, NULL);
	assert_int_equal(pthread_create(&thread, NULL, ask_for_the_handle, read.from), 0);
	nanosleep(&moment, NULL);
	is_marked = memory->marks & BI__MARK_EXPORTED;
	bi__order_unlock(memory, NULL);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(is_marked);
	assert_true(memory->marks & BI__MARK_EXPORTED);
	raw_write(home_of(fixture.context), read.from, 9);
	end_late(&read);
}

/* The home stream cannot wait for the read. Returns 1 if a call failed. */
static int show_handle_and_fail(unsigned nth, unsigned *waits_seen)
{
	struct late_read read;
	struct wait_count before;
	uint64_t failed;
	unsigned waited;

	read_late(&read, allocate_seven(), 0);
	before = count_waits(fixture.context);
	failed = failures();
	open_gate_soon(read.gate);
	arm_any("clEnqueueBarrierWithWaitList", nth);
	handle_of(read.from);
	arm_any("clEnqueueBarrierWithWaitList", 0);
	failed = failures() - failed;
	waited = expect_waits_since(fixture.context, before);
	assert_true(!waited || is_open(read.gate));
	*waits_seen += waited;
	raw_write(home_of(fixture.context), read.from, 9);
	end_late(&read);
	return failed != 0;
}

static void row_19_a_refused_wait_before_the_handle_is_known(void **state)
{
	unsigned nth = 1, waited = 0;

	(void)state;
	while (show_handle_and_fail(nth, &waited))
		nth++;
	assert_true(waited > 0);
}

/* Work that failed is complete, so memory whose last work it was is not lost. */
static void row_19_a_read_that_failed_has_ended(void **state)
{
	struct bi_event *event = failed_event(fixture.context);
	struct bi_view *view = allocate_seven();
	struct bi_memory *memory = bi_view_memory(view);
	struct bi__fence failed = BI__FENCE_NONE;
	struct bi__end *end = malloc(sizeof(*end));

	(void)state;
	finish_all();
	OK(bi__fence_share(&event->fence, &failed, &error));
	atomic_init(&end->refs, 1);
	end->event = failed.event;
	memory->order.spread = true;
	memory->order.written = (struct bi__point){ 0 };
	memory->order.read_count = 1;
	memory->order.reads[0] = (struct bi__point){ .stream = UINT64_MAX, .end = end };
	assert_int_equal(bi__points_finish(memory), BI_OK);
	expect_waits("failure", 1);
	bi__points_clear(memory);
	bi_context_release(failed.context); /* the point has no reference */
	bi_event_release(event);
	bi_view_release(view);
}

static void row_38_the_next_owner_waits_for_the_reads(void **state)
{
	struct bi_view *next;
	struct late_read read;

	(void)state;
	for (int on_home = 0; on_home < 2; on_home++) {
		unsigned long hits;

		read_late(&read, allocate_seven(), 0);
		hits = reported(fixture.context, "hits");
		bi_view_release(read.from);
		read.from = NULL;
		next = allocate();
		assert_int_equal(reported(fixture.context, "hits"), hits + 1);
		fill(next, 9, on_home ? NULL : new_stream_in(fixture.context, BI_STREAM_IN_ORDER));
		bi_view_release(next);
		end_late(&read);
	}
}

/* The stream waits for the read before the end of its work stands for all work. */
static void row_38_an_end_without_a_beginning_waits_for_the_reads(void **state)
{
	struct late_read read;

	(void)state;
	read_late(&read, allocate_seven(), 0);
	hand_back(read.from, new_stream_in(fixture.context, BI_STREAM_IN_ORDER));
	fill(read.from, 9, NULL);
	end_late(&read);
}

/* Private memory that was not begun and exported memory in one end, in both orders of their addresses. */
static void row_38_an_end_orders_private_and_exported_memory(void **state)
{
	struct bi_native native;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct bi_view *views[2] = { allocate_seven(), allocate_seven() }, *to = allocate();
		struct bi_view *exported = views[!swap];
		const struct bi_use uses[] = { { views[swap], BI_ACCESS_READ }, { exported, BI_ACCESS_WRITE } };
		struct bi_stream *stream = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
		struct gate *gate;

		bi_view_native(exported, &native);
		OK(bi_use_begin(stream, &uses[1], 1, &error));
		gate = close_gate(stream);
		raw_write(stream, exported, 9);
		OK(bi_use_end(stream, uses, 2, &error));
		copy(to, exported, NULL);
		settle();
		open_and_finish(gate);
		assert_int_equal(value_of(to), 9);
		bi_view_release(views[0]);
		bi_view_release(views[1]);
		bi_view_release(to);
		clear_case();
	}
}

/* Two reads by hand whose beginnings and ends alternate. */
static void row_38_reads_that_begin_together_run_side_by_side(void **state)
{
	struct bi_stream *streams[2];
	struct bi_view *view = allocate_seven(), *to = allocate();
	const struct bi_use read = { view, BI_ACCESS_READ };
	struct gate *gate;

	(void)state;
	for (int i = 0; i < 2; i++) {
		streams[i] = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
		OK(bi_use_begin(streams[i], &read, 1, &error));
	}
	gate = close_gate(streams[0]);
	OK(bi_use_end(streams[0], &read, 1, &error));
	OK(bi_use_end(streams[1], &read, 1, &error));
	copy(to, view, streams[1]);
	SETTLE_UNTIL(value_of(to) == 7);
	assert_false(is_open(gate));
	open_and_finish(gate);
	bi_view_release(view);
	bi_view_release(to);
}

/* Two reads by hand, with handles for a use. The memory is pooled afterwards. */
static void row_38_a_handle_for_a_use_exports_nothing(void **state)
{
	struct bi_stream *streams[2];
	struct bi_view *view = allocate_seven(), *to[2] = { allocate(), allocate() };
	const struct bi_use read = { view, BI_ACCESS_READ };
	struct gate *gate = NULL;

	(void)state;
	borrow_handles(1);
	for (int i = 0; i < 2; i++) {
		streams[i] = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
		OK(bi_use_begin(streams[i], &read, 1, &error));
		if (!gate)
			gate = close_gate(streams[i]);
		raw_copy(streams[i], to[i], view);
		OK(bi_use_end(streams[i], &read, 1, &error));
	}
	SETTLE_UNTIL(value_of(to[1]) == 7);
	assert_false(is_open(gate));
	borrow_handles(0);
	open_and_finish(gate);
	assert_int_equal(value_of(to[0]), 7);
	bi_view_release(view);
	assert_int_equal(reported(fixture.context, "retired"), 0);
	view = allocate();
	assert_int_equal(reported(fixture.context, "hits"), 1);
	bi_view_release(view);
	bi_view_release(to[0]);
	bi_view_release(to[1]);
}

static void row_21_one_read_is_not_all_work(void **state)
{
	unsigned char bytes[ARRAY_BYTES];
	struct late_read read;

	(void)state;
	read_late(&read, allocate_seven(), 0);
	expect_waits("value", 1);
	OK(bi_view_read(read.from, bytes, sizeof(bytes), &error));
	assert_int_equal(bytes[0], 7);
	assert_false(bi_view_is_idle(read.from));
	fill(read.from, 9, NULL);
	end_late(&read);
}

static void row_21_synchronising_waits_for_all_reads(void **state)
{
	struct late_read read;

	(void)state;
	read_late(&read, allocate_seven(), 0);
	open_gate_soon(read.gate);
	expect_waits("synchronize", 1);
	OK(bi_view_synchronize(read.from, &error));
	assert_true(is_open(read.gate));
	assert_true(bi_view_is_idle(read.from));
	finish_all();
	assert_int_equal(value_of(read.to), 7);
	bi_view_release(read.to);
	bi_view_release(read.from);
}

static void begin_and_end(struct bi_view *const views[3], struct bi_stream *stream, unsigned begin, unsigned end)
{
	const struct bi_use uses[] = { { views[0], BI_ACCESS_READ },
				       { views[1], BI_ACCESS_READ_WRITE },
				       { views[2], BI_ACCESS_WRITE },
				       { views[0], BI_ACCESS_READ } };
	uint64_t waits_before = waits(), records_before = records();

	OK(bi_use_begin(stream, uses, 4, &error));
	MORE(waits(), waits_before, begin);
	MORE(records(), records_before, begin);
	waits_before = waits();
	records_before = records();
	OK(bi_use_end(stream, uses, 4, &error));
	MORE(waits(), waits_before, end);
	MORE(records(), records_before, 1);
}

/* One wait and one record for all arrays of a home stream, whether it is named or not. */
static void row_38_several_arrays_are_begun_and_ended_at_once(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER),
			 *stream = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_view *own[3], *wrapped[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		own[i] = allocate_seven();
		wrapped[i] = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer });
	}
	begin_and_end(own, stream, 1, 0);
	begin_and_end(own, stream, 0, 0);
	begin_and_end(wrapped, stream, 1, 1);
	finish_all();
	for (int i = 0; i < 3; i++) {
		bi_view_release(own[i]);
		bi_view_release(wrapped[i]);
	}
}

static void use_on(struct bi_stream *stream, const struct bi_use *uses, size_t count)
{
	OK(bi_use_begin(stream, uses, count, &error));
	OK(bi_use_end(stream, uses, count, &error));
}

/* A read waits for the array that was written, not for one that was read, in whatever order the arrays were named. */
static void row_38_each_of_several_arrays_has_its_access(void **state)
{
	struct bi_stream *stream = new_stream_in(fixture.context, BI_STREAM_IN_ORDER),
			 *reader = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_view *views[3];
	struct bi_use uses[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		views[i] = allocate_seven();
	for (int written = 0; written < 3; written++) {
		for (int i = 0; i < 3; i++)
			uses[i] = (struct bi_use){ views[i], BI_ACCESS_READ };
		use_on(reader, uses, 3);
		use_on(stream, uses, 3);
		uses[0] = (struct bi_use){ views[written], BI_ACCESS_WRITE };
		uses[1].view = views[(written + 1) % 3];
		use_on(stream, uses, 2);
		for (int i = 1; i >= 0; i--) {
			uint64_t before = waits();

			uses[i].access = BI_ACCESS_READ;
			OK(bi_use_begin(reader, &uses[i], 1, &error));
			MORE(waits(), before, i == 0);
			OK(bi_use_end(reader, &uses[i], 1, &error));
		}
	}
	finish_all();
	for (int i = 0; i < 3; i++)
		bi_view_release(views[i]);
}

/* A wait for the home stream does not cover work that a stream of another context of the native context did after it.
 */
static void row_21_work_of_another_context_is_not_forgotten(void **state)
{
	struct bi_stream *stream = bi_context_stream(open_again());
	struct bi_view *view = allocate();
	const unsigned char byte = 2;
	struct gate *gate;

	(void)state;
	fill(view, 7, NULL);
	expect_waits("synchronize", 1);
	OK(bi_stream_synchronize(home_of(fixture.context), &error));
	gate = close_gate(stream);
	OK(bi_fill(view, &byte, stream, &error));
	assert_false(bi_view_is_idle(view));
	open_gate_soon(gate);
	expect_waits("synchronize", 1);
	OK(bi_view_synchronize(view, &error));
	assert_true(is_open(gate));
	bi_view_release(view);
}

int readers_rows(void)
{
	static const struct row rows[] = {
		ROW(row_38_two_reads_run_side_by_side, NEED_GATE),
		ROW(row_38_a_write_waits_for_all_reads, NEED_GATE),
		ROW(row_38_a_read_waits_for_the_write, NEED_GATE),
		ROW(row_38_many_streams_read, NEED_GATE),
		ROW(row_38_the_home_stream_waits_before_the_handle_is_known, NEED_GATE),
		ROW(row_19_a_read_that_failed_has_ended, NEED_OPENCL | NEED_GATE),
		ROW(row_38_reads_of_exported_memory_are_ordered, NEED_DEVICE),
		ROW(row_38_the_next_owner_waits_for_the_reads, NEED_GATE),
		ROW(row_38_an_end_without_a_beginning_waits_for_the_reads, NEED_GATE),
		ROW(row_38_an_end_orders_private_and_exported_memory, NEED_GATE),
		ROW(row_38_reads_that_begin_together_run_side_by_side, NEED_GATE),
		ROW(row_38_a_handle_for_a_use_exports_nothing, NEED_GATE),
		ROW(row_38_the_mark_comes_after_the_wait, NEED_GATE),
		ROW(row_19_a_refused_wait_before_the_handle_is_known, NEED_GATE | NEED_COUNTS),
		ROW(row_21_work_of_another_context_is_not_forgotten, NEED_GATE),
		ROW(row_21_one_read_is_not_all_work, NEED_GATE),
		ROW(row_21_synchronising_waits_for_all_reads, NEED_GATE),
		ROW(row_38_several_arrays_are_begun_and_ended_at_once, NEED_COUNTS | NEED_GATE),
		ROW(row_38_each_of_several_arrays_has_its_access, NEED_COUNTS | NEED_GATE),
	};

	/* The streams are those of the arrays' context, so the other settings add nothing. */
	if (setting.is_shared || setting.is_pinned)
		return 0;
	/* The last seven need work that is enqueued, and the calling thread does it here. */
	return run_rows("readers", rows, ARRAY_LENGTH(rows) - (setting.needs & NEED_INLINE ? 7 : 0));
}
