#include "driver.h"

#include <dlfcn.h>

#include "fixture.h"

static void load(void *library, const char *name, void *slot)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		fail_msg("libOpenCL.so.1 has no %s", name);
	memcpy(slot, &symbol, sizeof(symbol));
}

const struct driver *driver(void)
{
	static struct driver table;
	static void *library;

	if (library)
		return &table;
	library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
#define DRIVER_LOAD(name) load(library, #name, &table.name);
	DRIVER_MAP(DRIVER_LOAD)
#undef DRIVER_LOAD
	return &table;
}

cl_context driver_context(const struct bi_context *context)
{
	cl_context handle = (cl_context)bi_context_handle(context);

	assert_non_null(handle);
	return handle;
}

cl_device_id driver_device(const struct bi_context *context)
{
	cl_device_id devices[8] = { NULL };

	assert_int_equal(driver()->clGetContextInfo(driver_context(context), CL_CONTEXT_DEVICES, sizeof(devices), devices,
						    NULL), CL_SUCCESS);
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

cl_uint driver_context_references(cl_context context)
{
	cl_uint count = 0;

	assert_int_equal(driver()->clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, NULL), 0);
	return count;
}

cl_uint driver_queue_references(cl_command_queue queue)
{
	cl_uint count = 0;

	assert_int_equal(driver()->clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL), 0);
	return count;
}

cl_uint driver_buffer_references(cl_mem buffer)
{
	cl_uint count = 0;

	assert_int_equal(driver()->clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL), 0);
	return count;
}

size_t driver_alignment(const struct bi_context *context)
{
	cl_uint bits = 0;

	assert_int_equal(driver()->clGetDeviceInfo(driver_device(context), CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits),
						   &bits, NULL), 0);
	return bits / 8;
}
