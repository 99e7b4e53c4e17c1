/*
 * The dictionary of an array interface that an object keeps, to export copies of it
 *
 * Each access exports a dictionary of its own, and all of them are equal, except for the stream. An array that is
 * exported a second time keeps a private dictionary, the pattern. To copy it takes a quarter of the time that a new one
 * takes.
 *
 * `is_cuda` is 1 for __cuda_array_interface__, whose pattern has None for the stream, and 0 for __array_interface__.
 * For memory that has both attributes the object keeps the one that was exported twice first.
 */
#ifndef BIP_EXPORT_PATTERN_H
#define BIP_EXPORT_PATTERN_H

#include "extension.h"

/* Returns a copy of the pattern, or NULL without an exception. The caller makes the memory ready. */
PyObject *bip_copy_pattern(PyObject *self, int is_cuda);
/* The same if no work is pending, so that the memory is ready; else NULL. */
PyObject *bip_copy_idle_pattern(PyObject *self, int is_cuda);
/* Keeps a copy of a new dictionary as the pattern if it is the second one. Borrows the dictionary. */
void bip_keep_pattern(PyObject *self, PyObject *dict, int is_cuda);

#endif
