/* The type Handle: what the attribute `buffer` of an array returns. */
#ifndef BIP_HANDLE_H
#define BIP_HANDLE_H

#include "extension.h"

/*
 * Returns the handle of a view as Python shows it: a cl_mem with the offset of the first element in bytes, or the
 * address of the first element with offset 0.
 */
struct bi_native bip_native(const struct bi_view *view);
/* Returns that as an object of type Handle, which keeps the memory. */
PyObject *bip_handle(const struct bi_view *view);
/* Adds the type to the module. */
int bip_handle_ready(PyObject *module);

#endif
