/*
 * The only way to a backend: functions for the operations of its table, with the arguments that backend.h describes. A
 * function that would call a driver for a device that was opened before a fork returns BI_EFORK instead, or does
 * nothing if it returns no status (exception: bi__dispatch_elapsed, which follows bi__dispatch_poll). If the backend
 * lacks an optional operation, the function gives the result that backend.h states. Callers have checked everything
 * else. The functions take no object of the library, only an opened device, its queues, blocks and events.
 *
 * Parameters: `owner` is the backend of a block. It is the backend of the device, or the host backend, whose memory can
 * be used in every context.
 */
#ifndef BI_COMMON_BACKEND_DISPATCH_H
#define BI_COMMON_BACKEND_DISPATCH_H

#include "common/backend/backend.h"
#include "common/backend/scope.h"
#include "common/base/fork.h"

int bi__dispatch_refuse_child(const struct bi__device *device, struct bi_error *err);

/* Returns 1 if the backend is synchronous or this process opened the device, 0 in a child that was forked later. */
static inline int bi__dispatch_is_alive(const struct bi__device *device)
{
	return device->backend->synchronous || device->fork_generation == bi__fork_generation;
}

/* Returns BI_OK, or BI_EFORK if the device is not alive. */
static inline int bi__dispatch_alive(const struct bi__device *device, struct bi_error *err)
{
	return bi__dispatch_is_alive(device) ? BI_OK : bi__dispatch_refuse_child(device, err);
}

/* Returns BI_EFORK if memory of `owner` cannot be used in this process. Memory of the host always can be used. */
static inline int bi__dispatch_check_reach(const struct bi__backend *owner, const struct bi__device *device,
					   struct bi_error *err)
{
	return owner->cpu_addressable ? BI_OK : bi__dispatch_alive(device, err);
}

/*
 * Scopes. The first call in a scope that needs the native context of the device makes it current on the calling thread,
 * until the end of the scope. Scopes nest. A call outside of a scope of its native context has one of its own. A
 * scope is paused (bi__dispatch_pause) before code of the caller runs, and resumed afterwards.
 */
void bi__dispatch_begin_scope(struct bi__scope *scope, const struct bi__device *device);
void bi__dispatch_end_scope(struct bi__scope *scope);

static inline void bi__dispatch_begin(struct bi__scope *scope, const struct bi__device *device)
{
	scope->device = NULL;
	if (device->backend->devices.begin)
		bi__dispatch_begin_scope(scope, device);
}

static inline void bi__dispatch_end(struct bi__scope *scope)
{
	if (scope->device)
		bi__dispatch_end_scope(scope);
}

/*
 * Leaves all scopes of the calling thread before code of the caller runs. Returns the innermost scope, with which
 * bi__dispatch_resume is called when that code has returned. The next call in a scope enters the scope again.
 */
struct bi__scope *bi__dispatch_pause(void);

static inline void bi__dispatch_resume(struct bi__scope *scope)
{
	if (scope)
		bi__scope_set_current(scope);
}

/* Devices. */

/* Lists the devices of a backend. Returns BI_EFORK if any driver was opened before this process was forked. */
int bi__dispatch_enumerate(const struct bi__backend *backend, struct bi_device *devices, int capacity, int *count,
			   struct bi_error *err);

/*
 * Opens device->info with device->backend, or adopts a context and describes its device in *adopted. Sets the queue of
 * the context stream.
 */
int bi__dispatch_open(struct bi__device *device, const struct bi_options *options, struct bi_device *adopted,
		      struct bi__queue *stream, struct bi_error *err);
void bi__dispatch_close(struct bi__device *device, struct bi__queue *stream);

int bi__dispatch_enter(const struct bi__device *device, int *pushed, struct bi_error *err);
void bi__dispatch_leave(const struct bi__device *device);

bi_function *bi__dispatch_symbol(const struct bi__device *device, const char *name);
void bi__dispatch_drop_caches(struct bi__device *device);
void bi__dispatch_cache_state(const struct bi__device *device, uint64_t *built, uint64_t *loaded);

/* Memory. */

int bi__dispatch_alloc(const struct bi__backend *owner, struct bi__device *device, struct bi__block *block,
		       struct bi_error *err);
/* Wraps foreign memory as a block. Returns BI_EUNSUPPORTED if `owner` wraps no memory. */
int bi__dispatch_adopt(const struct bi__backend *owner, struct bi__device *device, const struct bi_foreign *foreign,
		       struct bi__block *block, struct bi_error *err);
/* Frees a block. Does nothing if the device was opened before a fork, unless the block is memory of the host. */
void bi__dispatch_free(const struct bi__backend *owner, struct bi__device *device, struct bi__block *block);

enum bi__handle_of { BI__OF_MEMORY, BI__OF_QUEUE };

/* Finds the device of a memory or a native queue. *name becomes the name of the backend for handles of that kind. */
int bi__dispatch_locate(enum bi__handle_of of, uint32_t kind, uintptr_t handle, struct bi__origin *out,
			const char **name, struct bi_error *err);

/* Order. */

int bi__dispatch_stream_open(struct bi__device *device, struct bi__queue *queue, struct bi_error *err);
int bi__dispatch_stream_close(const struct bi__device *device, struct bi__queue *queue);
/*
 * Counts a call that may have enqueued work (bi__queue.enqueued), and is called after it. Follow, wait, copy, map,
 * unmap and launch count themselves.
 */
void bi__dispatch_count_enqueued(const struct bi__device *device, struct bi__queue *queue);
int bi__dispatch_follow(const struct bi__device *device, struct bi__queue *waiter, struct bi__queue *on,
			struct bi_error *err);
int bi__dispatch_record(const struct bi__device *device, struct bi__queue *queue, uintptr_t *event,
			struct bi_error *err);
int bi__dispatch_wait(const struct bi__device *device, struct bi__queue *queue, uintptr_t event, struct bi_error *err);
int bi__dispatch_poll(const struct bi__device *device, uintptr_t event, int block, int *done, struct bi_error *err);
/* Returns 1 if other code has destroyed the native context, so that no work is left. Returns 0 in a forked child. */
int bi__dispatch_is_lost(const struct bi__device *device);
int bi__dispatch_drain(const struct bi__device *device, uintptr_t event);
int bi__dispatch_finish(const struct bi__device *device, struct bi__queue *queue, struct bi_error *err);
int bi__dispatch_capture(const struct bi__device *device, struct bi__queue *queue, uint64_t *id, struct bi_error *err);

int bi__dispatch_event_wrap(struct bi__device *device, uintptr_t native, uintptr_t *event, struct bi_error *err);
int bi__dispatch_event_retain(const struct bi__device *device, uintptr_t event, struct bi_error *err);
void bi__dispatch_event_release(const struct bi__device *device, uintptr_t event);
uintptr_t bi__dispatch_event_handle(const struct bi__device *device, uintptr_t event);
int64_t bi__dispatch_elapsed(const struct bi__device *device, uintptr_t event);

/* Move. */

/* Enqueues a move. If `event` is not NULL, it receives an event of the work, or 0 if the backend makes none. */
int bi__dispatch_copy(struct bi__device *device, struct bi__queue *queue, const struct bi__move *move, uintptr_t *event,
		      struct bi_error *err);
/* Executes a move between two host addresses before it returns. */
int bi__dispatch_copy_inline(const struct bi__move *move, struct bi_error *err);
int bi__dispatch_takes(struct bi__device *device, const struct bi__move *move, int *takes, struct bi_error *err);
int bi__dispatch_map(struct bi__device *device, struct bi__queue *queue, const struct bi__range *range, void **pointer,
		     uintptr_t *event, struct bi_error *err);
int bi__dispatch_unmap(struct bi__device *device, struct bi__queue *queue, const struct bi__block *block, void *pointer,
		       struct bi_error *err);

/* Launch. */

/* Returns BI_EUNSUPPORTED if the backend runs no kernels of the caller. */
int bi__dispatch_build(struct bi__device *device, struct bi__source *source, uintptr_t *program, struct bi_error *err);
void bi__dispatch_unload(struct bi__device *device, uintptr_t program);
int bi__dispatch_get_kernel(struct bi__device *device, uintptr_t program, const char *name, struct bi__kernel *out,
			    struct bi_error *err);
void bi__dispatch_put_kernel(struct bi__device *device, struct bi__kernel *kernel);
int bi__dispatch_launch(struct bi__device *device, struct bi__queue *queue, const struct bi__kernel_launch *launch,
			struct bi_error *err);

#endif
