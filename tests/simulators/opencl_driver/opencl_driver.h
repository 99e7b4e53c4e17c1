/* The OpenCL driver behind the library's back: what tests make foreign objects, producers and gates with. */
#ifndef BI_TESTS_OPENCL_DRIVER_H
#define BI_TESTS_OPENCL_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#define DRIVER_MAP(X) \
	X(clCreateBuffer) \
	X(clCreateCommandQueue) \
	X(clCreateContext) \
	X(clCreateSubBuffer) \
	X(clCreateUserEvent) \
	X(clEnqueueBarrierWithWaitList) \
	X(clEnqueueCopyBuffer) \
	X(clEnqueueFillBuffer) \
	X(clEnqueueMarkerWithWaitList) \
	X(clEnqueueReadBuffer) \
	X(clEnqueueWriteBuffer) \
	X(clFinish) \
	X(clFlush) \
	X(clGetCommandQueueInfo) \
	X(clGetContextInfo) \
	X(clGetDeviceIDs) \
	X(clGetDeviceInfo) \
	X(clGetEventInfo) \
	X(clGetMemObjectInfo) \
	X(clGetPlatformIDs) \
	X(clReleaseCommandQueue) \
	X(clReleaseContext) \
	X(clReleaseEvent) \
	X(clReleaseMemObject) \
	X(clRetainMemObject) \
	X(clSetMemObjectDestructorCallback) \
	X(clSetUserEventStatus)

struct driver {
#define DRIVER_MEMBER(name) __typeof__(name) *name;
	DRIVER_MAP(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

/* Ends the program if there is no driver. */
const struct driver *driver(void);

#endif
