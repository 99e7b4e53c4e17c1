/* The type Handle. */
#ifndef BIP_HANDLE_H
#define BIP_HANDLE_H

#include "extension.h"

/* The handle of a view as it is told outside: addresses are those of the first element, and only a cl_mem has an
 * offset. */
struct bi_native bip_native(const struct bi_view *view);
/* The same as an object. */
PyObject *bip_handle(const struct bi_view *view);
int bip_handle_ready(PyObject *module);

#endif
