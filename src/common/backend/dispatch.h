/*
 * The only way to a backend. Each function refuses device objects in a forked child (BI_EFORK), counts what the calling
 * thread waits for, records for the report, and then calls through the table. Callers have checked everything else.
 */
#ifndef BI_COMMON_BACKEND_DISPATCH_H
#define BI_COMMON_BACKEND_DISPATCH_H

#include "common/base/fork.h"
#include "common/runtime/object.h"

int bi__dispatch_refuse_child(const struct bi_context *context, struct bi_error *err);

/* BI_OK, or BI_EFORK for a device context of the parent in a forked child. */
static inline int bi__dispatch_alive(const struct bi_context *context, struct bi_error *err)
{
	if (bi__survives_fork(context->device.backend) || context->device.fork_generation == bi__fork_generation())
		return BI_OK;
	return bi__dispatch_refuse_child(context, err);
}

/* The native context becomes current on the calling thread, if there is such a thing; *entered as backend.h says. */
int bi__dispatch_enter(struct bi_context *context, int *entered, struct bi_error *err);
void bi__dispatch_leave(struct bi_context *context);

/* The same for a memory; host memory of any context can always be used. */
static inline int bi__dispatch_reachable(const struct bi_memory *memory, struct bi_error *err)
{
	return bi__is_cpu_addressable(memory) ? BI_OK : bi__dispatch_alive(memory->context, err);
}

/* Devices of a backend; BI_EFORK if its driver was opened by the process that this one was forked from. */
int bi__dispatch_enumerate(const struct bi__backend *backend, struct bi_device *devices, int capacity, int *count,
			   struct bi_error *err);

/* The device that the backend listed under that string; NULL: none that it remembers, or none of this process. */
const struct bi_device *bi__dispatch_recall(const struct bi__backend *backend, const char *spec);

/* Opens context->device.info, or adopts and describes what was adopted in context->own_info. */
int bi__dispatch_open(struct bi_context *context, const struct bi_options *options, struct bi_error *err);
void bi__dispatch_close(struct bi_context *context);

/* memory->backend and the wanted members of the block are set. */
int bi__dispatch_alloc(struct bi_memory *memory, struct bi_error *err);
int bi__dispatch_adopt(struct bi_memory *memory, const struct bi_foreign *foreign, struct bi_error *err);
/* In a forked child the driver is not told. `context` may be NULL for host memory. */
void bi__dispatch_free(struct bi_context *context, struct bi_memory *memory);

int bi__dispatch_stream_open(struct bi_stream *stream, struct bi_error *err);
void bi__dispatch_stream_close(struct bi_stream *stream);
/* Later work on `waiter` waits for all that is on `on` now. Nothing if they are the same in-order stream. */
int bi__dispatch_follow(struct bi_stream *waiter, struct bi_stream *on, struct bi_error *err);

/* Host wait until the stream is empty; the last resort where no event can be had. */
int bi__dispatch_finish(struct bi_stream *stream, struct bi_error *err);

/* Can the stream take part in a graph capture at all? */
static inline int bi__dispatch_captures(const struct bi_stream *stream)
{
	return stream->context->device.backend->capture != NULL;
}

/* *id = the graph capture that the stream takes part in, 0: none. */
int bi__dispatch_capture(struct bi_stream *stream, uint64_t *id, struct bi_error *err);
/* BI_ECAPTURE, naming what is not possible then, if the stream is being captured. */
int bi__dispatch_refuse_capture(struct bi_stream *stream, const char *what, struct bi_error *err);

/* Fences. A cleared fence is complete. */
int bi__fence_record(struct bi_stream *stream, struct bi__fence *out, struct bi_error *err);
/* A native event of the caller's. */
int bi__fence_wrap(struct bi_context *context, uintptr_t native, struct bi__fence *out, struct bi_error *err);
/* Another reference to the same point. */
int bi__fence_share(const struct bi__fence *fence, struct bi__fence *out, struct bi_error *err);
/* The native event, or 0. */
uintptr_t bi__fence_handle(const struct bi__fence *fence);
void bi__fence_drop(struct bi__fence *fence);
static inline void bi__fence_clear(struct bi__fence *fence)
{
	if (fence->context)
		bi__fence_drop(fence);
}
/* Later work on the stream waits for the fence; the contexts share events. */
int bi__fence_wait(struct bi_stream *stream, const struct bi__fence *fence, struct bi_error *err);
int bi__fence_query(const struct bi__fence *fence, int *done, struct bi_error *err);
/* Host wait, counted under `reason`. */
int bi__fence_block(const struct bi__fence *fence, enum bi__wait_reason reason, struct bi_error *err);

/*
 * Enqueues a plan between places of two memories; `element` replaces the source in a fill. Records, debugs. `end` (may
 * be NULL, else cleared) becomes an event behind all that is now on the stream where the driver makes one along with
 * work between device and host memory.
 */
int bi__dispatch_copy(struct bi_stream *stream, const char *operation, const struct bi__plan *plan,
		      const struct bi_memory *dst, const struct bi_memory *src, const void *element,
		      size_t element_size, struct bi__fence *end, struct bi_error *err);

/* The same by the host backend, at the addresses of both memories. `stream` is that of the report. */
int bi__dispatch_copy_at_once(const struct bi_stream *stream, const char *operation, const struct bi__plan *plan,
			      const struct bi_memory *dst, const struct bi_memory *src, const void *element,
			      struct bi_error *err);

/* *takes = does a device of the context move this plan between device and host memory as it is, without packing? */
int bi__dispatch_takes(struct bi_context *context, const struct bi__plan *plan, const struct bi_memory *dst,
		       const struct bi_memory *src, int *takes, struct bi_error *err);

/* Can the backend map device memory itself? */
int bi__dispatch_can_map(const struct bi_memory *memory);
/* Enqueues a mapping on the memory's home and records its end. */
int bi__dispatch_map(struct bi_memory *memory, size_t offset, size_t nbytes, unsigned mode, void **pointer,
		     struct bi__fence *out, struct bi_error *err);
int bi__dispatch_unmap(struct bi_memory *memory, void *pointer, struct bi_error *err);
/*
 * Maps fresh memory for reading and writing on a queue of its own, which has nothing else on it: host wait (`staging`),
 * but for no work. bi__dispatch_unmap ends it.
 */
int bi__dispatch_lend(struct bi_memory *memory, void **pointer, struct bi_error *err);

/* Where a memory belongs, and the name of the backend for such handles; `name` may be NULL. */
int bi__dispatch_locate(enum bi_handle_kind kind, uintptr_t handle, struct bi__origin *out, const char **name,
			struct bi_error *err);
/* The same for a stream of the backend whose streams are of that kind. */
int bi__dispatch_locate_queue(uint32_t kind, uintptr_t queue, struct bi__origin *out, const char **name,
			      struct bi_error *err);

void bi__dispatch_drop_caches(struct bi_context *context);
void bi__dispatch_cache_state(const struct bi_context *context, uint64_t *built, uint64_t *loaded);
/* Drops a bare event of that context. */
void bi__dispatch_drop_event(const struct bi_context *context, uintptr_t event);
/* Nanoseconds of a complete event, or -1. */
int64_t bi__dispatch_elapsed(const struct bi_context *context, uintptr_t event);

#endif
