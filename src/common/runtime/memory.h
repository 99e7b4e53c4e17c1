/* Makes memories: allocated, wrapped or borrowed. retire.h describes their end, order.h the order of work on them. */
#ifndef BI_COMMON_RUNTIME_MEMORY_H
#define BI_COMMON_RUNTIME_MEMORY_H

#include "common/runtime/object.h"

/*
 * Allocates memory from the backend, without the pool. `kind` is not BI_MEMORY_DEFAULT. *out is set on success only.
 * The struct is followed by `behind` bytes for the release callback and a view, which are freed after the callback.
 */
int bi__memory_new(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind, size_t behind,
		   struct bi_memory **out, struct bi_error *err);

/* Allocates memory for the elements of a layout. Returns BI_ENOMEM if their size is not a size_t. */
int bi__memory_create_for(struct bi_context *context, const struct bi_layout *layout, enum bi_memory_kind kind,
			  struct bi_memory **out, struct bi_error *err);

/* Does the same as bi_memory_wrap, with `behind` more bytes as in bi__memory_new. *out is set on success only. */
int bi__memory_wrap(struct bi_context *context, const struct bi_foreign *foreign, size_t behind, struct bi_memory **out,
		    struct bi_error *err);

/*
 * Initialises borrowed memory: a struct on the caller's stack for bytes that are borrowed for one call. No other thread
 * uses the struct, and it holds no reference to the context. bi__order_finish_borrowed ends its use.
 */
void bi__memory_borrow(struct bi_memory *memory, struct bi_context *context, void *bytes, size_t nbytes);

/* Sets the callback that returns wrapped memory to its producer. */
void bi__memory_set_release(struct bi_memory *memory, bi_release_fn release, void *data);

/*
 * Marks a new memory as pending. Called if the producer named no stream, but made the home stream wait for its work: a
 * memory that is released before this work is complete is then retired. No other thread may use the memory yet.
 */
void bi__memory_mark_pending(struct bi_memory *memory);

#endif
