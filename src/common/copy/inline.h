/*
 * Inline copies: small copies and fills that the calling thread does itself. They enqueue nothing, call no driver and
 * wait for no work (docs/ordering.md, row 36).
 *
 * A copy is inline if one side is device memory at whose address the CPU may copy, and each side is one of these:
 *
 *  - The library's own memory: idle, never exported, and with an address at which the CPU may copy (bi__address). No
 *    code outside of the library can have enqueued work on it.
 *  - Borrowed bytes of the caller, if no work of the context on host memory is pending. The caller guarantees that no
 *    other work uses the bytes.
 */
#ifndef BI_COMMON_COPY_INLINE_H
#define BI_COMMON_COPY_INLINE_H

#include "common/copy/job.h"

/*
 * Returns 1 if the job can be copied inline, and is so small that a command for it would take as long. Then an export
 * of one of the memories waits until bi__inline_end. Otherwise returns 0.
 */
int bi__inline_begin_locked(const struct bi__job *job);

void bi__inline_end(const struct bi__job *job);

#endif
