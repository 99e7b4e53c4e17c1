/* The OpenCL driver behind the library's back: to make foreign objects and to look at their counts. */
#ifndef BI_TESTS_CONTRACT_DRIVER_H
#define BI_TESTS_CONTRACT_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

#define DRIVER_MAP(X) \
	X(clCreateContext) \
	X(clReleaseContext) \
	X(clGetContextInfo) \
	X(clCreateCommandQueue) \
	X(clReleaseCommandQueue) \
	X(clGetCommandQueueInfo) \
	X(clFinish) \
	X(clCreateBuffer) \
	X(clCreateSubBuffer) \
	X(clRetainMemObject) \
	X(clReleaseMemObject) \
	X(clGetMemObjectInfo) \
	X(clSetMemObjectDestructorCallback) \
	X(clEnqueueReadBuffer) \
	X(clEnqueueWriteBuffer) \
	X(clEnqueueMarkerWithWaitList) \
	X(clGetEventInfo) \
	X(clReleaseEvent) \
	X(clGetDeviceInfo)

struct driver {
#define DRIVER_MEMBER(name) cl_api_##name name;
	DRIVER_MAP(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

/* Fails the test if there is no driver. */
const struct driver *driver(void);

struct bi_context;

cl_context driver_context(const struct bi_context *context);
/* The only, or first, device of the context. */
cl_device_id driver_device(const struct bi_context *context);
/* A new cl_context or queue for that device, or a buffer in that cl_context. Released by the caller. */
cl_context driver_new_context(const struct bi_context *context);
cl_command_queue driver_new_queue(cl_context context, cl_device_id device);
cl_mem driver_new_buffer(cl_context context, size_t nbytes);

cl_uint driver_context_references(cl_context context);
cl_uint driver_queue_references(cl_command_queue queue);
cl_uint driver_buffer_references(cl_mem buffer);

/* Bytes of a sub-buffer's granularity. */
size_t driver_alignment(const struct bi_context *context);

#endif
