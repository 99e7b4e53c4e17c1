/* The OpenCL driver, which tests call directly for foreign objects, producers and gates. */
#ifndef BI_TESTS_OPENCL_DRIVER_H
#define BI_TESTS_OPENCL_DRIVER_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#endif
#include <CL/cl.h>

#define DRIVER_MAP(X) \
	X(clBuildProgram) \
	X(clCreateBuffer) \
	X(clCreateCommandQueue) \
	X(clCreateContext) \
	X(clCreateKernel) \
	X(clCreateProgramWithSource) \
	X(clCreateSubBuffer) \
	X(clCreateUserEvent) \
	X(clEnqueueBarrierWithWaitList) \
	X(clEnqueueCopyBuffer) \
	X(clEnqueueFillBuffer) \
	X(clEnqueueMapBuffer) \
	X(clEnqueueMarkerWithWaitList) \
	X(clEnqueueNativeKernel) \
	X(clEnqueueReadBuffer) \
	X(clEnqueueWriteBuffer) \
	X(clFinish) \
	X(clFlush) \
	X(clGetCommandQueueInfo) \
	X(clGetContextInfo) \
	X(clGetDeviceIDs) \
	X(clGetDeviceInfo) \
	X(clGetEventInfo) \
	X(clGetKernelWorkGroupInfo) \
	X(clGetMemObjectInfo) \
	X(clGetPlatformIDs) \
	X(clReleaseCommandQueue) \
	X(clReleaseContext) \
	X(clReleaseEvent) \
	X(clReleaseKernel) \
	X(clReleaseMemObject) \
	X(clReleaseProgram) \
	X(clRetainCommandQueue) \
	X(clRetainMemObject) \
	X(clSetMemObjectDestructorCallback) \
	X(clSetUserEventStatus) \
	X(clWaitForEvents)

struct driver {
#define DRIVER_MEMBER(name) __typeof__(name) *name;
	DRIVER_MAP(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

/* Opens the driver once. Ends the program if there is none. */
const struct driver *driver(void);

/* Returns the first device of a context. */
cl_device_id driver_device(cl_context context);

/*
 * Returns 1 if the device runs commands inside clFlush, in the calling thread, as PoCL's basic device and oclgrind do.
 * There, a flush behind an unfinished user event does not return, and on PoCL two threads that enqueue may deadlock.
 * Returns 0 for a device without native kernels, which is not tested.
 */
int works_in_calling_thread(cl_device_id device);

#endif
