#define _POSIX_C_SOURCE 200809L
#include "driver.h"

#include <time.h>

#include "fixture.h"

cl_context driver_context(const struct bi_context *context)
{
	cl_context handle = (cl_context)bi_context_handle(context);

	assert_non_null(handle);
	return handle;
}

cl_device_id driver_device(const struct bi_context *context)
{
	cl_device_id devices[8] = { NULL };

	assert_int_equal(
		driver()->clGetContextInfo(driver_context(context), CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL),
		CL_SUCCESS);
	return devices[0];
}

cl_context driver_new_context(const struct bi_context *context)
{
	cl_device_id device = driver_device(context);
	cl_context made = driver()->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);

	assert_non_null(made);
	return made;
}

cl_command_queue driver_new_queue(cl_context context, cl_device_id device)
{
	cl_command_queue queue = driver()->clCreateCommandQueue(context, device, 0, NULL);

	assert_non_null(queue);
	return queue;
}

cl_mem driver_new_buffer(cl_context context, size_t nbytes)
{
	cl_mem buffer = driver()->clCreateBuffer(context, CL_MEM_READ_WRITE, nbytes, NULL, NULL);

	assert_non_null(buffer);
	return buffer;
}

cl_uint driver_references(enum driver_kind kind, void *handle)
{
	cl_uint count = 0;
	cl_int code = CL_INVALID_VALUE;

	if (kind == DRIVER_CONTEXT)
		code = driver()->clGetContextInfo(handle, CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, NULL);
	else if (kind == DRIVER_QUEUE)
		code = driver()->clGetCommandQueueInfo(handle, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL);
	else if (kind == DRIVER_EVENT)
		code = driver()->clGetEventInfo(handle, CL_EVENT_REFERENCE_COUNT, sizeof(count), &count, NULL);
	else
		code = driver()->clGetMemObjectInfo(handle, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
	assert_int_equal(code, CL_SUCCESS);
	return count;
}

void driver_expect_references(enum driver_kind kind, void *handle, cl_uint expected)
{
	const struct timespec pause = { 0, 1000000 };

	for (int i = 0; i < 5000 && driver_references(kind, handle) != expected; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(driver_references(kind, handle), expected);
}

size_t driver_alignment(const struct bi_context *context)
{
	cl_uint bits = 0;

	assert_int_equal(driver()->clGetDeviceInfo(driver_device(context), CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits),
						   &bits, NULL),
			 0);
	return bits / 8;
}
