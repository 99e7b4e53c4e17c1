/* The types of pyopencl, and attributes of their objects. pyopencl is not imported. */
#ifndef BIP_PYOPENCL_H
#define BIP_PYOPENCL_H

#include "extension.h"

enum bip_cl_type {
	BIP_CL_ARRAY,
	BIP_CL_MEMORY, /* buffers and images */
	BIP_CL_SVM,
	BIP_CL_QUEUE,
	BIP_CL_EVENT,
	BIP_CL_EVENT_INFO,
	BIP_CL_TYPES
};

/*
 * Returns a type, borrowed. The type is never freed. Returns NULL without an exception if its module has not been
 * imported.
 */
PyTypeObject *bip_cl_type(enum bip_cl_type type);

/* Returns 1 if the object is an instance of the type, 0 if not, -1 with an exception. */
int bip_cl_is_a(PyObject *object, enum bip_cl_type type);

/*
 * Writes the attribute int_ptr of the object to *out. `type` is BIP_CL_MEMORY, BIP_CL_QUEUE or BIP_CL_EVENT; reading is
 * fastest for an object of this type. An object of another type is accepted if it has the attribute. Returns 0, or -1
 * with an exception.
 */
int bip_cl_handle(PyObject *object, enum bip_cl_type type, uintptr_t *out);

/* Returns the attribute command_execution_status of an event. */
PyObject *bip_cl_status(PyObject *event);

#endif
