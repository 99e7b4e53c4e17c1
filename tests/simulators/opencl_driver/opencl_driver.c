#include "opencl_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void load(void *library, const char *name, void *slot)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		fprintf(stderr, "libOpenCL.so.1 has no %s\n", name);
		exit(EXIT_FAILURE);
	}
	memcpy(slot, &symbol, sizeof(symbol));
}

const struct driver *driver(void)
{
	static struct driver table;
	static void *library;

	if (library)
		return &table;
	library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(EXIT_FAILURE);
	}
#define DRIVER_LOAD(name) load(library, #name, &table.name);
	DRIVER_MAP(DRIVER_LOAD)
#undef DRIVER_LOAD
	return &table;
}

cl_device_id driver_device(cl_context context)
{
	cl_device_id devices[8] = { NULL };

	driver()->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
	return devices[0];
}

struct call {
	pthread_t caller;
	int *is_same;
};

static void CL_CALLBACK compare_threads(void *arguments)
{
	struct call call;

	memcpy(&call, arguments, sizeof(call));
	*call.is_same = pthread_equal(call.caller, pthread_self());
}

static int runs_in_flush(cl_command_queue queue)
{
	int is_same = 0;
	cl_int status = CL_QUEUED;
	cl_event event;
	struct call call = { pthread_self(), &is_same };

	if (driver()->clEnqueueNativeKernel(queue, compare_threads, &call, sizeof(call), 0, NULL, NULL, 0, NULL,
					    &event))
		return 0;
	driver()->clFlush(queue);
	/* Not clWaitForEvents, in which a waiting thread may run the command. */
	while (status > CL_COMPLETE)
		if (driver()->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL))
			break;
	driver()->clReleaseEvent(event);
	return is_same;
}

int works_in_calling_thread(cl_device_id device)
{
	static cl_device_id asked;
	static int answer;
	cl_device_exec_capabilities can = 0;
	cl_context context;
	cl_command_queue queue;

	if (device == asked)
		return answer;
	driver()->clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL);
	if (!(can & CL_EXEC_NATIVE_KERNEL))
		return 0;
	context = driver()->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = driver()->clCreateCommandQueue(context, device, 0, NULL);
	asked = device;
	answer = runs_in_flush(queue);
	driver()->clReleaseCommandQueue(queue);
	driver()->clReleaseContext(context);
	return answer;
}
