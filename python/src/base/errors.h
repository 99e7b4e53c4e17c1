/*
 * Exceptions: the classes of the package, the conversion of statuses, and the protection of the current exception
 * during a callback.
 */
#ifndef BIP_ERRORS_H
#define BIP_ERRORS_H

#include "extension.h"

/* InvalidArrayError(BufferError, ValueError): a producer's description is wrong, or the array was released. */
extern PyObject *bip_InvalidArrayError;
/* UnsupportedError(BufferError, NotImplementedError): the array cannot be imported or exported in this way. */
extern PyObject *bip_UnsupportedError;
/*
 * UnsupportedTypeError(InvalidArrayError, UnsupportedError, TypeError): the library, or a protocol, does not have the
 * element type. It is one class for arguments, imports and exports.
 */
extern PyObject *bip_UnsupportedTypeError;
/* DriverError(RuntimeError) with the attribute `vendor`, the driver's own code, or 0. */
extern PyObject *bip_DriverError;

/* Creates the exceptions and adds them to the module. */
int bip_errors_init(PyObject *module);

/*
 * Raises the exception for the status of a failed operation, such as IndexError for BI_EBOUNDS or TypeError for
 * BI_EDTYPE. Returns NULL.
 */
void *bip_raise(int rc, const struct bi_error *err);
/*
 * Raises the exception for the status of a failed import: InvalidArrayError for an array that is described wrongly,
 * UnsupportedTypeError for BI_EDTYPE, otherwise that of an operation. Returns NULL.
 */
void *bip_raise_import(int rc, const struct bi_error *err);
/*
 * Raises the exception for the status of a failed export: UnsupportedError for BI_EREADONLY, otherwise that of an
 * import. Returns NULL.
 */
void *bip_raise_export(int rc, const struct bi_error *err);
/* Returns 0 for BI_OK. Otherwise raises by one of the functions above, and returns -1. */
int bip_check(int rc, const struct bi_error *err, void *(*raise)(int rc, const struct bi_error *err));

/*
 * Raises the exception with a message as PyErr_Format writes it. Returns -1. A value for %R or %S that may contain an
 * int is passed through bip_printable first. By the macro a compiler sees the result -1. It would otherwise warn about
 * variables that only a success sets.
 */
int bip_refuse(PyObject *exception, const char *format, ...);
/* Returns -1. A constant in its place would be reported as an unused value where nothing uses the result. */
static inline int bip_minus_one(void)
{
	return -1;
}
#define bip_refuse(...) (bip_refuse(__VA_ARGS__), bip_minus_one())
#if SIZE_MAX > UINT32_MAX
#define BIP_HANDLES "0..2**64-1"
#else
#define BIP_HANDLES "0..2**32-1"
#endif
/*
 * Replaces an OverflowError by the exception, whose message has the value and the range: "name is value, not in range".
 * Replaces the TypeError of a value without __index__ by one that has the name. Keeps any other exception. Returns -1.
 */
int bip_refuse_range(PyObject *exception, const char *name, PyObject *value, const char *range);
/* Converts a number that names a handle. Raises InvalidArrayError if it does not fit into a pointer. */
int bip_as_handle(const char *name, uint64_t value, uintptr_t *out);
/*
 * Returns the value for a message, or a text in its place if its repr() raises ValueError. Python refuses to print an
 * int of more than 4300 digits, and that error would replace the error about the value. The reference is borrowed.
 * Clears the current exception.
 */
PyObject *bip_printable(PyObject *value);
/*
 * Clears the current exception, if any, and returns 0. Returns -1 and keeps an exception that is no instance of
 * Exception, such as KeyboardInterrupt.
 */
int bip_clear_error(void);
/* Raises MemoryError. Returns -1. */
int bip_no_memory(void);

/*
 * Protect the current exception, if any, during a call that may run Python code, such as a producer's callback.
 * bip_put_aside clears the exception and returns it. bip_put_back sets it again, and drops an exception that was set in
 * between.
 */
struct bip_raised {
	PyObject *exception;
#if PY_VERSION_HEX < 0x030C0000
	PyObject *type, *traceback;
#endif
};
struct bip_raised bip_put_aside(void);
void bip_put_back(struct bip_raised raised);
/* Returns 1 if the current exception, a DriverError, has a code of the driver. */
int bip_has_vendor(void);
/* Clears the current exception and returns its text. */
PyObject *bip_take_message(void);
/* Drops an exception that was put aside. */
void bip_drop_raised(struct bip_raised *raised);

#endif
