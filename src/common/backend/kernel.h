/* Kernels of the caller, as a backend sees them: the types of the group `launch` of its table. */
#ifndef BI_COMMON_BACKEND_KERNEL_H
#define BI_COMMON_BACKEND_KERNEL_H

#include <stdlib.h>
#include <string.h>

#include "buffer_interface/kernel.h"
#include "buffer_interface/launch.h"
#include "common/backend/backend.h"
#include "common/base/status.h"

/* The largest length of a kernel's name that `get` sees. */
#define BI__KERNEL_NAME_MAX 200

/* The source of a program. A backend uses the members that suit it, and sets `log` if a compiler wrote one. */
struct bi__source {
	const char *text; /* kernel.h and the caller's text; NULL: the caller has none */
	const char *options; /* not NULL */
	const struct bi_host_kernel *const *functions;
	size_t function_count;
	const void *image;
	char *log; /* NULL, or the text of the log, allocated; the caller of the backend frees it */
	int is_refused; /* 1: the compiler refused the text, and `log` says why */
};

/* A kernel that `get` found. The struct is cleared before the call. */
struct bi__kernel {
	void *state; /* of the backend */
	struct bi_parameter *parameters; /* allocated; the caller of the backend frees them */
	unsigned count;
	int has_groups; /* 1: the kernel needs a group size */
	size_t most_items; /* of a group */
	size_t most_along[3]; /* items of a group along x, y, z */
	int64_t most_groups[3]; /* groups along x, y, z; 0: no limit */
	size_t most_local; /* bytes of local memory in all arguments; read only if the kernel has such parameters */
	size_t local_step; /* each argument takes a multiple of this many bytes of most_local */
	int threads; /* most items of a group if the caller names no size; the last groups may reach beyond the grid;
			0: the backend chooses the size */
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

/* Returns the function of that name, or NULL if there is none. No entry of `functions` is NULL. */
static inline const struct bi_host_kernel *bi__kernel_function(const struct bi_host_kernel *const *functions,
							       size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(functions[i]->name, name))
			return functions[i];
	return NULL;
}

/* Returns the number of parameters in a table, which an entry of kind 0 ends. */
static inline unsigned bi__kernel_parameters(const struct bi_parameter *table)
{
	unsigned count = 0;

	while (table[count].kind)
		count++;
	return count;
}

/* Sets the parameters of a kernel to a copy of the function's parameters. */
static inline int bi__kernel_copy_parameters(struct bi__kernel *out, const struct bi_host_kernel *function,
					     struct bi_error *err)
{
	const unsigned count = bi__kernel_parameters(function->parameters);

	out->parameters = malloc((count + 1) * sizeof(*out->parameters));
	if (!out->parameters)
		return bi__fail(err, BI_ENOMEM, "no memory for the %u parameters of kernel '%s'", count,
				function->name);
	memcpy(out->parameters, function->parameters, (count + 1) * sizeof(*out->parameters));
	out->count = count;
	return BI_OK;
}

#endif
