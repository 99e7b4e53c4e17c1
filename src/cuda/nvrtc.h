/* NVRTC, the compiler of CUDA C++, opened at run time like the driver. */
#ifndef BI_CUDA_NVRTC_H
#define BI_CUDA_NVRTC_H

#include "common/backend/kernel.h"

/* The result of a compilation. Both are allocated. */
struct bi__nvrtc_image {
	char *ptx; /* text */
	char *code; /* machine code; NULL: the compiler does not know the device, and the driver compiles the PTX */
};

/*
 * Compiles source->text for a compute capability such as 90. Sets source->log and source->is_refused. BI_EUNSUPPORTED:
 * the library was not found.
 */
int bi__nvrtc_compile(struct bi__source *source, int capability, struct bi__nvrtc_image *out, struct bi_error *err);

#endif
