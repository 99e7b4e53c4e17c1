/*
 * The object BufferInterface: its members, references to its view, and its release. type.c adds methods and attributes.
 */
#ifndef BIP_OBJECT_H
#define BIP_OBJECT_H

#include "extension.h"

enum bip_flag {
	/* No stream of the producer is known: the end of a `with` block waits for this library's work on the memory. */
	BIP_WAIT_AT_EXIT = 1,
	BIP_UNORDERED = 2, /* imported with sync=False: the end of a `with` block does not wait */
	/* Read-only only because the import was a DLPack tensor without version, which has no read-only flag. */
	BIP_PRESUMED_READONLY = 4,
	BIP_COPIED = 8 /* imported with copy=True */
};

struct bip_object {
	PyObject_HEAD
		/* Guarded by BIP_LOCK. The pointers are NULL after the array was released. */
		struct bi_view *view;
	struct bi_stream *acquired; /* the stream given to the import, until it is handed back; or NULL */
	PyObject *mask; /* the mask, a BufferInterface, or NULL */
	PyObject *pattern; /* the private dict of an array interface (export/pattern.h), or NULL */
	char was_asked; /* 1: a dictionary of an array interface was exported before */
	char is_cuda; /* 1: `pattern` belongs to __cuda_array_interface__; 0: to __array_interface__ */
	/* Not guarded: only the function that makes the object writes is_ready and flags. */
	char is_ready; /* 1: the attribute `stream` is None, even if the memory is pending (export/native.c) */
	unsigned flags; /* enum bip_flag */
	PyObject *weakrefs; /* the interpreter's list of weak references, which it guards */
};

/* The type cannot be subclassed, so comparing the type of an object is enough. */
extern PyTypeObject bip_type;
#define BIP_CHECK(object) Py_IS_TYPE(object, &bip_type)

/* Returns an object for a view, without mask or flags. Takes ownership of the view, also on failure. */
PyObject *bip_new(struct bi_view *view);
/*
 * Returns an object for a view of the memory of `parent`, with the flags of `parent`. Takes ownership of the view, also
 * on failure.
 */
PyObject *bip_derive(const struct bip_object *parent, struct bi_view *view);

/* Returns the view, borrowed. Returns NULL with InvalidArrayError if the array was released. */
struct bi_view *bip_view_locked(PyObject *self);
/* Returns an owned reference to the view. Returns NULL with InvalidArrayError if the array was released. */
struct bi_view *bip_hold(PyObject *self);

/*
 * Blocks the calling thread until the work on the memory is complete. Drops the GIL meanwhile. `rc` is 0, or -1 with an
 * exception set. Returns -1 with an exception set if `rc` is -1 or the wait fails, else 0.
 */
int bip_wait_for(const struct bi_view *view, int rc);
/* Blocks the calling thread until no work is pending on the memory. Drops the GIL meanwhile. */
int bip_wait(PyObject *self);
/*
 * Returns a new reference to the mask. Returns NULL without an exception if there is no mask or the array was released.
 */
PyObject *bip_mask(PyObject *self);

/* Returns true if the array was released. */
int bip_is_released(PyObject *self);
/* Raises InvalidArrayError if the array was released. */
int bip_refuse_released(PyObject *self);
/*
 * Returns 1 if the array has a mask, else 0. Returns -1 with InvalidArrayError if the array was released, because its
 * mask was released too. Then it is not known whether a view that the caller holds is that of a masked array.
 */
int bip_has_mask(PyObject *self);
/*
 * Raises UnsupportedError if the array has a mask, because the operation would ignore the mask. Raises
 * InvalidArrayError if the array was released.
 */
int bip_refuse_mask(PyObject *object, const char *operation);

/*
 * Hands the acquired streams of the object and of its mask back, and releases the members of the object. A second call
 * does nothing. With `waits`, the calling thread waits for pending work on the memory before the release. If a stream
 * cannot be handed back, the calling thread waits for the work of that stream instead, also without `waits`. Drops the
 * GIL meanwhile. Returns BI_OK, or the status of the first failure. `err` may be NULL.
 */
int bip_release_object(struct bip_object *self, int waits, struct bi_error *err);

#endif
