/* What importers need that take structs of other producers: what is on a type, and letting go while an error is set. */
#ifndef BIP_PRODUCER_H
#define BIP_PRODUCER_H

#include "extension.h"

/* A new reference, or NULL without an exception. Descriptors are not called. */
PyObject *bip_type_attribute(PyTypeObject *type, PyObject *name);

/* The exception that is set, put aside while a producer's function runs, which may be Python. */
struct bip_raised {
	PyObject *exception;
#if PY_VERSION_HEX < 0x030C0000
	PyObject *type, *traceback;
#endif
};
struct bip_raised bip_put_aside(void);
void bip_put_back(struct bip_raised raised);

#endif
