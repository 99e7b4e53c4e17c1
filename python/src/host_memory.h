/* Memory that consumers of host memory may read. */
#ifndef BIP_HOST_MEMORY_H
#define BIP_HOST_MEMORY_H

#include "extension.h"

/* 1: the CPU uses the memory as its own, host or pinned; managed memory is the device's as long as it works on it. */
int bip_is_host(const struct bi_view *view);

/* Address of element [0, ..., 0] of such memory; arrays without elements have one too, so that nobody meets 0 [H4]. */
void *bip_host_address(const struct bi_view *view);

/*
 * Host wait until nothing is pending on the memory, for consumers that know of no stream of ours. Without the GIL: the
 * object may lose the view meanwhile, so who goes on to use it holds it.
 */
int bip_settle(struct bi_view *view);

#endif
