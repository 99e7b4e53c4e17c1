/* OpenCL objects that somebody else made: adopted, wrapped, counted. Skipped where the device is another's. */
#define _POSIX_C_SOURCE 200809L
#include "driver.h"
#include "fixture.h"

#include <stdatomic.h>
#include <time.h>

static void skip_unless_opencl(void)
{
	if (!is_opencl(fixture.context))
		skip();
}

static struct bi_options adopting(cl_context context, cl_command_queue queue, atomic_int *released)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.adopt_context = (uintptr_t)context;
	options.adopt_stream = (uintptr_t)queue;
	options.release = count_release;
	options.release_data = released;
	return options;
}

/* Writes through the library and reads behind its back, on the queue that both share. */
static void check_works(struct bi_context *context)
{
	static const int64_t shape[] = { 3, 5 }, strides[] = { 4, -12 };
	struct bi_layout layout;
	struct mirror mirror;
	struct bi_view *view, *turned;

	OK(bi_layout_init(&layout, dtype_of("int32"), 2, shape, strides, 48, &error));
	mirror_open(&mirror, context, PLACE_DEVICE, 64);
	view = view_of(&mirror, &layout, 0);
	OK(bi_fill(view, "\1\2\3\4", NULL, &error));
	naive_fill(mirror.bytes, &layout, "\1\2\3\4");
	OK(bi_view_permute(view, NULL, &turned, &error));
	OK(bi_copy(turned, turned, NULL, &error));
	mirror_check(&mirror, "adopted context");
	bi_view_release(turned);
	bi_view_release(view);
	mirror_close(&mirror);
}

static void test_adopted_context(void **state)
{
	atomic_int released = 0;
	cl_context handle;
	struct bi_context *context;

	(void)state;
	skip_unless_opencl();
	handle = driver_new_context(fixture.context);
	context = open_with("opencl", adopting(handle, NULL, &released));
	assert_ptr_equal(bi_context_handle(context), handle);
	assert_string_equal(bi_context_device(context)->name, bi_context_device(fixture.context)->name);
	assert_true(driver_references(DRIVER_CONTEXT, handle) > 1);
	check_works(context);
	assert_int_equal(released, 0);
	bi_context_release(context);
	assert_int_equal(released, 1);
	driver_expect_references(DRIVER_CONTEXT, handle, 1);
	assert_int_equal(driver()->clReleaseContext(handle), CL_SUCCESS);
	fixture.cases++;
}

static void test_adopted_queue(void **state)
{
	atomic_int released = 0;
	cl_context handle;
	cl_command_queue queue;
	struct bi_context *context;

	(void)state;
	skip_unless_opencl();
	handle = driver_new_context(fixture.context);
	queue = driver_new_queue(handle, driver_device(fixture.context));
	context = open_with("opencl", adopting(handle, queue, &released));
	assert_ptr_equal(bi_stream_handle(bi_context_stream(context)), queue);
	check_works(context);
	bi_context_release(context);
	assert_int_equal(released, 1);
	driver_expect_references(DRIVER_QUEUE, queue, 1);
	driver()->clReleaseCommandQueue(queue);
	driver_expect_references(DRIVER_CONTEXT, handle, 1);
	driver()->clReleaseContext(handle);
	fixture.cases++;
}

/* Two contexts of the library over one cl_context share streams and memory without a host wait. */
static void test_shared_context(void **state)
{
	static const int64_t shape[] = { 100 };
	atomic_int released = 0;
	struct bi_context *context;
	struct bi_view *here, *there;
	unsigned char bytes[100];

	(void)state;
	skip_unless_opencl();
	context = open_with("opencl", adopting(driver_context(fixture.context), NULL, &released));
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &here, &error));
	OK(bi_view_empty(context, dtype_of("uint8"), 1, shape, &there, &error));
	OK(bi_fill(here, "h", NULL, &error));
	OK(bi_copy(there, here, bi_context_stream(fixture.context), &error));
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
	atomic_int released = 0;
	cl_context handle;
	struct bi_context *context;
	struct bi_view *here, *there;

	(void)state;
	skip_unless_opencl();
	handle = driver_new_context(fixture.context);
	context = open_with("opencl", adopting(handle, NULL, &released));
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &here, &error));
	OK(bi_view_empty(context, dtype_of("uint8"), 1, shape, &there, &error));
	OK(bi_fill(here, "h", NULL, &error));
	for (int i = 0; i < 3; i++) {
		OK(bi_copy(there, here, NULL, &error));
		OK(bi_copy(here, there, NULL, &error));
	}
	OK(bi_view_synchronize(here, &error));
	bi_view_release(there);
	bi_view_release(here);
	bi_context_release(context);
	let_go_of_retired(fixture.context);
	assert_int_equal(released, 1);
	driver_expect_references(DRIVER_CONTEXT, handle, 1);
	driver()->clReleaseContext(handle);
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
	atomic_int released = 0;
	cl_context handle, other;
	cl_command_queue queue;

	(void)state;
	skip_unless_opencl();
	handle = driver_new_context(fixture.context);
	other = driver_new_context(fixture.context);
	queue = driver_new_queue(other, driver_device(fixture.context));
	refuse_adoption("opencl:7", adopting(handle, NULL, &released));
	refuse_adoption("opencl:x", adopting(handle, NULL, &released));
	refuse_adoption("host", adopting(handle, NULL, &released));
	refuse_adoption("vulkan", adopting(handle, NULL, &released));
	refuse_adoption("opencl", adopting(handle, queue, &released));
	refuse_adoption("opencl", adopting(NULL, queue, &released));
	assert_int_equal(released, 0);
	driver_expect_references(DRIVER_QUEUE, queue, 1);
	driver()->clReleaseCommandQueue(queue);
	driver_expect_references(DRIVER_CONTEXT, handle, 1);
	driver_expect_references(DRIVER_CONTEXT, other, 1);
	driver()->clReleaseContext(handle);
	driver()->clReleaseContext(other);
}

static void test_wrapped_queue(void **state)
{
	atomic_int released = 0;
	cl_command_queue queue;
	cl_context other;
	struct bi_stream *stream = STALE(struct bi_stream);

	(void)state;
	skip_unless_opencl();
	queue = driver_new_queue(driver_context(fixture.context), driver_device(fixture.context));
	OK(bi_stream_wrap(fixture.context, (uintptr_t)queue, count_release, &released, &stream, &error));
	assert_ptr_equal(bi_stream_handle(stream), queue);
	driver_expect_references(DRIVER_QUEUE, queue, 2);
	OK(bi_stream_synchronize(stream, &error));
	bi_stream_release(stream);
	assert_int_equal(released, 1);
	driver_expect_references(DRIVER_QUEUE, queue, 1);
	driver()->clReleaseCommandQueue(queue);
	other = driver_new_context(fixture.context);
	queue = driver_new_queue(other, driver_device(fixture.context));
	REFUSED(BI_EINVAL,
		bi_stream_wrap(fixture.context, (uintptr_t)queue, count_release, &released, &stream, &error));
	assert_null(stream);
	REFUSED(BI_EINVAL, bi_stream_wrap(fixture.context, 0, count_release, &released, &stream, &error));
	assert_int_equal(released, 1);
	driver_expect_references(DRIVER_QUEUE, queue, 1);
	driver()->clReleaseCommandQueue(queue);
	driver()->clReleaseContext(other);
	fixture.cases += 3;
}

static void test_queue_on_host(void **state)
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
	cl_command_queue queue;
	cl_event handle = NULL;
	struct bi_event *event = STALE(struct bi_event);
	int done = 0;

	(void)state;
	skip_unless_opencl();
	queue = driver_new_queue(driver_context(fixture.context), driver_device(fixture.context));
	assert_int_equal(driver()->clEnqueueMarkerWithWaitList(queue, 0, NULL, &handle), CL_SUCCESS);
	OK(bi_event_wrap(fixture.context, (uintptr_t)handle, &event, &error));
	assert_ptr_equal(bi_event_handle(event), handle);
	driver()->clFinish(queue);
	OK(bi_event_synchronize(event, &error));
	OK(bi_event_query(event, &done, &error));
	assert_int_equal(done, 1);
	bi_event_release(event);
	driver_expect_references(DRIVER_EVENT, handle, 1);
	REFUSED(BI_EINVAL, bi_event_wrap(fixture.context, 0, &event, &error));
	assert_null(event);
	driver()->clReleaseEvent(handle);
	driver()->clReleaseCommandQueue(queue);
	fixture.cases += 2;
}

static struct bi_foreign foreign_buffer(cl_mem buffer, size_t nbytes, unsigned flags, atomic_int *released)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.kind = BI_HANDLE_CL_MEM;
	foreign.handle = (uintptr_t)buffer;
	foreign.nbytes = nbytes;
	foreign.flags = flags;
	foreign.release = count_release;
	foreign.release_data = released;
	return foreign;
}

static struct bi_memory *wrap_buffer(cl_mem buffer, size_t nbytes, unsigned flags, atomic_int *released)
{
	const struct bi_foreign foreign = foreign_buffer(buffer, nbytes, flags, released);
	struct bi_memory *memory = STALE(struct bi_memory);

	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	return memory;
}

/* What the library wrote through a wrapped buffer is what the driver finds in it. */
static void check_contents(cl_mem buffer, size_t offset, size_t nbytes, int expected)
{
	cl_command_queue queue = driver_new_queue(driver_context(fixture.context), driver_device(fixture.context));
	unsigned char bytes[512] = { 0 };

	assert_int_equal(driver()->clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, nbytes, bytes, 0, NULL, NULL),
			 0);
	for (size_t i = 0; i < nbytes; i++)
		assert_int_equal(bytes[i], expected);
	driver()->clReleaseCommandQueue(queue);
}

static void fill_memory(struct bi_memory *memory, const char *byte)
{
	struct bi_view *view = bytes_of(memory);

	OK(bi_fill(view, byte, NULL, &error));
	OK(bi_view_synchronize(view, &error));
	bi_view_release(view);
}

static void test_wrapped_buffer(void **state)
{
	atomic_int released = 0;
	cl_mem buffer;
	struct bi_memory *memory;
	struct bi_view *view;
	struct bi_native native;

	(void)state;
	skip_unless_opencl();
	buffer = driver_new_buffer(driver_context(fixture.context), 300);
	memory = wrap_buffer(buffer, 0, 0, &released);
	assert_int_equal(bi_memory_nbytes(memory), 300);
	assert_false(bi_memory_is_host(memory));
	driver_expect_references(DRIVER_BUFFER, buffer, 2);
	fill_memory(memory, "q");
	check_contents(buffer, 0, 300, 'q');
	view = bytes_of(memory);
	bi_view_native(view, &native);
	assert_int_equal(native.kind, BI_HANDLE_CL_MEM);
	assert_ptr_equal(native.handle, buffer);
	assert_int_equal(native.offset, 0);
	assert_int_equal(native.nbytes, 300);
	bi_view_release(view);
	assert_int_equal(released, 0);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
	driver_expect_references(DRIVER_BUFFER, buffer, 1);
	memory = wrap_buffer(buffer, 200, 0, &released);
	assert_int_equal(bi_memory_nbytes(memory), 200);
	bi_memory_release(memory);
	assert_int_equal(released, 2);
	driver()->clReleaseMemObject(buffer);
	fixture.cases += 2;
}

static void CL_CALLBACK count_destruction(cl_mem buffer, void *data)
{
	(void)buffer;
	count_release(data);
}

/* The driver's threads may hold the buffer a little longer than their command runs. */
static void await_count(atomic_int *count, int expected)
{
	const struct timespec pause = { 0, 1000000 };

	for (int i = 0; i < 5000 && *count != expected; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(*count, expected);
}

/* A stolen reference is the only one. */
static void test_stolen_buffer(void **state)
{
	atomic_int released = 0, destroyed = 0;
	cl_mem buffer;
	struct bi_memory *memory;

	(void)state;
	skip_unless_opencl();
	buffer = driver_new_buffer(driver_context(fixture.context), 300);
	assert_int_equal(driver()->clSetMemObjectDestructorCallback(buffer, count_destruction, &destroyed), CL_SUCCESS);
	memory = wrap_buffer(buffer, 0, BI_WRAP_STEAL, &released);
	driver_expect_references(DRIVER_BUFFER, buffer, 1);
	fill_memory(memory, "s");
	assert_int_equal(destroyed, 0);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
	await_count(&destroyed, 1);
	fixture.cases++;
}

static cl_mem new_sub_buffer(cl_mem root, size_t origin, size_t nbytes)
{
	const cl_buffer_region region = { origin, nbytes };
	cl_mem sub = driver()->clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);

	assert_non_null(sub);
	return sub;
}

/* A sub-buffer is its root from its origin on; offsets count from its start, and it may go before the memory does. */
static void test_wrapped_sub_buffer(void **state)
{
	atomic_int released = 0;
	size_t step;
	cl_mem root, sub;
	struct bi_memory *memory;
	struct bi_view *view;
	struct bi_native native;

	(void)state;
	skip_unless_opencl();
	step = driver_alignment(fixture.context);
	root = driver_new_buffer(driver_context(fixture.context), 3 * step);
	memory = wrap_buffer(root, 0, 0, &released);
	fill_memory(memory, "r");
	bi_memory_release(memory);
	driver_expect_references(DRIVER_BUFFER, root, 1);
	sub = new_sub_buffer(root, step, step);
	memory = wrap_buffer(sub, 0, 0, &released);
	assert_int_equal(bi_memory_nbytes(memory), step);
	assert_true(driver_references(DRIVER_BUFFER, root) > 1);
	driver()->clReleaseMemObject(sub);
	fill_memory(memory, "s");
	check_contents(root, 0, step, 'r');
	check_contents(root, step, step, 's');
	check_contents(root, 2 * step, step, 'r');
	view = bytes_of(memory);
	bi_view_native(view, &native);
	assert_ptr_equal(native.handle, root);
	assert_int_equal(native.offset, step);
	bi_view_release(view);
	bi_memory_release(memory);
	assert_int_equal(released, 2);
	driver_expect_references(DRIVER_BUFFER, root, 1);
	driver()->clReleaseMemObject(root);
	fixture.cases += 2;
}

/* A root and its sub-buffer are one memory: copies between the two see that they overlap. */
static void test_overlapping_wrappings(void **state)
{
	atomic_int released = 0;
	size_t step, nbytes;
	cl_mem root, sub;
	struct bi_memory *all, *part;
	struct bi_layout layout;
	struct bi_view *whole, *dst, *src;
	unsigned char bytes[1024], back[1024];
	int64_t shape[1];

	(void)state;
	skip_unless_opencl();
	step = driver_alignment(fixture.context);
	nbytes = 4 * step;
	assert_true(nbytes <= sizeof(bytes));
	root = driver_new_buffer(driver_context(fixture.context), nbytes);
	sub = new_sub_buffer(root, step, 3 * step);
	all = wrap_buffer(root, 0, 0, &released);
	part = wrap_buffer(sub, 0, 0, &released);
	random_bytes(bytes, nbytes);
	whole = bytes_of(all);
	OK(bi_view_write(whole, bytes, nbytes, &error));
	dst = bytes_of(part);
	shape[0] = (int64_t)(3 * step);
	OK(bi_layout_init(&layout, dtype_of("uint8"), 1, shape, NULL, 0, &error));
	OK(bi_view_create(all, &layout, 0, &src, &error));
	OK(bi_copy(dst, src, NULL, &error));
	memmove(bytes + step, bytes, 3 * step);
	OK(bi_view_read(whole, back, nbytes, &error));
	assert_memory_equal(back, bytes, nbytes);
	bi_view_release(src);
	bi_view_release(dst);
	bi_view_release(whole);
	bi_memory_release(part);
	bi_memory_release(all);
	let_go_of_retired(fixture.context);
	assert_int_equal(released, 2);
	driver()->clReleaseMemObject(sub);
	driver_expect_references(DRIVER_BUFFER, root, 1);
	driver()->clReleaseMemObject(root);
	fixture.cases++;
}

/* A buffer that its maker closed to the host is a source and a destination like any other. */
static void test_closed_buffer(void **state)
{
	static const int64_t shape[] = { 6, 4 }, turned[] = { 4, 6 };
	atomic_int released = 0;
	unsigned char bytes[24], back[24];
	struct bi_layout layout;
	struct bi_memory *memory;
	struct bi_view *closed, *columns, *open;
	cl_mem buffer;
	cl_int code;

	(void)state;
	skip_unless_opencl();
	buffer = driver()->clCreateBuffer(driver_context(fixture.context), CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS,
					  sizeof(bytes), NULL, &code);
	assert_int_equal(code, CL_SUCCESS);
	memory = wrap_buffer(buffer, 0, 0, &released);
	OK(bi_layout_init(&layout, dtype_of("uint8"), 2, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &closed, &error));
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 2, shape, &open, &error));
	random_bytes(bytes, sizeof(bytes));
	OK(bi_view_write(open, bytes, sizeof(bytes), &error));
	OK(bi_copy(closed, open, NULL, &error));
	bi_view_release(open);
	OK(bi_view_permute(closed, NULL, &columns, &error));
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 2, turned, &open, &error));
	OK(bi_copy(open, columns, NULL, &error));
	OK(bi_view_read(open, back, sizeof(back), &error));
	for (size_t i = 0; i < sizeof(back); i++)
		assert_int_equal(back[i], bytes[i % 6 * 4 + i / 6]);
	bi_view_release(open);
	bi_view_release(columns);
	bi_view_release(closed);
	bi_memory_release(memory);
	let_go_of_retired(fixture.context);
	assert_int_equal(released, 1);
	driver()->clReleaseMemObject(buffer);
	fixture.cases++;
}

/* A struct that goes out and comes back in is another view of the memory, and nothing that it held stays behind. */
static void test_own_export_comes_back(void **state)
{
	static const int64_t shapes[][2] = { { 5, 4 }, { 0, 4 } };

	(void)state;
	skip_unless_opencl();
	for (size_t i = 0; i < 2; i++) {
		atomic_int released = 0;
		cl_context handle = driver_new_context(fixture.context);
		struct bi_context *context = open_with("opencl", adopting(handle, NULL, &released));
		struct bi_exchange exchange;
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
		driver_expect_references(DRIVER_CONTEXT, handle, 1);
		driver()->clReleaseContext(handle);
		fixture.cases++;
	}
}

/* The descr of a field is part of a longer text; the struct has it as a text of its own. */
static void test_exported_descr(void **state)
{
	static const int64_t shape[] = { 3 };
	struct bi_exchange exchange;
	struct bi_dtype dtype;
	struct bi_view *raw, *whole, *inner;

	(void)state;
	OK(bi_dtype_parse_descr("[('a', '<i4'), ('b', [('x', '|u1'), ('y', '|u1')]), ('c', '<i2')]", &dtype, &error));
	OK(bi_view_empty(fixture.context, dtype, 1, shape, &raw, &error));
	OK(bi_view_reinterpret(raw, dtype, "[('a', '<i4'), ('b', [('x', '|u1'), ('y', '|u1')]), ('c', '<i2')]", &whole,
			       &error));
	OK(bi_view_field(whole, "b", &inner, &error));
	OK(bi_view_export(inner, 0, &exchange, &error));
	assert_string_equal(exchange.descr, "[('x', '|u1'), ('y', '|u1')]");
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
	if (!is_opencl(fixture.context) || !can(fixture.context, BI_CAP_SVM))
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

static void refuse_buffer(int status, struct bi_foreign foreign)
{
	struct bi_memory *memory = STALE(struct bi_memory);

	REFUSED(status, bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	assert_null(memory);
	fixture.cases++;
}

static void test_refused_buffers(void **state)
{
	atomic_int released = 0;
	cl_context other;
	cl_mem buffer, stranger;

	(void)state;
	skip_unless_opencl();
	other = driver_new_context(fixture.context);
	buffer = driver_new_buffer(driver_context(fixture.context), 64);
	stranger = driver_new_buffer(other, 64);
	refuse_buffer(BI_EINVAL, foreign_buffer(stranger, 0, 0, &released));
	refuse_buffer(BI_EINVAL, foreign_buffer(stranger, 64, BI_WRAP_STEAL, &released));
	refuse_buffer(BI_OK, foreign_buffer(buffer, 65, 0, &released));
	refuse_buffer(BI_EINVAL, foreign_buffer(NULL, 0, 0, &released));
	refuse_buffer(BI_EINVAL, foreign_buffer(NULL, 64, 0, &released));
	assert_int_equal(released, 0);
	driver_expect_references(DRIVER_BUFFER, buffer, 1);
	driver_expect_references(DRIVER_BUFFER, stranger, 1);
	driver()->clReleaseMemObject(buffer);
	driver()->clReleaseMemObject(stranger);
	driver_expect_references(DRIVER_CONTEXT, other, 1);
	driver()->clReleaseContext(other);
}

int foreign_group(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adopted_context),
		cmocka_unit_test(test_adopted_queue),
		cmocka_unit_test(test_shared_context),
		cmocka_unit_test(test_copies_across_let_go),
		cmocka_unit_test(test_refused_adoption),
		cmocka_unit_test(test_wrapped_queue),
		cmocka_unit_test(test_queue_on_host),
		cmocka_unit_test(test_wrapped_event),
		cmocka_unit_test(test_wrapped_buffer),
		cmocka_unit_test(test_stolen_buffer),
		cmocka_unit_test(test_wrapped_sub_buffer),
		cmocka_unit_test(test_overlapping_wrappings),
		cmocka_unit_test(test_own_export_comes_back),
		cmocka_unit_test(test_exported_descr),
		cmocka_unit_test(test_unified_memory_overlaps_its_address),
		cmocka_unit_test(test_closed_buffer),
		cmocka_unit_test(test_refused_buffers),
	};

	return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
