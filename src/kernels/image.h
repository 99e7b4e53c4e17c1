/*
 * The kernels of strided.h compiled for CUDA devices. scripts/make-kernels makes the image_*.inc files from strided.cu;
 * a test (tests/checks/kernels) makes them again and compares.
 */
#ifndef BI_KERNELS_IMAGE_H
#define BI_KERNELS_IMAGE_H

#include <stddef.h>

/* Compute capabilities that there is machine code for: X(major, minor). It runs on later minor ones as well. */
#define BI__IMAGE_MAP(X) X(7, 5) X(8, 0) X(9, 0) X(10, 0) X(12, 0)

/* For any device, compiled by its driver. A string; PTX ISA 7.0 at most, which CUDA 11.0 brought. */
extern const char bi__image_ptx[];

/*
 * Machine code (an ELF file, *nbytes long) for a device of this compute capability, in memory that the caller frees.
 * NULL: there is none for it, or no memory; bi__image_ptx serves as well.
 */
void *bi__image_load(int major, int minor, size_t *nbytes);

#endif
