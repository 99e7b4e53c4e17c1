/* The dictionary that an array keeps to give copies of it. */
#ifndef BIP_EXPORT_PATTERN_H
#define BIP_EXPORT_PATTERN_H

#include "extension.h"

/*
 * Each access of an array interface gives a dictionary of its own, and what stands in it is always the same but for the
 * stream. So an array that is asked again keeps a dictionary that nobody else sees, to give copies of it: one with keys
 * and values at once is faster than one that grows. An array that is asked once keeps nothing.
 *
 * `is_cuda`: of __cuda_array_interface__, with None for the stream; else of __array_interface__. Memory that has both
 * keeps the one that was asked for twice first.
 */

/* A new dictionary; or NULL without an exception: nothing is kept. The caller has seen to the order of work. */
PyObject *bip_copy_pattern(PyObject *self, int is_cuda);

/* The same if nothing is pending, so that there is nothing to see to; else NULL. */
PyObject *bip_copy_idle_pattern(PyObject *self, int is_cuda);

/* A dictionary that was just made, and is about to be given away. It is not taken. */
void bip_keep_pattern(PyObject *self, PyObject *dict, int is_cuda);

#endif
