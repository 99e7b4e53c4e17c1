/* NVRTC, the compiler of CUDA C++, opened at run time like the driver. */
#ifndef BI_CUDA_NVRTC_H
#define BI_CUDA_NVRTC_H

#include "common/backend/kernel.h"

/* The result of a compilation. The caller frees both members, also after a failure. */
struct bi__nvrtc_image {
	char *ptx; /* text */
	char *code; /* machine code; NULL: there is none, and the driver compiles the PTX */
};

/*
 * Compiles source->text for a compute capability such as 90. If the compiler runs, sets source->log and
 * source->is_refused. Returns BI_EUNSUPPORTED if NVRTC was not found, or supports no architecture up to the capability.
 */
int bi__nvrtc_compile(struct bi__source *source, int capability, struct bi__nvrtc_image *out, struct bi_error *err);

#endif
