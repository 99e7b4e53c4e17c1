/* The OpenCL driver behind the library's back: producers, consumers and gates are made with it. */
#ifndef BI_TESTS_ORDERING_DRIVER_H
#define BI_TESTS_ORDERING_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#define DRIVER_MAP(X) \
	X(clGetDeviceInfo) \
	X(clCreateContext) \
	X(clReleaseContext) \
	X(clGetContextInfo) \
	X(clCreateCommandQueue) \
	X(clReleaseCommandQueue) \
	X(clGetCommandQueueInfo) \
	X(clFlush) \
	X(clFinish) \
	X(clCreateBuffer) \
	X(clRetainMemObject) \
	X(clReleaseMemObject) \
	X(clCreateUserEvent) \
	X(clSetUserEventStatus) \
	X(clGetEventInfo) \
	X(clReleaseEvent) \
	X(clEnqueueReadBuffer) \
	X(clEnqueueWriteBuffer) \
	X(clEnqueueFillBuffer) \
	X(clEnqueueCopyBuffer) \
	X(clEnqueueMarkerWithWaitList) \
	X(clEnqueueBarrierWithWaitList)

struct driver {
#define DRIVER_MEMBER(name) __typeof__(name) *name;
	DRIVER_MAP(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

/* Ends the program if there is no driver. */
const struct driver *driver(void);

#endif
