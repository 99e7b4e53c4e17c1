/* The choice of the protocol by which an object is imported. */
#ifndef BIP_IMPORT_ORDER_H
#define BIP_IMPORT_ORDER_H

#include "extension.h"
#include "import/import.h"

/*
 * Reads the argument `protocol`. *out is the protocol of that name, or NULL for None. Raises ValueError if no protocol
 * has that name.
 */
int bip_read_protocol(PyObject *value, const struct bip_protocol **out);

/*
 * Imports an object by request->protocol, or by the first protocol that imports it. Raises TypeError if there is none,
 * and for a type. The members of *found must be NULL or 0 before the call.
 */
int bip_find_array(PyObject *object, const struct bip_request *request, struct bip_found *found);

#endif
