/*
 * Copies and fills. `operation` is their name in reports. Pointers are not NULL, except streams. The statuses are those
 * of bi_copy and bi_fill.
 */
#ifndef BI_COMMON_COPY_COPY_H
#define BI_COMMON_COPY_COPY_H

#include "common/runtime/object.h"

int bi__copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, const char *operation,
	     struct bi_error *err);
/* Copies between a view and the caller's bytes, for which bi__memory_borrow made the memory: elements in C order. */
int bi__copy_in(const struct bi_view *dst, struct bi_memory *bytes, const char *operation, struct bi_error *err);
int bi__copy_out(struct bi_memory *bytes, const struct bi_view *src, const char *operation, struct bi_error *err);
int bi__fill(const struct bi_view *view, const void *element, struct bi_stream *stream, const char *operation,
	     struct bi_error *err);
/* One element to borrowed bytes, and from bytes that are read before the function returns. */
int bi__get_element(struct bi_memory *bytes, const struct bi_view *view, const int64_t *index, struct bi_error *err);
int bi__set_element(const struct bi_view *view, const int64_t *index, const void *element, struct bi_error *err);

#endif
