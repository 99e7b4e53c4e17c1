/*
 * What the files of operations share: arguments, scalars, operands, copies, new arrays
 *
 * The conventions of extension.h hold. `stream` is what a user gave, NULL or None for none: the work then runs on the
 * home of the memory. The streams of a pair of arrays are those of the destination's device, or of the source's if the
 * destination is host memory.
 */
#ifndef BIP_OPERATIONS_H
#define BIP_OPERATIONS_H

#include "extension.h"

/* Arguments ----------------------------------------------------------------------------------------- arguments.c */

#define BIP_MOST_ARGUMENTS 8

struct bip_signature {
	const char *function;
	int required; /* the first ones; they and `positional` can be given by position or by name */
	int positional;
	const char *names[BIP_MOST_ARGUMENTS + 1]; /* up to NULL */
};

/* Borrowed references into `values`, as many as there are names; NULL for what is not given. */
int bip_arguments(const struct bip_signature *signature, PyObject *const *args, Py_ssize_t count, PyObject *names,
		  PyObject **values);

/*
 * The context that a `device` argument means: a device string, a CUDA ordinal, (platform, ordinal), what devices()
 * lists, another BufferInterface; NULL and None mean "auto". Owned.
 */
int bip_device_context(PyObject *device, struct bi_context **out);

/* bip_shape_from with the name that messages give to the numbers. */
int bip_extents_from(const char *name, PyObject *object, int64_t shape[BI_MAX_NDIM], int *count); /* views.c */

/* Scalars ------------------------------------------------------------------------------------------- scalars.c */

/* Is it one value for an element of this type, and no array? 1, 0 or -1. */
int bip_is_scalar(PyObject *value, struct bi_dtype dtype);
/* The bytes of a value as an element of the view: item_size bytes. */
int bip_scalar_pack(const struct bi_view *view, PyObject *value, void *element);
PyObject *bip_scalar_unpack(const struct bi_view *view, const void *element);

/* Copies -------------------------------------------------------------------------------------------- copies.c */

/* An array that an operation takes from the user. Temporary: imported for this operation alone. */
struct bip_operand {
	PyObject *object; /* owned */
	struct bi_view *view; /* owned */
	int is_temporary;
};

int bip_operand_take(PyObject *object, struct bip_operand *out);
/*
 * Ends the use of an operand. A temporary one belongs to a producer that hears of no stream of ours, so our work on it
 * is waited for: on host memory always, on a device unless the user named a stream. `rc` is that of the operation;
 * returned is that, or what the wait found. (Copies wait for the reading of host memory, temporary or not.)
 */
int bip_operand_finish(struct bip_operand *operand, PyObject *stream, int rc);

/* UnsupportedError if the array has a mask, which the operation would lose. */
int bip_refuse_mask(PyObject *object, const char *operation);

/* A dense array with the type and shape of the layout. */
int bip_new_array(struct bi_context *context, const struct bi_layout *like, struct bi_view **out);
/* dst[...] = value, an array or a scalar. `dst` is a BufferInterface. */
int bip_assign(PyObject *dst, PyObject *value, PyObject *stream);
/* Every element becomes the value, or the bytes of an element. */
int bip_fill_view(struct bi_view *view, PyObject *value, PyObject *stream);
int bip_fill_element(const struct bi_view *view, const void *element, PyObject *stream);

/* Module functions of copies.c. */
PyObject *bip_from_numpy(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_copyto(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_asarray(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* New arrays ---------------------------------------------------------------------------------------- create.c */

PyObject *bip_empty(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_zeros(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_full(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_empty_like(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* devices() ----------------------------------------------------------------------------------------- devices.c */

/* Adds the type Device to the module. Once is enough. */
int bip_devices_ready(PyObject *module);

#endif
