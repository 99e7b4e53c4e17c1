/* Converts element types between Python and the library. */
#ifndef BIP_DTYPE_H
#define BIP_DTYPE_H

#include "extension.h"

/*
 * Reads an element type: a numpy.dtype, a class that numpy.dtype accepts, a typestr, a name of the library, a type of
 * ml_dtypes, or a descr list. Raises UnsupportedTypeError for any other object, InvalidArrayError for a wrong descr.
 * For a structured type *descr is a new str with the fields. For a simple type, and on failure, *descr is NULL.
 */
int bip_dtype_from_with_descr(PyObject *object, struct bi_dtype *out, PyObject **descr);
/*
 * Reads an element type that a user gives as an argument. Accepts every object that bip_dtype_from_with_descr accepts,
 * and every object except None from which numpy.dtype() makes a type that the library has. Imports NumPy for an object
 * that bip_dtype_from_with_descr refuses.
 */
int bip_dtype_argument(PyObject *object, struct bi_dtype *out, PyObject **descr);
/* Reads an element type like bip_dtype_from_with_descr, but drops the fields: a structured type becomes void. */
int bip_dtype_from(PyObject *object, struct bi_dtype *out);

/* Returns true for types derived from numpy.generic. */
int bip_is_numpy_scalar(const PyTypeObject *type);

/* Returns the numpy.dtype of a view. Imports NumPy. Imports ml_dtypes for a type that NumPy does not have. */
PyObject *bip_dtype_numpy(const struct bi_view *view);
/* Returns the typestr as a str ("<f4"). For a type without a typestr, returns its name ("bfloat16"). */
PyObject *bip_dtype_text(struct bi_dtype dtype);
/* Returns the descr of a structured view as a list, or NULL without an exception for a simple type. */
PyObject *bip_dtype_descr(const struct bi_view *view);
/*
 * Returns a descr list as the text that the library reads: "[('x', '<f4'), ...]". Raises TypeError for another object,
 * InvalidArrayError for a wrong descr.
 */
PyObject *bip_descr_text(PyObject *list);

#endif
