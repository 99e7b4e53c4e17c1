/*
 * Copies and fills. `operation` is the name in reports. Only `stream` may be NULL. The functions return the statuses of
 * bi_copy and bi_fill.
 */
#ifndef BI_COMMON_COPY_COPY_H
#define BI_COMMON_COPY_COPY_H

#include "common/runtime/object.h"

int bi__copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, const char *operation,
	     struct bi_error *err);
/* Copy between a view and the caller's bytes, which have the elements in C order. `bytes` is borrowed memory. */
int bi__copy_in(const struct bi_view *dst, struct bi_memory *bytes, const char *operation, struct bi_error *err);
int bi__copy_out(struct bi_memory *bytes, const struct bi_view *src, const char *operation, struct bi_error *err);
int bi__fill(const struct bi_view *view, const void *element, struct bi_stream *stream, const char *operation,
	     struct bi_error *err);
/* Copy one element: to borrowed memory, or from bytes that are read before the function returns. */
int bi__get_element(struct bi_memory *bytes, const struct bi_view *view, const int64_t *index, struct bi_error *err);
int bi__set_element(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err);

#endif
