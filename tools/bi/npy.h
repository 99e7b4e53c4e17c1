/*
 * Reads and writes, in memory, the header of a NumPy file of format 1.0, 2.0 or 3.0.
 *
 * A file is a prefix (magic number, version and length of the text, 10 or 12 bytes), the text of a Python dict with the
 * keys descr, fortran_order and shape, and the elements. The elements are dense in C or Fortran order.
 */
#ifndef BI_TOOL_NPY_H
#define BI_TOOL_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "buffer_interface.h"

/* Bytes of the longest prefix. */
#define NPY_PREFIX 12

struct npy {
	struct bi_dtype dtype;
	char *descr; /* the fields of a structured type: a list as Python prints it, UTF-8, owned; NULL for a simple
			type */
	int fortran_order;
	int ndim;
	int64_t shape[BI_MAX_NDIM];
	size_t nbytes; /* bytes of all elements */
};

/*
 * Computes the size of the header from the first `size` bytes of a file (at most NPY_PREFIX). The elements begin after
 * the header. Returns BI_EDTYPE if it is not a NumPy file of a known version. Returns BI_EBOUNDS if the file ends
 * within the prefix.
 */
int npy_header_size(const unsigned char *bytes, size_t size, size_t *header_size, struct bi_error *err);

/*
 * Reads a header of `size` bytes. Returns BI_EDTYPE for an unsupported element type, BI_EOVERFLOW for a shape that is
 * too large, BI_EBOUNDS if the header is longer than `size`, and BI_EINVAL for any other defect. On success the caller
 * owns *out and calls npy_clear.
 */
int npy_parse(const unsigned char *bytes, size_t size, struct npy *out, struct bi_error *err);

/*
 * Makes the header that NumPy writes for a C-order array of this type and shape. Its version is the lowest that can
 * represent the header. It is padded so that the first extent may grow, to a multiple of 64 bytes. The caller frees
 * *bytes.
 */
int npy_format(const struct npy *npy, unsigned char **bytes, size_t *size, struct bi_error *err);

/* Frees the members that the struct owns. */
void npy_clear(struct npy *npy);

#endif
