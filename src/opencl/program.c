/* Kernels of the caller: OpenCL programs from source text, and launches. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/kernel.h"
#include "opencl/opencl.h"

#define PREFIX "bi_kernel_"
#define GROUP_PREFIX "bi_group_kernel_"

struct program {
	cl_program program;
	struct bi__opencl_source source; /* owned; compiled again to measure a type (signature.c) */
};

/*
 * A cl_kernel, and the values of its arguments. A launch sets only the arguments whose values differ. A driver may give
 * the handle of a released buffer to a new one, so the values count as unknown once the library has released a buffer.
 */
struct spare {
	cl_kernel kernel;
	bool is_known; /* `arguments` are the values of the cl_kernel */
	unsigned long long releases; /* bi__opencl_releases() when the arguments were set */
	unsigned char arguments[]; /* values of the kinds ARRAY, STRIDED and VALUE, one after the other */
};

/*
 * Two threads must not set arguments of one cl_kernel at the same time. So a launch takes one of the spares of its
 * kernel, or creates one if there is none, and puts it back. At most SPARES of them are kept.
 */
#define SPARES 4

struct kernel {
	struct program *program; /* outlives the kernel */
	char name[sizeof(GROUP_PREFIX) + BI__KERNEL_NAME_MAX]; /* name of the cl_kernel */
	size_t nbytes; /* size of spare.arguments */
	struct spare *_Atomic spares[SPARES];
};

static void free_program(struct program *program)
{
	if (program->program)
		bi__cl->ReleaseProgram(program->program);
	free(program->source.text);
	free(program->source.options);
	free(program);
}

/* With this option the driver can be queried for the names and types of the arguments of a kernel. */
#define INFO " -cl-kernel-arg-info"

static struct program *copy_source(const struct bi__source *source)
{
	size_t text = strlen(source->text) + 1, options = strlen(source->options) + sizeof(INFO);
	struct program *program = calloc(1, sizeof(*program));

	if (!program)
		return NULL;
	program->source.text = malloc(text);
	program->source.options = malloc(options);
	if (!program->source.text || !program->source.options) {
		free_program(program);
		return NULL;
	}
	memcpy(program->source.text, source->text, text);
	snprintf(program->source.options, options, "%s" INFO, source->options);
	return program;
}

int bi__opencl_build(struct bi__device_state *device, struct bi__source *source, uintptr_t *program,
		     struct bi_error *err)
{
	const struct bi__opencl *opencl = device->state;
	struct program *made;
	cl_int code;
	int rc;

	if (!source->text)
		return bi__fail(err, BI_EINVAL, "an OpenCL device compiles source text: set source.text");
	made = copy_source(source);
	if (!made)
		return bi__fail(err, BI_ENOMEM, "no memory for a program");
	code = bi__opencl_compile(opencl, &made->source, "", &made->program);
	if (made->program)
		source->log = bi__opencl_build_log(made->program, opencl->device);
	if (code == CL_SUCCESS) {
		*program = (uintptr_t)made;
		return BI_OK;
	}
	source->is_refused = code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS;
	rc = bi__cl_fail(code, made->program ? "clBuildProgram" : "clCreateProgramWithSource", err);
	free_program(made);
	return rc;
}

void bi__opencl_unload(struct bi__device_state *device, uintptr_t program)
{
	(void)device;
	free_program((struct program *)program);
}

static int query_device(const struct bi__opencl *opencl, cl_device_info what, size_t size, void *out,
			struct bi_error *err)
{
	return bi__cl_check(bi__cl->GetDeviceInfo(opencl->device, what, size, out, NULL), "clGetDeviceInfo", err);
}

static int query_kernel(const struct bi__opencl *opencl, cl_kernel kernel, cl_kernel_work_group_info what, size_t size,
			void *out, struct bi_error *err)
{
	return bi__cl_check(bi__cl->GetKernelWorkGroupInfo(kernel, opencl->device, what, size, out, NULL),
			    "clGetKernelWorkGroupInfo", err);
}

/* Sets most_local and local_step if the kernel has local memory whose size the launch chooses. */
static int read_local(const struct bi__opencl *opencl, cl_kernel kernel, struct bi__kernel *out, struct bi_error *err)
{
	cl_ulong whole = 0, fixed = 0;
	unsigned i = 0;
	int rc;

	while (i < out->count && out->parameters[i].kind != BI_PARAMETER_LOCAL)
		i++;
	if (i == out->count)
		return BI_OK;
	rc = query_device(opencl, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(whole), &whole, err);
	if (!rc)
		rc = query_kernel(opencl, kernel, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(fixed), &fixed, err);
	out->most_local = whole > fixed ? (size_t)(whole - fixed) : 0;
	out->local_step = 1;
	return rc;
}

static int read_limits(const struct bi__opencl *opencl, cl_kernel kernel, struct bi__kernel *out, struct bi_error *err)
{
	size_t along[16] = { 0 };
	int rc =
		query_kernel(opencl, kernel, CL_KERNEL_WORK_GROUP_SIZE, sizeof(out->most_items), &out->most_items, err);

	if (!rc)
		rc = query_device(opencl, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(along), along, err);
	memcpy(out->most_along, along, sizeof(out->most_along));
	return rc ? rc : read_local(opencl, kernel, out, err);
}

static size_t count_argument_bytes(const struct bi__kernel *kernel)
{
	size_t nbytes = 0;

	for (unsigned i = 0; i < kernel->count; i++) {
		const struct bi_parameter *parameter = &kernel->parameters[i];

		if (parameter->kind == BI_PARAMETER_VALUE)
			nbytes += parameter->size;
		else if (parameter->kind != BI_PARAMETER_LOCAL)
			nbytes += sizeof(cl_mem) + sizeof(cl_long) + parameter->rank * sizeof(int64_t);
	}
	return nbytes;
}

static void release_spare(struct spare *spare)
{
	if (!spare)
		return;
	bi__cl->ReleaseKernel(spare->kernel);
	free(spare);
}

/* Makes a spare of the kernel. Takes ownership of the kernel, also on failure. */
static int make_spare(const struct kernel *state, cl_kernel kernel, struct spare **out, struct bi_error *err)
{
	struct spare *spare = malloc(sizeof(*spare) + state->nbytes);

	*out = spare;
	if (!spare) {
		bi__cl->ReleaseKernel(kernel);
		return bi__fail(err, BI_ENOMEM, "no memory for a kernel");
	}
	spare->kernel = kernel;
	spare->is_known = false;
	return BI_OK;
}

void bi__opencl_put_kernel(struct bi__kernel *kernel)
{
	struct kernel *state = kernel->state;

	for (size_t i = 0; i < SPARES; i++)
		release_spare(state->spares[i]);
	free(state);
}

/* Creates the cl_kernel that BI_KERNEL or BI_GROUP_KERNEL has defined, and sets state->name. */
static int find_kernel(struct kernel *state, const char *name, cl_kernel *out, int *has_groups, struct bi_error *err)
{
	static const char *const prefixes[] = { PREFIX, GROUP_PREFIX };
	cl_int code = CL_INVALID_KERNEL_NAME;

	for (int i = 0; i < 2 && code == CL_INVALID_KERNEL_NAME; i++) {
		snprintf(state->name, sizeof(state->name), "%s%s", prefixes[i], name);
		*out = bi__cl->CreateKernel(state->program->program, state->name, &code);
		*has_groups = i;
	}
	if (code == CL_INVALID_KERNEL_NAME)
		return bi__fail_vendor(err, BI_EINVAL, code, "the program has no kernel '%s'", name);
	return bi__cl_check(code, "clCreateKernel", err);
}

static int describe_kernel(const struct bi__opencl *opencl, struct kernel *state, const char *name,
			   struct bi__kernel *out, struct bi_error *err)
{
	struct spare *spare;
	cl_kernel kernel = NULL;
	int rc = find_kernel(state, name, &kernel, &out->has_groups, err);

	if (rc)
		return rc;
	rc = bi__opencl_read_signature(opencl, &state->program->source, kernel, out, err);
	if (!rc)
		rc = read_limits(opencl, kernel, out, err);
	if (rc) {
		bi__cl->ReleaseKernel(kernel);
		return rc;
	}
	state->nbytes = count_argument_bytes(out);
	rc = make_spare(state, kernel, &spare, err);
	state->spares[0] = spare;
	return rc;
}

int bi__opencl_get_kernel(struct bi__device_state *device, uintptr_t program, const char *name, struct bi__kernel *out,
			  struct bi_error *err)
{
	struct kernel *state = calloc(1, sizeof(*state));
	int rc;

	if (!state)
		return bi__fail(err, BI_ENOMEM, "no memory for a kernel");
	state->program = (struct program *)program;
	rc = describe_kernel(device->state, state, name, out, err);
	if (rc)
		free(state);
	else
		out->state = state;
	return rc;
}

static int take_spare(struct kernel *state, struct spare **out, struct bi_error *err)
{
	cl_kernel kernel;
	cl_int code;

	for (size_t i = 0; i < SPARES; i++) {
		*out = atomic_exchange_explicit(&state->spares[i], NULL, memory_order_acquire);
		if (*out)
			return BI_OK;
	}
	kernel = bi__cl->CreateKernel(state->program->program, state->name, &code);
	return code == CL_SUCCESS ? make_spare(state, kernel, out, err) : bi__cl_fail(code, "clCreateKernel", err);
}

static void give_spare(struct kernel *state, struct spare *spare)
{
	for (size_t i = 0; i < SPARES; i++) {
		struct spare *none = NULL;

		if (atomic_compare_exchange_strong_explicit(&state->spares[i], &none, spare, memory_order_release,
							    memory_order_relaxed))
			return;
	}
	release_spare(spare);
}

/* A pass over the arguments of a spare. */
struct pass {
	struct spare *spare;
	cl_uint index; /* of the next argument of the cl_kernel */
	size_t at; /* offset of its value in spare->arguments */
};

/* Sets the next argument, unless it has this value already. */
static inline cl_int set_argument(struct pass *pass, const void *bytes, size_t nbytes)
{
	unsigned char *present = pass->spare->arguments + pass->at;
	cl_uint index = pass->index++;

	pass->at += nbytes;
	if (pass->spare->is_known && !memcmp(present, bytes, nbytes))
		return CL_SUCCESS;
	memcpy(present, bytes, nbytes);
	return bi__cl->SetKernelArg(pass->spare->kernel, index, nbytes, bytes);
}

static cl_int set_array(struct pass *pass, const struct bi_parameter *parameter, const struct bi__kernel_value *value)
{
	cl_mem buffer = (cl_mem)value->block->cookie;
	cl_long offset = (cl_long)(value->block->origin + value->offset);
	cl_int code = set_argument(pass, &buffer, sizeof(buffer));

	if (code == CL_SUCCESS)
		code = set_argument(pass, &offset, sizeof(offset));
	if (code == CL_SUCCESS && parameter->rank)
		code = set_argument(pass, value->strides, parameter->rank * sizeof(*value->strides));
	return code;
}

static int set_arguments(struct spare *spare, const struct bi__kernel_launch *launch, struct bi_error *err)
{
	unsigned long long releases = bi__opencl_releases();
	struct pass pass = { .spare = spare };
	cl_int code = CL_SUCCESS;

	spare->is_known = spare->is_known && spare->releases == releases;
	for (unsigned i = 0; i < launch->kernel->count && code == CL_SUCCESS; i++) {
		const struct bi_parameter *parameter = &launch->kernel->parameters[i];
		const struct bi__kernel_value *value = &launch->values[i];

		if (value->block)
			code = set_array(&pass, parameter, value);
		else if (value->bytes)
			code = set_argument(&pass, value->bytes, value->nbytes);
		else
			code = bi__cl->SetKernelArg(spare->kernel, pass.index++, value->nbytes, NULL);
	}
	spare->is_known = code == CL_SUCCESS;
	spare->releases = releases;
	return bi__cl_check(code, "clSetKernelArg", err);
}

/* Flushes the queue: a driver need not begin the kernel before that, and the caller may make no further call. */
static int enqueue_kernel(cl_command_queue queue, cl_kernel kernel, const struct bi__kernel_launch *launch,
			  struct bi_error *err)
{
	size_t global[3], local[3];
	int rc;

	for (int i = 0; i < 3; i++) {
		global[i] = (size_t)launch->size[i];
		local[i] = (size_t)launch->group[i];
		if ((int64_t)global[i] != launch->size[i])
			return bi__fail(err, BI_EINVAL, "%lld items along %c are above the limit of %zu",
					(long long)launch->size[i], "xyz"[i], SIZE_MAX);
	}
	rc = bi__cl_check(bi__cl->EnqueueNDRangeKernel(queue, kernel, (cl_uint)launch->ndim, NULL, global,
						       local[0] ? local : NULL, 0, NULL, NULL),
			  "clEnqueueNDRangeKernel", err);
	return rc ? rc : bi__cl_check(bi__cl->Flush(queue), "clFlush", err);
}

int bi__opencl_launch_kernel(struct bi__queue *queue, const struct bi__kernel_launch *launch, struct bi_error *err)
{
	struct kernel *state = launch->kernel->state;
	struct spare *spare;
	int rc = take_spare(state, &spare, err);

	if (rc)
		return rc;
	rc = set_arguments(spare, launch, err);
	if (!rc)
		rc = enqueue_kernel((cl_command_queue)queue->native, spare->kernel, launch, err);
	give_spare(state, spare);
	return rc;
}
