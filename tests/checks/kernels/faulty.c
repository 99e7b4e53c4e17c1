/*
 * faulty: without an argument the names of the kernels that OpenCL devices can be given here, one a line. With
 * "races", "bounds" or "uninitialized" a kernel that has this fault, so that whoever looks for it can be seen to find
 * it. Kernels for offsets beyond 31 bits are left out: no memory of a test is so large.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/launch.h"
#include "opencl/api.h"

struct fault {
	const char *name, *source;
};

static const struct fault faults[] = {
	{ "races", "kernel void faulty(global int *out) { out[get_global_id(0) / 2] = (int)get_global_id(0); }\n" },
	{ "bounds", "kernel void faulty(global int *out) { out[get_global_id(0) + 1] = 1; }\n" },
	{ "uninitialized", "kernel void faulty(global int *out) {\n"
			   "	local int turned[8];\n"
			   "	if (get_local_id(0) < 4)\n"
			   "		turned[get_local_id(0)] = 1;\n"
			   "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			   "	out[get_local_id(0)] = turned[get_local_id(0)];\n"
			   "}\n" },
};

static void must(cl_int code, const char *call)
{
	if (code == CL_SUCCESS)
		return;
	fprintf(stderr, "faulty: %s failed: %s\n", call, bi__cl_name(code));
	exit(EXIT_FAILURE);
}

/* Eight threads on a buffer of eight numbers. */
static void launch(cl_context context, cl_device_id device, const char *source)
{
	const size_t threads = 8;
	cl_int code;
	cl_command_queue queue = bi__cl->CreateCommandQueue(context, device, 0, &code);
	cl_mem out = bi__cl->CreateBuffer(context, CL_MEM_READ_WRITE, 8 * sizeof(cl_int), NULL, &code);
	cl_program program = bi__cl->CreateProgramWithSource(context, 1, &source, NULL, &code);
	cl_kernel kernel;

	must(bi__cl->BuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	kernel = bi__cl->CreateKernel(program, "faulty", &code);
	must(code, "clCreateKernel");
	must(bi__cl->SetKernelArg(kernel, 0, sizeof(out), &out), "clSetKernelArg");
	must(bi__cl->EnqueueNDRangeKernel(queue, kernel, 1, NULL, &threads, &threads, 0, NULL, NULL), "the launch");
	must(bi__cl->Finish(queue), "clFinish");
	bi__cl->ReleaseKernel(kernel);
	bi__cl->ReleaseProgram(program);
	bi__cl->ReleaseMemObject(out);
	bi__cl->ReleaseCommandQueue(queue);
}

static int run(const struct fault *fault)
{
	struct bi_error err;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_int code;

	if (bi__cl_open(&err) != BI_OK) {
		fprintf(stderr, "faulty: %s\n", err.message);
		return EXIT_FAILURE;
	}
	must(bi__cl->GetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	must(bi__cl->GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = bi__cl->CreateContext(NULL, 1, &device, NULL, NULL, &code);
	must(code, "clCreateContext");
	launch(context, device, fault->source);
	bi__cl->ReleaseContext(context);
	return EXIT_SUCCESS;
}

int main(int count, char **words)
{
	for (size_t i = 0; count == 2 && i < sizeof(faults) / sizeof(*faults); i++)
		if (strcmp(words[1], faults[i].name) == 0)
			return run(&faults[i]);
	for (int i = 0; i < BI__KERNEL_COUNT; i++)
		if (!strstr(bi__kernel_name(i), "64_"))
			puts(bi__kernel_name(i));
	return EXIT_SUCCESS;
}
