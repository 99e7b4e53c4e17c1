/* References that the library holds, and releases of the library's objects. */
#ifndef BIP_LIFETIME_H
#define BIP_LIFETIME_H

#include "extension.h"

/*
 * Release callback that drops a reference to the PyObject `data`: on any thread, with or without the GIL, an exception
 * that is set stays set; once the interpreter finalises it leaks. Drops nothing in a process that has no interpreter.
 */
void bip_drop(void *data);

/* Keeps the producer of host memory alive for as long as the memory is wrapped. */
struct bip_kept {
	PyObject *owner; /* or NULL: the buffer, which stays where it was filled in, as it may point into itself */
	Py_buffer buffer;
};

/* The buffer of an object; or a reference to it. NULL with an exception. */
struct bip_kept *bip_borrow(PyObject *object, int flags);
struct bip_kept *bip_keep(PyObject *owner);
/* Release callback like bip_drop that lets go of either. */
void bip_give_back(void *data);

/*
 * Releases of the library's objects by who has the GIL, in deallocs too. An exception that is set stays set. The GIL is
 * dropped where the release may wait: if work is pending, or if it may be the last that holds a context. NULL is
 * nothing.
 */
void bip_release_view(struct bi_view *view);
/* The same for a view of memory whose release callback is bip_give_back; not NULL. */
void bip_release_kept(struct bi_view *view);
/* Nothing of that would be done: what holds the view may let it go by itself. */
int bip_releases_at_once(const struct bi_view *view);

#endif
