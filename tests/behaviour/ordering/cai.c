/* Rows 23 to 26: the CUDA Array Interface. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "raw_cuda.h"
#include "buffer_interface/cai.h"
#include "uses.h"

static const struct producer nobody;

/* ---------------------------------------------------------------------------------------------------------- imports */

static const int64_t shape[] = { ARRAY_BYTES };

/* What a producer says of the array. */
static struct bi_cai describe(struct bi_view *made, int stream_kind, const struct bi_stream *stream)
{
	return (struct bi_cai){
		.version = 3,
		.ndim = 1,
		.shape = shape,
		.typestr = "|u1",
		.data = (uint64_t)cuda_pointer_of(made),
		.stream_kind = stream_kind,
		.stream = stream ? bi_stream_handle(stream) : 0,
	};
}

struct import {
	unsigned flags;
	struct bi_stream *producer_stream;
	atomic_int *released;
};

static struct bi_view *import_into(struct bi_context *context, struct bi_cai cai, struct import import)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_view *view;

	options.flags = import.flags;
	options.producer_stream = import.producer_stream;
	options.release = import.released ? count_release : NULL;
	options.release_data = import.released;
	OK(bi_cai_import(context, &cai, &options, &view, &error));
	return view;
}

static struct bi_view *import_named(struct bi_view *made, int stream_kind, const struct bi_stream *stream)
{
	return import_into(fixture.context, describe(made, stream_kind, stream), (struct import){ 0 });
}

/* An export names that stream; NULL: None. */
static void assert_cai_stream(struct bi_view *view, const struct bi_stream *stream)
{
	struct bi_cai cai;

	OK(bi_cai_export(view, 3, 0, &cai, &error));
	assert_int_equal(cai.stream_kind, stream ? BI_CAI_STREAM_GIVEN : BI_CAI_STREAM_NONE);
	if (stream)
		assert_int_equal(cai.stream, bi_stream_handle(stream));
}

/* ----------------------------------------------------------------------------------------------------------- row 23 */

/* The producer's write is behind a gate; the library's work, on its home and elsewhere, comes after it. */
static void import_pending(struct bi_stream *producer, int stream_kind, const struct bi_stream *named,
			   struct bi_stream *override)
{
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody), *view;
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate_on_write(producer, made, 7);

	view = import_into(fixture.context, describe(made, stream_kind, named),
			   (struct import){ .producer_stream = override });
	assert_cai_stream(view, producer);
	assert_unordered(stream, made);
	copy(to, view, stream);
	assert_ordered(stream, made);
	fill(view, 8, NULL);
	assert_cai_stream(view, producer);
	assert_ordered(producer, made);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	assert_int_equal(value_of(made), 8);
	bi_view_release(view);
	bi_view_release(made);
	bi_view_release(to);
	clear_case();
}

static void row_23_a_handle_is_the_home(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);

	(void)state;
	import_pending(producer, BI_CAI_STREAM_GIVEN, producer, NULL);
}

static void row_23_one_is_the_legacy_stream(void **state)
{
	struct bi_stream *legacy = wrap_stream(fixture.context, 1);

	(void)state;
	import_pending(legacy, BI_CAI_STREAM_GIVEN, legacy, NULL);
}

static void row_23_producer_stream_overrides(void **state)
{
	(void)state;
	for (int kind = BI_CAI_STREAM_ABSENT; kind <= BI_CAI_STREAM_GIVEN; kind++) {
		struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
		struct bi_stream *said = kind == BI_CAI_STREAM_GIVEN ? new_producer(BI_STREAM_IN_ORDER) : NULL;

		import_pending(producer, kind, said, producer);
	}
}

static void row_23_none_and_no_key_are_idle(void **state)
{
	(void)state;
	for (int kind = BI_CAI_STREAM_ABSENT; kind <= BI_CAI_STREAM_NONE; kind++) {
		struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
		struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view = import_named(made, kind, NULL);
		uint64_t before = ordered();

		acquire(view, stream);
		MORE(ordered(), before, 0);
		assert_cai_stream(view, NULL);
		fill(view, 2, NULL);
		assert_cai_stream(view, home_of(fixture.context));
		finish_all();
		assert_int_equal(value_of(made), 2);
		bi_view_release(view);
		bi_view_release(made);
		clear_case();
	}
}

/* Let go as any other: with a named stream at once, without one when the work is done. */
static void row_23_the_producing_object_is_released(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view;
	atomic_int released = 0;
	struct gate *gate = close_gate(producer);

	(void)state;
	view = import_into(fixture.context, describe(made, BI_CAI_STREAM_GIVEN, producer),
			   (struct import){ .released = &released });
	fill(view, 2, NULL);
	bi_view_release(view);
	assert_int_equal(released, 1);
	assert_ordered(producer, made);
	open_and_finish(gate);
	gate = close_gate(home_of(fixture.context));
	view = import_into(fixture.context, describe(made, BI_CAI_STREAM_NONE, NULL),
			   (struct import){ .released = &released });
	fill(view, 3, NULL);
	bi_view_release(view);
	assert_int_equal(released, 1);
	open_and_finish(gate);
	trim_all();
	assert_int_equal(released, 2);
	assert_int_equal(value_of(made), 3);
	bi_view_release(made);
}

/* ----------------------------------------------------------------------------------------------------------- row 24 */

static void row_24_two_is_the_calling_threads(void **state)
{
	struct bi_stream *own = wrap_stream(fixture.context, 2);
	struct bi_view *made = wrap(PLACE_DEVICE, 1, nobody), *view;
	struct gate *gate = close_gate_on_write(own, made, 7);

	(void)state;
	view = import_named(made, BI_CAI_STREAM_GIVEN, own);
	assert_cai_stream(view, home_of(fixture.context));
	assert_ordered(home_of(fixture.context), made);
	fill(view, 8, NULL);
	settle();
	assert_int_equal(value_of(made), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(made), 8);
	bi_view_release(view);
	bi_view_release(made);
}

/* ----------------------------------------------------------------------------------------------------------- row 25 */

/* A consumer without this library, on the stream that he is given. */
static void row_25_pending_memory_names_its_home(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *to = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_stream *given;
	struct bi_cai cai;

	(void)state;
	assert_cai_stream(view, NULL);
	fill(view, 7, new_stream(BI_STREAM_IN_ORDER));
	OK(bi_cai_export(view, 3, 0, &cai, &error));
	assert_int_equal(cai.stream_kind, BI_CAI_STREAM_GIVEN);
	assert_true(cai.stream != 0);
	assert_int_equal(cai.stream, bi_stream_handle(home_of(fixture.context)));
	given = wrap_stream(fixture.context, (uintptr_t)cai.stream);
	assert_ordered(given, view);
	raw_copy(given, to, view);
	settle();
	assert_int_equal(value_of(to), 2);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(to);
}

/* Behind a gate that opens while the export waits; afterwards nothing is pending. */
static void export_waits(int version, unsigned flags, int stream_kind)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_cai cai;
	uint64_t before;

	fill(view, 7, NULL);
	open_gate_soon(gate);
	expect_waits("export", 1);
	OK(bi_cai_export(view, version, flags, &cai, &error));
	assert_true(is_open(gate));
	assert_int_equal(cai.stream_kind, stream_kind);
	assert_int_equal(value_of(view), 7);
	before = all_calls();
	OK(bi_cai_export(view, version, flags, &cai, &error));
	assert_cai_stream(view, NULL);
	MORE(all_calls(), before, 0);
	bi_view_release(view);
	clear_case();
}

static void row_25_synchronize_waits(void **state)
{
	(void)state;
	export_waits(3, BI_CAI_SYNCHRONIZE, BI_CAI_STREAM_NONE);
}

static void row_25_versions_without_the_key_wait(void **state)
{
	(void)state;
	for (int version = 0; version < 3; version++)
		export_waits(version, 0, BI_CAI_STREAM_ABSENT);
}

static void row_25_unordered_exports_do_not_wait(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_cai cai;

	(void)state;
	fill(view, 7, NULL);
	for (int version = 0; version <= 3; version++) {
		OK(bi_cai_export(view, version, BI_CAI_UNORDERED, &cai, &error));
		assert_int_equal(cai.stream_kind, version < 3 ? BI_CAI_STREAM_ABSENT : BI_CAI_STREAM_NONE);
	}
	assert_false(is_open(gate));
	open_and_finish(gate);
	bi_view_release(view);
}

/* ----------------------------------------------------------------------------------------------------------- row 26 */

/* The producer's stream stands still; nothing of the library does, and the object goes at once. */
static void use_unordered(struct bi_context *context, unsigned flags)
{
	struct bi_stream *producer = new_producer_in(context, BI_STREAM_IN_ORDER);
	struct bi_view *made = wrap_in(context, PLACE_DEVICE, 1, nobody), *view;
	struct gate *gate = close_gate(producer), *home_gate;
	atomic_int released = 0;
	uint64_t before;
	struct bi_cai cai;

	view = import_into(context, describe(made, BI_CAI_STREAM_GIVEN, producer),
			   (struct import){ .flags = flags, .released = &released });
	before = ordered();
	acquire(view, home_of(context));
	fill(view, 2, NULL);
	hand_back(view, home_of(context));
	MORE(ordered(), before, 0);
	SETTLE_UNTIL(value_of(made) == 2);
	OK(bi_cai_export(view, 3, 0, &cai, &error));
	assert_int_equal(cai.stream_kind, BI_CAI_STREAM_NONE);
	home_gate = close_gate(home_of(context));
	fill(view, 3, NULL);
	bi_view_release(view);
	assert_int_equal(released, 1);
	open_gate(home_gate);
	open_and_finish(gate);
	assert_int_equal(value_of(made), 3);
	bi_view_release(made);
	clear_case();
}

static void row_26_unordered_import(void **state)
{
	(void)state;
	use_unordered(fixture.context, BI_CAI_UNORDERED);
}

static void row_26_the_environment_opts_out(void **state)
{
	struct bi_context *context;

	(void)state;
	assert_int_equal(setenv("BI_CAI_SYNC", "0", 1), 0);
	context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	assert_int_equal(unsetenv("BI_CAI_SYNC"), 0);
	use_unordered(context, 0);
}

/* Versions without the key do not wait then either. */
static void row_26_the_environment_opts_exports_out(void **state)
{
	struct bi_context *context;
	struct bi_view *view;
	struct gate *gate;
	struct bi_cai cai;

	(void)state;
	assert_int_equal(setenv("BI_CAI_SYNC", "0", 1), 0);
	context = open_context(fixture.spec, (struct bi_options)BI_OPTIONS_INIT);
	assert_int_equal(unsetenv("BI_CAI_SYNC"), 0);
	view = wrap_in(context, PLACE_DEVICE, 1, nobody);
	gate = close_gate(home_of(context));
	fill(view, 2, NULL);
	for (int version = 0; version <= 3; version++) {
		OK(bi_cai_export(view, version, 0, &cai, &error));
		assert_int_not_equal(cai.stream_kind, BI_CAI_STREAM_GIVEN);
	}
	open_and_finish(gate);
	bi_view_release(view);
	clear_case();
}

int cai_rows(void)
{
	static const struct row rows[] = {
		ROW(row_23_a_handle_is_the_home, NEED_CUDA | NEED_GATE),
		ROW(row_23_one_is_the_legacy_stream, NEED_CUDA | NEED_GATE),
		ROW(row_23_producer_stream_overrides, NEED_CUDA | NEED_GATE),
		ROW(row_23_none_and_no_key_are_idle, NEED_CUDA),
		ROW(row_23_the_producing_object_is_released, NEED_CUDA | NEED_GATE),
		ROW(row_24_two_is_the_calling_threads, NEED_CUDA | NEED_GATE),
		ROW(row_25_pending_memory_names_its_home, NEED_CUDA | NEED_GATE),
		ROW(row_25_synchronize_waits, NEED_CUDA | NEED_GATE),
		ROW(row_25_versions_without_the_key_wait, NEED_CUDA | NEED_GATE),
		ROW(row_25_unordered_exports_do_not_wait, NEED_CUDA | NEED_GATE),
		ROW(row_26_unordered_import, NEED_CUDA | NEED_GATE),
		ROW(row_26_the_environment_opts_out, NEED_CUDA | NEED_GATE),
		ROW(row_26_the_environment_opts_exports_out, NEED_CUDA | NEED_GATE),
	};

	return run_rows("CUDA Array Interface", rows, ARRAY_LENGTH(rows));
}
