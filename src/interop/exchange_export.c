/* Exports a view as struct bi_exchange of abi.h. */
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/view/export.h"
#include "common/view/view.h"
#include "interop/exchange.h"
#include "interop/place.h"

/* The demands, which are bits 0 to 15 of the wishes of a caller, that an export fulfils. */
#define DEMANDS BI_ACQUIRE_READY
#define ALL_DEMANDS 0xffffu

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

static int follow_consumer(struct bi_exchange *self, uint32_t kind, uint64_t stream, uint64_t event)
{
	const struct bi_view *view = self->owner;

	return view ? bi__exchange_done(view->memory, self, kind, stream, event) : BI_EINVAL;
}

struct bi_view *bi__exchange_own(const struct bi_exchange *exchange)
{
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
}

/* Writes the device, the handle and the offset. abi.h lists the handle kind of each device type. */
static void put_place(const struct bi_view *view, struct bi_exchange *out)
{
	const struct bi_memory *memory = view->memory;
	const struct bi__block *block = &memory->block;
	const struct bi__exported *exported = &memory->backend->exported[block->memory];
	int is_host = exported->handle == BI_HANDLE_HOST;

	out->device_type = (int32_t)exported->device;
	out->handle_kind = (uint8_t)exported->handle;
	out->device_id = is_host ? 0 : memory->context->device.state.position;
	out->context = is_host ? 0 : memory->context->device.state.native;
	out->handle = block->handle;
	out->offset = block->handle ? block->origin + (uint64_t)view->offset : 0;
	out->size = block->handle ? block->origin + memory->nbytes : 0;
}

/*
 * Sets the other members, except for the members of order. The struct is not cleared first, because that would take
 * longer than the rest of the function.
 */
static void put_array(const struct bi_view *view, const char *descr, struct bi_exchange *out)
{
	put_place(view, out);
	put_type(view, out);
	out->flags = bi__view_exchange_flags(view);
	out->descr = descr;
	out->ndim = view->ndim;
	out->shape = view->ndim ? view->dims : NULL;
	out->strides = view->ndim ? view->dims + view->ndim : NULL;
	out->reserved = 0;
}

/* Sets the members that describe the order of work. */
static int put_order(const struct bi_view *view, uint32_t wishes, struct bi_exchange *out, struct bi_error *err)
{
	int rc = bi__memory_mark_exported(view->memory, err);

	if (rc)
		return rc;
	out->order_kind = BI_ORDER_NONE;
	out->stream = out->event = 0;
	if (view->memory->backend->synchronous && view->memory->idle)
		return BI_OK;
	return bi__exchange_offer(view->memory, wishes, out, err);
}

static int fill(const struct bi_view *view, uint32_t wishes, struct bi_exchange *out, struct bi_error *err)
{
	const char *descr = NULL;
	int rc = BI_OK;

	if (bi__dtype_words(view->dtype).code == BI__TYPE_OPAQUE)
		rc = bi__view_json(view, &descr, err);
	if (!rc)
		rc = put_order(view, wishes, out, err);
	if (!rc)
		put_array(view, descr, out);
	return rc;
}

/* Checks the members of the caller. They tell how many bytes are written, so nothing is written before. */
static int check_caller(const struct bi_exchange *out, uint32_t wishes, struct bi_error *err)
{
	if (!BI_ABI_KNOWS(out->version))
		return bi__fail(err, BI_EVERSION, "the caller's version is %u.%u, this library knows %u.%u",
				out->version >> 16, out->version & 0xffff, BI_ABI_VERSION >> 16,
				BI_ABI_VERSION & 0xffff);
	if (out->struct_size < sizeof(*out) || out->struct_size > BI_ABI_SIZE_MAX)
		return bi__fail(err, BI_EVERSION, "the caller's struct_size is %u, not in %zu..%u", out->struct_size,
				sizeof(*out), BI_ABI_SIZE_MAX);
	if (wishes & ALL_DEMANDS & ~DEMANDS)
		return bi__fail(err, BI_EUNSUPPORTED, "wishes 0x%x has unknown demands, not in 0x%x", wishes, DEMANDS);
	return BI_OK;
}

int bi_view_export(const struct bi_view *view, uint32_t wishes, struct bi_exchange *out, struct bi_error *err)
{
	int rc;

	if (!view || !out)
		return bi__fail(err, BI_EINVAL, "view or out is NULL");
	rc = check_caller(out, wishes, err);
	if (!rc)
		rc = fill(view, wishes, out, err);
	out->release = NULL;
	if (rc)
		return rc;
	out->release = wishes & BI_ACQUIRE_BORROW ? release_nothing : release_view;
	out->done = follow_consumer;
	out->owner = wishes & BI_ACQUIRE_BORROW ? (void *)(uintptr_t)view : bi__view_retain_const(view);
	if (out->struct_size > sizeof(*out))
		memset(out + 1, 0, out->struct_size - sizeof(*out));
	return BI_OK;
}
