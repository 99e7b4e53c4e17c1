#include "common/backend/dispatch.h"

#include "common/backend/registry.h"

int bi__dispatch_refuse_child(const struct bi__device *device, struct bi_error *err)
{
	return bi__fail(err, BI_EFORK, "device %s was opened before this process was forked", device->info->spec);
}

/* A driver that was opened before a fork hangs after it. */
static int check_driver(const struct bi__backend *backend, struct bi_error *err)
{
	if (bi__survives_fork(backend))
		return BI_OK;
	bi__fork_watch();
	if (bi__fork_generation() > 0)
		return bi__fail(err, BI_EFORK, "%s was opened before this process was forked", backend->name);
	return BI_OK;
}

/* Memory that the CPU can address is usable in a forked child, whatever the device. */
static int check_reach(const struct bi__backend *owner, const struct bi__device *device, struct bi_error *err)
{
	return owner->cpu_addressable ? BI_OK : bi__dispatch_alive(device, err);
}

int bi__dispatch_enumerate(const struct bi__backend *backend, struct bi_device *devices, int capacity, int *count,
			   struct bi_error *err)
{
	int rc = check_driver(backend, err);

	*count = 0;
	return rc ? rc : backend->enumerate(devices, capacity, count, err);
}

int bi__dispatch_open(struct bi__device *device, const struct bi_options *options, struct bi_device *adopted,
		      struct bi__queue *stream, struct bi_error *err)
{
	int rc = check_driver(device->backend, err);

	device->fork_generation = bi__fork_generation();
	if (rc || !device->backend->open)
		return rc;
	return device->backend->open(options, device->info, adopted, &device->state, stream, err);
}

void bi__dispatch_close(struct bi__device *device, struct bi__queue *stream)
{
	if (device->backend->close && bi__dispatch_alive(device, NULL) == BI_OK)
		device->backend->close(&device->state, stream);
}

int bi__dispatch_enter(struct bi__device *device, int *entered, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	return rc || !device->backend->enter ? rc : device->backend->enter(&device->state, entered, err);
}

void bi__dispatch_leave(struct bi__device *device)
{
	if (device->backend->leave && bi__dispatch_alive(device, NULL) == BI_OK)
		device->backend->leave(&device->state);
}

void bi__dispatch_drop_caches(struct bi__device *device)
{
	if (device->backend->drop_caches && bi__dispatch_alive(device, NULL) == BI_OK)
		device->backend->drop_caches(&device->state);
}

void bi__dispatch_cache_state(const struct bi__device *device, uint64_t *built, uint64_t *loaded)
{
	*built = *loaded = 0;
	if (device->backend->cache_state)
		device->backend->cache_state(&device->state, built, loaded);
}

int bi__dispatch_alloc(const struct bi__backend *owner, struct bi__device *device, struct bi__block *block,
		       struct bi_error *err)
{
	int rc = check_reach(owner, device, err);

	return rc ? rc : owner->alloc(&device->state, block, err);
}

int bi__dispatch_adopt(const struct bi__backend *owner, struct bi__device *device, const struct bi_foreign *foreign,
		       struct bi__block *block, struct bi_error *err)
{
	int rc = check_reach(owner, device, err);

	if (rc)
		return rc;
	if (!owner->adopt)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s does not wrap foreign memory", owner->name);
	return owner->adopt(&device->state, foreign, block, err);
}

void bi__dispatch_free(const struct bi__backend *owner, struct bi__device *device, struct bi__block *block)
{
	if (check_reach(owner, device, NULL) == BI_OK)
		owner->free(&device->state, block);
}

/* A locating function may open the driver. Its backend is named in the answer. */
static int check_locating(const struct bi__backend *backend, const char **name, struct bi_error *err)
{
	if (name)
		*name = backend->name;
	return check_driver(backend, err);
}

int bi__dispatch_locate(enum bi_handle_kind kind, uintptr_t handle, struct bi__origin *out, const char **name,
			struct bi_error *err)
{
	const struct bi__backend *backend;
	int rc;

	for (size_t i = 0; (backend = bi__registry_backend(i)); i++)
		if (backend->handle == kind && backend->locate) {
			rc = check_locating(backend, name, err);
			return rc ? rc : backend->locate(handle, out, err);
		}
	return bi__fail(err, BI_EUNSUPPORTED, "handle kind %d cannot be located by this build", (int)kind);
}

int bi__dispatch_locate_queue(uint32_t kind, uintptr_t queue, struct bi__origin *out, const char **name,
			      struct bi_error *err)
{
	const struct bi__backend *backend;
	int rc;

	for (size_t i = 0; (backend = bi__registry_backend(i)); i++)
		if (bi__wraps_stream_kind(backend, kind) && backend->locate_queue) {
			rc = check_locating(backend, name, err);
			return rc ? rc : backend->locate_queue(queue, out, err);
		}
	return bi__fail(err, BI_EUNSUPPORTED, "stream kind %u cannot be located by this build", kind);
}

int bi__dispatch_stream_open(struct bi__device *device, struct bi__queue *queue, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (rc || (!device->backend->stream_open && !queue->native))
		return rc;
	if (!device->backend->stream_open)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s has no streams to wrap", device->backend->name);
	return device->backend->stream_open(&device->state, queue, err);
}

void bi__dispatch_stream_close(const struct bi__device *device, struct bi__queue *queue)
{
	if (device->backend->stream_close && bi__dispatch_alive(device, NULL) == BI_OK)
		device->backend->stream_close(queue);
}

int bi__dispatch_follow(const struct bi__device *device, struct bi__queue *waiter, struct bi__queue *on,
			struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	return rc || !device->backend->follow ? rc : device->backend->follow(waiter, on, err);
}

int bi__dispatch_record(const struct bi__device *device, struct bi__queue *queue, uintptr_t *event,
			struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*event = 0;
	return rc || !device->backend->record ? rc : device->backend->record(queue, event, err);
}

int bi__dispatch_wait(const struct bi__device *device, struct bi__queue *queue, uintptr_t event, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	return rc || !event ? rc : device->backend->wait(queue, event, err);
}

int bi__dispatch_poll(const struct bi__device *device, uintptr_t event, int block, int *done, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*done = 1;
	return rc || !event ? rc : device->backend->poll(event, block, done, err);
}

int bi__dispatch_finish(const struct bi__device *device, struct bi__queue *queue, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	return rc || !device->backend->finish ? rc : device->backend->finish(queue, err);
}

int bi__dispatch_capture(const struct bi__device *device, struct bi__queue *queue, uint64_t *id, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*id = 0;
	return rc || !device->backend->capture ? rc : device->backend->capture(queue, id, err);
}

int bi__dispatch_event_wrap(struct bi__device *device, uintptr_t native, uintptr_t *event, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*event = 0;
	if (rc)
		return rc;
	if (!device->backend->event_wrap)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s has no events to wrap", device->backend->name);
	return device->backend->event_wrap(&device->state, native, event, err);
}

int bi__dispatch_event_retain(const struct bi__device *device, uintptr_t event, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	return rc || !event ? rc : device->backend->event_retain(event, err);
}

void bi__dispatch_event_release(const struct bi__device *device, uintptr_t event)
{
	if (event && bi__dispatch_alive(device, NULL) == BI_OK)
		device->backend->event_release(event);
}

uintptr_t bi__dispatch_event_handle(const struct bi__device *device, uintptr_t event)
{
	return event && device->backend->event_handle ? device->backend->event_handle(event) : event;
}

int64_t bi__dispatch_elapsed(const struct bi__device *device, uintptr_t event)
{
	return device->backend->elapsed ? device->backend->elapsed(event) : -1;
}

int bi__dispatch_copy(struct bi__device *device, struct bi__queue *queue, const struct bi__move *move, uintptr_t *event,
		      struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (event)
		*event = 0;
	return rc ? rc : device->backend->copy(&device->state, queue, move, event, err);
}

int bi__dispatch_copy_inline(const struct bi__move *move, struct bi_error *err)
{
	return bi__registry_host()->copy(NULL, NULL, move, NULL, err);
}

int bi__dispatch_takes(struct bi__device *device, const struct bi__move *move, int *takes, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*takes = (device->info->capabilities & BI_CAP_NATIVE_COPY) != 0;
	if (rc || *takes || !device->backend->takes)
		return rc;
	return device->backend->takes(&device->state, move, takes, err);
}

int bi__dispatch_map(struct bi__device *device, struct bi__queue *queue, const struct bi__range *range, void **pointer,
		     uintptr_t *event, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*event = 0;
	return rc ? rc : device->backend->map(&device->state, queue, range, pointer, event, err);
}

int bi__dispatch_unmap(struct bi__device *device, struct bi__queue *queue, const struct bi__block *block, void *pointer,
		       struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	return rc ? rc : device->backend->unmap(&device->state, queue, block, pointer, err);
}
