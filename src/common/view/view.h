/* What the rest of the library makes and looks at views with, besides the public functions. */
#ifndef BI_COMMON_VIEW_VIEW_H
#define BI_COMMON_VIEW_VIEW_H

#include "common/runtime/object.h"

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

/*
 * A view of what `source` is a view of, in which nothing is set but its memory, of which it has a reference, its place,
 * and its dimensions; NULL: BI_ENOMEM. Either bi__view_complete follows, or bi__view_leave.
 */
struct bi_view *bi__view_begin(const struct bi_view *source, int ndim, struct bi_error *err);

/* Gives back place and reference, of a view that has nothing else. */
void bi__view_leave(struct bi_view *view);

/*
 * Shape and strides are set and sound; type, descr and flags are the source's. `is_empty`: no element. BI_ENOMEM: then
 * the view is gone.
 */
int bi__view_complete(struct bi_view *view, const struct bi_view *source, int64_t offset, int is_empty,
		      struct bi_view **out, struct bi_error *err);

/*
 * The view's `more`, which is made if there is none yet. NULL: BI_ENOMEM. Any number of threads may ask at once. Out of
 * the way of all calls but the first.
 */
__attribute__((cold, noinline)) const struct bi__more *bi__view_make_more(const struct bi_view *view,
									  struct bi_error *err);

static inline const struct bi__more *bi__view_more(const struct bi_view *view, struct bi_error *err)
{
	const struct bi__more *more = atomic_load_explicit(&view->more, memory_order_acquire);

	return more ? more : bi__view_make_more(view, err);
}

/* The text of a structured type that is the view's own, or NULL. */
static inline struct bi__text *bi__view_text(const struct bi_view *view)
{
	const struct bi__more *more = atomic_load_explicit(&view->more, memory_order_acquire);

	return more ? more->text : NULL;
}

/* bi_view_native, where it is a part of something that is called often. */
static inline void bi__view_native(const struct bi_view *view, struct bi_native *out)
{
	const struct bi__block *block = &view->memory->block;

	bi__memory_mark_exported(view->memory);
	*out = (struct bi_native){ block->kind, block->handle, 0, 0 };
	if (!block->handle)
		return;
	out->offset = block->origin + (size_t)view->offset;
	out->nbytes = block->origin + view->memory->nbytes;
	if (bi__exported_of(view->memory)->form != BI__FORM_ELEMENT)
		return;
	out->handle += out->offset;
	out->nbytes -= out->offset;
	out->offset = 0;
}

/* bi_view_retain for a const view: its count is not part of its value. */
static inline struct bi_view *bi__view_retain_const(const struct bi_view *view)
{
	return bi_view_retain((struct bi_view *)(uintptr_t)view);
}

#endif
