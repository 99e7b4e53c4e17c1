/* Native objects that somebody else made: adopted, wrapped, given back. Skipped on the host, which has none. */
#include "driver.h"
#include "buffer_interface/binding.h"
#include "contract.h"
#include "support/use.h"

#include <stdatomic.h>
#include <stdio.h>

static const struct outside *outside_or_skip(void)
{
	const struct outside *outside = outside_of(fixture.context);

	if (!outside)
		skip();
	return outside;
}

static uintptr_t native(void)
{
	return bi_context_handle(fixture.context);
}

static struct bi_options adopting(uintptr_t context, uintptr_t stream, atomic_int *released)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.adopt_context = context;
	options.adopt_stream = stream;
	options.release = count_release;
	options.release_data = released;
	return options;
}

/* Writes through the library and reads behind its back, on the queue that both share. */
static void check_works(struct bi_context *context)
{
	static const int64_t shape[] = { 3, 5 }, strides[] = { 4, -12 };
	struct bi_layout layout;
	struct oracle oracle;
	struct bi_view *view, *turned;

	OK(bi_layout_init(&layout, dtype_of("int32"), 2, shape, strides, 48, &error));
	oracle_open(&oracle, context, PLACE_DEVICE, 64);
	view = view_of(&oracle, &layout, 0);
	OK(bi_fill(view, "\1\2\3\4", NULL, &error));
	naive_fill(oracle.bytes, &layout, "\1\2\3\4");
	OK(bi_view_permute(view, NULL, &turned, &error));
	OK(bi_copy(turned, turned, NULL, &error));
	oracle_check(&oracle, "adopted context");
	bi_view_release(turned);
	bi_view_release(view);
	oracle_close(&oracle);
}

static void test_adopted_context(void **state)
{
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	uintptr_t handle = outside->new_context(fixture.context);
	struct bi_context *context = open_with(outside->backend, adopting(handle, 0, &released));

	(void)state;
	assert_int_equal(bi_context_handle(context), handle);
	assert_string_equal(bi_context_device(context)->name, bi_context_device(fixture.context)->name);
	assert_true(!outside->references || outside->references(DRIVER_CONTEXT, handle) > 1);
	check_works(context);
	assert_int_equal(released, 0);
	bi_context_release(context);
	assert_int_equal(released, 1);
	expect_references(outside, DRIVER_CONTEXT, handle, 1);
	outside->release(DRIVER_CONTEXT, 0, handle);
	fixture.cases++;
}

static void test_adopted_stream(void **state)
{
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	uintptr_t handle = outside->new_context(fixture.context), stream = outside->new_stream(handle);
	struct bi_context *context = open_with(outside->backend, adopting(handle, stream, &released));

	(void)state;
	assert_int_equal(bi_stream_handle(bi_context_stream(context)), stream);
	check_works(context);
	bi_context_release(context);
	assert_int_equal(released, 1);
	expect_references(outside, DRIVER_STREAM, stream, 1);
	outside->release(DRIVER_STREAM, handle, stream);
	expect_references(outside, DRIVER_CONTEXT, handle, 1);
	outside->release(DRIVER_CONTEXT, 0, handle);
	fixture.cases++;
}

/* Two contexts of the library over one native context share streams and memory without a host wait. */
static void test_shared_context(void **state)
{
	static const int64_t shape[] = { 100 };
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	struct bi_context *context = open_with(outside->backend, adopting(native(), 0, &released));
	struct bi_view *here, *there;
	unsigned char bytes[100];

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &here, &error));
	OK(bi_view_empty(context, dtype_of("uint8"), 1, shape, &there, &error));
	OK(bi_fill(here, "h", NULL, &error));
	OK(bi_copy(there, here, bi_context_stream(fixture.context), &error));
	OK(bi_fill(here, "i", NULL, &error));
	OK(bi_view_read(there, bytes, sizeof(bytes), &error));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 'h');
	bi_view_release(there);
	bi_view_release(here);
	bi_context_release(context);
	assert_int_equal(released, 1);
	fixture.cases++;
}

/* Copies between two contexts leave nothing behind that keeps one of them open. */
static void test_copies_across_let_go(void **state)
{
	static const int64_t shape[] = { 100 };
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	uintptr_t handle = outside->new_context(fixture.context);
	struct bi_context *context = open_with(outside->backend, adopting(handle, 0, &released));
	struct bi_view *here, *there;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &here, &error));
	OK(bi_view_empty(context, dtype_of("uint8"), 1, shape, &there, &error));
	OK(bi_fill(here, "h", NULL, &error));
	for (int i = 0; i < 3; i++) {
		OK(bi_copy(there, here, NULL, &error));
		check_order(bi_view_memory(here));
		OK(bi_copy(here, there, NULL, &error));
		check_order(bi_view_memory(there));
	}
	OK(bi_view_synchronize(here, &error));
	bi_view_release(there);
	bi_view_release(here);
	bi_context_release(context);
	let_go_of_retired(fixture.context);
	assert_int_equal(released, 1);
	expect_references(outside, DRIVER_CONTEXT, handle, 1);
	outside->release(DRIVER_CONTEXT, 0, handle);
	fixture.cases++;
}

static void refuse_adoption(const char *spec, struct bi_options options)
{
	struct bi_context *context = STALE(struct bi_context);

	options.device = spec;
	FAILS(bi_context_open(&options, &context, &error));
	assert_null(context);
	fixture.cases++;
}

/* The callback is taken on success only. */
static void test_refused_adoption(void **state)
{
	const struct outside *outside = outside_or_skip();
	const char *other_backend = is_opencl(fixture.context) ? "cuda" : "opencl";
	atomic_int released = 0;
	uintptr_t handle = outside->new_context(fixture.context), other = outside->new_context(fixture.context);
	uintptr_t stream = outside->new_stream(other);
	char seventh[24], no_number[24];

	(void)state;
	snprintf(seventh, sizeof(seventh), "%s:7", outside->backend);
	snprintf(no_number, sizeof(no_number), "%s:x", outside->backend);
	refuse_adoption(seventh, adopting(handle, 0, &released));
	refuse_adoption(no_number, adopting(handle, 0, &released));
	refuse_adoption("host", adopting(handle, 0, &released));
	refuse_adoption("vulkan", adopting(handle, 0, &released));
	refuse_adoption(outside->backend, adopting(handle, stream, &released));
	refuse_adoption(outside->backend, adopting(0, stream, &released));
	refuse_adoption(other_backend, adopting(0, stream, &released));
	assert_int_equal(released, 0);
	expect_references(outside, DRIVER_STREAM, stream, 1);
	outside->release(DRIVER_STREAM, other, stream);
	expect_references(outside, DRIVER_CONTEXT, handle, 1);
	expect_references(outside, DRIVER_CONTEXT, other, 1);
	outside->release(DRIVER_CONTEXT, 0, handle);
	outside->release(DRIVER_CONTEXT, 0, other);
}

static struct bi_stream *wrap_stream(uintptr_t handle, atomic_int *released)
{
	struct bi_stream *stream = STALE(struct bi_stream);

	OK(bi_stream_wrap(fixture.context, handle, count_release, released, &stream, &error));
	assert_int_equal(bi_stream_handle(stream), handle);
	return stream;
}

static void test_wrapped_stream(void **state)
{
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	uintptr_t handle = outside->new_stream(native());
	struct bi_stream *stream = wrap_stream(handle, &released);

	(void)state;
	expect_references(outside, DRIVER_STREAM, handle, 2);
	OK(bi_stream_synchronize(stream, &error));
	bi_stream_release(stream);
	assert_int_equal(released, 1);
	expect_references(outside, DRIVER_STREAM, handle, 1);
	outside->release(DRIVER_STREAM, native(), handle);
	fixture.cases++;
}

static void test_refused_streams(void **state)
{
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	uintptr_t other = outside->new_context(fixture.context), handle = outside->new_stream(other);
	struct bi_stream *stream = STALE(struct bi_stream);

	(void)state;
	REFUSED(BI_EINVAL, bi_stream_wrap(fixture.context, handle, count_release, &released, &stream, &error));
	assert_null(stream);
	REFUSED(BI_EINVAL, bi_stream_wrap(fixture.context, 0, count_release, &released, &stream, &error));
	assert_int_equal(released, 0);
	expect_references(outside, DRIVER_STREAM, handle, 1);
	outside->release(DRIVER_STREAM, other, handle);
	outside->release(DRIVER_CONTEXT, 0, other);
	fixture.cases += 2;
}

static void test_stream_on_host(void **state)
{
	atomic_int released = 0;
	struct bi_stream *stream = STALE(struct bi_stream);
	struct bi_event *event = STALE(struct bi_event);

	(void)state;
	FAILS(bi_stream_wrap(fixture.host, 0x1000, count_release, &released, &stream, &error));
	assert_null(stream);
	FAILS(bi_event_wrap(fixture.host, 0x1000, &event, &error));
	assert_null(event);
	assert_int_equal(released, 0);
	assert_int_equal(bi_context_handle(fixture.host), 0);
	assert_int_equal(bi_stream_handle(bi_context_stream(fixture.host)), 0);
	fixture.cases += 2;
}

static void test_wrapped_event(void **state)
{
	const struct outside *outside = outside_or_skip();
	uintptr_t stream = outside->new_stream(native()), handle = outside->new_event(native(), stream);
	struct bi_event *event = STALE(struct bi_event);
	int done = 0;

	(void)state;
	OK(bi_event_wrap(fixture.context, handle, &event, &error));
	assert_int_equal(bi_event_handle(event), handle);
	outside->finish(DRIVER_STREAM, native(), stream);
	OK(bi_event_synchronize(event, &error));
	OK(bi_event_query(event, &done, &error));
	assert_int_equal(done, 1);
	bi_event_release(event);
	expect_references(outside, DRIVER_EVENT, handle, 1);
	REFUSED(BI_EINVAL, bi_event_wrap(fixture.context, 0, &event, &error));
	assert_null(event);
	outside->release(DRIVER_EVENT, native(), handle);
	outside->release(DRIVER_STREAM, native(), stream);
	fixture.cases += 2;
}

/* A memory of the driver's, `nbytes` long, with `nbytes` wrapped of it. */
static struct bi_foreign foreign_memory(uintptr_t handle, size_t nbytes, atomic_int *released)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.kind = outside_of(fixture.context)->memory_kind;
	foreign.handle = handle;
	foreign.nbytes = nbytes;
	foreign.release = count_release;
	foreign.release_data = released;
	return foreign;
}

static struct bi_memory *wrap_memory(struct bi_foreign foreign)
{
	struct bi_memory *memory = STALE(struct bi_memory);

	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	return memory;
}

/* What the library wrote is what the driver finds, with nothing but the driver's own wait before. */
static void check_contents(uintptr_t memory, size_t nbytes, int expected)
{
	unsigned char bytes[300] = { 0 };

	assert_true(nbytes <= sizeof(bytes));
	outside_of(fixture.context)->read(native(), memory, 0, nbytes, bytes);
	for (size_t i = 0; i < nbytes; i++)
		assert_int_equal(bytes[i], expected);
}

static void test_wrapped_memory(void **state)
{
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	uintptr_t handle = outside->new_memory(native(), 300);
	struct bi_memory *memory = wrap_memory(foreign_memory(handle, 300, &released));
	struct bi_view *view = bytes_of(memory);
	struct bi_native shown;

	(void)state;
	assert_int_equal(bi_memory_nbytes(memory), 300);
	assert_false(bi_memory_is_host(memory));
	expect_references(outside, DRIVER_MEMORY, handle, 2);
	OK(bi_fill(view, "q", NULL, &error));
	OK(bi_view_synchronize(view, &error));
	check_contents(handle, 300, 'q');
	bi_view_native(view, &shown);
	assert_int_equal(shown.kind, outside->memory_kind);
	assert_int_equal(shown.handle, handle);
	assert_int_equal(shown.offset, 0);
	assert_int_equal(shown.nbytes, 300);
	bi_view_release(view);
	assert_int_equal(released, 0);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
	expect_references(outside, DRIVER_MEMORY, handle, 1);
	memory = wrap_memory(foreign_memory(handle, 200, &released));
	assert_int_equal(bi_memory_nbytes(memory), 200);
	bi_memory_release(memory);
	assert_int_equal(released, 2);
	outside->release(DRIVER_MEMORY, native(), handle);
	fixture.cases += 2;
}

/*
 * Who names his stream may go on there: his stream alone tells when our work is done, and letting go does not wait for
 * it.
 */
static void test_producer_stream(void **state)
{
	const struct outside *outside = outside_or_skip();

	(void)state;
	for (int i = 0; i < effort(8); i++) {
		atomic_int released = 0;
		uintptr_t handle = outside->new_memory(native(), 300), queue = outside->new_stream(native());
		struct bi_foreign foreign = foreign_memory(handle, 300, &released);
		struct bi_stream *stream, *other;
		struct bi_view *view;

		foreign.stream = wrap_stream(queue, &released);
		stream = random_stream(bi_view_memory(view = bytes_of(wrap_memory(foreign))));
		other = random_stream(bi_view_memory(view));
		bi_stream_release(foreign.stream);
		bi_memory_release(bi_view_memory(view));
		OK(bi_fill(view, "p", stream, &error));
		OK(bi_fill(view, "r", other, &error));
		bi_stream_release(stream);
		bi_stream_release(other);
		bi_view_release(view);
		assert_int_equal(released, 2);
		outside->finish(DRIVER_STREAM, native(), queue);
		check_contents(handle, 300, 'r');
		outside->release(DRIVER_MEMORY, native(), handle);
		outside->release(DRIVER_STREAM, native(), queue);
		fixture.cases++;
	}
}

/* Work is pending on what this memory's home is; then it is not. */
static void check_release_waits(const struct bi_view *view)
{
	assert_int_equal(bi_view_release_is_immediate(view), 0);
	OK(bi_view_synchronize(view, &error));
	assert_int_equal(bi_view_release_is_immediate(view), 1);
}

/* What lets go without waiting is idle, or foreign memory whose home is the stream that its producer named. */
static void test_releases_at_once(void **state)
{
	static const int64_t shape[] = { 300 };
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	uintptr_t handle = outside->new_memory(native(), 300), queue = outside->new_stream(native());
	struct bi_foreign named = foreign_memory(handle, 300, &released);
	struct bi_view *own, *unnamed, *view;
	struct bi_native shown;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &own, &error));
	/* So that it is not filled at once. */
	bi_view_native(own, &shown);
	OK(bi_fill(own, "o", NULL, &error));
	check_release_waits(own);
	bi_view_release(own);
	unnamed = bytes_of(wrap_memory(foreign_memory(handle, 300, &released)));
	assert_int_equal(bi_view_release_is_immediate(unnamed), 1);
	OK(bi_fill(unnamed, "u", NULL, &error));
	check_release_waits(unnamed);
	bi_memory_release(bi_view_memory(unnamed));
	bi_view_release(unnamed);
	named.stream = wrap_stream(queue, &released);
	view = bytes_of(wrap_memory(named));
	bi_stream_release(named.stream);
	assert_int_equal(bi_view_is_idle(view), 0);
	assert_int_equal(bi_view_release_is_immediate(view), 1);
	/* A consumer may work on the context stream after every wait. */
	OK(bi_view_switch_to_context_stream(view, &error));
	assert_int_equal(bi_view_release_is_immediate(view), 0);
	OK(bi_view_synchronize(view, &error));
	assert_int_equal(bi_view_release_is_immediate(view), 0);
	bi_memory_release(bi_view_memory(view));
	bi_view_release(view);
	assert_int_equal(released, 3);
	outside->finish(DRIVER_STREAM, native(), queue);
	outside->release(DRIVER_MEMORY, native(), handle);
	outside->release(DRIVER_STREAM, native(), queue);
	fixture.cases += 3;
}

/*
 * The first view that bi_view_wrap makes is let go with its memory, or before: others of the memory may be the last.
 */
static void test_first_view_goes_first(void **state)
{
	static unsigned char bytes[] = { 1, 2, 3, 4 };
	static const int64_t shape[] = { 4 };
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	const struct bi_index tail = { BI_INDEX_SLICE, 2, 4, 1 };
	atomic_int released = 0;
	struct bi_layout layout;
	struct bi_view *first, *last;
	unsigned char read[2];

	(void)state;
	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = sizeof(bytes);
	foreign.release = count_release;
	foreign.release_data = &released;
	OK(bi_layout_init(&layout, dtype_of("uint8"), 1, shape, NULL, 0, &error));
	OK(bi_view_wrap(fixture.context, &foreign, &layout, &first, &error));
	OK(bi_view_index(first, &tail, 1, &last, &error));
	bi_view_release(first);
	assert_int_equal(released, 0);
	OK(bi_view_read(last, read, sizeof(read), &error));
	assert_memory_equal(read, bytes + 2, 2);
	bi_view_release(last);
	assert_int_equal(released, 1);
	OK(bi_view_wrap(fixture.context, &foreign, &layout, &first, &error));
	OK(bi_view_index(first, &tail, 1, &last, &error));
	bi_view_release(last);
	bi_view_release(first);
	assert_int_equal(released, 2);
	fixture.cases += 2;
}

/* Somebody else works on our memory on a stream of his, between two calls that say so. */
static void test_foreign_work(void **state)
{
	static const int64_t shape[] = { 200 };
	const struct outside *outside = outside_or_skip();

	(void)state;
	for (int i = 0; i < effort(8); i++) {
		atomic_int released = 0;
		uintptr_t queue = outside->new_stream(native());
		struct bi_stream *theirs = wrap_stream(queue, &released), *ours;
		struct bi_view *view, *copy;
		struct bi_native shown;
		unsigned char bytes[200];

		OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &view, &error));
		OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &copy, &error));
		ours = random_stream(bi_view_memory(view));
		bi_view_native(view, &shown);
		OK(bi_fill(view, "a", ours, &error));
		OK(begin_use(view, theirs, &error));
		outside->fill(native(), queue, shown.handle, 200, 'b');
		OK(end_use(view, theirs, &error));
		check_order(bi_view_memory(view));
		OK(bi_copy(copy, view, ours, &error));
		OK(bi_fill(view, "c", NULL, &error));
		OK(bi_view_read(copy, bytes, sizeof(bytes), &error));
		for (size_t j = 0; j < sizeof(bytes); j++)
			assert_int_equal(bytes[j], 'b');
		bi_stream_release(ours);
		bi_stream_release(theirs);
		bi_view_release(copy);
		bi_view_release(view);
		outside->finish(DRIVER_STREAM, native(), queue);
		outside->release(DRIVER_STREAM, native(), queue);
		fixture.cases++;
	}
}

/* Who takes an array over waits for the stream, or the event, that the struct names, and for nothing else. */
static void test_exported_order(void **state)
{
	static const int64_t shape[] = { 200 };
	const struct outside *outside = outside_or_skip();

	(void)state;
	for (int i = 0; i < effort(8); i++) {
		struct bi_exchange exchange = BI_EXCHANGE_INIT;
		struct bi_stream *stream;
		struct bi_native shown;
		struct bi_view *view;

		OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &view, &error));
		bi_view_native(view, &shown);
		stream = random_stream(bi_view_memory(view));
		OK(bi_fill(view, "x", stream, &error));
		OK(bi_view_export(view, 0, &exchange, &error));
		bi_stream_release(stream);
		assert_true(exchange.stream != 0);
		outside->finish(DRIVER_STREAM, native(), (uintptr_t)exchange.stream);
		check_contents((uintptr_t)exchange.handle, 200, 'x');
		/* What is put on the named stream needs no more to be in order with what we do next. */
		outside->fill(native(), (uintptr_t)exchange.stream, (uintptr_t)exchange.handle, 200, 'y');
		OK(bi_fill(view, "z", NULL, &error));
		OK(bi_view_synchronize(view, &error));
		check_contents((uintptr_t)exchange.handle, 200, 'z');
		bi_view_release(view);
		exchange.release(&exchange);
		fixture.cases++;
	}
}

/* A struct that goes out and comes back in is another view of the memory, and nothing that it held stays behind. */
static void test_own_export_comes_back(void **state)
{
	static const int64_t shapes[][2] = { { 5, 4 }, { 0, 4 } };
	const struct outside *outside = outside_or_skip();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		atomic_int released = 0;
		uintptr_t handle = outside->new_context(fixture.context);
		struct bi_context *context = open_with(outside->backend, adopting(handle, 0, &released));
		struct bi_exchange exchange = BI_EXCHANGE_INIT;
		struct bi_view *view, *back;

		OK(bi_view_empty(context, dtype_of("int32"), 2, shapes[i], &view, &error));
		OK(bi_view_export(view, 0, &exchange, &error));
		OK(bi_view_import(context, &exchange, 0, &back, &error));
		assert_null(exchange.release);
		assert_ptr_equal(bi_view_memory(back), bi_view_memory(view));
		bi_view_release(view);
		OK(bi_fill(back, "\1\2\3\4", NULL, &error));
		bi_view_release(back);
		bi_context_release(context);
		assert_int_equal(released, 1);
		expect_references(outside, DRIVER_CONTEXT, handle, 1);
		outside->release(DRIVER_CONTEXT, 0, handle);
		fixture.cases++;
	}
}

/* The descr of a field is part of a longer text; the struct has it as a text of its own. */
static void test_exported_descr(void **state)
{
	static const int64_t shape[] = { 3 };
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_dtype dtype;
	struct bi_view *raw, *whole, *inner;

	(void)state;
	OK(bi_dtype_parse_descr("[('a', '<i4'), ('b', [('x', '|u1'), ('y', '|u1')]), ('c', '<i2')]", &dtype, &error));
	OK(bi_view_empty(fixture.context, dtype, 1, shape, &raw, &error));
	OK(bi_view_reinterpret(raw, dtype, "[('a', '<i4'), ('b', [('x', '|u1'), ('y', '|u1')]), ('c', '<i2')]", &whole,
			       &error));
	OK(bi_view_field(whole, "b", &inner, &error));
	OK(bi_view_export(inner, 0, &exchange, &error));
	assert_string_equal(exchange.descr, "[[\"x\", \"|u1\"], [\"y\", \"|u1\"]]");
	exchange.release(&exchange);
	bi_view_release(inner);
	bi_view_release(whole);
	bi_view_release(raw);
	fixture.cases++;
}

/* Memory with one address for both is one place, also where the CPU's side of it was wrapped. */
static void test_unified_memory_overlaps_its_address(void **state)
{
	static const int64_t shape[] = { 8 };
	struct bi_layout layout;
	struct bi_memory *memory;
	struct bi_view *device, *turned, *host;

	(void)state;
	if (!is_device(fixture.context) || !can(fixture.context, BI_CAP_SVM))
		skip();
	OK(bi_memory_create(fixture.context, 8, BI_MEMORY_UNIFIED, &memory, &error));
	OK(bi_layout_init(&layout, dtype_of("uint8"), 1, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &device, &error));
	OK(bi_view_write(device, "abcdefgh", 8, &error));
	OK(bi_view_flip(device, 0, &turned, &error));
	OK(bi_view_wrap_host(fixture.context, bi_view_host_pointer(device), dtype_of("uint8"), 1, shape, NULL, NULL,
			     &host, &error));
	OK(bi_copy(host, turned, NULL, &error));
	OK(bi_view_synchronize(host, &error));
	assert_memory_equal(bi_view_host_pointer(device), "hgfedcba", 8);
	bi_view_release(host);
	bi_view_release(turned);
	bi_view_release(device);
	bi_memory_release(memory);
	fixture.cases++;
}

static void refuse_memory(int status, uintptr_t handle, size_t nbytes, unsigned flags, atomic_int *released)
{
	struct bi_foreign foreign = foreign_memory(handle, nbytes, released);
	struct bi_memory *memory = STALE(struct bi_memory);

	foreign.flags = flags;
	REFUSED(status, bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	assert_null(memory);
	fixture.cases++;
}

static void test_refused_memory(void **state)
{
	const struct outside *outside = outside_or_skip();
	atomic_int released = 0;
	uintptr_t other = outside->new_context(fixture.context);
	uintptr_t handle = outside->new_memory(native(), 64), stranger = outside->new_memory(other, 64);

	(void)state;
	refuse_memory(BI_EINVAL, stranger, 64, 0, &released);
	refuse_memory(BI_EINVAL, stranger, 64, BI_WRAP_STEAL, &released);
	refuse_memory(BI_OK, handle, 65, 0, &released);
	refuse_memory(BI_EINVAL, 0, 64, 0, &released);
	assert_int_equal(released, 0);
	expect_references(outside, DRIVER_MEMORY, handle, 1);
	expect_references(outside, DRIVER_MEMORY, stranger, 1);
	outside->release(DRIVER_MEMORY, native(), handle);
	outside->release(DRIVER_MEMORY, other, stranger);
	expect_references(outside, DRIVER_CONTEXT, other, 1);
	outside->release(DRIVER_CONTEXT, 0, other);
}

int foreign_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_adopted_context),       TEST(test_adopted_stream),
		TEST(test_shared_context),        TEST(test_copies_across_let_go),
		TEST(test_refused_adoption),      TEST(test_wrapped_stream),
		TEST(test_refused_streams),       TEST(test_stream_on_host),
		TEST(test_wrapped_event),         TEST(test_wrapped_memory),
		TEST(test_producer_stream),       TEST(test_releases_at_once),
		TEST(test_first_view_goes_first), TEST(test_foreign_work),
		TEST(test_exported_order),        TEST(test_own_export_comes_back),
		TEST(test_exported_descr),        TEST(test_unified_memory_overlaps_its_address),
		TEST(test_refused_memory),
	};

	return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
