#include "driver_opencl.h"

#include "contract.h"

cl_context opencl_context(const struct bi_context *context)
{
	cl_context handle = (cl_context)bi_context_handle(context);

	assert_non_null(handle);
	return handle;
}

cl_mem opencl_buffer(const struct bi_context *context, cl_mem_flags flags, size_t nbytes)
{
	cl_mem buffer = driver()->clCreateBuffer(opencl_context(context), flags, nbytes, NULL, NULL);

	assert_non_null(buffer);
	return buffer;
}

size_t opencl_alignment(const struct bi_context *context)
{
	cl_uint bits = 0;

	assert_int_equal(driver()->clGetDeviceInfo(driver_device(opencl_context(context)),
						   CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL),
			 CL_SUCCESS);
	return bits / 8;
}

void expect_buffer_references(cl_mem buffer, unsigned expected)
{
	expect_references(&outside_opencl, DRIVER_MEMORY, (uintptr_t)buffer, expected);
}

static uintptr_t new_context(const struct bi_context *context)
{
	cl_device_id device = driver_device(opencl_context(context));
	cl_context made = driver()->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);

	assert_non_null(made);
	return (uintptr_t)made;
}

static uintptr_t new_stream(uintptr_t context)
{
	cl_command_queue queue =
		driver()->clCreateCommandQueue((cl_context)context, driver_device((cl_context)context), 0, NULL);

	assert_non_null(queue);
	return (uintptr_t)queue;
}

static uintptr_t new_memory(uintptr_t context, size_t nbytes)
{
	cl_mem buffer = driver()->clCreateBuffer((cl_context)context, CL_MEM_READ_WRITE, nbytes, NULL, NULL);

	assert_non_null(buffer);
	return (uintptr_t)buffer;
}

static uintptr_t new_event(uintptr_t context, uintptr_t stream)
{
	cl_event event = NULL;

	(void)context;
	assert_int_equal(driver()->clEnqueueMarkerWithWaitList((cl_command_queue)stream, 0, NULL, &event), CL_SUCCESS);
	assert_int_equal(driver()->clFlush((cl_command_queue)stream), CL_SUCCESS);
	return (uintptr_t)event;
}

static void release(enum driver_kind kind, uintptr_t context, uintptr_t handle)
{
	cl_int code = CL_INVALID_VALUE;

	(void)context;
	if (kind == DRIVER_CONTEXT)
		code = driver()->clReleaseContext((cl_context)handle);
	else if (kind == DRIVER_STREAM)
		code = driver()->clReleaseCommandQueue((cl_command_queue)handle);
	else if (kind == DRIVER_MEMORY)
		code = driver()->clReleaseMemObject((cl_mem)handle);
	else
		code = driver()->clReleaseEvent((cl_event)handle);
	assert_int_equal(code, CL_SUCCESS);
}

static void finish(enum driver_kind kind, uintptr_t context, uintptr_t handle)
{
	uintptr_t queue = kind == DRIVER_STREAM ? handle : new_stream(context);
	cl_event event = (cl_event)handle;

	if (kind == DRIVER_EVENT)
		assert_int_equal(driver()->clEnqueueBarrierWithWaitList((cl_command_queue)queue, 1, &event, NULL),
				 CL_SUCCESS);
	assert_int_equal(driver()->clFinish((cl_command_queue)queue), CL_SUCCESS);
	if (kind == DRIVER_EVENT)
		release(DRIVER_STREAM, context, queue);
}

static void fill(uintptr_t context, uintptr_t stream, uintptr_t memory, size_t nbytes, unsigned char value)
{
	(void)context;
	assert_int_equal(driver()->clEnqueueFillBuffer((cl_command_queue)stream, (cl_mem)memory, &value, 1, 0, nbytes,
						       0, NULL, NULL),
			 CL_SUCCESS);
	assert_int_equal(driver()->clFlush((cl_command_queue)stream), CL_SUCCESS);
}

static void read(uintptr_t context, uintptr_t memory, size_t offset, size_t nbytes, void *bytes)
{
	uintptr_t queue = new_stream(context);

	assert_int_equal(driver()->clEnqueueReadBuffer((cl_command_queue)queue, (cl_mem)memory, CL_TRUE, offset, nbytes,
						       bytes, 0, NULL, NULL),
			 CL_SUCCESS);
	release(DRIVER_STREAM, context, queue);
}

static unsigned references(enum driver_kind kind, uintptr_t handle)
{
	const size_t size = sizeof(cl_uint);
	cl_uint count = 0;
	cl_int code = CL_INVALID_VALUE;

	if (kind == DRIVER_CONTEXT)
		code = driver()->clGetContextInfo((cl_context)handle, CL_CONTEXT_REFERENCE_COUNT, size, &count, NULL);
	else if (kind == DRIVER_STREAM)
		code = driver()->clGetCommandQueueInfo((cl_command_queue)handle, CL_QUEUE_REFERENCE_COUNT, size, &count,
						       NULL);
	else if (kind == DRIVER_EVENT)
		code = driver()->clGetEventInfo((cl_event)handle, CL_EVENT_REFERENCE_COUNT, size, &count, NULL);
	else
		code = driver()->clGetMemObjectInfo((cl_mem)handle, CL_MEM_REFERENCE_COUNT, size, &count, NULL);
	assert_int_equal(code, CL_SUCCESS);
	return count;
}

const struct outside outside_opencl = {
	.backend = "opencl",
	.memory_kind = BI_HANDLE_CL_MEM,
	.new_context = new_context,
	.new_stream = new_stream,
	.new_memory = new_memory,
	.new_event = new_event,
	.release = release,
	.finish = finish,
	.fill = fill,
	.read = read,
	.references = references,
};
