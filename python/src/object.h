/* The object BufferInterface: its members, references to its view, its end. type.c adds methods and attributes. */
#ifndef BIP_OBJECT_H
#define BIP_OBJECT_H

#include "extension.h"

enum bip_flag {
	/* Memory whose producer named no stream: the end of a `with` block waits for our work on it. */
	BIP_WAIT_AT_EXIT = 1,
	BIP_UNORDERED = 2 /* sync=False: no stream is acquired or handed back */
};

struct bip_object {
	PyObject_HEAD
		/* Guarded by BIP_LOCK. All of them are NULL once the array is released. */
		struct bi_view *view;
	struct bi_stream *acquired; /* the import's argument `stream` until it is handed back; or NULL */
	PyObject *mask; /* a BufferInterface, or NULL */
	PyObject *pattern; /* a dict to copy (export/pattern.h), or NULL */
	char was_asked; /* 1: a dictionary was exported that could be kept as a pattern */
	char is_cuda; /* 1: the pattern is one of __cuda_array_interface__ */
	/* Constant. */
	unsigned flags; /* enum bip_flag */
	PyObject *weakrefs; /* the interpreter's */
};

/* Final, so that an exact comparison is enough. */
extern PyTypeObject bip_type;
#define BIP_CHECK(object) Py_IS_TYPE(object, &bip_type)

/* Returns an object for a view, without mask and flags. Takes ownership of the view, also on failure. */
PyObject *bip_new(struct bi_view *view);
/* The same with the flags of `parent`, for a view of the same memory. */
PyObject *bip_derive(const struct bip_object *parent, struct bi_view *view);

/* Returns the view, borrowed. NULL with InvalidArrayError if the array was released. */
struct bi_view *bip_view_locked(PyObject *self);
/* Returns an owned reference to the view. NULL with InvalidArrayError if the array was released. */
struct bi_view *bip_hold(PyObject *self);
/* Returns a new reference to the mask. NULL without an exception if there is none, or the array was released. */
PyObject *bip_mask(PyObject *self);

/* Raises InvalidArrayError if the array was released. */
int bip_refuse_released(PyObject *self);
/* Raises UnsupportedError if the array has a mask, which the operation would ignore. */
int bip_refuse_mask(PyObject *object, const char *operation);

/*
 * Releases everything that the object has, once. An acquired stream is handed back before. With `waits` the calling
 * thread waits first for the work that is pending on the memory. Drops the GIL meanwhile. Returns the status of what
 * failed first.
 */
int bip_release_object(struct bip_object *self, int waits, struct bi_error *err);

#endif
