#include "opencl/api.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/dl.h"

enum necessity { optional, required };

static struct bi__cl_api api;

const struct bi__cl_api *const bi__cl = &api;

static int open_library_locked(struct bi_error *err)
{
	static const char *const names[] = { BI__DL_NAMES("libOpenCL.so.1", "OpenCL.dll",
							  "/System/Library/Frameworks/OpenCL.framework/OpenCL"),
					     BI__DL_NAMES("libOpenCL.so", NULL, "libOpenCL.dylib"), NULL };
	static const struct bi__symbol symbols[] = {
#define SYMBOL(name, necessity) { offsetof(struct bi__cl_api, name), "cl" #name, necessity },
		BI__CL_API(SYMBOL)
#undef SYMBOL
	};

	return bi__dl_open("BI_OPENCL_LIBRARY", names, symbols, sizeof(symbols) / sizeof(*symbols), &api, err);
}

int bi__cl_open(struct bi_error *err)
{
	static struct bi__dl_once once = BI__DL_ONCE_INIT;

	return bi__dl_open_once(&once, open_library_locked, err);
}

bi_function *bi__cl_symbol(const char *name)
{
	return bi__dl_symbol(api.library, name);
}

/*
 * The error codes that messages name: X(code, status of this library). Codes of features that the library does not use,
 * such as images, samplers, linking and sub-devices, are left out.
 */
#define CODES(X) \
	X(CL_DEVICE_NOT_FOUND, BI_ENODEVICE) \
	X(CL_DEVICE_NOT_AVAILABLE, BI_ENODEVICE) \
	X(CL_COMPILER_NOT_AVAILABLE, BI_EUNSUPPORTED) \
	X(CL_MEM_OBJECT_ALLOCATION_FAILURE, BI_ENOMEM) \
	X(CL_OUT_OF_RESOURCES, BI_ENOMEM) \
	X(CL_OUT_OF_HOST_MEMORY, BI_ENOMEM) \
	X(CL_PROFILING_INFO_NOT_AVAILABLE, BI_EDRIVER) \
	X(CL_MEM_COPY_OVERLAP, BI_EDRIVER) \
	X(CL_BUILD_PROGRAM_FAILURE, BI_EDRIVER) \
	X(CL_MAP_FAILURE, BI_EDRIVER) \
	X(CL_MISALIGNED_SUB_BUFFER_OFFSET, BI_EDRIVER) \
	X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, BI_EPRODUCER) \
	X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, BI_EUNSUPPORTED) \
	X(CL_INVALID_VALUE, BI_EDRIVER) \
	X(CL_INVALID_DEVICE_TYPE, BI_EDRIVER) \
	X(CL_INVALID_PLATFORM, BI_EDRIVER) \
	X(CL_INVALID_DEVICE, BI_EDRIVER) \
	X(CL_INVALID_CONTEXT, BI_EDRIVER) \
	X(CL_INVALID_QUEUE_PROPERTIES, BI_EDRIVER) \
	X(CL_INVALID_COMMAND_QUEUE, BI_EDRIVER) \
	X(CL_INVALID_HOST_PTR, BI_EDRIVER) \
	X(CL_INVALID_MEM_OBJECT, BI_EDRIVER) \
	X(CL_INVALID_BINARY, BI_EDRIVER) \
	X(CL_INVALID_BUILD_OPTIONS, BI_EDRIVER) \
	X(CL_INVALID_PROGRAM, BI_EDRIVER) \
	X(CL_INVALID_PROGRAM_EXECUTABLE, BI_EDRIVER) \
	X(CL_INVALID_KERNEL_NAME, BI_EDRIVER) \
	X(CL_INVALID_KERNEL_DEFINITION, BI_EDRIVER) \
	X(CL_INVALID_KERNEL, BI_EDRIVER) \
	X(CL_INVALID_ARG_INDEX, BI_EDRIVER) \
	X(CL_INVALID_ARG_VALUE, BI_EDRIVER) \
	X(CL_INVALID_ARG_SIZE, BI_EDRIVER) \
	X(CL_INVALID_KERNEL_ARGS, BI_EDRIVER) \
	X(CL_INVALID_WORK_DIMENSION, BI_EDRIVER) \
	X(CL_INVALID_WORK_GROUP_SIZE, BI_EDRIVER) \
	X(CL_INVALID_WORK_ITEM_SIZE, BI_EDRIVER) \
	X(CL_INVALID_GLOBAL_OFFSET, BI_EDRIVER) \
	X(CL_INVALID_EVENT_WAIT_LIST, BI_EDRIVER) \
	X(CL_INVALID_EVENT, BI_EDRIVER) \
	X(CL_INVALID_OPERATION, BI_EDRIVER) \
	X(CL_INVALID_BUFFER_SIZE, BI_ENOMEM) \
	X(CL_INVALID_GLOBAL_WORK_SIZE, BI_EDRIVER) \
	X(CL_INVALID_PROPERTY, BI_EDRIVER) \
	X(CL_PLATFORM_NOT_FOUND_KHR, BI_ENODEVICE)

static const struct code {
	cl_int code;
	int status;
	const char *name;
} codes[] = {
#define CODE(name, status) { name, status, #name },
	CODES(CODE)
#undef CODE
};

static const struct code *find_code(cl_int code)
{
	static const struct code unknown = { 0, BI_EDRIVER, "unknown code" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return &unknown;
}

const char *bi__cl_name(cl_int code)
{
	return find_code(code)->name;
}

int bi__cl_fail(cl_int code, const char *call, struct bi_error *err)
{
	const struct code *found = find_code(code);

	return bi__fail_vendor(err, found->status, code, "%s failed: %s (%d)", call, found->name, code);
}

static cl_int query_text(cl_platform_id platform, cl_device_id device, cl_uint what, size_t size, char *text,
			 size_t *needed)
{
	return device ? bi__cl->GetDeviceInfo(device, what, size, text, needed)
		      : bi__cl->GetPlatformInfo(platform, what, size, text, needed);
}

/*
 * Neither isspace nor sscanf is used: if the library was loaded by dlmopen, glibc has not set up the tables of isspace
 * in threads of the program.
 */
void bi__cl_trim(char *text)
{
	static const char blanks[] = " \t\n\v\f\r";
	size_t start = strspn(text, blanks), length = strlen(text + start);

	memmove(text, text + start, length + 1);
	while (length && strchr(blanks, text[length - 1]))
		text[--length] = '\0';
}

char *bi__cl_text(cl_platform_id platform, cl_device_id device, cl_uint what)
{
	size_t size;
	char *text;

	if (query_text(platform, device, what, 0, NULL, &size) != CL_SUCCESS)
		return NULL;
	text = calloc(1, size + 1);
	if (!text || query_text(platform, device, what, size, text, NULL) != CL_SUCCESS) {
		free(text);
		return NULL;
	}
	bi__cl_trim(text);
	return text;
}
