/* Row 27: streams that are captured into a CUDA graph. */
#include <pthread.h>

#include "raw_cuda.h"
#include "buffer_interface/binding.h"
#include "buffer_interface/npy.h"
#include "uses.h"
#include "support/use.h"

static const struct producer nobody;

/* ----------------------------------------------------------------------------------------------------------- graphs */

static void begin_capture(const struct bi_stream *stream, unsigned mode)
{
	cuda_enter(bi_stream_context(stream));
	DID(StreamBeginCapture(cuda_stream_of(stream), mode));
	setting.is_capturing = 1;
	cuda_leave();
}

/* Fails the test if the capture is not valid any more. */
static bi__cu_graph end_capture(const struct bi_stream *stream)
{
	bi__cu_graph graph = NULL;

	cuda_enter(bi_stream_context(stream));
	DID(StreamEndCapture(cuda_stream_of(stream), &graph));
	setting.is_capturing = 0;
	cuda_leave();
	assert_non_null(graph);
	return graph;
}

static void end_and_drop(const struct bi_stream *stream)
{
	DID(GraphDestroy(end_capture(stream)));
}

static void *instantiate(const struct bi_context *context, bi__cu_graph graph)
{
	void *exec = NULL;

	cuda_enter(context);
	DID(GraphInstantiate(&exec, graph, 0));
	cuda_leave();
	DID(GraphDestroy(graph));
	return exec;
}

static void launch(void *exec, const struct bi_stream *stream)
{
	cuda_enter(bi_stream_context(stream));
	DID(GraphLaunch(exec, cuda_stream_of(stream)));
	cuda_leave();
}

/* The second stream takes part in the capture of the first, and later the first comes after it. */
static void follow(const struct bi_stream *waiter, const struct bi_stream *on)
{
	bi__cu_event event;

	cuda_enter(bi_stream_context(on));
	DID(EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING));
	DID(EventRecord(event, cuda_stream_of(on)));
	DID(StreamWaitEvent(cuda_stream_of(waiter), event, 0));
	DID(EventDestroy(event));
	cuda_leave();
}

static const unsigned modes[] = { BI__CU_CAPTURE_MODE_GLOBAL, BI__CU_CAPTURE_MODE_THREAD_LOCAL,
				  BI__CU_CAPTURE_MODE_RELAXED };

static struct bi_view *at_home_on(struct bi_stream *stream, int value)
{
	struct bi_view *view = wrap(PLACE_DEVICE, value, (struct producer){ .stream = stream });

	/* Whatever the library makes on first use is there. */
	fill(view, value, NULL);
	return view;
}

/* ---------------------------------------------------------------------------------------------------- what is taken */

/* A copy, a strided one, and a fill, on the home of all; each launch does them again. */
static void capture_and_launch(unsigned mode)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *from = at_home_on(home, 1), *to = at_home_on(home, 2), *filled = at_home_on(home, 3);
	struct bi_view *from_part = slice(from, 0, 100, 3), *to_part = slice(filled, 0, 100, 2);
	unsigned char bytes[ARRAY_BYTES];
	void *exec;

	copy(to_part, from_part, NULL);
	finish_all();
	begin_capture(home, mode);
	copy(to, from, NULL);
	fill(filled, 9, NULL);
	copy(to_part, from_part, NULL);
	exec = instantiate(fixture.context, end_capture(home));
	finish_all();
	assert_int_equal(value_of(to), 2);
	for (int round = 0; round < 3; round++) {
		raw_write(home, from, 10 + round);
		launch(exec, home);
		finish_all();
		assert_int_equal(value_of(to), 10 + round);
		peek(filled, bytes);
		for (size_t i = 0; i < ARRAY_BYTES; i++)
			assert_int_equal(bytes[i], i < 200 && i % 2 == 0 ? 10 + round : 9);
	}
	DID(GraphExecDestroy(exec));
	bi_view_release(from_part);
	bi_view_release(to_part);
	bi_view_release(from);
	bi_view_release(to);
	bi_view_release(filled);
	clear_case();
}

static void row_27_each_launch_does_what_was_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++)
		capture_and_launch(modes[i]);
}

/* Two homes and a caller's stream that take part in one capture; the homes wait in it as they would outside. */
static void row_27_streams_of_one_capture(void **state)
{
	struct bi_stream *homes[] = { new_producer(BI_STREAM_IN_ORDER), new_producer(BI_STREAM_IN_ORDER) };
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *from = at_home_on(homes[0], 1), *to = at_home_on(homes[1], 2);
	void *exec;

	(void)state;
	finish_all();
	begin_capture(homes[0], BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	follow(homes[1], homes[0]);
	follow(stream, homes[0]);
	fill(from, 5, NULL);
	copy(to, from, stream);
	fill(from, 6, NULL);
	fill(to, 7, stream);
	copy(from, to, homes[1]);
	follow(homes[0], homes[1]);
	follow(homes[0], stream);
	exec = instantiate(fixture.context, end_capture(homes[0]));
	for (int round = 0; round < 2; round++) {
		launch(exec, homes[0]);
		finish_all();
		assert_int_equal(value_of(from), 7);
		assert_int_equal(value_of(to), 7);
	}
	DID(GraphExecDestroy(exec));
	bi_view_release(from);
	bi_view_release(to);
}

/* -------------------------------------------------------------------------------------------------- what is refused */

/* Before anything is enqueued, and the capture ends well. */
static void row_27_streams_outside_of_the_capture_are_refused(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER), *outside = new_producer(BI_STREAM_IN_ORDER);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *in = at_home_on(home, 1), *out = at_home_on(outside, 2);
	uint64_t before;

	(void)state;
	finish_all();
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	fill(in, 3, NULL);
	before = enqueued();
	for (int use = 0; use < USE_COUNT; use++)
		REFUSED(BI_ECAPTURE, try((enum use)use, in, out, stream));
	REFUSED(BI_ECAPTURE, bi_copy(in, out, NULL, &error));
	REFUSED(BI_ECAPTURE, bi_copy(out, in, NULL, &error));
	REFUSED(BI_ECAPTURE, begin_use(out, home, &error));
	REFUSED(BI_ECAPTURE, end_use(out, home, &error));
	REFUSED(BI_ECAPTURE, end_use(in, stream, &error));
	REFUSED(BI_ECAPTURE, bi_fill(out, "x", home, &error));
	MORE(enqueued(), before, 0);
	end_and_drop(home);
	finish_all();
	assert_int_equal(value_of(out), 2);
	bi_view_release(in);
	bi_view_release(out);
}

/* The stream of the last work waits for nothing, so the capture is noticed at the end of the use. It ends well. */
static void row_27_a_use_without_a_wait_is_refused_at_its_end(void **state)
{
	struct bi_stream *stream = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_view *view = allocate_in(fixture.context, BI_MEMORY_DEVICE);
	uint64_t before;

	(void)state;
	fill(view, 1, stream);
	begin_capture(stream, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	before = enqueued();
	OK(begin_use(view, stream, &error));
	REFUSED(BI_ECAPTURE, end_use(view, stream, &error));
	MORE(enqueued(), before, 0);
	end_and_drop(stream);
	finish_all();
	assert_int_equal(value_of(view), 1);
	bi_view_release(view);
}

/* What needs memory, the calling thread, or the host in between. */
static void row_27_what_needs_more_is_refused(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *view = at_home_on(home, 1);
	struct bi_view *low = slice(view, 0, 4000, 1), *high = slice(view, 64, 4000, 1), *odd = slice(view, 1, 2000, 2);
	struct bi_view *host = wrap(PLACE_HOST, 5, nobody);
	unsigned char *bytes = bi_view_host_pointer(host);
	const int64_t zero[] = { 0 };
	struct bi_map *map;
	uint64_t before;

	(void)state;
	finish_all();
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	before = enqueued();
	REFUSED(BI_ECAPTURE, bi_copy(high, low, NULL, &error));
	REFUSED(BI_ECAPTURE, bi_view_map(view, BI_MAP_READ, &map, &error));
	REFUSED(BI_ECAPTURE, bi_view_map(view, BI_MAP_WRITE | BI_MAP_DISCARD, &map, &error));
	REFUSED(BI_ECAPTURE, bi_view_get_element(view, zero, bytes, &error));
	REFUSED(BI_ECAPTURE, bi_view_read(view, bytes, ARRAY_BYTES, &error));
	REFUSED(BI_ECAPTURE, bi_view_read(odd, bytes, 2000, &error));
	REFUSED(BI_ECAPTURE, bi_view_write(view, bytes, ARRAY_BYTES, &error));
	REFUSED(BI_ECAPTURE, bi_view_write(odd, bytes, 2000, &error));
	REFUSED(BI_ECAPTURE, bi_view_synchronize(view, &error));
	MORE(enqueued(), before, 0);
	fill(view, 3, NULL);
	end_and_drop(home);
	fill(view, 4, NULL);
	copy(high, low, NULL);
	finish_all();
	assert_int_equal(value_of(view), 4);
	bi_view_release(host);
	bi_view_release(odd);
	bi_view_release(low);
	bi_view_release(high);
	bi_view_release(view);
}

/*
 * Pageable host memory goes through pieces that a graph cannot keep; strided parts of it need memory in between, and so
 * do those of which little is of use to the device.
 */
static void row_27_host_memory(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *view = at_home_on(home, 1), *host = wrap(PLACE_HOST, 7, nobody);
	struct bi_view *part = slice(view, 0, 100, 2), *host_part = slice(host, 0, 100, 3);
	uint64_t before;
	void *exec;

	(void)state;
	finish_all();
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	before = enqueued();
	REFUSED(BI_ECAPTURE, bi_copy(part, host_part, NULL, &error));
	if (!setting.is_pinned) {
		REFUSED(BI_ECAPTURE, bi_copy(view, host, NULL, &error));
		REFUSED(BI_ECAPTURE, bi_copy(host, view, NULL, &error));
		MORE(enqueued(), before, 0);
		end_and_drop(home);
	} else {
		copy(view, host, NULL);
		exec = instantiate(fixture.context, end_capture(home));
		launch(exec, home);
		finish_all();
		assert_int_equal(value_of(view), 7);
		DID(GraphExecDestroy(exec));
	}
	bi_view_release(part);
	bi_view_release(host_part);
	bi_view_release(view);
	bi_view_release(host);
}

/* ---------------------------------------------------------------------------------------------- a capture elsewhere */

/* What the library does while somebody else captures, on this thread or another. */
static void *use_library(void *unused)
{
	struct bi_view *own = allocate(), *pinned = allocate_in(fixture.context, BI_MEMORY_PINNED);
	struct bi_view *host = allocate_in(fixture.context, BI_MEMORY_HOST);
	struct bi_stream *stream;
	struct bi_event *event;
	uint64_t before;
	int done;

	(void)unused;
	make_early(fixture.context, 1);
	OK(bi_stream_create(fixture.context, 0, &stream, &error));
	make_early(fixture.context, 0);
	fill(host, 3, NULL);
	fill(own, 4, stream);
	copy(own, host, NULL);
	copy(pinned, own, stream);
	OK(bi_event_record(stream, &event, &error));
	OK(bi_event_query(event, &done, &error));
	bi_event_release(event);
	bi_stream_release(stream);
	bi_view_release(own);
	bi_view_release(pinned);
	bi_view_release(host);
	before = library_waits();
	OK(bi_context_trim(fixture.context, 0, &error));
	/* A driver may wait for other work when it frees pinned memory (28.3). */
	own_waits(library_waits() - before);
	return NULL;
}

static void disturb(unsigned mode, int on_another_thread)
{
	struct bi_stream *theirs = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	pthread_t thread;
	void *exec;

	begin_capture(theirs, mode);
	raw_write(theirs, view, 5);
	if (on_another_thread) {
		assert_int_equal(pthread_create(&thread, NULL, use_library, NULL), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	} else {
		use_library(NULL);
	}
	exec = instantiate(fixture.context, end_capture(theirs));
	launch(exec, theirs);
	finish_all();
	trim_all();
	assert_int_equal(value_of(view), 5);
	DID(GraphExecDestroy(exec));
	bi_view_release(view);
	clear_case();
}

static void row_27_a_capture_elsewhere_is_not_disturbed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++)
		for (int on_another_thread = 0; on_another_thread < 2; on_another_thread++)
			disturb(modes[i], on_another_thread);
}

/* --------------------------------------------------------------------------------------------------------- lifetime */

/* Not pooled, not freed: a graph may be launched for as long as the context is open. */
static void row_27_own_memory_of_a_graph_lives_until_the_context_closes(void **state)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	struct bi_stream *home = home_of(context);
	struct bi_view *own = allocate_in(context, BI_MEMORY_DEVICE);
	struct bi_view *to = wrap_in(context, PLACE_DEVICE, 2, (struct producer){ .stream = home });
	void *exec;

	(void)state;
	fill(own, 1, NULL);
	finish_all();
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	fill(own, 7, NULL);
	copy(to, own, NULL);
	exec = instantiate(context, end_capture(home));
	bi_view_release(own);
	assert_int_equal(reported(context, "bytes"), 0);
	OK(bi_context_trim(context, 0, &error));
	for (int round = 0; round < 2; round++) {
		raw_write(home, to, 3);
		launch(exec, home);
		finish_all();
		assert_int_equal(value_of(to), 7);
	}
	DID(GraphExecDestroy(exec));
	bi_view_release(to);
	finish_all();
	OK(bi_context_trim(context, 0, &error));
	assert_int_equal(reported(context, "retired"), 1);
	close_context(context, allocates_in_order() ? 0 : 1);
}

/* The library's host memory, which the caller has registered: the graph copies from it when it is launched. */
static void row_27_host_memory_of_a_graph_lives_until_the_context_closes(void **state)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	struct bi_stream *home = home_of(context);
	struct bi_view *own = allocate_in(context, BI_MEMORY_HOST);
	struct bi_view *to = wrap_in(context, PLACE_DEVICE, 2, (struct producer){ .stream = home });
	void *exec, *bytes = bi_view_host_pointer(own);
	int pushed;

	(void)state;
	memset(bytes, 7, ARRAY_BYTES);
	OK(bi_context_push_current(context, &pushed, &error));
	DID(MemHostRegister(bytes, ARRAY_BYTES, 0));
	finish_all();
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	copy(to, own, NULL);
	exec = instantiate(context, end_capture(home));
	bi_view_release(own);
	OK(bi_context_trim(context, 0, &error));
	assert_int_equal(reported(context, "retired"), 1);
	launch(exec, home);
	finish_all();
	assert_int_equal(value_of(to), 7);
	DID(GraphExecDestroy(exec));
	DID(MemHostUnregister(bytes));
	bi_context_pop_current(context, pushed);
	bi_view_release(to);
	finish_all();
	close_context(context, 0);
}

/* The first look at the retired memories may enqueue the work that the second one finds complete. */
static void assert_freed_once(const atomic_int *released)
{
	for (int i = 0; i < 2; i++) {
		finish_all();
		trim_all();
	}
	assert_int_equal(*released, 1);
	assert_int_equal(reported(fixture.context, "retired"), 0);
}

static void row_27_a_release_is_put_off(void **state)
{
	struct bi_stream *home = home_of(fixture.context);
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released });
	struct bi_view *own = allocate(), *other = wrap(PLACE_DEVICE, 1, nobody);

	(void)state;
	assert_true(handle_of(own) != 0);
	fill(view, 2, NULL);
	fill(own, 2, NULL);
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	bi_view_release(view);
	bi_view_release(own);
	trim_all();
	assert_int_equal(released, 0);
	end_and_drop(home);
	assert_freed_once(&released);
	bi_view_release(other);
}

/* So do events of other code. They are not queried, which would invalidate the capture. */
static void row_27_a_wrapped_event_of_a_capture_brings_a_stream_in(void **state)
{
	struct bi_stream *stream = new_producer(BI_STREAM_IN_ORDER), *inside = new_producer(BI_STREAM_IN_ORDER);
	struct bi_event *event;
	bi__cu_event native;

	(void)state;
	begin_capture(stream, BI__CU_CAPTURE_MODE_GLOBAL);
	cuda_enter(fixture.context);
	DID(EventCreate(&native, BI__CU_EVENT_DISABLE_TIMING));
	DID(EventRecord(native, cuda_stream_of(stream)));
	cuda_leave();
	OK(bi_event_wrap(fixture.context, (uintptr_t)native, &event, &error));
	OK(bi_stream_wait(inside, event, &error));
	OK(bi_stream_join(stream, &inside, 1, &error));
	end_and_drop(stream);
	bi_event_release(event);
	cuda_enter(fixture.context);
	DID(EventDestroy(native));
	cuda_leave();
}

static void row_27_a_wait_for_work_outside_is_refused(void **state)
{
	struct bi_stream *stream = new_producer(BI_STREAM_IN_ORDER), *outside = new_producer(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(outside);
	struct bi_event *event;

	(void)state;
	OK(bi_event_record(outside, &event, &error));
	begin_capture(stream, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	REFUSED(BI_ECAPTURE, bi_stream_wait(stream, event, &error));
	end_and_drop(stream);
	open_and_finish(gate);
	begin_capture(stream, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	OK(bi_stream_wait(stream, event, &error));
	end_and_drop(stream);
	bi_event_release(event);
}

/* Each call of the driver fails once. The caller does without the message. */
static void row_19_a_wait_in_a_capture_fails_without_a_message(void **state)
{
	struct bi_stream *stream = new_producer(BI_STREAM_IN_ORDER), *outside = new_producer(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(outside);
	struct bi_event *event;
	uint64_t failed;
	unsigned nth = 0;
	int rc;

	(void)state;
	OK(bi_event_record(outside, &event, &error));
	open_and_finish(gate);
	begin_capture(stream, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	do {
		failed = failures();
		arm_any("cuEventQuery", ++nth);
		rc = bi_stream_wait(stream, event, NULL);
		arm_any("cuEventQuery", 0);
	} while (failures() > failed);
	assert_int_equal(rc, BI_OK);
	assert_true(nth > 2);
	end_and_drop(stream);
	bi_event_release(event);
}

/* An event of the capture brings a stream in; what is outside stays there, and nobody asks or waits. */
static void row_27_events_and_joins(void **state)
{
	struct bi_stream *stream = new_producer(BI_STREAM_IN_ORDER), *outside = new_producer(BI_STREAM_IN_ORDER);
	struct bi_stream *inside = new_producer(BI_STREAM_IN_ORDER);
	struct bi_event *event;
	int done;

	(void)state;
	begin_capture(stream, BI__CU_CAPTURE_MODE_GLOBAL);
	OK(bi_event_record(stream, &event, &error));
	REFUSED(BI_ECAPTURE, bi_event_query(event, &done, &error));
	REFUSED(BI_ECAPTURE, bi_event_synchronize(event, &error));
	REFUSED(BI_ECAPTURE, bi_stream_synchronize(stream, &error));
	REFUSED(BI_ECAPTURE, bi_stream_join(stream, &outside, 1, &error));
	OK(bi_stream_wait(inside, event, &error));
	OK(bi_stream_join(stream, &inside, 1, &error));
	end_and_drop(stream);
	bi_event_release(event);
}

/* Nobody hands back across the border of a capture, or one stream would become part of the other's graph. */
static void row_11_a_hand_back_in_a_capture_is_refused(void **state)
{
	struct bi_stream *consumer = new_producer_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_view *views[2] = { wrap(PLACE_DEVICE, 1, nobody), wrap(PLACE_HOST, 1, nobody) };
	struct bi_exchange exchange;
	struct bi_event *event;

	(void)state;
	OK(bi_event_record(consumer, &event, &error));
	for (int i = 0; i < 2; i++) {
		exchange = (struct bi_exchange)BI_EXCHANGE_INIT;
		OK(bi_view_export(views[i], 0, &exchange, &error));
		begin_capture(consumer, BI__CU_CAPTURE_MODE_RELAXED);
		assert_int_not_equal(exchange.done(&exchange, BI_ORDER_CUDA, bi_stream_handle(consumer), 0), 0);
		end_and_drop(consumer);
		begin_capture(home_of(fixture.context), BI__CU_CAPTURE_MODE_RELAXED);
		assert_int_not_equal(exchange.done(&exchange, BI_ORDER_CUDA, 0, bi_event_handle(event)), 0);
		end_and_drop(home_of(fixture.context));
		assert_int_equal(exchange.done(&exchange, BI_ORDER_CUDA, bi_stream_handle(consumer), 0), 0);
		exchange.release(&exchange);
		bi_view_release(views[i]);
	}
	bi_event_release(event);
}

/* What was written through a mapping does not become part of a graph; it is still there when the capture has ended. */
static void unmap_while(struct bi_stream *captured, struct bi_view *view)
{
	struct bi_map *map;

	make_early(fixture.context, 1);
	OK(bi_view_map(view, BI_MAP_READ | BI_MAP_WRITE, &map, &error));
	make_early(fixture.context, 0);
	expect_waits("map", 1);
	memset(bi_map_data(map), 9, ARRAY_BYTES);
	begin_capture(captured, BI__CU_CAPTURE_MODE_GLOBAL);
	REFUSED(BI_ECAPTURE, bi_unmap(map, &error));
	end_and_drop(captured);
	REFUSED_FOR(BI_EBUSY, "mapped", bi_fill(view, "x", NULL, &error));
	OK(bi_unmap(map, &error));
	finish_all();
	assert_int_equal(value_of(view), 9);
	bi_view_release(view);
}

static void row_21_unmap_in_a_capture_is_refused(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER);

	(void)state;
	unmap_while(home, at_home_on(home, 1));
}

/* The bytes are copied back on the producer's stream, from memory whose home stream is captured. */
static void row_21_unmap_in_a_capture_of_the_context_stream(void **state)
{
	(void)state;
	unmap_while(home_of(fixture.context), at_home_on(new_producer(BI_STREAM_IN_ORDER), 1));
}

/* The bytes are given up instead, and the memory is not mapped any more. */
static void row_21_a_mapping_is_given_up_in_a_capture(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *view = at_home_on(home, 1);
	struct bi_map *map;
	uint64_t before;

	(void)state;
	make_early(fixture.context, 1);
	OK(bi_view_map(view, BI_MAP_READ | BI_MAP_WRITE, &map, &error));
	make_early(fixture.context, 0);
	expect_waits("map", 1);
	memset(bi_map_data(map), 9, ARRAY_BYTES);
	begin_capture(home, BI__CU_CAPTURE_MODE_GLOBAL);
	REFUSED(BI_ECAPTURE, bi_unmap(map, &error));
	before = enqueued();
	bi_map_abandon(map);
	OK(bi_unmap(map, &error));
	MORE(enqueued(), before, 0);
	end_and_drop(home);
	assert_int_equal(value_of(view), 1);
	fill(view, 3, NULL);
	finish_all();
	assert_int_equal(value_of(view), 3);
	bi_view_release(view);
}

/* The query of captures that the library calls. */
static const char *capture_query(void)
{
	if (cuda_driver()->StreamGetCaptureInfo_v2)
		return "cuStreamGetCaptureInfo_v2";
	return cuda_driver()->StreamGetCaptureInfo ? "cuStreamGetCaptureInfo" : "cuStreamIsCapturing";
}

static uint64_t capture_queries(void)
{
	return calls_of("cuStreamGetCaptureInfo_v2") + calls_of("cuStreamGetCaptureInfo") +
	       calls_of("cuStreamIsCapturing");
}

/*
 * Other code knows the context stream, so each part asks for its capture: the check, the allocation of the copy, the
 * copy itself under the lock, and the wait. A release callback may begin a capture between two of them.
 */
static void row_21_a_mapping_asks_for_the_capture_again_under_the_lock(void **state)
{
	struct bi_view *view = allocate_in(fixture.context, BI_MEMORY_DEVICE);
	struct bi_map *map;
	uint64_t before;

	(void)state;
	bi_stream_handle(home_of(fixture.context));
	fill(view, 7, NULL);
	finish_all();
	expect_waits("map", 1);
	make_early(fixture.context, 1);
	before = capture_queries();
	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	MORE(capture_queries(), before, 4);
	make_early(fixture.context, 0);
	OK(bi_unmap(map, &error));
	bi_view_release(view);
}

/* A file of eight bytes, behind whose header a capture of the context stream begins. */
struct capturing_file {
	const char *at;
	size_t left;
};

static int read_and_capture(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	struct capturing_file *file = data;

	(void)err;
	if (file->left == 8)
		begin_capture(home_of(fixture.context), BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	*got = nbytes < file->left ? nbytes : file->left;
	memcpy(bytes, file->at, *got);
	file->at += *got;
	file->left -= *got;
	return BI_OK;
}

/* Nothing refers to the context afterwards: closing it says so. */
static void row_27_an_array_that_is_read_into_a_capture_is_given_up(void **state)
{
	static const char bytes[] = "\x93NUMPY\1\0v\0{'descr': '|u1', 'fortran_order': False, 'shape': (8,), }"
				    "                                                            \n12345678";
	struct capturing_file file = { bytes, sizeof(bytes) - 1 };
	const struct bi_npy_source source = { read_and_capture, NULL, &file, -1 };
	struct bi_view *view = NULL;

	(void)state;
	assert_int_equal(sizeof(bytes) - 1, 128 + 8);
	bi_stream_handle(home_of(fixture.context));
	make_early(fixture.context, 1);
	REFUSED(BI_ECAPTURE, bi_npy_read(fixture.context, &source, &view, &error));
	make_early(fixture.context, 0);
	assert_int_equal(file.left, 0);
	assert_null(view);
	end_and_drop(home_of(fixture.context));
}

/* Memory that graphs keep does not stand in the way of other memory that is let go. */
static void row_27_what_graphs_keep_is_not_in_the_way(void **state)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	struct bi_stream *home = home_of(context), *stream;
	atomic_int released = 0;
	struct bi_view *kept[6], *view;

	(void)state;
	make_early(context, 1);
	OK(bi_stream_create(context, BI_STREAM_IN_ORDER, &stream, &error));
	make_early(context, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
		kept[i] = allocate_in(context, BI_MEMORY_DEVICE);
	begin_capture(home, BI__CU_CAPTURE_MODE_RELAXED);
	for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
		fill(kept[i], 1, NULL);
	end_and_drop(home);
	for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
		bi_view_release(kept[i]);
	view = wrap_in(context, PLACE_DEVICE, 1, (struct producer){ .released = &released });
	fill(view, 2, stream);
	bi_view_release(view);
	finish_all();
	for (int i = 0; i < 50 && !released; i++) {
		view = allocate_in(context, BI_MEMORY_DEVICE);
		fill(view, 3, NULL);
		bi_view_release(view);
		finish_all();
	}
	assert_int_equal(released, 1);
	bi_stream_release(stream);
	/* Those, and the last one from the pool. */
	close_context(context, allocates_in_order() ? 0 : ARRAY_LENGTH(kept) + 1);
}

/* No graph uses memory of a copy that is refused, so it is let go as if there had been no capture. */
static void row_27_what_is_refused_is_not_kept(void **state)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	struct bi_view *view = allocate_in(context, BI_MEMORY_DEVICE), *host = allocate_in(context, BI_MEMORY_HOST);
	struct bi_stream *home = home_of(context);

	(void)state;
	fill(view, 1, NULL);
	finish_all();
	begin_capture(home, BI__CU_CAPTURE_MODE_RELAXED);
	REFUSED_FOR(BI_ECAPTURE, "pageable", bi_copy(view, host, NULL, &error));
	REFUSED_FOR(BI_ECAPTURE, "pageable", bi_copy(host, view, NULL, &error));
	end_and_drop(home);
	bi_view_release(view);
	bi_view_release(host);
	assert_int_equal(reported(context, "retired"), 0);
}

/*
 * Own host memory that a capture used, and the event of a copy on the context stream, before the capture or after it.
 * The context keeps the memory, and not the memory the context.
 */
static void close_with_captured_host_memory(int is_after)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	struct bi_view *host = allocate_in(context, BI_MEMORY_HOST), *view = allocate_in(context, BI_MEMORY_DEVICE);
	struct bi_stream *stream = new_stream_in(context, BI_STREAM_IN_ORDER);

	fill(view, 1, NULL);
	if (!is_after)
		copy(host, view, NULL);
	finish_all();
	begin_capture(stream, BI__CU_CAPTURE_MODE_RELAXED);
	acquire(host, stream);
	hand_back(host, stream);
	end_and_drop(stream);
	if (is_after)
		copy(host, view, NULL);
	bi_view_release(host);
	bi_view_release(view);
	clear_case();
	assert_int_equal(leave_context(context), 1);
}

static void row_27_captured_host_memory_does_not_keep_its_context(void **state)
{
	(void)state;
	close_with_captured_host_memory(0);
	close_with_captured_host_memory(1);
}

/* The last use is that of another device. Its context is kept only until a later call finds that use complete. */
static void row_27_captured_host_memory_keeps_another_context_until_its_work_ends(void **state)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	struct bi_context *second = open_second();
	struct bi_view *host = allocate_in(context, BI_MEMORY_HOST), *view = allocate_in(second, BI_MEMORY_DEVICE);
	struct bi_stream *stream = new_stream_in(context, BI_STREAM_IN_ORDER);
	struct gate *gate;

	(void)state;
	fill(view, 1, NULL);
	finish_all();
	begin_capture(stream, BI__CU_CAPTURE_MODE_RELAXED);
	acquire(host, stream);
	hand_back(host, stream);
	end_and_drop(stream);
	gate = close_gate(home_of(second));
	copy(host, view, NULL);
	bi_view_release(host);
	bi_view_release(view);
	OK(bi_context_trim(context, 0, &error));
	assert_int_equal(reported(context, "retired"), 1);
	open_and_finish(gate);
	OK(bi_context_trim(context, 0, &error));
	assert_int_equal(reported(context, "retired"), 1);
	clear_case();
	assert_int_equal(leave_context(second), 1);
	assert_int_equal(leave_context(context), 1);
}

static void begin_capture_of(void *stream)
{
	begin_capture(stream, BI__CU_CAPTURE_MODE_RELAXED);
}

/*
 * Another thread begins a capture before the nth query of a release and of a look at the retired memory. Returns 0 if
 * there are fewer queries. The capture stays valid, and the memory is freed once, after the capture.
 */
static int release_with_a_capture_before(uint64_t nth, int is_captured_before)
{
	struct bi_stream *home = home_of(fixture.context);
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released });

	fill(view, 2, NULL);
	bi_stream_handle(home);
	if (is_captured_before) {
		begin_capture(home, BI__CU_CAPTURE_MODE_RELAXED);
		bi_view_release(view);
		end_and_drop(home);
	}
	cuda_sim()->before(capture_query(), nth, begin_capture_of, home);
	if (!is_captured_before)
		bi_view_release(view);
	trim_all();
	cuda_sim()->before("", 0, NULL, NULL);
	if (setting.is_capturing) {
		end_and_drop(home);
		nth = 0;
	}
	assert_freed_once(&released);
	clear_case();
	return !nth;
}

static void row_27_a_capture_begins_during_a_release(void **state)
{
	(void)state;
	for (int is_captured_before = 0; is_captured_before < 2; is_captured_before++) {
		uint64_t nth = 1;

		while (release_with_a_capture_before(nth, is_captured_before))
			nth++;
		/* A deferred memory is queried when it is looked at, and when it is retired. */
		assert_in_range(nth, 2 + is_captured_before, 10);
	}
}

/* Neither stream is brought into the other's capture, and the producer gets his memory back when it has ended. */
static void rehomed_in_a_capture(int of_home)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *home = home_of(fixture.context);
	struct bi_stream *captured = of_home ? home : producer;
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer, .released = &released });
	const unsigned char two = 2;

	OK(bi_view_switch_to_context_stream(view, &error));
	OK(bi_fill(view, &two, NULL, &error));
	begin_capture(captured, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	bi_view_release(view);
	trim_all();
	assert_int_equal(released, 0);
	end_and_drop(captured);
	trim_all();
	assert_int_equal(released, 1);
	assert_int_equal(reported(fixture.context, "retired"), 0);
	clear_case();
}

static void row_35_a_release_in_a_capture_is_put_off(void **state)
{
	(void)state;
	rehomed_in_a_capture(0);
	rehomed_in_a_capture(1);
}

static void row_35_rehome_in_a_capture(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *home = home_of(fixture.context);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer });

	(void)state;
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	REFUSED(BI_ECAPTURE, bi_view_switch_to_context_stream(view, &error));
	end_and_drop(home);
	assert_exported_stream(view, producer);
	OK(bi_view_switch_to_context_stream(view, &error));
	assert_ordered(home, view);
	assert_exported_stream(view, home);
	finish_all();
	bi_view_release(view);
}

/* Ends a capture that is invalid. */
static void end_invalid_capture(const struct bi_stream *stream)
{
	bi__cu_graph graph;

	cuda_enter(bi_stream_context(stream));
	assert_int_not_equal(cuda_driver()->StreamEndCapture(cuda_stream_of(stream), &graph), BI__CU_SUCCESS);
	cuda_leave();
	setting.is_capturing = 0;
}

static void invalidate_capture(const struct bi_stream *stream)
{
	cuda_enter(bi_stream_context(stream));
	assert_int_not_equal(cuda_driver()->StreamSynchronize(cuda_stream_of(stream)), BI__CU_SUCCESS);
	cuda_leave();
}

/* Nothing is enqueued, also on another stream: its home would have to wait. */
static void row_27_an_invalid_capture_is_refused(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *view = at_home_on(home, 1);
	uint64_t before;

	(void)state;
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	invalidate_capture(home);
	before = enqueued();
	REFUSED_FOR(BI_ECAPTURE, "invalidated", bi_fill(view, "x", NULL, &error));
	REFUSED_FOR(BI_ECAPTURE, "invalidated", bi_fill(view, "x", stream, &error));
	REFUSED_FOR(BI_ECAPTURE, "invalidated", bi_view_synchronize(view, &error));
	MORE(enqueued(), before, 0);
	end_invalid_capture(home);
	fill(view, 2, stream);
	finish_all();
	assert_int_equal(value_of(view), 2);
	bi_view_release(view);
}

/* Idle memory is not waited for, so the switch is refused when the context stream itself is looked at. */
static void row_21_a_switch_to_an_invalid_capture_changes_nothing(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *home = home_of(fixture.context);
	struct bi_view *view = at_home_on(producer, 1);

	(void)state;
	expect_waits("synchronize", 1);
	OK(bi_view_synchronize(view, &error));
	begin_capture(home, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	invalidate_capture(home);
	REFUSED(BI_ECAPTURE, bi_view_switch_to_context_stream(view, &error));
	end_invalid_capture(home);
	fill(view, 2, NULL);
	assert_exported_stream(view, producer);
	finish_all();
	bi_view_release(view);
}

/* --------------------------------------------------------------------------------------------- unrecorded ends */

/* Work on the stream whose end for the home of the memory is refused by the driver. */
static void fill_without_an_end(struct bi_view *view, int value, struct bi_stream *stream)
{
	const unsigned char byte = (unsigned char)value;
	unsigned found = 0, next;
	uint64_t before = 0;

	for (int i = 0; i < 2; i++) {
		before = cuda_calls();
		fill(view, 1, stream);
	}
	for (unsigned nth = 1; (next = cuda_find_call(before, "cuEventRecord", nth)) > 0; nth++)
		found = next;
	cuda_fail_call(found, BI__CU_ERROR_OUT_OF_MEMORY);
	REFUSED(BI_ENOMEM, bi_fill(view, &byte, stream, &error));
}

/* The end is not recorded while one of the two streams is captured: the other one would take part in the capture. */
static void end_in_a_capture(int of_home)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_stream *captured = of_home ? home : stream;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = home, .released = &released });
	struct bi_view *other = at_home_on(home, 5);
	const unsigned char three = 3;
	uint64_t before;

	fill_without_an_end(view, 2, stream);
	begin_capture(captured, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	before = enqueued();
	REFUSED(BI_ECAPTURE, bi_view_synchronize(view, &error));
	REFUSED(BI_ECAPTURE, bi_view_export(view, 0, &exchange, &error));
	REFUSED(BI_ECAPTURE, bi_view_export(view, BI_ACQUIRE_READY, &exchange, &error));
	REFUSED(BI_ECAPTURE, bi_fill(view, &three, NULL, &error));
	REFUSED(BI_ECAPTURE, bi_copy(other, view, NULL, &error));
	REFUSED(BI_ECAPTURE, end_use(view, stream, &error));
	bi_view_release(view);
	trim_all();
	MORE(enqueued(), before, 0);
	assert_int_equal(released, 0);
	end_and_drop(captured);
	trim_all();
	assert_int_equal(released, 1);
	assert_int_equal(reported(fixture.context, "retired"), 0);
	bi_view_release(other);
	clear_case();
}

static void row_27_an_end_is_recorded_after_the_capture(void **state)
{
	(void)state;
	end_in_a_capture(1);
	end_in_a_capture(0);
}

/* The same for host memory, which has no home: its event would be one of the capture and never be complete. */
static void row_27_an_end_for_host_memory_is_recorded_after_the_capture(void **state)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER), *other = new_stream(BI_STREAM_IN_ORDER);
	atomic_int released = 0;
	struct bi_view *host;
	unsigned found = 0;
	uint64_t before;

	(void)state;
	bi_stream_handle(stream);
	for (int i = 0; i < 2; i++) {
		host = wrap(PLACE_HOST, 1, nobody);
		before = cuda_calls();
		hand_back(host, stream);
		found = cuda_find_call(before, "cuEventRecord", 1);
		bi_view_release(host);
		finish_all();
		trim_all();
	}
	host = wrap(PLACE_HOST, 1, (struct producer){ .released = &released });
	cuda_fail_call(found, BI__CU_ERROR_OUT_OF_MEMORY);
	REFUSED(BI_ENOMEM, end_use(host, stream, &error));
	begin_capture(stream, BI__CU_CAPTURE_MODE_THREAD_LOCAL);
	REFUSED(BI_ECAPTURE, bi_view_synchronize(host, &error));
	REFUSED(BI_ECAPTURE, end_use(host, other, &error));
	bi_view_release(host);
	trim_all();
	assert_int_equal(released, 0);
	end_and_drop(stream);
	finish_all();
	trim_all();
	assert_int_equal(released, 1);
}

/* --------------------------------------------------------------------------------- private memory and captures */

/* An array of the library's that is read on another stream, behind a gate. */
struct read_elsewhere {
	struct bi_context *context;
	struct bi_view *view, *to;
	struct bi_stream *stream;
	struct gate *gate;
};

static void read_elsewhere(struct read_elsewhere *read)
{
	read->context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	read->view = allocate_in(read->context, BI_MEMORY_DEVICE);
	read->to = wrap_in(read->context, PLACE_DEVICE, 2, nobody);
	read->stream = new_stream_in(read->context, BI_STREAM_IN_ORDER);
	fill(read->view, 7, NULL);
	finish_all();
	read->gate = close_gate(read->stream);
	copy(read->to, read->view, read->stream);
}

/* Own memory of a graph is kept until the context closes. */
static void end_read_elsewhere(struct read_elsewhere *read, int is_captured)
{
	open_and_finish(read->gate);
	assert_int_equal(value_of(read->to), 7);
	bi_view_release(read->to);
	bi_view_release(read->view);
	clear_case();
	if (is_captured)
		assert_int_equal(leave_context(read->context), 1);
}

static void fill_in_a_capture(struct bi_view *view, struct bi_stream *home, int status)
{
	uint64_t before;

	begin_capture(home, BI__CU_CAPTURE_MODE_RELAXED);
	before = enqueued();
	if (status) {
		REFUSED_FOR(status, "call bi_view_synchronize before the capture", bi_fill(view, "x", NULL, &error));
		MORE(enqueued(), before, 0);
	} else {
		fill(view, 9, NULL);
	}
	end_and_drop(home);
}

static void row_38_work_elsewhere_ends_before_a_capture(void **state)
{
	struct read_elsewhere read;

	(void)state;
	read_elsewhere(&read);
	fill_in_a_capture(read.view, home_of(read.context), BI_ECAPTURE);
	open_and_finish(read.gate);
	fill_in_a_capture(read.view, home_of(read.context), BI_OK);
	end_read_elsewhere(&read, 1);
}

static void row_21_synchronising_settles_work_before_a_capture(void **state)
{
	struct read_elsewhere read;

	(void)state;
	read_elsewhere(&read);
	open_gate_soon(read.gate);
	OK(bi_view_synchronize(read.view, &error));
	expect_waits("synchronize", 1);
	fill_in_a_capture(read.view, home_of(read.context), BI_OK);
	end_read_elsewhere(&read, 1);
}

/* The former owner's read is pending when the new memory is used in a capture for the first time. */
static void row_38_new_memory_in_a_capture(void **state)
{
	struct read_elsewhere read;
	unsigned long hits;

	(void)state;
	read_elsewhere(&read);
	hits = reported(read.context, "hits");
	bi_view_release(read.view);
	read.view = allocate_in(read.context, BI_MEMORY_DEVICE);
	assert_int_equal(reported(read.context, "hits"), hits + 1);
	fill_in_a_capture(read.view, home_of(read.context), BI_ECAPTURE);
	open_and_finish(read.gate);
	fill_in_a_capture(read.view, home_of(read.context), BI_OK);
	end_read_elsewhere(&read, 1);
}

/* The home stream cannot wait for the read: an export says so, and bi_view_native gives the handle. */
static void row_38_exports_while_the_home_stream_is_captured(void **state)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct read_elsewhere read;
	uint64_t before;

	(void)state;
	for (int is_export = 0; is_export < 2; is_export++) {
		read_elsewhere(&read);
		begin_capture(home_of(read.context), BI__CU_CAPTURE_MODE_RELAXED);
		before = enqueued();
		if (is_export)
			REFUSED(BI_ECAPTURE, bi_view_export(read.view, 0, &exchange, &error));
		else
			assert_true(handle_of(read.view) != 0);
		MORE(enqueued(), before, 0);
		end_and_drop(home_of(read.context));
		fill(read.view, 9, NULL);
		end_read_elsewhere(&read, 0);
	}
}

static void row_38_captured_memory_is_not_private(void **state)
{
	struct read_elsewhere read;
	struct bi_view *other;

	(void)state;
	read_elsewhere(&read);
	open_and_finish(read.gate);
	fill_in_a_capture(read.view, home_of(read.context), BI_OK);
	other = allocate_in(read.context, BI_MEMORY_DEVICE);
	copy(other, read.view, read.stream);
	borrow_handles(1);
	assert_ordered(home_of(read.context), read.view);
	borrow_handles(0);
	bi_view_release(other);
	end_read_elsewhere(&read, 1);
}

/* The copy would run on the home of the device memory. That or the stream is captured. Nothing is enqueued, and the
 * capture stays valid. */
static void row_27_pinned_memory_and_another_device(void **state)
{
	struct bi_context *second = open_second();
	struct bi_view *pinned = allocate_in(fixture.context, BI_MEMORY_PINNED);
	struct bi_view *device = allocate_in(second, BI_MEMORY_DEVICE);
	struct bi_stream *stream = new_producer(BI_STREAM_IN_ORDER), *captured[] = { stream, home_of(second) };
	uint64_t before;

	(void)state;
	fill(pinned, 7, NULL);
	finish_all();
	for (size_t i = 0; i < ARRAY_LENGTH(captured); i++) {
		begin_capture(captured[i], BI__CU_CAPTURE_MODE_RELAXED);
		before = enqueued();
		REFUSED_FOR(BI_ECAPTURE, "in another context", bi_copy(device, pinned, stream, &error));
		REFUSED_FOR(BI_ECAPTURE, "in another context", bi_copy(pinned, device, stream, &error));
		assert_int_equal(enqueued(), before);
		end_and_drop(captured[i]);
	}
	copy(device, pinned, stream);
	finish_all();
	assert_int_equal(value_of(device), 7);
	bi_view_release(pinned);
	bi_view_release(device);
}

int capture_rows(void)
{
	static const struct row rows[] = {
		ROW(row_27_each_launch_does_what_was_captured, NEED_CUDA),
		ROW(row_27_streams_of_one_capture, NEED_CUDA),
		ROW(row_27_streams_outside_of_the_capture_are_refused, NEED_CUDA),
		ROW(row_27_a_use_without_a_wait_is_refused_at_its_end, NEED_CUDA),
		ROW(row_27_what_needs_more_is_refused, NEED_CUDA),
		ROW(row_27_host_memory, NEED_CUDA),
		ROW(row_27_a_capture_elsewhere_is_not_disturbed, NEED_CUDA),
		ROW(row_27_own_memory_of_a_graph_lives_until_the_context_closes, NEED_CUDA),
		ROW(row_27_host_memory_of_a_graph_lives_until_the_context_closes, NEED_CUDA),
		ROW(row_27_a_release_is_put_off, NEED_CUDA),
		ROW(row_11_a_hand_back_in_a_capture_is_refused, NEED_CUDA),
		ROW(row_27_events_and_joins, NEED_CUDA),
		ROW(row_27_a_wrapped_event_of_a_capture_brings_a_stream_in, NEED_CUDA),
		ROW(row_27_a_wait_for_work_outside_is_refused, NEED_CUDA | NEED_GATE),
		ROW(row_19_a_wait_in_a_capture_fails_without_a_message, NEED_CUDA | NEED_SIM | NEED_GATE),
		ROW(row_21_unmap_in_a_capture_is_refused, NEED_CUDA),
		ROW(row_21_unmap_in_a_capture_of_the_context_stream, NEED_CUDA),
		ROW(row_21_a_mapping_is_given_up_in_a_capture, NEED_CUDA),
		ROW(row_21_a_mapping_asks_for_the_capture_again_under_the_lock, NEED_CUDA | NEED_COUNTS),
		ROW(row_27_an_array_that_is_read_into_a_capture_is_given_up, NEED_CUDA),
		ROW(row_27_what_is_refused_is_not_kept, NEED_CUDA),
		ROW(row_27_captured_host_memory_does_not_keep_its_context, NEED_CUDA),
		ROW(row_27_captured_host_memory_keeps_another_context_until_its_work_ends, NEED_PEERS | NEED_GATE),
		ROW(row_27_a_capture_begins_during_a_release, NEED_CUDA | NEED_SIM),
		ROW(row_27_what_graphs_keep_is_not_in_the_way, NEED_CUDA),
		ROW(row_35_a_release_in_a_capture_is_put_off, NEED_CUDA),
		ROW(row_35_rehome_in_a_capture, NEED_CUDA),
		ROW(row_27_an_invalid_capture_is_refused, NEED_CUDA),
		ROW(row_21_a_switch_to_an_invalid_capture_changes_nothing, NEED_CUDA),
		ROW(row_27_an_end_is_recorded_after_the_capture, NEED_CUDA | NEED_SIM),
		ROW(row_27_an_end_for_host_memory_is_recorded_after_the_capture, NEED_CUDA | NEED_SIM),
		ROW(row_38_work_elsewhere_ends_before_a_capture, NEED_CUDA | NEED_GATE),
		ROW(row_21_synchronising_settles_work_before_a_capture, NEED_CUDA | NEED_GATE),
		ROW(row_38_new_memory_in_a_capture, NEED_CUDA | NEED_GATE),
		ROW(row_38_exports_while_the_home_stream_is_captured, NEED_CUDA | NEED_GATE),
		ROW(row_38_captured_memory_is_not_private, NEED_CUDA | NEED_GATE),
		ROW(row_27_pinned_memory_and_another_device, NEED_PEERS | NEED_GATE),
	};

	return run_rows("graph capture", rows, ARRAY_LENGTH(rows));
}
