/*
 * Reads numbers, texts and layouts from Python objects, and makes views of the memory that they describe
 *
 * `key` is the name of the value in messages ("shape"). `rule` is the end of a message (" [C11]") or "". An object of
 * the wrong type raises TypeError. A value that no array can have raises InvalidArrayError.
 */
#ifndef BIP_IMPORT_VALUES_H
#define BIP_IMPORT_VALUES_H

#include "extension.h"
#include "import/import.h"

/* Reads an int or an object with __index__. */
int bip_number(PyObject *object, const char *key, const char *rule, int64_t *out);

/* Reads an address or a handle, 0 to 2^64-1: an int or an object with __index__. */
int bip_address(PyObject *object, const char *key, const char *rule, uint64_t *out);

/* Reads a tuple of at most BI_MAX_NDIM numbers. */
int bip_numbers(PyObject *object, const char *key, const char *rule, int64_t out[BI_MAX_NDIM], int *count);

/* Reads a tuple of `ndim` strides in bytes. */
int bip_strides(PyObject *object, int ndim, const char *rule, int64_t out[BI_MAX_NDIM]);

/* Reads a str without NUL characters. *out is borrowed from the object. */
int bip_text(PyObject *object, const char *key, const char *rule, const char **out);

/* Reads the tuple `data`: an address (None means 0) and a read-only flag. */
int bip_data_pair(PyObject *pair, const char *rule, uint64_t *address, int *readonly);

/*
 * Reads a descr list that stands beside a typestr. For a typestr of void, *text is a new str with the fields. *text is
 * NULL if the list only repeats the typestr, as NumPy writes it for simple types. Any other list beside a typestr that
 * is not void is ignored with a RuntimeWarning, and *text is NULL.
 */
int bip_descr_for(PyObject *list, const char *typestr, const char *rule, PyObject **text);

/*
 * Makes a layout with offset 0. Strides are in bytes; NULL means C order. The layout borrows the text of `descr`, which
 * is a str or NULL.
 */
int bip_layout(struct bi_layout *layout, struct bi_dtype dtype, PyObject *descr, int ndim, const int64_t *shape,
	       const int64_t *strides);

/*
 * Sets the descr of a layout, which borrows the text. The caller fills in the other members. The library checks the
 * layout when a view is made of it.
 */
int bip_set_descr(struct bi_layout *layout, PyObject *descr);

/*
 * Makes a view of foreign memory. `address` is the address of element [0, ..., 0]. foreign->handle, foreign->nbytes and
 * layout->offset are computed from the address and the layout, and overwritten. For a cl_mem, which has no address,
 * these members are used as they are. foreign->release and release_data are overwritten too. On success the memory
 * keeps a new reference to `owner` until the memory is released.
 */
int bip_wrap(struct bi_context *context, struct bi_foreign *foreign, uint64_t address, struct bi_layout *layout,
	     PyObject *owner, struct bi_view **out);

/* Makes a view of host memory as bip_wrap does. */
int bip_wrap_host(uint64_t address, int readonly, struct bi_layout *layout, PyObject *owner, struct bi_view **out);

/* Makes a view of the memory of a buffer that bip_borrow_buffer returned. Takes ownership of the buffer on success. */
int bip_wrap_buffer(Py_buffer *buffer, struct bi_layout *layout, struct bi_view **out);

/*
 * ndarray.c: imports an object of type numpy.ndarray itself whose elements are numbers in the byte order of the
 * machine. Returns 1, or -1 with an exception. Returns 0 for any other object, and if the members of numpy.ndarray are
 * not at the expected places.
 */
int bip_import_ndarray(PyObject *object, struct bip_found *found);

#endif
