/* Exceptions. */
#ifndef BIP_ERRORS_H
#define BIP_ERRORS_H

#include "extension.h"

/* BufferError and ValueError: what an import refuses, and what is asked of a released array. */
extern PyObject *bip_InvalidArrayError;
/* BufferError and NotImplementedError: an export that cannot be, a masked array. */
extern PyObject *bip_UnsupportedError;
/* RuntimeError, with `vendor`: the driver's own code. */
extern PyObject *bip_DriverError;

int bip_errors_init(PyObject *module);

/* Raises what `rc` stands for, for operations (EBOUNDS: IndexError, EDTYPE: TypeError, ...). Returns NULL. */
void *bip_raise(int rc, const struct bi_error *err);
/* The same for imports and exports: what is wrong with the array is InvalidArrayError or UnsupportedError. */
void *bip_raise_import(int rc, const struct bi_error *err);
void *bip_raise_export(int rc, const struct bi_error *err);

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
