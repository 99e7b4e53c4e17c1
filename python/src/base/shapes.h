/* Converts shapes, strides and indices from and to Python objects. */
#ifndef BIP_SHAPES_H
#define BIP_SHAPES_H

#include "extension.h"

/* Returns a tuple of `count` ints, at most BI_MAX_NDIM. */
PyObject *bip_tuple(const int64_t *numbers, int count);

/*
 * Returns 1 for an object with __index__, such as an int, 0 for any other object, -1 with an exception. An array with
 * axes is no number: its type has __index__, but the method raises TypeError.
 */
int bip_is_number(PyObject *object);

/*
 * Reads `count` objects into `numbers`. Each is an int or an object with __index__. `name` is the name of the value in
 * messages. Raises TypeError for other types, ValueError for more than BI_MAX_NDIM objects, OverflowError for a number
 * that does not fit into 64 bits.
 */
int bip_read_numbers(const char *name, PyObject *const *objects, Py_ssize_t count, int64_t numbers[BI_MAX_NDIM],
		     int *ndim);
/*
 * Returns an iterable as a tuple. Refuses a str and bytes, because they are most likely an element type in the wrong
 * place, and a set, because it has no order: TypeError.
 */
PyObject *bip_tuple_of_numbers(const char *name, PyObject *object);
/* Reads numbers as bip_read_numbers does, from one object: an int, or an iterable as bip_tuple_of_numbers takes it. */
int bip_read_sequence(const char *name, PyObject *object, int64_t numbers[BI_MAX_NDIM], int *ndim);

#endif
