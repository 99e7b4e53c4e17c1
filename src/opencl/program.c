/* Kernels of the caller: OpenCL programs from source text, their signatures, and launches. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/kernel.h"
#include "opencl/opencl.h"

#define PREFIX "bi_kernel_"
#define GROUP_PREFIX "bi_group_kernel_"
#define BASE "bi__base_"
#define STRIDES "bi__strides_"
#define MOST_TEXT 256 /* bytes of the name of an argument, and of its type */

struct program {
	cl_program program;
	char *text, *options; /* to measure a type of the source */
};

/*
 * A cl_kernel, and the arguments that were set last: a launch sets those that differ. A driver may free a buffer and
 * give its handle to another one, so the arguments are unknown once the library has released a buffer.
 */
struct spare {
	cl_kernel kernel;
	bool is_known;
	unsigned long long releases; /* bi__opencl_releases() when the arguments were set */
	unsigned char arguments[]; /* of kind ARRAY, STRIDED and VALUE, one after the other */
};

/*
 * Arguments of a cl_kernel must not be set by two threads at the same time, so a launch takes one of the spares here,
 * or creates one, and puts it back.
 */
#define SPARES 4

struct kernel {
	struct program *program; /* lives at least as long */
	char name[sizeof(GROUP_PREFIX) + BI__KERNEL_NAME_MAX]; /* of the entry */
	size_t nbytes; /* of spare.arguments */
	struct spare *_Atomic spares[SPARES];
};

/* Compiles `text` followed by `more`. After a failure of the compiler, *out is a program that only has a log. */
static cl_int compile(const struct bi__opencl *opencl, const struct program *source, const char *more, cl_program *out)
{
	const char *texts[] = { source->text, more };
	cl_int code;

	*out = bi__cl->CreateProgramWithSource(opencl->context, 2, texts, NULL, &code);
	if (code != CL_SUCCESS) {
		*out = NULL;
		return code;
	}
	return bi__cl->BuildProgram(*out, 1, &opencl->device, source->options, NULL, NULL);
}

static void free_program(struct program *program)
{
	if (program->program)
		bi__cl->ReleaseProgram(program->program);
	free(program->text);
	free(program->options);
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
	program->text = malloc(text);
	program->options = malloc(options);
	if (!program->text || !program->options) {
		free_program(program);
		return NULL;
	}
	memcpy(program->text, source->text, text);
	snprintf(program->options, options, "%s" INFO, source->options);
	return program;
}

int bi__opencl_build(struct bi__device_state *device, struct bi__source *source, uintptr_t *program,
		     struct bi_error *err)
{
	const struct bi__opencl *opencl = device->state;
	struct program *made;
	cl_int code;

	if (!source->text)
		return bi__fail(err, BI_EINVAL, "an OpenCL device compiles source text: set source.text");
	made = copy_source(source);
	if (!made)
		return bi__fail(err, BI_ENOMEM, "no memory for a program");
	code = compile(opencl, made, "", &made->program);
	if (made->program)
		source->log = bi__opencl_build_log(made->program, opencl->device);
	if (code == CL_SUCCESS) {
		*program = (uintptr_t)made;
		return BI_OK;
	}
	source->is_refused = code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS;
	free_program(made);
	return bi__cl_check(code, "clBuildProgram", err);
}

void bi__opencl_unload(struct bi__device_state *device, uintptr_t program)
{
	(void)device;
	free_program((struct program *)program);
}

/* Number types: their names in OpenCL C and in kernel.h. All others are measured. */
static const struct type {
	const char *name;
	unsigned size;
	char type_class;
} types[] = {
	{ "char", 1, 'i' },   { "uchar", 1, 'i' },  { "short", 2, 'i' },   { "ushort", 2, 'i' }, { "int", 4, 'i' },
	{ "uint", 4, 'i' },   { "long", 8, 'i' },   { "ulong", 8, 'i' },   { "float", 4, 'f' },  { "double", 8, 'f' },
	{ "bi_i64", 8, 'i' }, { "bi_u64", 8, 'i' }, { "bi_bool", 1, 'i' },
};

/*
 * Kernels whose work-group sizes are numbers from 0 to 15, plus one: the hexadecimal digits of the size of a type, and
 * digit 8, its class (CLASSES). The driver can be asked for these sizes, and every GPU has groups of 16. A source may
 * end with a backslash, so an empty line comes first.
 */
#define SIZE_KERNELS \
	"\n\n#define BI__DIGIT(n, value) __kernel __attribute__((reqd_work_group_size((value) + 1, 1, 1))) " \
	"void bi__digit_##n(__global int *bi__unused) {}\n" \
	"#define BI__SIZE(n) BI__DIGIT(n, sizeof(%s) >> 4 * n & 15)\n" \
	"BI__SIZE(0) BI__SIZE(1) BI__SIZE(2) BI__SIZE(3) BI__SIZE(4) BI__SIZE(5) BI__SIZE(6) BI__SIZE(7)\n"
#define DIGITS 8 /* of the size */

/* OpenCL C has no _Generic, but the compilers of the common drivers know it. */
#define CLASS_KERNEL \
	"#ifdef cl_khr_fp64\n#define BI__DOUBLE double: 2,\n#else\n#define BI__DOUBLE\n#endif\n" \
	"BI__DIGIT(8, _Generic(*(%s *)0, char: 1, uchar: 1, short: 1, ushort: 1, int: 1, uint: 1, long: 1, " \
	"ulong: 1, float: 2, BI__DOUBLE default: 0))\n"
static const char classes[] = { 0, 'i', 'f' };

static cl_int read_digit(const struct bi__opencl *opencl, cl_program program, int digit, bi__u32 *out)
{
	char name[24];
	size_t group[3] = { 1 };
	cl_kernel kernel;
	cl_int code;

	snprintf(name, sizeof(name), "bi__digit_%d", digit);
	kernel = bi__cl->CreateKernel(program, name, &code);
	if (code != CL_SUCCESS)
		return code;
	code = bi__cl->GetKernelWorkGroupInfo(kernel, opencl->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(group),
					      group, NULL);
	bi__cl->ReleaseKernel(kernel);
	if (code == CL_SUCCESS && (group[0] < 1 || group[0] > 16))
		return CL_INVALID_VALUE;
	*out = (bi__u32)(group[0] - 1);
	return code;
}

/* Reads the size of the type that the kernels of `program` tell, and its class if `has_class`. */
static cl_int read_type(const struct bi__opencl *opencl, cl_program program, int has_class, struct bi_parameter *out)
{
	cl_int code = CL_SUCCESS;
	bi__u32 digit = 0;

	out->size = 0;
	for (int i = 0; i < DIGITS && code == CL_SUCCESS; i++) {
		code = read_digit(opencl, program, i, &digit);
		out->size |= digit << 4 * i;
	}
	if (code == CL_SUCCESS && has_class) {
		code = read_digit(opencl, program, DIGITS, &digit);
		out->type_class = digit < sizeof(classes) ? classes[digit] : 0;
	}
	return code;
}

static cl_int try_to_measure(const struct bi__opencl *opencl, const struct program *source, const char *type,
			     int has_class, struct bi_parameter *out)
{
	char more[sizeof(SIZE_KERNELS) + sizeof(CLASS_KERNEL) + 2 * MOST_TEXT];
	cl_program program = NULL;
	cl_int code;

	snprintf(more, sizeof(more), has_class ? SIZE_KERNELS CLASS_KERNEL : SIZE_KERNELS, type, type);
	code = compile(opencl, source, more, &program);
	if (code == CL_SUCCESS)
		code = read_type(opencl, program, has_class, out);
	if (program)
		bi__cl->ReleaseProgram(program);
	return code;
}

/*
 * Finds the size and the class of a type of the source, by compiling the source with SIZE_KERNELS. A compiler without
 * _Generic tells the size only.
 */
static int measure_type(const struct bi__opencl *opencl, const struct program *source, const char *type,
			struct bi_parameter *out, struct bi_error *err)
{
	cl_int code = try_to_measure(opencl, source, type, 1, out);

	if (code == CL_BUILD_PROGRAM_FAILURE)
		code = try_to_measure(opencl, source, type, 0, out);
	if (code != CL_SUCCESS)
		return bi__fail_vendor(err, bi__cl_check(code, "clBuildProgram", NULL), code,
				       "the size of type '%s' cannot be found: %s", type, bi__cl_name(code));
	return out->size ? BI_OK : bi__fail(err, BI_EINVAL, "a parameter has type '%s', which has no bytes", type);
}

static int find_type(const struct bi__opencl *opencl, const struct program *source, const char *name,
		     struct bi_parameter *out, struct bi_error *err)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, name)) {
			out->size = types[i].size;
			out->type_class = types[i].type_class;
			return BI_OK;
		}
	return measure_type(opencl, source, name, out, err);
}

/* An argument of the cl_kernel as the driver describes it. */
struct described {
	char name[MOST_TEXT], type[MOST_TEXT];
	cl_kernel_arg_address_qualifier place;
	cl_kernel_arg_type_qualifier qualifiers;
};

static int describe_argument(cl_kernel kernel, cl_uint index, struct described *out, struct bi_error *err)
{
	cl_int code = bi__cl->GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_NAME, sizeof(out->name), out->name, NULL);

	if (code == CL_SUCCESS)
		code = bi__cl->GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof(out->type), out->type,
						NULL);
	if (code == CL_INVALID_VALUE)
		return bi__fail_vendor(err, BI_EINVAL, code,
				       "the name or the type of parameter %u has more than %d characters, with the "
				       "prefix of kernel.h",
				       index, MOST_TEXT - 1);
	if (code == CL_SUCCESS)
		code = bi__cl->GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(out->place),
						&out->place, NULL);
	if (code == CL_SUCCESS)
		code = bi__cl->GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(out->qualifiers),
						&out->qualifiers, NULL);
	return bi__cl_check(code, "clGetKernelArgInfo", err);
}

/* Cuts "float*" to "float". */
static void cut_pointer(char *type)
{
	size_t length = strlen(type);

	while (length && (type[length - 1] == '*' || type[length - 1] == ' '))
		type[--length] = '\0';
}

/* The type is "struct bi_strides_3", for example. A driver may remove the space. */
static unsigned char rank_of(const char *type)
{
	size_t length = strlen(type);

	return length ? (unsigned char)(type[length - 1] - '0') : 0;
}

/* Makes a parameter of the argument at `index`, unless it belongs to the array before it. */
static int add_parameter(const struct bi__opencl *opencl, const struct program *source,
			 const struct described *argument, struct bi__kernel *out, struct bi_error *err)
{
	int is_array = !strncmp(argument->name, BASE, sizeof(BASE) - 1);
	const char *name = is_array ? argument->name + sizeof(BASE) - 1 : argument->name;
	struct bi_parameter *parameter = &out->parameters[out->count];
	char type[sizeof(argument->type)];

	if (!strncmp(name, "bi__offset_", 11))
		return BI_OK;
	if (out->count && !strncmp(name, STRIDES, sizeof(STRIDES) - 1)) {
		parameter[-1].kind = BI_PARAMETER_STRIDED;
		parameter[-1].rank = rank_of(argument->type);
		return BI_OK;
	}
	parameter->kind = is_array                                         ? BI_PARAMETER_ARRAY
			  : argument->place == CL_KERNEL_ARG_ADDRESS_LOCAL ? BI_PARAMETER_LOCAL
									   : BI_PARAMETER_VALUE;
	if (is_array)
		parameter->access = argument->qualifiers & CL_KERNEL_ARG_TYPE_CONST ? BI_ACCESS_READ : BI_ACCESS_WRITE;
	if (strlen(name) >= sizeof(parameter->name))
		return bi__fail(err, BI_EINVAL, "parameter '%.20s...' has a name of %zu characters, more than %zu",
				name, strlen(name), sizeof(parameter->name) - 1);
	memcpy(parameter->name, name, strlen(name) + 1);
	memcpy(type, argument->type, sizeof(type));
	if (parameter->kind != BI_PARAMETER_VALUE)
		cut_pointer(type);
	out->count++;
	return find_type(opencl, source, type, parameter, err);
}

static int read_signature(const struct bi__opencl *opencl, const struct program *program, cl_kernel kernel,
			  struct bi__kernel *out, struct bi_error *err)
{
	struct described argument;
	cl_uint count;
	int rc = bi__cl_check(bi__cl->GetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL),
			      "clGetKernelInfo", err);

	if (rc)
		return rc;
	out->parameters = calloc(count + 1, sizeof(*out->parameters));
	if (!out->parameters)
		return bi__fail(err, BI_ENOMEM, "no memory for a kernel");
	for (cl_uint i = 0; i < count && !rc; i++) {
		rc = describe_argument(kernel, i, &argument, err);
		if (!rc)
			rc = add_parameter(opencl, program, &argument, out, err);
	}
	return rc;
}

/* Sets most_local if the kernel has local memory whose size the launch chooses. */
static cl_int read_local(const struct bi__opencl *opencl, cl_kernel kernel, struct bi__kernel *out)
{
	cl_ulong whole = 0, fixed = 0;
	cl_int code;
	unsigned i = 0;

	while (i < out->count && out->parameters[i].kind != BI_PARAMETER_LOCAL)
		i++;
	if (i == out->count)
		return CL_SUCCESS;
	code = bi__cl->GetDeviceInfo(opencl->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(whole), &whole, NULL);
	if (code == CL_SUCCESS)
		code = bi__cl->GetKernelWorkGroupInfo(kernel, opencl->device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(fixed),
						      &fixed, NULL);
	out->most_local = whole > fixed ? (size_t)(whole - fixed) : 1;
	out->local_step = 1;
	return code;
}

static int read_limits(const struct bi__opencl *opencl, cl_kernel kernel, struct bi__kernel *out, struct bi_error *err)
{
	size_t along[16] = { 0 };
	cl_int code = bi__cl->GetKernelWorkGroupInfo(kernel, opencl->device, CL_KERNEL_WORK_GROUP_SIZE,
						     sizeof(out->most_items), &out->most_items, NULL);

	if (code == CL_SUCCESS)
		code = bi__cl->GetDeviceInfo(opencl->device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(along), along, NULL);
	memcpy(out->most_along, along, sizeof(out->most_along));
	if (code == CL_SUCCESS)
		code = read_local(opencl, kernel, out);
	return bi__cl_check(code, "clGetKernelWorkGroupInfo", err);
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

void bi__opencl_put_kernel(struct bi__device_state *device, struct bi__kernel *kernel)
{
	struct kernel *state = kernel->state;

	(void)device;
	for (size_t i = 0; i < SPARES; i++)
		release_spare(state->spares[i]);
	free(state);
}

static int create_kernel(const struct kernel *state, cl_kernel *out, struct bi_error *err)
{
	cl_int code;

	*out = bi__cl->CreateKernel(state->program->program, state->name, &code);
	return bi__cl_check(code, "clCreateKernel", err);
}

/* Finds the entry of BI_KERNEL or of BI_GROUP_KERNEL, and sets state->name. */
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
	rc = read_signature(opencl, state->program, kernel, out, err);
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
	out->state = state;
	if (rc)
		free(state);
	return rc;
}

static int take_spare(struct kernel *state, struct spare **out, struct bi_error *err)
{
	cl_kernel kernel;
	int rc;

	for (size_t i = 0; i < SPARES; i++) {
		*out = atomic_exchange_explicit(&state->spares[i], NULL, memory_order_acquire);
		if (*out)
			return BI_OK;
	}
	rc = create_kernel(state, &kernel, err);
	return rc ? rc : make_spare(state, kernel, out, err);
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
	size_t at; /* where its bytes are in spare->arguments */
};

/* Sets the next argument, unless it is set. */
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

/* Flushes the queue, because a driver need not begin the kernel before that, and the caller may call nothing else. */
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

int bi__opencl_launch_kernel(struct bi__device_state *device, struct bi__queue *queue,
			     const struct bi__kernel_launch *launch, struct bi_error *err)
{
	struct kernel *state = launch->kernel->state;
	struct spare *spare;
	int rc = take_spare(state, &spare, err);

	(void)device;
	if (rc)
		return rc;
	rc = set_arguments(spare, launch, err);
	if (!rc)
		rc = enqueue_kernel((cl_command_queue)queue->native, spare->kernel, launch, err);
	give_spare(state, spare);
	return rc;
}
