/* The list of the backends of this build. Only registry.c names a backend. */
#ifndef BI_COMMON_BACKEND_REGISTRY_H
#define BI_COMMON_BACKEND_REGISTRY_H

#include "common/backend/backend.h"

/* Returns backend number i of the list, or NULL if i is not below the count. The host is the last backend. */
const struct bi__backend *bi__registry_backend(size_t i);
size_t bi__registry_count(void);

/* Returns the backend of host memory. */
const struct bi__backend *bi__registry_host(void);

/* Returns the backend whose name is the first `length` characters of `name`, or NULL. */
const struct bi__backend *bi__registry_find(const char *name, size_t length);

/*
 * Returns a backend that exports memory with this handle kind and this device type, and sets *kind to the kind of that
 * memory. Returns NULL if there is no such backend. If `handle` is 0, the handle kind is not compared; if `device` is
 * 0, the device type is not compared. The backend `first`, if it is not NULL, is preferred.
 */
const struct bi__backend *bi__registry_exporter(const struct bi__backend *first, uint32_t handle, int32_t device,
						enum bi_memory_kind *kind);

/* Returns 1 if handles of that kind are objects of a driver, not addresses. */
int bi__registry_is_object(enum bi_handle_kind handle);

#endif
