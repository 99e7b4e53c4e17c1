/* Reading formats of the buffer protocol (PEP 3118). */
#ifndef BIP_IMPORT_FORMAT_H
#define BIP_IMPORT_FORMAT_H

#include "extension.h"

/*
 * Reads a format: one simple type ("f", "<i4") or a structure ("T{...}"), as the struct module and NumPy write them.
 * NULL means "B". *descr is a new str with the fields of a structure, or NULL. InvalidArrayError for other formats, or
 * if the size differs from `itemsize` (bytes).
 */
int bip_format_read(const char *format, Py_ssize_t itemsize, struct bi_dtype *out, PyObject **descr);

#endif
