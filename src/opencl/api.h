/*
 * The OpenCL library: its functions, opened at run time, its error codes, and its texts about platforms and devices.
 *
 * The prototypes come from Khronos' headers. The environment variable BI_OPENCL_LIBRARY can name the file of the
 * library. api.c has the default names, and bi__dl_open the order in which files are tried.
 */
#ifndef BI_OPENCL_API_H
#define BI_OPENCL_API_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "common/base/status.h"

/* X(function without its prefix "cl", required or optional). OpenCL 1.2 has all functions that are required. */
#define BI__CL_API(X) \
	X(GetPlatformIDs, required) \
	X(GetPlatformInfo, required) \
	X(GetDeviceIDs, required) \
	X(GetDeviceInfo, required) \
	X(CreateContext, required) \
	X(RetainContext, required) \
	X(ReleaseContext, required) \
	X(GetContextInfo, required) \
	X(CreateCommandQueue, required) \
	X(RetainCommandQueue, required) \
	X(ReleaseCommandQueue, required) \
	X(GetCommandQueueInfo, required) \
	X(Flush, required) \
	X(Finish, required) \
	X(CreateBuffer, required) \
	X(RetainMemObject, required) \
	X(ReleaseMemObject, required) \
	X(GetMemObjectInfo, required) \
	X(SetMemObjectDestructorCallback, required) \
	X(SVMAlloc, optional) \
	X(SVMFree, optional) \
	X(CreateProgramWithSource, required) \
	X(CreateProgramWithBinary, required) \
	X(ReleaseProgram, required) \
	X(BuildProgram, required) \
	X(GetProgramInfo, required) \
	X(GetProgramBuildInfo, required) \
	X(CreateKernel, required) \
	X(ReleaseKernel, required) \
	X(SetKernelArg, required) \
	X(GetKernelInfo, required) \
	X(GetKernelArgInfo, required) \
	X(GetKernelWorkGroupInfo, required) \
	X(WaitForEvents, required) \
	X(GetEventInfo, required) \
	X(RetainEvent, required) \
	X(ReleaseEvent, required) \
	X(GetEventProfilingInfo, required) \
	X(EnqueueReadBuffer, required) \
	X(EnqueueWriteBuffer, required) \
	X(EnqueueReadBufferRect, required) \
	X(EnqueueWriteBufferRect, required) \
	X(EnqueueCopyBuffer, required) \
	X(EnqueueFillBuffer, required) \
	X(EnqueueMapBuffer, required) \
	X(EnqueueUnmapMemObject, required) \
	X(EnqueueNDRangeKernel, required) \
	X(EnqueueNativeKernel, required) \
	X(EnqueueMarkerWithWaitList, required) \
	X(EnqueueBarrierWithWaitList, required)

/* An error code of the OpenCL loader. CL/cl.h does not define it. */
#ifndef CL_PLATFORM_NOT_FOUND_KHR
#define CL_PLATFORM_NOT_FOUND_KHR (-1001)
#endif

struct bi__cl_api {
	void *library;
#define BI__CL_MEMBER(name, necessity) __typeof__(cl##name) *name;
	BI__CL_API(BI__CL_MEMBER)
#undef BI__CL_MEMBER
};

/*
 * The functions of the library. All pointers are NULL until bi__cl_open has succeeded. Later only those of optional
 * functions can be NULL. Code that works on an opened device need not call bi__cl_open.
 */
extern const struct bi__cl_api *const bi__cl;

/* Opens the library, unless an earlier call has succeeded. Any thread may call it. After a failure, call it again. */
int bi__cl_open(struct bi_error *err);

/* Returns a function of the opened library, or NULL if the library does not have it. */
bi_function *bi__cl_symbol(const char *name);

/* Returns the name of an error code, such as "CL_OUT_OF_RESOURCES", or "unknown code". */
const char *bi__cl_name(cl_int code);

/* Fills *err, with the message "clSomething failed: CL_NAME (-1)", and returns the status for the error code. */
int bi__cl_fail(cl_int code, const char *call, struct bi_error *err);

/* Returns BI_OK for CL_SUCCESS. For any other code, fails as bi__cl_fail does. */
static inline int bi__cl_check(cl_int code, const char *call, struct bi_error *err)
{
	return code == CL_SUCCESS ? BI_OK : bi__cl_fail(code, call, err);
}

/* Removes blanks at both ends of the text, in place. Some drivers pad names with blanks. */
void bi__cl_trim(char *text);

/*
 * Returns the text of a clGetDeviceInfo parameter, or of a clGetPlatformInfo parameter if `device` is NULL, without
 * blanks at its ends. The caller frees the text. Returns NULL on failure.
 */
char *bi__cl_text(cl_platform_id platform, cl_device_id device, cl_uint what);

#endif
