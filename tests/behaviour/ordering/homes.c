/* Rows 1 to 5: where a memory is at home. */
#include "opencl_driver.h"
#include "uses.h"

static const struct producer nobody;

/* ------------------------------------------------------------------------------------------------------------ row 1 */

/* Unless its allocation is itself work on the home. */
static void row_01_fresh_memory_is_idle(void **state)
{
	struct bi_view *view = allocate();
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	int is_pending = allocates_in_order();
	uint64_t before = ordered();

	(void)state;
	acquire(view, stream);
	MORE(ordered(), before, is_pending ? 2 : 0);
	assert_exported_stream(view, is_pending ? home_of(fixture.context) : NULL);
	bi_view_release(view);
}

static void row_01_home_is_the_context_stream(void **state)
{
	struct bi_view *view = allocate();

	(void)state;
	handle_of(view);
	fill(view, 1, NULL);
	assert_exported_stream(view, home_of(fixture.context));
	finish_all();
	assert_int_equal(value_of(view), 1);
	bi_view_release(view);
}

/* The last owner's copy still reads when the next owner writes. */
static void reuse(struct bi_stream *stream)
{
	struct bi_view *result = wrap(PLACE_DEVICE, 0, nobody), *first = allocate(), *second;
	struct gate *gate;
	unsigned long hits = reported(fixture.context, "hits");

	fill(first, 1, NULL);
	finish_all();
	gate = close_gate(home_of(fixture.context));
	copy(result, first, NULL);
	bi_view_release(first);
	second = allocate();
	assert_int_equal(reported(fixture.context, "hits"), hits + 1);
	fill(second, 2, stream);
	settle();
	open_and_finish(gate);
	assert_int_equal(value_of(result), 1);
	assert_int_equal(value_of(second), 2);
	bi_view_release(result);
	bi_view_release(second);
}

static void row_01_pooled_memory_is_ordered_after_its_last_owner(void **state)
{
	(void)state;
	reuse(NULL);
	for (unsigned kind = 0; kind < stream_kinds(); kind++)
		reuse(new_stream(kind));
}

/* ------------------------------------------------------------------------------------------------------------ row 2 */

static void row_02_without_a_stream_home_is_the_context_stream(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before = ordered();

	(void)state;
	acquire(view, stream);
	MORE(ordered(), before, 0);
	assert_exported_stream(view, NULL);
	fill(view, 2, NULL);
	assert_exported_stream(view, home_of(fixture.context));
	finish_all();
	assert_int_equal(value_of(view), 2);
	bi_view_release(view);
}

/* Work on the home, and nowhere else, is behind the gate. */
static void row_02_work_runs_on_the_context_stream(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	fill(view, 2, NULL);
	settle();
	assert_int_equal(value_of(view), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 2);
	bi_view_release(view);
}

/* ------------------------------------------------------------------------------------------------------------ row 3 */

static void row_03_named_stream_is_home(void **state)
{
	struct bi_stream *home = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = home });
	uint64_t before = ordered();

	(void)state;
	assert_exported_stream(view, home);
	acquire(view, stream);
	MORE(ordered(), before, 2);
	fill(view, 2, NULL);
	assert_exported_stream(view, home);
	finish_all();
	assert_int_equal(value_of(view), 2);
	bi_view_release(view);
}

static cl_uint references(const struct bi_stream *stream)
{
	cl_uint count = 0;

	assert_int_equal(driver()->clGetCommandQueueInfo((cl_command_queue)bi_stream_handle(stream),
							 CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL),
			 0);
	return count;
}

/* The producer is told when nobody needs his stream any more, and not before. */
static void row_03_named_stream_lives_as_long_as_the_memory(void **state)
{
	struct bi_stream *keeper = new_producer(BI_STREAM_IN_ORDER), *named;
	atomic_int released = 0;
	struct bi_view *view;

	(void)state;
	OK(bi_stream_wrap(setting.other, bi_stream_handle(keeper), count_release, &released, &named, &error));
	view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = named });
	bi_stream_release(named);
	assert_int_equal(released, 0);
	fill(view, 2, NULL);
	finish_all();
	assert_int_equal(value_of(view), 2);
	assert_int_equal(released, 0);
	bi_view_release(view);
	assert_int_equal(released, 1);
}

/* The wrapper is gone, the queue is there. */
static void row_03_named_queue_is_retained(void **state)
{
	struct bi_stream *keeper = new_producer(BI_STREAM_IN_ORDER), *named;
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view;
	cl_uint count = references(keeper);

	(void)state;
	OK(bi_stream_wrap(setting.other, bi_stream_handle(keeper), NULL, NULL, &named, &error));
	view = wrap_again(made, (struct producer){ .stream = named });
	bi_stream_release(named);
	assert_int_equal(references(keeper), count + 1);
	fill(view, 2, NULL);
	finish_all();
	assert_int_equal(value_of(view), 2);
	bi_view_release(view);
	assert_int_equal(references(keeper), count);
	bi_view_release(made);
}

/* On the home: after what the producer has pending there. */
static void row_03_work_runs_on_the_named_stream(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++) {
		struct gate *gate;
		struct bi_view *view = wrap_gated(PLACE_DEVICE, 1, new_producer(kind), &gate);

		fill(view, 2, NULL);
		settle();
		assert_int_equal(value_of(view), 0);
		open_and_finish(gate);
		assert_int_equal(value_of(view), 2);
		bi_view_release(view);
	}
}

static void see_producer(unsigned kind, struct bi_stream *stream)
{
	struct gate *gate;
	struct bi_view *from = wrap_gated(PLACE_DEVICE, 7, new_producer(kind), &gate);
	struct bi_view *to = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_stream *worker = stream ? stream : home_of(fixture.context);

	assert_unordered(worker, from);
	copy(to, from, stream);
	assert_ordered(worker, from);
	settle();
	assert_int_equal(value_of(to), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(to);
}

static void row_03_other_streams_wait_for_the_named_one(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++) {
		see_producer(kind, NULL);
		see_producer(kind, new_stream(BI_STREAM_IN_ORDER));
	}
}

/* ------------------------------------------------------------------------------------------------------------ row 4 */

static void use_first(enum use use, struct bi_stream *stream)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view, *other = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate;
	struct bi_event *event = gated_event(setting.other, producer, made, 7, &gate);

	view = wrap_again(made, (struct producer){ .event = event });
	bi_event_release(event);
	apply(use, view, other, stream);
	settle();
	assert_int_equal(value_of(made), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(view), applied_to_view(use, 7, 2));
	assert_int_equal(value_of(other), applied_to_other(use, 7, 2));
	bi_view_release(view);
	bi_view_release(made);
	bi_view_release(other);
	clear_case();
}

static void row_04_first_use_waits_for_the_events(void **state)
{
	(void)state;
	for (int use = 0; use < USE_COUNT; use++) {
		use_first((enum use)use, NULL);
		for (unsigned kind = 0; kind < stream_kinds(); kind++)
			use_first((enum use)use, new_stream(kind));
	}
}

/* What uses it later waits for the first use, on any stream. */
static void row_04_later_uses_wait_too(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *view;
	struct gate *gate;
	struct bi_event *event = gated_event(setting.other, producer, made, 7, &gate);

	(void)state;
	view = wrap_again(made, (struct producer){ .event = event });
	bi_event_release(event);
	copy(to, view, NULL);
	copy(to, view, stream);
	settle();
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(made);
	bi_view_release(to);
}

/* The end of a use that had no beginning is the first use of both arrays. */
static void row_04_an_end_alone_waits_for_the_events_of_each_array(void **state)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *made[2], *views[2], *to[2];
	struct bi_use uses[2];
	struct gate *gates[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct bi_event *event;

		made[i] = wrap(PLACE_DEVICE, 1, nobody);
		to[i] = wrap(PLACE_DEVICE, 2, nobody);
		event = gated_event(setting.other, new_producer(BI_STREAM_IN_ORDER), made[i], 7, &gates[i]);
		views[i] = wrap_again(made[i], (struct producer){ .event = event });
		uses[i] = (struct bi_use){ views[i], BI_ACCESS_READ };
		bi_event_release(event);
	}
	OK(bi_use_end(stream, uses, 2, &error));
	for (int i = 0; i < 2; i++)
		copy(to[i], views[i], NULL);
	settle();
	for (int i = 0; i < 2; i++)
		assert_int_equal(value_of(to[i]), 2);
	for (int i = 0; i < 2; i++)
		open_gate(gates[i]);
	finish_all();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(value_of(to[i]), 7);
		bi_view_release(views[i]);
		bi_view_release(made[i]);
		bi_view_release(to[i]);
	}
}

static void row_04_events_are_let_go_with_the_first_use(void **state)
{
	struct bi_event *event = complete_event(fixture.context);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .event = event });
	uint64_t before;

	(void)state;
	bi_event_release(event);
	fill(view, 2, NULL);
	before = queries();
	fill(view, 3, NULL);
	MORE(queries(), before, 0);
	finish_all();
	assert_int_equal(value_of(view), 3);
	bi_view_release(view);
}

/* ------------------------------------------------------------------------------------------------------------ row 5 */

static void row_05_host_memory_is_idle(void **state)
{
	struct bi_view *view = wrap(PLACE_HOST, 1, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before = all_calls();

	(void)state;
	acquire(view, stream);
	assert_exported_stream(view, NULL);
	fill(view, 2, NULL);
	assert_int_equal(value_of(view), 2);
	MORE(all_calls(), before, 0);
	bi_view_release(view);
}

static void upload_gated(unsigned kind, struct bi_stream *stream)
{
	struct gate *gate;
	struct bi_view *from = wrap_gated(PLACE_HOST, 7, new_producer(kind), &gate);
	struct bi_view *to = wrap(PLACE_DEVICE, 1, nobody);

	copy(to, from, stream);
	settle();
	assert_int_equal(value_of(to), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(to);
	bi_view_release(from);
	clear_case();
}

static void row_05_tail_is_behind_the_stream(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++) {
		upload_gated(kind, NULL);
		upload_gated(kind, new_stream(kind));
	}
}

static void row_05_tail_is_behind_the_events(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_HOST, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *from;
	struct gate *gate;
	struct bi_event *event = gated_event(setting.other, producer, made, 7, &gate);

	(void)state;
	from = wrap_again(made, (struct producer){ .event = event });
	bi_event_release(event);
	copy(to, from, stream);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(made);
	bi_view_release(to);
}

int homes_rows(void)
{
	static const struct row rows[] = {
		ROW(row_01_fresh_memory_is_idle, 0),
		ROW(row_01_home_is_the_context_stream, 0),
		ROW(row_01_pooled_memory_is_ordered_after_its_last_owner, NEED_GATE),
		ROW(row_02_without_a_stream_home_is_the_context_stream, 0),
		ROW(row_02_work_runs_on_the_context_stream, NEED_GATE),
		ROW(row_03_named_stream_is_home, NEED_DEVICE),
		ROW(row_03_named_stream_lives_as_long_as_the_memory, NEED_DEVICE),
		ROW(row_03_named_queue_is_retained, NEED_OPENCL),
		ROW(row_03_work_runs_on_the_named_stream, NEED_GATE),
		ROW(row_03_other_streams_wait_for_the_named_one, NEED_GATE),
		ROW(row_04_first_use_waits_for_the_events, NEED_GATE),
		ROW(row_04_an_end_alone_waits_for_the_events_of_each_array, NEED_GATE),
		ROW(row_04_later_uses_wait_too, NEED_GATE),
		ROW(row_04_events_are_let_go_with_the_first_use, NEED_DEVICE),
		ROW(row_05_host_memory_is_idle, 0),
		ROW(row_05_tail_is_behind_the_stream, NEED_GATE),
		ROW(row_05_tail_is_behind_the_events, NEED_GATE),
	};

	return run_rows("homes", rows, ARRAY_LENGTH(rows));
}
