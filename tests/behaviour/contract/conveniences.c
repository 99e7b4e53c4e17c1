/* Functions that do in one call what takes a caller several: derived arrays, clones, transfers, shared contexts. */
#include "contract.h"

#include <stdlib.h>

static const int64_t shape[] = { 3, 1, 4 };

/* An array of 3 x 1 x 4 numbers: 0, 1, 2 ... */
static struct bi_view *make_numbers(struct bi_context *context)
{
	int32_t numbers[12];
	struct bi_view *view = STALE(struct bi_view);

	for (int32_t i = 0; i < 12; i++)
		numbers[i] = i;
	OK(bi_view_empty(context, dtype_of("int32"), 3, shape, &view, &error));
	OK(bi_view_write(view, numbers, sizeof(numbers), &error));
	return view;
}

/* Releases the view. */
static void expect_numbers(struct bi_view *view, int ndim, const int64_t *extents, const int32_t *numbers)
{
	int32_t found[12];
	size_t count = 1;

	assert_int_equal(bi_view_ndim(view), ndim);
	for (int i = 0; i < ndim; i++) {
		assert_int_equal(bi_view_shape(view)[i], extents[i]);
		count *= (size_t)extents[i];
	}
	OK(bi_view_read(view, found, count * sizeof(*found), &error));
	assert_memory_equal(found, numbers, count * sizeof(*found));
	bi_view_release(view);
	fixture.cases++;
}

static void test_one_axis(void **state)
{
	const struct bi_index at = { BI_INDEX_INTEGER, -1, 0, 0 }, cut = { BI_INDEX_SLICE, 1, BI_OMITTED, 2 };
	const struct bi_index added = { BI_INDEX_NEWAXIS, 0, 0, 0 }, ellipsis = { BI_INDEX_ELLIPSIS, 0, 0, 0 };
	struct bi_view *all = make_numbers(fixture.context), *view, *none;

	(void)state;
	OK(bi_view_index_axis(all, 0, at, &view, &error));
	expect_numbers(view, 2, (int64_t[]){ 1, 4 }, (int32_t[]){ 8, 9, 10, 11 });
	OK(bi_view_index_axis(all, -1, cut, &view, &error));
	expect_numbers(view, 3, (int64_t[]){ 3, 1, 2 }, (int32_t[]){ 1, 3, 5, 7, 9, 11 });
	for (int axis = 0; axis < 4; axis++) {
		OK(bi_view_index_axis(all, axis < 2 ? axis - 4 : axis, added, &view, &error));
		assert_int_equal(bi_view_ndim(view), 4);
		assert_int_equal(bi_view_shape(view)[axis], 1);
		assert_int_equal(bi_view_shape(view)[axis ? 0 : 1], 3);
		bi_view_release(view);
	}
	view = STALE(struct bi_view);
	REFUSED_FOR(BI_EINVAL, "axis 3 is not in -3..2", bi_view_index_axis(all, 3, cut, &view, &error));
	assert_null(view);
	REFUSED_FOR(BI_EINVAL, "axis -5 is not in -4..3", bi_view_index_axis(all, -5, added, &view, &error));
	REFUSED_FOR(BI_EINVAL, "ellipsis", bi_view_index_axis(all, 0, ellipsis, &view, &error));
	REFUSED(BI_EINVAL, bi_view_index_axis(NULL, 0, at, &view, &error));
	OK(bi_view_empty(fixture.context, bi_view_dtype(all), 0, NULL, &view, &error));
	REFUSED_FOR(BI_EINVAL, "axis is 0, but the array has no axes", bi_view_index_axis(view, 0, at, &none, &error));
	bi_view_release(view);
	OK(bi_view_squeeze(all, &view, &error));
	assert_int_equal(bi_view_ndim(view), 2);
	assert_int_equal(bi_view_shape(view)[1], 4);
	bi_view_release(view);
	REFUSED(BI_EINVAL, bi_view_squeeze(all, NULL, &error));
	bi_view_release(all);
}

static void test_steps(void **state)
{
	struct bi_view *all = make_numbers(fixture.context), *turned;
	int64_t index[3] = { 0 }, expected, bytes = 0;
	struct bi_layout layout;

	(void)state;
	OK(bi_view_permute(all, NULL, &turned, &error));
	bi_view_layout(turned, &layout);
	for (int i = 0; i < 12; i++) {
		OK(bi_layout_element(&layout, index, &expected, &error));
		assert_int_equal(layout.offset + bytes, expected);
		assert_int_equal((index[0] * 1 + index[1]) * 3 + index[2], i);
		bytes += bi_layout_step(&layout, index);
	}
	assert_int_equal(bytes, 0);
	assert_int_equal(index[0] | index[1] | index[2], 0);
	layout.ndim = 0;
	assert_int_equal(bi_layout_step(&layout, NULL), 0);
	bi_view_release(turned);
	bi_view_release(all);
	fixture.cases++;
}

static void test_clones(void **state)
{
	static const int32_t across[] = { 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 };
	const int64_t turned_shape[] = { 4, 1, 3 };
	struct bi_view *all = make_numbers(fixture.context), *turned, *view, *same;
	const int32_t zero = 0;

	(void)state;
	OK(bi_view_permute(all, NULL, &turned, &error));
	OK(bi_view_clone(turned, NULL, &view, &error));
	assert_ptr_not_equal(bi_view_memory(view), bi_view_memory(all));
	assert_ptr_equal(bi_memory_context(bi_view_memory(view)), fixture.context);
	OK(bi_view_contiguous(view, &same, &error));
	assert_ptr_equal(same, view);
	bi_view_release(same);
	/* The copy was made of the elements as they were. */
	OK(bi_fill(all, &zero, NULL, &error));
	expect_numbers(view, 3, turned_shape, across);
	OK(bi_view_contiguous(turned, &view, &error));
	assert_int_equal(bi_view_strides(view)[2], 4);
	bi_view_release(view);
	OK(bi_view_clone(all, fixture.host, &view, &error));
	assert_non_null(bi_view_host_pointer(view));
	bi_view_release(view);
	view = STALE(struct bi_view);
	REFUSED(BI_EINVAL, bi_view_clone(NULL, NULL, &view, &error));
	assert_null(view);
	REFUSED(BI_EINVAL, bi_view_contiguous(turned, NULL, &error));
	bi_view_release(turned);
	bi_view_release(all);
}

static void test_to_device(void **state)
{
	static const int32_t numbers[] = { 5, 6, 7 };
	static const int64_t three[] = { 3 };
	struct bi_view *bytes, *view, *same;

	(void)state;
	OK(bi_view_wrap_host(fixture.context, (void *)(uintptr_t)numbers, dtype_of("int32"), 1, three, NULL, NULL,
			     &bytes, &error));
	/* A clone of host memory is host memory, in every context. */
	OK(bi_view_clone(bytes, NULL, &view, &error));
	assert_true(bi_memory_is_host(bi_view_memory(view)));
	bi_view_release(view);
	OK(bi_view_to_device(bytes, fixture.context, &view, &error));
	assert_int_equal(view == bytes, bi_memory_is_host(bi_view_memory(view)));
	OK(bi_view_to_device(view, fixture.context, &same, &error));
	assert_ptr_equal(same, view);
	bi_view_release(same);
	expect_numbers(view, 1, three, numbers);
	REFUSED_FOR(BI_EINVAL, "context", bi_view_to_device(bytes, NULL, &view, &error));
	assert_null(view);
	bi_view_release(bytes);
}

/* A structured type keeps its fields. */
static void test_clone_of_fields(void **state)
{
	static const char descr[] = "[('x', '<f4'), ('n', '<i2', (2,))]";
	struct bi_view *plain, *fields, *view, *field;
	struct bi_dtype dtype;
	char found[8];

	(void)state;
	OK(bi_dtype_parse_descr(descr, &dtype, &error));
	OK(bi_view_empty(fixture.context, dtype, 1, (int64_t[]){ 2 }, &plain, &error));
	OK(bi_view_write(plain, "0123456789abcdef", 16, &error));
	OK(bi_view_reinterpret(plain, dtype, descr, &fields, &error));
	bi_view_release(plain);
	OK(bi_view_clone(fields, NULL, &view, &error));
	bi_view_release(fields);
	OK(bi_view_field(view, "n", &field, &error));
	bi_view_release(view);
	assert_int_equal(bi_view_dtype(field).type, BI_INT16);
	OK(bi_view_read(field, found, sizeof(found), &error));
	assert_memory_equal(found, "4567cdef", sizeof(found));
	bi_view_release(field);
	fixture.cases++;
}

/* Enough arrays for two rounds of transfers. */
static void test_several(void **state)
{
	enum { ARRAYS = 40 };
	struct bi_transfer transfers[ARRAYS];
	int32_t numbers[ARRAYS][12], found[ARRAYS][12];
	struct bi_view *views[ARRAYS];

	(void)state;
	for (int i = 0; i < ARRAYS; i++) {
		struct bi_view *all = make_numbers(fixture.context);

		/* Every second one is strided. */
		OK(i % 2 ? bi_view_permute(all, NULL, &views[i], &error) : bi_view_flip(all, 1, &views[i], &error));
		bi_view_release(all);
		for (int j = 0; j < 12; j++)
			numbers[i][j] = 100 * i + j;
		transfers[i] = (struct bi_transfer){ views[i], numbers[i], sizeof(numbers[i]) };
	}
	OK(bi_views_write(transfers, ARRAYS, &error));
	for (int i = 0; i < ARRAYS; i++)
		transfers[i].bytes = found[i];
	OK(bi_views_read(transfers, ARRAYS, &error));
	assert_memory_equal(found, numbers, sizeof(numbers));
	OK(bi_views_read(NULL, 0, &error));
	REFUSED(BI_EINVAL, bi_views_read(NULL, 1, &error));
	/* Nothing is done if the last of them is wrong. */
	memset(found, 1, sizeof(found));
	transfers[ARRAYS - 1].nbytes--;
	REFUSED_FOR(BI_EBOUNDS, "transfers[39]: nbytes is 47", bi_views_read(transfers, ARRAYS, &error));
	transfers[ARRAYS - 1].view = NULL;
	REFUSED(BI_EINVAL, bi_views_read(transfers, ARRAYS, &error));
	assert_int_equal(found[0][0], 0x01010101);
	for (int i = 0; i < ARRAYS; i++)
		bi_view_release(views[i]);
	fixture.cases += ARRAYS;
}

/* An array that cannot be written is found before the ones in front of it are written. */
static void test_several_refused(void **state)
{
	int32_t numbers[12], bytes[12] = { 0 };
	struct bi_view *first = make_numbers(fixture.context), *other;
	struct bi_transfer transfers[] = { { first, bytes, sizeof(bytes) }, { NULL, bytes, sizeof(bytes) } };
	struct bi_layout layout;

	(void)state;
	OK(bi_view_read(first, numbers, sizeof(numbers), &error));
	bi_view_layout(first, &layout);
	OK(bi_view_create(bi_view_memory(first), &layout, BI_VIEW_READONLY, &other, &error));
	transfers[1].view = other;
	REFUSED(BI_EREADONLY, bi_views_write(transfers, 2, &error));
	bi_view_release(other);
	layout.strides[0] = 0;
	OK(bi_view_create(bi_view_memory(first), &layout, 0, &other, &error));
	transfers[1].view = other;
	REFUSED(BI_EOVERLAP, bi_views_write(transfers, 2, &error));
	bi_view_release(other);
	OK(bi_view_read(first, bytes, sizeof(bytes), &error));
	assert_memory_equal(bytes, numbers, sizeof(numbers));
	bi_view_release(first);
	fixture.cases += 2;
}

static void test_shared(void **state)
{
	const char *spec = bi_context_device(fixture.context)->spec;
	struct bi_context *first, *second, *again;

	(void)state;
	OK(bi_context_shared(spec, &first, &error));
	OK(bi_context_shared(fixture.spec, &second, &error));
	/* Two devices may fit the string of the suite. */
	assert_int_equal(first == second, !strcmp(bi_context_device(first)->spec, bi_context_device(second)->spec));
	assert_ptr_not_equal(first, fixture.context);
	bi_context_release(second);
	OK(bi_context_shared(spec, &again, &error));
	assert_ptr_equal(again, first);
	bi_context_release(again);
	bi_context_release(first);
	OK(bi_context_shared(spec, &first, &error));
	bi_context_release(first);
	REFUSED(BI_ENODEVICE, bi_context_shared("nothing:0", &first, &error));
	assert_null(first);
	REFUSED(BI_EINVAL, bi_context_shared(spec, NULL, &error));
	fixture.cases += 3;
}

static void test_driver(void **state)
{
	const char *name = is_opencl(fixture.context) ? "clFinish" : "cuStreamSynchronize";

	(void)state;
	assert_null(bi_context_symbol(fixture.context, "bi_no_such_function"));
	assert_null(bi_context_symbol(fixture.host, name));
	assert_int_equal(bi_context_device_handle(fixture.host), 0);
	if (!is_opencl(fixture.context) && !is_cuda(fixture.context))
		return;
	assert_true(bi_context_symbol(fixture.context, name) != NULL);
	assert_true(is_cuda(fixture.context) || bi_context_device_handle(fixture.context) != 0);
	fixture.cases++;
}

/* An array that is exported and imported again begins at the same byte. */
static void check_import_of_own(struct bi_view *view)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_native native, own;
	struct bi_view *again;

	OK(bi_view_export(view, 0, &exchange, &error));
	OK(bi_view_import(bi_memory_context(bi_view_memory(view)), &exchange, 0, &again, &error));
	bi_view_native(view, &native);
	bi_view_native(again, &own);
	assert_int_equal(own.offset, native.offset);
	bi_view_release(again);
}

/* bi_view_empty begins at the start of its handle, but for the option `debug`. */
static void test_offset_of_empty(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_native native;
	struct bi_view *view;

	(void)state;
	options.device = bi_context_device(fixture.context)->spec;
	for (options.debug = 0; options.debug < 2; options.debug++) {
		struct bi_context *context = fixture_open(options.device, &options);

		OK(bi_view_empty(context, dtype_of("uint8"), 1, (int64_t[]){ 100 }, &view, &error));
		bi_view_native(view, &native);
		assert_int_equal(native.offset, options.debug && native.kind != BI_HANDLE_CUDA ? 64 : 0);
		bi_view_release(view);
		/* Memory of the pool too. */
		OK(bi_view_empty(context, dtype_of("uint8"), 1, (int64_t[]){ 90 }, &view, &error));
		bi_view_native(view, &native);
		assert_int_equal(native.offset, options.debug && native.kind != BI_HANDLE_CUDA ? 64 : 0);
		check_import_of_own(view);
		bi_view_release(view);
		OK(bi_view_empty(context, dtype_of("uint8"), 1, (int64_t[]){ 0 }, &view, &error));
		bi_view_native(view, &native);
		assert_true(native.handle == 0 && native.offset == 0 && native.nbytes == 0);
		bi_view_release(view);
		bi_context_release(context);
		fixture.cases++;
	}
}

int conveniences_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_one_axis),        TEST(test_steps),           TEST(test_clones),
		TEST(test_to_device),       TEST(test_clone_of_fields), TEST(test_several),
		TEST(test_several_refused), TEST(test_shared),          TEST(test_driver),
		TEST(test_offset_of_empty),
	};

	return cmocka_run_group_tests_name("conveniences", tests, NULL, NULL);
}
