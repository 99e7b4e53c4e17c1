/* Kernels of the caller, as a backend sees them: the types of the group `launch` of its table. */
#ifndef BI_COMMON_BACKEND_KERNEL_H
#define BI_COMMON_BACKEND_KERNEL_H

#include "buffer_interface/kernel.h"
#include "buffer_interface/launch.h"
#include "common/backend/backend.h"

/* The largest length of a kernel's name that `get` sees. */
#define BI__KERNEL_NAME_MAX 200

/* A source to be compiled. A backend uses the member that suits it, and sets `log` if a compiler wrote one. */
struct bi__source {
	const char *text; /* kernel.h and the caller's text; NULL: the caller has none */
	const char *options; /* not NULL */
	const struct bi_host_kernel *const *functions;
	size_t function_count;
	const void *image;
	char *log; /* NULL, or the text of the log; the caller of the backend frees it */
	int is_refused; /* 1: the compiler refused the text, and `log` says why */
};

/* A kernel that `get` found. It is cleared before. */
struct bi__kernel {
	void *state; /* of the backend */
	struct bi_parameter *parameters; /* allocated; the caller of the backend frees them */
	unsigned count;
	int has_groups; /* 1: it runs only with a group size */
	size_t most_items; /* of a group */
	size_t most_along[3]; /* items of a group along x, y, z */
	int64_t most_groups[3]; /* groups along x, y, z; 0: no limit */
	size_t most_local; /* bytes of local memory in all arguments; 0: no limit */
	size_t local_step; /* with most_local: an argument takes a multiple of so many bytes of it */
	int threads; /* items of a group if the caller names no size, and the last groups then may reach beyond the
			grid; 0: the backend chooses, unless has_groups */
};

/* One argument, checked against its parameter. */
struct bi__kernel_value {
	const struct bi__block *block; /* ARRAY, STRIDED */
	size_t offset; /* bytes from the start of the block to the first element */
	const int64_t *strides; /* STRIDED */
	const void *bytes; /* VALUE */
	size_t nbytes; /* VALUE, LOCAL */
};

/* A launch. Axes are x, y, z; those that the grid lacks have extent 1. */
struct bi__kernel_launch {
	const struct bi__kernel *kernel;
	const struct bi__kernel_value *values; /* kernel->count */
	int ndim;
	int64_t size[3];
	int64_t group[3]; /* group[0] == 0: the backend chooses, and kernel->threads is 0 */
};

#endif
