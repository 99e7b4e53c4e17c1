/*
 * The private dictionary of an array interface, of which copies are exported
 *
 * Each access to the attribute returns a new dictionary. All of them are equal, except for the stream. An array whose
 * dictionary is exported a second time keeps a private dictionary, the pattern, because copying the pattern is faster
 * than making a dictionary.
 *
 * `is_cuda` is 1 for __cuda_array_interface__, whose pattern has None for the stream, and 0 for __array_interface__. An
 * object has at most one pattern. If the memory has both attributes, the pattern belongs to the attribute of the second
 * export.
 */
#ifndef BIP_EXPORT_PATTERN_H
#define BIP_EXPORT_PATTERN_H

#include "extension.h"

/*
 * Returns a copy of the pattern. Returns NULL without an exception if there is no pattern for the attribute, or memory
 * is exhausted. The caller makes the memory ready.
 */
PyObject *bip_copy_pattern(PyObject *self, int is_cuda);
/*
 * Returns a copy of the pattern as bip_copy_pattern does, if no work is pending. Then the memory is ready. Otherwise
 * returns NULL without an exception.
 */
PyObject *bip_copy_idle_pattern(PyObject *self, int is_cuda);
/*
 * Called with each new dictionary, borrowed. Keeps a copy as the pattern if the object has no pattern, and the
 * dictionary has no `descr` and is not the first one of the object.
 */
void bip_keep_pattern(PyObject *self, PyObject *dict, int is_cuda);

#endif
