/* Dense arrays: new ones, and copies of views. */
#ifndef BIP_DENSE_H
#define BIP_DENSE_H

#include "extension.h"

/* Host memory may belong to the context of a device; what is made of it on the host does not. Owned. */
int bip_own_context(const struct bi_view *view, struct bi_context **out);
/* A dense array with the type and shape of the layout. */
int bip_new_array(struct bi_context *context, const struct bi_layout *like, struct bi_view **out);
/* dst[...] = src, enqueued, without the GIL. Both are held by the caller. */
int bip_copy_enqueue(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream);
/* A dense copy in a context, enqueued. The view is held by the caller; *out is NULL after a failure. */
int bip_copy_into(struct bi_context *context, const struct bi_view *view, struct bi_stream *stream,
		  struct bi_view **out);
/* The same on the same device. The view is borrowed. */
int bip_copy_view(struct bi_view *view, struct bi_stream *stream, struct bi_view **out);

#endif
