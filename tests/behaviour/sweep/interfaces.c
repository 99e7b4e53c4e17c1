/* Arrays that change hands: the CUDA Array Interface, the exchange structure. */
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/cai.h"
#include "raw.h"
#include "scenarios.h"

#define SIZE ((size_t)2048)

static void count_release(void *data)
{
	struct trial *trial = data;

	trial->released++;
}

/* What a producer says of his bytes; stream 0: None. */
static struct array *import(struct trial *trial, struct bi_context *context, bi__cu_pointer pointer, uint64_t stream)
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
	options.release_data = trial;
	if (!TRY(trial, bi_cai_import(context, &cai, &options, &view, trial->err)))
		trial->taken++;
	array = trial_adopt(trial, view, SIZE);
	memset(array->expected, 0x81, SIZE);
	return array;
}

/* A consumer of version 3 who does not have this library: where he is told to, he overwrites all bytes. */
static void consume_cai(struct trial *trial, struct array *array)
{
	uintptr_t handle, own = 0;
	struct bi_cai cai;

	if (TRY(trial, bi_cai_export(array->whole, 3, 0, &cai, trial->err)))
		return;
	handle = bi_context_handle(trial->context);
	if (cai.stream_kind == BI_CAI_STREAM_NONE)
		own = raw_stream(trial, handle);
	raw_set(trial, handle, own ? own : (uintptr_t)cai.stream, cai.data, 0x88, SIZE);
	if (own)
		raw_synchronize(trial, handle, own);
	raw_close_stream(trial, handle, own);
	memset(array->expected, 0x88, SIZE);
}

/* The producer works on that stream, the library on another; a consumer goes on where the export says. */
static void pass(struct trial *trial, struct bi_context *context, uintptr_t works_on, uint64_t says)
{
	uintptr_t handle = trial->rc ? 0 : bi_context_handle(context);
	bi__cu_pointer pointer = raw_memory(trial, handle, RAW_DEVICE, SIZE);
	struct array *array;

	raw_worker(trial, handle, works_on);
	raw_set(trial, handle, works_on, pointer, 0x81, SIZE);
	if (!says)
		raw_synchronize(trial, handle, works_on);
	array = import(trial, context, pointer, says);
	trial_fill_all(trial, array, 0x82, trial_stream(trial, context));
	consume_cai(trial, array);
	trial_fill(trial, array, trial_view(trial, array, "uint8", 1, (const int64_t[]){ 100 }, NULL, 7), "\x83",
		   trial_stream(trial, context));
	trial_consume(trial, array);
}

void cai_streams(struct trial *trial)
{
	uintptr_t primary = raw_primary(trial, 0), stream = raw_stream(trial, primary);
	struct bi_context *context = trial_open(trial, "cuda:0");

	pass(trial, context, 1, 1);
	pass(trial, context, 2, 2);
	pass(trial, context, stream, stream);
	pass(trial, context, stream, 0);
}

/* Each version leaves the library and comes back to it. */
void cai_versions(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);
	struct bi_stream *stream = trial_stream(trial, context);
	struct bi_view *view = NULL;
	struct bi_cai cai;

	for (int version = 0; version <= BI_CAI_VERSION; version++) {
		trial_fill_all(trial, array, (unsigned char)(0x84 + version), stream);
		TRY(trial, bi_cai_export(array->whole, version, 0, &cai, trial->err));
		TRY(trial, bi_cai_import(context, &cai, NULL, &view, trial->err));
		trial_keep_view(trial, view);
		TRY(trial, bi_view_synchronize(view, trial->err));
		trial_check(trial, array);
		view = NULL;
	}
}

/* Another context of the same device works on what the first one exports. */
void exchange(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0"), *other = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_view *view = NULL;
	struct bi_stream *stream = trial_stream(trial, other);

	if (TRY(trial, bi_view_export(array->whole, 0, &exchange, trial->err)))
		return;
	TRY(trial, bi_view_import(other, &exchange, 0, &view, trial->err));
	if (exchange.release)
		exchange.release(&exchange);
	trial_keep_view(trial, view);
	trial_fill(trial, array, view, "\x91", stream);
	trial_consume(trial, array);
}

/* A consumer works on a stream of its own and hands the memory back. If that fails, it waits itself. */
void exchange_handed_back(struct trial *trial)
{
	uintptr_t handle = raw_primary(trial, 0), stream = raw_stream(trial, handle);
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	if (TRY(trial, bi_view_export(array->whole, BI_ACQUIRE_READY, &exchange, trial->err)))
		return;
	raw_worker(trial, handle, stream);
	raw_set(trial, handle, stream, exchange.handle + exchange.offset, 0x95, SIZE);
	memset(array->expected, 0x95, SIZE);
	if (exchange.done(&exchange, BI_ORDER_CUDA, stream, 0))
		raw_synchronize(trial, handle, stream);
	exchange.release(&exchange);
	trial_consume(trial, array);
}

static void release_foreign(struct bi_exchange *self)
{
	struct trial *trial = self->owner;

	trial->released++;
	self->release = NULL;
}

/* A producer that waits for the consumer's event before it uses the memory again. */
static int follow_consumer(struct bi_exchange *self, uint32_t kind, uint64_t stream, uint64_t event)
{
	(void)self;
	(void)kind;
	(void)stream;
	(void)event;
	return 1;
}

static void describe(struct bi_exchange *out, struct trial *trial, bi__cu_pointer pointer, const int64_t *shape,
		     const int64_t *strides)
{
	memset(out, 0, sizeof(*out));
	out->version = BI_ABI_VERSION;
	out->struct_size = sizeof(*out);
	out->release = release_foreign;
	out->owner = trial;
	out->device_type = BI_EXCHANGE_DEVICE_CUDA;
	out->handle_kind = BI_HANDLE_CUDA;
	out->flags = BI_C_CONTIGUOUS | BI_F_CONTIGUOUS;
	out->handle = pointer;
	out->size = SIZE;
	out->type_code = 1;
	out->type_bits = 8;
	out->type_lanes = 1;
	out->item_size = 1;
	out->ndim = 1;
	out->shape = shape;
	out->strides = strides;
}

/* What a producer without this library fills: a stream, an event, or both. */
static void import_foreign(struct trial *trial, struct bi_context *context, int names_stream, int has_event)
{
	static const int64_t shape[1] = { SIZE }, strides[1] = { 1 };
	uintptr_t handle = trial->rc ? 0 : bi_context_handle(context), stream = raw_stream(trial, handle);
	bi__cu_pointer pointer = raw_memory(trial, handle, RAW_DEVICE, SIZE);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_view *view = NULL;
	struct array *array;

	describe(&exchange, trial, pointer, shape, strides);
	raw_worker(trial, handle, stream);
	raw_set(trial, handle, stream, pointer, 0x92, SIZE);
	exchange.order_kind = BI_ORDER_CUDA;
	exchange.done = names_stream ? NULL : follow_consumer;
	exchange.stream = names_stream ? stream : 0;
	if (has_event)
		exchange.event = raw_event(trial, handle, stream);
	trial->taken++;
	TRY(trial, bi_view_import(context, &exchange, 0, &view, trial->err));
	if (exchange.release)
		exchange.release(&exchange);
	array = trial_adopt(trial, view, SIZE);
	memset(array->expected, 0x92, SIZE);
	trial_fill(trial, array, trial_view(trial, array, "uint8", 1, (const int64_t[]){ 100 }, NULL, 7), "\x93",
		   trial_stream(trial, context));
	trial_consume(trial, array);
}

void foreign_exchange(struct trial *trial)
{
	struct bi_context *context;

	raw_primary(trial, 0);
	context = trial_open(trial, "cuda:0");
	import_foreign(trial, context, 1, 0);
	import_foreign(trial, context, 0, 1);
	import_foreign(trial, context, 1, 1);
}
