/* Imports a DLPack tensor as a view, with the checks that the rules demand of a consumer. */
#include <inttypes.h>

#include "common/base/sized.h"
#include "common/base/checked.h"
#include "common/backend/registry.h"
#include "common/layout/layout.h"
#include "common/runtime/memory.h"
#include "buffer_interface/dlpack.h"
#include "interop/place.h"

#define IMPORT_FLAGS ((unsigned)(BI_DLPACK_UNORDERED | BI_DLPACK_UNCHECKED | BI_DLPACK_WRITABLE | BI_DLPACK_TRUSTED))
#define TENSOR_FLAGS ((uint64_t)(BI_DL_READONLY | BI_DL_COPIED | BI_DL_PADDED))

/* A tensor of either version, and the arguments of the import. */
struct import {
	struct bi_context *context;
	const struct bi_dlpack_import_options *options;
	const struct bi_dl_tensor *tensor;
	uint64_t flags; /* BI_DL_ bits: those of the tensor; without a version, derived from the options */
	const struct bi__exported
		*exported; /* the entry of the backend for the tensor's device type; set by check_device */
	struct bi_view
		*own; /* the view from which this library exported the tensor; NULL: a tensor of another producer */
	bi_release_fn release;
	void *data;
};

static void release_versioned(void *data)
{
	struct bi_dl_managed_versioned *tensor = data;

	if (tensor->deleter)
		tensor->deleter(tensor);
}

static void release_unversioned(void *data)
{
	struct bi_dl_managed *tensor = data;

	if (tensor->deleter)
		tensor->deleter(tensor);
}

static int is_on_host(const struct import *import)
{
	return import->exported->handle == BI_HANDLE_HOST;
}

/*
 * Checks device_id of memory whose backend names devices by an ordinal. The device_id of unified memory is not checked,
 * because the memory belongs to all devices.
 */
static int check_ordinal(const struct import *import, enum bi_memory_kind kind, struct bi_error *err)
{
	const struct bi_dl_device *device = &import->tensor->device;

	if (kind != BI_MEMORY_UNIFIED && device->device_id != import->context->device.info->ordinal)
		return bi__fail(err, BI_EINVAL, "device_id is %" PRId32 ", but device %s has ordinal %d [E9]",
				device->device_id, import->context->device.info->spec,
				import->context->device.info->ordinal);
	return BI_OK;
}

/*
 * Checks memory that belongs to a native context. DLPack does not name the context, so only the library's own exports
 * can be checked; other tensors need BI_DLPACK_TRUSTED.
 */
static int check_own(const struct import *import, struct bi_error *err)
{
	if (import->own && !bi__same_space(import->own->memory->context, import->context))
		return bi__fail(err, BI_EINVAL,
				"the memory belongs to another native context than that of device %s [E7]",
				import->context->device.info->spec);
	if (import->own || import->options->flags & BI_DLPACK_TRUSTED)
		return BI_OK;
	return bi__fail(err, BI_EUNSUPPORTED,
			"data %p cannot be checked to be a handle of the device; set BI_DLPACK_TRUSTED if it is one",
			import->tensor->data);
}

static int check_device(struct import *import, struct bi_error *err)
{
	const int32_t type = import->tensor->device.device_type;
	const struct bi__backend *exporter = NULL;
	enum bi_memory_kind kind;

	if (type)
		exporter = bi__registry_exporter(import->context->device.backend, 0, type, &kind);
	if (!exporter)
		return bi__fail(err, BI_EUNSUPPORTED, "device type %" PRId32 " is no device of this build [E7]", type);
	import->exported = &exporter->exported[kind];
	if (is_on_host(import))
		return BI_OK;
	if (exporter != import->context->device.backend)
		return bi__fail(err, BI_EINVAL, "device type %" PRId32 " cannot be reached from device %s [E7]", type,
				import->context->device.info->spec);
	return exporter->named_by_ordinal ? check_ordinal(import, kind, err) : check_own(import, err);
}

static int check_place(struct import *import, struct bi_error *err)
{
	int rc = check_device(import, err);

	if (rc || is_on_host(import))
		return rc;
	return bi__place_check_device(import->context, import->options->producer_stream, err);
}

/*
 * Reads the element type. Packed elements are refused, because they have no addresses and no layout can describe them.
 */
static int read_type(const struct import *import, struct bi_dtype *out, struct bi_error *err)
{
	const struct bi_dl_type *type = &import->tensor->dtype;
	int rc = bi__cite(bi_dtype_from_dlpack(type->code, type->bits, type->lanes, out, err), "D9", err);

	if (rc || !bi__dlpack_is_small(type->bits) || import->flags & BI_DL_PADDED)
		return rc;
	return bi__fail(err, BI_EUNSUPPORTED,
			"elements of %u bits are packed; only those padded to a byte are supported [E11]", type->bits);
}

static int read_strides(const struct bi_dl_tensor *tensor, int64_t item, int64_t out[BI_MAX_NDIM], struct bi_error *err)
{
	for (int i = 0; i < tensor->ndim; i++)
		if (bi__mul(tensor->strides[i], item, &out[i]))
			return bi__fail(err, BI_EOVERFLOW,
					"strides[%d] is %" PRId64 " elements of %" PRId64
					" bytes, which does not fit [E7]",
					i, tensor->strides[i], item);
	return BI_OK;
}

/* Reads the layout, with the offset 0. find_bytes sets the offset. */
static int read_layout(const struct import *import, struct bi_layout *out, struct bi_error *err)
{
	const struct bi_dl_tensor *tensor = import->tensor;
	int64_t strides[BI_MAX_NDIM];
	struct bi_dtype dtype;
	int rc = read_type(import, &dtype, err);

	/* bi_layout_init refuses a wrong ndim, and a shape that is NULL. */
	if (!rc && tensor->strides && tensor->ndim <= BI_MAX_NDIM)
		rc = read_strides(tensor, dtype.item_size, strides, err);
	if (rc)
		return rc;
	rc = bi_layout_init(out, dtype, tensor->ndim, tensor->shape, tensor->strides ? strides : NULL, 0, err);
	return bi__cite(rc, "E7", err);
}

/*
 * Fills in the handle and the size of the memory, and the layout's offset. For an address, the handle is the lowest
 * byte that an element covers. For a driver object, the size stays 0, and the driver reports it later. Without
 * elements, the handle and the size stay 0.
 */
static int find_bytes(const struct import *import, struct bi_layout *layout, struct bi_foreign *foreign,
		      struct bi_error *err)
{
	const struct bi_dl_tensor *tensor = import->tensor;
	int is_object = import->exported->form == BI__FORM_OBJECT;
	uint64_t data = (uintptr_t)tensor->data;

	if (!bi_layout_size(layout))
		return BI_OK;
	if (!data)
		return bi__fail(err, BI_EINVAL, "data is NULL, but the array has elements [E7]");
	if (!is_object && tensor->byte_offset <= UINT64_MAX - data)
		return bi__cite(
			bi__layout_place(layout, data + tensor->byte_offset, &foreign->handle, &foreign->nbytes, err),
			"E7", err);
	foreign->handle = (uintptr_t)data;
	if (is_object && tensor->byte_offset <= INT64_MAX)
		return bi__cite(bi_layout_init(layout, layout->dtype, layout->ndim, layout->shape, layout->strides,
					       (int64_t)tensor->byte_offset, err),
				"E6", err);
	return bi__fail(err, BI_EOVERFLOW, "byte_offset %" PRIu64 " does not fit [E6]", tensor->byte_offset);
}

/*
 * Wraps the memory. Device memory is pending, unless the caller orders all work. Without producer_stream, the producer
 * has made the context stream wait for its work (docs/ordering.md, 33.1).
 */
static int import_foreign(const struct import *import, struct bi_view **out, struct bi_error *err)
{
	const struct bi_dlpack_import_options *options = import->options;
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_layout layout;
	const struct bi__wrapping wrapping = { &foreign, &layout, 0 };
	int rc = read_layout(import, &layout, err);

	foreign.kind = import->exported->handle;
	foreign.flags = bi__place_flags(import->flags & BI_DL_READONLY, options->flags & BI_DLPACK_UNORDERED,
					options->flags & BI_DLPACK_UNCHECKED);
	if (!rc)
		rc = find_bytes(import, &layout, &foreign, err);
	if (rc)
		return rc;
	if (!is_on_host(import))
		foreign.stream = options->producer_stream;
	rc = bi__place_view(import->context, &wrapping, "E7", out, err);
	if (rc)
		return rc;
	if (foreign.handle && !is_on_host(import) && !foreign.stream && !(options->flags & BI_DLPACK_UNORDERED))
		bi__memory_mark_pending((*out)->memory);
	bi__memory_set_release((*out)->memory, import->release, import->data);
	return BI_OK;
}

/*
 * Imports a tensor that this library exported: *out is the exported view, so that the memory has one ordering state.
 * The home stream of device memory waits for producer_stream (docs/ordering.md, 34.3).
 */
static int import_own(const struct import *import, struct bi_view **out, struct bi_error *err)
{
	struct bi_stream *stream = import->options->producer_stream;
	struct bi_use use = { import->own, BI_ACCESS_READ };
	int rc = BI_OK;

	if (!(import->own->flags & BI_VIEW_READONLY))
		use.access |= BI_ACCESS_WRITE;
	if (stream && !is_on_host(import))
		rc = bi_use_end(stream, &use, 1, err);
	if (rc)
		return rc;
	*out = bi_view_retain(import->own);
	import->release(import->data);
	return BI_OK;
}

static int import_tensor(struct import *import, struct bi_view **out, struct bi_error *err)
{
	static const struct bi__sized options_size = { "options", sizeof(*import->options),
						       BI__SIZED_END(struct bi_dlpack_import_options, flags) };
	struct bi_dlpack_import_options known;
	int rc;

	import->options = bi__sized_read(&options_size, import->options, &known, err);
	if (!import->options)
		return BI_EINVAL;
	rc = bi__place_check_options(import->options->flags, IMPORT_FLAGS, BI_DLPACK_UNORDERED,
				     import->options->producer_stream, err);
	if (!rc && import->flags & ~TENSOR_FLAGS)
		rc = bi__fail(err, BI_EUNSUPPORTED, "flags 0x%" PRIx64 " has unknown bits, not in 0x%x [E11]",
			      import->flags, (unsigned)TENSOR_FLAGS);
	if (!rc)
		rc = check_place(import, err);
	if (rc)
		return rc;
	return import->own ? import_own(import, out, err) : import_foreign(import, out, err);
}

static const struct bi_dlpack_import_options defaults = BI_DLPACK_IMPORT_INIT;

int bi_dlpack_import(struct bi_context *context, struct bi_dl_managed_versioned *tensor,
		     const struct bi_dlpack_import_options *options, struct bi_view **out, struct bi_error *err)
{
	struct import import = { .context = context, .options = options ? options : &defaults };

	if (bi__check_out(out, context && tensor, context ? "tensor is NULL" : "context is NULL", err))
		return BI_EINVAL;
	if (tensor->version.major != BI_DLPACK_MAJOR)
		return bi__fail(err, BI_EVERSION, "the tensor has version %" PRIu32 ", this library knows %d [E2]",
				tensor->version.major, BI_DLPACK_MAJOR);
	import.tensor = &tensor->tensor;
	import.flags = tensor->flags;
	import.own = bi_dlpack_view(tensor);
	import.release = release_versioned;
	import.data = tensor;
	return import_tensor(&import, out, err);
}

int bi_dlpack_import_unversioned(struct bi_context *context, struct bi_dl_managed *tensor,
				 const struct bi_dlpack_import_options *options, struct bi_view **out,
				 struct bi_error *err)
{
	struct import import = { .context = context, .options = options ? options : &defaults };

	if (bi__check_out(out, context && tensor, context ? "tensor is NULL" : "context is NULL", err))
		return BI_EINVAL;
	import.tensor = &tensor->tensor;
	import.flags = import.options->flags & BI_DLPACK_WRITABLE ? 0 : BI_DL_READONLY;
	import.own = bi_dlpack_view_unversioned(tensor);
	import.release = release_unversioned;
	import.data = tensor;
	return import_tensor(&import, out, err);
}
