#define _POSIX_C_SOURCE 200809L
/*
 * A third device backend, for tests only: memory is mapped from unlinked files. It is asynchronous in name: no address
 * of its memory is for anybody else, and all work is ordered by streams and events, although each call finishes its
 * work. It proves that a backend is one folder and one line of the registry.
 *
 * Native handles are pointers to the counted objects below. Its handle kind, device type and stream kind are numbers
 * that no header names.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/backend/backend.h"
#include "common/engine/engine.h"
#include "toy.h"

enum { DEVICES = 2 };

static void describe_device(int ordinal, struct bi_device *out)
{
	*out = (struct bi_device){ .ordinal = ordinal, .kind = BI_DEVICE_KIND_OTHER, .usable = 1 };
	out->capabilities = BI_CAP_ASYNC | BI_CAP_NATIVE_COPY | BI_CAP_OUT_OF_ORDER;
	snprintf(out->spec, sizeof(out->spec), "toy:%d", ordinal);
	snprintf(out->backend, sizeof(out->backend), "toy");
	snprintf(out->name, sizeof(out->name), "mapped files %d", ordinal);
	snprintf(out->platform_name, sizeof(out->platform_name), "toy");
	snprintf(out->platform_version, sizeof(out->platform_version), "toy 1.0");
}

static int toy_enumerate(struct bi_device *devices, int capacity, int *count, struct bi_error *err)
{
	(void)err;
	for (int i = 0; i < DEVICES && i < capacity; i++)
		describe_device(i, &devices[i]);
	*count = DEVICES;
	return BI_OK;
}

struct native *toy_retain(struct native *native)
{
	atomic_fetch_add(&native->refs, 1);
	return native;
}

void toy_release(struct native *native)
{
	struct native *context = native->context;

	if (atomic_fetch_sub(&native->refs, 1) != 1)
		return;
	if (native->bytes)
		munmap(native->bytes, native->nbytes);
	free(native);
	if (context)
		toy_release(context);
}

struct native *toy_create(enum magic magic, struct native *context, struct bi_error *err)
{
	struct native *native = calloc(1, sizeof(*native));

	if (!native) {
		bi__fail(err, BI_ENOMEM, "no memory for a native object");
		return NULL;
	}
	native->magic = magic;
	atomic_init(&native->refs, 1);
	native->context = context ? toy_retain(context) : NULL;
	return native;
}

/* Returns the object behind a foreign handle, or NULL with the reason if it is none of that kind and context. */
static struct native *find_native(uintptr_t handle, enum magic magic, uintptr_t context, struct bi_error *err)
{
	struct native *native = (struct native *)handle;

	if (native->magic == magic && (uintptr_t)native->context == context)
		return native;
	bi__fail(err, BI_EINVAL, "the handle belongs to another native context, or is of another kind");
	return NULL;
}

static int toy_stream_open(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err)
{
	struct native *native;

	if (queue->native)
		native = find_native(queue->native, QUEUE, device->native, err);
	else
		native = toy_create(QUEUE, (struct native *)device->native, err);
	if (!native)
		return err ? err->status : BI_EINVAL;
	if (queue->native)
		queue->out_of_order = toy_retain(native)->out_of_order;
	native->out_of_order = queue->out_of_order;
	queue->native = (uintptr_t)native;
	queue->kind = (enum bi_order_kind)STREAM_KIND;
	return BI_OK;
}

static int toy_stream_close(struct bi__queue *queue)
{
	toy_release((struct native *)queue->native);
	return 0;
}

static int toy_open(const struct bi_options *options, const struct bi_device *device, struct bi_device *adopted,
		    struct bi__device_state *out, struct bi__queue *stream, struct bi_error *err)
{
	struct native *context = (struct native *)options->adopt_context;
	int rc;

	if (context)
		toy_retain(context);
	else if (!(context = toy_create(CONTEXT, NULL, err)))
		return BI_ENOMEM;
	else
		context->ordinal = device->ordinal;
	if (options->adopt_context)
		describe_device(context->ordinal, adopted);
	out->native = (uintptr_t)context;
	*stream = (struct bi__queue){ .native = options->adopt_stream };
	rc = toy_stream_open(out, stream, err);
	if (rc)
		toy_release(context);
	return rc;
}

static void toy_close(struct bi__device_state *device, struct bi__queue *stream)
{
	toy_stream_close(stream);
	toy_release((struct native *)device->native);
}

/* Returns MAP_FAILED if there is no such file. */
static void *map_file(size_t nbytes)
{
	FILE *file = tmpfile();
	void *bytes = MAP_FAILED;

	if (file && nbytes <= INT64_MAX && ftruncate(fileno(file), (off_t)nbytes) == 0)
		bytes = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (file)
		fclose(file);
	return bytes;
}

struct native *toy_create_file(struct native *context, size_t nbytes, struct bi_error *err)
{
	void *bytes = map_file(nbytes);
	struct native *memory = bytes == MAP_FAILED ? NULL : toy_create(FILE_MEMORY, context, err);

	if (bytes == MAP_FAILED)
		bi__fail(err, BI_ENOMEM, "no file of %zu bytes", nbytes);
	else if (!memory)
		munmap(bytes, nbytes);
	if (memory) {
		memory->bytes = bytes;
		memory->nbytes = nbytes;
	}
	return memory;
}

static int toy_alloc(struct bi__device_state *device, struct bi__block *block, struct bi_error *err)
{
	struct native *memory = toy_create_file((struct native *)device->native, block->origin + block->nbytes, err);

	if (!memory)
		return BI_ENOMEM;
	block->kind = (enum bi_handle_kind)HANDLE;
	block->handle = (uintptr_t)memory;
	block->host = block->memory == BI_MEMORY_PINNED ? memory->bytes + block->origin : NULL;
	return BI_OK;
}

static int toy_adopt(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		     struct bi_error *err)
{
	struct native *memory;

	if (foreign->kind != (enum bi_handle_kind)HANDLE)
		return bi__fail(err, BI_EUNSUPPORTED, "handle kind %d is no file", (int)foreign->kind);
	memory = find_native(foreign->handle, FILE_MEMORY, device->native, err);
	if (!memory)
		return BI_EINVAL;
	if (foreign->nbytes > memory->nbytes)
		return bi__fail(err, BI_EINVAL, "the file has %zu bytes, not %zu", memory->nbytes, foreign->nbytes);
	if (!(foreign->flags & BI_WRAP_STEAL))
		toy_retain(memory);
	block->kind = foreign->kind;
	block->handle = foreign->handle;
	block->nbytes = foreign->nbytes ? foreign->nbytes : memory->nbytes;
	return BI_OK;
}

static void toy_free(struct bi__device_state *device, struct bi__block *block)
{
	(void)device;
	toy_release((struct native *)block->handle);
}

/* Each call finishes its work, so nothing waits for anything. */
static int toy_follow(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err)
{
	(void)waiter, (void)on, (void)err;
	return BI_OK;
}

static int toy_record(struct bi__queue *queue, uintptr_t *event, struct bi_error *err)
{
	struct native *native = toy_create(EVENT, ((struct native *)queue->native)->context, err);

	*event = (uintptr_t)native;
	return native ? BI_OK : BI_ENOMEM;
}

static int toy_wait(struct bi__queue *queue, uintptr_t event, struct bi_error *err)
{
	(void)queue, (void)event, (void)err;
	return BI_OK;
}

static int toy_poll(uintptr_t event, int block, int *done, struct bi_error *err)
{
	(void)event, (void)block, (void)err;
	*done = 1;
	return BI_OK;
}

static int toy_finish(struct bi__queue *queue, struct bi_error *err)
{
	(void)queue, (void)err;
	return BI_OK;
}

static int toy_event_wrap(struct bi__device_state *device, uintptr_t handle, uintptr_t *event, struct bi_error *err)
{
	struct native *native = find_native(handle, EVENT, device->native, err);

	*event = native ? (uintptr_t)toy_retain(native) : 0;
	return native ? BI_OK : BI_EINVAL;
}

static int toy_event_retain(uintptr_t event, struct bi_error *err)
{
	(void)err;
	toy_retain((struct native *)event);
	return BI_OK;
}

static void toy_event_release(uintptr_t event)
{
	toy_release((struct native *)event);
}

static void *address_of(const struct bi__place *place)
{
	const struct bi__block *block = place->block;

	return block ? ((struct native *)block->handle)->bytes + block->origin : (void *)(uintptr_t)place->host;
}

static int toy_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__move *move,
		    uintptr_t *event, struct bi_error *err)
{
	(void)device;
	bi__engine_copy(move->plan, address_of(&move->dst), address_of(&move->src));
	return event ? toy_record(queue, event, err) : BI_OK;
}

/* Memory belongs to its native context, which has one device. */
static int toy_locate(uintptr_t handle, struct bi__origin *out, struct bi_error *err)
{
	(void)err;
	*out = (struct bi__origin){ 0, (uintptr_t)((struct native *)handle)->context };
	return BI_OK;
}

#define EXPORTED \
	{ \
		.device = (enum bi_exchange_device)DEVICE_TYPE, .handle = (enum bi_handle_kind)HANDLE, \
		.form = BI__FORM_OBJECT \
	}

const struct bi__backend bi__toy_backend = {
	.name = "toy",
	.numbers = 1,
	.handle = (enum bi_handle_kind)HANDLE,
	.exported = { EXPORTED, EXPORTED, EXPORTED },
	.stream_kinds = 1u << STREAM_KIND,
	.devices = {
		.enumerate = toy_enumerate,
		.open = toy_open,
		.close = toy_close,
		.locate = toy_locate,
	},
	.memory = {
		.alloc = toy_alloc,
		.adopt = toy_adopt,
		.free = toy_free,
	},
	.order = {
		.stream_open = toy_stream_open,
		.stream_close = toy_stream_close,
		.follow = toy_follow,
		.record = toy_record,
		.wait = toy_wait,
		.poll = toy_poll,
		.finish = toy_finish,
		.event_wrap = toy_event_wrap,
		.event_retain = toy_event_retain,
		.event_release = toy_event_release,
	},
	.move = {
		.copy = toy_copy,
	},
};
