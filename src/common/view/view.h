/* The internal functions on views. */
#ifndef BI_COMMON_VIEW_VIEW_H
#define BI_COMMON_VIEW_VIEW_H

#include "common/layout/layout.h"
#include "common/runtime/object.h"

/* Writes the layout of a view. layout->descr is borrowed from the view. */
static inline void bi__view_get_layout(const struct bi_view *view, struct bi_layout *layout)
{
	const struct bi__more *more = atomic_load_explicit(&view->more, memory_order_acquire);
	size_t n = view->ndim;

	layout->dtype = view->dtype;
	layout->ndim = view->ndim;
	layout->descr = more ? more->descr : NULL;
	layout->descr_length = more ? more->descr_length : 0;
	layout->offset = view->offset;
	/* Most views have few dimensions, so two calls of memcpy would take longer. */
	for (size_t i = 0; i < n; i++) {
		layout->shape[i] = view->dims[i];
		layout->strides[i] = view->dims[n + i];
	}
}

/* Foreign memory, and the view to make of it. */
struct bi__wrapping {
	const struct bi_foreign *foreign;
	const struct bi_layout *layout; /* checked by bi_layout_init or bi__layout_check */
	size_t kept; /* bytes behind struct bi_memory for the release callback, a multiple of 8 */
};

/*
 * Wraps memory and makes a view of it, which is read-only if foreign->flags have BI_WRAP_READONLY. Takes ownership of
 * foreign->release_data on success. Returns BI_EBOUNDS if the layout reaches outside of the memory. *out is owned.
 */
int bi__view_wrap(struct bi_context *context, const struct bi__wrapping *wrapping, struct bi_view **out,
		  struct bi_error *err);

/*
 * Makes a view like bi_view_create, of a layout that bi_layout_init or bi__layout_check has checked. Takes ownership of
 * the reference to the memory on success.
 */
int bi__view_take(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		  struct bi_error *err);

/*
 * Makes a view with exactly these flags, of a layout that lies inside the memory. Takes ownership of the reference to
 * the memory on success. `text` is NULL, or the text that contains layout->descr. If the descr ends with a NUL there,
 * the view retains the text. Any other descr is checked and copied.
 */
int bi__view_make(struct bi_memory *memory, const struct bi_layout *layout, struct bi__text *text, unsigned flags,
		  struct bi_view **out, struct bi_error *err);

/* Makes a view, like bi__view_make, of new memory that a dense layout at offset 0 fills. On failure *out is unchanged. */
int bi__view_new(struct bi_context *context, enum bi_memory_kind kind, const struct bi_layout *layout,
		 struct bi__text *text, struct bi_view **out, struct bi_error *err);

/*
 * Allocates a view of `ndim` dimensions with a reference to the memory of `source`. Only ndim, is_behind and memory are
 * set. Returns NULL on BI_ENOMEM. Call bi__view_complete or bi__view_abandon next.
 */
struct bi_view *bi__view_begin(const struct bi_view *source, int ndim, struct bi_error *err);

/* Releases the memory of a view and frees the view. Does not free its rarely used part (struct bi__more). */
void bi__view_abandon(struct bi_view *view);

/*
 * Completes a view whose shape and strides are set and valid. Type, descr and flags are those of `source`. `is_empty`
 * is 1 if the view has no elements. On BI_ENOMEM the view is freed.
 */
int bi__view_complete(struct bi_view *view, const struct bi_view *source, int64_t offset, int is_empty,
		      struct bi_view **out, struct bi_error *err);

/*
 * Makes and returns the rarely used part of a view, or returns NULL on BI_ENOMEM. If another thread made the part
 * meanwhile, returns that part. The function is out of line, because most calls of bi__view_more find the part.
 */
__attribute__((cold, noinline)) const struct bi__more *bi__view_make_more(const struct bi_view *view,
									  struct bi_error *err);

static inline const struct bi__more *bi__view_more(const struct bi_view *view, struct bi_error *err)
{
	const struct bi__more *more = atomic_load_explicit(&view->more, memory_order_acquire);

	return more ? more : bi__view_make_more(view, err);
}

/*
 * Sets *out to the element type in JSON, which the exchange structure has for types that DLPack cannot name. The text
 * is made by the first call and borrowed from the view. Returns BI_ENOMEM, or BI_EDTYPE if the type has no such name or
 * is beyond the limits of descr.h.
 */
int bi__view_json(const struct bi_view *view, const char **out, struct bi_error *err);

/* Returns the flags of the exchange structure. */
static inline uint32_t bi__view_exchange_flags(const struct bi_view *view)
{
	_Static_assert(BI_READONLY == BI__TRAIT_READONLY && BI_C_CONTIGUOUS == BI__TRAIT_C_CONTIGUOUS << 15 &&
			       BI_F_CONTIGUOUS == BI__TRAIT_F_CONTIGUOUS << 15,
		       "the traits are not the flags");
	return (view->traits & BI__TRAIT_READONLY) | (view->traits & ~(uint32_t)BI__TRAIT_READONLY) << 15;
}

/* Returns the text with the descr of a structured type, or NULL. Borrowed. */
static inline struct bi__text *bi__view_text(const struct bi_view *view)
{
	const struct bi__more *more = atomic_load_explicit(&view->more, memory_order_acquire);

	return more ? more->text : NULL;
}

/* Does the same as bi_view_retain for a const view: the reference count is not part of its value. */
static inline struct bi_view *bi__view_retain_const(const struct bi_view *view)
{
	return bi_view_retain((struct bi_view *)(uintptr_t)view);
}

/*
 * Does bi_use_begin without its checks of the arguments, then enqueues the launch, then does bi_use_end, also if the
 * launch failed. For a stream of a device and up to 32 uses of device memory, this is one step: no other thread's work
 * on the memories comes between, and the native context is entered once.
 */
int bi__use_launch(struct bi_stream *stream, const struct bi_use *uses, size_t count,
		   const struct bi__kernel_launch *launch, struct bi_error *err);

#endif
