/* Element types. */
#ifndef BIP_DTYPE_H
#define BIP_DTYPE_H

#include "extension.h"

/* From what a user gives: numpy.dtype, its type objects, a typestr or a name, a one of ml_dtypes. TypeError. */
int bip_dtype_from(PyObject *object, struct bi_dtype *out);
/*
 * Of a structured type: its descr text, else NULL. `descr` receives a new str that owns the text, or NULL for simple
 * types.
 */
int bip_dtype_from_with_descr(PyObject *object, struct bi_dtype *out, PyObject **descr);
/* numpy.dtype of a view; imports NumPy, and ml_dtypes where only that has the type. */
PyObject *bip_dtype_numpy(const struct bi_view *view);
/* typestr as str: "<f4"; types that have none: their name ("bfloat16"). */
PyObject *bip_dtype_text(struct bi_dtype dtype);
/* The descr of a structured view as a Python list; NULL without exception if it is simple. */
PyObject *bip_dtype_descr(const struct bi_view *view);
/* A descr list as the text that the library reads ("[('x', '<f4'), ...]"), a new str. */
PyObject *bip_descr_text(PyObject *list);

#endif
