/* What the rest of the library makes and looks at views with, besides the public functions. */
#ifndef BI_COMMON_VIEW_H
#define BI_COMMON_VIEW_H

#include "common/object.h"

/* A new dense array of the type and shape of `like`. Owned. */
int bi__view_empty(struct bi_context *context, const struct bi_layout *like, enum bi_memory_kind kind,
		   struct bi_view **out, struct bi_error *err);

/*
 * Wraps what *foreign names and makes a view of it; read-only as foreign->flags say. The layout is one that
 * bi_layout_init has checked; that it lies inside the memory is checked here. Owned.
 */
int bi__view_wrap(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		  struct bi_view **out, struct bi_error *err);

/* bi_view_create for a layout that bi_layout_init has checked. The reference of the memory is taken, on success. */
int bi__view_take(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		  struct bi_error *err);

/*
 * The same for a layout that is inside as well. A descr that lies in `text` (may be NULL) and ends with a NUL is shared
 * with it, any other is copied.
 */
int bi__view_make(struct bi_memory *memory, const struct bi_layout *layout, struct bi__text *text, unsigned flags,
		  struct bi_view **out, struct bi_error *err);

/* Room for a view of `ndim` dimensions, in which nothing is set but those; NULL: BI_ENOMEM. Freed with free(). */
struct bi_view *bi__view_allocate(int ndim, struct bi_error *err);

/*
 * Makes it one, with a count of 1: memory (whose reference is taken), text (retained), descr, dtype, words, offset,
 * shape and strides are set and sound.
 */
void bi__view_complete(struct bi_view *view, unsigned flags);

/* bi_view_native, where it is a part of something that is called often. */
static inline void bi__view_native(const struct bi_view *view, struct bi_native *out)
{
	const struct bi__block *block = &view->memory->block;

	bi__memory_show(view->memory);
	*out = (struct bi_native){ block->kind, block->handle, 0, 0 };
	if (!block->handle)
		return;
	out->offset = block->origin + (size_t)view->offset;
	out->nbytes = block->origin + view->memory->nbytes;
	if (block->kind != BI_HANDLE_CUDA)
		return;
	/* A CUDA pointer is that of the element. */
	out->handle += out->offset;
	out->nbytes -= out->offset;
	out->offset = 0;
}

#endif
