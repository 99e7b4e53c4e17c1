/* The OpenCL driver's own calls, and a simple kernel. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "launch.h"

#define OPENCL_API(X) \
	X(GetPlatformIDs) \
	X(GetDeviceIDs) \
	X(CreateContext) \
	X(ReleaseContext) \
	X(CreateCommandQueue) \
	X(ReleaseCommandQueue) \
	X(CreateBuffer) \
	X(ReleaseMemObject) \
	X(CreateProgramWithSource) \
	X(BuildProgram) \
	X(ReleaseProgram) \
	X(CreateKernel) \
	X(ReleaseKernel) \
	X(SetKernelArg) \
	X(EnqueueNDRangeKernel) \
	X(EnqueueCopyBuffer) \
	X(EnqueueFillBuffer) \
	X(EnqueueReadBuffer) \
	X(EnqueueWriteBuffer) \
	X(Finish)

static struct {
#define MEMBER(name) __typeof__(cl##name) *name;
	OPENCL_API(MEMBER)
#undef MEMBER
} cl;

static int load_driver(void)
{
	const char *name = getenv("BI_OPENCL_LIBRARY");
	void *library;

	if (cl.Finish)
		return 0;
	library = dlopen(name ? name : "libOpenCL.so.1", RTLD_NOW);
	if (!library)
		return bench_fail("%s", dlerror());
#define LOAD(symbol) \
	*(void **)&cl.symbol = dlsym(library, "cl" #symbol); \
	if (!cl.symbol) \
		return bench_fail("the OpenCL loader has no cl" #symbol);
	OPENCL_API(LOAD)
#undef LOAD
	return 0;
}

struct device {
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
};

static void close_device(struct device *device)
{
	if (device->queue)
		cl.ReleaseCommandQueue(device->queue);
	if (device->context)
		cl.ReleaseContext(device->context);
}

static int open_device(struct device *device, int platform, int ordinal)
{
	cl_platform_id platforms[16];
	cl_device_id devices[16];
	cl_uint count = 0;
	cl_int rc;

	memset(device, 0, sizeof(*device));
	rc = cl.GetPlatformIDs(16, platforms, &count);
	if (rc || platform < 0 || (cl_uint)platform >= count)
		return bench_fail("no OpenCL platform %d (%d)", platform, rc);
	rc = cl.GetDeviceIDs(platforms[platform], CL_DEVICE_TYPE_ALL, 16, devices, &count);
	if (rc || ordinal < 0 || (cl_uint)ordinal >= count)
		return bench_fail("no OpenCL device %d (%d)", ordinal, rc);
	device->id = devices[ordinal];
	device->context = cl.CreateContext(NULL, 1, &device->id, NULL, NULL, &rc);
	if (!rc)
		device->queue = cl.CreateCommandQueue(device->context, device->id, 0, &rc);
	if (!rc)
		return 0;
	close_device(device);
	return bench_fail("clCreateContext or clCreateCommandQueue: %d", rc);
}

struct opencl_job {
	struct bench_job job;
	struct bench_request request;
	struct bench_array *array;
	struct bench_job *beside; /* of the library, with the same memory; or NULL */
	int platform, ordinal;
	struct device device;
	cl_mem source, destination; /* for BENCH_FRESH the last destination, NULL before the first run */
	cl_program program;
	cl_kernel kernel;
	size_t global, local;
};

static void release_opencl(struct bench_job *base)
{
	struct opencl_job *job = (struct opencl_job *)base;

	if (job->kernel)
		cl.ReleaseKernel(job->kernel);
	if (job->program)
		cl.ReleaseProgram(job->program);
	if (job->source)
		cl.ReleaseMemObject(job->source);
	if (job->destination)
		cl.ReleaseMemObject(job->destination);
	close_device(&job->device);
	free(job);
}

static cl_int enqueue_transfer(const struct opencl_job *job)
{
	const struct bench_array *array = job->array;
	cl_command_queue queue = job->device.queue;
	const int blocks = job->request.every == 1;

	if (job->request.from == BENCH_ON_HOST)
		return cl.EnqueueWriteBuffer(queue, job->destination, blocks ? CL_TRUE : CL_FALSE, 0, array->bytes,
					     array->source, 0, NULL, NULL);
	if (job->request.to == BENCH_ON_HOST)
		return cl.EnqueueReadBuffer(queue, job->source, blocks ? CL_TRUE : CL_FALSE, 0, array->bytes,
					    array->destination, 0, NULL, NULL);
	return cl.EnqueueCopyBuffer(queue, job->source, job->destination, 0, 0, array->bytes, 0, NULL, NULL);
}

static cl_int allocate_buffer(const struct opencl_job *job)
{
	cl_int rc;
	cl_mem buffer = cl.CreateBuffer(job->device.context, CL_MEM_READ_WRITE, job->array->bytes, NULL, &rc);

	return rc ? rc : cl.ReleaseMemObject(buffer);
}

static cl_int copy_into_new(struct opencl_job *job)
{
	const size_t bytes = job->array->bytes;
	cl_int rc;

	if (job->destination)
		cl.ReleaseMemObject(job->destination);
	job->destination = cl.CreateBuffer(job->device.context, CL_MEM_READ_WRITE, bytes, NULL, &rc);
	if (!rc)
		rc = cl.EnqueueCopyBuffer(job->device.queue, job->source, job->destination, 0, 0, bytes, 0, NULL, NULL);
	return rc ? rc : cl.Finish(job->device.queue);
}

static cl_int enqueue_operation(struct opencl_job *job)
{
	static const unsigned char zeros[16];
	const struct bench_array *array = job->array;
	cl_command_queue queue = job->device.queue;

	if (job->kernel)
		return cl.EnqueueNDRangeKernel(queue, job->kernel, 1, NULL, &job->global, &job->local, 0, NULL, NULL);
	switch (job->request.operation) {
	case BENCH_COPY:
		return enqueue_transfer(job);
	case BENCH_FILL:
		return cl.EnqueueFillBuffer(queue, job->destination, zeros, (size_t)array->item_size, 0, array->bytes,
					    0, NULL, NULL);
	case BENCH_WRITE:
		return cl.EnqueueWriteBuffer(queue, job->destination, CL_TRUE, 0, array->bytes, array->source, 0, NULL,
					     NULL);
	case BENCH_READ:
		return cl.EnqueueReadBuffer(queue, job->source, CL_TRUE, 0, array->bytes, array->destination, 0, NULL,
					    NULL);
	case BENCH_FRESH:
		return copy_into_new(job);
	case BENCH_ALLOCATE:
		return allocate_buffer(job);
	}
	return CL_INVALID_OPERATION;
}

static int run_operations(struct bench_job *base, long n)
{
	struct opencl_job *job = (struct opencl_job *)base;
	const long every = job->request.every;
	cl_int rc = CL_SUCCESS;

	for (long i = 0; i < n && !rc; i++) {
		rc = enqueue_operation(job);
		if (!rc && (i + 1) % every == 0)
			rc = cl.Finish(job->device.queue);
	}
	if (!rc)
		rc = cl.Finish(job->device.queue);
	return rc ? bench_fail("an OpenCL call failed: %d", rc) : 0;
}

static int run_open(struct bench_job *base, long n)
{
	struct opencl_job *job = (struct opencl_job *)base;

	for (long i = 0; i < n; i++) {
		struct device device;

		if (open_device(&device, job->platform, job->ordinal))
			return -1;
		close_device(&device);
	}
	return 0;
}

static int ends_on_host(const struct opencl_job *job)
{
	return job->request.operation == BENCH_READ ||
	       (job->request.operation == BENCH_COPY && job->request.to == BENCH_ON_HOST);
}

/* BENCH_FRESH makes its destination in each repetition. */
static int has_lasting_destination(const struct opencl_job *job)
{
	return job->request.operation != BENCH_FRESH && !ends_on_host(job);
}

static int clear_buffer(struct bench_job *base)
{
	struct opencl_job *job = (struct opencl_job *)base;
	const struct bench_array *array = job->array;

	if (job->beside && has_lasting_destination(job))
		return job->beside->clear(job->beside);
	memset(array->destination, 0xee, array->bytes);
	if (!job->destination)
		return 0;
	return cl.EnqueueWriteBuffer(job->device.queue, job->destination, CL_TRUE, 0, array->bytes, array->destination,
				     0, NULL, NULL)
		       ? bench_fail("clEnqueueWriteBuffer failed")
		       : 0;
}

static int fetch_buffer(struct bench_job *base, void *bytes)
{
	struct opencl_job *job = (struct opencl_job *)base;
	const struct bench_array *array = job->array;

	if (ends_on_host(job)) {
		memcpy(bytes, array->destination, array->bytes);
		return 0;
	}
	if (job->beside && has_lasting_destination(job))
		return job->beside->fetch(job->beside, bytes);
	return cl.EnqueueReadBuffer(job->device.queue, job->destination, CL_TRUE, 0, array->bytes, bytes, 0, NULL, NULL)
		       ? bench_fail("clEnqueueReadBuffer failed")
		       : 0;
}

static int allocate_memory(struct opencl_job *job)
{
	const cl_mem_flags flags = CL_MEM_READ_WRITE | (job->beside ? CL_MEM_USE_HOST_PTR : 0);
	const struct bench_array *array = job->array;
	unsigned char *source = NULL, *destination = NULL;
	cl_int rc;

	if (job->beside && bench_library_addresses(job->beside, &source, &destination))
		return -1;
	job->source = cl.CreateBuffer(job->device.context, flags, array->source_bytes, source, &rc);
	if (!rc && has_lasting_destination(job))
		job->destination = cl.CreateBuffer(job->device.context, flags, array->bytes, destination, &rc);
	if (!rc && !job->beside)
		rc = cl.EnqueueWriteBuffer(job->device.queue, job->source, CL_TRUE, 0, array->source_bytes,
					   array->source, 0, NULL, NULL);
	return rc ? bench_fail("OpenCL buffers of %zu bytes could not be filled: %d", array->source_bytes, rc) : 0;
}

struct bench_job *bench_opencl(struct bench_array *array, int platform, int ordinal,
			       const struct bench_request *request, struct bench_job *beside)
{
	struct opencl_job *job = load_driver() ? NULL : bench_job_create(sizeof(*job), run_operations, release_opencl);

	if (!job)
		return NULL;
	job->array = array;
	job->request = *request;
	job->beside = beside;
	job->platform = platform;
	job->ordinal = ordinal;
	job->job.array = array;
	job->job.result = request->operation == BENCH_FILL ? BENCH_ZEROS : BENCH_LINEAR;
	job->job.has_no_result = request->operation == BENCH_ALLOCATE || request->operation == BENCH_OPEN;
	job->job.clear = clear_buffer;
	job->job.fetch = fetch_buffer;
	if (request->operation == BENCH_OPEN) {
		job->job.run = run_open;
		return &job->job;
	}
	if (open_device(&job->device, platform, ordinal) || allocate_memory(job)) {
		release_opencl(&job->job);
		return NULL;
	}
	return &job->job;
}

/* One work-item for each element: its index by divisions, strides as constants. */
static void write_kernel(const struct bench_array *array, char *text, size_t size)
{
	const char *type = array->item_size == 1   ? "uchar"
			   : array->item_size == 2 ? "ushort"
			   : array->item_size == 4 ? "uint"
						   : "ulong";
	size_t used = (size_t)snprintf(text, size,
				       "__kernel void copy(__global const uchar *from, __global %s *to)\n{\n"
				       "size_t i = get_global_id(0), rest = i;\nlong at = %" PRId64 ";\n",
				       type, array->offset);

	for (int axis = array->ndim - 1; axis >= 0; axis--)
		used += (size_t)snprintf(text + used, size - used,
					 "at += (long)(rest %% %" PRId64 ") * %" PRId64 ";\nrest /= %" PRId64 ";\n",
					 array->shape[axis], array->strides[axis], array->shape[axis]);
	snprintf(text + used, size - used, "to[i] = *(__global const %s *)(from + at);\n}\n", type);
}

static cl_int build_kernel(struct opencl_job *job)
{
	char text[2048];
	const char *texts[1] = { text };
	cl_int rc;

	write_kernel(job->array, text, sizeof(text));
	job->program = cl.CreateProgramWithSource(job->device.context, 1, texts, NULL, &rc);
	if (!rc)
		rc = cl.BuildProgram(job->program, 1, &job->device.id, "", NULL, NULL);
	if (!rc)
		job->kernel = cl.CreateKernel(job->program, "copy", &rc);
	if (!rc)
		rc = cl.SetKernelArg(job->kernel, 0, sizeof(job->source), &job->source);
	if (!rc)
		rc = cl.SetKernelArg(job->kernel, 1, sizeof(job->destination), &job->destination);
	job->global = job->array->bytes / (size_t)job->array->item_size;
	job->local = job->global % 64 ? 1 : 64;
	return rc;
}

int bench_opencl_use_kernel(struct bench_job *job)
{
	const struct bench_array *array = job->array;
	cl_int rc;

	if (array->item_size > 8 || (array->item_size & (array->item_size - 1)))
		return bench_fail("OpenCL C has no scalar of %" PRId64 " bytes", array->item_size);
	rc = build_kernel((struct opencl_job *)job);
	if (rc)
		return bench_fail("the kernel could not be built: %d", rc);
	job->result = BENCH_STRIDED;
	return 0;
}

/* The same launches as launch.c, on one queue. All arguments are set for each launch. */
struct launch_job {
	struct bench_plate_job base;
	struct device device;
	cl_program program;
	cl_kernel spread, shade;
	cl_mem plates[2], picture;
};

static cl_int spread(const struct launch_job *job, int from)
{
	const size_t size[2] = { (size_t)job->base.columns, (size_t)job->base.rows };
	const cl_float rate = BENCH_RATE;
	cl_int rc = cl.SetKernelArg(job->spread, 0, sizeof(cl_mem), &job->plates[from]);

	if (!rc)
		rc = cl.SetKernelArg(job->spread, 1, sizeof(cl_mem), &job->plates[1 - from]);
	if (!rc)
		rc = cl.SetKernelArg(job->spread, 2, sizeof(rate), &rate);
	return rc ? rc : cl.EnqueueNDRangeKernel(job->device.queue, job->spread, 2, NULL, size, NULL, 0, NULL, NULL);
}

static cl_int shade(const struct launch_job *job, int from)
{
	const size_t size[2] = { (size_t)job->base.columns, (size_t)job->base.rows };
	cl_int rc = cl.SetKernelArg(job->shade, 0, sizeof(cl_mem), &job->plates[from]);

	if (!rc)
		rc = cl.SetKernelArg(job->shade, 1, sizeof(cl_mem), &job->picture);
	return rc ? rc : cl.EnqueueNDRangeKernel(job->device.queue, job->shade, 2, NULL, size, NULL, 0, NULL, NULL);
}

static cl_int simulate(const struct launch_job *job)
{
	cl_int rc = CL_SUCCESS;

	for (int i = 0; i < BENCH_STEPS && !rc; i++) {
		rc = spread(job, i % 2);
		if (!rc && (i + 1) % BENCH_STEPS_PER_PICTURE == 0)
			rc = shade(job, 1 - i % 2);
	}
	return rc;
}

static int run_launches(struct bench_job *base, long n)
{
	struct launch_job *job = (struct launch_job *)base;
	cl_int rc = CL_SUCCESS;

	for (long i = 1; i <= n && !rc; i++) {
		rc = job->base.kind == BENCH_LAUNCH_SIMULATION ? simulate(job) : spread(job, 0);
		if (!rc && (i == n || i % BENCH_LAUNCHES == 0))
			rc = cl.Finish(job->device.queue);
	}
	return rc ? bench_fail("an OpenCL call failed: %d", rc) : 0;
}

static void release_launches(struct bench_job *base)
{
	struct launch_job *job = (struct launch_job *)base;
	const cl_mem buffers[] = { job->plates[0], job->plates[1], job->picture };

	if (job->spread)
		cl.ReleaseKernel(job->spread);
	if (job->shade)
		cl.ReleaseKernel(job->shade);
	if (job->program)
		cl.ReleaseProgram(job->program);
	for (int i = 0; i < 3; i++)
		if (buffers[i])
			cl.ReleaseMemObject(buffers[i]);
	close_device(&job->device);
	free(job);
}

static size_t plate_bytes(const struct bench_plate_job *job)
{
	return (size_t)job->rows * (size_t)job->columns * sizeof(float);
}

static int write_buffer(const struct launch_job *job, cl_mem buffer, const void *bytes, size_t count)
{
	cl_int rc = cl.EnqueueWriteBuffer(job->device.queue, buffer, CL_TRUE, 0, count, bytes, 0, NULL, NULL);

	return rc ? bench_fail("clEnqueueWriteBuffer failed: %d", rc) : 0;
}

static int read_buffer(const struct launch_job *job, cl_mem buffer, void *bytes, size_t count)
{
	cl_int rc = cl.EnqueueReadBuffer(job->device.queue, buffer, CL_TRUE, 0, count, bytes, 0, NULL, NULL);

	return rc ? bench_fail("clEnqueueReadBuffer failed: %d", rc) : 0;
}

static int set_plates(struct bench_plate_job *base, const float *plate, const float *other)
{
	const struct launch_job *job = (struct launch_job *)base;
	const size_t nbytes = plate_bytes(base);

	return write_buffer(job, job->plates[0], plate, nbytes) || write_buffer(job, job->plates[1], other, nbytes) ||
			       write_buffer(job, job->picture, other, nbytes / sizeof(float))
		       ? -1
		       : 0;
}

static int get_plate(struct bench_plate_job *base, float *plate)
{
	const struct launch_job *job = (struct launch_job *)base;
	cl_mem last = job->plates[base->kind != BENCH_LAUNCH_SIMULATION];

	return read_buffer(job, last, plate, plate_bytes(base));
}

static int get_picture(struct bench_plate_job *base, unsigned char *picture)
{
	const struct launch_job *job = (struct launch_job *)base;

	return read_buffer(job, job->picture, picture, plate_bytes(base) / sizeof(float));
}

static cl_int open_launches(struct launch_job *job, const char *text)
{
	const size_t nbytes = plate_bytes(&job->base);
	cl_int rc;

	job->program = cl.CreateProgramWithSource(job->device.context, 1, &text, NULL, &rc);
	if (!rc)
		rc = cl.BuildProgram(job->program, 1, &job->device.id, "", NULL, NULL);
	if (!rc)
		job->spread = cl.CreateKernel(job->program, "spread", &rc);
	if (!rc)
		job->shade = cl.CreateKernel(job->program, "shade", &rc);
	for (int i = 0; i < 2 && !rc; i++)
		job->plates[i] = cl.CreateBuffer(job->device.context, CL_MEM_READ_WRITE, nbytes, NULL, &rc);
	if (!rc)
		job->picture = cl.CreateBuffer(job->device.context, CL_MEM_READ_WRITE, nbytes, NULL, &rc);
	return rc;
}

struct bench_job *bench_opencl_launch(int platform, int ordinal, const char *text, int kind, int rows, int columns)
{
	struct launch_job *job = load_driver() ? NULL : bench_job_create(sizeof(*job), run_launches, release_launches);
	cl_int rc;

	if (!job)
		return NULL;
	job->base = (struct bench_plate_job){ job->base.job, rows, columns, kind, set_plates, get_plate, get_picture };
	if (open_device(&job->device, platform, ordinal))
		goto failed;
	rc = open_launches(job, text);
	if (!rc)
		return &job->base.job;
	bench_fail("the kernels could not be built: %d", rc);
failed:
	release_launches(&job->base.job);
	return NULL;
}
