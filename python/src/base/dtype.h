/* Element types between Python and the library. */
#ifndef BIP_DTYPE_H
#define BIP_DTYPE_H

#include "extension.h"

/*
 * Reads an element type: a numpy.dtype, a type that numpy.dtype accepts, a typestr or a name of the library, a type of
 * ml_dtypes, a descr list. TypeError for what is none. *descr is a new str that holds the fields of a structured type,
 * or NULL for a simple type.
 */
int bip_dtype_from_with_descr(PyObject *object, struct bi_dtype *out, PyObject **descr);
/* The same without the fields. */
int bip_dtype_from(PyObject *object, struct bi_dtype *out);

/* Returns the numpy.dtype of a view. Imports NumPy, and ml_dtypes for a type that only that has. */
PyObject *bip_dtype_numpy(const struct bi_view *view);
/* Returns the typestr as a str ("<f4"), or the name of a type that has no typestr ("bfloat16"). */
PyObject *bip_dtype_text(struct bi_dtype dtype);
/* Returns the descr of a structured view as a list, or NULL without an exception for a simple type. */
PyObject *bip_dtype_descr(const struct bi_view *view);
/* Returns a descr list as the text that the library reads: "[('x', '<f4'), ...]". */
PyObject *bip_descr_text(PyObject *list);

#endif
