/* Row 21: the caller waits because it asked to, and each wait is counted under its reason. */
#define _POSIX_C_SOURCE 200809L
#include "uses.h"

#include <pthread.h>
#include <time.h>

#include "buffer_interface/binding.h"

static const struct producer nobody;

static void row_21_value(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	unsigned char bytes[ARRAY_BYTES], byte = 0;
	int64_t index = 5;

	(void)state;
	memset(bytes, 3, sizeof(bytes));
	OK(bi_view_write(view, bytes, sizeof(bytes), &error));
	expect_waits("value", on_device(1));
	OK(bi_view_get_element(view, &index, &byte, &error));
	expect_waits("value", on_device(1));
	assert_int_equal(byte, 3);
	OK(bi_view_read(view, bytes, sizeof(bytes), &error));
	expect_waits("value", on_device(1));
	assert_int_equal(reported(fixture.context, "value"), on_device(3));
	bi_view_release(view);
}

/* Dense bytes are one command, whose own event is waited for. */
static void check_one_event(struct bi_view *view, int writes)
{
	static const char *const names[] = { "clRetainEvent", "clFlush", "clGetEventInfo",
					     "clEnqueueMarkerWithWaitList", "clEnqueueBarrierWithWaitList" };
	uint64_t before = enqueued(), released = calls_of("clReleaseEvent"), waited = calls_of("clWaitForEvents");
	uint64_t others[ARRAY_LENGTH(names)];
	unsigned char bytes[ARRAY_BYTES] = { 5 };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		others[i] = calls_of(names[i]);
	OK(writes ? bi_view_write(view, bytes, sizeof(bytes), &error)
		  : bi_view_read(view, bytes, sizeof(bytes), &error));
	expect_waits("value", 1);
	MORE(enqueued(), before, 1);
	MORE(calls_of("clReleaseEvent"), released, 1);
	MORE(calls_of("clWaitForEvents"), waited, 1);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		MORE(calls_of(names[i]), others[i], 0);
	assert_true(bi_view_is_idle(view));
}

static void row_21_value_takes_one_event(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	unsigned char bytes[ARRAY_BYTES];

	(void)state;
	check_one_event(view, 1);
	peek(view, bytes);
	assert_int_equal(bytes[0], 5);
	check_one_event(view, 0);
	fill(view, 7, NULL);
	check_one_event(view, 0);
	bi_view_release(view);
}

/* Somebody else's work is still pending when the caller has his bytes. */
static void row_21_value_leaves_later_work_pending(void **state)
{
	struct bi_stream *named = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = named });
	unsigned char bytes[ARRAY_BYTES];

	(void)state;
	OK(bi_view_read(view, bytes, sizeof(bytes), &error));
	expect_waits("value", 1);
	fill(view, 7, NULL);
	assert_exported_stream(view, named);
	bi_view_release(view);
}

static void row_21_value_waits_for_pending_work(void **state)
{
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	unsigned char byte = 0;
	int64_t index = 5;

	(void)state;
	fill(view, 7, NULL);
	open_gate_soon(gate);
	OK(bi_view_get_element(view, &index, &byte, &error));
	expect_waits("value", 1);
	assert_true(is_open(gate));
	assert_int_equal(byte, 7);
	bi_view_release(view);
}

/* The bytes go in two legs, of which the second is still under way when the caller has his bytes back. */
static void row_21_a_strided_write_leaves_work_pending(void **state)
{
	struct bi_stream *named = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = named });
	struct bi_view *part = slice(view, 0, ARRAY_BYTES / 3, 3);
	unsigned char bytes[ARRAY_BYTES / 3];

	(void)state;
	memset(bytes, 5, sizeof(bytes));
	OK(bi_view_write(part, bytes, sizeof(bytes), &error));
	expect_waits("value", 1);
	assert_exported_stream(view, named);
	bi_view_release(part);
	bi_view_release(view);
}

static void row_21_map(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *host = wrap(PLACE_HOST, 2, nobody);
	struct bi_map *map;

	(void)state;
	fill(view, 3, NULL);
	make_early(fixture.context, 1);
	OK(bi_view_map(view, BI_MAP_READ | BI_MAP_WRITE, &map, &error));
	make_early(fixture.context, 0);
	expect_waits("map", on_device(1));
	assert_int_equal(((unsigned char *)bi_map_data(map))[9], 3);
	memset(bi_map_data(map), 4, ARRAY_BYTES);
	OK(bi_unmap(map, &error));
	copy(host, view, NULL);
	OK(bi_view_map(host, BI_MAP_READ, &map, &error));
	expect_waits("map", on_device(1));
	assert_int_equal(((unsigned char *)bi_map_data(map))[9], 4);
	OK(bi_unmap(map, &error));
	OK(bi_view_map(host, BI_MAP_READ, &map, &error));
	OK(bi_unmap(map, &error));
	bi_view_release(view);
	bi_view_release(host);
}

/* The mapping waits for what is pending; the gate opens while it does. */
static void map_pending(struct bi_view *view, struct gate *gate)
{
	struct bi_map *map;

	open_gate_soon(gate);
	make_early(fixture.context, 1);
	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	make_early(fixture.context, 0);
	expect_waits("map", 1);
	assert_true(is_open(gate));
	assert_int_equal(((unsigned char *)bi_map_data(map))[9], 7);
	OK(bi_unmap(map, &error));
	bi_view_release(view);
	clear_case();
}

static void row_21_map_waits_for_pending_work(void **state)
{
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view;
	struct gate *gate;
	struct bi_event *event;

	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++) {
		view = wrap_gated(PLACE_DEVICE, 7, new_producer(kind), &gate);
		map_pending(view, gate);
	}
	view = wrap_gated(PLACE_HOST, 7, new_producer(BI_STREAM_IN_ORDER), &gate);
	map_pending(view, gate);
	event = gated_event(setting.other, new_producer(BI_STREAM_IN_ORDER), made, 7, &gate);
	view = wrap_again(made, (struct producer){ .event = event });
	bi_event_release(event);
	map_pending(view, gate);
	bi_view_release(made);
}

/* What the mapping lent, if it was a copy in pinned memory, is in the pool; its next owner comes after the mapping. */
static void assert_pool_follows(void)
{
	struct bi_view *pinned;

	if (!is_cuda(fixture.context))
		return;
	pinned = allocate_in(fixture.context, BI_MEMORY_PINNED);
	assert_home_follows(pinned);
	bi_view_release(pinned);
}

/* What comes after the end of a mapping waits for it, also where completion had been seen while it was mapped. */
static void row_21_unmap_is_ordered(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++) {
		struct bi_stream *home = new_producer(kind);
		struct bi_view *view = wrap(PLACE_DEVICE, 7, (struct producer){ .stream = home });
		struct bi_view *to = wrap(PLACE_DEVICE, 1, nobody);
		struct bi_map *map;
		struct gate *gate;

		make_early(fixture.context, 1);
		OK(bi_view_map(view, BI_MAP_READ | BI_MAP_WRITE, &map, &error));
		make_early(fixture.context, 0);
		expect_waits("map", 1);
		memset(bi_map_data(map), 8, ARRAY_BYTES);
		OK(bi_view_synchronize(view, &error));
		expect_waits("synchronize", 1);
		gate = close_gate(home);
		unmap(map, view);
		assert_pool_follows();
		copy(to, view, new_stream(BI_STREAM_IN_ORDER));
		settle();
		assert_int_equal(value_of(to), 1);
		open_and_finish(gate);
		assert_int_equal(value_of(to), 8);
		bi_view_release(view);
		bi_view_release(to);
		clear_case();
	}
}

static void row_21_synchronize(void **state)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_event *event;

	(void)state;
	OK(bi_view_synchronize(view, &error));
	fill(view, 2, stream);
	OK(bi_event_record(stream, &event, &error));
	OK(bi_stream_synchronize(stream, &error));
	OK(bi_event_synchronize(event, &error));
	OK(bi_view_synchronize(view, &error));
	expect_waits("synchronize", on_device(3));
	assert_int_equal(value_of(view), 2);
	OK(bi_view_synchronize(view, &error));
	bi_event_release(event);
	bi_view_release(view);
}

/* Once completion has been seen the memory is idle: nothing is waited for, and the last release lets go at once. */
static void row_21_synchronize_makes_idle(void **state)
{
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released });
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before;

	(void)state;
	fill(view, 2, NULL);
	OK(bi_view_synchronize(view, &error));
	expect_waits("synchronize", on_device(1));
	before = all_calls();
	acquire(view, stream);
	assert_exported_stream(view, NULL);
	MORE(all_calls(), before, 0);
	bi_view_release(view);
	assert_int_equal(released, 1);
}

static void row_21_synchronize_waits(void **state)
{
	struct gate *gate;
	struct bi_view *view = wrap_gated(PLACE_DEVICE, 7, new_producer(BI_STREAM_IN_ORDER), &gate);
	struct bi_view *host;

	(void)state;
	open_gate_soon(gate);
	OK(bi_view_synchronize(view, &error));
	assert_true(is_open(gate));
	assert_int_equal(value_of(view), 7);
	host = wrap_gated(PLACE_HOST, 8, new_producer(BI_STREAM_IN_ORDER), &gate);
	open_gate_soon(gate);
	OK(bi_view_synchronize(host, &error));
	assert_true(is_open(gate));
	assert_int_equal(value_of(host), 8);
	expect_waits("synchronize", 2);
	bi_view_release(view);
	bi_view_release(host);
}

static void row_21_synchronize_tells_of_a_failure(void **state)
{
	struct bi_event *event = failed_event(fixture.context);

	(void)state;
	REFUSED(BI_EPRODUCER, bi_event_synchronize(event, &error));
	expect_waits("synchronize", 1);
	bi_event_release(event);
}

static struct bi_context *open_with(int debug, int profile)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.debug = debug;
	options.profile = profile;
	return open_context(fixture.spec, options);
}

static void row_21_debug(void **state)
{
	struct bi_context *context = open_with(1, 0);
	struct bi_view *view = wrap_in(context, PLACE_DEVICE, 1, nobody),
		       *host = wrap_in(context, PLACE_HOST, 2, nobody);
	int64_t index = 0;
	unsigned char byte = 3;

	(void)state;
	fill(view, 2, NULL);
	copy(host, view, NULL);
	assert_int_equal(value_of(host), 2);
	OK(bi_view_set_element(view, &index, &byte, &error));
	expect_waits("debug", on_device(3));
	OK(bi_view_get_element(view, &index, &byte, &error));
	expect_waits("debug", on_device(1));
	expect_waits("value", on_device(1));
	assert_int_equal(byte, 3);
	assert_int_equal(reported(context, "debug"), on_device(4));
	bi_view_release(view);
	bi_view_release(host);
}

/* Work that is done is not waited for. */
static void row_21_report_without_pending_work(void **state)
{
	struct bi_context *context = open_with(0, 1);
	struct bi_view *view = wrap_in(context, PLACE_DEVICE, 1, nobody);

	(void)state;
	fill(view, 2, NULL);
	finish_all();
	assert_int_equal(reported(context, "report"), 0);
	bi_view_release(view);
}

static void *take_report(void *context)
{
	char *text;

	return bi_context_report(context, &text, NULL) == BI_OK ? text : NULL;
}

/*
 * A thread that takes a report has begun its wait when this returns. Where no driver counts, the thread has this moment
 * to begin its wait, and may begin later.
 */
static pthread_t begin_report(struct bi_context *context)
{
	const struct timespec moment = { 0, 1000000 };
	uint64_t before = library_waits();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, take_report, context), 0);
	do
		nanosleep(&moment, NULL);
	while (is_counted() && library_waits() == before);
	return thread;
}

static void end_report(struct bi_context *context, pthread_t thread)
{
	unsigned waits;
	void *text;

	assert_int_equal(pthread_join(thread, &text), 0);
	assert_non_null(text);
	bi_report_free(text);
	waits = (unsigned)reported(context, "report");
	assert_in_range(waits, is_counted() ? 1 : 0, 1);
	expect_waits("report", waits);
}

static void row_21_report(void **state)
{
	struct bi_context *context = open_with(0, 1);
	struct bi_view *view = wrap_in(context, PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(context));
	pthread_t thread;
	unsigned long waits;

	(void)state;
	fill(view, 2, NULL);
	thread = begin_report(context);
	open_gate(gate);
	end_report(context, thread);
	waits = reported(context, "report");
	assert_int_equal(reported(context, "report"), waits);
	bi_view_release(view);
}

/* While one thread waits for the times of a report, others go on: recording, pausing, enqueuing. */
static void row_21_report_waits_under_no_lock(void **state)
{
	struct bi_context *context = open_with(0, 1);
	struct bi_view *view = wrap_in(context, PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(context));
	pthread_t thread;

	(void)state;
	fill(view, 2, NULL);
	thread = begin_report(context);
	bi_context_profile_pause(context);
	fill(view, 3, NULL);
	open_and_finish(gate);
	end_report(context, thread);
	assert_int_equal(value_of(view), 3);
	bi_view_release(view);
}

/* The driver would never learn what was written. */
static void row_21_a_refused_unmap_is_tried_again(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = new_producer(BI_STREAM_IN_ORDER) });
	struct bi_map *map;
	uint64_t before;

	(void)state;
	for (int times = 1; times <= 2; times++) {
		OK(bi_view_map(view, BI_MAP_READ | BI_MAP_WRITE, &map, &error));
		expect_waits("map", 1);
		memset(bi_map_data(map), 8, ARRAY_BYTES);
		before = calls_of("clEnqueueUnmapMemObject");
		if (times == 1)
			arm("clEnqueueUnmapMemObject", 1);
		else
			arm("clFlush", 1);
		OK(bi_unmap(map, &error));
		arm("clFlush", 0);
		MORE(calls_of("clEnqueueUnmapMemObject"), before, times == 1 ? 2 : 1);
		if (times == 1)
			expect_waits("failure", 1);
		assert_int_equal(value_of(view), 8);
	}
	bi_view_release(view);
}

/* What would stop the second step of a copy in two stops the first. */
static void row_21_nothing_is_enqueued_for_a_copy_that_is_refused(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_view *to = slice(view, 1, 8, 1), *from = slice(view, 0, 8, 1);
	struct bi_map *map;
	uint64_t before;

	(void)state;
	make_early(fixture.context, 1);
	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	make_early(fixture.context, 0);
	expect_waits("map", on_device(1));
	before = enqueued();
	REFUSED(BI_EBUSY, bi_copy(to, from, NULL, &error));
	MORE(enqueued(), before, 0);
	OK(bi_unmap(map, &error));
	bi_view_release(to);
	bi_view_release(from);
	bi_view_release(view);
}

int waits_rows(void)
{
	static const struct row rows[] = {
		ROW(row_21_value, 0),
		ROW(row_21_value_takes_one_event, NEED_OPENCL),
		ROW(row_21_value_leaves_later_work_pending, NEED_OPENCL),
		ROW(row_21_value_waits_for_pending_work, NEED_GATE),
		ROW(row_21_a_strided_write_leaves_work_pending, NEED_CUDA),
		ROW(row_21_map, 0),
		ROW(row_21_map_waits_for_pending_work, NEED_GATE),
		ROW(row_21_unmap_is_ordered, NEED_GATE),
		ROW(row_21_a_refused_unmap_is_tried_again, NEED_OPENCL | NEED_COUNTS),
		ROW(row_21_synchronize, 0),
		ROW(row_21_synchronize_makes_idle, 0),
		ROW(row_21_synchronize_waits, NEED_GATE),
		ROW(row_21_synchronize_tells_of_a_failure, NEED_OPENCL),
		ROW(row_21_debug, 0),
		ROW(row_21_report_without_pending_work, 0),
		ROW(row_21_nothing_is_enqueued_for_a_copy_that_is_refused, NEED_DEVICE),
		ROW(row_21_report, NEED_GATE),
		ROW(row_21_report_waits_under_no_lock, NEED_GATE),
	};

	return run_rows("waits", rows, ARRAY_LENGTH(rows));
}
