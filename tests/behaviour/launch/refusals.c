/* Launches and programs that are refused, and the message of each. Nothing is enqueued, and nothing leaks. */
#define _POSIX_C_SOURCE 200809L
#include "programs.h"

#include <stdio.h>
#include <stdlib.h>

#include "buffer_interface/binding.h"
#include "buffer_interface/kernel.h"
#include "opencl_driver.h"
#include "opencl_layer/layer.h"

static const struct bi_grid grid8 = { 1, { 8 }, { 0 } };

static int runs_functions(void)
{
	return !strcmp(fixture.spec, "host");
}

static void refuse_text(int status, const char *text, const char *reason)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program = STALE(struct bi_program);
	char log[4096] = "untouched";

	source.text = text;
	source.log = log;
	source.log_capacity = sizeof(log);
	REFUSED_FOR(status, reason, bi_program_build(fixture.context, &source, &program, &error));
	assert_null(program);
	if (text && runs_text(fixture.context))
		assert_non_null(strstr(log, "error"));
}

static void test_source_that_does_not_compile(void **state)
{
	static const char undeclared[] = "BI_KERNEL(a, (BI_OUT(float, b)))\n{\n\tBI_DATA(b)[0] = missing;\n}\n";
	static const char cuda[] = "extern \"C\" __global__ void f(float *x)\n{\n\t*x = threadIdx.x;\n}\n";
	static const char bare[] = "BI_KERNEL(a, (BI_OUT(float, data)))\n{\n\tdata[0] = 1;\n}\n";
	struct bi_program_source source = suite_source();
	struct bi_program *program;

	(void)state;
	if (runs_functions()) {
		refuse_text(BI_EINVAL, undeclared, "the host runs kernels as C functions: set source.functions");
		return;
	}
	if (takes_simulated_images(fixture.context)) {
		refuse_text(BI_EUNSUPPORTED, undeclared, "CUDA source needs NVRTC, or set source.image");
		assert_non_null(strstr(error.message, "BI_NVRTC_LIBRARY"));
		refuse_text(BI_EINVAL, NULL, "set source.text or source.image");
		return;
	}
	/* oclgrind takes no notice of #line. */
	refuse_text(BI_EINVAL, undeclared,
		    is_cuda(fixture.context)                                                ? "source(3)"
		    : strstr(bi_context_device(fixture.context)->platform_name, "Oclgrind") ? "input.cl:"
											    : "source:3:");
	assert_non_null(strstr(error.message, "missing"));
	if (is_opencl(fixture.context))
		refuse_text(BI_EINVAL, cuda, "does not compile");
	source.options = "-Dfoo -banana";
	REFUSED(BI_EINVAL, bi_program_build(fixture.context, &source, &program, &error));
	if (!strstr(error.message, "banana") && !strstr(error.message, "the source or its options do not compile"))
		fail_msg("%s", error.message);
	refuse_text(BI_EINVAL, bare, "data");
	refuse_text(BI_EINVAL, NULL, "source.text");
}

static void test_device_without_a_compiler(void **state)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	struct bi_layer layer;

	(void)state;
	if (!is_opencl(fixture.context) || !bi_layer_open(getenv("BI_TEST_LAYER"), &layer))
		return;
	source.text = kernel_text();
	layer.arm("clBuildProgram", 1, CL_COMPILER_NOT_AVAILABLE);
	REFUSED_FOR(BI_EUNSUPPORTED, "CL_COMPILER_NOT_AVAILABLE",
		    bi_program_build(fixture.context, &source, &program, &error));
	layer.reset();
}

/* A message names the call of the driver that failed. */
static void test_calls_that_fail(void **state)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	struct bi_kernel *kernel;
	struct bi_layer layer;

	(void)state;
	if (!is_opencl(fixture.context) || !bi_layer_open(getenv("BI_TEST_LAYER"), &layer))
		return;
	source.text = kernel_text();
	layer.arm("clCreateProgramWithSource", 1, CL_OUT_OF_HOST_MEMORY);
	REFUSED_FOR(BI_ENOMEM, "clCreateProgramWithSource failed",
		    bi_program_build(fixture.context, &source, &program, &error));
	OK(bi_program_build(fixture.context, &source, &program, &error));
	for (unsigned i = 1; i <= 2; i++) {
		layer.arm("clGetDeviceInfo", i, CL_INVALID_DEVICE);
		REFUSED_FOR(BI_EDRIVER, "clGetDeviceInfo failed", bi_kernel_get(program, "reverse", &kernel, &error));
		layer.reset();
		layer.arm("clGetKernelWorkGroupInfo", i, CL_INVALID_KERNEL);
		REFUSED_FOR(BI_EDRIVER, "clGetKernelWorkGroupInfo failed",
			    bi_kernel_get(program, "reverse", &kernel, &error));
		layer.reset();
	}
	bi_program_release(program);
}

/* The library compiles the source again to find the size of a structure. */
static void test_size_of_a_structure_without_memory(void **state)
{
	struct bi_program *program = build_suite(fixture.context);
	struct bi_kernel *kernel;
	struct bi_layer layer;

	(void)state;
	if (is_opencl(fixture.context) && bi_layer_open(getenv("BI_TEST_LAYER"), &layer)) {
		layer.arm("clCreateProgramWithSource", 1, CL_OUT_OF_HOST_MEMORY);
		REFUSED_FOR(BI_ENOMEM, "CL_OUT_OF_HOST_MEMORY", bi_kernel_get(program, "add_pair", &kernel, &error));
		layer.reset();
	}
	bi_program_release(program);
}

/* The bytes of a value would be a handle for the driver. */
static void test_parameters_that_are_no_values(void **state)
{
	static const char *const types[] = { "image2d_t", "sampler_t", "__global float *", "__constant int *" };
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	struct bi_kernel *kernel;
	char text[200];

	(void)state;
	source.text = text;
	for (size_t i = 0; i < ARRAY_LENGTH(types) && is_opencl(fixture.context); i++) {
		snprintf(text, sizeof(text), "BI_KERNEL(f, (BI_VALUE(%s, odd), BI_OUT(int, out)))\n{\n}\n", types[i]);
		OK(bi_program_build(fixture.context, &source, &program, &error));
		REFUSED_FOR(BI_EINVAL, "'odd' has type", bi_kernel_get(program, "f", &kernel, &error));
		bi_program_release(program);
	}
}

/* The driver gives names of any length. */
static void test_names_of_parameters(void **state)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	struct bi_kernel *kernel;
	char name[301], text[800];

	(void)state;
	source.text = text;
	for (int length = 39; length <= 279 && is_opencl(fixture.context); length += length == 39 ? 1 : 239) {
		memset(name, 'a', sizeof(name));
		name[length] = '\0';
		snprintf(text, sizeof(text), "BI_KERNEL(k, (BI_STRIDED_OUT(int, 1, %s)))\n{\n\tBI_AT1(%s, 0) = 1;\n}\n",
			 name, name);
		OK(bi_program_build(fixture.context, &source, &program, &error));
		if (length < 40) {
			OK(bi_kernel_get(program, "k", &kernel, &error));
			bi_kernel_release(kernel);
		} else {
			REFUSED_FOR(BI_EINVAL,
				    length == 40 ? "has a name of 40 characters" : "parameter 0 has more than",
				    bi_kernel_get(program, "k", &kernel, &error));
		}
		bi_program_release(program);
	}
}

/* Builds a kernel of one value whose type is not in OpenCL C. */
static struct bi_kernel *get_kernel_of(const char *declarations, const char *type, const char *more)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	struct bi_kernel *kernel;
	char text[500];

	snprintf(text, sizeof(text),
		 "%s\nBI_KERNEL(k, (BI_OUT(%s, to), BI_VALUE(%s, value)))\n{\n"
		 "\tBI_DATA(to)[BI_GLOBAL_ID(x)] = value;\n}\n%s",
		 declarations, type, type, more);
	source.text = text;
	OK(bi_program_build(fixture.context, &source, &program, &error));
	OK(bi_kernel_get(program, "k", &kernel, &error));
	bi_program_release(program);
	return kernel;
}

/* An integer for a floating-point parameter would be taken for its bits. */
static void test_number_types_of_the_source(void **state)
{
	static const struct {
		const char *declarations, *type, *more;
	} reals[] = {
		{ "typedef float real;", "real", "" },
		{ "#define real float", "real", "" },
		{ "#define x 5\n#undef x\ntypedef float real;", "real", "#define x 5\n" },
		{ "typedef float real;", "real", "// the last character is a backslash \\" },
	};
	const struct bi_argument value = BI_INT(3);
	struct bi_view *ints;

	(void)state;
	if (!is_opencl(fixture.context))
		return;
	ints = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	for (size_t i = 0; i < ARRAY_LENGTH(reals); i++) {
		struct bi_kernel *kernel = get_kernel_of(reals[i].declarations, reals[i].type, reals[i].more);
		struct bi_view *floats;

		OK(bi_view_reinterpret(ints, dtype_of("float32"), NULL, &floats, &error));
		REFUSED_FOR(BI_EINVAL, "('to') is an array of int32, and the kernel takes floating-point numbers",
			    bi_launch(kernel, NULL, &grid8, (struct bi_argument[]){ BI_WRITES(ints), BI_FLOAT(3) }, 2,
				      &error));
		REFUSED_FOR(
			BI_EINVAL, "('value') is an integer, and the kernel takes a floating-point number",
			bi_launch(kernel, NULL, &grid8, (struct bi_argument[]){ BI_WRITES(floats), value }, 2, &error));
		OK(bi_launch(kernel, NULL, &grid8, (struct bi_argument[]){ BI_WRITES(floats), BI_FLOAT(3) }, 2,
			     &error));
		bi_kernel_release(kernel);
		bi_view_release(floats);
	}
	bi_view_release(ints);
}

/* The library's own text about a type has names too. */
static void test_a_type_of_the_source_named_n(void **state)
{
	struct bi_view *ints, *longs;
	struct bi_kernel *kernel;

	(void)state;
	if (!is_opencl(fixture.context))
		return;
	kernel = get_kernel_of("typedef long n;", "n", "");
	ints = make_numbers(fixture.context, 1, (int64_t[]){ 16 });
	OK(bi_view_reinterpret(ints, dtype_of("int64"), NULL, &longs, &error));
	OK(bi_launch(kernel, NULL, &grid8, (struct bi_argument[]){ BI_WRITES(longs), BI_INT64(3) }, 2, &error));
	bi_view_release(longs);
	bi_view_release(ints);
	bi_kernel_release(kernel);
}

/* A kernel that was built for one device of a native context is not run by a stream of another. */
static void test_two_devices_of_a_context(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *contexts[2];
	struct bi_kernel *kernel;
	struct bi_view *view;
	cl_device_id devices[2];
	cl_platform_id platform;
	cl_uint count = 0;
	cl_context native;

	(void)state;
	if (!is_opencl(fixture.context) || driver()->clGetPlatformIDs(1, &platform, NULL) ||
	    driver()->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count) || count < 2)
		return;
	native = driver()->clCreateContext(NULL, 2, devices, NULL, NULL, NULL);
	options.adopt_context = (uintptr_t)native;
	for (int i = 0; i < 2; i++)
		contexts[i] = fixture_open(i ? "opencl:1" : "opencl:0", &options);
	kernel = get_kernel(contexts[0], "step");
	view = make_numbers(contexts[0], 1, (int64_t[]){ 8 });
	REFUSED_FOR(BI_EINVAL, "the stream belongs to opencl:0:1, and kernel 'step' to another context of opencl:0:0",
		    bi_launch(kernel, bi_context_stream(contexts[1]), &grid8,
			      (struct bi_argument[]){ BI_READS(view), BI_WRITES(view), BI_INT64(1) }, 3, &error));
	bi_view_release(view);
	bi_kernel_release(kernel);
	for (int i = 0; i < 2; i++)
		bi_context_release(contexts[i]);
	driver()->clReleaseContext(native);
}

/* A log that is too long is cut, and an empty buffer is not written. */
static void test_log_is_cut(void **state)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	char log[8] = "1234567";

	(void)state;
	source.text = "!";
	source.log = log;
	FAILS(bi_program_build(fixture.context, &source, &program, &error));
	assert_string_equal(log, "1234567");
	source.log_capacity = 5;
	FAILS(bi_program_build(fixture.context, &source, &program, &error));
	assert_int_equal(strlen(log), runs_text(fixture.context) ? 4 : 0);
	assert_int_equal(log[5], '6');
}

static void test_arguments_of_programs(void **state)
{
	struct bi_program_source source = suite_source();
	struct bi_program *program = build_suite(fixture.context);
	struct bi_kernel *kernel = STALE(struct bi_kernel);
	char name[202] = "";

	(void)state;
	REFUSED_FOR(BI_EINVAL, "'missing'", bi_kernel_get(program, "missing", &kernel, &error));
	assert_null(kernel);
	memset(name, 'x', sizeof(name) - 1);
	REFUSED_FOR(BI_EINVAL, "has 201 characters, more than 200", bi_kernel_get(program, name, &kernel, &error));
	name[200] = '\0';
	REFUSED_FOR(BI_EINVAL, name, bi_kernel_get(program, name, &kernel, &error));
	REFUSED(BI_EINVAL, bi_kernel_get(program, NULL, &kernel, &error));
	REFUSED(BI_EINVAL, bi_kernel_get(NULL, "scale", &kernel, &error));
	REFUSED(BI_EINVAL, bi_kernel_get(program, "scale", NULL, &error));
	bi_program_release(program);
	REFUSED(BI_EINVAL, bi_program_build(NULL, &source, &program, &error));
	assert_null(program);
	REFUSED(BI_EINVAL, bi_program_build(fixture.context, NULL, &program, &error));
	REFUSED(BI_EINVAL, bi_program_build(fixture.context, &source, NULL, &error));
	source.functions = (const struct bi_host_kernel *const[]){ source.functions[0], NULL };
	source.function_count = 2;
	source.log = name;
	source.log_capacity = sizeof(name);
	REFUSED_FOR(BI_EINVAL, "source.functions[1] is NULL",
		    bi_program_build(fixture.context, &source, &program, &error));
	assert_string_equal(name, "");
	source.struct_size = 3;
	REFUSED_FOR(BI_EINVAL, "source", bi_program_build(fixture.context, &source, &program, &error));
	bi_program_release(NULL);
	bi_kernel_release(NULL);
}

/* The kernel `step` with two good arrays, for calls of which one thing is wrong. */
struct good {
	struct bi_kernel *kernel;
	struct bi_view *in, *out;
};

static struct good make_good(void)
{
	static const int64_t shape[] = { 8 };
	struct good good = { get_kernel(fixture.context, "step"), make_numbers(fixture.context, 1, shape),
			     make_numbers(fixture.context, 1, shape) };

	OK(bi_view_synchronize(good.in, &error));
	OK(bi_view_synchronize(good.out, &error));
	return good;
}

static void free_good(const struct good *good)
{
	assert_true(bi_view_is_idle(good->in));
	assert_true(bi_view_is_idle(good->out));
	bi_view_release(good->in);
	bi_view_release(good->out);
	bi_kernel_release(good->kernel);
}

static void refuse(const struct good *good, struct bi_argument first, struct bi_argument second,
		   struct bi_argument third, const char *reason)
{
	REFUSED_FOR(BI_EINVAL, reason,
		    bi_launch(good->kernel, NULL, &grid8, (struct bi_argument[]){ first, second, third }, 3, &error));
}

static void test_count_kind_and_size(void **state)
{
	struct good good = make_good();
	const struct bi_argument in = BI_READS(good.in), out = BI_WRITES(good.out), by = BI_INT64(1);
	const struct bi_argument none = { 0, 0, 0, { 0 }, 0, 0, 0 };
	struct bi_argument odd = in;
	struct bi_view *floats, *longs;

	(void)state;
	OK(bi_view_reinterpret(good.in, dtype_of("float32"), NULL, &floats, &error));
	OK(bi_view_reinterpret(good.in, dtype_of("int64"), NULL, &longs, &error));
	REFUSED_FOR(BI_EINVAL, "takes 3 arguments, not 2",
		    bi_launch(good.kernel, NULL, &grid8, (struct bi_argument[]){ in, out }, 2, &error));
	REFUSED_FOR(BI_EINVAL, "takes 3 arguments, not 4",
		    bi_launch(good.kernel, NULL, &grid8, (struct bi_argument[]){ in, out, by, by }, 4, &error));
	refuse(&good, by, out, by, "arguments[0] ('now') is a value, and the kernel takes an array");
	refuse(&good, in, out, in, "arguments[2] ('by') is an array, and the kernel takes a value");
	refuse(&good, in, out, BI_LOCAL_BYTES(8), "is local memory, and the kernel takes a value");
	refuse(&good, in, out, none, "has kind 0");
	refuse(&good, in, out, BI_INT(1), "is a value of 4 bytes, and the kernel takes 8 bytes");
	refuse(&good, in, out, bi_argument_bytes(NULL, 8), "is a value of 8 bytes, and the pointer to them is NULL");
	refuse(&good, in, out, BI_DOUBLE(1), "is a floating-point number, and the kernel takes an integer");
	refuse(&good, BI_READS(floats), out, by, "is an array of float32, and the kernel takes integers");
	refuse(&good, BI_READS(longs), out, by, "has elements of 8 bytes (int64), and the kernel takes 4 bytes");
	refuse(&good, BI_READS(NULL), out, by, "its view is NULL");
	refuse(&good, BI_WRITES(good.in), out, by, "is to be written, and the kernel only reads it");
	for (odd.access = 0; odd.access < 8; odd.access += 4)
		refuse(&good, odd, out, by, "arguments[0] ('now') has access ");
	refuse(&good, in, BI_READS(good.out), by, "is only to be read, and the kernel writes it");
	REFUSED_FOR(BI_EINVAL, "arguments is NULL", bi_launch(good.kernel, NULL, &grid8, NULL, 3, &error));
	REFUSED(BI_EINVAL, bi_launch(NULL, NULL, &grid8, &in, 3, &error));
	REFUSED(BI_EINVAL, bi_launch(good.kernel, NULL, NULL, &in, 3, &error));
	bi_view_release(floats);
	bi_view_release(longs);
	free_good(&good);
}

static void test_layouts(void **state)
{
	static const struct bi_index every_other = { BI_INDEX_SLICE, 0, 8, 2 };
	struct good good = make_good();
	struct bi_kernel *strided = get_kernel(fixture.context, "transpose");
	struct bi_dtype swapped = dtype_of("int32");
	struct bi_view *part, *foreign;

	(void)state;
	swapped.swapped = 1;
	OK(bi_view_index(good.in, &every_other, 1, &part, &error));
	OK(bi_view_reinterpret(good.in, swapped, NULL, &foreign, &error));
	refuse(&good, BI_READS(part), BI_WRITES(good.out), BI_INT64(1),
	       "is not dense in C order: copy it, or use BI_STRIDED_IN");
	refuse(&good, BI_READS(good.in), BI_WRITES(part), BI_INT64(1),
	       "is not dense in C order: copy it, or use BI_STRIDED_OUT or BI_STRIDED_INOUT");
	refuse(&good, BI_READS(foreign), BI_WRITES(good.out), BI_INT64(1), "swapped bytes");
	REFUSED_FOR(
		BI_EINVAL, "has 1 dimensions, and the kernel takes 2",
		bi_launch(strided, NULL, &grid8, (struct bi_argument[]){ BI_READS(part), BI_WRITES(part) }, 2, &error));
	bi_view_release(part);
	bi_view_release(foreign);
	bi_kernel_release(strided);
	free_good(&good);
}

/* An array of 4-byte numbers that begins at byte `offset` of the memory. */
static struct bi_view *numbers_at(struct bi_memory *memory, int64_t offset, int64_t rows, int64_t step)
{
	struct bi_layout layout = { .dtype = dtype_of("int32"), .ndim = 2, .offset = offset };
	struct bi_view *view;

	layout.shape[0] = rows;
	layout.shape[1] = 2;
	layout.strides[0] = step;
	layout.strides[1] = 4;
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	return view;
}

/* Transposes the array, or is refused if its numbers are not aligned. */
static void transpose_or_refuse(struct bi_kernel *kernel, struct bi_view *in, int is_aligned)
{
	const int64_t shape[] = { bi_view_shape(in)[1], bi_view_shape(in)[0] };
	const struct bi_grid grid = { 2, { shape[0], shape[1] }, { 0 } };
	struct bi_view *out = make_numbers(fixture.context, 2, shape);
	struct bi_argument both[] = { BI_READS(in), BI_WRITES(out) };
	int32_t from[8], to[8];

	if (is_aligned) {
		OK(bi_launch(kernel, NULL, &grid, both, 2, &error));
		OK(bi_view_read(in, from, sizeof(*from) * (size_t)(shape[0] * shape[1]), &error));
		OK(bi_view_read(out, to, sizeof(*to) * (size_t)(shape[0] * shape[1]), &error));
		for (int64_t i = 0; i < shape[0] * shape[1]; i++)
			assert_int_equal(to[i], from[i % shape[1] * shape[0] + i / shape[1]]);
	} else {
		REFUSED_FOR(BI_EINVAL, "('from') has elements that do not all begin at a multiple of their 4 bytes",
			    bi_launch(kernel, NULL, &grid, both, 2, &error));
	}
	bi_view_release(out);
}

/* The beginning of an array and its steps, at and between multiples of the size of its numbers. */
static void test_numbers_that_are_not_aligned(void **state)
{
	static const int64_t shape[] = { 32 };
	struct bi_kernel *kernel = get_kernel(fixture.context, "transpose");
	struct bi_view *home = make_numbers(fixture.context, 1, shape), *none, *one;

	(void)state;
	for (int64_t offset = 0; offset < 5; offset++)
		for (int64_t step = 8; step < 13; step++)
			for (int64_t rows = 1; rows <= 4; rows += 3) {
				struct bi_view *in = numbers_at(bi_view_memory(home), offset, rows, step);

				transpose_or_refuse(kernel, in, offset % 4 == 0 && (rows == 1 || step % 4 == 0));
				bi_view_release(in);
			}
	none = numbers_at(bi_view_memory(home), 1, 0, 9);
	one = numbers_at(bi_view_memory(home), 1, 1, 8);
	REFUSED_FOR(BI_EINVAL, "arguments[1] ('to') has elements that do not all begin",
		    bi_launch(kernel, NULL, &(struct bi_grid){ 2, { 1, 1 }, { 0 } },
			      (struct bi_argument[]){ BI_READS(none), BI_WRITES(one) }, 2, &error));
	bi_view_release(none);
	bi_view_release(one);
	bi_view_release(home);
	bi_kernel_release(kernel);
}

static void test_read_only_and_mapped_views(void **state)
{
	struct good good = make_good();
	struct bi_layout layout;
	struct bi_view *constant;
	struct bi_map *map;

	(void)state;
	bi_view_layout(good.out, &layout);
	OK(bi_view_create(bi_view_memory(good.out), &layout, BI_VIEW_READONLY, &constant, &error));
	REFUSED_FOR(BI_EREADONLY, "arguments[1] ('next') is a read-only view",
		    bi_launch(good.kernel, NULL, &grid8,
			      (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(constant), BI_INT64(1) }, 3,
			      &error));
	OK(bi_view_map(good.out, BI_MAP_READ, &map, &error));
	REFUSED_FOR(BI_EBUSY, "mapped for reading",
		    bi_launch(good.kernel, NULL, &grid8,
			      (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(good.out), BI_INT64(1) }, 3,
			      &error));
	OK(bi_unmap(map, &error));
	OK(bi_view_map(good.in, BI_MAP_WRITE, &map, &error));
	REFUSED_FOR(BI_EBUSY, "mapped for writing",
		    bi_launch(good.kernel, NULL, &grid8,
			      (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(good.out), BI_INT64(1) }, 3,
			      &error));
	OK(bi_unmap(map, &error));
	OK(bi_view_synchronize(good.in, &error));
	OK(bi_view_synchronize(good.out, &error));
	bi_view_release(constant);
	free_good(&good);
}

/* An array and a stream of another native context, and host memory on a device. */
static void test_other_contexts(void **state)
{
	static const int64_t shape[] = { 8 };
	struct good good = make_good();
	struct bi_view *view;

	(void)state;
	if (!runs_functions()) {
		OK(bi_view_wrap_host(fixture.context, (int32_t[8]){ 0 }, dtype_of("int32"), 1, shape, NULL, NULL, &view,
				     &error));
		refuse(&good, BI_READS(view), BI_WRITES(good.out), BI_INT64(1), "is memory of the host");
		bi_view_release(view);
	}
	if (fixture.second) {
		view = make_numbers(fixture.second, 1, shape);
		refuse(&good, BI_READS(view), BI_WRITES(good.out), BI_INT64(1), "another context");
		REFUSED_FOR(BI_EINVAL, "the stream belongs to",
			    bi_launch(good.kernel, bi_context_stream(fixture.second), &grid8,
				      (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(good.out), BI_INT64(1) }, 3,
				      &error));
		bi_view_release(view);
	}
	free_good(&good);
}

static void refuse_grid(const struct good *good, struct bi_grid grid, const char *reason)
{
	REFUSED_FOR(BI_EINVAL, reason,
		    bi_launch(good->kernel, NULL, &grid,
			      (struct bi_argument[]){ BI_READS(good->in), BI_WRITES(good->out), BI_INT64(1) }, 3,
			      &error));
}

static void test_grids(void **state)
{
	struct good good = make_good();
	struct bi_kernel *groups = get_kernel(fixture.context, "reduce");

	(void)state;
	refuse_grid(&good, (struct bi_grid){ 0, { 8 }, { 0 } }, "grid.ndim is 0");
	refuse_grid(&good, (struct bi_grid){ 4, { 8, 8, 8 }, { 0 } }, "grid.ndim is 4");
	refuse_grid(&good, (struct bi_grid){ 1, { 0 }, { 0 } }, "grid.size[0] is 0");
	refuse_grid(&good, (struct bi_grid){ 2, { 8, -1 }, { 0 } }, "grid.size[1] is -1");
	refuse_grid(&good, (struct bi_grid){ 1, { 8 }, { -4 } }, "grid.group[0] is -4");
	refuse_grid(&good, (struct bi_grid){ 2, { 8, 8 }, { 4, 0 } }, "grid.group[1] is 0");
	refuse_grid(&good, (struct bi_grid){ 1, { 8 }, { 3 } }, "does not divide grid.size[0] = 8");
	refuse_grid(&good, (struct bi_grid){ 3, { INT64_MAX, INT64_MAX, INT64_MAX }, { 0 } }, "items");
	refuse_grid(
		&good,
		(struct bi_grid){ 2, { (int64_t)1 << 31, (int64_t)1 << 31 }, { (int64_t)1 << 31, (int64_t)1 << 31 } },
		"is above the limit of");
	REFUSED_FOR(BI_EINVAL, "kernel 'reduce' works in groups: set grid.group",
		    bi_launch(groups, NULL, &grid8, (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(good.out) }, 2,
			      &error));
	bi_kernel_release(groups);
	free_good(&good);
}

/* Limits and images of CUDA. */
static void test_cuda(void **state)
{
	struct bi_program_source source = suite_source();
	struct good good = make_good();
	struct bi_kernel *reverse = get_kernel(fixture.context, "reverse");
	struct bi_program *program;
	struct bi_kernel *kernel;

	(void)state;
	if (is_cuda(fixture.context)) {
		refuse_grid(
			&good, (struct bi_grid){ 2, { 70000 * 8, 32 }, { 8, 32 } },
			"70000 groups along y are above the limit of 65535: make the groups larger along this axis, or");
		refuse_grid(&good, (struct bi_grid){ 3, { 65535 * 64 + 1, 1, 1 }, { 0 } }, "groups along z are above");
		OK(bi_launch(good.kernel, NULL, &(struct bi_grid){ 2, { 65535, 1 }, { 1, 1 } },
			     (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(good.out), BI_INT64(1) }, 3, &error));
		/* Groups of 256 items are the usual ones, and would be 65537 here. 16777259 is a prime. */
		OK(bi_launch(good.kernel, NULL, &(struct bi_grid){ 2, { 16777259, 1 }, { 0 } },
			     (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(good.out), BI_INT64(1) }, 3, &error));
		OK(bi_view_synchronize(good.in, &error));
		OK(bi_view_synchronize(good.out, &error));
		refuse_grid(&good, (struct bi_grid){ 3, { 65, 1, 1 }, { 65, 1, 1 } }, "65 items along z is above");
		REFUSED_FOR(BI_EINVAL, "have 49152 bytes in all",
			    bi_launch(reverse, NULL, &(struct bi_grid){ 1, { 8 }, { 8 } },
				      (struct bi_argument[]){ BI_UPDATES(good.out), BI_LOCAL_BYTES(40000),
							      BI_LOCAL_BYTES(40000) },
				      3, &error));
		source.image = "no image";
		FAILS(bi_program_build(fixture.context, &source, &program, &error));
	}
	if (takes_simulated_images(fixture.context)) {
		source.image = ".version 7.0\n.target sm_80\n.visible .entry bi_kernel_step(\n)\n";
		OK(bi_program_build(fixture.context, &source, &program, &error));
		/* The table of the text is missing, and that of a function serves. */
		OK(bi_kernel_get(program, "step", &kernel, &error));
		bi_program_release(program);
		bi_kernel_release(kernel);
		source.function_count = 0;
		OK(bi_program_build(fixture.context, &source, &program, &error));
		REFUSED_FOR(BI_EINVAL, "the parameters of kernel 'step' are not known",
			    bi_kernel_get(program, "step", &kernel, &error));
		bi_program_release(program);
	}
	bi_kernel_release(reverse);
	free_good(&good);
}

static const char *const compile_again = "compile the kernel with the kernel.h of this version";

static void refuse_kernel(const struct bi_program_source *source, const char *reason)
{
	struct bi_kernel *kernel = STALE(struct bi_kernel);
	struct bi_program *program;

	OK(bi_program_build(fixture.context, source, &program, &error));
	REFUSED_FOR(BI_EINVAL, reason, bi_kernel_get(program, "step", &kernel, &error));
	assert_null(kernel);
	assert_non_null(strstr(error.message, "'step'"));
	assert_non_null(strstr(error.message, compile_again));
	bi_program_release(program);
}

/* Tables of parameters that kernel.h does not make, in PTX and in a function. */
static void test_wrong_parameters(void **state)
{
	static const struct {
		struct bi_parameter parameter;
		const char *reason;
	} wrong[] = {
		{ { "a", 0, BI_PARAMETER_LOCAL, 0, 0, 0 }, "parameter 1 ('a') of kernel 'step' has a type of 0 bytes" },
		{ { "a", 0, BI_PARAMETER_VALUE, 0, 0, 0 }, "a type of 0 bytes" },
		{ { "a", 6, BI_PARAMETER_ARRAY, 1, 0, 'i' }, "a number of 6 bytes" },
		{ { "a", 4, 200, 0, 0, 0 }, "the unknown kind 200" },
		{ { "a", 4, BI_PARAMETER_ARRAY, 0, 0, 'i' }, "the access 0" },
		{ { "a", 4, BI_PARAMETER_ARRAY, 4, 0, 'i' }, "the access 4" },
		{ { "a", 4, BI_PARAMETER_VALUE, 1, 0, 'i' }, "the access 1" },
		{ { "a", 4, BI_PARAMETER_STRIDED, 1, 0, 'i' }, "the rank 0" },
		{ { "a", 4, BI_PARAMETER_STRIDED, 1, 7, 'i' }, "the rank 7" },
		{ { "a", 4, BI_PARAMETER_ARRAY, 1, 1, 'i' }, "the rank 1" },
		{ { "a", 4, BI_PARAMETER_VALUE, 0, 0, 'x' }, "the type class 120" },
		{ { "1234567890123456789012345678901234567890", 4, BI_PARAMETER_VALUE, 0, 0, 'i' },
		  "('123456789012345678901234567890123456789') of kernel 'step' has a name of more than 39 "
		  "characters" },
	};
	struct bi_parameter table[3] = { { "b", 4, BI_PARAMETER_ARRAY, 2, 0, 'i' } };
	const struct bi_host_kernel function = { "step", table, 0, suite_source().functions[1]->run };
	const struct bi_host_kernel *const functions[] = { &function };
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	char image[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		table[1] = wrong[i].parameter;
		source.image = NULL;
		source.functions = functions;
		source.function_count = 1;
		if (runs_functions())
			refuse_kernel(&source, wrong[i].reason);
		if (takes_simulated_images(fixture.context)) {
			FILE *file = fmemopen(image, sizeof(image), "w");

			assert_non_null(file);
			fputs(".version 7.0\n.target sm_80\n", file);
			print_table(file, &function);
			fclose(file);
			source.image = image;
			source.functions = NULL;
			refuse_kernel(&source, wrong[i].reason);
		}
	}
}

#define STEP_PTX(table) ".version 7.0\n.target sm_80\n" table "\n.visible .entry bi_kernel_step(\n)\n"
#define STEP_TABLE(text) STEP_PTX(".visible .global .align 4 .b8 bi_parameters_step[" text ";")
#define ZEROS_39 "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
#define ONE_VALUE "96] = {97," ZEROS_39 "4,0,0,0,3,0,0,105}" /* the compiler leaves out the zeros at the end */

static void test_wrong_tables_in_ptx(void **state)
{
	static const struct {
		const char *image, *reason;
	} wrong[] = {
		{ STEP_TABLE("-16] = {65}"), "bytes, and must have 48 for each of 1 to 32 parameters and 48 for its end" },
		{ STEP_TABLE("99999999999999999999] = {65}"), "bytes, and must have 48 for each" },
		{ STEP_TABLE("1632] = {65}"), "has 1632 bytes, and must have 48 for each" },
		{ STEP_TABLE("97] = {65}"), "has 97 bytes, and must have 48 for each" },
		{ STEP_TABLE("48] = {0}"), "has 48 bytes, and must have 48 for each" },
		{ STEP_TABLE("] = {65}"), "has 0 bytes, and must have 48 for each" },
		{ STEP_TABLE("96] = {0}"), "is malformed" },
		{ STEP_TABLE("96] = {}"), "is malformed" },
		{ STEP_TABLE("96] = {1, x}"), "is malformed" },
		{ STEP_TABLE("144] = {97," ZEROS_39 "4,0,0,0,3,0,0,105}"), "is malformed" }, /* an end too early */
		{ STEP_TABLE("96] = {353," ZEROS_39 "4,0,0,0,3,0,0,105}"), "is malformed" },
		{ STEP_TABLE("96] = {97," ZEROS_39 "4,0,0,0,3,0,0,105," ZEROS_39 "0,2}"), "is malformed" },
		{ STEP_TABLE("96] = {97," ZEROS_39 "4,0,0,0,3,0,0,105," ZEROS_39 "0,0,0,0,0,3}"), "is malformed" },
		{ STEP_TABLE("96] = {97," ZEROS_39 "4,0,0,0,3,0,0,105," ZEROS_39 "0,0,0,0,0,0,0,0,0,0}"),
		  "is malformed" },
	};
	static const char *const right[] = {
		STEP_TABLE(ONE_VALUE),
		STEP_PTX("// .b8 bi_parameters_step[-16] = {65};\n.global .b8 bi_parameters_step[" ONE_VALUE ";"),
		STEP_PTX("/* .b8 bi_parameters_step[7] = {65};\n*/.global .b8 bi_parameters_step[" ONE_VALUE ";"),
		STEP_PTX(".file 1 \"/a/*b.cu .b8 bi_parameters_step[7] = {65};\"\n.global .b8 bi_parameters_step[" ONE_VALUE
			 ";"),
	};
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	struct bi_kernel *kernel;

	(void)state;
	if (!takes_simulated_images(fixture.context))
		return;
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		source.image = wrong[i].image;
		refuse_kernel(&source, wrong[i].reason);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(right); i++) {
		source.image = right[i];
		OK(bi_program_build(fixture.context, &source, &program, &error));
		OK(bi_kernel_get(program, "step", &kernel, &error));
		bi_program_release(program);
		REFUSED_FOR(BI_EINVAL, "kernel 'step' takes 1 arguments, not 0",
			    bi_launch(kernel, NULL, &grid8, NULL, 0, &error));
		bi_kernel_release(kernel);
	}
}

#define LIMITED_PTX \
	".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry bi_kernel_reverse(\n)\n.maxntid 64, 1, 1\n" \
	"{\n.shared .align 4 .b8 own[1024];\n}\n"

#define FEW_THREADS_PTX \
	".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry bi_kernel_step(\n)\n.maxntid 3, 1, 1\n{\n}\n"

/* The library chooses no larger group than the kernel can have, along several axes too, and no more than 65535 of them.
 */
static void test_a_group_of_few_threads(void **state)
{
	struct good good = make_good();
	struct bi_program_source source = suite_source();
	struct bi_program *program;
	struct bi_kernel *kernel;

	(void)state;
	if (takes_simulated_images(fixture.context)) {
		source.image = FEW_THREADS_PTX;
		OK(bi_program_build(fixture.context, &source, &program, &error));
		OK(bi_kernel_get(program, "step", &kernel, &error));
		bi_program_release(program);
		OK(bi_launch(kernel, NULL, &(struct bi_grid){ 2, { 4, 4 }, { 0 } },
			     (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(good.out), BI_INT64(1) }, 3, &error));
		OK(bi_launch(kernel, NULL, &(struct bi_grid){ 2, { 70000, 4 }, { 0 } },
			     (struct bi_argument[]){ BI_READS(good.in), BI_WRITES(good.out), BI_INT64(1) }, 3, &error));
		OK(bi_view_synchronize(good.out, &error));
		OK(bi_view_synchronize(good.in, &error));
		bi_kernel_release(kernel);
	}
	free_good(&good);
}

/* A kernel whose registers and own local memory leave less than the device has. */
static void test_limits_of_a_cuda_kernel(void **state)
{
	struct bi_program_source source = suite_source();
	struct bi_view *data = make_numbers(fixture.context, 1, (int64_t[]){ 128 });
	struct bi_argument arguments[] = { BI_UPDATES(data), BI_LOCAL_BYTES(48120), BI_LOCAL_BYTES(8) };
	struct bi_program *program;
	struct bi_kernel *kernel;

	(void)state;
	if (takes_simulated_images(fixture.context)) {
		source.image = LIMITED_PTX;
		OK(bi_program_build(fixture.context, &source, &program, &error));
		OK(bi_kernel_get(program, "reverse", &kernel, &error));
		bi_program_release(program);
		REFUSED_FOR(BI_EINVAL, "a group of 128 items is above the limit of 64",
			    bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 128 }, { 128 } }, arguments, 3, &error));
		REFUSED_FOR(BI_EINVAL, "each a multiple of 16",
			    bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 128 }, { 64 } }, arguments, 3, &error));
		arguments[2] = BI_LOCAL_BYTES(48);
		REFUSED_FOR(BI_EINVAL, "have 48128 bytes in all",
			    bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 128 }, { 64 } }, arguments, 3, &error));
		bi_kernel_release(kernel);
	}
	bi_view_release(data);
}

static void test_local_memory(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "reverse");
	struct bi_view *data = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	const struct bi_grid grid = { 1, { 8 }, { 8 } };

	(void)state;
	REFUSED_FOR(BI_EINVAL, "is local memory of 0 bytes",
		    bi_launch(kernel, NULL, &grid,
			      (struct bi_argument[]){ BI_UPDATES(data), BI_LOCAL_BYTES(0), BI_LOCAL_BYTES(64) }, 3,
			      &error));
	REFUSED_FOR(BI_EINVAL, "not a multiple of 8",
		    bi_launch(kernel, NULL, &grid,
			      (struct bi_argument[]){ BI_UPDATES(data), BI_LOCAL_BYTES(32), BI_LOCAL_BYTES(63) }, 3,
			      &error));
	for (size_t i = 0; i < 2; i++) {
		static const size_t sizes[] = { SIZE_MAX - 7, SIZE_MAX / 2 + 1 };

		REFUSED_FOR(BI_EINVAL, "is local memory of",
			    bi_launch(kernel, NULL, &grid,
				      (struct bi_argument[]){ BI_UPDATES(data), BI_LOCAL_BYTES(sizes[i]),
							      BI_LOCAL_BYTES(sizes[i]) },
				      3, &error));
	}
	bi_view_release(data);
	bi_kernel_release(kernel);
}

/* Returns 1 if the driver counts the local memory that a kernel has of its own. PoCL 6 does not. */
static int counts_local_memory(cl_context context, cl_device_id device)
{
	const char *text = "kernel void f(global int *a)\n{\n\tlocal int all[64];\n\tall[get_local_id(0)] = a[0];\n"
			   "\tbarrier(CLK_LOCAL_MEM_FENCE);\n\ta[0] = all[a[1]];\n}\n";
	cl_program program = driver()->clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	cl_ulong nbytes = 0;
	cl_kernel kernel;

	assert_int_equal(driver()->clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
	kernel = driver()->clCreateKernel(program, "f", NULL);
	assert_int_equal(driver()->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(nbytes),
							    &nbytes, NULL),
			 CL_SUCCESS);
	driver()->clReleaseKernel(kernel);
	driver()->clReleaseProgram(program);
	return nbytes >= 64 * sizeof(int);
}

/* A kernel whose own arrays take all local memory leaves none for an argument, not even a byte. */
static void test_no_local_memory_is_left(void **state)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_view *data = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_program *program;
	struct bi_kernel *kernel;
	cl_ulong nbytes = 0;
	cl_device_id device = (cl_device_id)bi_context_device_handle(fixture.context);
	char text[400];

	(void)state;
	if (is_opencl(fixture.context) && counts_local_memory((cl_context)bi_context_handle(fixture.context), device)) {
		assert_int_equal(
			driver()->clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(nbytes), &nbytes, NULL),
			CL_SUCCESS);
		snprintf(text, sizeof(text),
			 "BI_GROUP_KERNEL(full, (BI_INOUT(int, data), BI_LOCAL_PARAMETER(char, more)))\n{\n"
			 "\tBI_LOCAL(char, all, %llu);\n\tBI_ITEMS\n\t{\n\t\tall[BI_GLOBAL_ID(x)] = more[0];\n"
			 "\t\tBI_DATA(data)[0] = all[BI_DATA(data)[1]];\n\t}\n}\n",
			 (unsigned long long)nbytes);
		source.text = text;
		OK(bi_program_build(fixture.context, &source, &program, &error));
		OK(bi_kernel_get(program, "full", &kernel, &error));
		bi_program_release(program);
		for (unsigned i = 1; i <= 64; i *= 64)
			REFUSED_FOR(BI_EINVAL, "its BI_LOCAL arrays take all",
				    bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 8 }, { 8 } },
					      (struct bi_argument[]){ BI_UPDATES(data), BI_LOCAL_BYTES(i) }, 2,
					      &error));
		bi_kernel_release(kernel);
	}
	bi_view_release(data);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_open_contexts, fixture_close_contexts)

int refusals_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_source_that_does_not_compile),
		TEST(test_device_without_a_compiler),
		TEST(test_calls_that_fail),
		TEST(test_no_local_memory_is_left),
		TEST(test_size_of_a_structure_without_memory),
		TEST(test_parameters_that_are_no_values),
		TEST(test_names_of_parameters),
		TEST(test_number_types_of_the_source),
		TEST(test_a_type_of_the_source_named_n),
		TEST(test_log_is_cut),
		TEST(test_arguments_of_programs),
		TEST(test_count_kind_and_size),
		TEST(test_layouts),
		TEST(test_numbers_that_are_not_aligned),
		TEST(test_read_only_and_mapped_views),
		TEST(test_other_contexts),
		TEST(test_two_devices_of_a_context),
		TEST(test_grids),
		TEST(test_cuda),
		TEST(test_wrong_parameters),
		TEST(test_wrong_tables_in_ptx),
		TEST(test_limits_of_a_cuda_kernel),
		TEST(test_a_group_of_few_threads),
		TEST(test_local_memory),
	};

	return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
