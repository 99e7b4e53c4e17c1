/* Modules and their functions. */
#ifndef BI_TESTS_CUDA_SIM_MODULE_H
#define BI_TESTS_CUDA_SIM_MODULE_H

#include "clock.h"
#include "work.h"

#define MOST_THREADS 1024

struct function {
	struct function *next;
	bi__cu_function handle;
	struct module *module;
	const struct sim_kernel *kernel;
	int most_threads, shared; /* of a block; bytes of static shared memory */
};

struct module {
	struct module *next; /* of its context */
	struct context *context;
	bi__cu_module handle;
	char *image; /* a copy */
	size_t nbytes;
	struct function *functions;
	struct clock launches; /* of its kernels */
};

/* image.c: reads images. */

/* Returns INVALID_IMAGE, INVALID_PTX, UNSUPPORTED_PTX_VERSION or NO_BINARY_FOR_GPU, or 0 and the size in *nbytes. */
bi__cu_result image_check(const void *image, size_t *nbytes);
int image_has_entry(const char *image, size_t nbytes, const char *name);
/* Returns the image itself, or the PTX text in a fatbin. Returns NULL if a fatbin has none. */
const char *image_content(const char *image);
/* Returns the product of the numbers behind a directive (".maxntid") of an entry of PTX text, or 0 if there is none. */
int image_number(const char *image, const char *name, const char *directive, char before);

/* module.c */
void modules_destroy_of(struct context *context);
void modules_forget_of(struct context *context);
uint64_t modules_live(void);

#endif
