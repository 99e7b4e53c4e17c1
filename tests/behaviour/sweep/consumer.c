/* Consumers that are not the library: they know of an array what its export says. */
#include <stdlib.h>
#include <string.h>

#include "raw.h"

/* Reads into `found` and overwrites, without a wait. */
static void take_on_stream(struct scene *scene, struct consumption *consumption, size_t nbytes)
{
	bi__cu_pointer pointer = consumption->exchange.handle + consumption->exchange.offset;
	bi__cu_stream stream;

	if (consumption->exchange.stream_kind == BI_STREAM_KIND_NONE)
		consumption->stream = raw_stream(scene, consumption->context);
	else
		consumption->stream = (uintptr_t)consumption->exchange.stream;
	stream = (bi__cu_stream)consumption->stream;
	raw_enter(consumption->context);
	RAW(scene, MemcpyDtoHAsync, (consumption->found, pointer, nbytes, stream));
	RAW(scene, MemsetD8Async, (pointer, 0xee, nbytes, stream));
	raw_leave();
}

static void consume_on_stream(struct scene *scene, struct array *array, const struct bi_exchange *exchange)
{
	struct consumption *consumption = &scene->consumptions[scene->consumption_count++];

	consumption->exchange = *exchange;
	consumption->array = array;
	consumption->context = bi_context_handle(bi_memory_context(bi_view_memory(array->whole)));
	consumption->expected = must_alloc(array->nbytes);
	memcpy(consumption->expected, array->mirror, array->nbytes);
	consumption->found = raw_pinned(consumption->context, array->nbytes);
	take_on_stream(scene, consumption, array->nbytes);
	/* Without a stream the library would not know when he is done. */
	if (exchange->stream_kind == BI_STREAM_KIND_NONE)
		raw_synchronize(scene, consumption->context, consumption->stream);
}

/* Memory of the host: the export has waited. */
static void consume_on_cpu(struct scene *scene, struct array *array, struct bi_exchange *exchange)
{
	unsigned char *bytes = (unsigned char *)(uintptr_t)(exchange->handle + exchange->offset);

	scene_touch(bytes, array->nbytes, 1);
	scene_compare(scene, array, bytes, "the CPU");
	memset(bytes, 0xee, array->nbytes);
	exchange->release(exchange);
}

void scene_consume(struct scene *scene, struct array *array)
{
	struct bi_exchange exchange;

	if (TRY(scene, bi_view_export(array->whole, 0, &exchange, scene->err)))
		return;
	if (exchange.handle_kind == BI_HANDLE_HOST)
		consume_on_cpu(scene, array, &exchange);
	else
		consume_on_stream(scene, array, &exchange);
	memset(array->mirror, 0xee, array->nbytes);
}

static void settle(struct scene *scene, struct consumption *consumption)
{
	struct array promised = *consumption->array;

	promised.mirror = consumption->expected;
	raw_finish(consumption->context, consumption->stream);
	if (!scene->rc)
		scene_compare(scene, &promised, consumption->found, "a consumer");
	if (consumption->exchange.stream_kind == BI_STREAM_KIND_NONE)
		raw_close_stream(scene, consumption->context, consumption->stream);
	raw_free_pinned(consumption->context, consumption->found);
	free(consumption->expected);
	consumption->exchange.release(&consumption->exchange);
}

void scene_settle(struct scene *scene)
{
	for (size_t i = 0; i < scene->consumption_count; i++)
		settle(scene, &scene->consumptions[i]);
	scene->consumption_count = 0;
}
