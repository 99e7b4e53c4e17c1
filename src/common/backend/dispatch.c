#include "common/backend/dispatch.h"

#include <pthread.h>

#include "common/backend/registry.h"

/*
 * Disables the cancellation of the calling thread during a call of a driver. A thread that is cancelled inside of a
 * driver would leave locks held and objects half made. The host backend needs no such protection: only kernels of the
 * caller can reach a cancellation point there, and workers.c protects them.
 */
#define CALL_BACKEND(backend, statement) \
	do { \
		int is_foreign = !(backend)->synchronous, state = PTHREAD_CANCEL_ENABLE; \
\
		if (is_foreign) \
			pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); \
		statement; \
		if (is_foreign) \
			pthread_setcancelstate(state, NULL); \
	} while (0)

/* Makes the context of the scope current. Tries twice, because a call may return the failure of earlier work. */
static int enter_scope(struct bi__scope *scope, struct bi_error *err)
{
	const struct bi__device *device = scope->device;
	int rc;

	if (scope->is_entered)
		return BI_OK;
	CALL_BACKEND(device->backend, rc = device->backend->devices.begin(&device->state, &scope->has_pushed, NULL));
	if (rc)
		CALL_BACKEND(device->backend,
			     rc = device->backend->devices.begin(&device->state, &scope->has_pushed, err));
	scope->is_entered = !rc;
	return rc;
}

static void leave_scope(struct bi__scope *scope)
{
	const struct bi__device *device = scope->device;

	if (scope->has_pushed)
		CALL_BACKEND(device->backend, device->backend->devices.end(&device->state));
	scope->is_entered = scope->has_pushed = 0;
}

void bi__dispatch_begin_scope(struct bi__scope *scope, const struct bi__device *device)
{
	struct bi__scope *outer = bi__scope_current();

	if (outer && bi__is_same_native(&outer->device->state, &device->state))
		return;
	*scope = (struct bi__scope){ .outer = outer, .device = device };
	bi__scope_set_current(scope);
}

void bi__dispatch_end_scope(struct bi__scope *scope)
{
	leave_scope(scope);
	bi__scope_set_current(scope->outer);
}

struct bi__scope *bi__dispatch_pause(void)
{
	struct bi__scope *innermost = bi__scope_current();

	for (struct bi__scope *scope = innermost; scope; scope = scope->outer) {
		leave_scope(scope);
		scope->count = 0; /* a capture may begin or end meanwhile */
	}
	if (innermost)
		bi__scope_set_current(NULL);
	return innermost;
}

static int begin_entered(struct bi__scope *scope, const struct bi__device *device, struct bi_error *err)
{
	bi__dispatch_begin(scope, device);
	return enter_scope(bi__scope_current(), err);
}

/* Sets rc to the result of `call`, a call of the device's backend for which the native context must be current. */
#define CALL_IN_SCOPE(device, rc, call, err) \
	do { \
		struct bi__scope scope_of_call; \
\
		if (!(device)->backend->devices.begin) { \
			CALL_BACKEND((device)->backend, rc = call); \
			break; \
		} \
		rc = begin_entered(&scope_of_call, device, err); \
		if (!rc) \
			CALL_BACKEND((device)->backend, rc = call); \
		bi__dispatch_end(&scope_of_call); \
	} while (0)

int bi__dispatch_refuse_child(const struct bi__device *device, struct bi_error *err)
{
	return bi__fail(
		err, BI_EFORK,
		"device %s was opened before this process was forked: open it in the child alone, or start the child "
		"without fork",
		device->info->spec);
}

/* 1 + bi__fork_generation of the process that opened a driver first; 0: no process has opened one. */
static atomic_uint driver_process;

/* Returns BI_EFORK in a forked child of a process that had opened any driver: calls of a driver could hang. */
static int check_driver(const struct bi__backend *backend, struct bi_error *err)
{
	unsigned process = 0, mine;

	if (backend->synchronous)
		return BI_OK;
	bi__fork_watch();
	mine = bi__fork_generation + 1;
	if (atomic_compare_exchange_strong(&driver_process, &process, mine) || process == mine)
		return BI_OK;
	return bi__fail(err, BI_EFORK,
			"a driver was opened before this process was forked, so %s cannot be opened: start the child "
			"without fork",
			backend->name);
}

int bi__dispatch_enumerate(const struct bi__backend *backend, struct bi_device *devices, int capacity, int *count,
			   struct bi_error *err)
{
	int rc = check_driver(backend, err);

	*count = 0;
	if (!rc)
		CALL_BACKEND(backend, rc = backend->devices.enumerate(devices, capacity, count, err));
	return rc;
}

int bi__dispatch_open(struct bi__device *device, const struct bi_options *options, struct bi_device *adopted,
		      struct bi__queue *stream, struct bi_error *err)
{
	const struct bi__backend *backend = device->backend;
	int rc = check_driver(backend, err);

	device->fork_generation = bi__fork_generation;
	if (!rc && backend->devices.open)
		CALL_BACKEND(backend,
			     rc = backend->devices.open(options, device->info, adopted, &device->state, stream, err));
	return rc;
}

void bi__dispatch_close(struct bi__device *device, struct bi__queue *stream)
{
	if (device->backend->devices.close && bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, device->backend->devices.close(&device->state, stream));
}

int bi__dispatch_enter(const struct bi__device *device, int *pushed, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*pushed = 0;
	if (!rc && device->backend->devices.begin)
		CALL_BACKEND(device->backend, rc = device->backend->devices.begin(&device->state, pushed, err));
	return rc;
}

void bi__dispatch_leave(const struct bi__device *device)
{
	if (device->backend->devices.leave && bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, device->backend->devices.leave(&device->state));
}

bi_function *bi__dispatch_symbol(const struct bi__device *device, const char *name)
{
	return device->backend->devices.symbol ? device->backend->devices.symbol(name) : NULL;
}

void bi__dispatch_drop_caches(struct bi__device *device)
{
	if (device->backend->devices.drop_caches && bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, device->backend->devices.drop_caches(&device->state));
}

void bi__dispatch_cache_state(const struct bi__device *device, uint64_t *built, uint64_t *loaded)
{
	*built = *loaded = 0;
	if (device->backend->devices.cache_state)
		device->backend->devices.cache_state(&device->state, built, loaded);
}

int bi__dispatch_alloc(const struct bi__backend *owner, struct bi__device *device, struct bi__block *block,
		       struct bi_error *err)
{
	int rc = bi__dispatch_check_reach(owner, device, err);

	if (!rc && owner == device->backend)
		CALL_IN_SCOPE(device, rc, owner->memory.alloc(&device->state, block, err), err);
	else if (!rc)
		CALL_BACKEND(owner, rc = owner->memory.alloc(&device->state, block, err));
	return rc;
}

int bi__dispatch_adopt(const struct bi__backend *owner, struct bi__device *device, const struct bi_foreign *foreign,
		       struct bi__block *block, struct bi_error *err)
{
	int rc = bi__dispatch_check_reach(owner, device, err);

	if (rc)
		return rc;
	if (!owner->memory.adopt)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s does not wrap foreign memory", owner->name);
	CALL_BACKEND(owner, rc = owner->memory.adopt(&device->state, foreign, block, err));
	return rc;
}

void bi__dispatch_free(const struct bi__backend *owner, struct bi__device *device, struct bi__block *block)
{
	if (bi__dispatch_check_reach(owner, device, NULL) == BI_OK)
		CALL_BACKEND(owner, owner->memory.free(&device->state, block));
}

typedef int locate_fn(uintptr_t handle, struct bi__origin *out, struct bi_error *err);

/* Returns the function of the backend that locates handles of that kind, or NULL. */
static locate_fn *find_locate(const struct bi__backend *backend, enum bi__handle_of of, uint32_t kind)
{
	if (of == BI__OF_QUEUE)
		return bi__wraps_stream_kind(backend, kind) ? backend->devices.locate_queue : NULL;
	return backend->handle == kind ? backend->devices.locate : NULL;
}

int bi__dispatch_locate(enum bi__handle_of of, uint32_t kind, uintptr_t handle, struct bi__origin *out,
			const char **name, struct bi_error *err)
{
	const struct bi__backend *backend;
	locate_fn *locate = NULL;
	int rc;

	for (size_t i = 0; !locate && (backend = bi__registry_backend(i)); i++)
		locate = find_locate(backend, of, kind);
	if (!locate)
		return bi__fail(err, BI_EUNSUPPORTED, "%s kind %u cannot be located by this build",
				of == BI__OF_QUEUE ? "stream" : "handle", kind);
	*name = backend->name;
	rc = check_driver(backend, err);
	if (!rc)
		CALL_BACKEND(backend, rc = locate(handle, out, err));
	return rc;
}

int bi__dispatch_stream_open(struct bi__device *device, struct bi__queue *queue, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (rc || (!device->backend->order.stream_open && !queue->native))
		return rc;
	if (!device->backend->order.stream_open)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s has no streams to wrap", device->backend->name);
	CALL_BACKEND(device->backend, rc = device->backend->order.stream_open(&device->state, queue, err));
	return rc;
}

int bi__dispatch_stream_close(const struct bi__device *device, struct bi__queue *queue)
{
	int waits = 0;

	if (device->backend->order.stream_close && bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, waits = device->backend->order.stream_close(queue));
	return waits;
}

void bi__dispatch_count_enqueued(const struct bi__device *device, struct bi__queue *queue)
{
	/* The stream of the host has no count, because all threads would write to it. */
	if (!device->backend->synchronous)
		atomic_fetch_add_explicit(&queue->enqueued, 1, memory_order_release);
}

int bi__dispatch_follow(const struct bi__device *device, struct bi__queue *waiter, struct bi__queue *on,
			struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (!rc && device->backend->order.follow)
		CALL_IN_SCOPE(device, rc, device->backend->order.follow(waiter, on, err), err);
	bi__dispatch_count_enqueued(device, waiter);
	return rc;
}

int bi__dispatch_record(const struct bi__device *device, struct bi__queue *queue, uintptr_t *event,
			struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*event = 0;
	if (!rc && device->backend->order.record)
		CALL_IN_SCOPE(device, rc, device->backend->order.record(queue, event, err), err);
	return rc;
}

int bi__dispatch_wait(const struct bi__device *device, struct bi__queue *queue, uintptr_t event, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (!rc && event)
		CALL_IN_SCOPE(device, rc, device->backend->order.wait(queue, event, err), err);
	bi__dispatch_count_enqueued(device, queue);
	return rc;
}

int bi__dispatch_poll(const struct bi__device *device, uintptr_t event, int block, int *done, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*done = 1;
	if (!rc && event)
		CALL_IN_SCOPE(device, rc, device->backend->order.poll(event, block, done, err), err);
	if (rc != BI_EDRIVER || !bi__dispatch_is_lost(device))
		return rc;
	*done = 1;
	return bi__fail(err, BI_EPRODUCER,
			"the work was lost when other code reset its device: write the array again on a device that is "
			"opened now");
}

int bi__dispatch_is_lost(const struct bi__device *device)
{
	int is_lost = 0;

	if (device->backend->devices.is_lost && bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, is_lost = device->backend->devices.is_lost(&device->state));
	return is_lost;
}

int bi__dispatch_drain(const struct bi__device *device, uintptr_t event)
{
	int waits = 0;

	if (device->backend->fails_by_event && bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, waits = device->backend->order.drain(event));
	return waits;
}

int bi__dispatch_finish(const struct bi__device *device, struct bi__queue *queue, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (!rc && device->backend->order.finish)
		CALL_IN_SCOPE(device, rc, device->backend->order.finish(queue, err), err);
	return rc;
}

int bi__dispatch_capture(const struct bi__device *device, struct bi__queue *queue, uint64_t *id, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*id = 0;
	if (!rc && device->backend->order.capture)
		CALL_IN_SCOPE(device, rc, device->backend->order.capture(queue, id, err), err);
	return rc;
}

int bi__dispatch_event_wrap(struct bi__device *device, uintptr_t native, uintptr_t *event, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*event = 0;
	if (rc)
		return rc;
	if (!device->backend->order.event_wrap)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s has no events to wrap", device->backend->name);
	CALL_BACKEND(device->backend, rc = device->backend->order.event_wrap(&device->state, native, event, err));
	return rc;
}

int bi__dispatch_event_retain(const struct bi__device *device, uintptr_t event, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (!rc && event)
		CALL_BACKEND(device->backend, rc = device->backend->order.event_retain(event, err));
	return rc;
}

void bi__dispatch_event_release(const struct bi__device *device, uintptr_t event)
{
	if (event && bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, device->backend->order.event_release(event));
}

uintptr_t bi__dispatch_event_handle(const struct bi__device *device, uintptr_t event)
{
	return event && device->backend->order.event_handle ? device->backend->order.event_handle(event) : event;
}

int64_t bi__dispatch_elapsed(const struct bi__device *device, uintptr_t event)
{
	int64_t nanoseconds = -1;

	if (device->backend->move.elapsed)
		CALL_BACKEND(device->backend, nanoseconds = device->backend->move.elapsed(event));
	return nanoseconds;
}

int bi__dispatch_copy(struct bi__device *device, struct bi__queue *queue, const struct bi__move *move, uintptr_t *event,
		      struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (event)
		*event = 0;
	if (!rc)
		CALL_IN_SCOPE(device, rc, device->backend->move.copy(&device->state, queue, move, event, err), err);
	bi__dispatch_count_enqueued(device, queue);
	return rc;
}

int bi__dispatch_copy_inline(const struct bi__move *move, struct bi_error *err)
{
	return bi__registry_host()->move.copy(NULL, NULL, move, NULL, err);
}

int bi__dispatch_takes(struct bi__device *device, const struct bi__move *move, int *takes, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*takes = (device->info->capabilities & BI_CAP_NATIVE_COPY) != 0;
	if (rc || *takes || !device->backend->move.takes)
		return rc;
	CALL_IN_SCOPE(device, rc, device->backend->move.takes(move, takes, err), err);
	return rc;
}

int bi__dispatch_map(struct bi__device *device, struct bi__queue *queue, const struct bi__range *range, void **pointer,
		     uintptr_t *event, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	*event = 0;
	if (!rc)
		CALL_BACKEND(device->backend, rc = device->backend->move.map(queue, range, pointer, event, err));
	bi__dispatch_count_enqueued(device, queue);
	return rc;
}

int bi__dispatch_unmap(struct bi__device *device, struct bi__queue *queue, const struct bi__block *block, void *pointer,
		       struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (!rc)
		CALL_BACKEND(device->backend, rc = device->backend->move.unmap(queue, block, pointer, err));
	bi__dispatch_count_enqueued(device, queue);
	return rc;
}

int bi__dispatch_build(struct bi__device *device, struct bi__source *source, uintptr_t *program, struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (rc)
		return rc;
	if (!device->backend->launch.build)
		return bi__fail(err, BI_EUNSUPPORTED, "backend %s runs no kernels of the caller",
				device->backend->name);
	CALL_IN_SCOPE(device, rc, device->backend->launch.build(&device->state, source, program, err), err);
	return rc;
}

void bi__dispatch_unload(struct bi__device *device, uintptr_t program)
{
	if (bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, device->backend->launch.unload(&device->state, program));
}

int bi__dispatch_get_kernel(struct bi__device *device, uintptr_t program, const char *name, struct bi__kernel *out,
			    struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (!rc)
		CALL_IN_SCOPE(device, rc, device->backend->launch.get(&device->state, program, name, out, err), err);
	return rc;
}

void bi__dispatch_put_kernel(struct bi__device *device, struct bi__kernel *kernel)
{
	if (device->backend->launch.put && bi__dispatch_is_alive(device))
		CALL_BACKEND(device->backend, device->backend->launch.put(kernel));
}

int bi__dispatch_launch(struct bi__device *device, struct bi__queue *queue, const struct bi__kernel_launch *launch,
			struct bi_error *err)
{
	int rc = bi__dispatch_alive(device, err);

	if (!rc)
		CALL_IN_SCOPE(device, rc, device->backend->launch.enqueue(queue, launch, err), err);
	bi__dispatch_count_enqueued(device, queue);
	return rc;
}
