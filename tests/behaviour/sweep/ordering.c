/* Who waits for whom: streams, events, memory of producers, and its release. */
#include "raw.h"
#include "scenarios.h"
#include "support/use.h"

#define SIZE ((size_t)4096)

/* A stream of somebody else's, and the library's name for it. */
struct pair {
	uintptr_t handle;
	struct bi_stream *stream;
};

static struct pair wrap_stream(struct scene *scene, struct bi_context *context)
{
	struct pair pair;

	pair.handle = scene->rc ? 0 : raw_stream(scene, bi_context_handle(context));
	pair.stream = scene_wrap_stream(scene, context, pair.handle);
	return pair;
}

/* The streams of others live longer than the library's context, so theirs has to as well. */
static struct bi_context *open_shared(struct scene *scene)
{
	raw_primary(scene, 0);
	return scene_open(scene, "cuda:0");
}

static bi__cu_pointer address_of(struct scene *scene, const struct array *array)
{
	struct bi_native native;

	if (scene->rc)
		return 0;
	bi_view_native(array->whole, &native);
	return native.handle;
}

/* Somebody sets all bytes on his stream. */
static void set(struct scene *scene, struct array *array, uintptr_t stream, unsigned char value)
{
	if (scene->rc)
		return;
	raw_set(scene, bi_context_handle(scene->context), stream, address_of(scene, array), value, array->nbytes);
	for (size_t i = 0; i < array->nbytes; i++)
		array->mirror[i] = value;
}

/* As the header says: where the producer has failed nothing is handed back, and the stream is waited for. */
static void hand_back(struct scene *scene, const struct array *array, struct bi_stream *stream)
{
	if (scene->rc)
		return;
	if (TRY(scene, end_use(array->whole, stream, scene->err)) && scene->rc == BI_EPRODUCER)
		raw_finish(bi_context_handle(scene->context), bi_stream_handle(stream));
}

/* Somebody reads all bytes on his stream. */
static void copy_out(struct scene *scene, const struct array *from, bi__cu_pointer to, uintptr_t stream)
{
	if (scene->rc)
		return;
	raw_enter(bi_context_handle(scene->context));
	RAW(scene, MemcpyDtoDAsync, (to, address_of(scene, from), from->nbytes, (bi__cu_stream)stream));
	raw_leave();
}

/* Who has joined three producers works on what they made, and gives it back. */
void join(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct bi_stream *streams[3];
	struct array *arrays[3];
	struct pair target = wrap_stream(scene, context);

	for (int i = 0; i < 3; i++) {
		struct pair pair = wrap_stream(scene, context);

		streams[i] = pair.stream;
		arrays[i] = raw_produce(scene, context, pair.handle, pair.stream, SIZE);
	}
	TRY(scene, bi_stream_join(target.stream, streams, 3, scene->err));
	for (int i = 0; i < 3; i++) {
		set(scene, arrays[i], target.handle, (unsigned char)(0x58 + i));
		hand_back(scene, arrays[i], target.stream);
	}
	for (int i = 0; i < 3; i++)
		scene_consume(scene, arrays[i]);
}

void events(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct pair first = wrap_stream(scene, context), second = wrap_stream(scene, context);
	struct array *array = raw_produce(scene, context, first.handle, first.stream, SIZE);
	struct bi_event *event = NULL;
	int done = 0;

	TRY(scene, bi_event_record(first.stream, &event, scene->err));
	TRY(scene, bi_stream_wait(second.stream, event, scene->err));
	set(scene, array, second.handle, 0x61);
	hand_back(scene, array, second.stream);
	scene_consume(scene, array);
	TRY(scene, bi_event_query(event, &done, scene->err));
	TRY(scene, bi_event_synchronize(event, scene->err));
	if (!TRY(scene, bi_event_query(event, &done, scene->err)) && !done)
		scene_wrong(scene, "an event that was waited for is not complete");
	TRY(scene, bi_stream_synchronize(second.stream, scene->err));
	bi_event_release(event);
}

void per_thread_stream(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct bi_stream *stream = scene_wrap_stream(scene, context, 2);
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);

	scene_fill_all(scene, array, 0x62, stream);
	scene_fill_all(scene, array, 0x63, scene_stream(scene, context));
	TRY(scene, begin_use(array->whole, stream, scene->err));
	set(scene, array, 2, 0x64);
	hand_back(scene, array, stream);
	scene_consume(scene, array);
}

void acquire_and_hand_back(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct pair user = wrap_stream(scene, context);
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);

	TRY(scene, begin_use(array->whole, user.stream, scene->err));
	set(scene, array, user.handle, 0x65);
	hand_back(scene, array, user.stream);
	scene_consume(scene, array);
}

void wrap_named_stream(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct pair producer = wrap_stream(scene, context);
	struct array *array = raw_produce(scene, context, producer.handle, producer.stream, SIZE);
	struct array *copy = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);

	scene_copy_all(scene, copy, array, scene_stream(scene, context));
	scene_fill_all(scene, array, 0x66, NULL);
	scene_consume(scene, array);
	scene_consume(scene, copy);
}

void wrap_without_stream(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct pair producer = wrap_stream(scene, context);
	struct array *array = raw_produce(scene, context, producer.handle, NULL, SIZE);
	struct array *copy = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);

	scene_copy_all(scene, copy, array, scene_stream(scene, context));
	scene_fill_all(scene, array, 0x67, NULL);
	scene_consume(scene, array);
	scene_consume(scene, copy);
}

void wrap_with_event(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct pair producer = wrap_stream(scene, context);
	struct array *array = raw_produce_event(scene, context, producer.handle, SIZE);

	scene_fill_all(scene, array, 0x68, scene_stream(scene, context));
	scene_consume(scene, array);
}

static struct bi_view *wrap_pinned(struct scene *scene, struct bi_context *context, uintptr_t address,
				   struct bi_stream *stream)
{
	const int64_t shape[1] = { SIZE };
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = NULL;
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view = NULL;

	foreign.handle = address;
	foreign.nbytes = SIZE;
	foreign.stream = stream;
	TRY(scene, bi_dtype_parse("uint8", &dtype, scene->err));
	TRY(scene, bi_layout_init(&layout, dtype, 1, shape, NULL, 0, scene->err));
	TRY(scene, bi_memory_wrap(context, &foreign, &memory, scene->err));
	TRY(scene, bi_view_create(memory, &layout, 0, &view, scene->err));
	bi_memory_release(memory);
	return view;
}

/* A device still writes the host memory that is wrapped, and goes on reading what comes out of it. */
void wrap_host_with_stream(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	uintptr_t handle = scene->rc ? 0 : bi_context_handle(context);
	struct pair producer = wrap_stream(scene, context);
	bi__cu_pointer pinned = raw_memory(scene, handle, RAW_PINNED, SIZE);
	struct array *host, *array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);

	raw_worker(scene, handle, producer.handle);
	raw_set(scene, handle, producer.handle, pinned, 0x69, SIZE);
	host = scene_adopt(scene, wrap_pinned(scene, context, (uintptr_t)pinned, producer.stream), SIZE);
	for (size_t i = 0; i < SIZE; i++)
		host->mirror[i] = 0x69;
	scene_copy_all(scene, array, host, NULL);
	scene_copy_all(scene, host, array, scene_stream(scene, context));
	scene_consume(scene, array);
	scene_consume(scene, host);
}

/* The same stream comes back after a consumer who was told of the home has worked there. */
void export_between_uses(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct bi_stream *stream = scene_stream(scene, context);
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);

	for (int i = 0; i < 3; i++) {
		scene_fill_all(scene, array, (unsigned char)(0x6c + i), stream);
		scene_consume(scene, array);
	}
}

void release_while_pending(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct pair producer = wrap_stream(scene, context);
	struct bi_stream *stream = scene_stream(scene, context);

	for (int i = 0; i < 3; i++) {
		struct array *array = raw_produce(scene, context, producer.handle, NULL, SIZE);

		scene_fill_all(scene, array, 0x6a, stream);
		scene_release(scene, array);
	}
	TRY(scene, bi_context_trim(context, 0, scene->err));
}

void release_named_while_pending(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct pair producer = wrap_stream(scene, context);
	struct bi_stream *stream = scene_stream(scene, context);

	for (int i = 0; i < 3; i++) {
		struct array *array = raw_produce(scene, context, producer.handle, producer.stream, SIZE);

		scene_fill_all(scene, array, 0x6b, stream);
		scene_release(scene, array);
	}
}

/* Streams 7, 9 and 15 produce, stream 3 consumes: correct by events alone, there and back. */
void three_producers_one_consumer(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	struct bi_stream *consumer = scene_stream(scene, context);
	struct array *from[3];

	for (int i = 0; i < 3; i++) {
		struct pair producer = wrap_stream(scene, context);

		from[i] = raw_produce(scene, context, producer.handle, producer.stream, SIZE);
	}
	/* Each array is new to the consumer, and its producer works on it again in between. */
	for (int i = 0; i < 3; i++) {
		struct array *to = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);

		scene_copy_all(scene, to, from[i], consumer);
		scene_consume(scene, from[i]);
		scene_consume(scene, to);
		scene_fill_all(scene, from[i], (unsigned char)(0x70 + i), consumer);
		scene_consume(scene, from[i]);
	}
}

/* The producer overwrites what three others read, and then they read what he wrote. */
void one_producer_three_consumers(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	uintptr_t handle = scene->rc ? 0 : bi_context_handle(context);
	struct pair producer = wrap_stream(scene, context), consumers[3];
	struct array *array = raw_produce(scene, context, producer.handle, producer.stream, SIZE);
	bi__cu_pointer copies[3];

	for (int i = 0; i < 3; i++) {
		consumers[i] = wrap_stream(scene, context);
		copies[i] = raw_memory(scene, handle, RAW_DEVICE, SIZE);
	}
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			TRY(scene, begin_use(array->whole, consumers[i].stream, scene->err));
			copy_out(scene, array, copies[i], consumers[i].handle);
			hand_back(scene, array, consumers[i].stream);
		}
		set(scene, array, producer.handle, (unsigned char)(0x73 + round));
	}
	for (int i = 0; i < 3; i++)
		TRY(scene, bi_stream_synchronize(consumers[i].stream, scene->err));
	scene_consume(scene, array);
}

/* More than there are pieces of staging. */
#define STREAMS 40

/*
 * Downloads that cannot end before they are all enqueued, each on the home of its own array: the pieces of the staging
 * have to go from one stream to another that nothing else orders.
 */
void staging_runs_out(struct scene *scene)
{
	struct bi_context *context = open_shared(scene);
	uintptr_t handle = scene->rc ? 0 : bi_context_handle(context);
	struct array *from[STREAMS], *to[STREAMS];
	struct pair producers[STREAMS];
	unsigned *gate;

	for (int i = 0; i < STREAMS; i++) {
		producers[i] = wrap_stream(scene, context);
		from[i] = raw_produce(scene, context, producers[i].handle, producers[i].stream, 64);
		to[i] = scene_host(scene, context, 64, NULL);
	}
	gate = raw_gate(scene, handle);
	for (int i = 0; i < STREAMS; i++) {
		raw_wait_gate(scene, handle, producers[i].handle, gate);
		set(scene, from[i], producers[i].handle, (unsigned char)(i + 1));
		scene_copy_all(scene, to[i], from[i], NULL);
	}
	raw_open_gate(gate);
	for (int i = 0; i < STREAMS; i++)
		scene_consume(scene, to[i]);
}
