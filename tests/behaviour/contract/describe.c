/* Views as they are described to others, and handles whose place is asked for. */
#include "buffer_interface/dlpack.h"
#include "buffer_interface/binding.h"
#include "driver.h"
#include "contract.h"

#include <stddef.h>
#include <stdlib.h>

static void check_flags(const struct bi_exchange *exchange, const struct bi_layout *layout, unsigned flags)
{
	unsigned expected = flags & BI_VIEW_READONLY ? BI_READONLY : 0;

	if (bi_layout_is_contiguous(layout, 'C'))
		expected |= BI_C_CONTIGUOUS;
	if (bi_layout_is_contiguous(layout, 'F'))
		expected |= BI_F_CONTIGUOUS;
	assert_int_equal(exchange->flags, expected);
}

/* A list has as many brackets in JSON as in Python's notation, one for each field and list. */
static void check_descr(const struct bi_exchange *exchange, const struct bi_layout *layout)
{
	int open = 0;

	assert_int_equal(exchange->descr != NULL, exchange->type_code == 3);
	if (!layout->descr)
		return;
	for (const char *at = exchange->descr; *at; at++)
		open += *at == '[' ? 1 : *at == ']' ? -1 : 0;
	assert_int_equal(open, 0);
	assert_int_equal(exchange->descr[0], '[');
}

/* Every byte is written, whatever was there, and says what an export says; who lets go differs. */
static void describe(const struct bi_view *view)
{
	struct bi_exchange described = BI_EXCHANGE_INIT, exported = BI_EXCHANGE_INIT;
	struct bi_layout layout;

	memset(&described.release, 0x5a, sizeof(described) - offsetof(struct bi_exchange, release));
	memset(&exported.release, 0xa5, sizeof(exported) - offsetof(struct bi_exchange, release));
	OK(bi_view_export(view, BI_ACQUIRE_BORROW, &described, &error));
	OK(bi_view_export(view, 0, &exported, &error));
	bi_view_layout(view, &layout);
	check_flags(&described, &layout, bi_view_flags(view));
	check_descr(&described, &layout);
	exported.release(&exported);
	assert_null(exported.release);
	exported.release = described.release;
	exported.owner = described.owner;
	assert_memory_equal(&described, &exported, sizeof(described));
	described.release(&described);
	assert_null(described.release);
	fixture.cases++;
}

static void test_description_is_that_of_an_export(void **state)
{
	(void)state;
	for (int i = 0; i < effort(300); i++) {
		enum place place = i % 2 ? PLACE_DEVICE : PLACE_HOST;
		int64_t shape[BI_MAX_NDIM];
		int ndim = random_shape(shape);
		struct bi_layout layout;
		struct oracle oracle;
		struct bi_view *view;

		random_layout(&layout, random_item(), ndim, shape, random_source_spread());
		oracle_open(&oracle, fixture.context, place, settle_randomly(&layout));
		view = view_of(&oracle, &layout, i % 3 ? 0 : BI_VIEW_READONLY);
		describe(view);
		bi_view_release(view);
		oracle_close(&oracle);
	}
}

/* The view has no elements: it is dense in both orders and has no address. Releases the view. */
static void check_nothing(struct bi_view *view, int64_t offset)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_dl_tensor tensor;
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	assert_int_equal(layout.offset, offset);

	OK(bi_view_export(view, BI_ACQUIRE_BORROW, &exchange, &error));
	assert_int_equal(exchange.flags, BI_C_CONTIGUOUS | BI_F_CONTIGUOUS);
	OK(bi_dlpack_describe(view, &tensor, &error));
	assert_null(tensor.data);
	assert_int_equal(tensor.byte_offset, 0);
	bi_view_release(view);
	fixture.cases++;
}

static struct bi_view *part_of(const struct bi_view *view, const struct bi_index *items, int count)
{
	struct bi_view *out = STALE(struct bi_view);

	OK(bi_view_index(view, items, count, &out, &error));
	return out;
}

/* Views that have no element, because a slice took none or because their source has none. */
static void test_views_of_nothing(void **state)
{
	static const int64_t shape[] = { 4, 6 };
	static const struct bi_index every_second[] = { { BI_INDEX_ELLIPSIS, 0, 0, 0 },
							{ BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, 2 } };
	static const struct bi_index no_row = { BI_INDEX_SLICE, 2, 2, 1 };
	static const struct bi_index no_column[] = { { BI_INDEX_SLICE, 1, BI_OMITTED, -1 },
						     { BI_INDEX_SLICE, 1, 0, 1 } };
	static const struct bi_index from_second[] = { { BI_INDEX_ELLIPSIS, 0, 0, 0 },
						       { BI_INDEX_SLICE, 1, BI_OMITTED, 1 } };
	static const struct bi_index second[] = { { BI_INDEX_ELLIPSIS, 0, 0, 0 }, { BI_INDEX_INTEGER, 1, 0, 0 } };
	struct bi_view *whole, *gaps, *nothing, *turned;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 2, shape, &whole, &error));
	OK(bi_view_synchronize(whole, &error));
	gaps = part_of(whole, every_second, 2);
	check_nothing(part_of(gaps, &no_row, 1), 0);
	check_nothing(part_of(gaps, no_column, 2), 24);
	nothing = part_of(gaps, &no_row, 1);
	check_nothing(part_of(nothing, from_second, 2), 0);
	check_nothing(part_of(nothing, second, 2), 0);
	OK(bi_view_permute(nothing, NULL, &turned, &error));
	check_nothing(turned, 0);
	bi_view_release(nothing);
	bi_view_release(gaps);
	bi_view_release(whole);
}

/* The text of a field is a part of that of the record, and ends with a NUL all the same. */
static void test_descr_of_a_field(void **state)
{
	static const char record[] = "[('a', '<i4'), ('b', [('x', '<f4'), ('y', '<f8')], (2,)), ('c', '|u1')]";
	const int64_t shape[] = { 5 };
	static const struct bi_index but_first = { BI_INDEX_SLICE, 1, BI_OMITTED, 1 };
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_dtype dtype;
	struct bi_view *empty, *whole, *inner, *part;

	(void)state;
	OK(bi_dtype_parse_descr(record, &dtype, &error));
	OK(bi_view_empty(fixture.context, dtype, 1, shape, &empty, &error));
	OK(bi_view_reinterpret(empty, dtype, record, &whole, &error));
	OK(bi_view_field(whole, "b", &inner, &error));
	bi_view_release(empty);
	bi_view_release(whole);
	describe(inner);
	OK(bi_view_export(inner, BI_ACQUIRE_BORROW, &exchange, &error));
	assert_string_equal(exchange.descr, "[[\"x\", \"<f4\"], [\"y\", \"<f8\"]]");
	part = part_of(inner, &but_first, 1);
	bi_view_release(inner);
	describe(part);
	OK(bi_view_export(part, BI_ACQUIRE_BORROW, &exchange, &error));
	assert_string_equal(exchange.descr, "[[\"x\", \"<f4\"], [\"y\", \"<f8\"]]");
	bi_view_release(part);
}

/* What is borrowed is known again: the import is a view with a reference of its own. */
static void test_a_description_comes_back(void **state)
{
	const int64_t shape[] = { 3, 4 };
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_view *view, *again;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("<i2"), 2, shape, &view, &error));
	OK(bi_view_export(view, BI_ACQUIRE_BORROW, &exchange, &error));
	OK(bi_view_import(fixture.context, &exchange, 0, &again, &error));
	assert_null(exchange.release);
	assert_ptr_equal(bi_view_memory(again), bi_view_memory(view));
	bi_view_release(view);
	assert_int_equal(bi_view_shape(again)[1], 4);
	bi_view_release(again);
}

/* Where pointers have 32 bits, a handle of more bits is refused, not cut. */
static void test_handles_above_the_largest_pointer(void **state)
{
	static const char *const names[] = { "handle", "stream", "event" };
	static const unsigned char bytes[3];
	const struct bi_exchange right = exchange_of(bytes);
	struct bi_exchange exchange = right;
	struct bi_view *view;

	(void)state;
	OK(bi_view_import(fixture.context, &exchange, 0, &view, &error));
	bi_view_release(view);
	for (int i = 0; UINTPTR_MAX < UINT64_MAX && i < 3; i++) {
		exchange = right;
		*(i == 0 ? &exchange.handle : i == 1 ? &exchange.stream : &exchange.event) |= UINT64_C(1) << 32;
		REFUSED(BI_EINVAL, bi_view_import(fixture.context, &exchange, 0, &view, &error));
		assert_non_null(strstr(error.message, names[i]));
		assert_non_null(strstr(error.message, "is above the largest handle 0xffffffff"));
		assert_non_null(exchange.release);
	}
}

static void test_arguments_of_describe(void **state)
{
	const int64_t shape[] = { 3 };
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_view *view;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("<i2"), 1, shape, &view, &error));
	REFUSED(BI_EINVAL, bi_view_export(NULL, BI_ACQUIRE_BORROW, &exchange, &error));
	REFUSED(BI_EINVAL, bi_view_export(view, BI_ACQUIRE_BORROW, NULL, &error));
	REFUSED(BI_EINVAL, bi_view_switch_to_context_stream(NULL, &error));
	bi_view_release(view);
}

/* A context that is opened with the answer reaches the memory. */
static void open_there(const struct bi_location *location, struct bi_context **out)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.adopt_context = location->context;
	*out = open_with(location->device, options);
	assert_int_equal(bi_context_device(*out)->ordinal, bi_context_device(fixture.context)->ordinal);
	assert_true(bi_context_handle(*out) == bi_context_handle(fixture.context));
}

static void test_memory_is_located(void **state)
{
	const int64_t shape[] = { 16 };
	struct bi_location location;
	struct bi_context *context;
	struct bi_native native;
	struct bi_view *view;
	char first[sizeof(location.device)]; /* device of a native context */

	(void)state;
	if (!is_device(fixture.context))
		skip();
	OK(bi_view_empty(fixture.context, dtype_of("|u1"), 1, shape, &view, &error));
	OK(bi_view_synchronize(view, &error));
	bi_view_native(view, &native);
	memset(&location, 0x5a, sizeof(location));
	OK(bi_locate_memory(native.kind, native.handle, &location, &error));
	if (is_cuda(fixture.context)) {
		assert_string_equal(location.device, bi_context_device(fixture.context)->spec);
		assert_int_equal(location.context, 0);
	} else {
		snprintf(first, sizeof(first), "%s:0", bi_context_device(fixture.context)->backend);
		assert_string_equal(location.device, first);
		assert_true(location.context == bi_context_handle(fixture.context));
	}
	open_there(&location, &context);
	bi_context_release(context);
	bi_view_release(view);
	fixture.cases++;
}

static void test_queue_is_located(void **state)
{
	struct bi_location location;
	struct bi_context *context;
	uintptr_t queue = bi_stream_handle(bi_context_stream(fixture.context));

	(void)state;
	if (!is_opencl(fixture.context))
		skip();
	OK(bi_locate_queue(BI_ORDER_OPENCL, queue, &location, &error));
	assert_true(location.context == bi_context_handle(fixture.context));
	open_there(&location, &context);
	assert_string_equal(bi_context_device(context)->name, bi_context_device(fixture.context)->name);
	bi_context_release(context);
	fixture.cases++;
}

static void test_what_cannot_be_located(void **state)
{
	static unsigned char bytes[16];
	struct bi_location location;

	(void)state;
	REFUSED(BI_EUNSUPPORTED, bi_locate_memory(BI_HANDLE_HOST, (uintptr_t)bytes, &location, &error));
	REFUSED(BI_EUNSUPPORTED, bi_locate_memory(BI_HANDLE_CL_SVM, (uintptr_t)bytes, &location, &error));
	REFUSED(BI_EINVAL, bi_locate_memory(BI_HANDLE_CL_MEM, 0, &location, &error));
	REFUSED(BI_EINVAL, bi_locate_memory(BI_HANDLE_CUDA, 0, &location, &error));
	REFUSED(BI_EINVAL, bi_locate_memory(BI_HANDLE_CUDA, 1, NULL, &error));
	REFUSED(BI_EINVAL, bi_locate_queue(BI_ORDER_OPENCL, 0, &location, &error));
	REFUSED(BI_EINVAL, bi_locate_queue(BI_ORDER_OPENCL, 1, NULL, &error));
	REFUSED(BI_EUNSUPPORTED, bi_locate_queue(BI_ORDER_NONE, 1, &location, &error));
	REFUSED(BI_EUNSUPPORTED, bi_locate_queue(BI_ORDER_CUDA, 1, &location, &error));
	REFUSED(BI_EUNSUPPORTED, bi_locate_queue((enum bi_order_kind)(32 + BI_ORDER_OPENCL), 1, &location, &error));
	if (is_cuda(fixture.context))
		REFUSED(BI_EINVAL, bi_locate_memory(BI_HANDLE_CUDA, (uintptr_t)bytes, &location, &error));
}

static void test_idle_memory_is_told(void **state)
{
	const uint8_t element = 1;
	const int64_t shape = 64;
	struct bi_native native;
	struct bi_view *view;

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("|u1"), 1, &shape, &view, &error));
	/* What is known outside is not filled at once. */
	bi_view_native(view, &native);
	OK(bi_fill(view, &element, NULL, &error));
	OK(bi_view_synchronize(view, &error));
	assert_int_equal(bi_view_is_idle(view), 1);
	OK(bi_fill(view, &element, NULL, &error));
	assert_int_equal(bi_view_is_idle(view), bi_memory_is_host(bi_view_memory(view)));
	OK(bi_view_synchronize(view, &error));
	assert_int_equal(bi_view_is_idle(view), 1);
	bi_view_release(view);
}

/* A pop without a push leaves the context that is current alone. */
static void check_unmatched_pop(void)
{
	struct bi_context *apart = open_apart();
	int pushed, again;

	/* The context of the fixture may be current already, so that it is popped only while another one is. */
	OK(bi_context_push_current(apart, &pushed, &error));
	bi_context_pop_current(fixture.context, 1);
	OK(bi_context_push_current(apart, &again, &error));
	assert_int_equal(again, 0);
	bi_context_pop_current(apart, pushed);
	bi_context_release(apart);
	fixture.cases++;
}

/* Only CUDA has a context that is current on a thread. One that is current already is not pushed again. */
static void test_context_is_pushed_and_popped(void **state)
{
	int is_cuda = strcmp(bi_context_device(fixture.context)->backend, "cuda") == 0;
	int before = -1;

	(void)state;
	for (int round = 0; round < 2; round++) {
		int first = -1, second = -1;

		OK(bi_context_push_current(fixture.context, &first, &error));
		OK(bi_context_push_current(fixture.context, &second, &error));
		assert_true(first == 0 || (first == 1 && is_cuda));
		assert_int_equal(second, 0);
		bi_context_pop_current(fixture.context, second);
		OK(bi_context_push_current(fixture.context, &second, &error));
		assert_int_equal(second, 0);
		bi_context_pop_current(fixture.context, first);
		assert_true(before == -1 || before == first);
		before = first;
	}
	check_unmatched_pop();
	REFUSED(BI_EINVAL, bi_context_push_current(NULL, NULL, &error));
	REFUSED(BI_EINVAL, bi_context_push_current(fixture.context, NULL, &error));
	bi_context_pop_current(NULL, 1);
}

int describe_group(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_description_is_that_of_an_export),
		TEST(test_views_of_nothing),
		TEST(test_descr_of_a_field),
		TEST(test_a_description_comes_back),
		TEST(test_handles_above_the_largest_pointer),
		TEST(test_arguments_of_describe),
		TEST(test_memory_is_located),
		TEST(test_queue_is_located),
		TEST(test_what_cannot_be_located),
		TEST(test_idle_memory_is_told),
		TEST(test_context_is_pushed_and_popped),
	};

	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
