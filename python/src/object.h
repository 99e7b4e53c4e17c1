/* The object BufferInterface. The type's methods and attributes are added by type.c. */
#ifndef BIP_OBJECT_H
#define BIP_OBJECT_H

#include "extension.h"

enum bip_flag {
	/* Foreign memory without a named stream: the end of a `with` block waits for our work on it. */
	BIP_WAIT_AT_EXIT = 1,
	BIP_UNORDERED = 2, /* sync=False: nothing is acquired or handed back */
	BIP_GIVES_BACK = 4 /* the memory's release callback is bip_give_back */
};

/* BufferInterface. Everything but `view`, `acquired`, `mask` and the pattern stays as it was made. */
struct bip_object {
	PyObject_HEAD struct bi_view *view; /* NULL once released */
	struct bi_stream *acquired; /* stream= of the import, until it is handed back; or NULL */
	PyObject *mask; /* another BufferInterface, or NULL; NULL once released */
	PyObject *pattern; /* a dict to copy (export.h), or NULL; NULL once released */
	PyObject *weakrefs;
	unsigned flags; /* enum bip_flag */
	char was_asked; /* 1: for a dictionary that could be kept */
	char is_cuda; /* 1: the pattern is that of __cuda_array_interface__ */
	unsigned short spare; /* references to the view beside its own, counted in advance (bip_lend) */
};

extern PyTypeObject bip_type;

/* Exact, because the type is final. */
#define BIP_CHECK(object) Py_IS_TYPE(object, &bip_type)

/* Wraps a view. It is taken, also on failure. No mask, no flag. */
PyObject *bip_new(struct bi_view *view);

/* A view made from that of `parent`: same flags; nothing acquired. The view is taken, also on failure. */
PyObject *bip_derive(const struct bip_object *parent, struct bi_view *view);

/* Borrowed: valid while the caller holds the object's lock (see above). NULL and an exception if it was released. */
struct bi_view *bip_view(PyObject *self);

/* Retained: for calls without the GIL. */
struct bi_view *bip_hold(PyObject *self);

/*
 * A reference to the view for somebody else, under the object's lock, which is cheaper than an atomic write: most are
 * counted in advance. NULL and no exception if it was released. What nobody took is given back by bip_lend_back.
 */
struct bi_view *bip_lend(PyObject *self);
void bip_lend_back(PyObject *self);

/* A new reference, or NULL without an exception: there is none, or the array was released. */
PyObject *bip_mask(PyObject *self);

/* UnsupportedError if the array has a mask, which the operation would lose. */
int bip_refuse_mask(PyObject *object, const char *operation);

/* What release() does: an acquired stream is handed back, then everything is let go. With `waits` pending work is
 * waited for first. Returned is the status of what failed first. */
int bip_let_go(struct bip_object *self, int waits, struct bi_error *err);

#endif
