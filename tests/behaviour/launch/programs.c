#define _POSIX_C_SOURCE 200809L
#include "programs.h"

#include <stdlib.h>

#include "buffer_interface/kernel.h"
#include "cuda_driver.h"
#include "kernels.kernel.h"

static const struct bi_host_kernel *const functions[] = {
	&bi_kernel_scale,  &bi_kernel_step,    &bi_kernel_number, &bi_kernel_transpose, &bi_kernel_add_pair,
	&bi_kernel_reduce, &bi_kernel_reverse, &bi_kernel_spin,   &bi_kernel_look_up,
};

const char *kernel_text(void)
{
	static char text[1 << 14];
	FILE *file;

	if (*text)
		return text;
	file = fopen(KERNELS, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	assert_true(feof(file));
	fclose(file);
	return text;
}

void print_table(FILE *file, const struct bi_host_kernel *kernel)
{
	const unsigned char *bytes = (const unsigned char *)kernel->parameters;
	size_t nbytes = sizeof(*kernel->parameters);

	for (const struct bi_parameter *parameter = kernel->parameters; parameter->kind; parameter++)
		nbytes += sizeof(*parameter);
	fprintf(file, ".visible .global .align 4 .b8 bi_parameters_%s[%zu] = {%u", kernel->name, nbytes, bytes[0]);
	for (size_t i = 1; i < nbytes; i++)
		fprintf(file, ", %u", bytes[i]);
	fprintf(file, "};\n.visible .entry bi_kernel_%s(\n)\n", kernel->name);
}

/* Returns PTX with the entries and tables of the suite's kernels. The simulated driver runs the C functions for them.
 */
static const char *simulated_image(void)
{
	static char text[1 << 16];
	FILE *file;

	if (*text)
		return text;
	file = fmemopen(text, sizeof(text), "w");
	assert_non_null(file);
	fprintf(file, ".version 7.0\n.target sm_80\n.address_size 64\n");
	for (size_t i = 0; i < ARRAY_LENGTH(functions); i++) {
		print_table(file, functions[i]);
		cuda_sim()->kernel(functions[i]);
	}
	fclose(file);
	return text;
}

int takes_simulated_images(const struct bi_context *context)
{
	return is_cuda(context) && cuda_sim();
}

int runs_text(const struct bi_context *context)
{
	return is_opencl(context) || (is_cuda(context) && !cuda_sim());
}

struct bi_program_source suite_source(void)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;

	source.text = kernel_text();
	if (!strncmp(fixture.spec, "cuda", 4) && cuda_sim())
		source.image = simulated_image();
	source.functions = functions;
	source.function_count = ARRAY_LENGTH(functions);
	return source;
}

struct bi_program *build_suite(struct bi_context *context)
{
	struct bi_program_source source = suite_source();
	struct bi_program *program;

	OK(bi_program_build(context, &source, &program, &error));
	return program;
}

struct bi_kernel *get_kernel(struct bi_context *context, const char *name)
{
	struct bi_program *program = build_suite(context);
	struct bi_kernel *kernel;

	OK(bi_kernel_get(program, name, &kernel, &error));
	bi_program_release(program);
	return kernel;
}

struct bi_view *make_numbers(struct bi_context *context, int ndim, const int64_t *shape)
{
	size_t count = 1;
	struct bi_view *view;
	int32_t *values;

	for (int i = 0; i < ndim; i++)
		count *= (size_t)shape[i];
	values = malloc(count * sizeof(*values));
	assert_non_null(values);
	for (size_t i = 0; i < count; i++)
		values[i] = (int32_t)i;
	OK(bi_view_empty(context, dtype_of("int32"), ndim, shape, &view, &error));
	OK(bi_view_write(view, values, count * sizeof(*values), &error));
	free(values);
	return view;
}
