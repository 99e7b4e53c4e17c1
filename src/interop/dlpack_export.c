/* Exports a view as a DLPack tensor, with the checks that the rules demand of a producer. */
#include "buffer_interface/dlpack.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/status.h"
#include "common/view/view.h"
#include "interop/place.h"

struct bi_dl_device bi_dlpack_device(const struct bi_view *view)
{
	const struct bi_memory *memory = view->memory;
	const struct bi__exported *exported = &memory->backend->exported[memory->block.memory];
	struct bi_dl_device device = { (int32_t)exported->device, 0 };
	int is_host = exported->handle == BI_HANDLE_HOST;

	/* The device_id of unified memory is 0, because the memory belongs to all devices. */
	if (memory->backend->named_by_ordinal && !is_host && memory->block.memory != BI_MEMORY_UNIFIED)
		device.device_id = memory->context->device.info->ordinal;
	return device;
}

/* Fails with the message for an element type that DLPack does not have. */
BI__COLD static int refuse_type(struct bi_dtype dtype, struct bi_dl_type *out, struct bi_error *err)
{
	return bi__cite(bi_dtype_to_dlpack(dtype, &out->code, &out->bits, &out->lanes, err), "D9", err);
}

static int put_type(const struct bi_view *view, struct bi_dl_type *out, struct bi_error *err)
{
	struct bi__type_words words = bi__dtype_words(view->dtype);

	*out = (struct bi_dl_type){ words.code, words.bits, view->dtype.lanes };
	return words.code == BI__TYPE_OPAQUE ? refuse_type(view->dtype, out, err) : BI_OK;
}

/*
 * Writes data and byte_offset. byte_offset is 0, because many consumers ignore it. A cl_mem is an exception: no offset
 * can be added to it.
 */
static inline int put_place(const struct bi_view *view, struct bi_dl_tensor *out, struct bi_error *err)
{
	const struct bi__exported *exported = &view->memory->backend->exported[view->memory->block.memory];
	const struct bi__block *block = &view->memory->block;
	int is_object = exported->form == BI__FORM_OBJECT;
	size_t offset = block->origin + (size_t)view->offset;

	out->device = bi_dlpack_device(view);
	if (view->is_empty) {
		out->data = NULL;
		out->byte_offset = 0;
		return BI_OK;
	}
	if (exported->not_in_dlpack)
		return bi__fail(err, BI_EUNSUPPORTED, "DLPack has no name for memory of handle kind %d [D8]",
				(int)block->kind);
	out->byte_offset = is_object ? offset : 0;
	out->data = (void *)(is_object ? block->handle : block->handle + offset);
	return bi__memory_mark_exported(view->memory, 1, err);
}

static inline int put_layout(const struct bi_view *view, struct bi_dl_tensor *out, struct bi_error *err)
{
	const struct bi__more *more;

	out->ndim = view->ndim;
	if (!view->ndim) {
		out->shape = out->strides = NULL;
		return BI_OK;
	}
	more = bi__view_more(view, err);
	if (!more)
		return BI_ENOMEM;
	if (!more->is_exact)
		return bi__fail(err, BI_EUNSUPPORTED, "a stride is no multiple of the item size %u [D4]",
				view->dtype.item_size);
	/* DLPack declares these pointers without const, but consumers do not write through them. */
	out->shape = (int64_t *)(uintptr_t)view->dims;
	out->strides = (int64_t *)(uintptr_t)more->element_strides;
	return BI_OK;
}

static inline int describe_tensor(const struct bi_view *view, struct bi_dl_tensor *out, struct bi_error *err)
{
	int rc = put_type(view, &out->dtype, err);

	if (!rc)
		rc = put_layout(view, out, err);
	return rc ? rc : put_place(view, out, err);
}

/*
 * Refuses elements smaller than a byte in a tensor without flags, because such a tensor cannot say that the elements
 * are not packed.
 */
static int check_packing(const struct bi_dl_tensor *tensor, struct bi_error *err)
{
	if (!bi__dlpack_is_small(tensor->dtype.bits))
		return BI_OK;
	return bi__fail(err, BI_EDTYPE,
			"elements of %u bits take a byte each here, which a tensor without flags cannot say [D9]",
			tensor->dtype.bits);
}

int bi_dlpack_describe(const struct bi_view *view, struct bi_dl_tensor *out, struct bi_error *err)
{
	int rc;

	if (!view || !out)
		return bi__fail(err, BI_EINVAL, "view or out is NULL");
	rc = describe_tensor(view, out, err);
	if (!rc)
		rc = check_packing(out, err);
	if (rc)
		memset(out, 0, sizeof(*out));
	return rc;
}

static void delete_versioned(struct bi_dl_managed_versioned *self)
{
	struct bi_view *view = self->manager_ctx;

	free(self);
	bi_view_release(view);
}

static void delete_unversioned(struct bi_dl_managed *self)
{
	struct bi_view *view = self->manager_ctx;

	free(self);
	bi_view_release(view);
}

struct bi_view *bi_dlpack_view(const struct bi_dl_managed_versioned *tensor)
{
	return tensor->deleter == delete_versioned ? tensor->manager_ctx : NULL;
}

struct bi_view *bi_dlpack_view_unversioned(const struct bi_dl_managed *tensor)
{
	return tensor->deleter == delete_unversioned ? tensor->manager_ctx : NULL;
}

static int check_flags(uint64_t flags, uint64_t known, struct bi_error *err)
{
	if (!(flags & ~known))
		return BI_OK;
	return bi__fail(err, BI_EINVAL, "flags 0x%llx has other bits than 0x%llx", (unsigned long long)flags,
			(unsigned long long)known);
}

static uint64_t flags_of(const struct bi_view *view, const struct bi_dl_tensor *tensor)
{
	return (view->flags & BI_VIEW_READONLY ? BI_DL_READONLY : 0) |
	       (bi__dlpack_is_small(tensor->dtype.bits) ? BI_DL_PADDED : 0);
}

int bi_dlpack_export(const struct bi_view *view, uint64_t flags, struct bi_dl_managed_versioned **out,
		     struct bi_error *err)
{
	struct bi_dl_managed_versioned *made;
	int rc;

	if (bi__check_out(out, view != NULL, "view is NULL", err))
		return BI_EINVAL;
	rc = check_flags(flags, BI_DL_COPIED, err);
	if (rc)
		return rc;
	made = malloc(sizeof(*made));
	if (!made)
		return bi__fail(err, BI_ENOMEM, "no memory to export a view of %d dimensions", view->ndim);
	made->manager_ctx = bi__view_retain_const(view);
	made->deleter = delete_versioned;
	rc = describe_tensor(view, &made->tensor, err);
	if (rc) {
		delete_versioned(made);
		return rc;
	}
	made->version = (struct bi_dl_version){ BI_DLPACK_MAJOR, BI_DLPACK_MINOR };
	made->flags = flags | flags_of(view, &made->tensor);
	*out = made;
	return BI_OK;
}

int bi_dlpack_export_unversioned(const struct bi_view *view, uint64_t flags, struct bi_dl_managed **out,
				 struct bi_error *err)
{
	struct bi_dl_managed *made;
	struct bi_dl_tensor tensor;
	int rc;

	if (bi__check_out(out, view != NULL, "view is NULL", err))
		return BI_EINVAL;
	rc = check_flags(flags, BI_DL_COPIED | BI_DL_READONLY, err);
	if (rc)
		return rc;
	if (view->flags & BI_VIEW_READONLY && !(flags & BI_DL_READONLY))
		return bi__fail(err, BI_EREADONLY,
				"the view is read-only, which a tensor without version cannot say: export a copy [D3]");
	rc = bi_dlpack_describe(view, &tensor, err);
	if (rc)
		return rc;
	made = malloc(sizeof(*made));
	if (!made)
		return bi__fail(err, BI_ENOMEM, "no memory to export a view of %d dimensions", view->ndim);
	*made = (struct bi_dl_managed){ tensor, bi__view_retain_const(view), delete_unversioned };
	*out = made;
	return BI_OK;
}
