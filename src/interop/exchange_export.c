/* Exports a view as struct bi_exchange of abi.h. */
#include <string.h>

#include "buffer_interface/binding.h"
#include "common/runtime/order.h"
#include "common/view/export.h"
#include "common/view/view.h"
#include "interop/place.h"

/* Demands are bits 0 to 15 of the wishes of a caller. DEMANDS are those that an export fulfils. */
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

static inline void put_type(struct bi_dtype dtype, struct bi__type_words words, struct bi_exchange *out)
{
	uint32_t lanes = words.code != BI__TYPE_OPAQUE ? dtype.lanes : dtype.item_size;

	out->type_code = words.code;
	out->type_bits = words.bits;
	out->type_lanes = (uint16_t)(lanes <= UINT16_MAX ? lanes : 0);
	out->item_size = dtype.item_size;
}

/* Writes device, context, handle, offset and size. abi.h lists the handle kind of each device type. */
static inline void put_place(const struct bi_view *view, struct bi_exchange *out)
{
	const struct bi_memory *memory = view->memory;
	const struct bi__block *block = &memory->block;
	const struct bi__exported *exported = &memory->backend->exported[block->memory];
	int is_host = exported->handle == BI_HANDLE_HOST;

	out->device_type = (int32_t)exported->device;
	out->handle_kind = (uint8_t)exported->handle;
	out->device_id = is_host ? 0 : memory->context->device.state.device_id;
	out->context = is_host ? 0 : memory->context->device.state.native;
	out->handle = block->handle;
	out->offset = block->handle ? block->origin + (uint64_t)view->offset : 0;
	out->size = block->handle ? block->origin + memory->nbytes : 0;
}

/*
 * Sets every member except for version, struct_size, descr and the members that put_order sets. So the struct need not
 * be cleared first.
 */
static inline void put_array(const struct bi_view *view, struct bi__type_words words, uint32_t wishes,
			     struct bi_exchange *out)
{
	put_place(view, out);
	put_type(view->dtype, words, out);
	out->flags = bi__view_exchange_flags(view);
	out->ndim = view->ndim;
	out->shape = view->ndim ? view->dims : NULL;
	out->strides = view->ndim ? view->dims + view->ndim : NULL;
	out->reserved = 0;
	out->release = wishes & BI_ACQUIRE_BORROW ? release_nothing : release_view;
	out->done = follow_consumer;
	out->owner = wishes & BI_ACQUIRE_BORROW ? (void *)(uintptr_t)view : bi__view_retain_const(view);
}

/*
 * Sets the members that describe the order of work. `home` is the home stream if work is pending on it, or else NULL.
 */
static inline void put_order(const struct bi_stream *home, struct bi_exchange *out)
{
	out->order_kind = (uint8_t)(home ? home->queue.kind : BI_ORDER_NONE);
	out->stream = home ? home->queue.native : 0;
	out->event = 0;
}

/* Returns 1 if consumers use the memory as host memory. Such consumers cannot wait for a stream of a device. */
static int is_for_host(const struct bi_memory *memory)
{
	return memory->backend->exported[memory->block.memory].handle == BI_HANDLE_HOST;
}

static int prepare_memory(struct bi_memory *memory, uint32_t wishes, int blocks, struct bi_stream **home,
			  struct bi_error *err)
{
	int rc = bi__memory_mark_exported(memory, blocks, err);

	return rc ? rc : bi__export_home(memory, is_for_host(memory) ? BI_ACQUIRE_READY : wishes, blocks, home, err);
}

/*
 * Checks version and struct_size, which the caller has set, and the demands. Nothing is written before, because
 * struct_size is the number of bytes that may be written.
 */
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

static __attribute__((noinline)) int export_any(const struct bi_view *view, uint32_t wishes, int blocks,
						struct bi_exchange *out, struct bi_error *err)
{
	struct bi__type_words words;
	struct bi_stream *home;
	int rc;

	if (!view || !out)
		return bi__fail(err, BI_EINVAL, "view or out is NULL");
	rc = check_caller(out, wishes, err);
	out->release = NULL;
	if (rc)
		return rc;
	words = bi__dtype_words(view->dtype);
	out->descr = NULL;
	if (words.code == BI__TYPE_OPAQUE)
		rc = bi__view_json(view, &out->descr, err);
	if (!rc)
		rc = prepare_memory(view->memory, wishes, blocks, &home, err);
	if (!rc && home)
		rc = bi__order_name_home(view->memory, blocks, err);
	if (rc)
		return rc;
	put_order(home, out);
	put_array(view, words, wishes, out);
	memset(out + 1, 0, out->struct_size - sizeof(*out));
	return BI_OK;
}

/*
 * Returns 1 if the memory was exported before, and a further export needs no lock, no wait and no driver call.
 * Otherwise returns 0. If the result is 1 and work is pending, *home becomes the home stream. In all other cases *home
 * becomes NULL.
 */
static inline int is_ready(const struct bi_memory *memory, struct bi_stream **home)
{
	const struct bi__backend *backend = memory->backend;
	unsigned marks = atomic_load_explicit(&memory->marks, memory_order_acquire);

	*home = NULL;
	if ((marks & ~(unsigned)BI__MARK_NAMED) != BI__MARK_EXPORTED ||
	    !(backend->cpu_addressable || bi__dispatch_is_alive(&memory->context->device)))
		return 0;
	if (memory->idle)
		return 1;
	if (!(marks & BI__MARK_NAMED) || !memory->on_home || is_for_host(memory))
		return 0;
	*home = memory->home;
	bi__stream_share(*home);
	return 1;
}

/*
 * Exports a view. An export that needs none of the checks of export_any, the usual case, is made here without a call.
 */
static inline int export_view(const struct bi_view *view, uint32_t wishes, int blocks, struct bi_exchange *out,
			      struct bi_error *err)
{
	struct bi__type_words words;
	struct bi_stream *home;

	if (!view || !out || out->version != BI_ABI_VERSION || wishes & ALL_DEMANDS || out->struct_size != sizeof(*out))
		return export_any(view, wishes, blocks, out, err);
	words = bi__dtype_words(view->dtype);
	if (words.code == BI__TYPE_OPAQUE || !is_ready(view->memory, &home))
		return export_any(view, wishes, blocks, out, err);
	out->descr = NULL;
	put_order(home, out);
	put_array(view, words, wishes, out);
	return BI_OK;
}

int bi_view_export(const struct bi_view *view, uint32_t wishes, struct bi_exchange *out, struct bi_error *err)
{
	return export_view(view, wishes, 1, out, err);
}

int bi_view_export_nonblocking(const struct bi_view *view, uint32_t wishes, struct bi_exchange *out,
			       struct bi_error *err)
{
	return export_view(view, wishes, 0, out, err);
}

int bi_view_home_stream(const struct bi_view *view, uintptr_t *stream, struct bi_error *err)
{
	struct bi_stream *home;
	int rc;

	if (!view || !stream)
		return bi__fail(err, BI_EINVAL, "view or stream is NULL");
	*stream = 0;
	rc = prepare_memory(view->memory, 0, 1, &home, err);
	if (!rc && !is_for_host(view->memory))
		*stream = bi_stream_handle(view->memory->home);
	return rc;
}
