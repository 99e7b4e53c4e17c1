/* The program of the suite's kernels, on the device under test. */
#ifndef BI_TESTS_LAUNCH_PROGRAMS_H
#define BI_TESTS_LAUNCH_PROGRAMS_H

#include <stdio.h>

#include "buffer_interface/launch.h"
#include "fixture.h"

/* The text of the suite's kernels. Read once. */
const char *kernel_text(void);

/*
 * Returns true on the simulated CUDA driver, which compiles nothing. It takes images that are no code and
 * runs C functions for their entries.
 */
int takes_simulated_images(const struct bi_context *context);
/* Prints PTX with the entry of a kernel and the table of its parameters. */
void print_table(FILE *file, const struct bi_host_kernel *kernel);
/* Returns true if the device runs what a compiler makes of the text. Other devices run the C functions. */
int runs_text(const struct bi_context *context);

/* A source with the suite's kernels in all forms. On a real CUDA driver, NVRTC compiles the text. */
struct bi_program_source suite_source(void);

struct bi_program *build_suite(struct bi_context *context);

/* Returns a kernel that owns its program. */
struct bi_kernel *get_kernel(struct bi_context *context, const char *name);

/* A dense array of the device with the values 0, 1, 2, ... as int32. */
struct bi_view *make_numbers(struct bi_context *context, int ndim, const int64_t *shape);

int results_group(void);
int refusals_group(void);
int order_group(void);

#endif
