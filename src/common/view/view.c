#include "common/backend/registry.h"
#include "buffer_interface/binding.h"
#include "common/view/view.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/status.h"
#include "common/layout/layout.h"
#include "common/runtime/memory.h"
#include "common/runtime/object.h"

static void release_text(struct bi__text *text)
{
	if (text && bi__release_reference(&text->refs))
		free(text);
}

static struct bi__text *new_text(const char *words, size_t length)
{
	struct bi__text *text = malloc(sizeof(*text) + length + 1);

	if (!text)
		return NULL;
	atomic_init(&text->refs, 1);
	memcpy(text->text, words, length);
	text->text[length] = '\0';
	return text;
}

/* What bi_layout_extent says of the layout. */
struct span {
	int64_t first, end;
};

static struct span span_of(const struct bi_layout *layout)
{
	struct span span;

	bi_layout_extent(layout, &span.first, &span.end);
	return span;
}

static int check_inside(const struct bi_memory *memory, struct span span, struct bi_error *err)
{
	const int64_t first = span.first, end = span.end;

	if (first < 0 || (uint64_t)end > memory->nbytes)
		return bi__fail(err, BI_EBOUNDS, "the layout reaches bytes [%lld, %lld) of a memory of %zu bytes%s",
				(long long)first, (long long)end, memory->nbytes,
				bi__exported_of(memory)->form == BI__FORM_OBJECT ? " [O5]" : "");
	return BI_OK;
}

static size_t size_of(int ndim)
{
	return sizeof(struct bi_view) + 2 * (size_t)ndim * sizeof(int64_t);
}

static struct bi_view *allocate(int ndim, struct bi_error *err)
{
	struct bi_view *view = malloc(size_of(ndim));

	if (!view) {
		bi__fail(err, BI_ENOMEM, "no memory for a view of %d dimensions", ndim);
		return NULL;
	}
	view->ndim = (uint8_t)ndim;
	view->place = BI__VIEW_ALONE;
	return view;
}

/*
 * Does each axis step over all of those behind it? There are elements. *several: more than one extent is above 1, so
 * that no array of the other order has the same strides. Items without bytes have no order.
 */
static int is_dense(const int64_t *shape, const int64_t *strides, int ndim, int64_t item, int *several)
{
	int axes = 0;

	for (int i = ndim - 1; i >= 0; i--) {
		if (shape[i] == 1)
			continue;
		if (strides[i] != item)
			return 0;
		item *= shape[i];
		axes++;
	}
	*several = axes > 1 && item;
	return 1;
}

/* Of those before it? */
static int is_fortran(const int64_t *shape, const int64_t *strides, int ndim, int64_t item)
{
	for (int i = 0; i < ndim; i++) {
		if (shape[i] != 1 && strides[i] != item)
			return 0;
		item *= shape[i];
	}
	return 1;
}

/* Computed once; shape and strides are set. */
static void describe_axes(struct bi_view *view, unsigned flags, int is_empty)
{
	const int64_t *shape = view->dims, *strides = shape + view->ndim;
	unsigned described = flags & BI_VIEW_READONLY ? BI_EXCHANGE_READONLY : 0;
	int several = 0;

	if (is_empty || is_dense(shape, strides, view->ndim, view->dtype.item_size, &several))
		described |= BI_EXCHANGE_C_CONTIGUOUS;
	if (!several && (is_empty || is_fortran(shape, strides, view->ndim, view->dtype.item_size)))
		described |= BI_EXCHANGE_F_CONTIGUOUS;
	view->flags = (uint8_t)flags;
	view->exchange_flags = (uint8_t)described;
	view->is_empty = is_empty;
}

/* 1 if all of them are whole. Most item sizes are powers of two, whose division is a shift. */
static int put_element_strides(const struct bi_view *view, int64_t *out)
{
	const int64_t *shape = view->dims, *strides = shape + view->ndim;
	int64_t item = view->dtype.item_size;
	int shift = item & (item - 1) ? -1 : item ? __builtin_ctzll((unsigned long long)item) : 0;
	int is_exact = item != 0;

	for (int i = 0; i < view->ndim; i++) {
		int64_t stride = shape[i] < 2 ? item : strides[i];

		out[i] = shift < 0 ? stride / item : stride >> shift;
		is_exact &= out[i] * item == stride;
	}
	return is_exact;
}

/* Shape and strides are set; the text (may be NULL) is retained. */
static struct bi__more *new_more(const struct bi_view *view, struct bi__text *text, const char *descr, uint32_t length,
				 struct bi_error *err)
{
	struct bi__more *more = malloc(sizeof(*more) + (size_t)view->ndim * sizeof(int64_t));

	if (!more) {
		bi__fail(err, BI_ENOMEM, "no memory for the strides of a view of %d dimensions", view->ndim);
		return NULL;
	}
	more->text = text;
	more->descr = descr;
	more->descr_length = length;
	more->is_exact = put_element_strides(view, more->element_strides);
	if (text)
		atomic_fetch_add_explicit(&text->refs, 1, memory_order_relaxed);
	return more;
}

static void release_more(struct bi__more *more)
{
	if (!more)
		return;
	release_text(more->text);
	free(more);
}

const struct bi__more *bi__view_make_more(const struct bi_view *view, struct bi_error *err)
{
	struct bi__more *made = new_more(view, NULL, NULL, 0, err), *present = NULL;

	/* What is added describes the view, and changes nothing of it. */
	if (!made || atomic_compare_exchange_strong(&((struct bi_view *)(uintptr_t)view)->more, &present, made))
		return made;
	release_more(made);
	return present;
}

/* The memory's reference is taken. The layout is known to be sound and inside; ndim is set. No text. */
static void fill(struct bi_view *view, struct bi_memory *memory, const struct bi_layout *layout, unsigned flags)
{
	int ndim = view->ndim, is_empty = 0;

	atomic_init(&view->refs, 1);
	atomic_init(&view->more, NULL);
	view->memory = memory;
	view->dtype = layout->dtype;
	view->offset = layout->offset;
	for (int i = 0; i < ndim; i++) {
		view->dims[i] = layout->shape[i];
		view->dims[ndim + i] = layout->strides[i];
		is_empty |= layout->shape[i] == 0;
	}
	describe_axes(view, flags, is_empty);
}

static int add_text(struct bi_view *view, struct bi__text *text, const char *descr, uint32_t length,
		    struct bi_error *err)
{
	struct bi__more *more = new_more(view, text, descr, length, err);

	if (!more)
		return BI_ENOMEM;
	atomic_init(&view->more, more);
	return BI_OK;
}

struct bi_view *bi__view_begin(const struct bi_view *source, int ndim, struct bi_error *err)
{
	struct bi_view *view = allocate(ndim, err);

	if (view)
		view->memory = bi_memory_retain(source->memory);
	return view;
}

void bi__view_leave(struct bi_view *view)
{
	struct bi_memory *memory = view->memory;

	/* Otherwise it is freed with the memory. */
	if (view->place == BI__VIEW_ALONE)
		free(view);
	bi_memory_release(memory);
}

int bi__view_complete(struct bi_view *view, const struct bi_view *source, int64_t offset, int is_empty,
		      struct bi_view **out, struct bi_error *err)
{
	const struct bi__more *more = atomic_load_explicit(&source->more, memory_order_acquire);

	atomic_init(&view->refs, 1);
	atomic_init(&view->more, NULL);
	view->dtype = source->dtype;
	view->offset = offset;
	describe_axes(view, source->flags, is_empty);
	if (more && more->text && add_text(view, more->text, more->descr, more->descr_length, err)) {
		bi__view_leave(view);
		return BI_ENOMEM;
	}
	*out = view;
	return BI_OK;
}

/* As fill; the text (may be NULL) is retained. */
static int new_view(struct bi_memory *memory, const struct bi_layout *layout, struct bi__text *text, unsigned flags,
		    struct bi_view **out, struct bi_error *err)
{
	struct bi_view *view = allocate(layout->ndim, err);

	if (!view)
		return BI_ENOMEM;
	fill(view, memory, layout, flags);
	if (text && add_text(view, text, layout->descr, layout->descr_length, err)) {
		free(view);
		return BI_ENOMEM;
	}
	*out = view;
	return BI_OK;
}

static int check_descr(struct bi_dtype descr, struct bi_dtype dtype, struct bi_error *err)
{
	char name[BI_DTYPE_TEXT];

	if (bi_dtype_equal(descr, dtype))
		return BI_OK;
	bi_dtype_name(dtype, name);
	if (dtype.type != BI_VOID)
		return bi__fail(err, BI_EDTYPE, "descr lists fields, but the element type %s is no structure", name);
	return bi__fail(err, BI_EDTYPE, "descr has %u bytes, but the element type has %u", descr.item_size,
			dtype.item_size);
}

/* As new_view, with a copy of the layout's descr. */
static int make_with_descr(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags,
			   struct bi_view **out, struct bi_error *err)
{
	struct bi__text *text = new_text(layout->descr, layout->descr_length);
	struct bi_layout owned = *layout;
	struct bi_dtype dtype;
	int rc;

	if (!text)
		return bi__fail(err, BI_ENOMEM, "no memory for a descr of %u bytes", layout->descr_length);
	rc = bi_dtype_parse_descr(text->text, &dtype, err);
	if (!rc)
		rc = check_descr(dtype, layout->dtype, err);
	owned.descr = text->text;
	if (!rc)
		rc = new_view(memory, &owned, text, flags, out, err);
	release_text(text);
	return rc;
}

int bi__view_make(struct bi_memory *memory, const struct bi_layout *layout, struct bi__text *text, unsigned flags,
		  struct bi_view **out, struct bi_error *err)
{
	/* The descr of a field may be a part of a longer text; a view's own ends with a NUL. */
	if (layout->descr && (!text || layout->descr[layout->descr_length]))
		return make_with_descr(memory, layout, flags, out, err);
	return new_view(memory, layout, layout->descr ? text : NULL, flags, out, err);
}

/* As bi__view_take. */
static int take(struct bi_memory *memory, const struct bi_layout *layout, struct span span, unsigned flags,
		struct bi_view **out, struct bi_error *err)
{
	int rc = check_inside(memory, span, err);

	if (memory->flags & BI_WRAP_READONLY)
		flags |= BI_VIEW_READONLY;
	return rc ? rc : bi__view_make(memory, layout, NULL, flags, out, err);
}

int bi__view_take(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		  struct bi_error *err)
{
	return take(memory, layout, span_of(layout), flags, out, err);
}

int bi_view_create(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		   struct bi_error *err)
{
	struct span span;
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!memory || !layout)
		return bi__fail(err, BI_EINVAL, "memory or layout is NULL");
	if (flags & ~(unsigned)BI_VIEW_READONLY)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits", flags);
	rc = bi__layout_check(layout, &span.first, &span.end, err);
	if (!rc)
		rc = take(memory, layout, span, flags, out, err);
	if (!rc)
		bi_memory_retain(memory);
	return rc;
}

/* A view of all of a memory that was made for it; the memory's reference is taken, also on failure. */
static int view_all(struct bi_memory *memory, const struct bi_layout *layout, struct bi_view **out,
		    struct bi_error *err)
{
	int rc = bi__view_take(memory, layout, 0, out, err);

	if (rc)
		bi_memory_release(memory);
	return rc;
}

/* A memory that cannot be seen through its layout. What was taken with it is the caller's again. */
static void forget(struct bi_memory *memory)
{
	bi__memory_set_release(memory, NULL, NULL);
	bi_memory_release(memory);
}

/* The memory's reference is taken, on success. */
static int view_behind(struct bi_memory *memory, const struct bi_layout *layout, struct span span, struct bi_view **out,
		       struct bi_error *err)
{
	struct bi_view *view = bi__view_behind(memory);
	int rc = check_inside(memory, span, err);

	if (rc)
		return rc;
	view->ndim = (uint8_t)layout->ndim;
	view->place = BI__VIEW_BEHIND;
	fill(view, memory, layout, memory->flags & BI_WRAP_READONLY ? BI_VIEW_READONLY : 0);
	*out = view;
	return BI_OK;
}

/* One allocation for both, unless the view has a text. */
static int wrap(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		struct span span, struct bi_view **out, struct bi_error *err)
{
	struct bi_memory *memory;
	int rc = bi__memory_wrap(context, foreign, layout->descr ? 0 : size_of(layout->ndim), &memory, err);

	if (rc)
		return rc;
	rc = layout->descr ? take(memory, layout, span, 0, out, err) : view_behind(memory, layout, span, out, err);
	if (rc)
		forget(memory);
	return rc;
}

static int check_wrapped(const struct bi_foreign *foreign, const struct bi_layout *layout, struct bi_view **out,
			 struct bi_error *err)
{
	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!layout || !foreign)
		return bi__fail(err, BI_EINVAL, "foreign or layout is NULL");
	if (foreign->flags & BI_WRAP_STEAL)
		return bi__fail(err, BI_EINVAL, "flags 0x%x: what does not fit its layout cannot be given back",
				foreign->flags);
	return BI_OK;
}

int bi_view_wrap(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		 struct bi_view **out, struct bi_error *err)
{
	struct span span;
	int rc = check_wrapped(foreign, layout, out, err);

	if (!rc)
		rc = bi__layout_check(layout, &span.first, &span.end, err);
	return rc ? rc : wrap(context, foreign, layout, span, out, err);
}

int bi_view_wrap_at(struct bi_context *context, uint64_t data, struct bi_foreign *foreign, struct bi_layout *layout,
		    struct bi_view **out, struct bi_error *err)
{
	struct span span;
	int rc = check_wrapped(foreign, layout, out, err);

	if (rc)
		return rc;
	if (foreign->kind != BI_HANDLE_HOST && bi__registry_is_object(foreign->kind))
		return bi__fail(err, BI_EINVAL, "handle kind %d has no address", (int)foreign->kind);
	layout->offset = 0;
	rc = bi__layout_check(layout, &span.first, &span.end, err);
	if (!rc)
		rc = bi__layout_place(span.first, span.end, data, &foreign->handle, &foreign->nbytes, err);
	if (rc)
		return rc;
	layout->offset = -span.first;
	span = (struct span){ 0, span.end - span.first };
	return wrap(context, foreign, layout, span, out, err);
}

int bi__view_wrap(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		  struct bi_view **out, struct bi_error *err)
{
	return wrap(context, foreign, layout, span_of(layout), out, err);
}

/* The layout is dense. */
static int make_empty(struct bi_context *context, const struct bi_layout *dense, enum bi_memory_kind kind,
		      struct bi_view **out, struct bi_error *err)
{
	struct bi_memory *memory;
	int rc = bi_memory_create(context, (size_t)bi_layout_nbytes(dense), kind, &memory, err);

	return rc ? rc : view_all(memory, dense, out, err);
}

int bi_view_empty(struct bi_context *context, struct bi_dtype dtype, int ndim, const int64_t *shape,
		  struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	rc = bi_layout_init(&layout, dtype, ndim, shape, NULL, 0, err);
	return rc ? rc : make_empty(context, &layout, BI_MEMORY_DEFAULT, out, err);
}

int bi_view_wrap_host(struct bi_context *context, void *data, struct bi_dtype dtype, int ndim, const int64_t *shape,
		      bi_release_fn release, void *release_data, struct bi_view **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_layout layout;
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	rc = bi_layout_init(&layout, dtype, ndim, shape, NULL, 0, err);
	if (rc)
		return rc;
	foreign.handle = (uintptr_t)data;
	foreign.nbytes = (size_t)bi_layout_nbytes(&layout);
	rc = bi__view_wrap(context, &foreign, &layout, out, err);
	if (!rc)
		bi__memory_set_release((*out)->memory, release, release_data);
	return rc;
}

struct bi_view *bi_view_retain(struct bi_view *view)
{
	atomic_fetch_add_explicit(&view->refs, 1, memory_order_relaxed);
	return view;
}

void bi_view_retain_many(struct bi_view *view, unsigned count)
{
	atomic_fetch_add_explicit(&view->refs, count, memory_order_relaxed);
}

static void end(struct bi_view *view)
{
	release_more(atomic_load_explicit(&view->more, memory_order_acquire));
	bi__view_leave(view);
}

void bi_view_release(struct bi_view *view)
{
	if (view && bi__release_reference(&view->refs))
		end(view);
}

void bi_view_release_many(struct bi_view *view, unsigned count)
{
	if (bi__release_references(&view->refs, count))
		end(view);
}

void bi_view_layout(const struct bi_view *view, struct bi_layout *layout)
{
	const struct bi__more *more = atomic_load_explicit(&view->more, memory_order_acquire);
	size_t n = view->ndim;

	layout->dtype = view->dtype;
	layout->ndim = view->ndim;
	layout->descr = more ? more->descr : NULL;
	layout->descr_length = more ? more->descr_length : 0;
	layout->offset = view->offset;
	/* So few that two calls of memcpy would take longer. */
	for (size_t i = 0; i < n; i++) {
		layout->shape[i] = view->dims[i];
		layout->strides[i] = view->dims[n + i];
	}
}

struct bi_memory *bi_view_memory(const struct bi_view *view)
{
	return view->memory;
}

int bi_view_ndim(const struct bi_view *view)
{
	return view->ndim;
}

const int64_t *bi_view_shape(const struct bi_view *view)
{
	return view->ndim ? view->dims : NULL;
}

const int64_t *bi_view_strides(const struct bi_view *view)
{
	return view->ndim ? view->dims + view->ndim : NULL;
}

struct bi_dtype bi_view_dtype(const struct bi_view *view)
{
	return view->dtype;
}

unsigned bi_view_flags(const struct bi_view *view)
{
	return view->flags;
}

void bi_view_native(const struct bi_view *view, struct bi_native *out)
{
	bi__view_native(view, out);
}

void *bi_view_host_pointer(const struct bi_view *view)
{
	char *host = view->memory->block.host;

	if (!host)
		return NULL;
	bi__memory_mark_exported(view->memory);
	return host + view->offset;
}
