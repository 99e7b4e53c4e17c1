/*
 * Headers of NumPy's files, in memory
 *
 * A file is a prefix (magic number, version and length of the text, 10 or 12 bytes), the text of a Python dict with the
 * keys descr, fortran_order and shape, and the elements. The elements are dense in C or Fortran order.
 */
#ifndef BI_INTEROP_NPY_HEADER_H
#define BI_INTEROP_NPY_HEADER_H

#include "common/base/status.h"

/* Bytes of the longest prefix. */
#define BI__NPY_PREFIX 12

/* Returns the number of bytes of the prefix. `bytes` has at least the first 8 bytes of the file. */
size_t bi__npy_prefix_size(const unsigned char *bytes);

/*
 * Computes the size of the header, prefix included, from the first `size` bytes of a file. The elements begin after the
 * header. Returns BI_EDTYPE if the file is no NumPy file of a known version, BI_EBOUNDS if `size` is less than the
 * prefix, and BI_EOVERFLOW if the header is larger than the address space.
 */
int bi__npy_header_size(const unsigned char *bytes, size_t size, size_t *header_size, struct bi_error *err);

/* Fails with BI_EBOUNDS, because the header has header_size bytes, and the file has only `held` bytes. */
int bi__npy_fail_truncated(size_t header_size, int64_t held, struct bi_error *err);

/*
 * Reads the header of a file from its first `size` bytes. The layout is dense in the order of the file, with offset 0.
 * *descr is the text of layout->descr, or NULL; the caller frees it. Returns BI_EDTYPE for an unknown format or element
 * type, BI_EOVERFLOW for a shape that is too large, BI_EBOUNDS if the header is longer than `size`, BI_ENOMEM, and
 * BI_EINVAL for any other defect.
 */
int bi__npy_parse(const unsigned char *bytes, size_t size, struct bi_layout *layout, char **descr,
		  struct bi_error *err);

/* Returns true if an array with this layout is written in Fortran order: it is contiguous only in that order. */
static inline int bi__npy_is_fortran(const struct bi_layout *layout)
{
	return bi_layout_is_contiguous(layout, 'F') && !bi_layout_is_contiguous(layout, 'C');
}

/*
 * Makes the header that NumPy writes for an array of this type and shape, in the order of bi__npy_is_fortran. Its
 * version is the lowest that can represent the text. Blanks leave space for a larger extent of the slowest axis, and
 * pad the header to a multiple of 64 bytes. The caller frees *bytes. Returns BI_EDTYPE if the type has no typestr.
 */
int bi__npy_format(const struct bi_layout *layout, unsigned char **bytes, size_t *size, struct bi_error *err);

#endif
