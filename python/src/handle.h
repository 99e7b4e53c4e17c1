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
 * Marks the memory as exported. Called before a function of the library that gives out the handle: that function waits
 * for the lock of the memory, and the thread that has the lock may need the GIL. Drops the GIL if work is pending.
 */
void bip_mark_exported(const struct bi_view *view);
/* Returns the handle of bip_native as an object of type Handle, which keeps the memory. */
PyObject *bip_handle(const struct bi_view *view);
/* Adds the type to the module. */
int bip_handle_ready(PyObject *module);

#endif
