/*
 * The header of a NumPy file, format 1.0, 2.0 and 3.0: from bytes and to bytes, no file, no element.
 *
 * A file is a prefix (magic, version, length of the text: 10 or 12 bytes), the text of a Python dict with the keys
 * descr, fortran_order and shape, and the elements, dense in C or Fortran order.
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
	char *descr; /* structured types: the list as Python prints it, UTF-8, owned; else NULL */
	int fortran_order;
	int ndim;
	int64_t shape[BI_MAX_NDIM];
	size_t nbytes; /* of the elements */
};

/*
 * Where the elements begin, read from the first `size` (up to NPY_PREFIX) bytes of a file. BI_EDTYPE: not a NumPy file
 * of a known version. BI_EBOUNDS: the file ends within the prefix.
 */
int npy_header_size(const unsigned char *bytes, size_t size, size_t *header_size, struct bi_error *err);

/*
 * Reads the header_size bytes of a header. BI_EDTYPE for an element type that there is not, BI_EOVERFLOW for a shape
 * that does not fit, BI_EBOUNDS if the text is longer than `size`, BI_EINVAL for other text. On success the caller owns
 * out->descr: npy_clear.
 */
int npy_parse(const unsigned char *bytes, size_t size, struct npy *out, struct bi_error *err);

/*
 * Makes the header that NumPy writes for a C-order array of this type and shape: the oldest version that can say it,
 * with room for a longer first extent, a multiple of 64 bytes. Owned: free.
 */
int npy_format(const struct npy *npy, unsigned char **bytes, size_t *size, struct bi_error *err);

/* Frees what the structure owns. */
void npy_clear(struct npy *npy);

#endif
