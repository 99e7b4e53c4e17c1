/* Exports a view as struct bi_exchange of abi.h. */
#include <stdlib.h>
#include <string.h>

#include "common/backend/dispatch.h"
#include "buffer_interface/binding.h"
#include "common/view/export.h"
#include "common/view/view.h"
#include "interop/exchange.h"
#include "interop/place.h"
#include "common/runtime/fence.h"

/* The object that bi_exchange.owner points to if the bi_exchange has an event. Without an event it points to the view.
 */
struct export
{
	struct bi_view *view;
	struct bi__fence event;
};

static void release_export(struct bi_exchange *self)
{
	struct export *export = self->owner;

	self->release = NULL;
	self->owner = NULL;
	bi__fence_clear(&export->event);
	bi_view_release(export->view);
	free(export);
}

static void release_view(struct bi_exchange *self)
{
	struct bi_view *view = self->owner;

	self->release = NULL;
	self->owner = NULL;
	bi_view_release(view);
}

/* Release function of a struct that borrows the view: the caller of the export keeps the view alive. */
static void release_nothing(struct bi_exchange *self)
{
	self->release = NULL;
	self->owner = NULL;
}

struct bi_view *bi__exchange_own(const struct bi_exchange *exchange)
{
	if (exchange->release == release_export)
		return ((struct export *)exchange->owner)->view;
	return exchange->release == release_view || exchange->release == release_nothing ? exchange->owner : NULL;
}

static void put_type(const struct bi_view *view, struct bi_exchange *out)
{
	struct bi_dtype dtype = view->dtype;
	struct bi__type_words words = bi__dtype_words(dtype);
	uint32_t lanes = words.code != BI__TYPE_OPAQUE ? dtype.lanes : dtype.item_size;

	out->type_code = words.code;
	out->type_bits = words.bits;
	out->type_lanes = (uint16_t)(lanes <= UINT16_MAX ? lanes : 0);
	out->item_size = dtype.item_size;
	out->type_kind = words.kind;
	out->byte_order = words.order;
	memset(out->reserved_type, 0, sizeof(out->reserved_type));
}

/* Writes the device, the handle and the offset. abi.h lists the handle kind of each device type. */
static void put_place(const struct bi_view *view, struct bi_exchange *out)
{
	const struct bi_memory *memory = view->memory;
	const struct bi__exported *exported = &memory->backend->exported[memory->block.memory];
	struct bi_native native;

	bi__view_native(view, &native);
	out->device_type = (int32_t)exported->device;
	out->handle_kind = exported->handle;
	out->device_id = bi__place_has_number(memory) ? memory->context->device.info->ordinal : 0;
	out->handle = native.handle;
	out->offset = native.offset;
	out->nbytes = native.nbytes;
	out->context = native.kind == BI_HANDLE_HOST ? 0 : memory->context->device.state.native;
}

/*
 * Sets all members except release, owner, and those that bi__exchange_offer sets. The struct is not cleared first,
 * because that would take longer than the rest of the function.
 */
static void put_array(const struct bi_view *view, const struct bi__more *more, struct bi_exchange *out)
{
	out->version = BI_ABI_VERSION;
	out->struct_size = sizeof(*out);
	out->flags = view->exchange_flags;
	put_place(view, out);
	put_type(view, out);
	out->descr = more->descr;
	out->ndim = view->ndim;
	out->shape = view->ndim ? view->dims : NULL;
	out->strides = view->ndim ? view->dims + view->ndim : NULL;
	out->element_strides = view->ndim && more->is_exact ? more->element_strides : NULL;
	out->mask = NULL;
	memset(out->reserved, 0, sizeof(out->reserved));
}

/*
 * Makes the struct the owner of the event and of a reference to the view. Ownership of the event is transferred, also
 * on failure.
 */
static int hold_event(const struct bi_view *view, struct bi__fence *event, struct bi_exchange *out,
		      struct bi_error *err)
{
	struct export *export = malloc(sizeof(*export));

	if (!export) {
		bi__fence_clear(event);
		return bi__fail(err, BI_ENOMEM, "no memory to export a view with an event");
	}
	export->view = bi__view_retain_const(view);
	export->event = *event;
	out->release = release_export;
	out->owner = export;
	return BI_OK;
}

/* Sets the members that describe the order of work. If `event` is NULL, no event is made. */
static int put_order(const struct bi_view *view, unsigned flags, struct bi__fence *event, struct bi_exchange *out,
		     struct bi_error *err)
{
	int rc = bi__memory_mark_exported(view->memory, err);

	if (rc)
		return rc;
	out->stream_kind = BI_STREAM_KIND_NONE;
	out->reserved_stream = 0;
	out->stream = out->event = 0;
	if (view->memory->backend->synchronous && view->memory->idle)
		return BI_OK;
	return bi__exchange_offer(view->memory, flags, out, event, err);
}

static int put_owner(const struct bi_view *view, unsigned flags, struct bi_exchange *out, struct bi_error *err)
{
	struct bi__fence event = { NULL, 0 };
	int rc = put_order(view, flags, &event, out, err);

	if (rc)
		return rc;
	if (event.context)
		return hold_event(view, &event, out, err);
	out->owner = bi__view_retain_const(view);
	out->release = release_view;
	return BI_OK;
}

int bi_view_export(const struct bi_view *view, unsigned flags, struct bi_exchange *out, struct bi_error *err)
{
	const struct bi__more *more;
	int rc;

	if (!view || !out)
		return bi__fail(err, BI_EINVAL, "view or out is NULL");
	if (flags & ~(unsigned)(BI_EXPORT_EVENT | BI_EXPORT_SYNCHRONIZE))
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits", flags);
	more = bi__view_more(view, err);
	rc = more ? put_owner(view, flags, out, err) : BI_ENOMEM;
	if (rc)
		memset(out, 0, sizeof(*out));
	else
		put_array(view, more, out);
	return rc;
}

int bi_view_describe(const struct bi_view *view, struct bi_exchange *out, struct bi_error *err)
{
	const struct bi__more *more;
	int rc;

	if (!view || !out)
		return bi__fail(err, BI_EINVAL, "view or out is NULL");
	more = bi__view_more(view, err);
	rc = more ? put_order(view, 0, NULL, out, err) : BI_ENOMEM;
	if (rc) {
		memset(out, 0, sizeof(*out));
		return rc;
	}
	put_array(view, more, out);
	out->release = release_nothing;
	out->owner = (void *)(uintptr_t)view;
	return BI_OK;
}
