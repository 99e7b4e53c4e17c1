/* References between Python and the library: the Python objects that a memory keeps alive, and releases of views. */
#ifndef BIP_LIFETIME_H
#define BIP_LIFETIME_H

#include "extension.h"

/*
 * Release callback for the library: releases a reference to the PyObject `owner`. It may be called on any thread, with
 * or without the GIL. It keeps the exception that is set. If releases are nested deeply, it releases the reference
 * later, on the same thread. If there is no interpreter, or the interpreter finalises, the reference leaks.
 */
void bip_release_owner(void *owner);

/* Returns true if the calling thread has the GIL. */
int bip_has_gil(void);

/*
 * Option around_close of every context. The library calls it on the thread that releases the last reference to the
 * context. The reference may have been that of a view, an event, or a struct or tensor of a consumer. Drops the GIL if
 * the thread holds it, because closing waits for work on memory that was released. Keeps the exception that is set.
 */
void bip_close_context(void (*close)(struct bi_context *context), struct bi_context *context);

/*
 * Returns a buffer of the object. The caller gives it back by bip_return_buffer. The struct is on the heap and is not
 * copied, because its members may point into it. Returns NULL with an exception on failure.
 */
Py_buffer *bip_borrow_buffer(PyObject *object, int flags);
/* Release callback for a buffer of bip_borrow_buffer: releases it as bip_release_owner releases an object. */
void bip_return_buffer(void *buffer);

/*
 * Releases a view; NULL is ignored. May be called in a dealloc function. Keeps the exception that is set. Drops the GIL
 * if a release of the memory could wait for work, or if the release closes a context.
 */
void bip_release_view(struct bi_view *view);
/*
 * Returns true if bip_release_view would only call bi_view_release. A caller with the GIL may then call bi_view_release
 * directly.
 */
int bip_is_short_release(const struct bi_view *view);

#endif
