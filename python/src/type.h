/* The type BufferInterface with its methods and attributes. */
#ifndef BIP_TYPE_H
#define BIP_TYPE_H

#include "extension.h"

/*
 * Adds methods, attributes and capsules to the type that object.c defines. Adds the type to the module. Must be called
 * once.
 */
int bip_type_ready(PyObject *module);

#endif
