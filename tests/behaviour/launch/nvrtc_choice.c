/*
 * The version of the compiler goes with that of the driver: another one may make code that the driver refuses. The
 * message of a failure has the line of the log that names the error.
 *
 *     nvrtc_choice MAJOR [LOADED]
 *
 * Another part of the program has opened the compiler LOADED.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	if (err.vendor != expected)
		return EXIT_FAILURE;
	if (strstr(err.message, ": ptxas error   : too much shared data"))
		return EXIT_SUCCESS;
	fprintf(stderr, "not the line of the error: %s\n", err.message);
	return EXIT_FAILURE;
}
