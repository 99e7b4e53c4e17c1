/* The type Handle, the type of the attribute `buffer` of an array. */
#ifndef BIP_HANDLE_H
#define BIP_HANDLE_H

#include "extension.h"

/*
 * Returns the handle of a view as Python code sees it: a cl_mem and the offset of the first element in bytes, or the
 * address of the first element and offset 0.
 */
struct bi_native bip_native(const struct bi_view *view);
/*
 * Marks the memory as exported if work is pending on it, and drops the GIL meanwhile. The first function of the library
 * that gives out the handle marks the memory too, and waits for the lock of the memory. The thread that has this lock
 * may need the GIL. A caller that has the GIL therefore calls bip_mark_exported before such a function.
 */
void bip_mark_exported(const struct bi_view *view);
/* Returns the handle of bip_native as an object of type Handle, which keeps the memory. */
PyObject *bip_handle(const struct bi_view *view);
/* Adds the type to the module. */
int bip_handle_ready(PyObject *module);

#endif
