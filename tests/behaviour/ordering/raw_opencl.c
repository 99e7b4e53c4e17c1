/* The raw driver of OpenCL. Gates are user events; the loader layer of the tests counts and fails calls. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/runtime/object.h"
#include "opencl_layer/layer.h"
#include "raw_driver.h"
#include "opencl_driver.h"

static struct bi_layer layer;

/* ----------------------------------------------------------------------------------------------------------- device */

/* A device of the library's list, as the driver's handle. */
static cl_device_id device_of(const char *spec)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	cl_device_id device = NULL;

	options.device = spec;
	if (bi_context_open(&options, &context, &error) != BI_OK) {
		fprintf(stderr, "ordering: %s\n", error.message);
		exit(EXIT_FAILURE);
	}
	driver()->clGetContextInfo((cl_context)bi_context_handle(context), CL_CONTEXT_DEVICES, sizeof(device), &device,
				   NULL);
	bi_context_release(context);
	return device;
}

/* Returns 1 if the event of work behind failed work on an in-order queue fails too. */
static int tells_failures(cl_device_id device)
{
	cl_context context = driver()->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	cl_command_queue queue = driver()->clCreateCommandQueue(context, device, 0, NULL);
	cl_event gate = driver()->clCreateUserEvent(context, NULL), failed = NULL, behind = NULL;
	cl_int status = CL_COMPLETE;

	driver()->clEnqueueBarrierWithWaitList(queue, 1, &gate, &failed);
	driver()->clEnqueueMarkerWithWaitList(queue, 0, NULL, &behind);
	driver()->clFlush(queue);
	driver()->clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES);
	driver()->clWaitForEvents(1, &behind);
	driver()->clGetEventInfo(behind, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	driver()->clReleaseEvent(gate);
	driver()->clReleaseEvent(failed);
	driver()->clReleaseEvent(behind);
	driver()->clReleaseCommandQueue(queue);
	driver()->clReleaseContext(context);
	return status < 0;
}

static unsigned open_device(const char *spec)
{
	cl_device_id device = device_of(spec);
	unsigned found = NEED_DEVICE | NEED_OPENCL | NEED_COUNTS;

	if (!layer.host_waits && !bi_layer_open(getenv("BI_TEST_LAYER"), &layer)) {
		fprintf(stderr, "ordering: the layer is not loaded: set OPENCL_LAYERS and BI_TEST_LAYER to its file\n");
		exit(EXIT_FAILURE);
	}
	if (works_in_calling_thread(device))
		return found;
	return found | NEED_GATE | (tells_failures(device) ? NEED_TOLD : 0);
}

/* ----------------------------------------------------------------------------------------------------------- counts */

static int64_t buffers_at_begin;

static void begin(void)
{
	layer.reset();
	buffers_at_begin = layer.live_buffers();
}

/*
 * Every context is closed. A driver may free a buffer a moment after its last release, and the next row counts buffers.
 * A row in which the driver refuses may leave one.
 */
static void end(void)
{
	const struct timespec moment = { 0, 2000000 };

	for (int i = 0; i < 200 && layer.live_buffers() > buffers_at_begin; i++)
		nanosleep(&moment, NULL);
}

static int counts(void)
{
	return 1;
}

static uint64_t host_waits(void)
{
	return layer.host_waits();
}

static uint64_t calls(const char *name)
{
	return layer.count(name);
}

/* A context finishes the queues of closed out-of-order streams, whose work has ended (16.1). */
static uint64_t closing_waits(void)
{
	return calls("clFinish");
}

static uint64_t sum_of(const char *prefix)
{
	uint64_t sum = 0;

	for (int i = 0; i < layer.entries(); i++)
		if (strncmp(layer.entry(i), prefix, strlen(prefix)) == 0)
			sum += layer.count(layer.entry(i));
	return sum;
}

static uint64_t count(enum counted what)
{
	switch (what) {
	case COUNT_ALL:
		return sum_of("cl");
	case COUNT_ENQUEUED:
		return sum_of("clEnqueue");
	case COUNT_RECORDS:
		return calls("clEnqueueMarkerWithWaitList");
	case COUNT_WAITS:
		return calls("clEnqueueBarrierWithWaitList");
	default:
		return calls("clGetEventInfo");
	}
}

static int64_t live_memory_now(void)
{
	return layer.live_buffers();
}

static void arm_call(const char *name, unsigned nth)
{
	layer.arm(name, nth, nth ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
}

static void arm_calls_from(unsigned nth)
{
	layer.refuse_from(nth, CL_OUT_OF_RESOURCES);
}

static uint64_t failed_calls(void)
{
	return layer.fired();
}

/* --------------------------------------------------------------------------------------------------------- contexts */

static cl_context native_of(const struct bi_context *context)
{
	return (cl_context)bi_context_handle(context);
}

/* The device string with which a context adopts that device; drivers list them in their own order. */
static const char *position_of(cl_context context, cl_device_id device)
{
	cl_device_id devices[2] = { NULL, NULL };

	driver()->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
	return devices[1] == device ? "opencl:1" : "opencl:0";
}

/* Arrays are at home on the asynchronous device. */
static void choose_devices(const char *const specs[2], cl_device_id devices[2])
{
	cl_device_id first;

	devices[0] = first = device_of(specs[0]);
	devices[1] = specs[1] ? device_of(specs[1]) : first;
	if (works_in_calling_thread(first)) {
		devices[0] = devices[1];
		devices[1] = first;
	}
}

static uintptr_t share(const char *const specs[2], const char *adopt[2])
{
	static cl_device_id devices[2];
	cl_context context;

	if (!devices[0])
		choose_devices(specs, devices);
	context = driver()->clCreateContext(NULL, specs[1] ? 2 : 1, devices, NULL, NULL, NULL);
	assert_non_null(context);
	for (int i = 0; i < 2; i++)
		adopt[i] = position_of(context, devices[i]);
	return (uintptr_t)context;
}

static void unshare(uintptr_t native)
{
	driver()->clReleaseContext((cl_context)native);
}

/* ---------------------------------------------------------------------------------------------------------- streams */

static cl_command_queue queue_of(const struct bi_stream *stream)
{
	return (cl_command_queue)bi_stream_handle(stream);
}

static cl_context context_of(const struct bi_stream *stream)
{
	return native_of(bi_stream_context(stream));
}

static cl_command_queue new_queue(struct bi_context *context, cl_command_queue_properties properties)
{
	cl_command_queue like = queue_of(bi_context_stream(context)), queue;
	cl_device_id device;

	assert_int_equal(driver()->clGetCommandQueueInfo(like, CL_QUEUE_DEVICE, sizeof(device), &device, NULL), 0);
	queue = driver()->clCreateCommandQueue(native_of(context), device, properties, NULL);
	assert_non_null(queue);
	return queue;
}

static uintptr_t stream_create(struct bi_context *context, unsigned flags)
{
	return (uintptr_t)new_queue(context, flags ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
}

static void stream_release(uintptr_t native, uintptr_t stream)
{
	(void)native;
	driver()->clReleaseCommandQueue((cl_command_queue)stream);
}

static void finish_queue(cl_command_queue queue)
{
	own_waits(1);
	assert_int_equal(driver()->clFinish(queue), CL_SUCCESS);
}

static int queue_works(struct bi_stream *stream)
{
	cl_event event = NULL;
	cl_int code = driver()->clEnqueueMarkerWithWaitList(queue_of(stream), 0, NULL, &event);

	if (code == CL_SUCCESS) {
		own_waits(1);
		code = driver()->clWaitForEvents(1, &event);
		driver()->clReleaseEvent(event);
	}
	return code == CL_SUCCESS;
}

static void flush(const struct bi_stream *stream)
{
	assert_int_equal(driver()->clFlush(queue_of(stream)), CL_SUCCESS);
}

static int event_done(uintptr_t event)
{
	cl_int status = CL_COMPLETE;

	assert_int_equal(driver()->clGetEventInfo((cl_event)event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
						  &status, NULL),
			 CL_SUCCESS);
	return status <= CL_COMPLETE;
}

/*
 * By flushing until all is done: a device that works in the calling thread goes on only in calls for its own queue, so
 * that waiting for one queue may be waiting for another that nobody moves.
 */
static void finish(struct bi_stream *const *streams, size_t number)
{
	const struct timespec moment = { 0, 20000 };
	cl_event ends[128];
	size_t done = 0;

	assert_true(number <= ARRAY_LENGTH(ends));
	for (size_t i = 0; i < number; i++)
		assert_int_equal(driver()->clEnqueueMarkerWithWaitList(queue_of(streams[i]), 0, NULL, &ends[i]), 0);
	while (done < number) {
		for (size_t i = 0; i < number; i++)
			flush(streams[i]);
		while (done < number && event_done((uintptr_t)ends[done]))
			driver()->clReleaseEvent(ends[done++]);
		if (done < number)
			nanosleep(&moment, NULL);
	}
}

/*
 * The driver begins commands in the order in which they become ready: when two that came later are done, the earlier
 * ones are at least on their way. The pause comes last: PoCL 7 frees a buffer in a thread of its own, shortly after the
 * release.
 */
static void settle_context(struct bi_context *context)
{
	const struct timespec moment = { 0, 2000000 };
	unsigned char zero = 0;
	cl_command_queue queue = new_queue(context, 0);
	cl_mem buffer = driver()->clCreateBuffer(native_of(context), 0, 1, NULL, NULL);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(driver()->clEnqueueFillBuffer(queue, buffer, &zero, 1, 0, 1, 0, NULL, NULL), 0);
		finish_queue(queue);
	}
	driver()->clReleaseMemObject(buffer);
	driver()->clReleaseCommandQueue(queue);
	nanosleep(&moment, NULL);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static cl_mem buffer_of(const struct bi_view *view)
{
	return (cl_mem)handle_of(view);
}

static uintptr_t alloc_buffer(struct bi_context *context, int value)
{
	unsigned char byte = (unsigned char)value;
	cl_command_queue queue = new_queue(context, 0);
	cl_mem buffer = driver()->clCreateBuffer(native_of(context), 0, ARRAY_BYTES, NULL, NULL);

	assert_non_null(buffer);
	assert_int_equal(driver()->clEnqueueFillBuffer(queue, buffer, &byte, 1, 0, ARRAY_BYTES, 0, NULL, NULL), 0);
	finish_queue(queue);
	driver()->clReleaseCommandQueue(queue);
	return (uintptr_t)buffer;
}

static void bury(void)
{
}

static cl_command_queue queue_for(const struct bi_view *view)
{
	return new_queue(bi_memory_context(bi_view_memory(view)), 0);
}

/*
 * Copies bytes while a gate is closed. Nothing may wait then, so the threads of the driver may have written them
 * without an order that ThreadSanitizer sees.
 */
__attribute__((no_sanitize("thread"))) static void read_unordered(unsigned char bytes[ARRAY_BYTES],
								  const volatile unsigned char *host)
{
	for (size_t i = 0; i < ARRAY_BYTES; i++)
		bytes[i] = host[i];
}

static void peek_bytes(struct bi_view *view, unsigned char bytes[ARRAY_BYTES], int is_quiet)
{
	void *host = bi_view_host_pointer(view);
	cl_command_queue queue;

	if (host) {
		if (is_quiet)
			memcpy(bytes, host, ARRAY_BYTES);
		else
			read_unordered(bytes, host);
		return;
	}
	queue = queue_for(view);
	assert_int_equal(
		driver()->clEnqueueReadBuffer(queue, buffer_of(view), CL_FALSE, 0, ARRAY_BYTES, bytes, 0, NULL, NULL),
		0);
	finish_queue(queue);
	driver()->clReleaseCommandQueue(queue);
}

static void poke_bytes(struct bi_view *view, const unsigned char bytes[ARRAY_BYTES])
{
	void *host = bi_view_host_pointer(view);
	cl_command_queue queue;

	if (host) {
		memcpy(host, bytes, ARRAY_BYTES);
		return;
	}
	queue = queue_for(view);
	assert_int_equal(
		driver()->clEnqueueWriteBuffer(queue, buffer_of(view), CL_FALSE, 0, ARRAY_BYTES, bytes, 0, NULL, NULL),
		0);
	finish_queue(queue);
	driver()->clReleaseCommandQueue(queue);
}

static int nobody_knows(struct bi_stream *stream, struct bi_view *view, int writes)
{
	(void)stream;
	(void)view;
	(void)writes;
	return -1;
}

/* --------------------------------------------------------------------------------------------------------- commands */

/* Both kinds of arrays have a buffer or an address; a producer's work writes either. */
static void write_behind(struct bi_stream *stream, struct bi_view *view, int value, struct gate *gate, uintptr_t *event)
{
	unsigned char byte = (unsigned char)value;
	cl_event waited = gate ? (cl_event)gate->handle : NULL, out;
	cl_uint number = gate ? 1 : 0;
	const cl_event *list = gate ? &waited : NULL;
	unsigned char *host = bi_view_host_pointer(view);
	cl_mem buffer;

	if (!host) {
		assert_int_equal(driver()->clEnqueueFillBuffer(queue_of(stream), buffer_of(view), &byte, 1, 0,
							       ARRAY_BYTES, number, list, &out),
				 0);
	} else {
		buffer = driver()->clCreateBuffer(context_of(stream), 0, ARRAY_BYTES, NULL, NULL);
		assert_int_equal(driver()->clEnqueueFillBuffer(queue_of(stream), buffer, &byte, 1, 0, ARRAY_BYTES, 0,
							       NULL, NULL),
				 0);
		finish_queue(queue_of(stream));
		assert_int_equal(driver()->clEnqueueReadBuffer(queue_of(stream), buffer, CL_FALSE, 0, ARRAY_BYTES, host,
							       number, list, &out),
				 0);
		driver()->clReleaseMemObject(buffer);
	}
	if (event)
		*event = (uintptr_t)out;
	else
		driver()->clReleaseEvent(out);
	if (event || !gate)
		flush(stream);
}

static void copy_bytes(struct bi_stream *stream, struct bi_view *to, struct bi_view *from)
{
	assert_int_equal(driver()->clEnqueueCopyBuffer(queue_of(stream), buffer_of(from), buffer_of(to), 0, 0,
						       ARRAY_BYTES, 0, NULL, NULL),
			 0);
	flush(stream);
}

static void upload_bytes(struct bi_stream *stream, struct bi_view *to, struct bi_view *from)
{
	assert_int_equal(driver()->clEnqueueWriteBuffer(queue_of(stream), buffer_of(to), CL_FALSE, 0, ARRAY_BYTES,
							bi_view_host_pointer(from), 0, NULL, NULL),
			 0);
	flush(stream);
}

/* ------------------------------------------------------------------------------------------------------------ gates */

static void gate_init(struct gate *gate)
{
	gate->handle = (uintptr_t)driver()->clCreateUserEvent(native_of(gate->context), NULL);
	assert_true(gate->handle != 0);
}

static void event_wait(struct bi_stream *stream, uintptr_t event)
{
	cl_event waited = (cl_event)event;

	assert_int_equal(driver()->clEnqueueBarrierWithWaitList(queue_of(stream), 1, &waited, NULL), CL_SUCCESS);
}

/* On an out-of-order queue of PoCL, a barrier with a wait list makes later commands ignore the barriers before it. */
static void gate_close(struct gate *gate, struct bi_stream *stream)
{
	event_wait(stream, gate->handle);
	if (stream->queue.out_of_order)
		assert_int_equal(driver()->clEnqueueBarrierWithWaitList(queue_of(stream), 0, NULL, NULL), CL_SUCCESS);
}

static void gate_open(struct gate *gate)
{
	assert_int_equal(driver()->clSetUserEventStatus((cl_event)gate->handle, CL_COMPLETE), CL_SUCCESS);
}

static void gate_fail(struct gate *gate)
{
	assert_int_equal(driver()->clSetUserEventStatus((cl_event)gate->handle, CL_OUT_OF_RESOURCES), CL_SUCCESS);
}

static void event_release(uintptr_t native, uintptr_t event)
{
	(void)native;
	driver()->clReleaseEvent((cl_event)event);
}

static void gate_release(struct gate *gate)
{
	driver()->clReleaseEvent((cl_event)gate->handle);
}

static uintptr_t event_with(struct bi_context *context, cl_int status)
{
	cl_event event = driver()->clCreateUserEvent(native_of(context), NULL);

	assert_non_null(event);
	assert_int_equal(driver()->clSetUserEventStatus(event, status), CL_SUCCESS);
	return (uintptr_t)event;
}

static uintptr_t event_complete(struct bi_context *context)
{
	return event_with(context, CL_COMPLETE);
}

static uintptr_t event_failed(struct bi_context *context)
{
	return event_with(context, CL_OUT_OF_RESOURCES);
}

const struct raw_driver raw_opencl = {
	.backend = "opencl",
	.handle_kind = BI_HANDLE_CL_MEM,
	.stream_kind = BI_ORDER_OPENCL,
	.open = open_device,
	.begin = begin,
	.end = end,
	.counts = counts,
	.host_waits = host_waits,
	.count = count,
	.calls = calls,
	.closing_waits = closing_waits,
	.live_memory = live_memory_now,
	.arm = arm_call,
	.arm_from = arm_calls_from,
	.failures = failed_calls,
	.share = share,
	.unshare = unshare,
	.stream_create = stream_create,
	.stream_release = stream_release,
	.finish = finish,
	.settle = settle_context,
	.works = queue_works,
	.alloc = alloc_buffer,
	.wrap_flags = BI_WRAP_STEAL,
	.bury = bury,
	.peek = peek_bytes,
	.poke = poke_bytes,
	.ordered = nobody_knows,
	.write = write_behind,
	.copy = copy_bytes,
	.upload = upload_bytes,
	.gate_init = gate_init,
	.gate_close = gate_close,
	.gate_open = gate_open,
	.gate_fail = gate_fail,
	.gate_release = gate_release,
	.event_complete = event_complete,
	.event_failed = event_failed,
	.event_release = event_release,
	.event_wait = event_wait,
	.event_done = event_done,
};
