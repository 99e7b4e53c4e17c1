/* What the rest of the library makes views with, besides the public functions. */
#ifndef BI_COMMON_VIEW_H
#define BI_COMMON_VIEW_H

#include "buffer_interface.h"

/* A new dense array of the type and shape of `like`. Owned. */
int bi__view_empty(struct bi_context *context, const struct bi_layout *like, enum bi_memory_kind kind,
		   struct bi_view **out, struct bi_error *err);

#endif
