/* Rows 13 to 16: when memory is let go. */
#include "uses.h"

static const struct producer nobody;

/* ----------------------------------------------------------------------------------------------------------- row 13 */

static void row_13_idle_memory_goes_at_once(void **state)
{
	atomic_int released = 0;

	(void)state;
	bi_view_release(wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released }));
	assert_int_equal(released, 1);
	bi_view_release(wrap(PLACE_HOST, 1, (struct producer){ .released = &released }));
	assert_int_equal(released, 2);
}

/* The last of several references counts, and work of the host is done when its call returns. */
static void row_13_the_last_reference_counts(void **state)
{
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_HOST, 1, (struct producer){ .released = &released });
	struct bi_view *part = slice(view, 1, 10, 2);

	(void)state;
	fill(part, 2, NULL);
	bi_view_release(view);
	assert_int_equal(released, 0);
	bi_view_release(part);
	assert_int_equal(released, 1);
}

/* ----------------------------------------------------------------------------------------------------------- row 14 */

/* The producer writes again on his stream as soon as he is told, and the copy still sees what was there. */
static void let_producer_go_on(unsigned home, struct bi_stream *stream)
{
	atomic_int released = 0;
	struct bi_stream *producer = new_producer(home);
	struct bi_view *made = wrap(PLACE_DEVICE, 7, nobody), *to = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_view *from = wrap_again(made, (struct producer){ .stream = producer, .released = &released });
	struct gate *gate = close_gate(stream ? stream : home_of(fixture.context));

	raw_write(producer, made, 7);
	copy(to, from, stream);
	bi_view_release(from);
	assert_int_equal(released, 1);
	raw_write(producer, made, 8);
	settle();
	assert_int_equal(value_of(to), 1);
	assert_int_equal(value_of(made), 7);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	assert_int_equal(value_of(made), 8);
	bi_view_release(made);
	bi_view_release(to);
	clear_case();
}

static void row_14_named_stream_goes_at_once(void **state)
{
	(void)state;
	for (unsigned home = 0; home < stream_kinds(); home++) {
		let_producer_go_on(home, NULL);
		for (unsigned kind = 0; kind < stream_kinds(); kind++)
			let_producer_go_on(home, new_stream(kind));
	}
}

static void row_14_named_stream_goes_at_once_without_a_gate(void **state)
{
	atomic_int released = 0;
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer, .released = &released });

	(void)state;
	fill(view, 2, NULL);
	bi_view_release(view);
	assert_int_equal(released, 1);
	assert_int_equal(reported(fixture.context, "retired"), 0);
}

/* ----------------------------------------------------------------------------------------------------------- row 15 */

/* Calls that let go of what is done. */
enum reaper {
	REAPER_TRIM,
	REAPER_CREATE,
	REAPER_FILL,
	REAPERS_WITHOUT_ORDER, /* the others add waits, which hide waits that a test looks at */
	REAPER_USE = REAPERS_WITHOUT_ORDER,
	REAPER_WRAP,
	REAPER_COUNT
};

static void reap(enum reaper reaper, struct bi_context *context, struct bi_view *bystander)
{
	const struct bi_use use = { bystander, BI_ACCESS_READ };
	struct bi_memory *memory;

	switch (reaper) {
	case REAPER_TRIM:
		OK(bi_context_trim(context, BI_POOL_NONE, &error));
		break;
	case REAPER_CREATE:
		OK(bi_memory_create(context, 16, BI_MEMORY_HOST, &memory, &error));
		bi_memory_release(memory);
		break;
	case REAPER_WRAP:
		bi_view_release(wrap_in(context, PLACE_DEVICE, 0, nobody));
		break;
	case REAPER_USE:
		OK(bi_use_begin(home_of(context), &use, 1, &error));
		OK(bi_use_end(home_of(context), &use, 1, &error));
		break;
	default:
		fill(bystander, 1, home_of(context));
		break;
	}
}

/* Nothing is let go while the work is behind the gate, whatever is called; then it is, once. */
static void see_retired(struct bi_context *context, atomic_int *released, int count, enum reaper reaper,
			struct gate *gate)
{
	struct bi_view *bystander = wrap(PLACE_DEVICE, 0, nobody);

	for (int i = 0; i < REAPERS_WITHOUT_ORDER; i++)
		reap((enum reaper)i, context, bystander);
	settle();
	assert_int_equal(*released, 0);
	assert_int_equal(reported(context, "retired"), count);
	open_and_finish(gate);
	assert_int_equal(*released, 0);
	reap(reaper, context, bystander);
	assert_int_equal(*released, count);
	assert_int_equal(reported(context, "retired"), 0);
	bi_view_release(bystander);
}

static void row_15_wrapped_memory_is_retired(void **state)
{
	(void)state;
	for (int reaper = 0; reaper < REAPER_COUNT; reaper++) {
		atomic_int released = 0;
		struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released });
		struct gate *gate = close_gate(home_of(fixture.context));

		fill(view, 2, NULL);
		bi_view_release(view);
		see_retired(fixture.context, &released, 1, (enum reaper)reaper, gate);
		clear_case();
	}
}

/* Bytes of the host that a device still reads, and others that it still writes, on a stream of its own. */
static void row_15_host_memory_is_retired(void **state)
{
	(void)state;
	for (int reaper = 0; reaper < REAPERS_WITHOUT_ORDER; reaper++) {
		atomic_int released = 0;
		struct bi_view *from = wrap(PLACE_HOST, 7, (struct producer){ .released = &released });
		struct bi_view *to = wrap(PLACE_HOST, 1, (struct producer){ .released = &released });
		struct bi_view *view = wrap(PLACE_DEVICE, 2, nobody);
		struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
		struct gate *gate = close_gate(stream);

		copy(view, from, stream);
		copy(to, view, stream);
		bi_view_release(from);
		bi_view_release(to);
		see_retired(setting.other, &released, 2, (enum reaper)reaper, gate);
		bi_view_release(view);
		clear_case();
	}
}

/* Large memory of a host context goes to its pool, but not while a device writes to it. */
static void row_15_pooled_host_memory_is_retired(void **state)
{
	struct bi_context *host = open_context("host", (struct bi_options)BI_OPTIONS_INIT);
	struct bi_view *view = wrap(PLACE_DEVICE, 2, nobody);
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(stream);
	struct bi_memory *memory;
	struct bi_view *to;

	(void)state;
	OK(bi_memory_create(host, (size_t)2 << 20, BI_MEMORY_DEFAULT, &memory, &error));
	to = view_bytes(memory);
	copy(to, view, stream);
	bi_view_release(to);
	assert_int_equal(reported(host, "bytes"), 0);
	assert_int_equal(reported(setting.other, "retired"), 1);
	open_and_finish(gate);
	trim_all();
	assert_int_equal(reported(setting.other, "retired"), 0);
	assert_int_equal(reported(setting.other, "bytes"), 0);
	assert_int_equal(reported(host, "bytes"), 0);
	bi_view_release(view);
}

/* A reference that is handed back on a stream, not used by the library. */
static void row_15_handed_back_memory_is_retired(void **state)
{
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released });
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(stream);

	(void)state;
	hand_back(view, stream);
	bi_view_release(view);
	see_retired(fixture.context, &released, 1, REAPER_TRIM, gate);
	clear_case();
}

static void wait_for_buffers(int64_t count)
{
	for (int i = 0; i < 200 && live_memory() != count; i++)
		settle();
	assert_int_equal(live_memory(), count);
}

static void row_15_own_memory_goes_to_the_pool_at_once(void **state)
{
	struct bi_view *view = allocate();
	struct gate *gate = close_gate(home_of(fixture.context));
	int64_t buffers = live_memory();

	(void)state;
	fill(view, 2, NULL);
	bi_view_release(view);
	assert_int_equal(reported(fixture.context, "retired"), 0);
	assert_int_equal(reported(fixture.context, "bytes"), ARRAY_BYTES);
	view = allocate();
	assert_int_equal(live_memory(), buffers);
	assert_int_equal(reported(fixture.context, "hits"), 1);
	open_and_finish(gate);
	bi_view_release(view);
}

/* Somebody who was shown the handle may hold it. Where memory is freed in the order of its home that is no matter. */
static void row_15_shown_memory_is_retired(void **state)
{
	struct bi_view *view = allocate();
	struct gate *gate = close_gate(home_of(fixture.context));
	int64_t buffers = live_memory();
	int is_retired = !allocates_in_order();

	(void)state;
	assert_true(handle_of(view) != 0);
	fill(view, 2, NULL);
	bi_view_release(view);
	assert_int_equal(reported(fixture.context, "retired"), is_retired);
	assert_int_equal(reported(fixture.context, "bytes"), 0);
	if (is_retired)
		assert_int_equal(live_memory(), buffers);
	open_and_finish(gate);
	trim_all();
	assert_int_equal(reported(fixture.context, "retired"), 0);
	wait_for_buffers(is_counted() ? buffers - 1 : buffers);
}

/* An exported array of the context with work that is pending: it is retired when it is released. */
static struct bi_view *new_pending(struct bi_context *context, int64_t nbytes)
{
	/* CUDA may free device memory in the order of the stream: then it is never retired. */
	enum bi_memory_kind kind = setting.needs & NEED_CUDA ? BI_MEMORY_PINNED : BI_MEMORY_DEVICE;
	struct bi_memory *memory;
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view;

	OK(bi_dtype_parse("uint8", &dtype, &error));
	OK(bi_layout_init(&layout, dtype, 1, &nbytes, NULL, 0, &error));
	memory = create_memory(context, nbytes, kind);
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	OK(bi_fill(view, "\1", NULL, &error));
	handle_of(view);
	bi_memory_release(memory);
	return view;
}

static void retire_bytes(struct bi_context *context, int64_t nbytes)
{
	bi_view_release(new_pending(context, nbytes));
}

static void allocate_bytes(struct bi_context *context, size_t nbytes)
{
	struct bi_memory *memory;

	OK(bi_memory_create(context, nbytes, BI_MEMORY_HOST, &memory, &error));
	bi_memory_release(memory);
}

/*
 * The limit is 64 MiB in a context without a pool. Above it the next allocation or use waits for the oldest array, and
 * not for the other, which is less than half of the limit. The other is left out where the driver waits for it to free
 * memory (row 28).
 */
static void exceed_the_limit(enum reaper reaper)
{
	unsigned others = setting.needs & NEED_OPENCL ? 1 : 0;
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_view *large, *other, *bystander;
	struct bi_context *context;
	struct gate *gate;

	options.pool_limit = BI_POOL_NONE;
	context = open_context(fixture.spec, options);
	bystander = wrap_in(context, PLACE_DEVICE, 0, nobody);
	gate = close_gate(home_of(context));
	retire_bytes(context, (int64_t)64 << 20);
	allocate_bytes(context, 16);
	assert_int_equal(reported(context, "retired"), 1);
	open_and_finish(gate);
	OK(bi_context_trim(context, 0, &error));
	gate = close_gate(home_of(context));
	large = new_pending(context, ((int64_t)64 << 20) + 1);
	other = others ? new_pending(context, (int64_t)30 << 20) : NULL;
	bi_view_release(large);
	bi_view_release(other);
	allocate_bytes(context, 0);
	assert_true(!is_open(gate));
	open_gate_soon(gate);
	reap(reaper, context, bystander);
	assert_true(is_open(gate));
	assert_int_equal(reported(context, "retired"), others);
	expect_waits("pressure", 1);
	bi_view_release(bystander);
	finish_all();
	OK(bi_context_trim(context, 0, &error));
	close_context(context, 0);
}

static void row_15_retired_memory_has_a_limit(void **state)
{
	(void)state;
	exceed_the_limit(REAPER_CREATE);
	exceed_the_limit(REAPER_FILL);
	exceed_the_limit(REAPER_USE);
}

/* Few bytes in many arrays count with 4 KiB each. What is complete is freed without a wait. */
static void row_15_small_arrays_count_with_a_page(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct gate *gate;

	(void)state;
	options.pool_limit = BI_POOL_NONE;
	context = open_context(fixture.spec, options);
	gate = close_gate(home_of(context));
	retire_bytes(context, (int64_t)40 << 20);
	retire_bytes(context, ((int64_t)24 << 20) - 4096);
	retire_bytes(context, 1);
	retire_bytes(context, 1);
	open_and_finish(gate);
	allocate_bytes(context, 16);
	assert_int_equal(reported(context, "retired"), 0);
	close_context(context, 0);
}

/* Without a gate: nothing may wait, and nothing is left in the end. */
static void row_15_released_memory_goes_in_the_end(void **state)
{
	atomic_int released = 0;
	struct bi_view *from = wrap(PLACE_HOST, 7, (struct producer){ .released = &released });
	struct bi_view *to = wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released });

	(void)state;
	copy(to, from, NULL);
	bi_view_release(from);
	bi_view_release(to);
	finish_all();
	trim_all();
	assert_int_equal(released, 2);
}

/* ----------------------------------------------------------------------------------------------------------- row 16 */

static void row_16_close_waits_for_what_is_retired(void **state)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	atomic_int released = 0;
	struct bi_view *from = wrap_in(context, PLACE_HOST, 7, (struct producer){ .released = &released });
	struct bi_view *to = wrap_in(context, PLACE_DEVICE, 1, (struct producer){ .released = &released });
	struct gate *gate = close_gate(home_of(context));

	(void)state;
	copy(to, from, NULL);
	bi_view_release(from);
	bi_view_release(to);
	assert_int_equal(reported(context, "retired"), 2);
	assert_int_equal(released, 0);
	open_gate_soon(gate);
	close_context(context, 2);
	assert_true(is_open(gate));
	assert_int_equal(released, 2);
}

/* Events that no use ever waited for do not keep open the context that keeps what is retired. */
static void row_16_unused_events_do_not_keep_it_open(void **state)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	struct bi_stream *stream = home_of(context);
	atomic_int released = 0;
	struct gate *gate = close_gate(stream);
	struct bi_event *event;
	struct bi_view *view;

	(void)state;
	OK(bi_event_record(stream, &event, &error));
	view = wrap_in(context, PLACE_HOST, 1,
		       (struct producer){ .stream = stream, .event = event, .released = &released });
	bi_event_release(event);
	bi_view_release(view);
	assert_int_equal(released, 0);
	open_gate_soon(gate);
	close_context(context, 1);
	assert_int_equal(released, 1);
}

static void row_16_close_without_retired_memory_does_not_wait(void **state)
{
	struct bi_context *context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	atomic_int released = 0;
	struct bi_view *view = wrap_in(context, PLACE_DEVICE, 1, (struct producer){ .released = &released });

	(void)state;
	fill(view, 2, NULL);
	finish_all();
	bi_view_release(view);
	finish_all();
	OK(bi_context_trim(context, 0, &error));
	close_context(context, 0);
	assert_int_equal(released, 1);
}

int release_rows(void)
{
	static const struct row rows[] = {
		ROW(row_13_idle_memory_goes_at_once, 0),
		ROW(row_13_the_last_reference_counts, 0),
		ROW(row_14_named_stream_goes_at_once, NEED_GATE),
		ROW(row_14_named_stream_goes_at_once_without_a_gate, NEED_DEVICE),
		ROW(row_15_wrapped_memory_is_retired, NEED_GATE),
		ROW(row_15_host_memory_is_retired, NEED_GATE),
		ROW(row_15_handed_back_memory_is_retired, NEED_GATE),
		ROW(row_15_pooled_host_memory_is_retired, NEED_OPENCL | NEED_GATE),
		ROW(row_15_own_memory_goes_to_the_pool_at_once, NEED_GATE),
		ROW(row_15_shown_memory_is_retired, NEED_GATE),
		ROW(row_15_retired_memory_has_a_limit, NEED_GATE),
		ROW(row_15_small_arrays_count_with_a_page, NEED_GATE),
		ROW(row_15_released_memory_goes_in_the_end, 0),
		ROW(row_16_close_waits_for_what_is_retired, NEED_GATE),
		ROW(row_16_unused_events_do_not_keep_it_open, NEED_GATE),
		ROW(row_16_close_without_retired_memory_does_not_wait, 0),
	};

	return run_rows("release", rows, ARRAY_LENGTH(rows));
}
