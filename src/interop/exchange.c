/* A view as the exchange structure of abi.h, and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/dispatch.h"
#include "common/exchange_order.h"
#include "common/memory.h"
#include "common/status.h"

/* DLPack's code for what it has no type for. */
#define OPAQUE 3

#define ALL_FLAGS \
	(BI_EXCHANGE_READONLY | BI_EXCHANGE_C_CONTIGUOUS | BI_EXCHANGE_F_CONTIGUOUS | BI_EXCHANGE_MASKED | \
	 BI_EXCHANGE_COPIED)

/* What the consumer's reference keeps alive. */
struct export
{
	struct bi_view *view;
	struct bi__fence event;
	char *descr; /* a copy, because that of a view may be part of a longer text */
	int64_t element_strides[];
};

static void release_export(struct bi_exchange *self)
{
	struct export *export = self->owner;

	self->release = NULL;
	self->owner = NULL;
	bi__fence_clear(&export->event);
	bi_view_release(export->view);
	free(export->descr);
	free(export);
}

/* Strides in elements, or NULL if some stride is no multiple of the item size. */
static const int64_t *divide_strides(const struct bi_view *view, int64_t *out)
{
	int64_t item = view->dtype.item_size;

	for (int i = 0; i < view->ndim; i++) {
		int64_t stride = view->dims[view->ndim + i];

		if (item == 0 || stride % item)
			return NULL;
		out[i] = stride / item;
	}
	return out;
}

/* Types that the array interface cannot name have an order all the same. */
static char order_of(struct bi_dtype dtype)
{
	const uint16_t one = 1;
	char text[BI_DTYPE_TEXT];

	if (bi_dtype_typestr(dtype, text, NULL) == BI_OK)
		return text[0];
	if (dtype.item_size == dtype.lanes)
		return '|';
	return *(const unsigned char *)&one ? '<' : '>';
}

static void put_type(const struct bi_view *view, struct bi_exchange *out)
{
	out->item_size = view->dtype.item_size;
	out->type_kind = bi_dtype_kind(view->dtype);
	out->byte_order = order_of(view->dtype);
	if (bi_dtype_to_dlpack(view->dtype, &out->type_code, &out->type_bits, &out->type_lanes, NULL) == BI_OK)
		return;
	out->type_code = OPAQUE;
	out->type_bits = 8;
	out->type_lanes = (uint16_t)(out->item_size <= UINT16_MAX ? out->item_size : 0);
}

static uint32_t flags_of(const struct bi_view *view)
{
	struct bi_layout layout;
	uint32_t flags = view->flags & BI_VIEW_READONLY ? BI_EXCHANGE_READONLY : 0;

	bi_view_layout(view, &layout);
	if (bi_layout_is_contiguous(&layout, 'C'))
		flags |= BI_EXCHANGE_C_CONTIGUOUS;
	if (bi_layout_is_contiguous(&layout, 'F'))
		flags |= BI_EXCHANGE_F_CONTIGUOUS;
	return flags;
}

/* DLPack's number, and with it the kind of handle that abi.h couples to it. */
static void put_device(const struct bi_view *view, const struct bi_native *native, struct bi_exchange *out)
{
	const struct bi_memory *memory = view->memory;

	out->handle_kind = native->kind;
	out->device_type = native->kind == BI_HANDLE_HOST ? BI_DEVICE_CPU : BI_DEVICE_OPENCL;
	if (native->kind != BI_HANDLE_CUDA)
		return;
	out->device_type = BI_DEVICE_CUDA;
	out->device_id = memory->context->device.ordinal;
	if (memory->block.memory == BI_MEMORY_UNIFIED)
		out->device_type = BI_DEVICE_CUDA_MANAGED;
	if (memory->block.memory != BI_MEMORY_PINNED)
		return;
	out->device_type = BI_DEVICE_CUDA_HOST;
	out->handle_kind = BI_HANDLE_HOST;
	out->device_id = 0;
}

static void put_place(const struct bi_view *view, struct bi_exchange *out)
{
	struct bi_native native;

	bi_view_native(view, &native);
	put_device(view, &native, out);
	out->handle = native.handle;
	out->offset = native.offset;
	out->nbytes = native.nbytes;
	if (native.kind != BI_HANDLE_HOST)
		out->context = view->memory->context->state.native;
}

static int copy_descr(const struct bi_view *view, struct export *export, struct bi_error *err)
{
	if (!view->descr)
		return BI_OK;
	export->descr = calloc(1, (size_t)view->descr_length + 1);
	if (!export->descr)
		return bi__fail(err, BI_ENOMEM, "no memory for a descr of %u bytes", view->descr_length);
	memcpy(export->descr, view->descr, view->descr_length);
	return BI_OK;
}

static void put_layout(struct bi_view *view, struct export *export, struct bi_exchange *out)
{
	out->ndim = view->ndim;
	out->shape = bi_view_shape(view);
	out->strides = bi_view_strides(view);
	out->element_strides = view->ndim ? divide_strides(view, export->element_strides) : NULL;
}

int bi_view_export(const struct bi_view *view, unsigned flags, struct bi_exchange *out, struct bi_error *err)
{
	struct export *export;
	int rc;

	if (!view || !out)
		return bi__fail(err, BI_EINVAL, "view or out is NULL");
	if (flags & ~(unsigned)(BI_EXPORT_EVENT | BI_EXPORT_SYNCHRONIZE))
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits", flags);
	memset(out, 0, sizeof(*out));
	export = calloc(1, sizeof(*export) + (size_t)view->ndim * sizeof(int64_t));
	if (!export)
		return bi__fail(err, BI_ENOMEM, "no memory to export a view of %d dimensions", view->ndim);
	rc = copy_descr(view, export, err);
	if (!rc)
		rc = bi__exchange_offer(view->memory, flags, out, &export->event, err);
	if (rc) {
		free(export->descr);
		free(export);
		memset(out, 0, sizeof(*out));
		return rc;
	}
	export->view = bi_view_retain((struct bi_view *)(uintptr_t)view);
	out->version = BI_ABI_VERSION;
	out->struct_size = sizeof(*out);
	out->release = release_export;
	out->owner = export;
	out->flags = flags_of(view);
	put_place(view, out);
	put_type(view, out);
	out->descr = export->descr;
	put_layout(export->view, export, out);
	return BI_OK;
}

/* Keeps the producer's struct until our memory is let go. */
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

/* Which handle kinds a device type goes with, as abi.h says. */
static int is_coupled(uint32_t kind, int type)
{
	switch (kind) {
	case BI_HANDLE_HOST:
		return type == BI_DEVICE_CPU || type == BI_DEVICE_CUDA_HOST;
	case BI_HANDLE_CUDA:
		return type == BI_DEVICE_CUDA || type == BI_DEVICE_CUDA_MANAGED;
	default:
		return type == BI_DEVICE_OPENCL;
	}
}

static int check_context(const struct bi_context *context, const struct bi_exchange *exchange, struct bi_error *err)
{
	int is_cuda = exchange->handle_kind == BI_HANDLE_CUDA;

	if (context->backend->is_host || is_cuda != (context->backend->handle == BI_HANDLE_CUDA))
		return bi__fail(err, BI_EINVAL, "handle kind %u cannot be reached from device %s",
				exchange->handle_kind, context->device.spec);
	if (is_cuda && exchange->device_id != context->device.ordinal)
		return bi__fail(err, BI_EINVAL, "device_id is %d, but device %s has ordinal %d", exchange->device_id,
				context->device.spec, context->device.ordinal);
	/* CUDA memory of pools has no context, and managed memory belongs to all. */
	if (is_cuda && (!exchange->context || exchange->device_type == BI_DEVICE_CUDA_MANAGED))
		return BI_OK;
	if (exchange->context != context->state.native)
		return bi__fail(err, BI_EINVAL, "the memory belongs to context 0x%llx, not to that of device %s",
				(unsigned long long)exchange->context, context->device.spec);
	return BI_OK;
}

static int check_place(const struct bi_context *context, const struct bi_exchange *exchange, struct bi_error *err)
{
	uint32_t kind = exchange->handle_kind;

	if (exchange->flags & ~(uint32_t)ALL_FLAGS)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits", exchange->flags);
	if (exchange->mask || exchange->flags & BI_EXCHANGE_MASKED)
		return bi__fail(err, BI_EUNSUPPORTED, "masked arrays are not taken");
	if (kind < BI_HANDLE_HOST || kind > BI_HANDLE_CL_SVM)
		return bi__fail(err, BI_EUNSUPPORTED, "handle kind %u cannot be reached by this build", kind);
	if (!is_coupled(kind, exchange->device_type))
		return bi__fail(err, BI_EINVAL, "device_type %d does not go with handle kind %u", exchange->device_type,
				kind);
	return kind == BI_HANDLE_HOST ? BI_OK : check_context(context, exchange, err);
}

/* What DLPack has no triple for is named as the array interface names it. */
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

/* What is said twice is said alike. */
static int check_type(const struct bi_exchange *exchange, struct bi_dtype dtype, struct bi_error *err)
{
	if (dtype.item_size != exchange->item_size)
		return bi__fail(err, BI_EDTYPE, "item_size is %u, but the type has %u bytes", exchange->item_size,
				dtype.item_size);
	if (exchange->byte_order != order_of(dtype))
		return bi__fail(err, BI_EDTYPE, "byte_order is 0x%02x, but the type has '%c'",
				(unsigned char)exchange->byte_order, order_of(dtype));
	if (exchange->type_kind && exchange->type_kind != bi_dtype_kind(dtype))
		return bi__fail(err, BI_EDTYPE, "type_kind is 0x%02x, but type_code %u has another",
				(unsigned char)exchange->type_kind, exchange->type_code);
	return BI_OK;
}

static int read_type(const struct bi_exchange *exchange, struct bi_dtype *out, struct bi_error *err)
{
	int rc = exchange->type_code == OPAQUE ? read_named_type(exchange, out, err)
					       : bi_dtype_from_dlpack(exchange->type_code, exchange->type_bits,
								      exchange->type_lanes, out, err);

	return rc ? rc : check_type(exchange, *out, err);
}

/* The layout, counted from the handle. */
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
	if (rc || !exchange->descr)
		return rc;
	if (strlen(exchange->descr) > UINT32_MAX)
		return bi__fail(err, BI_EOVERFLOW, "descr is longer than %u bytes", UINT32_MAX);
	layout->descr = exchange->descr;
	layout->descr_length = (uint32_t)strlen(exchange->descr);
	return BI_OK;
}

/* Where the producer does not say how large its host memory is, what the elements reach is all there is. */
static int read_size(const struct bi_exchange *exchange, const struct bi_layout *layout, size_t *nbytes,
		     struct bi_error *err)
{
	int64_t first, end;

	bi_layout_extent(layout, &first, &end);
	if (exchange->nbytes > SIZE_MAX / 2)
		return bi__fail(err, BI_EOVERFLOW, "nbytes %llu does not fit", (unsigned long long)exchange->nbytes);
	*nbytes = (size_t)exchange->nbytes;
	if (!*nbytes && end > 0 && exchange->handle_kind != BI_HANDLE_CL_MEM)
		*nbytes = (size_t)end;
	return BI_OK;
}

/* Our own export of memory that we hold already: another view of it, with one state of order. */
static int import_own(const struct bi_exchange *exchange, struct bi_layout *layout, struct bi_view **out,
		      struct bi_error *err)
{
	const struct export *export = exchange->owner;
	struct bi_memory *memory = export->view->memory;
	unsigned flags = exchange->flags & BI_EXCHANGE_READONLY ? BI_VIEW_READONLY : 0;

	if (memory->block.handle)
		layout->offset += (int64_t)((uintptr_t)exchange->handle - memory->block.handle - memory->block.origin);
	return bi_view_create(memory, layout, flags, out, err);
}

static int make_view(struct bi_context *context, const struct bi_exchange *exchange, const struct bi_layout *layout,
		     struct bi_foreign *foreign, struct bi_view **out, struct bi_error *err)
{
	struct bi_memory *memory;
	int on_host = foreign->kind == BI_HANDLE_HOST;
	int rc = foreign->handle || foreign->nbytes
			 ? bi_memory_wrap(context, foreign, &memory, err)
			 : bi_memory_create(context, 0, on_host ? BI_MEMORY_HOST : BI_MEMORY_DEVICE, &memory, err);

	if (rc)
		return rc;
	rc = bi_view_create(memory, layout, exchange->flags & BI_EXCHANGE_READONLY ? BI_VIEW_READONLY : 0, out, err);
	bi_memory_release(memory);
	return rc;
}

/* A CUDA pointer is that of element [0, ..., 0]; negative strides reach below it. */
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

/* A memory of our own whose owner is the producer's struct. */
static int import_foreign(struct bi_context *context, struct bi_exchange *exchange, struct bi_layout *layout,
			  unsigned flags, struct bi_view **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi__acceptance acceptance = { NULL, NULL };
	int rc = read_size(exchange, layout, &foreign.nbytes, err);

	if (!rc && !(flags & BI_IMPORT_UNORDERED))
		rc = bi__exchange_accept(context, exchange, &acceptance, err);
	if (rc)
		return rc;
	foreign.kind = (enum bi_handle_kind)exchange->handle_kind;
	foreign.handle = (uintptr_t)exchange->handle;
	if (exchange->handle_kind == BI_HANDLE_CUDA)
		start_at_first_byte(layout, &foreign);
	foreign.flags = exchange->flags & BI_EXCHANGE_READONLY ? BI_WRAP_READONLY : 0;
	foreign.stream = acceptance.stream;
	foreign.events = &acceptance.event;
	foreign.event_count = acceptance.event ? 1 : 0;
	rc = make_view(context, exchange, layout, &foreign, out, err);
	bi_stream_release(acceptance.stream);
	bi_event_release(acceptance.event);
	return rc;
}

/* Moves the struct to where it lives until the memory is let go. */
static int take(struct bi_context *context, struct bi_exchange *exchange, struct bi_layout *layout, unsigned flags,
		struct bi_view **out, struct bi_error *err)
{
	struct bi_exchange *held = malloc(sizeof(*held));
	int rc;

	if (!held)
		return bi__fail(err, BI_ENOMEM, "no memory to hold an exchange structure");
	rc = import_foreign(context, exchange, layout, flags, out, err);
	if (rc) {
		free(held);
		return rc;
	}
	*held = *exchange;
	exchange->release = NULL;
	bi__memory_give_owner((*out)->memory, release_import, held);
	return BI_OK;
}

int bi_view_import(struct bi_context *context, struct bi_exchange *exchange, unsigned flags, struct bi_view **out,
		   struct bi_error *err)
{
	struct bi_layout layout;
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
		rc = check_place(context, exchange, err);
	if (!rc)
		rc = read_layout(exchange, &layout, err);
	if (rc)
		return rc;
	if (exchange->release != release_export)
		return take(context, exchange, &layout, flags, out, err);
	rc = import_own(exchange, &layout, out, err);
	if (!rc)
		exchange->release(exchange);
	return rc;
}
