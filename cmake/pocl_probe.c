/* Prints the name of the first OpenCL device; exits with 1 and the reason if there is none. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *find(void *library, const char *name, void *function, size_t size)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, size);
	return symbol;
}

int main(void)
{
	cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *);
	cl_int (*devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
	cl_int (*device_info)(cl_device_id, cl_device_info, size_t, void *, size_t *);
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
	cl_platform_id platform;
	cl_device_id device;
	char name[256] = "";
	cl_int rc;

	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	if (!find(library, "clGetPlatformIDs", &platforms, sizeof(platforms)) ||
	    !find(library, "clGetDeviceIDs", &devices, sizeof(devices)) ||
	    !find(library, "clGetDeviceInfo", &device_info, sizeof(device_info))) {
		printf("libOpenCL.so.1 lacks a function\n");
		return 1;
	}
	rc = platforms(1, &platform, NULL);
	if (rc != CL_SUCCESS) {
		printf("no platform (%d)\n", (int)rc);
		return 1;
	}
	rc = devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	if (rc != CL_SUCCESS) {
		printf("no device (%d)\n", (int)rc);
		return 1;
	}
	device_info(device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
	printf("%s\n", name);
	return 0;
}
