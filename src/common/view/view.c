#include "common/view/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/binding.h"
#include "common/backend/registry.h"
#include "common/base/status.h"
#include "common/layout/descr.h"
#include "common/layout/layout.h"
#include "common/runtime/memory.h"
#include "common/runtime/object.h"

static void release_text(struct bi__text *text)
{
	if (text && bi__release_reference(&text->refs))
		free(text);
}

/* Makes a text of `length` bytes, which the caller writes, and a NUL. */
static struct bi__text *new_text(size_t length, struct bi_error *err)
{
	struct bi__text *text = malloc(sizeof(*text) + length + 1);

	if (!text) {
		bi__fail(err, BI_ENOMEM, "no memory for a descr of %zu bytes", length);
		return NULL;
	}
	atomic_init(&text->refs, 1);
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
				memory->backend->exported[memory->block.memory].form == BI__FORM_OBJECT ? " [O5]" : "");
	return BI_OK;
}

static size_t size_of(int ndim)
{
	return sizeof(struct bi_view) + 2 * (size_t)ndim * sizeof(int64_t);
}

static struct bi_view *allocate_view(int ndim, struct bi_error *err)
{
	struct bi_view *view = malloc(size_of(ndim));

	if (!view) {
		bi__fail(err, BI_ENOMEM, "no memory for a view of %d dimensions", ndim);
		return NULL;
	}
	view->ndim = (uint8_t)ndim;
	view->is_behind = false;
	return view;
}

/* Sets all members except for ndim, is_behind and memory. The shape and strides are set before. */
static void init_view(struct bi_view *view, struct bi_dtype dtype, int64_t offset, unsigned flags, int is_empty)
{
	const int64_t *shape = view->dims, *strides = shape + view->ndim;
	unsigned described = flags & BI_VIEW_READONLY ? BI__TRAIT_READONLY : 0;

	if (is_empty || bi__is_dense(shape, strides, view->ndim, dtype.item_size, 'C'))
		described |= BI__TRAIT_C_CONTIGUOUS;
	if (is_empty || bi__is_dense(shape, strides, view->ndim, dtype.item_size, 'F'))
		described |= BI__TRAIT_F_CONTIGUOUS;
	atomic_init(&view->refs, 1);
	atomic_init(&view->more, NULL);
	view->dtype = dtype;
	view->offset = offset;
	view->flags = (uint8_t)flags;
	view->traits = (uint8_t)described;
	view->is_empty = is_empty;
}

/*
 * Writes the strides in elements. Axes of extent 0 or 1 count with the item size as their stride. Returns 1 if the item
 * size is above 0 and divides every stride, else 0. Most item sizes are powers of two: then the division is a shift.
 */
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

/* Makes the rarely used part of a view whose type, shape and strides are set. Retains the text, which may be NULL. */
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
	atomic_init(&more->json, NULL);
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
	release_text(atomic_load_explicit(&more->json, memory_order_acquire));
	free(more);
}

const struct bi__more *bi__view_make_more(const struct bi_view *view, struct bi_error *err)
{
	struct bi__more *made = new_more(view, NULL, NULL, 0, err), *present = NULL;

	/* The cast removes const: the new part does not change the value of the view. */
	if (!made || atomic_compare_exchange_strong(&((struct bi_view *)(uintptr_t)view)->more, &present, made))
		return made;
	release_more(made);
	return present;
}

/* Makes the JSON text of a type without fields: its typestr in quotes. */
static int make_word(const struct bi_view *view, struct bi__text **out, struct bi_error *err)
{
	char word[BI_DTYPE_TEXT];
	int rc = bi_dtype_typestr(view->dtype, word, err);
	size_t length;

	if (rc)
		return rc;
	length = strlen(word) + 2;
	*out = new_text(length, err);
	if (!*out)
		return BI_ENOMEM;
	snprintf((*out)->text, length + 1, "\"%s\"", word);
	return BI_OK;
}

static int make_json(const struct bi_view *view, const struct bi__more *more, struct bi__text **out,
		     struct bi_error *err)
{
	size_t length = 0;
	int rc;

	if (!more->descr)
		return make_word(view, out, err);
	rc = bi__descr_translate(more->descr, more->descr_length, BI__DESCR_PYTHON, NULL, &length, err);
	if (rc)
		return rc;
	if (length > BI__DESCR_JSON_MAX)
		return bi__fail(err, BI_EDTYPE, "descr has %zu bytes in JSON, more than %d", length,
				BI__DESCR_JSON_MAX);
	*out = new_text(length, err);
	if (!*out)
		return BI_ENOMEM;
	return bi__descr_translate(more->descr, more->descr_length, BI__DESCR_PYTHON, (*out)->text, &length, err);
}

int bi__view_json(const struct bi_view *view, const char **out, struct bi_error *err)
{
	const struct bi__more *more = bi__view_more(view, err);
	struct bi__text *json, *present = NULL;
	int rc;

	if (!more)
		return BI_ENOMEM;
	json = atomic_load_explicit(&more->json, memory_order_acquire);
	if (!json) {
		rc = make_json(view, more, &json, err);
		if (rc)
			return rc;
		/* The cast removes const: the text does not change the value of the view. */
		if (!atomic_compare_exchange_strong(&((struct bi__more *)(uintptr_t)more)->json, &present, json)) {
			release_text(json);
			json = present;
		}
	}
	*out = json->text;
	return BI_OK;
}

/*
 * Sets all members of a view except for ndim and is_behind, which the caller has set. The view gets no descr. The
 * layout must be valid and lie inside the memory. Does not retain the memory.
 */
static void set_view(struct bi_view *view, struct bi_memory *memory, const struct bi_layout *layout, unsigned flags)
{
	int ndim = view->ndim, is_empty = 0;

	view->memory = memory;
	for (int i = 0; i < ndim; i++) {
		view->dims[i] = layout->shape[i];
		view->dims[ndim + i] = layout->strides[i];
		is_empty |= layout->shape[i] == 0;
	}
	init_view(view, layout->dtype, layout->offset, flags, is_empty);
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
	struct bi_view *view = allocate_view(ndim, err);

	if (view)
		view->memory = bi_memory_retain(source->memory);
	return view;
}

void bi__view_abandon(struct bi_view *view)
{
	struct bi_memory *memory = view->memory;

	/* A view behind its memory is freed with the memory. */
	if (!view->is_behind)
		free(view);
	bi_memory_release(memory);
}

int bi__view_complete(struct bi_view *view, const struct bi_view *source, int64_t offset, int is_empty,
		      struct bi_view **out, struct bi_error *err)
{
	const struct bi__more *more = atomic_load_explicit(&source->more, memory_order_acquire);

	init_view(view, source->dtype, offset, source->flags, is_empty);
	if (more && more->text && add_text(view, more->text, more->descr, more->descr_length, err)) {
		bi__view_abandon(view);
		return BI_ENOMEM;
	}
	*out = view;
	return BI_OK;
}

/* Makes a view. Takes ownership of the reference to the memory on success. Retains the text, which may be NULL. */
static int new_view(struct bi_memory *memory, const struct bi_layout *layout, struct bi__text *text, unsigned flags,
		    struct bi_view **out, struct bi_error *err)
{
	struct bi_view *view = allocate_view(layout->ndim, err);

	if (!view)
		return BI_ENOMEM;
	set_view(view, memory, layout, flags);
	if (text && add_text(view, text, layout->descr, layout->descr_length, err)) {
		free(view);
		return BI_ENOMEM;
	}
	*out = view;
	return BI_OK;
}

/* Makes a view like new_view, with a checked copy of layout->descr as its text. */
static int make_with_descr(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags,
			   struct bi_view **out, struct bi_error *err)
{
	struct bi__text *text = new_text(layout->descr_length, err);
	struct bi_layout owned = *layout;
	int rc;

	if (!text)
		return BI_ENOMEM;
	memcpy(text->text, layout->descr, layout->descr_length);
	rc = bi__layout_check_descr(text->text, layout->descr_length, layout->dtype, err);
	owned.descr = text->text;
	if (!rc)
		rc = new_view(memory, &owned, text, flags, out, err);
	release_text(text);
	return rc;
}

int bi__view_make(struct bi_memory *memory, const struct bi_layout *layout, struct bi__text *text, unsigned flags,
		  struct bi_view **out, struct bi_error *err)
{
	/* The descr of a field may be part of a longer text, but the descr of a view must end with a NUL. */
	if (layout->descr && (!text || layout->descr[layout->descr_length]))
		return make_with_descr(memory, layout, flags, out, err);
	return new_view(memory, layout, layout->descr ? text : NULL, flags, out, err);
}

int bi__view_take(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		  struct bi_error *err)
{
	int rc = check_inside(memory, layout, err);

	if (memory->flags & BI_WRAP_READONLY)
		flags |= BI_VIEW_READONLY;
	return rc ? rc : bi__view_make(memory, layout, NULL, flags, out, err);
}

int bi_view_create(struct bi_memory *memory, const struct bi_layout *layout, unsigned flags, struct bi_view **out,
		   struct bi_error *err)
{
	int rc;

	if (bi__check_out(out, memory && layout, "memory or layout is NULL", err))
		return BI_EINVAL;
	if (flags & ~(unsigned)BI_VIEW_READONLY)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits, not in 0x%x", flags, BI_VIEW_READONLY);
	rc = bi__layout_check(layout, err);
	if (!rc)
		rc = bi__view_take(memory, layout, flags, out, err);
	if (!rc)
		bi_memory_retain(memory);
	return rc;
}

/* Makes the view that lies behind the memory. Takes ownership of the reference to the memory on success. */
static int view_behind(struct bi_memory *memory, const struct bi__wrapping *wrapping, struct bi_view **out,
		       struct bi_error *err)
{
	struct bi_view *view = (struct bi_view *)(void *)((char *)(memory + 1) + wrapping->kept);
	int rc = check_inside(memory, wrapping->layout, err);

	if (rc)
		return rc;
	view->ndim = (uint8_t)wrapping->layout->ndim;
	view->is_behind = true;
	set_view(view, memory, wrapping->layout, memory->flags & BI_WRAP_READONLY ? BI_VIEW_READONLY : 0);
	*out = view;
	return BI_OK;
}

/* Memory and view share one allocation, unless the layout has a descr. */
int bi__view_wrap(struct bi_context *context, const struct bi__wrapping *wrapping, struct bi_view **out,
		  struct bi_error *err)
{
	const struct bi_layout *layout = wrapping->layout;
	size_t behind = wrapping->kept + (layout->descr ? 0 : size_of(layout->ndim));
	struct bi_memory *memory;
	int rc = bi__memory_wrap(context, wrapping->foreign, behind, &memory, err);

	if (rc)
		return rc;
	rc = layout->descr ? bi__view_take(memory, layout, 0, out, err) : view_behind(memory, wrapping, out, err);
	if (!rc)
		return BI_OK;
	/* The release callback is not called, because the wrapping has failed. */
	bi__memory_set_release(memory, NULL, NULL);
	bi_memory_release(memory);
	return rc;
}

static int check_wrapped(const struct bi_foreign *foreign, const struct bi_layout *layout, struct bi_view **out,
			 struct bi_error *err)
{
	if (bi__check_out(out, layout && foreign, "foreign or layout is NULL", err))
		return BI_EINVAL;
	if (foreign->flags & BI_WRAP_STEAL)
		return bi__fail(err, BI_EINVAL,
				"flags 0x%x has BI_WRAP_STEAL, which only bi_memory_wrap takes: memory that is too "
				"small for the layout could not be given back",
				foreign->flags);
	return BI_OK;
}

int bi_view_wrap(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		 struct bi_view **out, struct bi_error *err)
{
	const struct bi__wrapping wrapping = { foreign, layout, 0 };
	int rc = check_wrapped(foreign, layout, out, err);

	if (!rc)
		rc = bi__layout_check(layout, err);
	return rc ? rc : bi__view_wrap(context, &wrapping, out, err);
}

int bi_view_wrap_at(struct bi_context *context, uint64_t data, struct bi_foreign *foreign, struct bi_layout *layout,
		    struct bi_view **out, struct bi_error *err)
{
	const struct bi__wrapping wrapping = { foreign, layout, 0 };
	int rc = check_wrapped(foreign, layout, out, err);

	if (rc)
		return rc;
	if (foreign->kind != BI_HANDLE_HOST && bi__registry_is_object(foreign->kind))
		return bi__fail(err, BI_EINVAL, "handle kind %d has no address", (int)foreign->kind);
	layout->offset = 0;
	rc = bi__layout_check(layout, err);
	if (!rc)
		rc = bi__layout_place(layout, data, &foreign->handle, &foreign->nbytes, err);
	return rc ? rc : bi__view_wrap(context, &wrapping, out, err);
}

int bi__view_new(struct bi_context *context, enum bi_memory_kind kind, const struct bi_layout *layout,
		 struct bi__text *text, struct bi_view **out, struct bi_error *err)
{
	struct bi_memory *memory;
	int rc = bi__memory_create_for(context, layout, kind, &memory, err);

	if (rc)
		return rc;
	rc = bi__view_make(memory, layout, text, 0, out, err);
	if (rc)
		bi_memory_release(memory);
	return rc;
}

int bi_view_empty(struct bi_context *context, struct bi_dtype dtype, int ndim, const int64_t *shape,
		  struct bi_view **out, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = bi__check_out(out, 1, "", err);

	if (!rc)
		rc = bi_layout_init(&layout, dtype, ndim, shape, NULL, 0, err);
	return rc ? rc : bi__view_new(context, BI_MEMORY_DEFAULT, &layout, NULL, out, err);
}

int bi_view_wrap_host(struct bi_context *context, void *data, struct bi_dtype dtype, int ndim, const int64_t *shape,
		      bi_release_fn release, void *release_data, struct bi_view **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_layout layout;
	int rc = bi__check_out(out, 1, "", err);

	if (!rc)
		rc = bi_layout_init(&layout, dtype, ndim, shape, NULL, 0, err);
	if (rc)
		return rc;
	foreign.handle = (uintptr_t)data;
	foreign.nbytes = (size_t)bi_layout_nbytes(&layout);
	foreign.release = release;
	foreign.release_data = release_data;
	return bi__view_wrap(context, &(struct bi__wrapping){ &foreign, &layout, 0 }, out, err);
}

struct bi_view *bi_view_retain(struct bi_view *view)
{
	atomic_fetch_add_explicit(&view->refs, 1, memory_order_relaxed);
	return view;
}

void bi_view_release(struct bi_view *view)
{
	if (!view || !bi__release_reference(&view->refs))
		return;
	release_more(atomic_load_explicit(&view->more, memory_order_acquire));
	bi__view_abandon(view);
}

void bi_view_layout(const struct bi_view *view, struct bi_layout *layout)
{
	bi__view_get_layout(view, layout);
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

void bi_use_native(const struct bi_view *view, struct bi_native *out)
{
	const struct bi__block *block = &view->memory->block;

	*out = (struct bi_native){ block->kind, block->handle, 0, 0 };
	if (!block->handle)
		return;
	out->offset = block->origin + (size_t)view->offset;
	out->nbytes = block->origin + view->memory->nbytes;
	if (view->memory->backend->exported[block->memory].form != BI__FORM_ELEMENT)
		return;
	out->handle += out->offset;
	out->nbytes -= out->offset;
	out->offset = 0;
}

void bi_view_native(const struct bi_view *view, struct bi_native *out)
{
	bi__memory_mark_exported(view->memory, 1, NULL); /* marked even after a failure, which has no status here */
	bi_use_native(view, out);
}

void *bi_view_host_pointer(const struct bi_view *view)
{
	char *host = view->memory->block.host;

	if (!host)
		return NULL;
	bi__memory_mark_exported(view->memory, 1, NULL);
	return host + view->offset;
}
