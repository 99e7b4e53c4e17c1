/* Reading formats of the buffer protocol (PEP 3118). */
#ifndef BIP_IMPORT_FORMAT_H
#define BIP_IMPORT_FORMAT_H

#include "extension.h"

/* Reads a format ("f", "<i4"... as struct and NumPy write them, T{...} too). NULL means "B". As
 * bip_dtype_from_with_descr. */
int bip_format_read(const char *format, Py_ssize_t itemsize, struct bi_dtype *out, PyObject **descr);

#endif
