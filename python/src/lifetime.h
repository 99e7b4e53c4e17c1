/* References between Python and the library: owners that a memory keeps alive, and releases of views. */
#ifndef BIP_LIFETIME_H
#define BIP_LIFETIME_H

#include "extension.h"

/*
 * Release callback of the library: releases a reference to the PyObject `owner`. Runs on any thread, with or without
 * the GIL, and leaves an exception that is set as it is. Leaks the reference once the interpreter finalises, and does
 * nothing in a process without an interpreter.
 */
void bip_release_owner(void *owner);

/*
 * Returns the buffer of an object, at an address that does not change, because a buffer may point into itself. NULL
 * with an exception.
 */
Py_buffer *bip_borrow_buffer(PyObject *object, int flags);
/* Release callback like bip_release_owner: returns a buffer to its exporter. */
void bip_return_buffer(void *buffer);

/*
 * Releases a view; NULL is ignored. May be called in a dealloc function. An exception that is set stays set. The GIL is
 * dropped if the release may wait: if work is pending, or if this may be the last reference to a context.
 */
void bip_release_view(struct bi_view *view);
/* Returns true if bip_release_view would only call bi_view_release, so that other code with the GIL may do that. */
int bip_is_short_release(const struct bi_view *view);

#endif
