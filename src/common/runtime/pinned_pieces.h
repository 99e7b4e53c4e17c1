/*
 * Pinned host memory of a context in pieces of one size: staging buffers for chunked copies between the host and
 * devices. The CPU can use a piece as it stands, and the driver of the context knows it, so the driver copies from and
 * to it without a buffer of its own. A few free pieces are kept, so that later copies do not allocate.
 */
#ifndef BI_COMMON_RUNTIME_PINNED_PIECES_H
#define BI_COMMON_RUNTIME_PINNED_PIECES_H

#include "common/runtime/object.h"

#define BI__PINNED_PIECE_BYTES ((size_t)4 << 20)

/*
 * Gets a piece: a free one, else a new one. *out is host memory with a reference that the caller owns, ordered like any
 * other host memory. A new piece waits for no work of the context. Where the driver has to map it, the calling thread
 * is blocked for the mapping (`staging`). Returns BI_ENOMEM after the pool was emptied in vain, or an error of the
 * driver.
 */
int bi__pinned_piece_get(struct bi_context *context, struct bi_memory **out, struct bi_error *err);

/*
 * Gives a piece back; NULL is allowed. Work that uses the piece may be pending. The piece is free again when that work
 * is complete, and until then it holds a reference to its context if another backend does the work. Work of the same
 * backend that shares no events with the context blocks the calling thread here (`cross`), because two contexts that
 * hold each other would never close. Only a chunked copy that failed leaves such work.
 */
void bi__pinned_piece_give_back(struct bi_memory *memory);

/* Frees the free pieces of the context. */
void bi__pinned_pieces_trim(struct bi_context *context);

#endif
