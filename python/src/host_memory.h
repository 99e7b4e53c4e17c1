/* Memory that consumers may read and write as host memory. */
#ifndef BIP_HOST_MEMORY_H
#define BIP_HOST_MEMORY_H

#include "extension.h"

/*
 * Returns true for host memory and for CUDA's pinned host memory. Returns false for managed memory, because the CPU may
 * not access it while the device works.
 */
int bip_is_host(const struct bi_view *view);

/* Returns the address of element [0, ..., 0] of host memory. It is not NULL, even if the array has no elements [H4]. */
void *bip_host_address(const struct bi_view *view);

/*
 * Blocks the calling thread until no work on the memory is pending. It is for consumers that know no stream. The GIL is
 * dropped meanwhile, and another thread may take the view from its object. A caller that uses the view afterwards owns
 * a reference to it.
 */
int bip_settle(struct bi_view *view);

#endif
