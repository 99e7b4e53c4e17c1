/* References between Python and the library: the Python objects that a memory keeps alive, and releases of views. */
#ifndef BIP_LIFETIME_H
#define BIP_LIFETIME_H

#include "extension.h"

/*
 * Release callback for the library: releases a reference to the PyObject `owner`. It may be called on any thread, with
 * or without the GIL. It keeps the exception that is set. It does nothing once the interpreter finalises, so the
 * reference leaks, and in a process without an interpreter.
 */
void bip_release_owner(void *owner);

/*
 * Returns the buffer of an object. Its address does not change, because a buffer may point into itself. Returns NULL
 * with an exception on failure.
 */
Py_buffer *bip_borrow_buffer(PyObject *object, int flags);
/* Release callback as bip_release_owner: returns a buffer to its exporter. */
void bip_return_buffer(void *buffer);

/*
 * Releases a view; NULL is ignored. May be called in a dealloc function. Keeps the exception that is set. Drops the GIL
 * if the release may wait: because work is pending, or because this may be the last reference to a context.
 */
void bip_release_view(struct bi_view *view);
/*
 * Returns true if bip_release_view would only call bi_view_release. A caller with the GIL may then call bi_view_release
 * directly.
 */
int bip_is_short_release(const struct bi_view *view);

#endif
