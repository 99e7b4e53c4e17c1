/* The type Handle, the type of the attribute `buffer` of an array. */
#ifndef BIP_HANDLE_H
#define BIP_HANDLE_H

#include "extension.h"

/*
 * Returns the handle of a view as Python code sees it: a cl_mem and the offset of the first element in bytes, or the
 * address of the first element and offset 0.
 */
struct bi_native bip_native(const struct bi_view *view);
/* Returns the handle of bip_native as an object of type Handle, which keeps the memory. */
PyObject *bip_handle(const struct bi_view *view);
/* Adds the type to the module. */
int bip_handle_ready(PyObject *module);

#endif
