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

static struct pair wrap_stream(struct trial *trial, struct bi_context *context)
{
	struct pair pair;

	pair.handle = trial->rc ? 0 : raw_stream(trial, bi_context_handle(context));
	pair.stream = trial_wrap_stream(trial, context, pair.handle);
	return pair;
}

/* The streams of others live longer than the library's context, so theirs has to as well. */
static struct bi_context *open_shared(struct trial *trial)
{
	raw_primary(trial, 0);
	return trial_open(trial, "cuda:0");
}

static bi__cu_pointer address_of(struct trial *trial, const struct array *array)
{
	struct bi_native native;

	if (trial->rc)
		return 0;
	bi_view_native(array->whole, &native);
	return native.handle;
}

/* Somebody sets all bytes on his stream. */
static void set(struct trial *trial, struct array *array, uintptr_t stream, unsigned char value)
{
	if (trial->rc)
		return;
	raw_set(trial, bi_context_handle(trial->context), stream, address_of(trial, array), value, array->nbytes);
	for (size_t i = 0; i < array->nbytes; i++)
		array->expected[i] = value;
}

/* As the header says: where the producer has failed nothing is handed back, and the stream is waited for. */
static void hand_back(struct trial *trial, const struct array *array, struct bi_stream *stream)
{
	if (trial->rc)
		return;
	if (TRY(trial, end_use(array->whole, stream, trial->err)) && trial->rc == BI_EPRODUCER)
		raw_finish(bi_context_handle(trial->context), bi_stream_handle(stream));
}

/* Somebody reads all bytes on his stream. */
static void copy_out(struct trial *trial, const struct array *from, bi__cu_pointer to, uintptr_t stream)
{
	if (trial->rc)
		return;
	raw_enter(bi_context_handle(trial->context));
	RAW(trial, MemcpyDtoDAsync, (to, address_of(trial, from), from->nbytes, (bi__cu_stream)stream));
	raw_leave();
}

/* Who has joined three producers works on what they made, and gives it back. */
void join(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct bi_stream *streams[3];
	struct array *arrays[3];
	struct pair target = wrap_stream(trial, context);

	for (int i = 0; i < 3; i++) {
		struct pair pair = wrap_stream(trial, context);

		streams[i] = pair.stream;
		arrays[i] = raw_produce(trial, context, pair.handle, pair.stream, SIZE);
	}
	TRY(trial, bi_stream_join(target.stream, streams, 3, trial->err));
	for (int i = 0; i < 3; i++) {
		set(trial, arrays[i], target.handle, (unsigned char)(0x58 + i));
		hand_back(trial, arrays[i], target.stream);
	}
	for (int i = 0; i < 3; i++)
		trial_consume(trial, arrays[i]);
}

void events(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct pair first = wrap_stream(trial, context), second = wrap_stream(trial, context);
	struct array *array = raw_produce(trial, context, first.handle, first.stream, SIZE);
	struct bi_event *event = NULL;
	int done = 0;

	TRY(trial, bi_event_record(first.stream, &event, trial->err));
	TRY(trial, bi_stream_wait(second.stream, event, trial->err));
	set(trial, array, second.handle, 0x61);
	hand_back(trial, array, second.stream);
	trial_consume(trial, array);
	TRY(trial, bi_event_query(event, &done, trial->err));
	TRY(trial, bi_event_synchronize(event, trial->err));
	if (!TRY(trial, bi_event_query(event, &done, trial->err)) && !done)
		trial_wrong(trial, "an event that was waited for is not complete");
	TRY(trial, bi_stream_synchronize(second.stream, trial->err));
	bi_event_release(event);
}

void per_thread_stream(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct bi_stream *stream = trial_wrap_stream(trial, context, 2);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);

	trial_fill_all(trial, array, 0x62, stream);
	trial_fill_all(trial, array, 0x63, trial_stream(trial, context));
	TRY(trial, begin_use(array->whole, stream, trial->err));
	set(trial, array, 2, 0x64);
	hand_back(trial, array, stream);
	trial_consume(trial, array);
}

void acquire_and_hand_back(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct pair user = wrap_stream(trial, context);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);

	TRY(trial, begin_use(array->whole, user.stream, trial->err));
	set(trial, array, user.handle, 0x65);
	hand_back(trial, array, user.stream);
	trial_consume(trial, array);
}

void wrap_named_stream(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct pair producer = wrap_stream(trial, context);
	struct array *array = raw_produce(trial, context, producer.handle, producer.stream, SIZE);
	struct array *copy = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);

	trial_copy_all(trial, copy, array, trial_stream(trial, context));
	trial_fill_all(trial, array, 0x66, NULL);
	trial_consume(trial, array);
	trial_consume(trial, copy);
}

void wrap_without_stream(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct pair producer = wrap_stream(trial, context);
	struct array *array = raw_produce(trial, context, producer.handle, NULL, SIZE);
	struct array *copy = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);

	trial_copy_all(trial, copy, array, trial_stream(trial, context));
	trial_fill_all(trial, array, 0x67, NULL);
	trial_consume(trial, array);
	trial_consume(trial, copy);
}

void wrap_with_event(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct pair producer = wrap_stream(trial, context);
	struct array *array = raw_produce_event(trial, context, producer.handle, SIZE);

	trial_fill_all(trial, array, 0x68, trial_stream(trial, context));
	trial_consume(trial, array);
}

static struct bi_view *wrap_pinned(struct trial *trial, struct bi_context *context, uintptr_t address,
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
	TRY(trial, bi_dtype_parse("uint8", &dtype, trial->err));
	TRY(trial, bi_layout_init(&layout, dtype, 1, shape, NULL, 0, trial->err));
	TRY(trial, bi_memory_wrap(context, &foreign, &memory, trial->err));
	TRY(trial, bi_view_create(memory, &layout, 0, &view, trial->err));
	bi_memory_release(memory);
	return view;
}

/* A device still writes the host memory that is wrapped, and goes on reading what comes out of it. */
void wrap_host_with_stream(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	uintptr_t handle = trial->rc ? 0 : bi_context_handle(context);
	struct pair producer = wrap_stream(trial, context);
	bi__cu_pointer pinned = raw_memory(trial, handle, RAW_PINNED, SIZE);
	struct array *host, *array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);

	raw_worker(trial, handle, producer.handle);
	raw_set(trial, handle, producer.handle, pinned, 0x69, SIZE);
	host = trial_adopt(trial, wrap_pinned(trial, context, (uintptr_t)pinned, producer.stream), SIZE);
	for (size_t i = 0; i < SIZE; i++)
		host->expected[i] = 0x69;
	trial_copy_all(trial, array, host, NULL);
	trial_copy_all(trial, host, array, trial_stream(trial, context));
	trial_consume(trial, array);
	trial_consume(trial, host);
}

/* The same stream comes back after a consumer who was told of the home has worked there. */
void export_between_uses(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct bi_stream *stream = trial_stream(trial, context);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);

	for (int i = 0; i < 3; i++) {
		trial_fill_all(trial, array, (unsigned char)(0x6c + i), stream);
		trial_consume(trial, array);
	}
}

void release_while_pending(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct pair producer = wrap_stream(trial, context);
	struct bi_stream *stream = trial_stream(trial, context);

	for (int i = 0; i < 3; i++) {
		struct array *array = raw_produce(trial, context, producer.handle, NULL, SIZE);

		trial_fill_all(trial, array, 0x6a, stream);
		trial_release(trial, array);
	}
	TRY(trial, bi_context_trim(context, 0, trial->err));
}

void release_named_while_pending(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct pair producer = wrap_stream(trial, context);
	struct bi_stream *stream = trial_stream(trial, context);

	for (int i = 0; i < 3; i++) {
		struct array *array = raw_produce(trial, context, producer.handle, producer.stream, SIZE);

		trial_fill_all(trial, array, 0x6b, stream);
		trial_release(trial, array);
	}
}

/* Streams 7, 9 and 15 produce, stream 3 consumes: correct by events alone, there and back. */
void three_producers_one_consumer(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	struct bi_stream *consumer = trial_stream(trial, context);
	struct array *from[3];

	for (int i = 0; i < 3; i++) {
		struct pair producer = wrap_stream(trial, context);

		from[i] = raw_produce(trial, context, producer.handle, producer.stream, SIZE);
	}
	/* Each array is new to the consumer, and its producer works on it again in between. */
	for (int i = 0; i < 3; i++) {
		struct array *to = trial_array(trial, context, BI_MEMORY_DEVICE, SIZE);

		trial_copy_all(trial, to, from[i], consumer);
		trial_consume(trial, from[i]);
		trial_consume(trial, to);
		trial_fill_all(trial, from[i], (unsigned char)(0x70 + i), consumer);
		trial_consume(trial, from[i]);
	}
}

/* The producer overwrites what three others read, and then they read what he wrote. */
void one_producer_three_consumers(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	uintptr_t handle = trial->rc ? 0 : bi_context_handle(context);
	struct pair producer = wrap_stream(trial, context), consumers[3];
	struct array *array = raw_produce(trial, context, producer.handle, producer.stream, SIZE);
	bi__cu_pointer copies[3];

	for (int i = 0; i < 3; i++) {
		consumers[i] = wrap_stream(trial, context);
		copies[i] = raw_memory(trial, handle, RAW_DEVICE, SIZE);
	}
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			TRY(trial, begin_use(array->whole, consumers[i].stream, trial->err));
			copy_out(trial, array, copies[i], consumers[i].handle);
			hand_back(trial, array, consumers[i].stream);
		}
		set(trial, array, producer.handle, (unsigned char)(0x73 + round));
	}
	for (int i = 0; i < 3; i++)
		TRY(trial, bi_stream_synchronize(consumers[i].stream, trial->err));
	trial_consume(trial, array);
}

/* More than there are pieces of staging. */
#define STREAMS 40

/*
 * Downloads that cannot end before they are all enqueued, each on the home of its own array: the pieces of the staging
 * have to go from one stream to another that nothing else orders.
 */
void staging_runs_out(struct trial *trial)
{
	struct bi_context *context = open_shared(trial);
	uintptr_t handle = trial->rc ? 0 : bi_context_handle(context);
	struct array *from[STREAMS], *to[STREAMS];
	struct pair producers[STREAMS];
	unsigned *gate;

	for (int i = 0; i < STREAMS; i++) {
		producers[i] = wrap_stream(trial, context);
		from[i] = raw_produce(trial, context, producers[i].handle, producers[i].stream, 64);
		to[i] = trial_host(trial, context, 64, NULL);
	}
	gate = raw_gate(trial, handle);
	for (int i = 0; i < STREAMS; i++) {
		raw_wait_gate(trial, handle, producers[i].handle, gate);
		set(trial, from[i], producers[i].handle, (unsigned char)(i + 1));
		trial_copy_all(trial, to[i], from[i], NULL);
	}
	raw_open_gate(gate);
	for (int i = 0; i < STREAMS; i++)
		trial_consume(trial, to[i]);
}
