/* The type BufferInterface, complete. */
#ifndef BIP_TYPE_H
#define BIP_TYPE_H

#include "extension.h"

/* Adds the methods, attributes and capsules to the type of object.c, and the type to the module. Called once. */
int bip_type_ready(PyObject *module);

#endif
