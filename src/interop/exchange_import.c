/* Imports struct bi_exchange of abi.h as a view. */
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/dlpack.h"
#include "common/backend/registry.h"
#include "common/base/checked.h"
#include "common/layout/descr.h"
#include "common/layout/dtype.h"
#include "common/layout/layout.h"
#include "common/view/export.h"
#include "common/runtime/memory.h"
#include "interop/place.h"

/* The flags that a consumer must understand, and those of them that this library understands. */
#define CRITICAL_FLAGS 0xffffu
#define KNOWN_FLAGS BI_READONLY

static void release_import(void *data)
{
	struct bi_exchange *held = data;

	held->release(held);
}

static int hand_back(void *data, uint32_t order_kind, uint64_t event)
{
	struct bi_exchange *held = data;

	return held->done(held, order_kind, 0, event);
}

static int check_version(const struct bi_exchange *exchange, struct bi_error *err)
{
	if (!BI_ABI_KNOWS(exchange->version))
		return bi__fail(err, BI_EVERSION,
				"the exchange structure has version %u.%u, this library knows %u.%u [B-9]",
				exchange->version >> 16, exchange->version & 0xffff, BI_ABI_VERSION >> 16,
				BI_ABI_VERSION & 0xffff);
	if (exchange->struct_size < sizeof(*exchange) || exchange->struct_size > BI_ABI_SIZE_MAX)
		return bi__fail(err, BI_EVERSION, "struct_size is %u, not in %zu..%u [B-9]", exchange->struct_size,
				sizeof(*exchange), BI_ABI_SIZE_MAX);
	if (!exchange->release)
		return bi__fail(err, BI_EINVAL, "the exchange structure was released already [B-39]");
	return BI_OK;
}

/* Checks device_id, that context is 0 for host memory, and that the handle fits into a uintptr_t. */
static int check_numbers(const struct bi_exchange *exchange, struct bi_error *err)
{
	if (exchange->device_id < 0 || (exchange->device_id && exchange->handle_kind == BI_HANDLE_HOST))
		return bi__fail(err, BI_EINVAL, "device_id is %d, which no device of type %d has [B-23]",
				exchange->device_id, exchange->device_type);
	if (exchange->handle_kind == BI_HANDLE_HOST && exchange->context)
		return bi__fail(err, BI_EINVAL, "context is 0x%llx, but host memory has 0 [B-21]",
				(unsigned long long)exchange->context);
	return bi__check_handle("handle", exchange->handle, err);
}

static int check_context(const struct bi_context *context, const struct bi__backend *exporter, enum bi_memory_kind kind,
			 const struct bi_exchange *exchange, struct bi_error *err)
{
	if (exporter != context->device.backend)
		return bi__fail(err, BI_EINVAL, "handle kind %u cannot be reached from device %s",
				exchange->handle_kind, context->device.info->spec);
	if (exporter->named_by_ordinal && exchange->device_id != context->device.info->ordinal)
		return bi__fail(err, BI_EINVAL, "device_id is %d, but device %s has ordinal %d", exchange->device_id,
				context->device.info->spec, context->device.info->ordinal);
	/*
	 * A context of 0 is not compared: it stands for the primary context, or for memory of a pool, which has no
	 * context. Unified memory belongs to all contexts.
	 */
	if (exporter->named_by_ordinal && (!exchange->context || kind == BI_MEMORY_UNIFIED))
		return BI_OK;
	if (exchange->context != context->device.state.native)
		return bi__fail(err, BI_EINVAL,
				"the memory belongs to context 0x%llx, but device %s is open in context 0x%llx; "
				"open the device with the former as options->adopt_context",
				(unsigned long long)exchange->context, context->device.info->spec,
				(unsigned long long)context->device.state.native);
	return BI_OK;
}

static int refuse_place(uint32_t kind, int32_t device_type, struct bi_error *err)
{
	enum bi_memory_kind memory;

	if (!kind || !bi__registry_exporter(NULL, kind, 0, &memory))
		return bi__fail(err, BI_EUNSUPPORTED, "handle kind %u cannot be reached by this build", kind);
	return bi__fail(err, BI_EINVAL, "device_type %d does not go with handle kind %u [B-21]", device_type, kind);
}

static int check_place(const struct bi_context *context, const struct bi_exchange *exchange, struct bi_error *err)
{
	const struct bi__backend *exporter = NULL;
	uint32_t handle = exchange->handle_kind;
	enum bi_memory_kind kind;
	int rc;

	if (exchange->flags & CRITICAL_FLAGS & ~KNOWN_FLAGS)
		return bi__fail(err, BI_EUNSUPPORTED, "flags 0x%x has unknown bits below 16, not in 0x%x [B-11]",
				exchange->flags, KNOWN_FLAGS);
	if (exchange->reserved)
		return bi__fail(err, BI_EINVAL, "reserved is %u, not 0 [B-11]", exchange->reserved);
	if (handle && exchange->device_type)
		exporter = bi__registry_exporter(context->device.backend, handle, exchange->device_type, &kind);
	if (!exporter)
		return refuse_place(handle, exchange->device_type, err);
	rc = check_numbers(exchange, err);
	return rc || handle == BI_HANDLE_HOST ? rc : check_context(context, exporter, kind, exchange, err);
}

/*
 * Reads the descr, which names a type that DLPack cannot name. If it is a list, *text becomes the list in Python's
 * notation. The caller frees *text, also after a failure.
 */
static int read_descr(const char *descr, struct bi_dtype *out, char **text, struct bi_error *err)
{
	size_t length = strlen(descr), room = 0;
	int rc;

	if (length > BI__DESCR_JSON_MAX)
		return bi__fail(err, BI_EDTYPE, "descr has more than %d bytes [B-28]", BI__DESCR_JSON_MAX);
	if (descr[strspn(descr, " \t\r\n")] != '[')
		return bi__cite(bi__descr_read_word(descr, length, out, err), "B-28", err);
	rc = bi__descr_translate(descr, length, BI__DESCR_JSON, NULL, &room, err);
	if (rc)
		return bi__cite(rc, "B-28", err);
	*text = calloc(room + 1, 1);
	if (!*text)
		return bi__fail(err, BI_ENOMEM, "no memory for a descr of %zu bytes", room);
	bi__descr_translate(descr, length, BI__DESCR_JSON, *text, &room, NULL);
	return bi_dtype_parse_descr(*text, out, err);
}

/* Checks type_bits and type_lanes beside a descr. Refuses a descr for a type that DLPack can name. */
static int check_described(const struct bi_exchange *exchange, struct bi_dtype dtype, struct bi_error *err)
{
	unsigned lanes = dtype.item_size <= UINT16_MAX ? dtype.item_size : 0;

	if (bi__dtype_words(dtype).code != BI__TYPE_OPAQUE)
		return bi__fail(err, BI_EDTYPE,
				"type_code is %u and descr is %.32s, but DLPack has a name for the type [B-26]",
				exchange->type_code, exchange->descr);
	if (exchange->type_bits != 8 || exchange->type_lanes != lanes)
		return bi__fail(err, BI_EDTYPE,
				"type_bits is %u and type_lanes is %u, not 8 and %u as beside a descr [B-26]",
				exchange->type_bits, exchange->type_lanes, lanes);
	return BI_OK;
}

static int read_named_type(const struct bi_exchange *exchange, struct bi_dtype *out, char **text, struct bi_error *err)
{
	int rc;

	if (exchange->type_code != BI__TYPE_OPAQUE && exchange->descr)
		return bi__fail(err, BI_EDTYPE,
				"type_code is %u, but descr is given, which only type_code %d has [B-26]",
				exchange->type_code, BI__TYPE_OPAQUE);
	if (exchange->type_code != BI__TYPE_OPAQUE)
		return bi__cite(
			bi_dtype_from_dlpack(exchange->type_code, exchange->type_bits, exchange->type_lanes, out, err),
			"B-25", err);
	if (!exchange->descr)
		return bi__fail(err, BI_EDTYPE, "type_code is %u and descr is NULL: the type has no name [B-26]",
				exchange->type_code);
	rc = read_descr(exchange->descr, out, text, err);
	return rc ? rc : check_described(exchange, *out, err);
}

static int read_type(const struct bi_exchange *exchange, struct bi_dtype *out, char **text, struct bi_error *err)
{
	int rc = read_named_type(exchange, out, text, err);

	if (rc || out->item_size == exchange->item_size)
		return rc;
	return bi__fail(err, BI_EDTYPE, "item_size is %u, but the type has %u bytes [B-%d]", exchange->item_size,
			out->item_size, exchange->descr ? 29 : 27);
}

/* Checks the contiguity flags, because consumers may trust a flag without reading the strides. */
static int check_flags(const struct bi_exchange *exchange, const struct bi_view *view, struct bi_error *err)
{
	uint32_t wrong = exchange->flags & (BI_C_CONTIGUOUS | BI_F_CONTIGUOUS) & ~bi__view_exchange_flags(view);

	if (!wrong)
		return BI_OK;
	return bi__fail(err, BI_EINVAL, "flags 0x%x says %c-contiguous, but the strides are not [B-18]",
			exchange->flags, wrong & BI_C_CONTIGUOUS ? 'C' : 'F');
}

/* The values that were read from a structure. */
struct incoming {
	struct bi_layout layout; /* offset: from the handle; descr: `text` */
	int is_empty; /* 1: the layout has no elements */
	char *text; /* the descr in Python's notation, or NULL */
};

/* Checks that the memory contains the elements, and that it ends within the address space. */
static int check_reach(const struct bi_exchange *exchange, const struct bi_layout *layout, struct bi_error *err)
{
	int64_t first, end;

	bi_layout_extent(layout, &first, &end);
	if (exchange->size > UINT64_MAX - exchange->handle)
		return bi__fail(err, BI_EBOUNDS, "handle 0x%llx and size %llu are beyond the address space [B-14]",
				(unsigned long long)exchange->handle, (unsigned long long)exchange->size);
	if (!exchange->handle && first != end)
		return bi__fail(err, BI_EBOUNDS, "handle is 0, but the elements reach bytes [%lld, %lld) [B-17]",
				(long long)first, (long long)end);
	if (first < 0 || (uint64_t)end > exchange->size)
		return bi__fail(err, BI_EBOUNDS,
				"the elements reach bytes [%lld, %lld) of a memory of %llu bytes [B-17]",
				(long long)first, (long long)end, (unsigned long long)exchange->size);
	return BI_OK;
}

/* Copies shape, strides and offset. Without elements offset and size do not matter; the offset becomes 0. */
static int copy_axes(const struct bi_exchange *exchange, struct incoming *incoming, struct bi_error *err)
{
	struct bi_layout *layout = &incoming->layout;
	int is_empty = 0;

	if (exchange->ndim > BI_MAX_NDIM)
		return bi__fail(err, BI_EINVAL, "ndim %u is not in 0..%d [B-14]", exchange->ndim, BI_MAX_NDIM);
	if (exchange->ndim && (!exchange->shape || !exchange->strides))
		return bi__fail(err, BI_EINVAL, "shape or strides is NULL, but ndim is %u [B-14]", exchange->ndim);
	layout->ndim = exchange->ndim;
	for (int i = 0; i < layout->ndim; i++) {
		layout->shape[i] = exchange->shape[i];
		layout->strides[i] = exchange->strides[i];
		is_empty |= !layout->shape[i];
	}
	incoming->is_empty = is_empty;
	layout->offset = is_empty ? 0 : (int64_t)exchange->offset;
	if (is_empty || (exchange->offset <= INT64_MAX && exchange->size <= SIZE_MAX / 2))
		return BI_OK;
	return bi__fail(err, BI_EOVERFLOW, "offset %llu or size %llu does not fit",
			(unsigned long long)exchange->offset, (unsigned long long)exchange->size);
}

static int read_layout(const struct bi_exchange *exchange, struct incoming *incoming, struct bi_error *err)
{
	struct bi_layout *layout = &incoming->layout;
	int rc = read_type(exchange, &layout->dtype, &incoming->text, err);

	if (!rc)
		rc = copy_axes(exchange, incoming, err);
	if (rc)
		return rc;
	layout->descr = incoming->text;
	layout->descr_length = incoming->text ? (uint32_t)strlen(incoming->text) : 0;
	rc = bi__layout_check(layout, err);
	return rc ? bi__cite(rc, rc == BI_EINVAL ? "B-15" : "B-16", err) : check_reach(exchange, layout, err);
}

/*
 * Imports a struct that this library exported: makes another view of the same memory, so that the memory has one
 * ordering state.
 */
static int import_own(const struct bi_exchange *exchange, struct incoming *incoming, struct bi_view **out,
		      struct bi_error *err)
{
	struct bi_memory *memory = bi__exchange_own(exchange)->memory;
	unsigned flags = exchange->flags & BI_READONLY ? BI_VIEW_READONLY : 0;

	if (memory->block.handle && !incoming->is_empty)
		incoming->layout.offset += (int64_t)(exchange->handle - memory->block.handle - memory->block.origin);
	return bi_view_create(memory, &incoming->layout, flags, out, err);
}

/*
 * Refuses stream 1 for host memory: each CUDA context has a stream 1, and host memory names no context. No OpenCL queue
 * has the handle 1, so the kind of order does not matter.
 */
static int check_default_stream(const struct bi_exchange *exchange, struct bi_error *err)
{
	if (exchange->handle_kind != BI_HANDLE_HOST || !exchange->order_kind || exchange->stream != 1)
		return BI_OK;
	return bi__fail(err, BI_EINVAL,
			"stream is 1, the legacy default stream, which each context has: for host memory, name the "
			"handle of a stream, or none [B-33]");
}

/* Wraps the memory. The caller then moves the structure behind struct bi_memory, which has space for it there. */
static int import_foreign(struct bi_context *context, struct bi_exchange *exchange, struct incoming *incoming,
			  unsigned flags, struct bi_view **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi__acceptance acceptance = { NULL, NULL };
	const struct bi__wrapping wrapping = { &foreign, &incoming->layout, (exchange->struct_size + 7) & ~7u };
	int rc = BI_OK;

	if (!(flags & BI_IMPORT_UNORDERED)) {
		rc = check_default_stream(exchange, err);
		rc = rc ? rc : bi__exchange_accept(context, exchange, &acceptance, err);
	}
	if (rc)
		return rc;
	foreign.kind = (enum bi_handle_kind)exchange->handle_kind;
	if (!incoming->is_empty) {
		foreign.handle = (uintptr_t)exchange->handle;
		foreign.nbytes = exchange->handle ? (size_t)exchange->size : 0;
	}
	foreign.flags = exchange->flags & BI_READONLY ? BI_WRAP_READONLY : 0;
	foreign.stream = acceptance.stream;
	foreign.events = &acceptance.event;
	foreign.event_count = acceptance.event ? 1 : 0;
	rc = bi__place_view(context, &wrapping, NULL, out, err);
	bi_stream_release(acceptance.stream);
	bi_event_release(acceptance.event);
	return rc;
}

/* Moves the structure behind struct bi_memory, where it stays until the memory is freed. */
static void move_behind(struct bi_memory *memory, struct bi_exchange *exchange, unsigned flags)
{
	struct bi_exchange *held = (void *)(memory + 1);

	memcpy(held, exchange, exchange->struct_size);
	exchange->release = NULL;
	bi__memory_set_release(memory, release_import, held);
	if (held->done && !(flags & BI_IMPORT_UNORDERED))
		memory->release.done = hand_back;
}

/* Imports a structure whose version was checked. */
static int import_known(struct bi_context *context, struct bi_exchange *exchange, unsigned flags,
			struct incoming *incoming, struct bi_view **out, struct bi_error *err)
{
	int is_own = bi__exchange_own(exchange) != NULL, rc = check_place(context, exchange, err);

	if (!rc)
		rc = read_layout(exchange, incoming, err);
	if (!rc)
		rc = is_own ? import_own(exchange, incoming, out, err)
			    : import_foreign(context, exchange, incoming, flags, out, err);
	if (rc)
		return rc;
	rc = check_flags(exchange, *out, err);
	if (rc) {
		bi_view_release(*out);
		*out = NULL;
	} else if (is_own) {
		exchange->release(exchange);
	} else {
		move_behind((*out)->memory, exchange, flags);
	}
	return rc;
}

int bi_view_import(struct bi_context *context, struct bi_exchange *exchange, unsigned flags, struct bi_view **out,
		   struct bi_error *err)
{
	struct incoming incoming;
	int rc;

	if (bi__check_out(out, context && exchange, "context or exchange is NULL", err))
		return BI_EINVAL;
	if (flags & ~(unsigned)BI_IMPORT_UNORDERED)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits, not in 0x%x", flags, BI_IMPORT_UNORDERED);
	incoming.text = NULL; /* the layout, which is long, is not cleared */
	rc = check_version(exchange, err);
	if (!rc)
		rc = import_known(context, exchange, flags, &incoming, out, err);
	free(incoming.text);
	return rc;
}
