/* Reads formats of the buffer protocol (PEP 3118). */
#ifndef BIP_IMPORT_FORMAT_H
#define BIP_IMPORT_FORMAT_H

#include "extension.h"

/* The element type of an integer type of C. */
#define BIP_SIGNED(type) (sizeof(type) == 8 ? BI_INT64 : sizeof(type) == 4 ? BI_INT32 : BI_INT16)
#define BIP_UNSIGNED(type) (sizeof(type) == 8 ? BI_UINT64 : sizeof(type) == 4 ? BI_UINT32 : BI_UINT16)

/*
 * Reads a format: one simple type ("f", "<i"), several lanes of a simple type ("2h"), a structure ("T{...}"), or
 * several types ("hQ"), which are read as a structure. NULL means "B". For a structure *descr is a new str with the
 * fields, otherwise NULL. Raises InvalidArrayError for other formats, and if the size differs from `itemsize` (bytes).
 */
int bip_format_read(const char *format, Py_ssize_t itemsize, struct bi_dtype *out, PyObject **descr);

#endif
