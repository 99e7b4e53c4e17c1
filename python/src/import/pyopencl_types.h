/* The types of pyopencl, and what their objects say of themselves, read without importing it. */
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

/* Borrowed, for ever. NULL without an exception while its module is not imported, or not as far as the type. */
PyTypeObject *bip_cl_type(enum bip_cl_type type);

/* 1, 0, or -1 with an exception. */
int bip_cl_is_a(PyObject *object, enum bip_cl_type type);

/* int_ptr of what mostly is a BIP_CL_MEMORY, BIP_CL_QUEUE or BIP_CL_EVENT, but may be any object. 0, or -1 with an
 * exception. */
int bip_cl_handle(PyObject *object, enum bip_cl_type type, uintptr_t *out);

/* command_execution_status. A new reference. */
PyObject *bip_cl_status(PyObject *event);

#endif
