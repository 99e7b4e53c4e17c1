/* Shapes, strides and indices as Python writes them. */
#ifndef BIP_SHAPES_H
#define BIP_SHAPES_H

#include "extension.h"

/* Returns a tuple of `count` ints. */
PyObject *bip_tuple(const int64_t *numbers, int count);

/*
 * Reads `count` objects, each an int or an object with __index__, into `numbers`. `name` names them in messages.
 * TypeError for other types, ValueError for more than BI_MAX_NDIM, OverflowError for what exceeds 64 bits.
 */
int bip_read_numbers(const char *name, PyObject *const *objects, Py_ssize_t count, int64_t numbers[BI_MAX_NDIM],
		     int *ndim);
/* The same from one object: an int, or a sequence of them. */
int bip_read_sequence(const char *name, PyObject *object, int64_t numbers[BI_MAX_NDIM], int *ndim);
/* The same for a shape. */
int bip_read_shape(PyObject *object, int64_t shape[BI_MAX_NDIM], int *ndim);

#endif
