/*
 * The exchange structure with pending work of OpenCL: a producer that knows abi.h and OpenCL, and the library.
 *     exchange_queues
 * Work waits for user events, so the order is tested without a clock.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <CL/cl.h>
#include <buffer_interface.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 64 };

#define FUNCTIONS(X) \
	X(clGetPlatformIDs) \
	X(clGetDeviceIDs) \
	X(clCreateContext) \
	X(clReleaseContext) \
	X(clCreateCommandQueue) \
	X(clReleaseCommandQueue) \
	X(clCreateBuffer) \
	X(clReleaseMemObject) \
	X(clCreateUserEvent) \
	X(clSetUserEventStatus) \
	X(clReleaseEvent) \
	X(clEnqueueFillBuffer) \
	X(clEnqueueReadBuffer) \
	X(clEnqueueBarrierWithWaitList) \
	X(clEnqueueMarkerWithWaitList) \
	X(clFlush) \
	X(clFinish)

static struct {
#define MEMBER(name) __typeof__(name) *name;
	FUNCTIONS(MEMBER)
#undef MEMBER
} cl;

/* A producer with a queue on each of two devices of one cl_context, and a buffer of bytes 1. */
static struct {
	cl_device_id devices[2];
	cl_uint count;
	cl_context context;
	cl_command_queue queues[2];
	cl_mem buffer;
	cl_event gate; /* what the work waits for; opened by a test, or at its end */
	int64_t shape[1], strides[1];
	int releases, hand_backs, refuses;
	int closes; /* contexts that the library has closed */
} producer;

static struct bi_error err;

/* The call succeeds and does not change the error. */
#define OK(call) \
	do { \
		int rc_ = (memset(&err, 0, sizeof(err)), (call)); \
		if (rc_ != BI_OK || err.status) \
			fail_msg("%s: %s: %s", #call, bi_status_name(rc_), err.message); \
	} while (0)

static int open_producer(void **state)
{
	const unsigned char one = 1;
	cl_platform_id platform;

	(void)state;
	assert_int_equal(cl.clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
	memset(&producer, 0, sizeof(producer));
	assert_int_equal(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, producer.devices, &producer.count),
			 CL_SUCCESS);
	assert_true(producer.count >= 2);
	producer.context = cl.clCreateContext(NULL, 2, producer.devices, NULL, NULL, NULL);
	for (int i = 0; i < 2; i++)
		producer.queues[i] = cl.clCreateCommandQueue(producer.context, producer.devices[i], 0, NULL);
	producer.buffer = cl.clCreateBuffer(producer.context, CL_MEM_READ_WRITE, SIZE, NULL, NULL);
	cl.clEnqueueFillBuffer(producer.queues[0], producer.buffer, &one, 1, 0, SIZE, 0, NULL, NULL);
	cl.clFinish(producer.queues[0]);
	producer.gate = cl.clCreateUserEvent(producer.context, NULL);
	producer.shape[0] = SIZE;
	producer.strides[0] = 1;
	return 0;
}

static int close_producer(void **state)
{
	(void)state;
	cl.clSetUserEventStatus(producer.gate, CL_COMPLETE);
	cl.clReleaseEvent(producer.gate);
	cl.clReleaseMemObject(producer.buffer);
	for (int i = 0; i < 2; i++) {
		cl.clFinish(producer.queues[i]);
		cl.clReleaseCommandQueue(producer.queues[i]);
	}
	cl.clReleaseContext(producer.context);
	return 0;
}

static void release(struct bi_exchange *self)
{
	self->release = NULL;
	producer.releases++;
}

/* The producer's next work on the queue of its first device follows the event. */
static int follow_consumer(struct bi_exchange *self, uint32_t kind, uint64_t stream, uint64_t event)
{
	cl_event native = (cl_event)(uintptr_t)event;

	(void)self;
	(void)stream;
	producer.hand_backs++;
	if (producer.refuses || kind != BI_ORDER_OPENCL || !event)
		return 1;
	return cl.clEnqueueBarrierWithWaitList(producer.queues[0], 1, &native, NULL) != CL_SUCCESS;
}

static struct bi_exchange describe(cl_command_queue stream, cl_event event)
{
	struct bi_exchange out = BI_EXCHANGE_INIT;

	out.release = release;
	out.shape = producer.shape;
	out.strides = producer.strides;
	out.handle = (uintptr_t)producer.buffer;
	out.size = SIZE;
	out.context = (uintptr_t)producer.context;
	out.stream = (uintptr_t)stream;
	out.event = (uintptr_t)event;
	out.flags = BI_C_CONTIGUOUS | BI_F_CONTIGUOUS;
	out.device_type = BI_EXCHANGE_DEVICE_OPENCL;
	out.item_size = 1;
	out.type_code = 1;
	out.type_bits = 8;
	out.type_lanes = 1;
	out.ndim = 1;
	out.handle_kind = BI_HANDLE_CL_MEM;
	out.order_kind = BI_ORDER_OPENCL;
	return out;
}

static void count_close(void (*close)(struct bi_context *context), struct bi_context *context)
{
	producer.closes++;
	close(context);
}

/* A context of the library for the first device. Its stream is the producer's queue for that device, if one is given.
 */
static struct bi_context *adopt(cl_command_queue queue)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = "opencl:0";
	options.adopt_context = (uintptr_t)producer.context;
	options.adopt_stream = (uintptr_t)queue;
	options.around_close = count_close;
	OK(bi_context_open(&options, &context, &err));
	return context;
}

/*
 * The producer's queue belongs to the second device of the cl_context. The library's write on the first device comes
 * before the producer's next work on its queue (finding S1). The library opens a second context, for the second device,
 * and closes it as the caller demands for the first.
 */
static void named_queue_of_another_device(int with_event)
{
	struct bi_context *context = adopt(producer.queues[0]);
	unsigned char found[SIZE] = { 0 };
	const unsigned char seven = 7;
	struct bi_exchange exchange;
	struct bi_view *view;
	cl_event event = NULL;

	if (with_event)
		cl.clEnqueueMarkerWithWaitList(producer.queues[1], 0, NULL, &event);
	cl.clFlush(producer.queues[1]);
	exchange = describe(producer.queues[1], event);
	OK(bi_view_import(context, &exchange, 0, &view, &err));
	cl.clEnqueueBarrierWithWaitList(producer.queues[0], 1, &producer.gate, NULL);
	OK(bi_fill(view, &seven, bi_context_stream(context), &err));
	cl.clEnqueueReadBuffer(producer.queues[1], producer.buffer, CL_FALSE, 0, SIZE, found, 0, NULL, NULL);
	cl.clFlush(producer.queues[1]);
	cl.clSetUserEventStatus(producer.gate, CL_COMPLETE);
	cl.clFinish(producer.queues[1]);
	assert_int_equal(found[0], 7);
	assert_int_equal(found[SIZE - 1], 7);
	bi_view_release(view);
	assert_int_equal(producer.closes, 1);
	bi_context_release(context);
	assert_int_equal(producer.closes, 2);
	assert_int_equal(producer.releases, 1);
	if (event)
		cl.clReleaseEvent(event);
}

static void test_queue_of_another_device(void **state)
{
	(void)state;
	named_queue_of_another_device(0);
}

static void test_queue_of_another_device_with_event(void **state)
{
	(void)state;
	named_queue_of_another_device(1);
}

/* The array's stream belongs to the second device, which may take less from the CPU than the first. */
static void test_strided_copies_on_the_queue_of_another_device(void **state)
{
	static const int64_t shape[1] = { 2 * SIZE };
	static const struct bi_index index = { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, 2 };
	static const struct bi_dtype byte = { 1, 1, BI_UINT8, 0 };
	struct bi_context *context = adopt(producer.queues[0]);
	struct bi_exchange exchange = describe(producer.queues[1], NULL);
	unsigned char every_second[2 * SIZE];
	struct bi_view *device, *all, *host;

	(void)state;
	for (int i = 0; i < 2 * SIZE; i++)
		every_second[i] = (unsigned char)(i / 2);
	OK(bi_view_import(context, &exchange, 0, &device, &err));
	OK(bi_view_wrap_host(context, every_second, byte, 1, shape, NULL, NULL, &all, &err));
	OK(bi_view_index(all, &index, 1, &host, &err));
	bi_view_release(all);
	OK(bi_copy(device, host, NULL, &err));
	OK(bi_view_synchronize(host, &err));
	memset(every_second, 0, sizeof(every_second));
	OK(bi_copy(host, device, NULL, &err));
	OK(bi_view_synchronize(host, &err));
	for (int i = 0; i < 2 * SIZE; i++)
		assert_int_equal(every_second[i], i % 2 ? 0 : (unsigned char)(i / 2));
	bi_view_release(host);
	bi_view_release(device);
	bi_context_release(context);
}

/* An event alone: the memory is handed back by `done`, and released with the last reference (finding S6). */
static void event_alone(int refuses)
{
	struct bi_context *context = adopt(NULL);
	unsigned char found[SIZE] = { 0 };
	const unsigned char seven = 7;
	struct bi_exchange exchange;
	struct bi_view *view;
	cl_event event;

	producer.refuses = refuses;
	cl.clEnqueueMarkerWithWaitList(producer.queues[1], 1, &producer.gate, &event);
	cl.clFlush(producer.queues[1]);
	exchange = describe(NULL, event);
	exchange.done = follow_consumer;
	OK(bi_view_import(context, &exchange, 0, &view, &err));
	OK(bi_fill(view, &seven, NULL, &err));
	bi_view_release(view);
	assert_int_equal(producer.hand_backs, 1);
	assert_int_equal(producer.releases, !refuses);
	/* A producer that has not followed must not use the memory before its release. */
	if (!refuses)
		cl.clEnqueueReadBuffer(producer.queues[0], producer.buffer, CL_FALSE, 0, SIZE, found, 0, NULL, NULL);
	cl.clFlush(producer.queues[0]);
	cl.clSetUserEventStatus(producer.gate, CL_COMPLETE);
	cl.clFinish(producer.queues[0]);
	if (!refuses)
		assert_int_equal(found[0], 7);
	bi_context_release(context);
	assert_int_equal(producer.releases, 1);
	cl.clReleaseEvent(event);
}

static void test_event_alone_is_handed_back(void **state)
{
	(void)state;
	event_alone(0);
}

static void test_release_waits_if_the_producer_cannot_follow(void **state)
{
	(void)state;
	event_alone(1);
}

static void test_event_alone_needs_done(void **state)
{
	struct bi_context *context = adopt(NULL);
	struct bi_exchange exchange;
	struct bi_view *view;
	cl_event event;

	(void)state;
	cl.clEnqueueMarkerWithWaitList(producer.queues[0], 0, NULL, &event);
	exchange = describe(NULL, event);
	assert_int_equal(bi_view_import(context, &exchange, 0, &view, &err), BI_EINVAL);
	assert_non_null(strstr(err.message, "done"));
	exchange.release(&exchange);
	cl.clReleaseEvent(event);
	bi_context_release(context);
}

static void test_context_is_needed(void **state)
{
	struct bi_context *context = adopt(NULL);
	struct bi_exchange exchange = describe(producer.queues[0], NULL);
	struct bi_view *view;

	(void)state;
	exchange.context = 0;
	assert_int_equal(bi_view_import(context, &exchange, 0, &view, &err), BI_EINVAL);
	assert_int_equal(producer.releases, 0);
	bi_context_release(context);
}

/* Without elements the handle names no memory (B-22), whatever its kind. */
static void test_no_elements_in_memory_of_any_kind(void **state)
{
	static const enum bi_handle_kind kinds[] = { BI_HANDLE_CL_MEM, BI_HANDLE_CL_SVM };
	struct bi_context *context = adopt(NULL);

	(void)state;
	producer.shape[0] = 0;
	for (int i = 0; i < 2; i++) {
		struct bi_exchange exchange = describe(producer.queues[0], NULL);
		struct bi_view *view;

		exchange.handle_kind = (uint8_t)kinds[i];
		exchange.handle = 4096;
		exchange.size = 1 << 20;
		OK(bi_view_import(context, &exchange, 0, &view, &err));
		assert_int_equal(bi_view_shape(view)[0], 0);
		bi_view_release(view);
		assert_int_equal(producer.releases, i + 1);
	}
	bi_context_release(context);
}

/* An exported array names the device's position in the cl_context. */
static void test_position_in_the_context(void **state)
{
	static const int64_t shape[1] = { SIZE };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct bi_exchange exchange = BI_EXCHANGE_INIT;
		struct bi_options options = BI_OPTIONS_INIT;
		struct bi_context *context;
		struct bi_dtype dtype;
		struct bi_view *view;

		options.device = i ? "opencl:1" : "opencl:0";
		options.adopt_context = (uintptr_t)producer.context;
		OK(bi_context_open(&options, &context, &err));
		OK(bi_dtype_make(BI_UINT8, 1, 0, &dtype, &err));
		OK(bi_view_empty(context, dtype, 1, shape, &view, &err));
		OK(bi_view_export(view, 0, &exchange, &err));
		assert_int_equal(exchange.device_id, i);
		assert_true(exchange.context == (uintptr_t)producer.context);
		exchange.release(&exchange);
		bi_view_release(view);
		bi_context_release(context);
	}
}

static int load(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;

#define LOAD(name) \
	symbol = library ? dlsym(library, #name) : NULL; \
	if (!symbol) \
		return 0; \
	memcpy(&cl.name, &symbol, sizeof(symbol));
	FUNCTIONS(LOAD)
#undef LOAD
	return 1;
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_producer, close_producer)
	const struct CMUnitTest tests[] = {
		TEST(test_queue_of_another_device),
		TEST(test_queue_of_another_device_with_event),
		TEST(test_event_alone_is_handed_back),
		TEST(test_release_waits_if_the_producer_cannot_follow),
		TEST(test_strided_copies_on_the_queue_of_another_device),
		TEST(test_event_alone_needs_done),
		TEST(test_context_is_needed),
		TEST(test_position_in_the_context),
		TEST(test_no_elements_in_memory_of_any_kind),
	};
#undef TEST

	if (!load()) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	return cmocka_run_group_tests_name("exchange_queues", tests, NULL, NULL);
}
