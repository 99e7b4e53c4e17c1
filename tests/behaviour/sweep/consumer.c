/* Consumers that are not the library: they know of an array what its export says. */
#include <stdlib.h>
#include <string.h>

#include "raw.h"

/* Reads into `found` and overwrites, without a wait. */
static void take_on_stream(struct trial *trial, struct consumption *consumption, size_t nbytes)
{
	bi__cu_pointer pointer = consumption->exchange.handle + consumption->exchange.offset;
	bi__cu_stream stream;

	if (consumption->exchange.order_kind == BI_ORDER_NONE)
		consumption->stream = raw_stream(trial, consumption->context);
	else
		consumption->stream = (uintptr_t)consumption->exchange.stream;
	stream = (bi__cu_stream)consumption->stream;
	raw_enter(consumption->context);
	RAW(trial, MemcpyDtoHAsync, (consumption->found, pointer, nbytes, stream));
	RAW(trial, MemsetD8Async, (pointer, 0xee, nbytes, stream));
	raw_leave();
}

static void consume_on_stream(struct trial *trial, struct array *array, const struct bi_exchange *exchange)
{
	struct consumption *consumption = &trial->consumptions[trial->consumption_count++];

	consumption->exchange = *exchange;
	consumption->array = array;
	consumption->context = bi_context_handle(bi_memory_context(bi_view_memory(array->whole)));
	consumption->expected = must_alloc(array->nbytes);
	memcpy(consumption->expected, array->expected, array->nbytes);
	consumption->found = raw_pinned(consumption->context, array->nbytes);
	take_on_stream(trial, consumption, array->nbytes);
	/* Without a stream the library would not know when he is done. */
	if (exchange->order_kind == BI_ORDER_NONE)
		raw_synchronize(trial, consumption->context, consumption->stream);
}

/* Memory of the host: the export has waited. */
static void consume_on_cpu(struct trial *trial, struct array *array, struct bi_exchange *exchange)
{
	unsigned char *bytes = (unsigned char *)(uintptr_t)(exchange->handle + exchange->offset);

	trial_touch(bytes, array->nbytes, 1);
	trial_compare(trial, array, bytes, "the CPU");
	memset(bytes, 0xee, array->nbytes);
	exchange->release(exchange);
}

void trial_consume(struct trial *trial, struct array *array)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	if (TRY(trial, bi_view_export(array->whole, 0, &exchange, trial->err)))
		return;
	if (exchange.handle_kind == BI_HANDLE_HOST)
		consume_on_cpu(trial, array, &exchange);
	else
		consume_on_stream(trial, array, &exchange);
	memset(array->expected, 0xee, array->nbytes);
}

static void settle(struct trial *trial, struct consumption *consumption)
{
	struct array promised = *consumption->array;

	promised.expected = consumption->expected;
	raw_finish(consumption->context, consumption->stream);
	if (!trial->rc)
		trial_compare(trial, &promised, consumption->found, "a consumer");
	if (consumption->exchange.order_kind == BI_ORDER_NONE)
		raw_close_stream(trial, consumption->context, consumption->stream);
	raw_free_pinned(consumption->context, consumption->found);
	free(consumption->expected);
	consumption->exchange.release(&consumption->exchange);
}

void trial_settle(struct trial *trial)
{
	for (size_t i = 0; i < trial->consumption_count; i++)
		settle(trial, &trial->consumptions[i]);
	trial->consumption_count = 0;
}
