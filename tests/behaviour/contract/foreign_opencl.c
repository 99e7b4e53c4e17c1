/* What only OpenCL has: references that are stolen or kept, sub-buffers, buffers that are closed to the host. */
#define _POSIX_C_SOURCE 200809L
#include "buffer_interface/opencl.h"
#include "driver_opencl.h"
#include "contract.h"
#include "fail_malloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static void skip_unless_opencl(void)
{
	if (!is_opencl(fixture.context))
		skip();
}

static struct bi_memory *wrap_buffer(cl_mem buffer, size_t nbytes, unsigned flags, atomic_int *released)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = STALE(struct bi_memory);

	foreign.kind = BI_HANDLE_CL_MEM;
	foreign.handle = (uintptr_t)buffer;
	foreign.nbytes = nbytes;
	foreign.flags = flags;
	foreign.release = count_release;
	foreign.release_data = released;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	return memory;
}

/* What the library wrote through a wrapped buffer is what the driver finds in it. */
static void check_contents(cl_mem buffer, size_t offset, size_t nbytes, int expected)
{
	unsigned char bytes[512] = { 0 };

	outside_opencl.read(bi_context_handle(fixture.context), (uintptr_t)buffer, offset, nbytes, bytes);
	for (size_t i = 0; i < nbytes; i++)
		assert_int_equal(bytes[i], expected);
}

static void fill_memory(struct bi_memory *memory, const char *byte)
{
	struct bi_view *view = bytes_of(memory);

	OK(bi_fill(view, byte, NULL, &error));
	OK(bi_view_synchronize(view, &error));
	bi_view_release(view);
}

/* The driver is asked for a size that is not given. */
static void test_size_of_buffer(void **state)
{
	atomic_int released = 0;
	cl_mem buffer;
	struct bi_memory *memory;

	(void)state;
	skip_unless_opencl();
	buffer = opencl_buffer(fixture.context, CL_MEM_READ_WRITE, 300);
	memory = wrap_buffer(buffer, 0, 0, &released);
	assert_int_equal(bi_memory_nbytes(memory), 300);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
	expect_buffer_references(buffer, 1);
	driver()->clReleaseMemObject(buffer);
	fixture.cases++;
}

static void test_buffer_smaller_than_wrapped(void **state)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = STALE(struct bi_memory);

	(void)state;
	skip_unless_opencl();
	foreign.kind = BI_HANDLE_CL_MEM;
	foreign.handle = (uintptr_t)opencl_buffer(fixture.context, CL_MEM_READ_WRITE, 300);
	foreign.nbytes = 301;
	REFUSED_FOR(BI_EBOUNDS, "300 bytes, not 301", bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	assert_null(memory);
	expect_buffer_references((cl_mem)foreign.handle, 1);
	driver()->clReleaseMemObject((cl_mem)foreign.handle);
	fixture.cases++;
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
	buffer = opencl_buffer(fixture.context, CL_MEM_READ_WRITE, 300);
	assert_int_equal(driver()->clSetMemObjectDestructorCallback(buffer, count_destruction, &destroyed), CL_SUCCESS);
	memory = wrap_buffer(buffer, 0, BI_WRAP_STEAL, &released);
	expect_buffer_references(buffer, 1);
	fill_memory(memory, "s");
	assert_int_equal(destroyed, 0);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
	await_count(&destroyed, 1);
	fixture.cases++;
}

/* A failure leaves the reference with the caller, also where it is the list of events that finds no memory. */
static void test_stolen_buffer_on_failure(void **state)
{
	enum { MANY = 1237 };
	static struct bi_event *events[MANY];
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = STALE(struct bi_memory);
	struct bi_event *event;
	cl_mem buffer;

	(void)state;
	skip_unless_opencl();
	buffer = opencl_buffer(fixture.context, CL_MEM_READ_WRITE, 300);
	OK(bi_event_record(bi_context_stream(fixture.context), &event, &error));
	for (int i = 0; i < MANY; i++)
		events[i] = event;
	foreign.kind = BI_HANDLE_CL_MEM;
	foreign.handle = (uintptr_t)buffer;
	foreign.flags = BI_WRAP_STEAL;
	foreign.events = events;
	foreign.event_count = MANY;
	fail_malloc_of(sizeof(events));
	REFUSED(BI_ENOMEM, bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	fail_malloc_of(0);
	assert_null(memory);
	expect_buffer_references(buffer, 1);
	driver()->clReleaseMemObject(buffer);
	bi_event_release(event);
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
	step = opencl_alignment(fixture.context);
	root = opencl_buffer(fixture.context, CL_MEM_READ_WRITE, 3 * step);
	memory = wrap_buffer(root, 0, 0, &released);
	fill_memory(memory, "r");
	bi_memory_release(memory);
	expect_buffer_references(root, 1);
	sub = new_sub_buffer(root, step, step);
	memory = wrap_buffer(sub, 0, 0, &released);
	assert_int_equal(bi_memory_nbytes(memory), step);
	assert_true(outside_opencl.references(DRIVER_MEMORY, (uintptr_t)root) > 1);
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
	expect_buffer_references(root, 1);
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
	unsigned char *bytes, *back;
	int64_t shape[1];

	(void)state;
	skip_unless_opencl();
	step = opencl_alignment(fixture.context);
	nbytes = 4 * step;
	bytes = malloc(nbytes);
	back = malloc(nbytes);
	assert_true(bytes && back);
	root = opencl_buffer(fixture.context, CL_MEM_READ_WRITE, nbytes);
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
	expect_buffer_references(root, 1);
	free(bytes);
	free(back);
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

	(void)state;
	skip_unless_opencl();
	buffer = opencl_buffer(fixture.context, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, sizeof(bytes));
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

static struct bi_memory *new_memory(struct bi_context *context, size_t nbytes)
{
	struct bi_memory *memory = STALE(struct bi_memory);

	OK(bi_memory_create(context, nbytes, BI_MEMORY_DEVICE, &memory, &error));
	return memory;
}

static struct bi_native native_of(struct bi_memory *memory)
{
	struct bi_view *view = bytes_of(memory);
	struct bi_native native;

	bi_view_native(view, &native);
	bi_view_release(view);
	return native;
}

/* A handle that somebody retained is never handed out again; one that nobody saw is. */
static void test_retained_handle(void **state)
{
	struct bi_context *context;
	struct bi_memory *memory, *next;
	cl_mem handle;

	(void)state;
	skip_unless_opencl();
	context = open_context(fixture.spec);
	memory = new_memory(context, 4096);
	handle = (cl_mem)native_of(memory).handle;
	driver()->clRetainMemObject(handle);
	bi_memory_release(memory);
	expect_buffer_references(handle, 1);
	for (int i = 0; i < 4; i++) {
		next = new_memory(context, 4096);
		assert_true(native_of(next).handle != (uintptr_t)handle);
		bi_memory_release(next);
	}
	driver()->clReleaseMemObject(handle);
	bi_context_release(context);
	fixture.cases++;
}

/* The library's own buffer, which may use shared memory, is wrapped by its handle like any other. */
static void test_own_buffer_by_handle(void **state)
{
	atomic_int released = 0;
	struct bi_memory *own, *wrapped;
	struct bi_view *view;
	cl_mem handle;

	(void)state;
	skip_unless_opencl();
	own = new_memory(fixture.context, 256);
	handle = (cl_mem)native_of(own).handle;
	wrapped = wrap_buffer(handle, 0, 0, &released);
	assert_ptr_equal(native_of(wrapped).handle, handle);
	fill_memory(wrapped, "o");
	view = bytes_of(wrapped);
	OK(bi_view_synchronize(view, &error));
	check_contents(handle, 0, 256, 'o');
	bi_view_release(view);
	bi_memory_release(wrapped);
	bi_memory_release(own);
	fixture.cases++;
}

/* Some drivers refuse an offset that is not a multiple of their alignment, and others accept it. */
static void expect_answer_of_driver(cl_mem buffer, const cl_buffer_region *region, const struct bi_view *view)
{
	cl_int code, expected;
	cl_mem theirs = driver()->clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, region, &expected);
	cl_mem ours = bi_opencl_sub_buffer(view, &code);

	assert_int_equal(code, expected);
	assert_int_equal(ours != NULL, theirs != NULL);
	if (theirs)
		driver()->clReleaseMemObject(theirs);
	if (ours)
		driver()->clReleaseMemObject(ours);
}

/* A sub-buffer begins with the first element of the view, for a consumer that knows no offset. */
static void test_sub_buffer(void **state)
{
	atomic_int released = 0;
	struct bi_memory *memory;
	struct bi_view *all, *part;
	cl_int code = 1;
	cl_mem buffer, sub;

	(void)state;
	skip_unless_opencl();
	buffer = opencl_buffer(fixture.context, CL_MEM_READ_WRITE, 1024);
	OK(bi_opencl_memory_wrap(fixture.context, buffer, NULL, count_release, &released, &memory, &error));
	all = bytes_of(memory);
	OK(bi_view_index(all, &(struct bi_index){ BI_INDEX_SLICE, 512, 768, 1 }, 1, &part, &error));
	OK(bi_fill(all, "a", NULL, &error));
	OK(bi_fill(part, "p", NULL, &error));
	OK(bi_view_synchronize(part, &error));
	sub = bi_opencl_sub_buffer(part, &code);
	assert_int_equal(code, CL_SUCCESS);
	check_contents(sub, 0, 256, 'p');
	check_contents(sub, 256, 256, 'a');
	driver()->clReleaseMemObject(sub);
	bi_view_release(part);
	OK(bi_view_index(all, &(struct bi_index){ BI_INDEX_SLICE, 1, 2, 1 }, 1, &part, &error));
	expect_answer_of_driver(buffer, &(cl_buffer_region){ 1, 1023 }, part);
	bi_view_release(part);
	bi_view_release(all);
	assert_int_equal(released, 0);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
	driver()->clReleaseMemObject(buffer);
	fixture.cases++;
}

/* The typed functions of opencl.h. NULL in place of a cl_context opens no other one. */
static void test_typed_wraps(void **state)
{
	const struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *adopted = STALE(struct bi_context);
	struct bi_stream *stream;
	struct bi_event *event, *own;
	cl_command_queue queue;

	(void)state;
	skip_unless_opencl();
	queue = bi_opencl_queue(bi_context_stream(fixture.context));
	REFUSED(BI_EINVAL, bi_opencl_context_wrap(NULL, NULL, options, &adopted, &error));
	REFUSED(BI_EINVAL, bi_opencl_context_wrap(NULL, queue, options, &adopted, &error));
	OK(bi_opencl_context_wrap(bi_opencl_context(fixture.context), queue, options, &adopted, &error));
	assert_ptr_equal(bi_opencl_context(adopted), bi_opencl_context(fixture.context));
	assert_ptr_equal(bi_opencl_queue(bi_context_stream(adopted)), queue);
	REFUSED(BI_EINVAL, bi_opencl_stream_wrap(adopted, NULL, &stream, &error));
	OK(bi_opencl_stream_wrap(adopted, queue, &stream, &error));
	assert_ptr_equal(bi_opencl_queue(stream), queue);
	OK(bi_event_record(stream, &own, &error));
	REFUSED(BI_EINVAL, bi_opencl_event_wrap(adopted, NULL, &event, &error));
	OK(bi_opencl_event_wrap(adopted, bi_opencl_event(own), &event, &error));
	OK(bi_event_synchronize(event, &error));
	bi_event_release(event);
	bi_event_release(own);
	bi_stream_release(stream);
	bi_context_release(adopted);
	fixture.cases++;
}

int foreign_opencl_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_size_of_buffer),       TEST(test_buffer_smaller_than_wrapped),
		TEST(test_stolen_buffer),        TEST(test_stolen_buffer_on_failure),
		TEST(test_wrapped_sub_buffer),   TEST(test_overlapping_wrappings),
		TEST(test_closed_buffer),        TEST(test_retained_handle),
		TEST(test_own_buffer_by_handle), TEST(test_sub_buffer),
		TEST(test_typed_wraps),
	};

	return cmocka_run_group_tests_name("foreign_opencl", tests, NULL, NULL);
}
