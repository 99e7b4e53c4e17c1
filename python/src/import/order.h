/* Imports by protocol: the list of protocols, and the order in which they are tried. */
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
 * Imports an object by request->protocol, or by the first protocol that the object supports. Returns 0, or -1 with an
 * exception. The exception is TypeError if the object supports no protocol. The members of *found must be NULL or 0
 * before the call.
 */
int bip_find_array(PyObject *object, const struct bip_request *request, struct bip_found *found);

#endif
