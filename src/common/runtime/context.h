/*
 * The life of a context: made without a device (context.c), opened (context_open.c), counted, and closed by its last
 * release. The members are described in object.h.
 */
#ifndef BI_COMMON_RUNTIME_CONTEXT_H
#define BI_COMMON_RUNTIME_CONTEXT_H

#include "common/runtime/object.h"

/* Returns a context with these options and no device, or NULL without memory. */
struct bi_context *bi__context_new(const struct bi_options *options);

/* Frees a context that has no open device and owns no memory. */
void bi__context_free(struct bi_context *context);

#endif
