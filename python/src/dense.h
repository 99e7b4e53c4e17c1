/* Dense arrays in C order: new ones, and copies of views. */
#ifndef BIP_DENSE_H
#define BIP_DENSE_H

#include "extension.h"

/*
 * Returns in *out the context in which a copy on the same device is made: the memory's own, or the host's for host
 * memory, which may belong to the context of a device (pinned memory).
 */
int bip_own_context(const struct bi_view *view, struct bi_context **out);

/* Allocates a dense array with the element type and shape of `like`. Its strides and offset are ignored. */
int bip_new_array(struct bi_context *context, const struct bi_layout *like, struct bi_view **out);

/* Enqueues the copy dst[...] = src without the GIL. The caller owns references to both. `stream` may be NULL. */
int bip_copy_enqueue(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream);

/* Enqueues a dense copy of the view in a context. The caller owns a reference to the view. *out is NULL on failure. */
int bip_copy_into(struct bi_context *context, const struct bi_view *view, struct bi_stream *stream,
		  struct bi_view **out);
/* The same on the view's own device. */
int bip_copy_view(struct bi_view *view, struct bi_stream *stream, struct bi_view **out);

#endif
