/*
 * The version of the compiler goes with that of the driver: another one may make code that the driver refuses.
 *
 *     nvrtc_choice MAJOR [LOADED]
 *
 * Another part of the program has opened the compiler LOADED.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "buffer_interface/launch.h"

int main(int argc, char **argv)
{
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_options options = BI_OPTIONS_INIT;
	int expected = 1000 + (argc > 1 ? atoi(argv[1]) : 0);
	struct bi_program *program;
	struct bi_context *context;
	struct bi_error err;

	if (argc > 2 && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return EXIT_FAILURE;
	}
	source.text = "";
	options.device = "cuda";
	if (bi_context_open(&options, &context, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return EXIT_FAILURE;
	}
	if (bi_program_build(context, &source, &program, &err) == BI_OK || err.vendor != expected)
		fprintf(stderr, "not compiler %d: %s\n", expected - 1000, err.message);
	bi_context_release(context);
	return err.vendor == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
