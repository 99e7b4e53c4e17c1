/* Rows 22 and 24: the streams that CUDA has by itself. */
#include <pthread.h>

#include "raw_cuda.h"
#include "uses.h"

static const struct producer nobody;

static struct bi_stream *legacy_stream(void)
{
	return wrap_stream(fixture.context, 1);
}

static struct bi_stream *per_thread_stream(void)
{
	return wrap_stream(fixture.context, 2);
}

/* ----------------------------------------------------------------------------------------------------------- row 22 */

/* A producer who knows no streams, and names none. */
static void row_22_the_context_stream_waits_for_the_legacy_stream(void **state)
{
	struct bi_stream *legacy = legacy_stream();
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate_on_write(legacy, view, 7);

	(void)state;
	assert_ordered(home_of(fixture.context), view);
	copy(to, view, NULL);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(to);
}

static void row_22_the_legacy_stream_waits_for_the_context_stream(void **state)
{
	struct bi_stream *legacy = legacy_stream();
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	fill(view, 7, NULL);
	assert_ordered(legacy, view);
	raw_copy(legacy, to, view);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(to);
}

/* Work on a created stream goes on while the legacy stream stands still. */
static void row_22_created_streams_are_non_blocking(void **state)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *pending = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate_on_write(legacy_stream(), pending, 3);

	(void)state;
	assert_unordered(stream, pending);
	fill(view, 7, stream);
	SETTLE_UNTIL(value_of(view) == 7);
	assert_int_equal(value_of(pending), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(pending), 3);
	bi_view_release(view);
	bi_view_release(pending);
}

/* ----------------------------------------------------------------------------------------------------------- row 24 */

/* At import the calling thread's stream is waited for by the context stream, which is the home. */
static void row_24_home_is_the_context_stream(void **state)
{
	struct bi_stream *own = per_thread_stream();
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view, *to = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate_on_write(own, made, 7);

	(void)state;
	assert_unordered(home_of(fixture.context), made);
	view = wrap_again(made, (struct producer){ .stream = own });
	assert_ordered(home_of(fixture.context), made);
	assert_exported_stream(view, home_of(fixture.context));
	copy(to, view, NULL);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(made);
	bi_view_release(to);
}

/* As a caller's stream it waits and is waited for within each call, because the next may come from another thread. */
static void row_24_each_call_orders_it(void **state)
{
	struct bi_stream *own = per_thread_stream();
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));
	uint64_t before;

	(void)state;
	fill(view, 2, NULL);
	for (int i = 0; i < 2; i++) {
		before = waits();
		fill(view, 3 + i, own);
		MORE(waits(), before, 2);
		assert_ordered(home_of(fixture.context), view);
	}
	acquire(view, own);
	assert_ordered(own, view);
	raw_write(own, view, 5);
	assert_unordered(home_of(fixture.context), view);
	hand_back(view, own);
	assert_ordered(home_of(fixture.context), view);
	settle();
	assert_int_equal(value_of(view), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 5);
	bi_view_release(view);
}

/* What another thread does in the test below. */
struct elsewhere {
	struct bi_stream *own; /* the same object, another stream */
	struct bi_view *made, *view;
	int is_ordered; /* -1: nobody could be asked */
};

static int home_is_ordered(struct bi_view *view)
{
	uintptr_t home = bi_stream_handle(home_of(fixture.context));

	return cuda_sim() ? cuda_sim()->ordered(home, cuda_pointer_of(view), ARRAY_BYTES, 1) : -1;
}

static void *work_elsewhere(void *data)
{
	struct elsewhere *there = data;

	raw_write(there->own, there->made, 7);
	there->view = wrap_again(there->made, (struct producer){ .stream = there->own });
	there->is_ordered = home_is_ordered(there->made);
	return NULL;
}

/* Named here it is this thread's, and says nothing about the other's work. */
static void row_24_another_thread_has_another_stream(void **state)
{
	struct bi_stream *own = per_thread_stream();
	struct elsewhere there = { .own = own, .made = wrap(PLACE_DEVICE, 1, nobody) };
	struct bi_view *mine = wrap(PLACE_DEVICE, 2, nobody), *to = wrap(PLACE_DEVICE, 3, nobody), *view;
	struct gate *gate = close_gate_on_write(own, mine, 8);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, work_elsewhere, &there), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(there.is_ordered != 0);
	assert_unordered(home_of(fixture.context), mine);
	copy(to, there.view, NULL);
	SETTLE_UNTIL(value_of(to) == 7);
	view = wrap_again(mine, (struct producer){ .stream = own });
	copy(to, view, NULL);
	settle();
	assert_int_equal(value_of(to), 7);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 8);
	bi_view_release(there.view);
	bi_view_release(there.made);
	bi_view_release(view);
	bi_view_release(mine);
	bi_view_release(to);
}

int cuda_streams_rows(void)
{
	static const struct row rows[] = {
		ROW(row_22_the_context_stream_waits_for_the_legacy_stream, NEED_CUDA | NEED_GATE),
		ROW(row_22_the_legacy_stream_waits_for_the_context_stream, NEED_CUDA | NEED_GATE),
		ROW(row_22_created_streams_are_non_blocking, NEED_CUDA | NEED_GATE),
		ROW(row_24_home_is_the_context_stream, NEED_CUDA | NEED_GATE),
		ROW(row_24_each_call_orders_it, NEED_CUDA | NEED_GATE),
		ROW(row_24_another_thread_has_another_stream, NEED_CUDA | NEED_GATE),
	};

	return run_rows("CUDA's streams", rows, ARRAY_LENGTH(rows));
}
