/* The types of pyopencl. These functions do not import pyopencl. */
#ifndef BIP_PYOPENCL_H
#define BIP_PYOPENCL_H

#include "extension.h"

enum bip_cl_type {
	BIP_CL_ARRAY,
	BIP_CL_MEMORY, /* all memory objects: buffers, images, pipes */
	BIP_CL_SVM,
	BIP_CL_QUEUE,
	BIP_CL_TYPES
};

/*
 * Returns a type, borrowed. The type is never freed. Returns NULL without an exception if the module has not been
 * imported or does not have the type.
 */
PyTypeObject *bip_cl_type(enum bip_cl_type type);

/* Returns 1 if the object is an instance of the type, 0 if not, -1 with an exception. */
int bip_cl_is_a(PyObject *object, enum bip_cl_type type);

#endif
