#include "common/view.h"

#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/object.h"
#include "common/status.h"

static void release_text(struct bi__text *text)
{
	if (text && atomic_fetch_sub_explicit(&text->refs, 1, memory_order_acq_rel) == 1)
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

static int check_inside(const struct bi_memory *memory, const struct bi_layout *layout, struct bi_error *err)
{
	int64_t first, end;

	bi_layout_extent(layout, &first, &end);
	if (first < 0 || (uint64_t)end > memory->nbytes)
		return bi__fail(err, BI_EBOUNDS, "the layout reaches bytes [%lld, %lld) of a memory of %zu bytes%s",
				(long long)first, (long long)end, memory->nbytes,
				memory->block.kind == BI_HANDLE_CL_MEM ? " [O5]" : "");
	return BI_OK;
}

/*
 * Computed once, so that whoever describes the view divides nothing. Most item sizes are powers of two, whose division
 * is a shift: rounded down, which the product then shows. Returns 0 if some stride is no multiple.
 */
static int divide_strides(const struct bi_layout *layout, int64_t *out)
{
	int64_t item = layout->dtype.item_size;
	int shift = item && !(item & (item - 1)) ? __builtin_ctzll((unsigned long long)item) : -1;

	for (int i = 0; i < layout->ndim; i++) {
		int64_t stride = layout->shape[i] < 2 ? item : layout->strides[i];

		if (!item)
			return 0;
		out[i] = shift < 0 ? stride / item : stride >> shift;
		if (out[i] * item != stride)
			return 0;
	}
	return 1;
}

static void put_layout(struct bi_view *view, const struct bi_layout *layout)
{
	size_t n = (size_t)layout->ndim;

	view->ndim = layout->ndim;
	view->dtype = layout->dtype;
	view->offset = layout->offset;
	memcpy(view->dims, layout->shape, n * sizeof(*view->dims));
	memcpy(view->dims + n, layout->strides, n * sizeof(*view->dims));
	view->has_element_strides = (uint8_t)divide_strides(layout, view->dims + 2 * n);
	view->is_empty = 0;
	for (size_t i = 0; i < n; i++)
		view->is_empty |= layout->shape[i] == 0;
	if (bi_layout_is_contiguous(layout, 'C'))
		view->exchange_flags |= BI_EXCHANGE_C_CONTIGUOUS;
	if (bi_layout_is_contiguous(layout, 'F'))
		view->exchange_flags |= BI_EXCHANGE_F_CONTIGUOUS;
}

/* Retains memory and text. The layout is known to be sound and inside the memory. */
static int new_view(struct bi_memory *memory, const struct bi_layout *layout, struct bi__text *text, unsigned flags,
		    struct bi_view **out, struct bi_error *err)
{
	size_t n = (size_t)layout->ndim;
	struct bi_view *view = malloc(sizeof(*view) + 3 * n * sizeof(*view->dims));

	if (!view)
		return bi__fail(err, BI_ENOMEM, "no memory for a view of %zu dimensions", n);
	atomic_init(&view->refs, 1);
	view->flags = flags;
	view->memory = bi_memory_retain(memory);
	view->text = text;
	if (text)
		atomic_fetch_add_explicit(&text->refs, 1, memory_order_relaxed);
	view->descr = layout->descr;
	view->descr_length = layout->descr_length;
	view->exchange_flags = flags & BI_VIEW_READONLY ? BI_EXCHANGE_READONLY : 0;
	put_layout(view, layout);
	*out = view;
	return BI_OK;
}

/* A layout that a caller filled by hand is not trusted: it goes through the same checks as one that was made. */
static int check_layout(const struct bi_memory *memory, const struct bi_layout *layout, struct bi_error *err)
{
	struct bi_layout checked;
	int rc = bi_layout_init(&checked, layout->dtype, layout->ndim, layout->shape, layout->strides, layout->offset,
				err);

	return rc ? rc : check_inside(memory, &checked, err);
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

int bi_view_create(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		   struct bi_error *err)
{
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!memory || !layout)
		return bi__fail(err, BI_EINVAL, "memory or layout is NULL");
	if (flags & ~(unsigned)BI_VIEW_READONLY)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits", flags);
	rc = check_layout(memory, layout, err);
	if (rc)
		return rc;
	if (memory->flags & BI_WRAP_READONLY)
		flags |= BI_VIEW_READONLY;
	return layout->descr ? make_with_descr(memory, layout, flags, out, err)
			     : new_view(memory, layout, NULL, flags, out, err);
}

/* A view of all of a memory that was made for it; the memory's reference is taken, also on failure. */
static int view_all(struct bi_memory *memory, const struct bi_layout *layout, struct bi_view **out,
		    struct bi_error *err)
{
	int rc = bi_view_create(memory, layout, 0, out, err);

	bi_memory_release(memory);
	return rc;
}

int bi__view_empty(struct bi_context *context, const struct bi_layout *like, enum bi_memory_kind kind,
		   struct bi_view **out, struct bi_error *err)
{
	struct bi_layout dense;
	struct bi_memory *memory;
	int rc = bi_layout_init(&dense, like->dtype, like->ndim, like->shape, NULL, 0, err);

	if (!rc)
		rc = bi_memory_create(context, (size_t)bi_layout_nbytes(&dense), kind, &memory, err);
	return rc ? rc : view_all(memory, &dense, out, err);
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
	return rc ? rc : bi__view_empty(context, &layout, BI_MEMORY_DEFAULT, out, err);
}

int bi_view_wrap_host(struct bi_context *context, void *data, struct bi_dtype dtype, int ndim, const int64_t *shape,
		      bi_release_fn release, void *release_data, struct bi_view **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_layout layout;
	struct bi_memory *memory;
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	rc = bi_layout_init(&layout, dtype, ndim, shape, NULL, 0, err);
	foreign.handle = (uintptr_t)data;
	foreign.nbytes = rc ? 0 : (size_t)bi_layout_nbytes(&layout);
	if (!rc)
		rc = bi_memory_wrap(context, &foreign, &memory, err);
	if (!rc)
		rc = view_all(memory, &layout, out, err);
	if (rc)
		return rc;
	bi__memory_give_owner(memory, release, release_data);
	return BI_OK;
}

struct bi_view *bi_view_retain(struct bi_view *view)
{
	atomic_fetch_add_explicit(&view->refs, 1, memory_order_relaxed);
	return view;
}

void bi_view_release(struct bi_view *view)
{
	if (!view || atomic_fetch_sub_explicit(&view->refs, 1, memory_order_acq_rel) != 1)
		return;
	release_text(view->text);
	bi_memory_release(view->memory);
	free(view);
}

void bi_view_layout(const struct bi_view *view, struct bi_layout *layout)
{
	size_t n = (size_t)view->ndim;

	layout->dtype = view->dtype;
	layout->ndim = view->ndim;
	layout->descr = view->descr;
	layout->descr_length = view->descr_length;
	layout->offset = view->offset;
	memcpy(layout->shape, view->dims, n * sizeof(*view->dims));
	memcpy(layout->strides, view->dims + n, n * sizeof(*view->dims));
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

void *bi_view_host_pointer(const struct bi_view *view)
{
	char *host = view->memory->block.host;

	if (!host)
		return NULL;
	bi__memory_show(view->memory);
	return host + view->offset;
}

/* The descr of a field may be a part of a longer text; a view's own ends with a NUL. */
static int rebase(const struct bi_view *view, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		  struct bi_error *err)
{
	if (layout->descr && layout->descr[layout->descr_length])
		return make_with_descr(view->memory, layout, view->flags | flags, out, err);
	return new_view(view->memory, layout, layout->descr ? view->text : NULL, view->flags | flags, out, err);
}

int bi_view_with_layout(const struct bi_view *view, const struct bi_layout *layout, struct bi_view **out,
			struct bi_error *err)
{
	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!view || !layout)
		return bi__fail(err, BI_EINVAL, "view or layout is NULL");
	return bi_view_create(view->memory, layout, view->flags, out, err);
}

/* The start of every function below: the layout that is going to change. */
static int begin(const struct bi_view *view, struct bi_layout *layout, struct bi_view **out, struct bi_error *err)
{
	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!view)
		return bi__fail(err, BI_EINVAL, "view is NULL");
	bi_view_layout(view, layout);
	return BI_OK;
}

int bi_view_index(const struct bi_view *view, const struct bi_index *items, int count, struct bi_view **out,
		  struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_index(&layout, items, count, err);
	return rc ? rc : rebase(view, &layout, 0, out, err);
}

int bi_view_permute(const struct bi_view *view, const int *axes, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_permute(&layout, axes, err);
	return rc ? rc : rebase(view, &layout, 0, out, err);
}

int bi_view_flip(const struct bi_view *view, int axis, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_flip(&layout, axis, err);
	return rc ? rc : rebase(view, &layout, 0, out, err);
}

int bi_view_reshape(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
		    struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_reshape(&layout, ndim, shape, err);
	return rc ? rc : rebase(view, &layout, 0, out, err);
}

int bi_view_broadcast(const struct bi_view *view, int ndim, const int64_t *shape, struct bi_view **out,
		      struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_broadcast(&layout, ndim, shape, err);
	return rc ? rc : rebase(view, &layout, BI_VIEW_READONLY, out, err);
}

int bi_view_field(const struct bi_view *view, const char *name, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_field(&layout, name, err);
	return rc ? rc : rebase(view, &layout, 0, out, err);
}

int bi_view_reinterpret(const struct bi_view *view, struct bi_dtype dtype, const char *descr, struct bi_view **out,
			struct bi_error *err)
{
	struct bi_layout layout;
	int rc = begin(view, &layout, out, err);

	if (!rc)
		rc = bi_layout_reinterpret(&layout, dtype, descr, err);
	if (rc)
		return rc;
	return descr ? make_with_descr(view->memory, &layout, view->flags, out, err)
		     : rebase(view, &layout, 0, out, err);
}
