/* Programs and kernels of the caller. */
#ifndef BI_COMMON_LAUNCH_LAUNCH_H
#define BI_COMMON_LAUNCH_LAUNCH_H

#include "common/backend/kernel.h"
#include "common/runtime/object.h"

struct bi_program {
	atomic_uint refs;
	struct bi_context *context; /* retained */
	uintptr_t handle; /* of the backend */
};

struct bi_kernel {
	atomic_uint refs;
	struct bi_program *program; /* retained */
	struct bi__kernel kernel;
	char name[]; /* for messages */
};

#endif
