/*
 * The parameters of a kernel of the caller. The driver reports the names of the arguments and of their types. The size
 * of a type that the source defines is measured by compiling the source once more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/kernel.h"
#include "opencl/opencl.h"

#define BASE "bi__base_"
#define STRIDES "bi__strides_"
#define MOST_TEXT 256 /* bytes of the longest name of an argument or of its type, with the final NUL */

/* Number types: their names in OpenCL C and in kernel.h. All other types are measured. */
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
 * Kernels that encode numbers from 0 to 15 in their required work-group sizes, which can be queried: the number plus 1.
 * Kernels 0 to 7 have the hexadecimal digits of the size of a type, the lowest first. Kernel 8 (CLASS_KERNEL) has the
 * class of the type, as an index of `classes`. The device must allow groups of 16. A source may end with a backslash,
 * so an empty line comes first.
 */
#define SIZE_KERNELS \
	"\n\n#define BI__DIGIT(n, value) __kernel __attribute__((reqd_work_group_size((value) + 1, 1, 1))) " \
	"void bi__digit_##n(__global int *bi__unused) {}\n" \
	"#define BI__SIZE(bi__n) BI__DIGIT(bi__n, sizeof(%s) >> 4 * bi__n & 15)\n" \
	"BI__SIZE(0) BI__SIZE(1) BI__SIZE(2) BI__SIZE(3) BI__SIZE(4) BI__SIZE(5) BI__SIZE(6) BI__SIZE(7)\n"
#define DIGITS 8 /* hexadecimal digits of a size */

/* OpenCL C has no _Generic, but compilers that are based on Clang accept it. */
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

/* Reads the size of a type from the kernels of `program`, and its class if `has_class`. */
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

static cl_int try_to_measure(const struct bi__opencl *opencl, const struct bi__opencl_source *source, const char *type,
			     int has_class, struct bi_parameter *out)
{
	char more[sizeof(SIZE_KERNELS) + sizeof(CLASS_KERNEL) + 2 * MOST_TEXT];
	cl_program program = NULL;
	cl_int code;

	snprintf(more, sizeof(more), has_class ? SIZE_KERNELS CLASS_KERNEL : SIZE_KERNELS, type, type);
	code = bi__opencl_compile(opencl, source, more, &program);
	if (code == CL_SUCCESS)
		code = read_type(opencl, program, has_class, out);
	if (program)
		bi__cl->ReleaseProgram(program);
	return code;
}

/*
 * Finds the size and the class of a type of the source, by compiling the source with SIZE_KERNELS. With a compiler
 * that has no _Generic, only the size is found.
 */
static int measure_type(const struct bi__opencl *opencl, const struct bi__opencl_source *source, const char *type,
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

static int find_type(const struct bi__opencl *opencl, const struct bi__opencl_source *source, const char *name,
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
	cl_kernel_arg_access_qualifier access; /* of an image or a pipe */
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
		code = bi__cl->GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(out->access),
						&out->access, NULL);
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

/* Returns the rank: the last character of a type such as "struct bi_strides_3". A driver may leave out the space. */
static unsigned char rank_of(const char *type)
{
	size_t length = strlen(type);

	return length ? (unsigned char)(type[length - 1] - '0') : 0;
}

/* Returns true if the argument is an object, such as a buffer or a sampler, and not the bytes of a value. */
static int is_object(const struct described *argument)
{
	return argument->place == CL_KERNEL_ARG_ADDRESS_GLOBAL || argument->place == CL_KERNEL_ARG_ADDRESS_CONSTANT ||
	       argument->access != CL_KERNEL_ARG_ACCESS_NONE || !strcmp(argument->type, "sampler_t") ||
	       !strcmp(argument->type, "queue_t");
}

/* Adds a parameter for the argument, unless it is the offset or the strides of the array before it. */
static int add_parameter(const struct bi__opencl *opencl, const struct bi__opencl_source *source,
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
	if (parameter->kind == BI_PARAMETER_VALUE && is_object(argument))
		return bi__fail(err, BI_EINVAL,
				"parameter '%.39s' has type '%s': a launch passes no pointer, image or sampler as a "
				"value",
				name, argument->type);
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

int bi__opencl_read_signature(const struct bi__opencl *opencl, const struct bi__opencl_source *source, cl_kernel kernel,
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
			rc = add_parameter(opencl, source, &argument, out, err);
	}
	return rc;
}
