/*
 * The private dictionary of an array interface, of which copies are exported
 *
 * Each access to the attribute returns a new dictionary. All of them are equal, except for the stream. So an array
 * whose dictionary is exported a second time keeps a private dictionary, the pattern. Copying the pattern takes a
 * quarter of the time of making a dictionary.
 *
 * `is_cuda` is 1 for __cuda_array_interface__, whose pattern has None for the stream, and 0 for __array_interface__. An
 * object has one pattern: if its memory has both attributes, it belongs to the attribute that was exported twice first.
 */
#ifndef BIP_EXPORT_PATTERN_H
#define BIP_EXPORT_PATTERN_H

#include "extension.h"

/*
 * Returns a copy of the pattern, or NULL without an exception if there is no pattern. The caller makes the memory
 * ready.
 */
PyObject *bip_copy_pattern(PyObject *self, int is_cuda);
/*
 * Returns a copy of the pattern if no work is pending, so that the memory is ready. Otherwise returns NULL without an
 * exception.
 */
PyObject *bip_copy_idle_pattern(PyObject *self, int is_cuda);
/*
 * Called with each new dictionary, borrowed. Keeps a copy as the pattern if it is not the first dictionary of the
 * object.
 */
void bip_keep_pattern(PyObject *self, PyObject *dict, int is_cuda);

#endif
