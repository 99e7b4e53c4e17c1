/* Makes dense arrays in C order: new arrays, and copies of views. */
#ifndef BIP_DENSE_H
#define BIP_DENSE_H

#include "extension.h"

/*
 * Sets *out to the context for a copy on the same device: the context of the memory, or for host memory the host
 * context. Host memory may have been wrapped in the context of a device.
 */
int bip_own_context(const struct bi_view *view, struct bi_context **out);

/*
 * Allocates a dense array with the element type and shape of `like`. The strides and the offset of `like` are ignored.
 * *out becomes NULL on failure.
 */
int bip_new_array(struct bi_context *context, const struct bi_layout *like, struct bi_view **out);

/*
 * Enqueues the copy dst[...] = src. Drops the GIL meanwhile. The caller owns references to both views. `stream` may be
 * NULL.
 */
int bip_copy_enqueue(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream);

/*
 * Enqueues a dense copy of the view in a context. The caller owns a reference to the view. *out becomes NULL on
 * failure.
 */
int bip_copy_into(struct bi_context *context, const struct bi_view *view, struct bi_stream *stream,
		  struct bi_view **out);
/* Does bip_copy_into with the context that bip_own_context returns. */
int bip_copy_view(struct bi_view *view, struct bi_stream *stream, struct bi_view **out);

#endif
