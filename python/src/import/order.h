/* The protocols, and the order in which they are tried. */
#ifndef BIP_IMPORT_ORDER_H
#define BIP_IMPORT_ORDER_H

#include "extension.h"
#include "import/import.h"

/*
 * Reads the argument `protocol`: *out is the protocol of that name, or NULL for None. ValueError if there is none of
 * that name.
 */
int bip_read_protocol(PyObject *value, const struct bip_protocol **out);

/*
 * Imports an object by request->protocol, or by the first protocol that it speaks. Returns 0, or -1 with an exception:
 * TypeError if it speaks none. `found` is to be empty.
 */
int bip_find_array(PyObject *object, const struct bip_request *request, struct bip_found *found);

#endif
