/* The raw work of OpenCL. */
#define _POSIX_C_SOURCE 200809L
#include "opencl_driver.h"
#include "raw.h"

#include <time.h>

/* References to each memory of the stock. If the library releases one too often, the memory still exists. */
#define OWN_REFERENCES 2

static struct {
	cl_context context;
	int is_for_one_thread;
	cl_command_queue queues[RAW_STREAMS];
	cl_mem source, stock[RAW_PARTS][RAW_STOCK];
	unsigned char bytes[RAW_BYTES], witnesses[RAW_PARTS][RAW_WITNESSES][RAW_BYTES];
} own;

static cl_device_id device_of(struct bi_context *context)
{
	cl_command_queue queue = (cl_command_queue)bi_stream_handle(bi_context_stream(context));
	cl_device_id device;

	RAW(driver()->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL));
	return device;
}

static cl_mem new_buffer(const void *bytes)
{
	cl_int code;
	cl_mem buffer = driver()->clCreateBuffer(own.context, bytes ? CL_MEM_COPY_HOST_PTR : 0, RAW_BYTES,
						 (void *)(uintptr_t)bytes, &code);

	raw_check(code, "clCreateBuffer");
	return buffer;
}

static cl_command_queue new_queue(struct bi_context *context, int is_out_of_order)
{
	cl_command_queue_properties properties = is_out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
	cl_int code;
	cl_command_queue queue = driver()->clCreateCommandQueue(own.context, device_of(context), properties, &code);

	raw_check(code, "clCreateCommandQueue");
	return queue;
}

static void open_objects(struct bi_context *context)
{
	own.context = (cl_context)bi_context_handle(context);
	for (size_t i = 0; i < RAW_BYTES; i++)
		own.bytes[i] = raw_source(i);
	own.source = new_buffer(own.bytes);
	for (int part = 0; part < RAW_PARTS; part++)
		for (int i = 0; i < RAW_STOCK; i++) {
			own.stock[part][i] = new_buffer(NULL);
			RAW(driver()->clRetainMemObject(own.stock[part][i]));
		}
	own.is_for_one_thread = works_in_calling_thread(device_of(context));
	own.queues[0] = new_queue(context, 0);
	own.queues[1] = new_queue(context, uses_out_of_order(context));
}

static void close_objects(void)
{
	for (int part = 0; part < RAW_PARTS; part++)
		for (int i = 0; i < RAW_STOCK * OWN_REFERENCES; i++)
			RAW(driver()->clReleaseMemObject(own.stock[part][i / OWN_REFERENCES]));
	RAW(driver()->clReleaseMemObject(own.source));
	for (int i = 0; i < RAW_STREAMS; i++)
		RAW(driver()->clReleaseCommandQueue(own.queues[i]));
}

static uintptr_t stream(int index)
{
	return (uintptr_t)own.queues[index];
}

static uintptr_t memory(int part, int index)
{
	return (uintptr_t)own.stock[part][index];
}

static unsigned char *witness(int part, int index)
{
	return own.witnesses[part][index];
}

/* A barrier, because the queue may be out of order. */
static void begin(uintptr_t queue)
{
	RAW(driver()->clEnqueueBarrierWithWaitList((cl_command_queue)queue, 0, NULL, NULL));
}

static void put(uintptr_t stream, struct raw_place place, size_t from, size_t nbytes)
{
	cl_command_queue queue = (cl_command_queue)stream;
	unsigned char *host = place.host;

	begin(stream);
	if (host)
		RAW(driver()->clEnqueueReadBuffer(queue, own.source, CL_FALSE, from, nbytes, host + place.offset, 0,
						  NULL, NULL));
	else
		RAW(driver()->clEnqueueCopyBuffer(queue, own.source, (cl_mem)place.handle, from, place.offset, nbytes,
						  0, NULL, NULL));
	RAW(driver()->clFlush(queue));
}

static void get(uintptr_t stream, struct raw_place place, unsigned char *to, size_t nbytes)
{
	cl_command_queue queue = (cl_command_queue)stream;

	begin(stream);
	RAW(driver()->clEnqueueReadBuffer(queue, (cl_mem)place.handle, CL_FALSE, place.offset, nbytes, to, 0, NULL,
					  NULL));
	RAW(driver()->clFlush(queue));
}

static void finish(uintptr_t stream)
{
	RAW(driver()->clFinish((cl_command_queue)stream));
}

static void retain_stock(int part, int index)
{
	RAW(driver()->clRetainMemObject(own.stock[part][index]));
}

static void release_stock(int part, int index)
{
	RAW(driver()->clReleaseMemObject(own.stock[part][index]));
}

/* Repeats the query, because the driver may refer to the buffer for a moment after a command has ended. */
static const char *check_stock(int part, int index)
{
	const struct timespec moment = { 0, 100000 };
	cl_uint count = 0;

	for (int i = 0; i < 20000; i++) {
		RAW(driver()->clGetMemObjectInfo(own.stock[part][index], CL_MEM_REFERENCE_COUNT, sizeof(count), &count,
						 NULL));
		if (count == OWN_REFERENCES)
			return NULL;
		nanosleep(&moment, NULL);
	}
	return count < OWN_REFERENCES ? "a reference to a wrapped cl_mem was released once too often"
				      : "a reference to a wrapped cl_mem was not released";
}

static int is_for_one_thread(void)
{
	return own.is_for_one_thread;
}

const struct raw raw_opencl = {
	.open = open_objects,
	.close = close_objects,
	.stream = stream,
	.memory = memory,
	.witness = witness,
	.put = put,
	.get = get,
	.finish = finish,
	.retain = retain_stock,
	.release = release_stock,
	.check = check_stock,
	.is_for_one_thread = is_for_one_thread,
	.kind = BI_HANDLE_CL_MEM,
};
