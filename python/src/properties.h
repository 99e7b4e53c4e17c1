/* The attributes of an array. */
#ifndef BIP_PROPERTIES_H
#define BIP_PROPERTIES_H

#include "extension.h"

extern PyGetSetDef bip_properties[];
PyObject *bip_repr(PyObject *self);

#endif
