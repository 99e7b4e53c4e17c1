/* Arrays that change hands: the CUDA Array Interface, the exchange structure. */
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/cai.h"
#include "raw.h"
#include "scenarios.h"

#define SIZE ((size_t)2048)

static void count_release(void *data)
{
	struct scene *scene = data;

	scene->released++;
}

/* What a producer says of his bytes; stream 0: None. */
static struct array *import(struct scene *scene, struct bi_context *context, bi__cu_pointer pointer, uint64_t stream)
{
	const int64_t shape[1] = { SIZE };
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_cai cai = { .version = 3, .ndim = 1, .shape = shape, .typestr = "|u1" };
	struct bi_view *view = NULL;
	struct array *array;

	cai.data = pointer;
	cai.stream_kind = stream ? BI_CAI_STREAM_GIVEN : BI_CAI_STREAM_NONE;
	cai.stream = stream;
	options.release = count_release;
	options.release_data = scene;
	if (!TRY(scene, bi_cai_import(context, &cai, &options, &view, scene->err)))
		scene->taken++;
	array = scene_adopt(scene, view, SIZE);
	memset(array->mirror, 0x81, SIZE);
	return array;
}

/* A consumer of version 3 who does not have this library: where he is told to, he overwrites all bytes. */
static void consume_cai(struct scene *scene, struct array *array)
{
	uintptr_t handle, own = 0;
	struct bi_cai cai;

	if (TRY(scene, bi_cai_export(array->whole, 3, 0, &cai, scene->err)))
		return;
	handle = bi_context_handle(scene->context);
	if (cai.stream_kind == BI_CAI_STREAM_NONE)
		own = raw_stream(scene, handle);
	raw_set(scene, handle, own ? own : (uintptr_t)cai.stream, cai.data, 0x88, SIZE);
	if (own)
		raw_synchronize(scene, handle, own);
	raw_close_stream(scene, handle, own);
	memset(array->mirror, 0x88, SIZE);
}

/* The producer works on that stream, the library on another; a consumer goes on where the export says. */
static void pass(struct scene *scene, struct bi_context *context, uintptr_t works_on, uint64_t says)
{
	uintptr_t handle = scene->rc ? 0 : bi_context_handle(context);
	bi__cu_pointer pointer = raw_memory(scene, handle, RAW_DEVICE, SIZE);
	struct array *array;

	raw_worker(scene, handle, works_on);
	raw_set(scene, handle, works_on, pointer, 0x81, SIZE);
	if (!says)
		raw_synchronize(scene, handle, works_on);
	array = import(scene, context, pointer, says);
	scene_fill_all(scene, array, 0x82, scene_stream(scene, context));
	consume_cai(scene, array);
	scene_fill(scene, array, scene_view(scene, array, "uint8", 1, (const int64_t[]){ 100 }, NULL, 7), "\x83",
		   scene_stream(scene, context));
	scene_consume(scene, array);
}

void cai_streams(struct scene *scene)
{
	uintptr_t primary = raw_primary(scene, 0), stream = raw_stream(scene, primary);
	struct bi_context *context = scene_open(scene, "cuda:0");

	pass(scene, context, 1, 1);
	pass(scene, context, 2, 2);
	pass(scene, context, stream, stream);
	pass(scene, context, stream, 0);
}

/* Each version leaves the library and comes back to it. */
void cai_versions(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);
	struct bi_stream *stream = scene_stream(scene, context);
	struct bi_view *view = NULL;
	struct bi_cai cai;

	for (int version = 0; version <= BI_CAI_VERSION; version++) {
		scene_fill_all(scene, array, (unsigned char)(0x84 + version), stream);
		TRY(scene, bi_cai_export(array->whole, version, 0, &cai, scene->err));
		TRY(scene, bi_cai_import(context, &cai, NULL, &view, scene->err));
		scene_keep_view(scene, view);
		TRY(scene, bi_view_synchronize(view, scene->err));
		scene_check(scene, array);
		view = NULL;
	}
}

/* Another context of the same device works on what the first one exports. */
static void exchange_flags(struct scene *scene, unsigned flags)
{
	struct bi_context *context = scene_open(scene, "cuda:0"), *other = scene_open(scene, "cuda:0");
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);
	struct bi_exchange exchange;
	struct bi_view *view = NULL;
	struct bi_stream *stream = scene_stream(scene, other);

	if (TRY(scene, bi_view_export(array->whole, flags, &exchange, scene->err)))
		return;
	TRY(scene, bi_view_import(other, &exchange, 0, &view, scene->err));
	if (exchange.release)
		exchange.release(&exchange);
	scene_keep_view(scene, view);
	scene_fill(scene, array, view, "\x91", stream);
	scene_consume(scene, array);
}

void exchange(struct scene *scene)
{
	exchange_flags(scene, 0);
}

void exchange_with_event(struct scene *scene)
{
	exchange_flags(scene, BI_EXPORT_EVENT);
}

static void release_foreign(struct bi_exchange *self)
{
	struct scene *scene = self->owner;

	scene->released++;
	self->release = NULL;
}

static void describe(struct bi_exchange *out, struct scene *scene, bi__cu_pointer pointer, const int64_t *shape,
		     const int64_t *strides)
{
	memset(out, 0, sizeof(*out));
	out->version = BI_ABI_VERSION;
	out->struct_size = sizeof(*out);
	out->release = release_foreign;
	out->owner = scene;
	out->device_type = BI_EXCHANGE_DEVICE_CUDA;
	out->handle_kind = BI_HANDLE_CUDA;
	out->flags = BI_EXCHANGE_C_CONTIGUOUS | BI_EXCHANGE_F_CONTIGUOUS;
	out->handle = pointer;
	out->nbytes = SIZE;
	out->type_code = 1;
	out->type_bits = 8;
	out->type_lanes = 1;
	out->item_size = 1;
	out->type_kind = 'u';
	out->byte_order = '|';
	out->ndim = 1;
	out->shape = shape;
	out->strides = strides;
}

/* What a producer without this library fills: a stream, an event, or both. */
static void import_foreign(struct scene *scene, struct bi_context *context, int names_stream, int has_event)
{
	static const int64_t shape[1] = { SIZE }, strides[1] = { 1 };
	uintptr_t handle = scene->rc ? 0 : bi_context_handle(context), stream = raw_stream(scene, handle);
	bi__cu_pointer pointer = raw_memory(scene, handle, RAW_DEVICE, SIZE);
	struct bi_exchange exchange;
	struct bi_view *view = NULL;
	struct array *array;

	describe(&exchange, scene, pointer, shape, strides);
	raw_worker(scene, handle, stream);
	raw_set(scene, handle, stream, pointer, 0x92, SIZE);
	exchange.stream_kind = names_stream ? BI_STREAM_KIND_CUDA : BI_STREAM_KIND_NONE;
	exchange.stream = names_stream ? stream : 0;
	if (has_event)
		exchange.event = raw_event(scene, handle, stream);
	scene->taken++;
	TRY(scene, bi_view_import(context, &exchange, 0, &view, scene->err));
	if (exchange.release)
		exchange.release(&exchange);
	array = scene_adopt(scene, view, SIZE);
	memset(array->mirror, 0x92, SIZE);
	scene_fill(scene, array, scene_view(scene, array, "uint8", 1, (const int64_t[]){ 100 }, NULL, 7), "\x93",
		   scene_stream(scene, context));
	scene_consume(scene, array);
}

void foreign_exchange(struct scene *scene)
{
	struct bi_context *context;

	raw_primary(scene, 0);
	context = scene_open(scene, "cuda:0");
	import_foreign(scene, context, 1, 0);
	import_foreign(scene, context, 0, 1);
	import_foreign(scene, context, 1, 1);
}
