/* Life of memories: made, pooled, retired, let go. */
#ifndef BI_COMMON_RUNTIME_MEMORY_H
#define BI_COMMON_RUNTIME_MEMORY_H

#include "common/runtime/object.h"

/* Memory fresh from the driver, whatever the pool has. `kind` is not DEFAULT. */
int bi__memory_new(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind, struct bi_memory **out,
		   struct bi_error *err);

/*
 * bi_memory_wrap with room for a view of `behind` bytes, which is let go with the struct; 0: none. *out is set on
 * success alone.
 */
int bi__memory_wrap(struct bi_context *context, const struct bi_foreign *foreign, size_t behind, struct bi_memory **out,
		    struct bi_error *err);

/*
 * Makes host memory of bytes that the caller lends for the time of one call, in room that is his. Nobody else ever
 * knows it, it is not retained beyond that, and holds no reference to the context. bi__order_finish_borrowed is its
 * end.
 */
void bi__memory_borrow(struct bi_memory *memory, struct bi_context *context, void *bytes, size_t nbytes);

/* The callback that lets the producer go, for a wrapped memory that has none yet. */
void bi__memory_set_release(struct bi_memory *memory, bi_release_fn release, void *data);

/*
 * The producer has ordered his work before what comes next on the home, but named no stream: there is work pending, and
 * letting go waits for it. For a memory that nobody else knows yet.
 */
void bi__memory_mark_pending(struct bi_memory *memory);

#endif
