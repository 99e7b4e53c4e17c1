/* The strided copy on devices that do not run our C code: its program, and its launch. */
#include "opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/strided.h"

static const char source[] = BI__STRIDED_SOURCE;

static uint64_t hash_text(uint64_t hash, cl_platform_id platform, cl_device_id device, cl_uint what)
{
	char *text = bi__opencl_text(platform, device, what);

	if (text)
		hash = bi__opencl_hash(hash, text, strlen(text) + 1);
	free(text);
	return hash;
}

/* What a compiled program depends on. */
static uint64_t cache_key(cl_device_id device)
{
	static const cl_uint of_platform[] = { CL_PLATFORM_NAME, CL_PLATFORM_VERSION };
	static const cl_uint of_device[] = { CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION };
	uint64_t hash = bi__opencl_hash(BI__OPENCL_HASH, source, sizeof(source));
	cl_platform_id platform = NULL;

	bi__cl->GetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	for (size_t i = 0; i < sizeof(of_platform) / sizeof(*of_platform); i++)
		hash = hash_text(hash, platform, NULL, of_platform[i]);
	for (size_t i = 0; i < sizeof(of_device) / sizeof(*of_device); i++)
		hash = hash_text(hash, NULL, device, of_device[i]);
	return hash;
}

/* On failure the compiler's own words, as far as they fit. */
static int explain(cl_program program, cl_device_id device, cl_int code, struct bi_error *err)
{
	size_t size = 0;
	char *log = NULL;

	bi__cl->GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
	if (size)
		log = calloc(1, size + 1);
	if (log)
		bi__cl->GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
	for (char *c = log; c && (c = strchr(c, '\n'));)
		*c = ' ';
	bi__fail_vendor(err, BI_EDRIVER, code, "clBuildProgram failed: %s (%d): %s", bi__cl_name(code), code,
			log ? log : "");
	free(log);
	return BI_EDRIVER;
}

static int build(cl_program program, cl_device_id device, struct bi_error *err)
{
	cl_int code = bi__cl->BuildProgram(program, 1, &device, "", NULL, NULL);

	return code == CL_SUCCESS ? BI_OK : explain(program, device, code, err);
}

static int build_from_source(struct bi__opencl *opencl, cl_program *out, struct bi_error *err)
{
	const char *text = source;
	cl_int code;
	int rc;

	*out = bi__cl->CreateProgramWithSource(opencl->context, 1, &text, NULL, &code);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clCreateProgramWithSource", err);
	rc = build(*out, opencl->device, err);
	if (rc)
		bi__cl->ReleaseProgram(*out);
	return rc;
}

/* A file that cannot be used is as good as none. */
static int build_from_file(struct bi__opencl *opencl, uint64_t key, cl_program *out)
{
	size_t nbytes = 0;
	void *bytes = bi__opencl_cache_read(opencl->cache_directory, key, &nbytes);
	const unsigned char *binary = bytes;
	cl_int code;

	if (!bytes)
		return 0;
	*out = bi__cl->CreateProgramWithBinary(opencl->context, 1, &opencl->device, &nbytes, &binary, NULL, &code);
	free(bytes);
	if (code != CL_SUCCESS)
		return 0;
	if (build(*out, opencl->device, NULL) == BI_OK)
		return 1;
	bi__cl->ReleaseProgram(*out);
	return 0;
}

/* The binaries of a program are an array over its devices; NULL leaves one out. */
static void *get_binary(cl_program program, cl_uint index, cl_uint count, size_t *nbytes)
{
	size_t *sizes = calloc(count, sizeof(*sizes));
	unsigned char **binaries = calloc(count, sizeof(*binaries));
	unsigned char *binary = NULL;

	if (sizes && binaries &&
	    bi__cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(*sizes), sizes, NULL) ==
		    CL_SUCCESS &&
	    sizes[index] && (binary = malloc(sizes[index]))) {
		*nbytes = sizes[index];
		binaries[index] = binary;
		if (bi__cl->GetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(*binaries), binaries, NULL)) {
			free(binary);
			binary = NULL;
		}
	}
	free(sizes);
	free(binaries);
	return binary;
}

static void *get_device_binary(cl_program program, cl_device_id device, size_t *nbytes)
{
	cl_device_id *devices;
	size_t size = 0;
	cl_uint count, index = 0;

	if (bi__cl->GetProgramInfo(program, CL_PROGRAM_DEVICES, 0, NULL, &size) != CL_SUCCESS ||
	    !(devices = malloc(size)))
		return NULL;
	count = (cl_uint)(size / sizeof(*devices));
	if (bi__cl->GetProgramInfo(program, CL_PROGRAM_DEVICES, size, devices, NULL) != CL_SUCCESS)
		count = 0;
	while (index < count && devices[index] != device)
		index++;
	free(devices);
	return index < count ? get_binary(program, index, count, nbytes) : NULL;
}

static void keep_in_file(const struct bi__opencl *opencl, uint64_t key)
{
	size_t nbytes = 0;
	void *binary = get_device_binary(opencl->program, opencl->device, &nbytes);

	if (binary)
		bi__opencl_cache_write(opencl->cache_directory, key, binary, nbytes);
	free(binary);
}

/* Locked. */
static int need_program(struct bi__opencl *opencl, struct bi_error *err)
{
	uint64_t key = 0;
	int rc;

	if (opencl->program)
		return BI_OK;
	if (opencl->cache_directory) {
		key = cache_key(opencl->device);
		if (build_from_file(opencl, key, &opencl->program)) {
			opencl->loaded++;
			return BI_OK;
		}
	}
	rc = build_from_source(opencl, &opencl->program, err);
	if (rc) {
		opencl->program = NULL;
		return rc;
	}
	opencl->built++;
	if (opencl->cache_directory)
		keep_in_file(opencl, key);
	return BI_OK;
}

void bi__opencl_drop_caches(struct bi__device_state *device)
{
	struct bi__opencl *opencl = device->state;

	pthread_mutex_lock(&opencl->lock);
	if (opencl->program)
		bi__cl->ReleaseProgram(opencl->program);
	opencl->program = NULL;
	pthread_mutex_unlock(&opencl->lock);
}

void bi__opencl_cache_state(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded)
{
	struct bi__opencl *opencl = device->state;

	pthread_mutex_lock(&opencl->lock);
	*built = opencl->built;
	*loaded = opencl->loaded;
	pthread_mutex_unlock(&opencl->lock);
}

/* One object for each launch: the arguments of a kernel object are not safe to set from two threads. */
static int get_kernel(struct bi__opencl *opencl, size_t unit, cl_kernel *out, struct bi_error *err)
{
	char name[40];
	cl_int code;
	int rc;

	snprintf(name, sizeof(name), "bi__strided_%zu", unit);
	pthread_mutex_lock(&opencl->lock);
	rc = need_program(opencl, err);
	if (!rc) {
		*out = bi__cl->CreateKernel(opencl->program, name, &code);
		rc = bi__cl_check(code, "clCreateKernel", err);
	}
	pthread_mutex_unlock(&opencl->lock);
	return rc;
}

/* A plan counted in units, innermost axis first: what one launch does, and the axes outside of it. */
struct nest {
	size_t unit;
	int64_t dst, src;
	int ndim;
	int64_t shape[BI_MAX_NDIM + 1];
	int64_t dst_steps[BI_MAX_NDIM + 1];
	int64_t src_steps[BI_MAX_NDIM + 1];
};

/* The largest of 8, 4, 2, 1 bytes that divides the run, every offset and every stride. */
static size_t unit_of(const struct bi__plan *plan, int64_t dst, int64_t src)
{
	uint64_t bits = 8 | (uint64_t)plan->unit | (uint64_t)dst | (uint64_t)src;

	for (int i = 0; i < plan->ndim; i++)
		bits |= (uint64_t)plan->dst_strides[i] | (uint64_t)plan->src_strides[i];
	return (size_t)(bits & -bits);
}

static void add_axis(struct nest *nest, int64_t extent, int64_t dst_step, int64_t src_step)
{
	nest->shape[nest->ndim] = extent;
	nest->dst_steps[nest->ndim] = dst_step;
	nest->src_steps[nest->ndim++] = src_step;
}

static void make_nest(struct nest *nest, const struct bi__plan *plan, size_t dst_offset, size_t src_offset)
{
	int64_t dst = (int64_t)dst_offset + plan->dst_offset, src = (int64_t)src_offset + plan->src_offset, unit;

	nest->unit = unit_of(plan, dst, src);
	unit = (int64_t)nest->unit;
	nest->dst = dst / unit;
	nest->src = src / unit;
	nest->ndim = 0;
	if (plan->unit > nest->unit)
		add_axis(nest, (int64_t)(plan->unit / nest->unit), 1, 1);
	for (int i = plan->ndim - 1; i >= 0; i--)
		add_axis(nest, plan->shape[i], plan->dst_strides[i] / unit, plan->src_strides[i] / unit);
}

static void fill_launch(struct bi__nest *launch, const struct nest *nest)
{
	int ndim = nest->ndim < BI__NEST_NDIM ? nest->ndim : BI__NEST_NDIM;
	size_t nbytes = (size_t)ndim * sizeof(int64_t);

	*launch = (struct bi__nest){ .count = 1, .dst = nest->dst, .src = nest->src, .ndim = ndim };
	memcpy(launch->shape, nest->shape, nbytes);
	memcpy(launch->dst_steps, nest->dst_steps, nbytes);
	memcpy(launch->src_steps, nest->src_steps, nbytes);
	for (int i = 0; i < ndim; i++)
		launch->count *= launch->shape[i];
}

/* Steps the axes that no launch covers; 0 when all of them have been gone through. */
static int next_launch(struct bi__nest *launch, const struct nest *nest, int64_t *index)
{
	for (int i = BI__NEST_NDIM; i < nest->ndim; i++) {
		launch->dst += nest->dst_steps[i];
		launch->src += nest->src_steps[i];
		if (++index[i] < nest->shape[i])
			return 1;
		launch->dst -= nest->shape[i] * nest->dst_steps[i];
		launch->src -= nest->shape[i] * nest->src_steps[i];
		index[i] = 0;
	}
	return 0;
}

static int enqueue(cl_command_queue queue, cl_kernel kernel, size_t group, const struct bi__nest *launch,
		   cl_event *event, struct bi_error *err)
{
	size_t global = ((size_t)launch->count + group - 1) / group * group;
	int rc = bi__cl_check(bi__cl->SetKernelArg(kernel, 2, sizeof(*launch), launch), "clSetKernelArg", err);

	if (rc)
		return rc;
	return bi__cl_check(bi__cl->EnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &group, 0, NULL, event),
			    "clEnqueueNDRangeKernel", err);
}

/* The event, if one is wanted, is that of the last launch. */
static int enqueue_all(cl_command_queue queue, cl_kernel kernel, size_t group, const struct nest *nest, cl_event *event,
		       struct bi_error *err)
{
	int64_t index[BI_MAX_NDIM + 1] = { 0 };
	struct bi__nest launch;
	int rc, more;

	fill_launch(&launch, nest);
	do {
		struct bi__nest current = launch;

		more = next_launch(&launch, nest, index);
		rc = enqueue(queue, kernel, group, &current, more ? NULL : event, err);
	} while (!rc && more);
	return rc;
}

int bi__opencl_launch(struct bi__opencl *opencl, cl_command_queue queue, const struct bi__plan *plan,
		      const struct bi__opencl_place *dst, const struct bi__opencl_place *src, cl_event *event,
		      struct bi_error *err)
{
	struct nest nest;
	cl_kernel kernel;
	int rc;

	make_nest(&nest, plan, dst->offset, src->offset);
	rc = get_kernel(opencl, nest.unit, &kernel, err);
	if (rc)
		return rc;
	rc = bi__cl_check(bi__cl->SetKernelArg(kernel, 0, sizeof(cl_mem), &dst->buffer), "clSetKernelArg", err);
	if (!rc)
		rc = bi__cl_check(bi__cl->SetKernelArg(kernel, 1, sizeof(cl_mem), &src->buffer), "clSetKernelArg", err);
	if (!rc)
		rc = enqueue_all(queue, kernel, opencl->group, &nest, event, err);
	bi__cl->ReleaseKernel(kernel);
	return rc;
}
