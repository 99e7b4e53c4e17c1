/* The rules for a consumer that need a device: identity, order, lifetime. */
#define _POSIX_C_SOURCE 200809L

#include <stdatomic.h>

#include "raw.h"
#include "interop/cai.h"
#include "support/use.h"

#define N 1000
#define ROUNDS 60

static struct bi_view *imported(const struct bi_cai *cai, const struct bi_cai_import_options *options)
{
	struct bi_view *view;

	OK(bi_cai_import(fixture.context, cai, options, &view, &error));
	return view;
}

static struct bi_stream *new_stream(void)
{
	struct bi_stream *stream;

	OK(bi_stream_create(fixture.context, 0, &stream, &error));
	return stream;
}

static void fill(const struct bi_view *view, struct bi_stream *stream, unsigned char value)
{
	OK(bi_fill(view, &value, stream, &error));
}

/* Memory for the random views: of the library, or wrapped. */
struct place {
	struct bi_memory *memory;
	struct raw raw;
	int is_raw;
	uint64_t base;
};

static enum bi_memory_kind random_kind(void)
{
	int has_unified = (bi_context_device(fixture.context)->capabilities & BI_CAP_SVM) != 0;

	return (enum bi_memory_kind)test_between(&fixture.random, BI_MEMORY_DEVICE,
						 has_unified ? BI_MEMORY_UNIFIED : BI_MEMORY_PINNED);
}

static void wrap_raw(struct place *place, size_t nbytes)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	enum raw_kind kind = (enum raw_kind)test_between(&fixture.random, 0, RAW_COUNT - 1);

	raw_open(&place->raw, fixture.context, has_raw(kind) ? kind : RAW_PLAIN, nbytes);
	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = (uintptr_t)place->raw.pointer;
	foreign.nbytes = nbytes;
	OK(bi_memory_wrap(fixture.context, &foreign, &place->memory, &error));
}

static struct bi_view *view_all(struct bi_memory *memory, size_t nbytes)
{
	const int64_t shape[] = { (int64_t)nbytes };
	struct bi_layout layout;
	struct bi_dtype u1;
	struct bi_view *view;

	OK(bi_dtype_parse("|u1", &u1, &error));
	OK(bi_layout_init(&layout, u1, 1, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	return view;
}

static void open_place(struct place *place, size_t nbytes)
{
	struct bi_native native;
	struct bi_view *all;

	place->is_raw = (int)test_between(&fixture.random, 0, 1);
	if (place->is_raw)
		wrap_raw(place, nbytes);
	else
		OK(bi_memory_create(fixture.context, nbytes, random_kind(), &place->memory, &error));
	all = view_all(place->memory, nbytes);
	bi_view_native(all, &native);
	place->base = native.handle + native.offset;
	bi_view_release(all);
}

static void close_place(struct place *place)
{
	bi_memory_release(place->memory);
	if (place->is_raw)
		raw_close(&place->raw);
}

static void write_bytes(const struct place *place, size_t nbytes)
{
	unsigned char *bytes = malloc(nbytes);
	struct bi_view *all = view_all(place->memory, nbytes);

	assert_non_null(bytes);
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)test_next(&fixture.random);
	OK(bi_view_write(all, bytes, nbytes, &error));
	bi_view_release(all);
	free(bytes);
}

/* Both views say the same of the same bytes. */
static void assert_same_bytes(const struct bi_view *a, const struct bi_view *b)
{
	struct bi_layout layout;
	size_t nbytes;
	unsigned char *bytes;

	bi_view_layout(a, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	bytes = calloc(2, nbytes + 1);
	assert_non_null(bytes);
	OK(bi_view_read(a, bytes, nbytes, &error));
	OK(bi_view_read(b, bytes + nbytes, nbytes, &error));
	assert_memory_equal(bytes, bytes + nbytes, nbytes);
	free(bytes);
}

/*
 * What the library says of its memory is what was put there, and another view made of it is no different; but what has
 * no bytes is made of no memory.
 */
static void check_identity(const struct place *place, struct array *array, const struct bi_layout *layout)
{
	struct bi_view *view, *again;
	struct bi_cai cai, repeated;
	int64_t first, end;

	OK(bi_view_create(place->memory, layout, array->cai.readonly ? BI_VIEW_READONLY : 0, &view, &error));
	OK(bi_cai_export(view, array->cai.version, 0, &cai, &error));
	assert_same_array(&cai, &array->cai);
	assert_int_equal(cai.version, array->cai.version);
	assert_int_equal(cai.readonly, array->cai.readonly);
	again = imported(&cai, NULL);
	OK(bi_cai_export(again, array->cai.version, 0, &repeated, &error));
	bi_layout_extent(layout, &first, &end);
	if (first == end)
		array->cai.data = 0;
	assert_same_array(&repeated, &array->cai);
	assert_int_equal(repeated.readonly, cai.readonly);
	if (first != end) {
		assert_int_equal(repeated.stream_kind, cai.stream_kind);
		assert_true(repeated.stream == cai.stream);
	}
	assert_same_bytes(view, again);
	bi_view_release(again);
	bi_view_release(view);
}

static void cai_round_trip_of_random_views(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t before = (size_t)test_between(&fixture.random, 0, 20), nbytes;
		struct bi__cai_array read;
		struct array array;
		struct place place;

		random_array(&fixture.random, i % type_count(), &array);
		OK(bi__cai_read(&array.cai, &read, NULL, &error));
		nbytes = before + read.nbytes + 1 + (size_t)test_between(&fixture.random, 0, 20);
		open_place(&place, nbytes);
		write_bytes(&place, nbytes);
		read.layout.offset += (int64_t)before;
		array.cai.version = (int32_t)(i % 4);
		array.cai.readonly = (int32_t)test_between(&fixture.random, 0, 1);
		if (bi_layout_size(&read.layout))
			array.cai.data = place.base + (uint64_t)read.layout.offset;
		check_identity(&place, &array, &read.layout);
		close_place(&place);
	}
}

static void cai_C5_without_elements_nothing_is_asked(void **state)
{
	static const int64_t shape[] = { 3, 0 };
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_cai cai = { .version = 3, .ndim = 2, .shape = shape, .typestr = "<f4", .data = 0xdead0000 };
	struct bi_cai of = cai;
	struct bi_view *view, *mask;
	uint64_t calls;
	atomic_int released = 0;

	(void)state;
	cai.stream_kind = of.stream_kind = BI_CAI_STREAM_GIVEN;
	cai.stream = of.stream = 0xdead0000;
	cai.mask = &of;
	options.mask = &mask;
	options.release = count_release;
	options.release_data = &released;
	calls = driver_calls();
	view = imported(&cai, &options);
	assert_int_equal(driver_calls(), calls);
	assert_int_equal(bi_view_shape(view)[0], 3);
	assert_int_equal(bi_view_shape(view)[1], 0);
	bi_view_release(mask);
	assert_int_equal(released, 0);
	bi_view_release(view);
	assert_int_equal(released, 1);
	assert_int_equal(driver_calls(), calls);
}

static void cai_C6_stream_0_is_refused(void **state)
{
	struct bi_view *view;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_on(&raw, 0);
	REFUSED_FOR(BI_EINVAL, "[C6]", bi_cai_import(fixture.context, &cai, NULL, &view, &error));
	raw_close(&raw);
}

static void cai_C6_stream_of_another_context_is_refused(void **state)
{
	struct bi_view *view;
	uintptr_t stream;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	if (!fixture.second)
		skip();
	stream = raw_stream_open(fixture.second);
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_on(&raw, stream);
	REFUSED_FOR(BI_EINVAL, "[C6]", bi_cai_import(fixture.context, &cai, NULL, &view, &error));
	assert_null(view);
	raw_close(&raw);
	raw_stream_close(fixture.second, stream);
}

/* The producer's work comes first, ours before he goes on, and nobody waits on the host. */
static void exchange(uintptr_t producer, int version)
{
	struct bi_stream *ours = new_stream();
	struct bi_view *view;
	struct bi_cai cai;
	uint64_t waits;
	struct raw raw;

	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	raw_fill(&raw, producer, 1);
	waits = driver_host_waits();
	cai = bytes_on(&raw, producer);
	cai.version = version;
	view = imported(&cai, NULL);
	assert_ordered(0, bi_stream_handle(ours), &raw);
	OK(begin_use(view, ours, &error));
	assert_ordered(1, bi_stream_handle(ours), &raw);
	raw_fill(&raw, bi_stream_handle(ours), 2);
	OK(end_use(view, ours, &error));
	fill(view, ours, 3);
	if (producer != 2)
		assert_ordered(1, producer, &raw);
	else
		OK(begin_use(view, ours, &error));
	bi_view_release(view);
	assert_int_equal(driver_host_waits(), waits);
	raw_fill(&raw, producer != 2 ? producer : bi_stream_handle(ours), 4);
	raw_check(&raw, 4);
	raw_close(&raw);
	bi_stream_release(ours);
}

static void cai_C7_work_is_ordered_on_the_stream_that_is_named(void **state)
{
	uintptr_t own = raw_stream_open(fixture.context);

	(void)state;
	for (int version = 0; version <= 3; version++) {
		exchange(own, version);
		exchange(1, version);
		exchange(2, version);
	}
	raw_stream_close(fixture.context, own);
}

static void cai_C7_no_stream_is_no_wait(void **state)
{
	struct bi_stream *ours = new_stream();
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	for (int kind = BI_CAI_STREAM_ABSENT; kind <= BI_CAI_STREAM_NONE; kind++) {
		struct bi_cai cai = bytes_of(&raw);
		uint64_t waits = driver_waits();
		struct bi_view *view;

		cai.stream_kind = kind;
		view = imported(&cai, NULL);
		OK(begin_use(view, ours, &error));
		assert_int_equal(driver_waits(), waits);
		bi_view_release(view);
	}
	raw_close(&raw);
	bi_stream_release(ours);
}

/* A producer without a word on streams, and a user who knows better. */
static void cai_C7_producer_stream_is_believed_instead(void **state)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_stream *producer = new_stream(), *ours = new_stream();
	uintptr_t other = raw_stream_open(fixture.context);
	struct raw raw;

	(void)state;
	options.producer_stream = producer;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	for (int kind = BI_CAI_STREAM_ABSENT; kind <= BI_CAI_STREAM_GIVEN; kind++) {
		struct bi_cai cai = bytes_on(&raw, other);
		struct bi_view *view;

		cai.stream_kind = kind;
		raw_fill(&raw, bi_stream_handle(producer), 1);
		view = imported(&cai, &options);
		assert_ordered(0, bi_stream_handle(ours), &raw);
		fill(view, ours, 2);
		assert_ordered(1, bi_stream_handle(producer), &raw);
		bi_view_release(view);
	}
	raw_check(&raw, 2);
	raw_close(&raw);
	bi_stream_release(producer);
	bi_stream_release(ours);
	raw_stream_close(fixture.context, other);
}

static void cai_C7_producer_stream_is_one_of_the_context(void **state)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_view *view;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	if (!fixture.second)
		skip();
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	options.producer_stream = bi_context_stream(fixture.second);
	REFUSED_FOR(BI_EINVAL, "[C7]", bi_cai_import(fixture.context, &cai, &options, &view, &error));
	raw_close(&raw);
}

static void cai_C7_opt_out_of_a_call(void **state)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_stream *ours = new_stream();
	struct bi_cai cai;
	struct bi_view *view;
	uint64_t waits;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	options.flags = BI_CAI_UNORDERED;
	/* Not even looked at: this one would be reported. */
	cai = bytes_on(&raw, 0xdead0000);
	waits = driver_waits();
	view = imported(&cai, &options);
	OK(begin_use(view, ours, &error));
	fill(view, ours, 5);
	OK(end_use(view, ours, &error));
	assert_int_equal(driver_waits(), waits);
	OK(bi_stream_synchronize(ours, &error));
	bi_view_release(view);
	raw_check(&raw, 5);
	raw_close(&raw);
	bi_stream_release(ours);
}

static void cai_C7_opt_out_of_a_process(void **state)
{
	struct bi_context *usual = fixture.context;
	uintptr_t producer = raw_stream_open(fixture.context);
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_stream *ours;
	struct bi_view *view;
	struct bi_cai cai;
	uint64_t waits;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	assert_int_equal(setenv("BI_CAI_SYNC", "0", 1), 0);
	fixture.context = open_context(fixture.spec);
	assert_int_equal(unsetenv("BI_CAI_SYNC"), 0);
	ours = new_stream();
	cai = bytes_on(&raw, producer);
	waits = driver_waits();
	view = imported(&cai, NULL);
	OK(begin_use(view, ours, &error));
	assert_int_equal(driver_waits(), waits);
	bi_view_release(view);
	OK(bi_stream_wrap(fixture.context, producer, NULL, NULL, &options.producer_stream, &error));
	options.flags = BI_CAI_SAME_STREAM;
	view = imported(&cai, &options);
	OK(begin_use(view, ours, &error));
	assert_int_equal(driver_waits(), waits);
	bi_view_release(view);
	options.flags = 0;
	/* A stream that is named by the call is not opted out of. */
	raw_fill(&raw, producer, 1);
	view = imported(&cai, &options);
	OK(begin_use(view, ours, &error));
	assert_ordered(1, bi_stream_handle(ours), &raw);
	bi_view_release(view);
	bi_stream_release(options.producer_stream);
	bi_stream_release(ours);
	bi_context_release(fixture.context);
	fixture.context = usual;
	raw_close(&raw);
	raw_stream_close(fixture.context, producer);
}

/* Two memories of the same bytes, each with its own account of what is pending. */
static void cai_C7_own_export_is_ordered_like_any_other(void **state)
{
	struct bi_stream *ours = new_stream();
	struct bi_view *view, *again;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	view = imported(&cai, NULL);
	fill(view, ours, 1);
	OK(bi_cai_export(view, 3, 0, &cai, &error));
	again = imported(&cai, NULL);
	fill(again, ours, 2);
	fill(view, NULL, 3);
	OK(bi_view_synchronize(view, &error));
	raw_check(&raw, 3);
	bi_view_release(again);
	bi_view_release(view);
	raw_close(&raw);
	bi_stream_release(ours);
}

static void cai_C8_release_once_when_the_last_view_goes(void **state)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	uintptr_t producer = raw_stream_open(fixture.context);
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	options.release = count_release;
	for (int given = 0; given < 2; given++) {
		atomic_int released = 0;
		struct bi_cai cai = given ? bytes_on(&raw, producer) : bytes_of(&raw);
		struct bi_view *view, *flipped;

		options.release_data = &released;
		view = imported(&cai, &options);
		OK(bi_view_flip(view, 0, &flipped, &error));
		bi_view_release(view);
		fill(flipped, NULL, 1);
		assert_int_equal(released, 0);
		if (!given)
			OK(bi_view_synchronize(flipped, &error));
		bi_view_release(flipped);
		assert_int_equal(released, 1);
	}
	raw_close(&raw);
	raw_stream_close(fixture.context, producer);
}

/* Work that nobody has waited for may still touch the producer's memory. */
static void cai_C8_pending_memory_is_kept(void **state)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	atomic_int released = 0;
	struct bi_view *view;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	options.release = count_release;
	options.release_data = &released;
	view = imported(&cai, &options);
	fill(view, NULL, 1);
	bi_view_release(view);
	OK(bi_stream_synchronize(bi_context_stream(fixture.context), &error));
	OK(bi_context_trim(fixture.context, SIZE_MAX, &error));
	assert_int_equal(released, 1);
	raw_close(&raw);
}

static void cai_C9_readonly_stays(void **state)
{
	struct bi_view *view, *part, *all;
	unsigned char value = 1;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	cai.readonly = 1;
	view = imported(&cai, NULL);
	OK(bi_view_flip(view, 0, &part, &error));
	assert_int_equal(bi_view_flags(part), BI_VIEW_READONLY);
	all = view_all(bi_view_memory(view), N);
	assert_int_equal(bi_view_flags(all), BI_VIEW_READONLY);
	bi_view_release(all);
	REFUSED_FOR(BI_EREADONLY, "", bi_fill(part, &value, NULL, &error));
	OK(bi_cai_export(part, 3, 0, &cai, &error));
	assert_int_equal(cai.readonly, 1);
	bi_view_release(part);
	bi_view_release(view);
	raw_close(&raw);
}

static void cai_C13_descr_of_a_simple_type_is_a_warning(void **state)
{
	static const char wrong[] = "[('x', '<f4')]", right[] = "[('', '|u1')]";
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	cai.descr = right;
	cai.descr_length = sizeof(right) - 1;
	bi_view_release(imported(&cai, NULL));
	assert_int_equal(cai_test.lines, 0);
	cai.descr = wrong;
	cai.descr_length = sizeof(wrong) - 1;
	bi_view_release(imported(&cai, NULL));
	assert_int_equal(cai_test.lines, 1);
	assert_non_null(strstr(cai_test.log, "[C13]"));
	assert_non_null(strstr(cai_test.log, "|u1"));
	raw_close(&raw);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_contexts, close_contexts)

int imports_group(void)
{
	const struct CMUnitTest tests[] = {
		CASE(cai_round_trip_of_random_views),
		CASE(cai_C5_without_elements_nothing_is_asked),
		CASE(cai_C6_stream_0_is_refused),
		CASE(cai_C6_stream_of_another_context_is_refused),
		CASE(cai_C7_work_is_ordered_on_the_stream_that_is_named),
		CASE(cai_C7_no_stream_is_no_wait),
		CASE(cai_C7_producer_stream_is_believed_instead),
		CASE(cai_C7_producer_stream_is_one_of_the_context),
		CASE(cai_C7_opt_out_of_a_call),
		CASE(cai_C7_opt_out_of_a_process),
		CASE(cai_C7_own_export_is_ordered_like_any_other),
		CASE(cai_C8_release_once_when_the_last_view_goes),
		CASE(cai_C8_pending_memory_is_kept),
		CASE(cai_C9_readonly_stays),
		CASE(cai_C13_descr_of_a_simple_type_is_a_warning),
	};

	return cmocka_run_group_tests_name("imports", tests, NULL, NULL);
}
