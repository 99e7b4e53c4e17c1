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

enum driver_kind { DRIVER_CONTEXT, DRIVER_QUEUE, DRIVER_BUFFER, DRIVER_EVENT };

/* References to a cl_context, cl_command_queue, cl_mem or cl_event. */
cl_uint driver_references(enum driver_kind kind, void *handle);

/* Fails unless the count becomes `expected` within seconds: the driver's threads drop theirs after a command is done.
 */
void driver_expect_references(enum driver_kind kind, void *handle, cl_uint expected);

/* Bytes of a sub-buffer's granularity. */
size_t driver_alignment(const struct bi_context *context);

#endif
