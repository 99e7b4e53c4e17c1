/*
 * The kernels of strided.h, compiled for CUDA devices. scripts/make-kernels makes the files image_*.inc from
 * strided.cu. A test (tests/checks/kernels) makes the files again and compares.
 */
#ifndef BI_KERNELS_IMAGE_H
#define BI_KERNELS_IMAGE_H

#include <stddef.h>

/*
 * Compute capabilities for which there is machine code: X(major, minor). The code also runs on devices with a higher
 * minor version.
 */
#define BI__IMAGE_MAP(X) X(7, 5) X(8, 0) X(9, 0) X(10, 0) X(12, 0)

/*
 * The kernels as PTX text for compute capability 5.0 and above; the driver compiles it. Its version is at most PTX ISA
 * 7.0, which CUDA 11.0 introduced.
 */
extern const char bi__image_ptx[];

/*
 * Returns machine code for a device of this compute capability: an ELF file of *nbytes bytes, which the caller frees.
 * Returns NULL if there is none or no memory is left. bi__image_ptx can be used instead.
 */
void *bi__image_load(int major, int minor, size_t *nbytes);

#endif
