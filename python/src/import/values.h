/*
 * What the importers of host memory, CAI dictionaries and draft objects have in common: numbers, texts and layouts out
 * of Python objects.
 *
 * `key` names the value in messages ("shape"), `rule` is the end of the message (" [C11]") or "". Wrong kinds of
 * objects are TypeError, values that cannot be are InvalidArrayError.
 */
#ifndef BIP_IMPORT_VALUES_H
#define BIP_IMPORT_VALUES_H

#include "extension.h"
#include "import/import.h"

/* An int, or what has __index__. */
int bip_number(PyObject *object, const char *key, const char *rule, int64_t *out);

/* The same for addresses and handles: 0..2^64-1. */
int bip_address(PyObject *object, const char *key, const char *rule, uint64_t *out);

/* A tuple of numbers, at most BI_MAX_NDIM. */
int bip_numbers(PyObject *object, const char *key, const char *rule, int64_t out[BI_MAX_NDIM], int *count);

/* A tuple of `ndim` numbers. */
int bip_strides(PyObject *object, int ndim, const char *rule, int64_t out[BI_MAX_NDIM]);

/* A str without NUL; borrowed from the object. */
int bip_text(PyObject *object, const char *key, const char *rule, const char **out);

/*
 * The two entries of a `data` tuple. None as an address is 0. Objects that are no tuple of two are refused.
 */
int bip_data_pair(PyObject *pair, const char *rule, uint64_t *address, int *readonly);

/*
 * The text of a descr list, or NULL in *text where it says nothing: the one field without a name that NumPy writes for
 * simple types. On a simple type any other descr is passed over with a RuntimeWarning.
 */
int bip_descr_for(PyObject *list, const char *typestr, const char *rule, PyObject **text);

/* Layout of a type, with its descr (a str, or NULL) lent by the caller. `strides` NULL: C order. */
int bip_layout(struct bi_layout *layout, struct bi_dtype dtype, PyObject *descr, int ndim, const int64_t *shape,
	       const int64_t *strides);

/* The descr of a layout that is filled in by hand, which whatever makes a view of it checks. */
int bip_lend_descr(struct bi_layout *layout, PyObject *descr);

/*
 * A view of memory that somebody else made. `foreign` says what it is; handle and nbytes are filled in here from the
 * address of element [0, ..., 0] and the bytes that the layout reaches, and the layout's offset with them (cl_mem:
 * handle and offset are left as they are). The layout may have been filled in by hand. `owner` is kept alive until the
 * memory is let go; the reference is not taken.
 */
int bip_wrap(struct bi_context *context, struct bi_foreign *foreign, uint64_t address, struct bi_layout *layout,
	     PyObject *owner, struct bi_view **out);

/* The same for host memory. */
int bip_wrap_host(uint64_t address, int readonly, struct bi_layout *layout, PyObject *owner, struct bi_view **out);

/* The same for a buffer of bip_borrow_buffer. Takes ownership of the buffer on success. */
int bip_wrap_buffer(Py_buffer *buffer, struct bi_layout *layout, struct bi_view **out);

/* PyArrayInterface of NumPy's documentation: what the capsule of __array_struct__ points to. */
struct bip_array_struct {
	int two;
	int nd;
	char typekind;
	int itemsize;
	int flags;
	Py_ssize_t *shape;
	Py_ssize_t *strides;
	void *data;
	PyObject *descr;
};

/* import_ndarray.c: plain arrays of numbers of NumPy. An importer: 1, 0 (another object, or another type), -1. */
int bip_import_ndarray(PyObject *object, struct bip_found *found);

/* import_host.c: a memoryview, by the buffer protocol. 1 or -1. */
int bip_import_memoryview(PyObject *object, struct bip_found *found);

#endif
