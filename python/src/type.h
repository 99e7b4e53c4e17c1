/* The type BufferInterface, complete. */
#ifndef BIP_TYPE_H
#define BIP_TYPE_H

#include "extension.h"

/* Adds the static members of the type that are objects (capsules), and readies it. Once. */
int bip_type_ready(PyObject *module);

#endif
