/* Shapes and strides as Python writes them. */
#ifndef BIP_SHAPES_H
#define BIP_SHAPES_H

#include "extension.h"

/* An int or a sequence of them. *count <= BI_MAX_NDIM. */
int bip_shape_from(PyObject *object, int64_t shape[BI_MAX_NDIM], int *count);
PyObject *bip_tuple(const int64_t *numbers, int count);
/* The same from `count` ints. */
int bip_extents(const char *name, PyObject *const *args, Py_ssize_t count, int64_t shape[BI_MAX_NDIM], int *ndim);
/* bip_shape_from with the name that messages give to the numbers. */
int bip_extents_from(const char *name, PyObject *object, int64_t shape[BI_MAX_NDIM], int *count);

#endif
