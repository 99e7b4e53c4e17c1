/*
 * NVRTC compiles the kernels of the suite and of the examples for every architecture that it knows, without a GPU, and
 * the tables of parameters in the PTX are those of C. BI_NVRTC_LIBRARY names the library.
 *
 *     nvrtc LEAST_ARCHITECTURES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/nvrtc.h"

#include "kernels.kernel.h"
#include "fft_binding/fft.kernel.h"
#include "halo_mpi/halo.kernel.h"
#include "heat/heat.kernel.h"

static const char *const preamble[] = {
#include "common/launch/generated/preamble.inc"
};

static const struct bi_host_kernel *const functions[] = {
	&bi_kernel_scale,        &bi_kernel_number, &bi_kernel_transpose, &bi_kernel_add_pair, &bi_kernel_reduce,
	&bi_kernel_reverse,      &bi_kernel_spin,   &bi_kernel_shade,     &bi_kernel_spread,   &bi_kernel_step,
	&bi_kernel_spread_block, &bi_kernel_stage,  &bi_kernel_look_up,
};

static void append_file(char *text, size_t capacity, const char *path)
{
	FILE *file = fopen(path, "r");
	size_t used = strlen(text);

	if (!file) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	text[used + fread(text + used, 1, capacity - used - 1, file)] = '\0';
	fclose(file);
}

/* Returns 1 if the PTX has the bytes of the kernel's table. */
static int has_table(const char *ptx, const struct bi_host_kernel *kernel)
{
	const unsigned char *bytes = (const unsigned char *)kernel->parameters;
	static char wanted[1 << 14];
	size_t nbytes = sizeof(*kernel->parameters), used, end;

	for (const struct bi_parameter *parameter = kernel->parameters; parameter->kind; parameter++)
		nbytes += sizeof(*parameter);
	used = (size_t)sprintf(wanted, " bi_parameters_%s[%zu] = {%u", kernel->name, nbytes, bytes[0]);
	end = nbytes;
	while (!bytes[end - 1]) /* the compiler leaves out the zeros at the end */
		end--;
	for (size_t i = 1; i < end; i++)
		used += (size_t)sprintf(wanted + used, ", %u", bytes[i]);
	return strstr(ptx, wanted) != NULL;
}

static int check_image(const struct bi__nvrtc_image *image, int arch)
{
	int wrong = memcmp(image->code, "\177ELF", 4) != 0;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!has_table(image->ptx, functions[i])) {
			printf("sm_%d: the table of %s differs\n", arch, functions[i]->name);
			wrong = 1;
		}
	return wrong;
}

/* Options that make nothing for the device, although NVRTC accepts them, and options between other white space. */
static int check_options(void)
{
	static const struct {
		const char *options, *reason; /* NULL: the source compiles */
	} cases[] = {
		{ "-DA=1\t-DB=2\n-DC=3", NULL },
		{ "-DA=1 -DB=2 -DC=3 -arch=sm_90", "source.options has -arch=sm_90, but the device decides" },
		{ "-DA=1 --gpu-architecture sm_90", "source.options has --gpu-architecture, but the device decides" },
		{ "-DA=1 -DB=2 -DC=3 -dlto", "the compiler made no PTX: source.options asks for another output" },
	};
	int wrong = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bi__source source = { .text = "extern \"C\" __global__ void k(int *x) { *x = A + B + C; }",
					     .options = cases[i].options };
		struct bi__nvrtc_image image;
		struct bi_error err = { 0, 0, "" };
		int rc = bi__nvrtc_compile(&source, 90, &image, &err);

		if (rc != (cases[i].reason ? BI_EINVAL : BI_OK) ||
		    (cases[i].reason && strncmp(err.message, cases[i].reason, strlen(cases[i].reason)) != 0)) {
			printf("options \"%s\": %d %s\n", cases[i].options, rc, err.message);
			wrong = 1;
		}
		free(source.log);
		free(image.ptx);
		free(image.code);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	static const int archs[] = { 50, 52, 53, 60, 61,  62,  70,  72,  75,  80,  86,
				     87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121 };
	static char text[1 << 16];
	int compiled = 0, wrong = 0;

	for (size_t i = 0; i < sizeof(preamble) / sizeof(*preamble); i++)
		strcat(text, preamble[i]);
	append_file(text, sizeof(text), KERNELS);
	append_file(text, sizeof(text), EXAMPLES "/fft_binding/fft.kernel.h");
	append_file(text, sizeof(text), EXAMPLES "/halo_mpi/halo.kernel.h");
	append_file(text, sizeof(text), EXAMPLES "/heat/heat.kernel.h");
	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
		struct bi__source source = { .text = text, .options = " -DFACTOR=3  --use_fast_math" };
		struct bi__nvrtc_image image;
		struct bi_error err;
		int rc = bi__nvrtc_compile(&source, archs[i], &image, &err);

		if (rc && rc != BI_EUNSUPPORTED) {
			printf("sm_%d: %s\n%s\n", archs[i], err.message, source.log ? source.log : "");
			wrong = 1;
		}
		if (!rc && image.code) {
			wrong |= check_image(&image, archs[i]);
			compiled++;
		}
		free(source.log);
		free(image.ptx);
		free(image.code);
	}
	wrong |= check_options();
	printf("%d architectures\n", compiled);
	return wrong || compiled < (argc > 1 ? atoi(argv[1]) : 1);
}
