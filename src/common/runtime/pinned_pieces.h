/*
 * Pinned host memory of a context, in pieces of one size, for bytes on their way between the host and devices. The CPU
 * can use a piece as it stands, and the driver of the context knows it, so that copies from and to it do not stop at
 * memory of the driver's own. Pieces that come back are kept, so a second transfer asks the driver for none.
 */
#ifndef BI_COMMON_RUNTIME_PINNED_PIECES_H
#define BI_COMMON_RUNTIME_PINNED_PIECES_H

#include "common/runtime/object.h"

#define BI__STAGING_BYTES ((size_t)4 << 20)

/*
 * A piece as host memory whose owner the caller is; its order is that of any host memory. One that came back if there
 * is one, else a new one; making that waits for no work of the context, but where the driver has to map it for the
 * mapping (host wait, `staging`). BI_ENOMEM, after the pool was emptied, and failures of the driver.
 */
int bi__staging_take(struct bi_context *context, struct bi_memory **out, struct bi_error *err);

/*
 * Lets go of it, NULL allowed; work that uses it may be pending. The piece is kept when that is complete, and keeps its
 * context until then if another backend does the work. Work of the same backend with which the context shares no events
 * is waited for here (host wait, `cross`), because contexts that keep each other never end; only a transfer that failed
 * leaves such work.
 */
void bi__staging_give(struct bi_memory *memory);

/* Frees the pieces that are kept. */
void bi__staging_trim(struct bi_context *context);

#endif
