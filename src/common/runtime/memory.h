/* Memories: allocated, wrapped, borrowed, released. retire.h has the end of their life, order.h the order of work. */
#ifndef BI_COMMON_RUNTIME_MEMORY_H
#define BI_COMMON_RUNTIME_MEMORY_H

#include "common/runtime/object.h"

/* Allocates memory from the driver, whatever the pool has. `kind` is not BI_MEMORY_DEFAULT. *out is set on success. */
int bi__memory_new(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind, struct bi_memory **out,
		   struct bi_error *err);

/*
 * bi_memory_wrap with space for a view of `behind` bytes (or 0), which is freed with the struct. *out is set on success
 * only.
 */
int bi__memory_wrap(struct bi_context *context, const struct bi_foreign *foreign, size_t behind, struct bi_memory **out,
		    struct bi_error *err);

/*
 * Makes host memory of bytes that the caller lends for one call, in a struct on the caller's stack. Only the calling
 * thread knows it. It is not retained, and holds no reference to the context. bi__order_finish_borrowed ends it.
 */
void bi__memory_borrow(struct bi_memory *memory, struct bi_context *context, void *bytes, size_t nbytes);

/* Sets the callback that returns wrapped memory to its producer, for a memory that has none yet. */
void bi__memory_set_release(struct bi_memory *memory, bi_release_fn release, void *data);

/*
 * Says that the producer ordered its work before later work on the home stream, but named no stream of its own: work is
 * pending, and the memory is retired until it is complete. For a memory that nobody else knows yet.
 */
void bi__memory_mark_pending(struct bi_memory *memory);

#endif
