/* Imports struct bi_exchange of abi.h as a view. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/registry.h"
#include "common/base/checked.h"
#include "common/layout/dtype.h"
#include "common/view/export.h"
#include "common/runtime/memory.h"
#include "interop/exchange.h"
#include "interop/place.h"

#define ALL_FLAGS \
	(BI_EXCHANGE_READONLY | BI_EXCHANGE_C_CONTIGUOUS | BI_EXCHANGE_F_CONTIGUOUS | BI_EXCHANGE_MASKED | \
	 BI_EXCHANGE_COPIED)

static void release_import(void *data)
{
	struct bi_exchange *held = data;

	held->release(held);
	free(held);
}

static int check_version(const struct bi_exchange *exchange, struct bi_error *err)
{
	if (exchange->version != BI_ABI_VERSION)
		return bi__fail(err, BI_EVERSION, "the exchange structure has version %u.%u, this library knows %d.%d",
				exchange->version >> 16, exchange->version & 0xffff, BI_ABI_MAJOR, BI_ABI_MINOR);
	if (exchange->struct_size != sizeof(*exchange))
		return bi__fail(err, BI_EVERSION, "struct_size is %u, not %zu", exchange->struct_size,
				sizeof(*exchange));
	if (!exchange->release)
		return bi__fail(err, BI_EINVAL, "the exchange structure was released already");
	return BI_OK;
}

/*
 * Checks members that must be 0: device_id, unless the device is named by an ordinal; context, for plain memory of the
 * CPU.
 */
static int check_numbers(const struct bi__backend *exporter, const struct bi_exchange *exchange, struct bi_error *err)
{
	if (exchange->device_id && (!exporter->named_by_ordinal || exchange->handle_kind == BI_HANDLE_HOST))
		return bi__fail(err, BI_EINVAL, "device_id is %d, but devices of type %d have 0", exchange->device_id,
				exchange->device_type);
	if (exporter->cpu_addressable && exchange->context)
		return bi__fail(err, BI_EINVAL, "context is 0x%llx, but host memory has 0",
				(unsigned long long)exchange->context);
	return BI_OK;
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
	 * The context is not compared for memory of a pool, which has none, nor for unified memory, which belongs to
	 * all contexts.
	 */
	if (exporter->named_by_ordinal && (!exchange->context || kind == BI_MEMORY_UNIFIED))
		return BI_OK;
	if (exchange->context != context->device.state.native)
		return bi__fail(err, BI_EINVAL, "the memory belongs to context 0x%llx, not to that of device %s",
				(unsigned long long)exchange->context, context->device.info->spec);
	return BI_OK;
}

static int refuse_place(uint32_t kind, int32_t device_type, struct bi_error *err)
{
	enum bi_memory_kind memory;

	if (!kind || !bi__registry_exporter(NULL, kind, 0, &memory))
		return bi__fail(err, BI_EUNSUPPORTED, "handle kind %u cannot be reached by this build", kind);
	return bi__fail(err, BI_EINVAL, "device_type %d does not go with handle kind %u", device_type, kind);
}

static int check_place(const struct bi_context *context, const struct bi_exchange *exchange,
		       const struct bi__exported **exported, struct bi_error *err)
{
	const struct bi__backend *exporter = NULL;
	uint32_t handle = exchange->handle_kind;
	enum bi_memory_kind kind;
	int rc;

	if (exchange->flags & ~(uint32_t)ALL_FLAGS)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits, not in 0x%x", exchange->flags, ALL_FLAGS);
	if (exchange->mask || exchange->flags & BI_EXCHANGE_MASKED)
		return bi__fail(err, BI_EUNSUPPORTED, "the array is masked; masks are not supported here [C3]");
	if (handle && exchange->device_type)
		exporter = bi__registry_exporter(context->device.backend, handle, exchange->device_type, &kind);
	if (!exporter)
		return refuse_place(handle, exchange->device_type, err);
	*exported = &exporter->exported[kind];
	rc = check_numbers(exporter, exchange, err);
	return rc || handle == BI_HANDLE_HOST ? rc : check_context(context, exporter, kind, exchange, err);
}

/* Checks that stream_kind and the number in `stream` fit together. */
static int check_stream(const struct bi_exchange *exchange, struct bi_error *err)
{
	uint32_t kind = exchange->stream_kind;
	int fits = exchange->stream != 0;

	if (kind == BI_STREAM_KIND_NONE || kind == BI_STREAM_KIND_CUDA_LEGACY || kind == BI_STREAM_KIND_CUDA_PER_THREAD)
		fits = exchange->stream == kind;
	if (fits)
		return BI_OK;
	return bi__fail(err, BI_EINVAL, "stream is 0x%llx, which does not go with stream_kind %u",
			(unsigned long long)exchange->stream, kind);
}

static int is_zero(const struct bi_exchange *exchange)
{
	uint64_t sum = exchange->reserved_stream;

	for (size_t i = 0; i < sizeof(exchange->reserved_type); i++)
		sum |= exchange->reserved_type[i];
	for (size_t i = 0; i < sizeof(exchange->reserved) / sizeof(exchange->reserved[0]); i++)
		sum |= exchange->reserved[i];
	return !sum;
}

/* Refuses reserved members that are not 0: a later version may give them a meaning that must not be ignored. */
static int check_reserved(const struct bi_exchange *exchange, struct bi_error *err)
{
	if (is_zero(exchange))
		return BI_OK;
	for (size_t i = 0; i < sizeof(exchange->reserved_type); i++)
		if (exchange->reserved_type[i])
			return bi__fail(err, BI_EINVAL, "reserved_type[%zu] is %u, not 0", i,
					exchange->reserved_type[i]);
	for (size_t i = 0; i < sizeof(exchange->reserved) / sizeof(exchange->reserved[0]); i++)
		if (exchange->reserved[i])
			return bi__fail(err, BI_EINVAL, "reserved[%zu] is %llu, not 0", i,
					(unsigned long long)exchange->reserved[i]);
	return bi__fail(err, BI_EINVAL, "reserved_stream is %u, not 0", exchange->reserved_stream);
}

/* Reads an element type that DLPack does not have, from its typestr (type_kind, byte_order and item_size). */
static int read_named_type(const struct bi_exchange *exchange, struct bi_dtype *out, struct bi_error *err)
{
	uint32_t size = exchange->item_size;
	char text[BI_DTYPE_TEXT];

	if (!exchange->type_kind)
		return bi__fail(err, BI_EDTYPE, "type_code is %u and type_kind is 0: the type has no name",
				exchange->type_code);
	if (exchange->type_kind == 'U')
		size /= 4;
	snprintf(text, sizeof(text), "%c%c%u", exchange->byte_order, exchange->type_kind, size);
	return bi_dtype_parse(text, out, err);
}

static int check_type(const struct bi_exchange *exchange, struct bi_dtype dtype, struct bi_error *err)
{
	if (dtype.item_size != exchange->item_size)
		return bi__fail(err, BI_EDTYPE, "item_size is %u, but the type has %u bytes", exchange->item_size,
				dtype.item_size);
	if (exchange->byte_order != bi__dtype_order(dtype))
		return bi__fail(err, BI_EDTYPE, "byte_order is 0x%02x, but the type has '%c'",
				(unsigned char)exchange->byte_order, bi__dtype_order(dtype));
	if (exchange->type_kind && exchange->type_kind != bi_dtype_kind(dtype))
		return bi__fail(err, BI_EDTYPE, "type_kind is 0x%02x, but type_code %u has another",
				(unsigned char)exchange->type_kind, exchange->type_code);
	return BI_OK;
}

static int read_type(const struct bi_exchange *exchange, struct bi_dtype *out, struct bi_error *err)
{
	int rc = exchange->type_code == BI__TYPE_OPAQUE ? read_named_type(exchange, out, err)
							: bi_dtype_from_dlpack(exchange->type_code, exchange->type_bits,
									       exchange->type_lanes, out, err);

	return rc ? rc : check_type(exchange, *out, err);
}

/* Checks the contiguity flags against the strides, because consumers may trust a flag without reading the strides. */
static int check_flags(const struct bi_exchange *exchange, const struct bi_layout *layout, struct bi_error *err)
{
	if (exchange->flags & BI_EXCHANGE_C_CONTIGUOUS && !bi_layout_is_contiguous(layout, 'C'))
		return bi__fail(err, BI_EINVAL, "flags 0x%x says C-contiguous, but the strides are not",
				exchange->flags);
	if (exchange->flags & BI_EXCHANGE_F_CONTIGUOUS && !bi_layout_is_contiguous(layout, 'F'))
		return bi__fail(err, BI_EINVAL, "flags 0x%x says F-contiguous, but the strides are not",
				exchange->flags);
	return BI_OK;
}

/*
 * Compares element_strides with the strides in bytes. The stride of an axis of extent 0 or 1 is never used, so it is
 * not compared.
 */
static int check_element_strides(const struct bi_exchange *exchange, const struct bi_layout *layout,
				 struct bi_error *err)
{
	int64_t bytes;

	for (int i = 0; exchange->element_strides && i < layout->ndim; i++) {
		if (layout->shape[i] < 2)
			continue;
		if (bi__mul(exchange->element_strides[i], layout->dtype.item_size, &bytes) ||
		    bytes != layout->strides[i])
			return bi__fail(err, BI_EINVAL, "element_strides[%d] is %lld, but strides[%d] is %lld bytes", i,
					(long long)exchange->element_strides[i], i, (long long)layout->strides[i]);
	}
	return BI_OK;
}

/* The byte offset in the layout is relative to the handle. */
static int read_layout(const struct bi_exchange *exchange, struct bi_layout *layout, struct bi_error *err)
{
	struct bi_dtype dtype;
	int rc = read_type(exchange, &dtype, err);

	if (rc)
		return rc;
	if (exchange->ndim < 0 || exchange->ndim > BI_MAX_NDIM)
		return bi__fail(err, BI_EINVAL, "ndim %lld is not in 0..%d", (long long)exchange->ndim, BI_MAX_NDIM);
	if (exchange->ndim && (!exchange->shape || !exchange->strides))
		return bi__fail(err, BI_EINVAL, "shape or strides is NULL, but ndim is %lld",
				(long long)exchange->ndim);
	if (exchange->offset > INT64_MAX)
		return bi__fail(err, BI_EOVERFLOW, "offset %llu does not fit", (unsigned long long)exchange->offset);
	rc = bi_layout_init(layout, dtype, (int)exchange->ndim, exchange->shape, exchange->strides,
			    (int64_t)exchange->offset, err);
	if (!rc)
		rc = check_flags(exchange, layout, err);
	if (!rc)
		rc = check_element_strides(exchange, layout, err);
	if (rc || !exchange->descr)
		return rc;
	if (strlen(exchange->descr) > UINT32_MAX)
		return bi__fail(err, BI_EOVERFLOW, "descr is longer than %u bytes", UINT32_MAX);
	layout->descr = exchange->descr;
	layout->descr_length = (uint32_t)strlen(exchange->descr);
	return BI_OK;
}

/* A structure that was checked: its layout, and the entry of the backend for its kind of memory. */
struct incoming {
	struct bi_layout layout;
	const struct bi__exported *exported;
};

/*
 * Reads the size of the memory. If the producer gives no size of its host memory, the memory ends after the last
 * element.
 */
static int read_size(const struct bi_exchange *exchange, const struct incoming *incoming, size_t *nbytes,
		     struct bi_error *err)
{
	int64_t first, end;

	bi_layout_extent(&incoming->layout, &first, &end);
	if (exchange->nbytes > SIZE_MAX / 2)
		return bi__fail(err, BI_EOVERFLOW, "nbytes %llu does not fit", (unsigned long long)exchange->nbytes);
	*nbytes = (size_t)exchange->nbytes;
	if (!*nbytes && end > 0 && incoming->exported->form != BI__FORM_OBJECT)
		*nbytes = (size_t)end;
	return BI_OK;
}

/*
 * Imports a struct that this library exported: makes another view of the same memory, so that the memory has one
 * ordering state.
 */
static int import_own(const struct bi_exchange *exchange, struct bi_layout *layout, struct bi_view **out,
		      struct bi_error *err)
{
	struct bi_memory *memory = bi__exchange_own(exchange)->memory;
	unsigned flags = exchange->flags & BI_EXCHANGE_READONLY ? BI_VIEW_READONLY : 0;

	if (memory->block.handle)
		layout->offset += (int64_t)((uintptr_t)exchange->handle - memory->block.handle - memory->block.origin);
	return bi_view_create(memory, layout, flags, out, err);
}

/*
 * Changes a handle that is the address of element [0, ..., 0] to the address of the lowest byte. With negative strides
 * the lowest byte is below that element.
 */
static void start_at_first_byte(struct bi_layout *layout, struct bi_foreign *foreign)
{
	int64_t first, end;

	bi_layout_extent(layout, &first, &end);
	if (first >= 0)
		return;
	foreign->handle -= (uintptr_t)-first;
	foreign->nbytes += (size_t)-first;
	layout->offset -= first;
}

/* Wraps the memory. The caller sets the release callback. */
static int import_foreign(struct bi_context *context, struct bi_exchange *exchange, struct incoming *incoming,
			  unsigned flags, struct bi_view **out, struct bi_error *err)
{
	struct bi_layout *layout = &incoming->layout;
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi__acceptance acceptance = { NULL, NULL };
	int rc = read_size(exchange, incoming, &foreign.nbytes, err);

	if (!rc && !(flags & BI_IMPORT_UNORDERED))
		rc = bi__exchange_accept(context, exchange, &acceptance, err);
	if (rc)
		return rc;
	foreign.kind = (enum bi_handle_kind)exchange->handle_kind;
	foreign.handle = (uintptr_t)exchange->handle;
	if (incoming->exported->form == BI__FORM_ELEMENT)
		start_at_first_byte(layout, &foreign);
	foreign.flags = exchange->flags & BI_EXCHANGE_READONLY ? BI_WRAP_READONLY : 0;
	foreign.stream = acceptance.stream;
	foreign.events = &acceptance.event;
	foreign.event_count = acceptance.event ? 1 : 0;
	rc = bi__place_view(context, &foreign, layout, NULL, out, err);
	bi_stream_release(acceptance.stream);
	bi_event_release(acceptance.event);
	return rc;
}

/* Imports the memory, and moves the struct to the heap, where it stays until the memory is released. */
static int hold_exchange(struct bi_context *context, struct bi_exchange *exchange, struct incoming *incoming,
			 unsigned flags, struct bi_view **out, struct bi_error *err)
{
	struct bi_exchange *held = malloc(sizeof(*held));
	int rc;

	if (!held)
		return bi__fail(err, BI_ENOMEM, "no memory to hold an exchange structure");
	rc = import_foreign(context, exchange, incoming, flags, out, err);
	if (rc) {
		free(held);
		return rc;
	}
	*held = *exchange;
	exchange->release = NULL;
	bi__memory_set_release((*out)->memory, release_import, held);
	return BI_OK;
}

int bi_view_import(struct bi_context *context, struct bi_exchange *exchange, unsigned flags, struct bi_view **out,
		   struct bi_error *err)
{
	struct incoming incoming;
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	if (!context || !exchange)
		return bi__fail(err, BI_EINVAL, "context or exchange is NULL");
	if (flags & ~(unsigned)BI_IMPORT_UNORDERED)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits", flags);
	rc = check_version(exchange, err);
	if (!rc)
		rc = check_place(context, exchange, &incoming.exported, err);
	if (!rc)
		rc = check_stream(exchange, err);
	if (!rc)
		rc = check_reserved(exchange, err);
	if (!rc)
		rc = read_layout(exchange, &incoming.layout, err);
	if (rc)
		return rc;
	if (!bi__exchange_own(exchange))
		return hold_exchange(context, exchange, &incoming, flags, out, err);
	rc = import_own(exchange, &incoming.layout, out, err);
	if (!rc)
		exchange->release(exchange);
	return rc;
}
