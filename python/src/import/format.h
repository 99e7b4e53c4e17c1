/* Reads formats of the buffer protocol (PEP 3118). */
#ifndef BIP_IMPORT_FORMAT_H
#define BIP_IMPORT_FORMAT_H

#include "extension.h"

/*
 * Reads a format as the struct module and NumPy write it: one simple type ("f", "<i") or a structure ("T{...}"). NULL
 * means "B". For a structure *descr is a new str with the fields, otherwise NULL. Raises InvalidArrayError for other
 * formats, and if the size differs from `itemsize` (bytes).
 */
int bip_format_read(const char *format, Py_ssize_t itemsize, struct bi_dtype *out, PyObject **descr);

#endif
