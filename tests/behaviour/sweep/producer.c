/* Producers that are not the library: memory that is wrapped, and what they do when they get it back. */
#include "raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct producer {
	struct trial *trial;
	uintptr_t context;
	uintptr_t stream;
	int names_stream;
	int is_freed;
	bi__cu_pointer pointer;
	size_t nbytes;
};

#define MUST(name, arguments) \
	do { \
		if (RAW_AGAIN(cuda_driver()->name arguments) != BI__CU_SUCCESS) \
			abort(); \
	} while (0)

/* cuMemFree with work pending, other than his own, would be a mistake that the simulator reports. */
static void free_memory(struct producer *producer)
{
	producer->is_freed = 1;
	MUST(MemFree, (producer->pointer));
}

static void reuse(struct producer *producer)
{
	bi__cu_stream stream = (bi__cu_stream)producer->stream;

	MUST(MemsetD8Async, (producer->pointer, 0xdd, producer->nbytes, stream));
	MUST(StreamSynchronize, (stream));
}

static void get_back(void *data)
{
	struct producer *producer = data;

	producer->trial->released++;
	raw_enter(producer->context);
	if (producer->names_stream)
		reuse(producer);
	else
		MUST(StreamSynchronize, ((bi__cu_stream)producer->stream));
	free_memory(producer);
	raw_leave();
}

/* The memory too, if it was never taken. */
static void destroy(uintptr_t object, uintptr_t unused)
{
	struct producer *producer = (struct producer *)object;

	(void)unused;
	if (!producer->is_freed) {
		raw_enter(producer->context);
		MUST(StreamSynchronize, ((bi__cu_stream)producer->stream));
		free_memory(producer);
		raw_leave();
	}
	free(producer);
}

static struct producer *make(struct trial *trial, struct bi_context *context, uintptr_t stream, int names_stream,
			     size_t nbytes)
{
	struct producer *producer = calloc(1, sizeof(*producer));

	if (!producer)
		exit(EXIT_FAILURE);
	producer->trial = trial;
	producer->context = bi_context_handle(context);
	producer->stream = stream;
	producer->names_stream = names_stream;
	producer->nbytes = nbytes;
	raw_enter(producer->context);
	producer->is_freed = RAW(trial, MemAlloc, (&producer->pointer, nbytes));
	raw_leave();
	trial_keep(&trial->driver, destroy, (uintptr_t)producer, 0);
	return producer;
}

static int wrap(struct trial *trial, struct bi_context *context, struct producer *producer, struct bi_stream *named,
		struct bi_event *event, struct bi_memory **out)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	int rc;

	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = (uintptr_t)producer->pointer;
	foreign.nbytes = producer->nbytes;
	foreign.stream = named;
	foreign.events = &event;
	foreign.event_count = event != NULL;
	foreign.release = get_back;
	foreign.release_data = producer;
	rc = bi_memory_wrap(context, &foreign, out, trial->err);
	if (!rc)
		trial->taken++;
	return rc;
}

static struct bi_view *view_bytes(struct trial *trial, struct bi_memory *memory, size_t nbytes)
{
	const int64_t shape[1] = { (int64_t)nbytes };
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view = NULL;

	TRY(trial, bi_dtype_parse("uint8", &dtype, trial->err));
	TRY(trial, bi_layout_init(&layout, dtype, 1, shape, NULL, 0, trial->err));
	TRY(trial, bi_view_create(memory, &layout, 0, &view, trial->err));
	return view;
}

static struct array *wrap_array(struct trial *trial, struct bi_context *context, struct producer *producer,
				struct bi_stream *named, struct bi_event *event)
{
	struct bi_memory *memory = NULL;
	struct array *array;

	TRY(trial, wrap(trial, context, producer, named, event, &memory));
	array = trial_adopt(trial, view_bytes(trial, memory, producer->nbytes), producer->nbytes);
	bi_memory_release(memory);
	memset(array->expected, 0x22, array->nbytes);
	return array;
}

struct array *raw_produce(struct trial *trial, struct bi_context *context, uintptr_t stream, struct bi_stream *named,
			  size_t nbytes)
{
	struct producer *producer;

	if (trial->rc)
		return trial_adopt(trial, NULL, nbytes);
	producer = make(trial, context, stream, named != NULL, nbytes);
	raw_set(trial, producer->context, stream, producer->pointer, 0x22, nbytes);
	/* Who names no stream has to be done. */
	if (!named)
		raw_synchronize(trial, producer->context, stream);
	return wrap_array(trial, context, producer, named, NULL);
}

struct array *raw_produce_event(struct trial *trial, struct bi_context *context, uintptr_t stream, size_t nbytes)
{
	struct producer *producer;
	struct bi_event *event = NULL;
	struct array *array;
	uintptr_t recorded;

	if (trial->rc)
		return trial_adopt(trial, NULL, nbytes);
	producer = make(trial, context, stream, 0, nbytes);
	raw_set(trial, producer->context, stream, producer->pointer, 0x22, nbytes);
	recorded = raw_event(trial, producer->context, stream);
	TRY(trial, bi_event_wrap(context, recorded, &event, trial->err));
	array = wrap_array(trial, context, producer, NULL, event);
	bi_event_release(event);
	return array;
}
