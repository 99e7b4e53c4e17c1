/* Memory that consumers of host memory may read and write. */
#ifndef BIP_HOST_MEMORY_H
#define BIP_HOST_MEMORY_H

#include "extension.h"

/*
 * Returns true for host memory and for CUDA's pinned host memory. Managed memory does not count: the CPU may not touch
 * it while the device works.
 */
int bip_is_host(const struct bi_view *view);

/* Returns the address of element [0, ..., 0] of host memory. It is not NULL, even if there is no element [H4]. */
void *bip_host_address(const struct bi_view *view);

/*
 * Blocks the calling thread until no work on the memory is pending, for consumers that know no stream. The GIL is
 * dropped meanwhile, and the object may lose the view: the caller owns a reference to the view if it goes on to use it.
 */
int bip_settle(struct bi_view *view);

#endif
