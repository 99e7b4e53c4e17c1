/* The rules for a producer that need memory of a device. */
#define _POSIX_C_SOURCE 200809L

#include "raw.h"
#include "common/runtime/object.h"
#include "support/use.h"

#define N 1000

static struct bi_dtype u1;

static struct bi_view *new_bytes(enum bi_memory_kind kind)
{
	static const int64_t shape[] = { N };
	struct bi_layout layout;
	struct bi_memory *memory;
	struct bi_view *view;

	OK(bi_dtype_parse("|u1", &u1, &error));
	OK(bi_layout_init(&layout, u1, 1, shape, NULL, 0, &error));
	OK(bi_memory_create(fixture.context, N, kind, &memory, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	bi_memory_release(memory);
	return view;
}

static struct bi_view *wrapped(const struct bi_foreign *foreign)
{
	const int64_t shape[] = { (int64_t)foreign->nbytes };
	struct bi_layout layout;
	struct bi_view *view;

	OK(bi_layout_init(&layout, u1, 1, shape, NULL, 0, &error));
	OK(bi_view_wrap(fixture.context, foreign, &layout, &view, &error));
	return view;
}

static struct bi_view *new_idle(void)
{
	struct bi_view *view = new_bytes(BI_MEMORY_DEVICE);

	OK(bi_view_synchronize(view, &error));
	return view;
}

static void fill(const struct bi_view *view, struct bi_stream *stream, unsigned char value)
{
	OK(bi_fill(view, &value, stream, &error));
}

static struct bi_cai exported(const struct bi_view *view, int version, unsigned flags)
{
	struct bi_cai cai;

	OK(bi_cai_export(view, version, flags, &cai, &error));
	assert_int_equal(cai.version, version);
	return cai;
}

static void assert_stream(const struct bi_cai *cai, enum bi_cai_stream kind, uintptr_t stream)
{
	assert_int_equal(cai->stream_kind, kind);
	assert_true(cai->stream == stream);
}

static uintptr_t home(void)
{
	return bi_stream_handle(bi_context_stream(fixture.context));
}

/* All bytes of the view's memory as raw memory, to ask for its order. */
static struct raw raw_of(const struct bi_view *view)
{
	struct bi_native native;

	bi_view_native(view, &native);
	return (struct raw){ .context = fixture.context, .pointer = native.handle, .nbytes = N };
}

static struct bi_view *slice(const struct bi_view *view, int64_t start, int64_t stop, int64_t step)
{
	const struct bi_index item = { BI_INDEX_SLICE, start, stop, step };
	struct bi_view *out;

	OK(bi_view_index(view, &item, 1, &out, &error));
	return out;
}

static void cai_P3_without_elements_nothing_is_shown(void **state)
{
	struct bi_view *view = new_idle(), *nothing = slice(view, 5, 5, 1);
	uint64_t calls;
	struct bi_cai cai;

	(void)state;
	fill(view, NULL, 1);
	calls = driver_calls();
	for (int version = 0; version <= 3; version++) {
		cai = exported(nothing, version, 0);
		assert_true(cai.data == 0);
		assert_int_equal(cai.shape[0], 0);
		assert_null(cai.strides);
		assert_stream(&cai, version < 3 ? BI_CAI_STREAM_ABSENT : BI_CAI_STREAM_NONE, 0);
	}
	assert_int_equal(driver_calls(), calls);
	bi_view_release(nothing);
	bi_view_release(view);
}

static void cai_P5_P16_pointer_is_that_of_the_first_element(void **state)
{
	struct bi_view *view = new_idle(), *backward = slice(view, 700, 10, -3);
	struct bi_cai all = exported(view, 3, 0), cai = exported(backward, 3, 0);
	struct bi_native native;

	(void)state;
	bi_view_native(view, &native);
	assert_true(all.data == native.handle + native.offset);
	assert_true(cai.data == all.data + 700);
	assert_int_equal(cai.strides[0], -3);
	assert_int_equal(cai.shape[0], 230);
	bi_view_release(backward);
	bi_view_release(view);
}

static void cai_P6_P7_stream_while_work_is_pending(void **state)
{
	struct bi_view *view = new_idle();
	struct bi_cai cai = exported(view, 3, 0);

	(void)state;
	assert_stream(&cai, BI_CAI_STREAM_NONE, 0);
	fill(view, NULL, 1);
	cai = exported(view, 3, 0);
	assert_true(home() > 2);
	assert_stream(&cai, BI_CAI_STREAM_GIVEN, home());
	/* Even if the work is over: nobody has seen it. */
	OK(bi_stream_synchronize(bi_context_stream(fixture.context), &error));
	cai = exported(view, 3, 0);
	assert_stream(&cai, BI_CAI_STREAM_GIVEN, home());
	OK(bi_view_synchronize(view, &error));
	cai = exported(view, 3, 0);
	assert_stream(&cai, BI_CAI_STREAM_NONE, 0);
	bi_view_release(view);
}

static void cai_P6_home_of_the_producer_is_passed_on(void **state)
{
	uintptr_t own = raw_stream_open(fixture.context);
	const uintptr_t streams[] = { 1, 2, own }, homes[] = { 1, home(), own };
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	for (int i = 0; i < 3; i++) {
		struct bi_cai cai = bytes_on(&raw, streams[i]);
		struct bi_view *view;

		OK(bi_cai_import(fixture.context, &cai, NULL, &view, &error));
		cai = exported(view, 3, 0);
		assert_stream(&cai, BI_CAI_STREAM_GIVEN, homes[i]);
		bi_view_release(view);
	}
	raw_close(&raw);
	raw_stream_close(fixture.context, own);
}

/* Streams 7, 9 and 15 of the specification's example. */
static void cai_P7_exported_stream_comes_after_all_work(void **state)
{
	struct bi_view *view = new_idle(), *left = slice(view, 0, 500, 1), *right = slice(view, 500, 1000, 1);
	struct bi_stream *streams[2], *users;
	uintptr_t foreign = raw_stream_open(fixture.context);
	struct raw raw = raw_of(view);
	struct bi_cai cai;

	(void)state;
	for (int i = 0; i < 2; i++)
		OK(bi_stream_create(fixture.context, 0, &streams[i], &error));
	OK(bi_stream_wrap(fixture.context, foreign, NULL, NULL, &users, &error));
	fill(left, streams[0], 1);
	fill(right, streams[1], 2);
	OK(begin_use(view, users, &error));
	raw_fill(&raw, foreign, 3);
	assert_ordered(0, home(), &raw);
	OK(end_use(view, users, &error));
	cai = exported(view, 3, 0);
	assert_int_equal(cai.stream_kind, BI_CAI_STREAM_GIVEN);
	assert_ordered(1, (uintptr_t)cai.stream, &raw);
	for (int i = 0; i < 2; i++)
		bi_stream_release(streams[i]);
	OK(bi_view_synchronize(view, &error));
	raw_check(&raw, 3);
	bi_stream_release(users);
	bi_view_release(left);
	bi_view_release(right);
	bi_view_release(view);
	raw_stream_close(fixture.context, foreign);
}

static void cai_P8_exported_stream_lives_as_long_as_the_view(void **state)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_view *view;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	OK(bi_stream_create(fixture.context, 0, &options.producer_stream, &error));
	OK(bi_cai_import(fixture.context, &cai, &options, &view, &error));
	cai = exported(view, 3, 0);
	assert_stream(&cai, BI_CAI_STREAM_GIVEN, bi_stream_handle(options.producer_stream));
	bi_stream_release(options.producer_stream);
	raw_fill(&raw, (uintptr_t)cai.stream, 9);
	OK(bi_view_synchronize(view, &error));
	raw_check(&raw, 9);
	bi_view_release(view);
	raw_close(&raw);
}

static void cai_P11_P12_types_that_are_not_exported(void **state)
{
	static const char *const names[] = { "bfloat16", "uint8x2", ">i2" };
	struct bi_view *view = new_idle();

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bi_cai cai, zero;
		struct bi_dtype dtype;
		struct bi_view *named;

		OK(bi_dtype_parse(names[i], &dtype, &error));
		OK(bi_view_reinterpret(view, dtype, NULL, &named, &error));
		REFUSED_FOR(BI_EDTYPE, i < 2 ? "[P12]" : "[P11]", bi_cai_export(named, 3, 0, &cai, &error));
		memset(&zero, 0, sizeof(zero));
		assert_memory_equal(&cai, &zero, sizeof(cai));
		bi_view_release(named);
	}
	bi_view_release(view);
}

static void cai_P13_readonly_is_true(void **state)
{
	static const int64_t shape[] = { 3, N };
	struct bi_view *view = new_idle(), *wide, *reader;
	struct bi_layout layout;

	(void)state;
	bi_view_layout(view, &layout);
	OK(bi_view_create(bi_view_memory(view), &layout, BI_VIEW_READONLY, &reader, &error));
	OK(bi_view_broadcast(view, 2, shape, &wide, &error));
	assert_int_equal(exported(view, 3, 0).readonly, 0);
	assert_int_equal(exported(reader, 3, 0).readonly, 1);
	assert_int_equal(exported(wide, 3, 0).readonly, 1);
	bi_view_release(reader);
	bi_view_release(wide);
	bi_view_release(view);
}

static void cai_P14_memory_that_devices_reach(void **state)
{
	struct bi_view *host = new_bytes(BI_MEMORY_HOST), *pinned = new_bytes(BI_MEMORY_PINNED);
	struct bi_cai cai;

	(void)state;
	REFUSED_FOR(BI_EUNSUPPORTED, "[P14]", bi_cai_export(host, 3, 0, &cai, &error));
	assert_true(exported(pinned, 3, 0).data != 0);
	if (bi_context_device(fixture.context)->capabilities & BI_CAP_SVM) {
		struct bi_view *managed = new_bytes(BI_MEMORY_UNIFIED);

		assert_true(exported(managed, 3, 0).data != 0);
		bi_view_release(managed);
	}
	bi_view_release(pinned);
	bi_view_release(host);
}

static void cai_P15_export_makes_no_call(void **state)
{
	struct bi_view *view = new_idle();

	(void)state;
	for (int pending = 0; pending < 2; pending++) {
		uint64_t calls = driver_calls();

		for (int i = 0; i < 3; i++)
			exported(view, 3, 0);
		assert_int_equal(driver_calls(), calls);
		if (!pending)
			fill(view, NULL, 1);
	}
	bi_view_release(view);
}

static void refuse_at_once(const struct bi_view *view, int version, unsigned flags)
{
	struct bi_cai cai;

	REFUSED_FOR(BI_EBUSY, "", bi_cai_export(view, version, flags | BI_CAI_NONBLOCKING, &cai, &error));
	assert_int_equal(cai.version, 0);
}

static void cai_P6_P15_at_once_is_the_same_without_a_wait(void **state)
{
	struct bi_view *view = new_idle();
	uint64_t calls = driver_calls();
	struct bi_cai cai;

	(void)state;
	for (int version = 0; version <= 3; version++) {
		cai = exported(view, version, BI_CAI_NONBLOCKING);
		assert_stream(&cai, version < 3 ? BI_CAI_STREAM_ABSENT : BI_CAI_STREAM_NONE, 0);
	}
	exported(view, 3, BI_CAI_NONBLOCKING | BI_CAI_SYNCHRONIZE);
	assert_int_equal(driver_calls(), calls);
	fill(view, NULL, 1);
	calls = driver_calls();
	cai = exported(view, 3, BI_CAI_NONBLOCKING);
	assert_stream(&cai, BI_CAI_STREAM_GIVEN, home());
	exported(view, 2, BI_CAI_NONBLOCKING | BI_CAI_UNORDERED);
	for (int version = 0; version < 3; version++)
		refuse_at_once(view, version, 0);
	refuse_at_once(view, 3, BI_CAI_SYNCHRONIZE);
	assert_int_equal(driver_calls(), calls);
	bi_view_release(view);
}

/* Of a lock that another thread has, and of an event that has to be asked. */
static void cai_at_once_waits_for_nobody(void **state)
{
	struct bi_view *view = new_idle(), *other;
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = bi_view_memory(view);
	struct bi_event *event;

	(void)state;
	fill(view, NULL, 1);
	assert_int_equal(pthread_mutex_lock(&memory->lock), 0);
	refuse_at_once(view, 3, 0);
	assert_int_equal(pthread_mutex_unlock(&memory->lock), 0);
	exported(view, 3, BI_CAI_NONBLOCKING);
	assert_int_equal(pthread_mutex_lock(&memory->lock), 0);
	exported(view, 3, 0); /* exported before: the lock is not needed */
	assert_int_equal(pthread_mutex_unlock(&memory->lock), 0);
	OK(bi_event_record(bi_context_stream(fixture.context), &event, &error));
	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = raw_of(view).pointer;
	foreign.nbytes = N;
	foreign.stream = bi_context_stream(fixture.context);
	foreign.events = &event;
	foreign.event_count = 1;
	other = wrapped(&foreign);
	refuse_at_once(other, 3, 0);
	exported(other, 3, 0);
	exported(other, 3, BI_CAI_NONBLOCKING);
	bi_view_release(other);
	bi_event_release(event);
	bi_view_release(view);
}

static void cai_P17_older_versions_wait_first(void **state)
{
	struct bi_view *view = new_idle();

	(void)state;
	for (int version = 0; version < 3; version++) {
		struct raw raw = raw_of(view);
		struct bi_cai cai;

		fill(view, NULL, (unsigned char)version);
		assert_ordered(0, 0, &raw);
		cai = exported(view, version, 0);
		assert_stream(&cai, BI_CAI_STREAM_ABSENT, 0);
		assert_ordered(1, 0, &raw);
		cai = exported(view, 3, 0);
		assert_stream(&cai, BI_CAI_STREAM_NONE, 0);
	}
	bi_view_release(view);
}

static void cai_P17_synchronised_export_names_no_stream(void **state)
{
	struct bi_view *view = new_idle();
	struct raw raw = raw_of(view);
	struct bi_cai cai;

	(void)state;
	fill(view, NULL, 1);
	cai = exported(view, 3, BI_CAI_SYNCHRONIZE);
	assert_stream(&cai, BI_CAI_STREAM_NONE, 0);
	assert_ordered(1, 0, &raw);
	bi_view_release(view);
}

static void cai_P17_opt_out_of_a_call(void **state)
{
	struct bi_view *view = new_idle();
	uint64_t calls;

	(void)state;
	fill(view, NULL, 1);
	calls = driver_calls();
	for (int version = 0; version <= 3; version++) {
		struct bi_cai cai = exported(view, version, BI_CAI_UNORDERED);

		assert_stream(&cai, version < 3 ? BI_CAI_STREAM_ABSENT : BI_CAI_STREAM_NONE, 0);
	}
	assert_int_equal(driver_calls(), calls);
	bi_view_release(view);
}

static void cai_P17_opt_out_of_a_process(void **state)
{
	struct bi_context *usual = fixture.context;
	struct bi_view *view;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	assert_int_equal(setenv("BI_CAI_SYNC", "0", 1), 0);
	fixture.context = open_context(fixture.spec);
	assert_int_equal(unsetenv("BI_CAI_SYNC"), 0);
	view = new_idle();
	fill(view, NULL, 1);
	cai = exported(view, 3, 0);
	assert_stream(&cai, BI_CAI_STREAM_NONE, 0);
	cai = exported(view, 2, 0);
	assert_stream(&cai, BI_CAI_STREAM_ABSENT, 0);
	/* What is asked for by the call is done all the same. */
	cai = exported(view, 2, BI_CAI_SYNCHRONIZE);
	assert_stream(&cai, BI_CAI_STREAM_ABSENT, 0);
	raw = raw_of(view);
	assert_ordered(1, 0, &raw);
	bi_view_release(view);
	bi_context_release(fixture.context);
	fixture.context = usual;
}

/* A foreign reference would not keep the memory from being used again by the pool. */
static void cai_export_counts_as_shown(void **state)
{
	struct bi_view *view = new_bytes(BI_MEMORY_DEVICE), *nothing = slice(view, 0, 0, 1);

	(void)state;
	exported(nothing, 3, 0);
	assert_int_equal(atomic_load(&bi_view_memory(view)->marks), 0);
	exported(view, 3, 0);
	assert_int_equal(atomic_load(&bi_view_memory(view)->marks), 1);
	bi_view_release(nothing);
	bi_view_release(view);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_contexts, close_contexts)

int exports_group(void)
{
	const struct CMUnitTest tests[] = {
		CASE(cai_P3_without_elements_nothing_is_shown),
		CASE(cai_P5_P16_pointer_is_that_of_the_first_element),
		CASE(cai_P6_P7_stream_while_work_is_pending),
		CASE(cai_P6_home_of_the_producer_is_passed_on),
		CASE(cai_P7_exported_stream_comes_after_all_work),
		CASE(cai_P8_exported_stream_lives_as_long_as_the_view),
		CASE(cai_P11_P12_types_that_are_not_exported),
		CASE(cai_P13_readonly_is_true),
		CASE(cai_P14_memory_that_devices_reach),
		CASE(cai_P15_export_makes_no_call),
		CASE(cai_P6_P15_at_once_is_the_same_without_a_wait),
		CASE(cai_at_once_waits_for_nobody),
		CASE(cai_P17_older_versions_wait_first),
		CASE(cai_P17_synchronised_export_names_no_stream),
		CASE(cai_P17_opt_out_of_a_call),
		CASE(cai_P17_opt_out_of_a_process),
		CASE(cai_export_counts_as_shown),
	};

	return cmocka_run_group_tests_name("exports", tests, NULL, NULL);
}
