/* The types of pyopencl, which is not imported. */
#ifndef BIP_PYOPENCL_H
#define BIP_PYOPENCL_H

#include "extension.h"

enum bip_cl_type {
	BIP_CL_ARRAY,
	BIP_CL_MEMORY, /* buffers and images */
	BIP_CL_SVM,
	BIP_CL_QUEUE,
	BIP_CL_TYPES
};

/*
 * Returns a type, borrowed. The type is never freed. Returns NULL without an exception if its module has not been
 * imported.
 */
PyTypeObject *bip_cl_type(enum bip_cl_type type);

/* Returns 1 if the object is an instance of the type, 0 if not, -1 with an exception. */
int bip_cl_is_a(PyObject *object, enum bip_cl_type type);

#endif
