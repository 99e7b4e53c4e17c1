/*
 * Operations: the methods and functions that take arrays, and their shared declarations
 *
 * `stream` is the object that a user gave as a stream. For NULL and None the library chooses the stream (rows 6 and 7
 * of docs/ordering.md); acquire(), hand_back() and join() refuse None. An operation on two arrays takes a stream of the
 * destination's device, or of the source's device if the destination is host memory. The functions that CPython calls
 * have the signatures of its tables. type.c, properties.c, module.c and map.c have their docstrings.
 */
#ifndef BIP_OPERATIONS_OPERATIONS_H
#define BIP_OPERATIONS_OPERATIONS_H

#include "extension.h"

/* Operands ---------------------------------------------------------------------------------------- operands.c */

/* An array that a user gave to an operation. */
struct bip_operand {
	PyObject *object; /* a BufferInterface, owned */
	struct bi_view *view; /* the view of the object, owned */
	int is_temporary; /* 1: imported for this operation only; an operation may set it to 0 */
};

/* Makes an operand of any array. A BufferInterface is used as it is; any other object is imported. */
int bip_operand_take(PyObject *object, struct bip_operand *out);
/*
 * Ends the use of an operand, and releases it. The calling thread waits for the work on a temporary operand in two
 * cases: if it is host memory; and if its producer named no stream and the user named none. Other code could not wait
 * for this work. `rc` is the result of the operation. Returns `rc`, or -1 with an exception if `rc` is 0 and the wait
 * fails.
 */
int bip_operand_finish(struct bip_operand *operand, PyObject *stream, int rc);

/* Scalars ------------------------------------------------------------------------------------------ scalars.c */

/* Returns true if the value is converted to one element of this type, and false if it is imported as an array. */
int bip_is_scalar(PyObject *value, struct bi_dtype dtype);
/* Returns true for an array of another library than NumPy that is a number too, as arrays of JAX and PyTorch are. */
int bip_is_foreign_number(PyObject *value);
/*
 * Converts a Python value, or the element of an array of one element, to an element of the view, item_size bytes.
 * Raises OverflowError for an integer that does not fit, TypeError for most values that are no element, and what NumPy
 * raises if it converts the value.
 */
int bip_scalar_pack(const struct bi_view *view, PyObject *value, void *element);
/* Converts an element of the view to a Python value. */
PyObject *bip_scalar_unpack(const struct bi_view *view, const void *element);

/* Elements ---------------------------------------------------------------------------------------- elements.c */

/* Enqueues a fill: every element becomes the Python value. The caller owns a reference to the view. */
int bip_fill_view(struct bi_view *view, PyObject *value, PyObject *stream);
/* Enqueues a fill with the bytes of an element. */
int bip_fill_element(const struct bi_view *view, const void *element, PyObject *stream);

bip_method bip_fill;
PyObject *bip_item(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Copies -------------------------------------------------------------------------------------------- copies.c */

/* Enqueues the assignment dst[...] = value. `value` is an array or a scalar. `dst` is a BufferInterface. */
int bip_assign(PyObject *dst, PyObject *value, PyObject *stream);

bip_method bip_copy, bip_to, bip_copyto, bip_asarray;

/* New arrays ---------------------------------------------------------------------------------------- create.c */

bip_method bip_empty, bip_zeros, bip_full, bip_empty_like;

/* Order of work -------------------------------------------------------------------------------------- order.c */

PyObject *bip_synchronize(PyObject *self, PyObject *none);
PyObject *bip_acquire(PyObject *self, PyObject *stream);
PyObject *bip_hand_back(PyObject *self, PyObject *stream);
/* The method join(*streams), and the function join(streams, into, device). */
bip_method bip_join, bip_join_streams;
/* _mark() and _is_complete(), which ready() needs. */
PyObject *bip_mark(PyObject *module, PyObject *array);
PyObject *bip_is_complete(PyObject *module, PyObject *mark);

/* Release ------------------------------------------------------------------------------------------ release.c */

PyObject *bip_release(PyObject *self, PyObject *none);
PyObject *bip_enter(PyObject *self, PyObject *none);
PyObject *bip_exit(PyObject *self, PyObject *args);

/* Views ---------------------------------------------------------------------------------------------- views.c */

PyObject *bip_subscript(PyObject *self, PyObject *key);
int bip_ass_subscript(PyObject *self, PyObject *key, PyObject *value);
Py_ssize_t bip_length(PyObject *self);
/*
 * Returns the item that iteration gives at this position: a Python object for an array with one axis, otherwise a view.
 * Python has added the length to a negative index.
 */
PyObject *bip_sequence_item(PyObject *self, Py_ssize_t index);
PyObject *bip_transpose(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *bip_get_T(PyObject *self, void *closure);
PyObject *bip_reshape(PyObject *self, PyObject *const *args, Py_ssize_t count);
bip_method bip_view_as;
PyObject *bip_broadcast_to(PyObject *self, PyObject *shape);

/* map() ------------------------------------------------------------------------------------------------ map.c */

bip_method bip_map;
extern PyTypeObject bip_map_type;

/* Operators ---------------------------------------------------------------------------------------- numbers.c */

extern PyNumberMethods bip_number_methods;
PyObject *bip_complex(PyObject *self, PyObject *none);

/* Functions of _array.py ------------------------------------------------------------------------- in_python.c */

bip_method bip_numpy, bip_tolist, bip_tobytes, bip_deepcopy, bip_reduce, bip_ravel, bip_squeeze, bip_to_device;
bip_method bip_html, bip_ready, bip_ndarray, bip_reversed, bip_format;
PyObject *bip_copy_protocol(PyObject *self, PyObject *none);
PyObject *bip_get_mT(PyObject *self, void *closure);
PyObject *bip_iterate(PyObject *self);
/*
 * The operators of arithmetic, and <, <=, > and >= (numbers.c). Raises TypeError, because this library does not
 * compute. Returns NotImplemented if the other operand is neither a BufferInterface nor a number of Python: its own
 * operator may compute with the array.
 */
PyObject *bip_refuse_arithmetic(PyObject *left, PyObject *right);
/* Getter of methods that this library lacks: raises AttributeError that says how to get the result (numbers.c). */
PyObject *bip_refuse_method(PyObject *self, void *name);
PyObject *bip_compare(PyObject *self, PyObject *other, int operation);
int bip_contains(PyObject *self, PyObject *value);
/* Calls a function of the module buffer_interface._array with the array as the first argument. */
PyObject *bip_call_python(const char *name, PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* shares_memory() ---------------------------------------------------------------------------------- sharing.c */

bip_method bip_shares_memory;

#endif
