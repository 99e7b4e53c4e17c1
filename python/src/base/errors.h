/* Exceptions: the package's own, what the library's statuses become, and an exception set aside during a callback. */
#ifndef BIP_ERRORS_H
#define BIP_ERRORS_H

#include "extension.h"

/* InvalidArrayError(BufferError, ValueError): a producer's description is wrong, or the array was released. */
extern PyObject *bip_InvalidArrayError;
/* UnsupportedError(BufferError, NotImplementedError): the array cannot be imported or exported in this way. */
extern PyObject *bip_UnsupportedError;
/* DriverError(RuntimeError) with the attribute `vendor`, the driver's own code. */
extern PyObject *bip_DriverError;

/* Creates the exceptions and adds them to the module. */
int bip_errors_init(PyObject *module);

/* Raises the exception of a failed operation (EBOUNDS: IndexError, EDTYPE: TypeError, ...). Returns NULL. */
void *bip_raise(int rc, const struct bi_error *err);
/* The same for an import: an array that is described wrongly is InvalidArrayError. */
void *bip_raise_import(int rc, const struct bi_error *err);
/* The same for an export: an array that the protocol cannot describe is UnsupportedError. */
void *bip_raise_export(int rc, const struct bi_error *err);

/*
 * The exception that is set, if any, while a callback of a producer runs, which may run Python code. bip_put_aside
 * clears it; bip_put_back sets it again, in place of any that was set in between.
 */
struct bip_raised {
	PyObject *exception;
#if PY_VERSION_HEX < 0x030C0000
	PyObject *type, *traceback;
#endif
};
struct bip_raised bip_put_aside(void);
void bip_put_back(struct bip_raised raised);

#endif
