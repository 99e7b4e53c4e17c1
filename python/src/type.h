/* The type BufferInterface with its methods and attributes. */
#ifndef BIP_TYPE_H
#define BIP_TYPE_H

#include "extension.h"

/* A function and its flags in the tables of methods of the type and of the module. */
#define FAST(function) ((PyCFunction)(void (*)(void))(function))
#define FAST_WORDS (METH_FASTCALL | METH_KEYWORDS)

/*
 * Adds methods, attributes and capsules to the type that object.c defines. Adds the type to the module. Must be called
 * once.
 */
int bip_type_ready(PyObject *module);

#endif
