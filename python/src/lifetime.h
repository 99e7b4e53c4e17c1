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
 * Option around_close of every context. The library calls it on the thread that releases the last reference to the
 * context, whatever had that reference: a view, an event, a struct or a tensor of a consumer. Drops the GIL if the
 * thread holds it, because closing waits for work on memory that was released. Keeps the exception that is set.
 */
void bip_close_context(void (*close)(struct bi_context *context), struct bi_context *context);

/*
 * Returns the buffer of an object. Its address does not change, because a buffer may point into itself. Returns NULL
 * with an exception on failure.
 */
Py_buffer *bip_borrow_buffer(PyObject *object, int flags);
/* Release callback as bip_release_owner: returns a buffer to its exporter. */
void bip_return_buffer(void *buffer);

/*
 * Releases a view; NULL is ignored. May be called in a dealloc function. Keeps the exception that is set. Drops the GIL
 * if work is pending, or if this is the last reference to a context.
 */
void bip_release_view(struct bi_view *view);
/*
 * Returns true if bip_release_view would only call bi_view_release. A caller with the GIL may then call bi_view_release
 * directly.
 */
int bip_is_short_release(const struct bi_view *view);

#endif
