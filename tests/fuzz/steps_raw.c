/* The steps with raw work (raw.h): producers and consumers with streams of their own. */
#include <stdio.h>

#include "program.h"
#include "common/runtime/object.h"

#define MOST_USES 4

/*
 * Finds the bytes of a memory for raw work. Returns 0 if raw work cannot use them, for example because they are mapped,
 * or other threads read them.
 */
static int find_place(struct program *program, const struct model *model, struct raw_place *place)
{
	struct bi_view *view;
	struct bi_native native;
	struct bi_error err;

	if (!kept.raw || model->map || model->is_shared)
		return 0;
	if (!succeeded(program, view_all(model, &view, &err), &err, "view for raw work"))
		return 0;
	bi_view_native(view, &native);
	memset(place, 0, sizeof(*place));
	place->offset = native.offset;
	if (bi_memory_is_host(model->memory))
		place->host = bi_view_host_pointer(view);
	else
		place->handle = native.handle;
	bi_view_release(view);
	if (place->host)
		place->offset = 0;
	return place->host || native.kind == kept.raw->kind;
}

/*
 * Finds the bytes for raw work between bi_use_begin and bi_use_end. Reads the handle of half of the own memories from
 * the object, so that these memories stay private.
 */
static int find_begun_place(struct program *program, const struct model *model, struct raw_place *place)
{
	const struct bi_memory *memory = model->memory;

	if (!take(program, 2) || !memory->own || bi_memory_is_host(memory))
		return find_place(program, model, place);
	if (!kept.raw || model->map || model->is_shared || memory->block.kind != kept.raw->kind)
		return 0;
	*place = (struct raw_place){ .handle = memory->block.handle, .offset = memory->block.origin };
	return 1;
}

static void choose_range(struct program *program, const struct model *model, size_t *first, size_t *nbytes)
{
	*first = take(program, (unsigned)model->nbytes);
	*nbytes = 1 + take(program, (unsigned)(model->nbytes - *first));
}

/* Enqueues raw work that writes, and writes the same bytes into the model. */
static void put(struct program *program, struct model *model, struct raw_place place, uintptr_t stream)
{
	size_t first, nbytes, from;

	choose_range(program, model, &first, &nbytes);
	from = take(program, (unsigned)(RAW_BYTES - nbytes) + 1);
	place.offset += first;
	kept.raw->put(stream, place, from, nbytes);
	for (size_t i = 0; i < nbytes; i++)
		model->bytes[first + i] = raw_source(from + i);
}

static int free_witness(struct program *program)
{
	int index = (int)take(program, RAW_WITNESSES - RAW_STOCK);

	settle_witness(program, index);
	return index;
}

/* Enqueues raw work that reads device memory. settle_witness compares the bytes later. */
static void get(struct program *program, const struct model *model, struct raw_place place, int stream)
{
	int index = free_witness(program);
	struct witness *witness = &program->witnesses[index];
	size_t first, nbytes;

	if (place.host)
		return;
	choose_range(program, model, &first, &nbytes);
	place.offset += first;
	kept.raw->get(bi_stream_handle(kept.streams[stream]), place, kept.raw->witness(program->part, index), nbytes);
	witness->is_pending = 1;
	witness->stream = stream;
	witness->nbytes = model->is_unknown ? 0 : nbytes;
	memcpy(witness->expected, model->bytes + first, nbytes);
}

/* Arrays of one call, and the access to each. The consumer works on the first. */
struct used {
	size_t count;
	struct array *arrays[MOST_USES];
	struct bi_use uses[MOST_USES];
};

static void choose_used(struct program *program, struct used *used, struct array *array, unsigned access)
{
	used->arrays[0] = array;
	used->uses[0] = (struct bi_use){ array->view, access };
	used->count = 1 + take(program, MOST_USES);
	for (size_t i = 1; i < used->count; i++) {
		struct array *other = take(program, 2) ? choose_writable(program) : NULL;

		used->arrays[i] = other ? other : choose_array(program);
		used->uses[i] = (struct bi_use){ used->arrays[i]->view, other ? BI_ACCESS_WRITE : BI_ACCESS_READ };
	}
}

/* Returns 1 if the status is BI_EBUSY because of a mapping of one of the memories. */
static int are_busy(struct program *program, const struct used *used, int rc)
{
	for (size_t i = 0; i < used->count; i++)
		if (is_busy(model_of(program, used->arrays[i]), rc, (used->uses[i].access & BI_ACCESS_WRITE) != 0))
			return 1;
	return 0;
}

/* A consumer that informs the library: it reads or writes between bi_use_begin and bi_use_end. */
static void step_use(struct program *program)
{
	struct array *array = choose_writable(program);
	int index = (int)take(program, MOST_STREAMS), writes = (int)take(program, 2), rc;
	struct bi_stream *stream = kept.streams[index];
	struct raw_place place;
	struct bi_error err;
	struct model *model;
	struct used used;
	int is_raw;

	if (!array || !stream)
		return;
	model = model_of(program, array);
	is_raw = find_begun_place(program, model, &place);
	choose_used(program, &used, array, writes ? BI_ACCESS_WRITE : BI_ACCESS_READ);
	rc = bi_use_begin(stream, used.uses, used.count, &err);
	if (are_busy(program, &used, rc) || !succeeded(program, rc, &err, "bi_use_begin"))
		return;
	if (is_raw && writes)
		put(program, model, place, bi_stream_handle(stream));
	else if (is_raw)
		get(program, model, place, index);
	for (size_t i = 0; i < used.count; i++)
		note_stream(model_of(program, used.arrays[i]), stream);
	rc = bi_use_end(stream, used.uses, used.count, &err);
	if (!succeeded(program, rc, &err, "bi_use_end") && kept.raw)
		kept.raw->finish(bi_stream_handle(stream));
	note_result(model, !rc || !writes);
}

/* A consumer that works on the context stream and does not inform the library. */
static void step_silent_consumer(struct program *program)
{
	struct array *array = choose_writable(program);
	struct raw_place place;
	struct bi_error err;
	struct model *model;
	int rc;

	if (!array)
		return;
	model = model_of(program, array);
	rc = bi_view_switch_to_context_stream(array->view, &err);
	if (is_busy(model, rc, 0) || !succeeded(program, rc, &err, "bi_view_switch_to_context_stream"))
		return;
	if (bi_memory_is_host(model->memory) || !find_place(program, model, &place))
		return;
	model->is_switched = 1;
	put(program, model, place, bi_stream_handle(kept.streams[0]));
}

/* The silent consumer enqueues more work at any time. */
static void step_silent_work(struct program *program)
{
	int memory = choose_memory(program);
	struct raw_place place;
	struct model *model;

	if (memory < 0)
		return;
	model = &program->memories[memory];
	if (!model->is_switched || !find_place(program, model, &place))
		return;
	if (take(program, 2))
		put(program, model, place, bi_stream_handle(kept.streams[0]));
	else
		get(program, model, place, 0);
}

/* The witness of a memory of the stock. */
static int witness_of(const struct producer *producer)
{
	return RAW_WITNESSES - RAW_STOCK + producer->stock;
}

/*
 * Enqueues the producer's next work, on the stream of its earlier work: the memory was released, so the producer may
 * change it. Runs on any thread.
 */
static void stock_is_released(void *data)
{
	struct producer *producer = data;
	struct program *program = producer->program;
	int stream = producer->stream, index = witness_of(producer);
	struct raw_place place = { kept.raw->memory(program->part, producer->stock), 0, NULL };
	struct witness *witness = &program->witnesses[index];

	atomic_fetch_add(&program->released, 1);
	if (atomic_fetch_add(&producer->calls, 1))
		wrong(program, "a release callback was called twice");
	if (program->is_child)
		return;
	kept.raw->get(bi_stream_handle(kept.streams[stream]), place, kept.raw->witness(program->part, index),
		      MOST_BYTES);
	kept.raw->put(bi_stream_handle(kept.streams[stream]), place, 0, MOST_BYTES);
	witness->stream = stream;
	witness->nbytes = (size_t)producer->is_known;
	memcpy(witness->expected, producer->expected, witness->nbytes);
	witness->is_pending = 1;
	atomic_store(&producer->is_released, 1);
}

/* Returns a producer whose earlier work is done, or NULL. */
static struct producer *free_producer(struct program *program)
{
	for (int i = 0; i < RAW_STOCK; i++) {
		struct producer *producer = &program->producers[i];

		if (producer->is_used && !atomic_load(&producer->is_released))
			continue;
		producer->program = program;
		producer->stock = i;
		settle_witness(program, witness_of(producer));
		producer->is_used = producer->is_known = 0;
		atomic_store(&producer->calls, 0);
		atomic_store(&producer->is_released, 0);
		return producer;
	}
	return NULL;
}

/* How a producer says when its memory is ready. */
enum readiness { NAMES_STREAM, RECORDS_EVENT, WAITS, READINESS_COUNT };

static int wrap_stock(struct program *program, struct producer *producer, struct model *model, enum readiness how,
		      unsigned flags)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_stream *stream = kept.streams[producer->stream];
	struct bi_event *event = NULL;
	struct bi_error err;
	int rc = BI_OK;

	if (how == RECORDS_EVENT)
		rc = bi_event_record(stream, &event, &err);
	if (how == WAITS)
		kept.raw->finish(bi_stream_handle(stream));
	foreign.kind = kept.raw->kind;
	foreign.handle = kept.raw->memory(program->part, producer->stock);
	foreign.nbytes = model->nbytes;
	foreign.flags = flags;
	foreign.stream = how == NAMES_STREAM ? stream : NULL;
	foreign.events = &event;
	foreign.event_count = event != NULL;
	foreign.release = stock_is_released;
	foreign.release_data = producer;
	rc = rc ? rc : bi_memory_wrap(kept.context, &foreign, &model->memory, &err);
	bi_event_release(event);
	return succeeded(program, rc, &err, "bi_memory_wrap of a producer");
}

static void step_wrap_device(struct program *program)
{
	struct producer *producer = kept.raw ? free_producer(program) : NULL;
	enum readiness how = (enum readiness)take(program, READINESS_COUNT);
	int slot = free_memory_slot(program), steals = (int)take(program, 2);
	int stream = OWN_STREAMS + (int)take(program, RAW_STREAMS);
	struct raw_place place = { 0, 0, NULL };
	struct model *model;

	if (slot < 0 || !producer)
		return;
	steals = steals && kept.raw->retain;
	model = &program->memories[slot];
	memset(model, 0, sizeof(*model));
	model->nbytes = 1 + take(program, MOST_BYTES);
	place.handle = kept.raw->memory(program->part, producer->stock);
	kept.raw->put(bi_stream_handle(kept.streams[stream]), place, 0, MOST_BYTES);
	for (size_t i = 0; i < MOST_BYTES; i++)
		model->bytes[i] = raw_source(i);
	if (steals)
		kept.raw->retain(program->part, producer->stock);
	if (program->is_alone && !program->may_fail && !take(program, 4))
		program->may_fail = (int)faults_arm(0, take(program, 8), 0);
	producer->stream = stream;
	if (!wrap_stock(program, producer, model, how, steals ? BI_WRAP_STEAL : 0)) {
		kept.raw->finish(bi_stream_handle(kept.streams[stream]));
		if (steals)
			kept.raw->release(program->part, producer->stock);
		return;
	}
	atomic_fetch_add(&program->taken, 1);
	producer->is_used = 1;
	model->producer = producer;
}

step_fn *const raw_steps[] = {
	step_use,         step_use,         step_silent_consumer, step_silent_work,
	step_silent_work, step_wrap_device, step_wrap_device,     NULL,
};
