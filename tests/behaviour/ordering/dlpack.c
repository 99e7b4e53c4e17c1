/* Rows 32 to 35: DLPack, and memory that gets another home. */
#include <stdlib.h>

#include "buffer_interface/dlpack.h"
#include "buffer_interface/binding.h"
#include "uses.h"
#include "support/use.h"

static const struct producer nobody;

/* ---------------------------------------------------------------------------------------------------------- tensors */

/* What a producer hands over: an array of the test's as a tensor that this library did not make. */
struct tensor {
	struct bi_dl_managed_versioned dl;
	int64_t shape, stride;
	struct bi_view *made; /* kept */
	atomic_int *released;
};

static void delete_tensor(struct bi_dl_managed_versioned *self)
{
	struct tensor *tensor = self->manager_ctx;

	if (tensor->released)
		atomic_fetch_add(tensor->released, 1);
	bi_view_release(tensor->made);
	free(tensor);
}

static struct bi_dl_managed_versioned *tensor_of(struct bi_view *made, atomic_int *released)
{
	struct tensor *tensor = calloc(1, sizeof(*tensor));

	assert_non_null(tensor);
	OK(bi_dlpack_describe(made, &tensor->dl.tensor, &error));
	tensor->shape = *tensor->dl.tensor.shape;
	tensor->stride = *tensor->dl.tensor.strides;
	tensor->dl.tensor.shape = &tensor->shape;
	tensor->dl.tensor.strides = &tensor->stride;
	tensor->dl.version = (struct bi_dl_version){ BI_DLPACK_MAJOR, BI_DLPACK_MINOR };
	tensor->dl.manager_ctx = tensor;
	tensor->dl.deleter = delete_tensor;
	tensor->made = bi_view_retain(made);
	tensor->released = released;
	return &tensor->dl;
}

static struct bi_view *take(struct bi_dl_managed_versioned *tensor, unsigned flags, struct bi_stream *producer_stream)
{
	struct bi_dlpack_import_options options = BI_DLPACK_IMPORT_INIT;
	struct bi_view *view;

	options.flags = flags | BI_DLPACK_TRUSTED;
	options.producer_stream = producer_stream;
	OK(bi_dlpack_import(fixture.context, tensor, &options, &view, &error));
	return view;
}

static struct bi_view *import(struct bi_view *made, atomic_int *released)
{
	return take(tensor_of(made, released), 0, NULL);
}

/* ----------------------------------------------------------------------------------------------------------- row 32 */

static void row_32_an_export_enqueues_nothing(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_dl_managed_versioned *tensor;
	struct bi_dl_tensor described;
	uint64_t before;

	(void)state;
	fill(view, 2, new_stream(BI_STREAM_IN_ORDER));
	before = all_calls();
	OK(bi_dlpack_describe(view, &described, &error));
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	MORE(all_calls(), before, 0);
	tensor->deleter(tensor);
	assert_exported_stream(view, home_of(fixture.context));
	finish_all();
	bi_view_release(view);
}

/* Whoever exports for a stream has it wait first. */
static void row_32_a_consumer_stream_acquires(void **state)
{
	struct bi_stream *consumer = new_producer_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_dl_managed_versioned *tensor;

	(void)state;
	fill(view, 7, NULL);
	acquire(view, consumer);
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	raw_copy(consumer, to, view);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	tensor->deleter(tensor);
	bi_view_release(view);
	bi_view_release(to);
}

/* ----------------------------------------------------------------------------------------------------------- row 33 */

/* An export that must not block names the stream as well. */
static void assert_named_at_once(struct bi_view *view, struct bi_stream *stream)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	OK(bi_view_export_nonblocking(view, 0, &exchange, &error));
	assert_true(exchange.stream == bi_stream_handle(stream));
	exchange.release(&exchange);
}

/* The producer has made the context stream wait for him, as he is told to with his argument `stream`. */
static void see_producer(struct bi_stream *worker)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *view;
	struct gate *gate = close_gate_on_write(producer, made, 7);

	OK(bi_stream_join(home_of(fixture.context), &producer, 1, &error));
	view = import(made, NULL);
	assert_named_at_once(view, home_of(fixture.context));
	assert_exported_stream(view, home_of(fixture.context));
	copy(to, view, worker);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(to);
	bi_view_release(made);
	clear_case();
}

static void row_33_the_context_stream_is_home_and_pending(void **state)
{
	(void)state;
	see_producer(NULL);
	for (unsigned kind = 0; kind < stream_kinds(); kind++)
		see_producer(new_stream(kind));
}

/* He is told only when work on the home has ended, be it the library's or his own. */
static void retire(int is_used)
{
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view;
	struct gate *gate = close_gate(home_of(fixture.context));
	atomic_int released = 0;

	view = import(made, &released);
	if (is_used)
		fill(view, 2, NULL);
	bi_view_release(view);
	trim_all();
	settle();
	assert_int_equal(released, 0);
	assert_int_equal(reported(fixture.context, "retired"), 1);
	open_and_finish(gate);
	trim_all();
	assert_int_equal(released, 1);
	assert_int_equal(value_of(made), is_used ? 2 : 1);
	bi_view_release(made);
	clear_case();
}

static void row_33_it_is_retired(void **state)
{
	(void)state;
	retire(0);
	retire(1);
}

static void row_33_host_memory_is_idle(void **state)
{
	struct bi_view *made = wrap(PLACE_HOST, 1, nobody), *view;
	uint64_t before = all_calls();
	atomic_int released = 0;

	(void)state;
	view = import(made, &released);
	assert_exported_stream(view, NULL);
	MORE(all_calls(), before, 0);
	bi_view_release(view);
	assert_int_equal(released, 1);
	bi_view_release(made);
}

/* ----------------------------------------------------------------------------------------------------------- row 34 */

/* The producer's write is behind a gate; he writes again as soon as he is told. */
static void follow_producer(unsigned kind, struct bi_stream *worker)
{
	struct bi_stream *producer = new_producer(kind);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *view;
	struct gate *gate = close_gate_on_write(producer, made, 7);
	atomic_int released = 0;

	view = take(tensor_of(made, &released), 0, producer);
	assert_exported_stream(view, producer);
	copy(to, view, worker);
	bi_view_release(view);
	assert_int_equal(released, 1);
	raw_write(producer, made, 8);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	assert_int_equal(value_of(made), 8);
	bi_view_release(to);
	bi_view_release(made);
	clear_case();
}

static void row_34_the_stream_that_is_named_is_home(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++) {
		follow_producer(kind, NULL);
		follow_producer(kind, new_stream(BI_STREAM_IN_ORDER));
	}
}

static void row_34_unordered_memory_has_no_order(void **state)
{
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view;
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	uint64_t before = ordered();
	atomic_int released = 0;

	(void)state;
	view = take(tensor_of(made, &released), BI_DLPACK_UNORDERED, NULL);
	OK(begin_use(view, stream, &error));
	OK(end_use(view, stream, &error));
	OK(bi_view_switch_to_context_stream(view, &error));
	assert_exported_stream(view, NULL);
	bi_view_release(view);
	assert_int_equal(released, 1);
	MORE(ordered(), before, 0);
	bi_view_release(made);
}

/* An export that comes back is the same memory, and what somebody did with it on a stream comes before its home. */
static void row_34_own_exports_are_handed_back(void **state)
{
	struct bi_stream *producer = new_producer_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *again;
	struct bi_dl_managed_versioned *tensor;
	struct gate *gate;

	(void)state;
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	gate = close_gate_on_write(producer, view, 7);
	again = take(tensor, 0, producer);
	assert_ptr_equal(bi_view_memory(again), bi_view_memory(view));
	copy(to, view, NULL);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(again);
	bi_view_release(view);
	bi_view_release(to);
}

/* ----------------------------------------------------------------------------------------------------------- row 35 */

static void rehome(struct bi_view *view)
{
	OK(bi_view_switch_to_context_stream(view, &error));
	if (!setting.is_capturing)
		assert_ordered(home_of(fixture.context), view);
}

/* A consumer who is told of the context stream alone. */
static void consume(unsigned kind)
{
	struct gate *gate;
	struct bi_view *view = wrap_gated(PLACE_DEVICE, 7, new_producer(kind), &gate),
		       *to = wrap(PLACE_DEVICE, 2, nobody);

	assert_unordered(home_of(fixture.context), view);
	rehome(view);
	assert_exported_stream(view, home_of(fixture.context));
	raw_copy(home_of(fixture.context), to, view);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(to);
	clear_case();
}

static void row_35_the_context_stream_comes_after_the_old_home(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++)
		consume(kind);
}

static void row_35_the_first_use_is_waited_for(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *home = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *view;
	struct gate *gate;
	struct bi_event *event = gated_event(setting.other, producer, made, 7, &gate);

	(void)state;
	view = wrap_again(made, (struct producer){ .stream = home, .event = event });
	bi_event_release(event);
	rehome(view);
	raw_copy(home_of(fixture.context), to, view);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(made);
	bi_view_release(to);
}

/* The producer is told at once, and what he does next on his stream comes after the work on the new home. */
static void let_producer_go_on(unsigned kind)
{
	const unsigned char five = 5;
	atomic_int released = 0;
	struct bi_stream *producer = new_producer(kind);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_view *view = wrap_again(made, (struct producer){ .stream = producer, .released = &released });
	struct gate *gate;

	rehome(view);
	gate = close_gate(home_of(fixture.context));
	OK(bi_fill(view, &five, NULL, &error));
	assert_unordered(producer, made);
	bi_view_release(view);
	assert_int_equal(released, 1);
	assert_int_equal(reported(fixture.context, "retired"), 0);
	raw_write(producer, made, 9);
	settle();
	assert_int_equal(value_of(made), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(made), 9);
	bi_view_release(made);
	clear_case();
}

static void row_35_the_producers_stream_waits_at_the_end(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < stream_kinds(); kind++)
		let_producer_go_on(kind);
}

static void row_35_his_stream_lives_as_long_as_the_memory(void **state)
{
	struct bi_stream *keeper = new_producer(BI_STREAM_IN_ORDER), *named;
	atomic_int released = 0;
	struct bi_view *view;

	(void)state;
	OK(bi_stream_wrap(setting.other, bi_stream_handle(keeper), count_release, &released, &named, &error));
	view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = named });
	bi_stream_release(named);
	rehome(view);
	assert_int_equal(released, 0);
	bi_view_release(view);
	assert_int_equal(released, 1);
}

/* No stream waits for what is at home there already, and host memory is at home nowhere. */
static void row_35_nothing_to_wait_for(void **state)
{
	struct bi_view *home = wrap(PLACE_DEVICE, 1, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	uint64_t before;

	(void)state;
	fill(home, 2, NULL);
	before = ordered();
	rehome(home);
	OK(bi_view_switch_to_context_stream(host, &error));
	MORE(ordered(), before, 0);
	assert_exported_stream(home, home_of(fixture.context));
	assert_exported_stream(host, NULL);
	finish_all();
	bi_view_release(home);
	bi_view_release(host);
}

/* Idle memory, and a consumer's command of which the library knows nothing: it is over before the producer is told. */
static void row_35_what_a_consumer_does_is_pending(void **state)
{
	atomic_int released = 0;
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released });
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	rehome(view);
	raw_write(home_of(fixture.context), view, 7);
	bi_view_release(view);
	trim_all();
	settle();
	assert_int_equal(released, 0);
	assert_int_equal(reported(fixture.context, "retired"), 1);
	open_and_finish(gate);
	trim_all();
	assert_int_equal(released, 1);
}

/* The wait is over when the consumer enqueues, and the library does not know of that work. */
static void row_21_a_consumer_works_on_after_a_wait(void **state)
{
	atomic_int released = 0;
	struct bi_stream *home = home_of(fixture.context);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .released = &released });
	struct gate *gate;

	(void)state;
	rehome(view);
	expect_waits("synchronize", 1);
	OK(bi_view_synchronize(view, &error));
	gate = close_gate(home);
	raw_write(home, view, 7);
	assert_exported_stream(view, home);
	bi_view_release(view);
	trim_all();
	settle();
	assert_int_equal(released, 0);
	open_and_finish(gate);
	trim_all();
	assert_int_equal(released, 1);
}

/* The same where the producer named a stream: it comes after the consumer's work. */
static void row_21_the_producer_comes_after_a_consumer_that_works_on(void **state)
{
	atomic_int released = 0;
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *home = home_of(fixture.context);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_view *view = wrap_again(made, (struct producer){ .stream = producer, .released = &released });
	unsigned char bytes[ARRAY_BYTES];
	struct gate *gate;

	(void)state;
	rehome(view);
	expect_waits("value", 1);
	OK(bi_view_read(view, bytes, sizeof(bytes), &error));
	gate = close_gate(home);
	raw_write(home, view, 7);
	bi_view_release(view);
	assert_int_equal(released, 1);
	raw_write(producer, made, 9);
	settle();
	assert_int_equal(value_of(made), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(made), 9);
	bi_view_release(made);
}

/* Nothing is pending after a wait, so the old home is not waited for. */
static void row_21_what_was_waited_for_moves_for_nothing(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer });
	uint64_t before;

	(void)state;
	OK(bi_view_synchronize(view, &error));
	expect_waits("synchronize", 1);
	before = ordered();
	rehome(view);
	MORE(ordered(), before, 0);
	assert_exported_stream(view, home_of(fixture.context));
	finish_all();
	bi_view_release(view);
}

int dlpack_rows(void)
{
	static const struct row rows[] = {
		ROW(row_32_an_export_enqueues_nothing, NEED_DEVICE | NEED_COUNTS),
		ROW(row_32_a_consumer_stream_acquires, NEED_GATE),
		ROW(row_33_the_context_stream_is_home_and_pending, NEED_GATE),
		ROW(row_33_it_is_retired, NEED_GATE),
		ROW(row_33_host_memory_is_idle, 0),
		ROW(row_34_the_stream_that_is_named_is_home, NEED_GATE),
		ROW(row_34_unordered_memory_has_no_order, NEED_DEVICE),
		ROW(row_34_own_exports_are_handed_back, NEED_GATE),
		ROW(row_35_the_context_stream_comes_after_the_old_home, NEED_GATE),
		ROW(row_35_the_first_use_is_waited_for, NEED_GATE),
		ROW(row_35_the_producers_stream_waits_at_the_end, NEED_GATE),
		ROW(row_35_his_stream_lives_as_long_as_the_memory, NEED_DEVICE),
		ROW(row_35_nothing_to_wait_for, NEED_DEVICE),
		ROW(row_35_what_a_consumer_does_is_pending, NEED_GATE),
		ROW(row_21_a_consumer_works_on_after_a_wait, NEED_GATE),
		ROW(row_21_the_producer_comes_after_a_consumer_that_works_on, NEED_GATE),
		ROW(row_21_what_was_waited_for_moves_for_nothing, NEED_DEVICE),
	};

	return run_rows("dlpack", rows, ARRAY_LENGTH(rows));
}
