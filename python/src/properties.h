/* The attributes of an array. */
#ifndef BIP_PROPERTIES_H
#define BIP_PROPERTIES_H

#include "extension.h"

extern PyGetSetDef bip_properties[];
/* Returns one line of text that describes the array. Does not read elements. */
PyObject *bip_repr(PyObject *self);
/* Returns the number of elements. It cannot overflow, because the library has checked the shape. */
int64_t bip_view_size(const struct bi_view *view);

#endif
