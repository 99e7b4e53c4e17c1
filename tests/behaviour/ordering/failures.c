/* Rows 18 and 19: producers and drivers that fail. */
#include "raw_cuda.h"
#include "buffer_interface/binding.h"
#include "uses.h"
#include "support/use.h"

static const struct producer nobody;

/* The calls of the operation that a rehearsal is about. */
static struct {
	uint64_t begin, end;
} rehearsed;

/*
 * The simulated driver fails calls by their number. This is the number, in an operation that will be done again, of the
 * last call of that name. The first rehearsal may make what later ones find; what they leave is done, and let go of.
 */
static unsigned find_last_call(const char *cuda_name, void (*rehearse)(void))
{
	unsigned found = 0, next;

	if (!is_cuda(fixture.context))
		return 0;
	for (int i = 0; i < 2; i++) {
		rehearse();
		empty_all();
	}
	for (unsigned nth = 1; (next = cuda_find_call(rehearsed.begin, cuda_name, nth)) > 0; nth++)
		if (rehearsed.begin + next <= rehearsed.end)
			found = next;
	assert_true(found > 0);
	return found;
}

static void arm_found(const char *opencl_name, unsigned found)
{
	if (is_cuda(fixture.context))
		cuda_fail_call(found, BI__CU_ERROR_OUT_OF_MEMORY);
	else
		arm(opencl_name, 1);
}

/* ----------------------------------------------------------------------------------------------------------- row 18 */

/* Each time, and nothing is enqueued: nothing that could wait for ever. */
static void refuse_all(struct bi_view *view, struct bi_view *other)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before = enqueued();
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	for (int round = 0; round < 2; round++)
		for (int use = 0; use < USE_COUNT; use++) {
			REFUSED(BI_EPRODUCER, try((enum use)use, view, other, NULL));
			REFUSED(BI_EPRODUCER, try((enum use)use, view, other, stream));
		}
	REFUSED(BI_EPRODUCER, end_use(view, stream, &error));
	REFUSED(BI_EPRODUCER, bi_view_export(view, 0, &exchange, &error));
	MORE(enqueued(), before, 0);
}

static void refuse_failed_event(struct bi_stream *home)
{
	atomic_int released = 0;
	struct bi_event *event = failed_event(fixture.context);
	struct bi_view *view =
		wrap(PLACE_DEVICE, 1, (struct producer){ .stream = home, .event = event, .released = &released });
	struct bi_view *other = wrap(PLACE_DEVICE, 2, nobody);

	refuse_all(view, other);
	bi_event_release(event);
	bi_view_release(view);
	assert_int_equal(released, 1);
	fill(other, 3, NULL);
	finish_all();
	assert_int_equal(value_of(other), 3);
	bi_view_release(other);
}

static void row_18_failed_event_of_the_first_use(void **state)
{
	(void)state;
	refuse_failed_event(NULL);
}

static void row_18_failed_event_with_a_named_stream(void **state)
{
	(void)state;
	refuse_failed_event(new_producer(BI_STREAM_IN_ORDER));
}

/* The other memory is pending elsewhere; nothing is enqueued for it either. */
static void row_18_nothing_is_enqueued_for_the_other_memory(void **state)
{
	struct bi_event *event = failed_event(fixture.context);
	struct bi_view *from = wrap(PLACE_DEVICE, 1, (struct producer){ .event = event });
	struct bi_view *to = wrap(PLACE_DEVICE, 2, (struct producer){ .stream = new_producer(BI_STREAM_IN_ORDER) });
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before = enqueued();

	(void)state;
	REFUSED(BI_EPRODUCER, bi_copy(to, from, stream, &error));
	MORE(enqueued(), before, 0);
	bi_event_release(event);
	bi_view_release(from);
	bi_view_release(to);
}

static void row_18_failed_event_and_streams(void **state)
{
	struct bi_event *event = failed_event(fixture.context);
	uint64_t before = enqueued();
	int done = 0;

	(void)state;
	REFUSED(BI_EPRODUCER, bi_event_query(event, &done, &error));
	REFUSED(BI_EPRODUCER, bi_stream_wait(home_of(fixture.context), event, &error));
	MORE(enqueued(), before, 0);
	bi_event_release(event);
}

static void count_up(void *count)
{
	atomic_fetch_add((atomic_int *)count, 1);
}

static void row_18_failed_event_of_host_memory(void **state)
{
	atomic_int released = 0;
	struct bi_event *event = failed_event(fixture.context);
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	const struct bi_dtype byte = { 1, 1, BI_UINT8, 0 };
	const int64_t extent = ARRAY_BYTES;
	unsigned char bytes[ARRAY_BYTES];
	struct bi_layout layout;
	struct bi_memory *memory;
	struct bi_view *view;

	(void)state;
	foreign.release = count_up;
	foreign.release_data = &released;
	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = sizeof(bytes);
	foreign.events = &event;
	foreign.event_count = 1;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	OK(bi_layout_init(&layout, byte, 1, &extent, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	REFUSED(BI_EPRODUCER, bi_fill(view, "x", NULL, &error));
	REFUSED(BI_EPRODUCER, bi_view_synchronize(view, &error));
	bi_view_release(view);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
	bi_event_release(event);
}

/* The producer's work fails after the memory was wrapped. Its tail is then an event that has failed. */
static void row_18_host_memory_whose_producer_fails(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_HOST, 1, nobody), *view, *other = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_event *failed = failed_event(fixture.context);
	struct bi_view *refused = wrap(PLACE_DEVICE, 3, (struct producer){ .event = failed });
	struct gate *gate;
	struct bi_event *work = gated_event(setting.other, producer, made, 7, &gate);
	uint64_t before;

	(void)state;
	view = wrap_again(made, (struct producer){ .stream = producer });
	/* A step in which it had not failed yet says nothing about the next. */
	REFUSED(BI_EPRODUCER, bi_copy(refused, view, NULL, &error));
	fail_gate(gate);
	settle();
	before = enqueued();
	REFUSED(BI_EPRODUCER, bi_copy(other, view, NULL, &error));
	REFUSED(BI_EPRODUCER, bi_copy(other, view, stream, &error));
	REFUSED(BI_EPRODUCER, begin_use(view, stream, &error));
	MORE(enqueued(), before, 0);
	REFUSED(BI_EPRODUCER, bi_view_synchronize(view, &error));
	expect_waits("synchronize", 2);
	bi_event_release(work);
	bi_event_release(failed);
	bi_view_release(view);
	bi_view_release(made);
	bi_view_release(other);
	bi_view_release(refused);
}

/*
 * Two uses of host memory, of which the second fails while the first still runs. The end of the second fails too, and
 * says nothing about the first.
 */
struct two_uses {
	struct bi_context *context;
	struct bi_view *view;
	struct bi_event *events[2];
	struct gate *slow;
	atomic_int released;
};

static void fail_the_second_use(struct two_uses *uses)
{
	struct bi_view *view = wrap_in(uses->context, PLACE_HOST, 1, (struct producer){ .released = &uses->released });
	struct bi_view *other = wrap_in(uses->context, PLACE_DEVICE, 1, nobody);
	struct bi_use use = { view, BI_ACCESS_WRITE };
	struct bi_stream *stream;
	struct gate *bad;

	uses->view = view;
	OK(bi_stream_create(uses->context, BI_STREAM_IN_ORDER, &stream, &error));
	OK(bi_use_begin(stream, &use, 1, &error));
	uses->events[0] = gated_event(uses->context, stream, view, 7, &uses->slow);
	OK(bi_use_end(stream, &use, 1, &error));
	OK(bi_use_begin(stream, &use, 1, &error));
	uses->events[1] = gated_event(uses->context, stream, other, 8, &bad);
	OK(bi_use_end(stream, &use, 1, &error));
	bi_stream_release(stream);
	fail_gate(bad);
	settle();
	bi_view_release(other);
}

static void row_18_synchronising_waits_for_the_work_before(void **state)
{
	struct two_uses uses = { .context = fixture.context };

	(void)state;
	fail_the_second_use(&uses);
	open_gate_soon(uses.slow);
	REFUSED(BI_EPRODUCER, bi_view_synchronize(uses.view, &error));
	assert_true(is_open(uses.slow));
	expect_waits("synchronize", 2);
	assert_int_equal(value_of(uses.view), 7);
	for (int i = 0; i < 2; i++)
		bi_event_release(uses.events[i]);
	bi_view_release(uses.view);
	assert_int_equal(uses.released, 1);
}

static void row_18_synchronising_an_event_waits_for_the_work_before(void **state)
{
	struct two_uses uses = { .context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT) };

	(void)state;
	fail_the_second_use(&uses);
	open_gate_soon(uses.slow);
	REFUSED(BI_EPRODUCER, bi_event_synchronize(uses.events[1], &error));
	assert_true(is_open(uses.slow));
	expect_waits("synchronize", 2);
	for (int i = 0; i < 2; i++)
		bi_event_release(uses.events[i]);
	bi_view_release(uses.view);
	close_context(uses.context, 1); /* besides clFinish */
}

static void row_18_released_memory_waits_for_the_work_before(void **state)
{
	struct two_uses uses = { .context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT) };

	(void)state;
	fail_the_second_use(&uses);
	bi_view_release(uses.view);
	OK(bi_context_trim(uses.context, 0, &error));
	assert_int_equal(uses.released, 0);
	/* PoCL still needs both events now. */
	open_and_finish(uses.slow);
	for (int i = 0; i < 2; i++)
		bi_event_release(uses.events[i]);
	close_context(uses.context, 1); /* besides clFinish */
	assert_int_equal(uses.released, 1);
}

/*
 * Nothing hangs, and all can be released. PoCL forgets a failure on a queue. Rusticl refuses all later work on the
 * queue, which the library reports.
 */
static void row_18_failed_work_on_a_named_stream(void **state)
{
	atomic_int released = 0;
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view, *to = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate;
	struct bi_event *work = gated_event(setting.other, producer, made, 7, &gate), *end;
	int rc;

	(void)state;
	view = wrap_again(made, (struct producer){ .stream = producer, .released = &released });
	fail_gate(gate);
	settle();
	rc = bi_copy(to, view, NULL, &error);
	assert_true(rc == BI_OK || rc == BI_EPRODUCER);
	finish_all();
	bi_event_release(work);
	bi_view_release(view);
	assert_int_equal(released, 1);
	if (stream_works(home_of(fixture.context))) {
		fill(to, 3, NULL);
		finish_all();
		assert_int_equal(value_of(to), 3);
	} else {
		fill(to, 3, NULL);
		OK(bi_event_record(home_of(fixture.context), &end, &error));
		finish_all();
		REFUSED(BI_EPRODUCER, bi_event_query(end, &rc, &error));
		bi_event_release(end);
	}
	bi_view_release(made);
	bi_view_release(to);
}

static void rehearse_first_use(void)
{
	struct bi_event *event = complete_event(fixture.context);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .event = event });

	rehearsed.begin = cuda_calls();
	fill(view, 2, NULL);
	rehearsed.end = cuda_calls();
	bi_event_release(event);
	bi_view_release(view);
}

/*
 * A producer of CUDA whose work fails spoils the context for good. The simulated driver can only say so of his event
 * once, which may be the failure of the call itself; nothing is enqueued all the same.
 */
static void row_18_event_of_a_context_that_has_failed(void **state)
{
	struct bi_event *event = complete_event(fixture.context);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .event = event });
	const unsigned char two = 2;
	unsigned query = find_last_call("cuEventQuery", rehearse_first_use);
	uint64_t before;
	int rc;

	(void)state;
	for (int round = 0; round < 2; round++) {
		cuda_fail_call(query, BI__CU_ERROR_ILLEGAL_ADDRESS);
		before = enqueued();
		rc = bi_fill(view, &two, NULL, &error);
		assert_true(rc == BI_EPRODUCER || rc == BI_EDRIVER);
		MORE(enqueued(), before, 0);
	}
	bi_event_release(event);
	bi_view_release(view);
}

/* ----------------------------------------------------------------------------------------------------------- row 19 */

static const char *const opencl_functions[] = {
	"clEnqueueMarkerWithWaitList", "clEnqueueBarrierWithWaitList", "clFlush",
	"clEnqueueCopyBuffer",         "clEnqueueWriteBuffer",         "clEnqueueReadBuffer",
	"clEnqueueFillBuffer",
};

/* Two arrays that a copy moves between; NULL: a fill. */
struct sides {
	enum place from, to;
};

static int copy_or_fill(const struct sides *sides, struct bi_view *to, struct bi_view *from, struct bi_stream *stream)
{
	const unsigned char seven = 7;

	return sides ? bi_copy(to, from, stream, &error) : bi_fill(to, &seven, stream, &error);
}

/* Some calls of CUDA the library can do without. */
static void check_status(int rc, int failed)
{
	if (rc != BI_OK || !is_cuda(fixture.context))
		assert_int_equal(rc, failed ? BI_ENOMEM : BI_OK);
}

/* Returns whether the nth call of the function was made at all. */
static int fail_once(const struct sides *sides, const char *function, unsigned nth)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *from = wrap(sides ? sides->from : PLACE_DEVICE, 7,
				    (struct producer){ .stream = new_producer(BI_STREAM_IN_ORDER) });
	struct bi_view *to = wrap(sides ? sides->to : PLACE_DEVICE, 1,
				  (struct producer){ .stream = new_producer(BI_STREAM_IN_ORDER) });
	uint64_t before = failures();
	int rc, failed;

	arm_any(function, nth);
	rc = copy_or_fill(sides, to, from, stream);
	arm_any(function, 0);
	failed = failures() != before;
	check_status(rc, failed);
	if (rc == BI_OK) {
		assert_home_follows(from);
		assert_home_follows(to);
	}
	/* Where it was the order itself that could not be enqueued, nothing but time brings the rest behind it. */
	finish_all();
	if (rc == BI_OK)
		assert_int_equal(value_of(to), 7);
	OK(copy_or_fill(sides, to, from, NULL));
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(to);
	clear_case();
	return failed;
}

static unsigned fail_everywhere(const struct sides *sides)
{
	size_t count = is_cuda(fixture.context) ? 1 : ARRAY_LENGTH(opencl_functions);
	unsigned failed = 0;

	for (size_t i = 0; i < count; i++)
		for (unsigned nth = 1; fail_once(sides, opencl_functions[i], nth); nth++)
			failed++;
	return failed;
}

static void wait_for_buffers(int64_t count)
{
	for (int i = 0; i < 200 && live_memory() != count; i++)
		settle();
	assert_int_equal(live_memory(), count);
}

static void row_19_every_call_fails_once(void **state)
{
	static const struct sides all[] = {
		{ PLACE_DEVICE, PLACE_DEVICE },
		{ PLACE_HOST, PLACE_DEVICE },
		{ PLACE_DEVICE, PLACE_HOST },
	};
	int64_t buffers = live_memory();

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		assert_true(fail_everywhere(&all[i]) >= 5);
	assert_true(fail_everywhere(NULL) >= 3);
	/* On CUDA pinned memory for transfers stays, and the simulated driver tells of what is left in the end. */
	if (!is_cuda(fixture.context))
		wait_for_buffers(buffers);
}

/*
 * A copy behind a gate in which the nth call fails, and then the last release of both sides, which makes up for an end
 * that could not be recorded: both producers, who named their streams, may go on.
 */
static int release_after_failure(const struct sides *sides, unsigned nth)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_stream *homes[] = { new_producer(BI_STREAM_IN_ORDER), new_producer(BI_STREAM_IN_ORDER) };
	struct bi_view *from_made = wrap(sides->from, 7, nobody), *to_made = wrap(sides->to, 1, nobody);
	struct bi_view *from = wrap_again(from_made, (struct producer){ .stream = homes[0] });
	struct bi_view *to = wrap_again(to_made, (struct producer){ .stream = homes[1] });
	struct gate *gate = close_gate(stream);
	uint64_t before = failures();
	int failed;

	arm_any(NULL, nth);
	check_status(bi_copy(to, from, stream, &error), 1);
	arm_any(NULL, 0);
	failed = failures() != before;
	bi_view_release(from);
	bi_view_release(to);
	if (sides->from == PLACE_DEVICE)
		raw_write(homes[0], from_made, 8);
	if (sides->to == PLACE_DEVICE)
		raw_write(homes[1], to_made, 9);
	open_and_finish(gate);
	trim_all();
	if (sides->from == PLACE_DEVICE)
		assert_int_equal(value_of(from_made), 8);
	if (sides->to == PLACE_DEVICE)
		assert_int_equal(value_of(to_made), 9);
	bi_view_release(from_made);
	bi_view_release(to_made);
	clear_case();
	return failed;
}

static void row_19_producers_go_on_whatever_fails(void **state)
{
	static const struct sides all[] = {
		{ PLACE_DEVICE, PLACE_DEVICE },
		{ PLACE_HOST, PLACE_DEVICE },
		{ PLACE_DEVICE, PLACE_HOST },
	};
	unsigned nth;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		for (nth = 1; release_after_failure(&all[i], nth); nth++)
			;
		assert_true(nth > 5);
	}
}

/*
 * An upload behind a gate, whose nth flush fails: 1 is that of the destination's home, before the upload, 2 that of the
 * upload, 3 that of its end for the destination. From 2 on the device will read the source.
 */
static void upload_and_fail(unsigned nth)
{
	atomic_int released = 0;
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *from = wrap(PLACE_HOST, 7, (struct producer){ .released = &released });
	struct bi_view *to = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = home });
	struct gate *gate = close_gate(stream);

	arm("clFlush", nth);
	REFUSED(BI_ENOMEM, bi_copy(to, from, stream, &error));
	assert_int_equal(calls_of("clEnqueueWriteBuffer"), nth < 2 ? 0 : nth - 1);
	bi_view_release(from);
	assert_int_equal(released, nth < 2);
	if (nth == 2)
		raw_write(home, to, 8);
	settle();
	assert_int_equal(value_of(to), 1);
	open_and_finish(gate);
	if (nth == 2)
		assert_int_equal(value_of(to), 8);
	bi_view_release(to);
	clear_case();
	assert_int_equal(released, 1);
}

static void row_19_what_is_enqueued_stays_ordered(void **state)
{
	(void)state;
	upload_and_fail(1);
	upload_and_fail(2);
}

static void row_19_the_other_memory_stays_ordered(void **state)
{
	(void)state;
	upload_and_fail(2);
	upload_and_fail(3);
}

static void rehearse_fill_of(struct bi_view *view)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);

	fill(view, 1, NULL);
	rehearsed.begin = cuda_calls();
	fill(view, 2, stream);
	rehearsed.end = cuda_calls();
	bi_view_release(view);
}

static void rehearse_fill_of_wrapped(void)
{
	rehearse_fill_of(wrap(PLACE_DEVICE, 1, nobody));
}

static void rehearse_fill_of_own(void)
{
	rehearse_fill_of(allocate());
}

/* Behind a gate on another stream, with an end for the home that cannot be recorded. */
static struct gate *fill_without_an_end(struct bi_view *view, int value, void (*rehearse)(void))
{
	unsigned end = find_last_call("cuEventRecord", rehearse);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	unsigned char byte = (unsigned char)value;
	struct gate *gate;

	if (is_cuda(fixture.context))
		fill(view, 1, NULL);
	gate = close_gate(stream);
	arm_found("clEnqueueMarkerWithWaitList", end);
	REFUSED(BI_ENOMEM, bi_fill(view, &byte, stream, &error));
	return gate;
}

static void row_19_the_end_is_made_up_for_by_the_next_use(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = fill_without_an_end(view, 2, rehearse_fill_of_wrapped);

	(void)state;
	fill(view, 3, NULL);
	settle();
	assert_int_equal(value_of(view), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 3);
	bi_view_release(view);
}

/* Host memory whose tail could not be recorded is not idle. In order, OpenCL's tail is the event of the copy itself. */
static void row_19_the_end_is_made_up_for_by_a_description(void **state)
{
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_stream *stream = new_stream(stream_kinds() > 1 ? BI_STREAM_OUT_OF_ORDER : BI_STREAM_IN_ORDER);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct gate *gate;

	(void)state;
	gate = close_gate(stream);
	arm("clEnqueueMarkerWithWaitList", 1);
	REFUSED(BI_ENOMEM, bi_copy(host, from, stream, &error));
	open_gate_soon(gate);
	OK(bi_view_export(host, BI_ACQUIRE_BORROW, &exchange, &error));
	assert_true(is_open(gate));
	expect_waits("export", 1);
	assert_int_equal(value_of(host), 7);
	bi_view_release(from);
	bi_view_release(host);
}

static void row_19_the_end_is_made_up_for_before_the_pool(void **state)
{
	struct bi_view *view = allocate(), *next;
	struct gate *gate = fill_without_an_end(view, 2, rehearse_fill_of_own);

	(void)state;
	bi_view_release(view);
	next = allocate();
	fill(next, 3, NULL);
	open_and_finish(gate);
	assert_int_equal(value_of(next), 3);
	bi_view_release(next);
}

static void rehearse_hand_back(void)
{
	struct bi_view *view = wrap(PLACE_HOST, 1, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);

	/* As in the test: a stream whose handle is known may be captured, so the driver is asked. */
	bi_stream_handle(stream);
	rehearsed.begin = cuda_calls();
	hand_back(view, stream);
	rehearsed.end = cuda_calls();
	bi_view_release(view);
}

static void rehearse_second_hand_back(void)
{
	struct bi_view *view = wrap(PLACE_HOST, 1, nobody);
	struct bi_stream *first = new_stream(BI_STREAM_IN_ORDER), *second = new_stream(BI_STREAM_IN_ORDER);

	hand_back(view, first);
	rehearsed.begin = cuda_calls();
	hand_back(view, second);
	rehearsed.end = cuda_calls();
	bi_view_release(view);
}

/* A stream that was handed over, and whose end could not be recorded, is not forgotten for the next one. */
static void row_19_the_end_is_made_up_for_by_the_next_hand_back(void **state)
{
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_HOST, 1, (struct producer){ .released = &released });
	struct bi_stream *first = new_stream(BI_STREAM_IN_ORDER), *second = new_stream(BI_STREAM_IN_ORDER);
	unsigned end = find_last_call("cuEventRecord", rehearse_hand_back);
	struct gate *gate = close_gate(first);

	(void)state;
	arm_found("clEnqueueMarkerWithWaitList", end);
	REFUSED(BI_ENOMEM, end_use(view, first, &error));
	hand_back(view, second);
	bi_view_release(view);
	settle();
	trim_all();
	assert_int_equal(released, 0);
	open_and_finish(gate);
	settle();
	trim_all();
	assert_int_equal(released, 1);
}

/* Nor is work that is on a stream when the driver refuses to put it behind what was handed over before. */
static void row_19_a_refused_hand_back_leaves_nothing_running(void **state)
{
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_HOST, 1, (struct producer){ .released = &released });
	struct bi_stream *first = new_stream(BI_STREAM_IN_ORDER), *second = new_stream(BI_STREAM_IN_ORDER);
	unsigned wait = find_last_call("cuStreamWaitEvent", rehearse_second_hand_back);
	struct gate *gate;

	(void)state;
	hand_back(view, first);
	gate = close_gate(second);
	arm_found("clEnqueueBarrierWithWaitList", wait);
	open_gate_soon(gate);
	expect_waits("failure", 1);
	REFUSED(BI_ENOMEM, end_use(view, second, &error));
	assert_true(is_open(gate));
	bi_view_release(view);
	settle();
	trim_all();
	assert_int_equal(released, 1);
}

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_GET, ACCESS_READ_STRIDED, ACCESS_WRITE_STRIDED, ACCESSES };

/*
 * Strided accesses in two steps do not take part on CUDA: the memory in between is never freed once the driver has
 * refused to wait, and the simulated driver reports that.
 */
static int count_accesses(void)
{
	return is_cuda(fixture.context) ? ACCESS_READ_STRIDED : ACCESSES;
}

static int is_reading(enum access access)
{
	return access != ACCESS_WRITE && access != ACCESS_WRITE_STRIDED;
}

/* LeakSanitizer's, if it is there. */
__attribute__((weak)) void __lsan_disable(void);
__attribute__((weak)) void __lsan_enable(void);

static int access_bytes(enum access access, struct bi_view *view, unsigned char bytes[ARRAY_BYTES])
{
	struct bi_view *half;
	int rc;

	if (access == ACCESS_GET)
		return bi_view_get_element(view, &(int64_t){ 0 }, bytes, &error);
	if (access == ACCESS_READ)
		return bi_view_read(view, bytes, ARRAY_BYTES, &error);
	if (access == ACCESS_WRITE)
		return bi_view_write(view, bytes, ARRAY_BYTES, &error);
	half = slice(view, 0, ARRAY_BYTES / 2, 2);
	rc = access == ACCESS_READ_STRIDED ? bi_view_read(half, bytes, ARRAY_BYTES / 2, &error)
					   : bi_view_write(half, bytes, ARRAY_BYTES / 2, &error);
	bi_view_release(half);
	return rc;
}

/* The library keeps staging memory for ever if the driver refuses each call that would tell its end (19.2). */
static int access_refused(enum access access, struct bi_view *view, unsigned char bytes[ARRAY_BYTES])
{
	int rc;

	if (__lsan_disable)
		__lsan_disable();
	rc = access_bytes(access, view, bytes);
	if (__lsan_enable)
		__lsan_enable();
	return rc;
}

/* Byte 0 of the array, without the library. */
static unsigned char first_byte(struct bi_view *view)
{
	unsigned char bytes[ARRAY_BYTES];

	peek(view, bytes);
	return bytes[0];
}

/* Returns 1 if the access fails when the nth call of the driver fails and all after it. */
static int access_without_gate(struct bi_context *context, enum access access, unsigned nth)
{
	static unsigned char bytes[ARRAY_BYTES];
	struct bi_view *view = wrap_in(context, PLACE_DEVICE, 7,
				       (struct producer){ .stream = new_producer_in(context, BI_STREAM_IN_ORDER) });
	struct wait_count before = count_waits(context);
	uint64_t failed = failures();
	int rc;

	arm_from(nth);
	rc = access_refused(access, view, bytes);
	arm_from(0);
	failed = failures() - failed;
	/* The driver has spoiled something for good if an access fails in which no call did. */
	assert_true(rc == BI_OK || failed);
	expect_waits_since(context, before);
	finish_all();
	bi_view_release(view);
	clear_case();
	return rc != BI_OK;
}

/*
 * The work waits behind a gate, and the nth call of the driver fails, and all after it. When the function has returned,
 * no work may use the bytes unless the status says so. Returns 1 if the status says so.
 */
static int access_behind_gate(struct bi_context *context, enum access access, unsigned nth)
{
	static unsigned char bytes[ARRAY_BYTES], after[ARRAY_BYTES];
	struct bi_stream *home = new_producer_in(context, BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap_in(context, PLACE_DEVICE, 7, (struct producer){ .stream = home });
	struct wait_count before;
	struct gate *gate;
	int rc;

	finish_all();
	memset(bytes, 9, sizeof(bytes));
	gate = close_gate(home);
	before = count_waits(context);
	arm_from(nth);
	/* Only for an access that makes fewer calls than the one before, so that none fails. */
	open_gate_soon(gate);
	rc = access_refused(access, view, bytes);
	arm_from(0);
	assert_true(rc == BI_OK || error.status == rc);
	expect_waits_since(context, before);
	if (rc != BI_EUNFINISHED && !is_reading(access))
		memset(bytes, 5, sizeof(bytes));
	memcpy(after, bytes, sizeof(bytes));
	open_and_finish(gate);
	settle();
	if (rc != BI_EUNFINISHED)
		assert_memory_equal(bytes, after, sizeof(bytes));
	if (rc != BI_EUNFINISHED && !is_reading(access))
		assert_int_not_equal(first_byte(view), 5);
	bi_view_release(view);
	clear_case();
	return rc == BI_EUNFINISHED;
}

static void row_19_the_bytes_of_the_caller_are_free_or_the_status_says_so(void **state)
{
	(void)state;
	for (int access = 0; access < count_accesses(); access++) {
		/* Staging memory on which the driver failed is not used again, so each access has its own context. */
		struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
		unsigned unfinished = 0;

		for (unsigned nth = 1; access_without_gate(context, (enum access)access, nth); nth++)
			unfinished += (unsigned)access_behind_gate(context, (enum access)access, nth);
		assert_true(unfinished > 0);
	}
}

/* The wait for the bytes can be made up for. */
static void make_up_for_unfinished_read(unsigned flags, const char *words)
{
	static unsigned char bytes[ARRAY_BYTES];
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	const int is_ordered = !(flags & BI_WRAP_UNORDERED);
	struct bi_stream *home;
	struct bi_view *view;
	struct wait_count before;
	unsigned last = 1;
	struct gate *gate;

	while (access_without_gate(context, ACCESS_READ, last + 1))
		last++;
	home = is_ordered ? new_producer_in(context, BI_STREAM_IN_ORDER) : home_of(context);
	view = wrap_in(context, PLACE_DEVICE, 7,
		       (struct producer){ .stream = is_ordered ? home : NULL, .flags = flags });
	finish_all();
	memset(bytes, 9, sizeof(bytes));
	gate = close_gate(home);
	before = count_waits(context);
	arm_from(last);
	REFUSED_FOR(BI_EUNFINISHED, words, bi_view_read(view, bytes, sizeof(bytes), &error));
	arm_from(0);
	expect_waits_since(context, before);
	assert_int_equal(!bi_view_is_idle(view), is_ordered);
	assert_int_equal(bytes[0], 9);
	open_gate_soon(gate);
	OK(is_ordered ? bi_view_synchronize(view, &error) : bi_stream_synchronize(home, &error));
	expect_waits("synchronize", 1);
	assert_true(is_open(gate));
	assert_int_equal(bytes[0], 7);
	assert_int_equal(bytes[sizeof(bytes) - 1], 7);
	finish_all();
	bi_view_release(view);
	clear_case();
}

static void row_19_unfinished_work_is_waited_for_later(void **state)
{
	(void)state;
	make_up_for_unfinished_read(0, "until bi_view_synchronize returns BI_OK");
}

static void row_19_unfinished_work_of_row_26_is_waited_for_later(void **state)
{
	(void)state;
	make_up_for_unfinished_read(BI_WRAP_UNORDERED,
				    "until bi_stream_synchronize of the context stream returns BI_OK");
}

int failures_rows(void)
{
	static const struct row rows[] = {
		ROW(row_18_failed_event_of_the_first_use, NEED_OPENCL),
		ROW(row_18_failed_event_with_a_named_stream, NEED_OPENCL),
		ROW(row_18_nothing_is_enqueued_for_the_other_memory, NEED_OPENCL),
		ROW(row_18_failed_event_and_streams, NEED_OPENCL),
		ROW(row_18_failed_event_of_host_memory, NEED_OPENCL),
		ROW(row_18_host_memory_whose_producer_fails, NEED_GATE | NEED_OPENCL | NEED_TOLD),
		ROW(row_18_synchronising_waits_for_the_work_before, NEED_GATE | NEED_OPENCL | NEED_TOLD),
		ROW(row_18_synchronising_an_event_waits_for_the_work_before, NEED_GATE | NEED_OPENCL | NEED_TOLD),
		ROW(row_18_released_memory_waits_for_the_work_before, NEED_GATE | NEED_OPENCL | NEED_TOLD),
		ROW(row_18_failed_work_on_a_named_stream, NEED_GATE | NEED_OPENCL),
		ROW(row_18_event_of_a_context_that_has_failed, NEED_SIM),
		ROW(row_19_every_call_fails_once, NEED_COUNTS),
		ROW(row_19_producers_go_on_whatever_fails, NEED_GATE | NEED_SIM),
		ROW(row_19_what_is_enqueued_stays_ordered, NEED_GATE | NEED_OPENCL),
		ROW(row_19_the_other_memory_stays_ordered, NEED_GATE | NEED_OPENCL),
		ROW(row_19_the_end_is_made_up_for_by_the_next_use, NEED_GATE | NEED_COUNTS),
		ROW(row_19_the_end_is_made_up_for_by_a_description, NEED_GATE | NEED_OPENCL | NEED_COUNTS),
		ROW(row_19_the_end_is_made_up_for_before_the_pool, NEED_GATE | NEED_COUNTS),
		ROW(row_19_the_end_is_made_up_for_by_the_next_hand_back, NEED_GATE | NEED_COUNTS),
		ROW(row_19_a_refused_hand_back_leaves_nothing_running, NEED_GATE | NEED_COUNTS),
		ROW(row_19_the_bytes_of_the_caller_are_free_or_the_status_says_so, NEED_GATE | NEED_COUNTS),
		ROW(row_19_unfinished_work_is_waited_for_later, NEED_GATE | NEED_COUNTS),
		ROW(row_19_unfinished_work_of_row_26_is_waited_for_later, NEED_GATE | NEED_COUNTS),
	};

	return run_rows("failures", rows, ARRAY_LENGTH(rows));
}
