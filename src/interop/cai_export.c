/* Exports a view as struct bi_cai, with the checks that the rules demand of a producer. */
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/view/export.h"
#include "common/base/status.h"
#include "interop/cai.h"
#include "interop/place.h"

#define EXPORT_FLAGS ((unsigned)(BI_CAI_UNORDERED | BI_CAI_SYNCHRONIZE | BI_CAI_NONBLOCKING))

_Static_assert(BI_CAI_TYPESTR >= BI_DTYPE_TEXT, "every typestr fits");

static int write_cai_type(struct bi_dtype dtype, char typestr[BI_CAI_TYPESTR], struct bi_error *err)
{
	int rc = bi__cite(bi_dtype_typestr(dtype, typestr, err), "P12", err);

	if (rc || !dtype.swapped)
		return rc;
	return bi__fail(err, BI_EDTYPE, "type %s does not have the byte order of this machine; convert it first [P11]",
			typestr);
}

int bi__cai_write(const struct bi_layout *layout, uintptr_t address, struct bi_cai *out, struct bi_error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	rc = write_cai_type(layout->dtype, out->typestr, err);
	if (rc)
		return rc;
	out->ndim = layout->ndim;
	out->shape = layout->shape;
	/*
	 * A C-contiguous array is exported without strides, because some consumers treat an array with strides as not
	 * contiguous.
	 */
	if (!bi_layout_is_contiguous(layout, 'C'))
		out->strides = layout->strides;
	if (layout->dtype.type == BI_VOID && layout->descr) {
		out->descr = layout->descr;
		out->descr_length = layout->descr_length;
	}
	if (bi_layout_size(layout))
		out->data = (uint64_t)address + (uint64_t)layout->offset;
	return BI_OK;
}

/*
 * Returns true if the export must order the consumer's work after pending work. An array without elements needs no
 * order, because the consumer accesses no memory.
 */
static int is_ordered(const struct bi_view *view, unsigned flags, const struct bi_cai *out)
{
	int opted_out = view->memory->context->cai_unordered && !(flags & BI_CAI_SYNCHRONIZE);

	return out->data && !opted_out && !(flags & BI_CAI_UNORDERED);
}

static int write_stream(const struct bi_view *view, unsigned flags, struct bi_cai *out, struct bi_error *err)
{
	int has_stream = out->version >= 3;
	uint32_t offer = flags & BI_CAI_SYNCHRONIZE || !has_stream ? BI_ACQUIRE_READY : 0;
	struct bi_stream *home = NULL;
	int rc = BI_OK;

	if (is_ordered(view, flags, out))
		rc = bi__export_home(view->memory, offer, !(flags & BI_CAI_NONBLOCKING), &home, err);
	if (rc)
		return rc;
	out->stream_kind = home ? BI_CAI_STREAM_GIVEN : has_stream ? BI_CAI_STREAM_NONE : BI_CAI_STREAM_ABSENT;
	out->stream = home ? home->queue.native : 0;
	return BI_OK;
}

static int check_export(const struct bi_view *view, int version, unsigned flags, struct bi_error *err)
{
	if (version < 0 || version > BI_CAI_VERSION)
		return bi__fail(err, BI_EVERSION, "version %d of the CUDA Array Interface is not in 0..%d [P17]",
				version, BI_CAI_VERSION);
	if (flags & ~EXPORT_FLAGS)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits, not in 0x%x", flags, EXPORT_FLAGS);
	if (flags & BI_CAI_UNORDERED && flags & BI_CAI_SYNCHRONIZE)
		return bi__fail(err, BI_EINVAL, "flags 0x%x requests both a wait and no wait", flags);
	if (view->memory->block.kind != BI_HANDLE_CUDA)
		return bi__fail(err, BI_EUNSUPPORTED, "no CUDA device reaches memory of %s [P14]",
				view->memory->backend->name);
	return bi__dispatch_alive(&view->memory->context->device, err);
}

static int export_cai(const struct bi_view *view, int version, unsigned flags, struct bi_cai *out, struct bi_error *err)
{
	const struct bi__block *block = &view->memory->block;
	struct bi_layout layout;
	int rc = check_export(view, version, flags, err);

	if (rc)
		return rc;
	bi_view_layout(view, &layout);
	rc = bi__cai_write(&layout, block->handle + block->origin, out, err);
	if (rc)
		return rc;
	out->version = version;
	out->readonly = (view->flags & BI_VIEW_READONLY) != 0;
	out->shape = bi_view_shape(view);
	if (out->strides)
		out->strides = bi_view_strides(view);
	if (out->data)
		rc = bi__memory_mark_exported(view->memory, !(flags & BI_CAI_NONBLOCKING), err);
	return rc ? rc : write_stream(view, flags, out, err);
}

int bi_cai_export(const struct bi_view *view, int version, unsigned flags, struct bi_cai *out, struct bi_error *err)
{
	int rc;

	if (!view || !out)
		return bi__fail(err, BI_EINVAL, "view or out is NULL");
	memset(out, 0, sizeof(*out));
	rc = export_cai(view, version, flags, out, err);
	if (rc)
		memset(out, 0, sizeof(*out));
	return rc;
}
