/*
 * What the files of operations share: scalars, operands, copies, new arrays, members of the type
 *
 * The conventions of extension.h hold. `stream` is what a user gave, NULL or None for none: the work then runs on the
 * home of the memory. The streams of a pair of arrays are those of the destination's device, or of the source's if the
 * destination is host memory.
 */
#ifndef BIP_OPERATIONS_OPERATIONS_H
#define BIP_OPERATIONS_OPERATIONS_H

#include "extension.h"

/* Operands -------------------------------------------------------------------------------------------- operands.c */

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
/* Host wait for the work on the view; an error of the operation, `rc`, comes before one of the wait. */
int bip_wait_for(const struct bi_view *view, int rc);

/* Scalars --------------------------------------------------------------------------------------------- scalars.c */

/* Is it one value for an element of this type, and no array? 1, 0 or -1. */
int bip_is_scalar(PyObject *value, struct bi_dtype dtype);
/* The bytes of a value as an element of the view: item_size bytes. */
int bip_scalar_pack(const struct bi_view *view, PyObject *value, void *element);
PyObject *bip_scalar_unpack(const struct bi_view *view, const void *element);

/* Elements -------------------------------------------------------------------------------------------- elements.c */

/* Every element becomes the value, or the bytes of an element. */
int bip_fill_view(struct bi_view *view, PyObject *value, PyObject *stream);
int bip_fill_element(const struct bi_view *view, const void *element, PyObject *stream);
PyObject *bip_fill(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_item(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Copies ---------------------------------------------------------------------------------------------- copies.c */

/* dst[...] = value, an array or a scalar. `dst` is a BufferInterface. */
int bip_assign(PyObject *dst, PyObject *value, PyObject *stream);
PyObject *bip_copy(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_to(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
/* Module functions of copies.c. */
PyObject *bip_from_numpy(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_copyto(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_asarray(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* New arrays ------------------------------------------------------------------------------------------ create.c */

PyObject *bip_empty(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_zeros(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_full(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_empty_like(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* Order of work --------------------------------------------------------------------------------------- order.c */

PyObject *bip_synchronize(PyObject *self, PyObject *none);
PyObject *bip_acquire(PyObject *self, PyObject *stream);
PyObject *bip_hand_back(PyObject *self, PyObject *stream);
/* The method join(*streams), and the function join(streams, into, device). */
PyObject *bip_join(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_join_streams(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* The end of an array --------------------------------------------------------------------------------- release.c */

PyObject *bip_release(PyObject *self, PyObject *none);
PyObject *bip_enter(PyObject *self, PyObject *none);
PyObject *bip_exit(PyObject *self, PyObject *args);

/* Views ----------------------------------------------------------------------------------------------- views.c */

PyObject *bip_subscript(PyObject *self, PyObject *key);
int bip_ass_subscript(PyObject *self, PyObject *key, PyObject *value); /* a[key] = array or scalar */
Py_ssize_t bip_length(PyObject *self);
PyObject *bip_transpose(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *bip_get_T(PyObject *self, void *closure);
PyObject *bip_reshape(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *bip_view_as(PyObject *self, PyObject *dtype);
PyObject *bip_broadcast_to(PyObject *self, PyObject *shape);

/* map() ----------------------------------------------------------------------------------------------- map.c */

PyObject *bip_map(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
extern PyTypeObject bip_map_type;

/* shares_memory() ------------------------------------------------------------------------------------- sharing.c */

PyObject *bip_shares_memory(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);

#endif
