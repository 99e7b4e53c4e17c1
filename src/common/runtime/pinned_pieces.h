/*
 * Pinned host memory of a context in pieces of one size: the staging buffers of chunked copies (docs/ordering.md, 17.2
 * and 17.3). The CPU can address a piece. The driver of the context has allocated the piece as pinned memory, so it
 * copies from and to a piece directly. A few free pieces are kept, so that later copies do not allocate.
 */
#ifndef BI_COMMON_RUNTIME_PINNED_PIECES_H
#define BI_COMMON_RUNTIME_PINNED_PIECES_H

#include "common/runtime/object.h"

#define BI__PINNED_PIECE_BYTES ((size_t)4 << 20)

/*
 * Gets a free piece, or makes a new piece if none is free. *out is host memory, ordered like all host memory, with a
 * reference that the caller owns. The library waits for no work of the context. If the driver has to map the new piece,
 * the calling thread is blocked until the piece is mapped (`staging`). If there is no memory for a new piece, empties
 * the pool and tries again; returns BI_ENOMEM if that fails too.
 */
int bi__pinned_piece_get(struct bi_context *context, struct bi_memory **out, struct bi_error *err);

/*
 * Gives a piece back; NULL is allowed. Work that uses the piece may be pending. The piece is free again when that work
 * is complete. If a context of another backend does the work, the piece holds a reference to its own context until
 * then. If a context of the same backend with another native context does the work, the calling thread is blocked until
 * the work is complete (`cross`): references in both directions would keep both contexts open. Only a chunked copy that
 * failed leaves such work.
 */
void bi__pinned_piece_give_back(struct bi_memory *memory);

/* Frees the free pieces of the context. */
void bi__pinned_pieces_trim(struct bi_context *context);

#endif
