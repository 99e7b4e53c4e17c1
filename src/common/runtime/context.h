/*
 * The life of a context: it is made without a device (context.c), opened (context_open.c), and closed by its last
 * release. object.h describes the members.
 */
#ifndef BI_COMMON_RUNTIME_CONTEXT_H
#define BI_COMMON_RUNTIME_CONTEXT_H

#include "common/runtime/object.h"

/* Returns a context with these options and no device, or NULL if there is no memory. */
struct bi_context *bi__context_new(const struct bi_options *options);

/* Frees a context that has no open device and owns no memory. */
void bi__context_free(struct bi_context *context);

#endif
