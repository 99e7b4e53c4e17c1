/* The attributes of an array. */
#ifndef BIP_PROPERTIES_H
#define BIP_PROPERTIES_H

#include "extension.h"

extern PyGetSetDef bip_properties[];
/*
 * Returns a line that describes the array, and the elements if the array has no mask and NumPy can print them. Waits
 * for pending work, as CuPy and pyopencl do.
 */
PyObject *bip_repr(PyObject *self);

#endif
