/*
 * Declarations for the files of the CUDA backend. common/backend/backend.h describes the operations.
 *
 * Contexts: backend.h lists at `begin` the operations for which the context is current. Comments here name the other
 * functions that need a current context. Except for the functions that enter or leave a context or a capture mode, each
 * function restores the calling thread's stack of contexts and its capture mode before it returns.
 *
 * Threads: several threads may call any function at the same time, unless a comment excludes that. A thread may wait
 * for the device under a lock of this backend in five cases: in bi__cuda_open_shared; in a copy or fill that loads the
 * kernels or allocates the chunks, because bi__cuda_open_shared has failed to; in a fill with a large item, if the
 * driver refuses to record the end of its kernels (bi__cuda_use); in take_back_chunks_locked; and if the driver accepts
 * no more commands until some have ended.
 *
 * CUDA calls the host functions of pageable.c on a thread of its own. A host function does not call the driver, and
 * takes no lock that another thread holds during a call of the driver.
 */
#ifndef BI_CUDA_CUDA_H
#define BI_CUDA_CUDA_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/backend/backend.h"
#include "common/backend/scope.h"
#include "cuda/api.h"
#include "kernels/launch.h"

/* Attributes of a device: X(member, name in types.h without BI__CU_DEVICE_). */
#define BI__CUDA_FACTS(X) \
	X(unified_addressing, UNIFIED_ADDRESSING) \
	X(compute_mode, COMPUTE_MODE) \
	X(integrated, INTEGRATED) \
	X(managed_memory, MANAGED_MEMORY) \
	X(concurrent_managed_access, CONCURRENT_MANAGED_ACCESS) \
	X(memory_pools, MEMORY_POOLS_SUPPORTED) \
	X(max_pitch, MAX_PITCH) \
	X(major, MAJOR) \
	X(minor, MINOR)

struct bi__cuda_facts {
#define BI__CUDA_FACT_MEMBER(member, what) int member;
	BI__CUDA_FACTS(BI__CUDA_FACT_MEMBER)
#undef BI__CUDA_FACT_MEMBER
};

/* An event. Its address is the number of the event in the backend table. */
struct bi__cuda_event {
	atomic_uint refs;
	struct bi__cuda_shared *shared;
	bi__cu_event handle;
	bi__cu_event start; /* recorded before the work that is timed; NULL: the event has no timing */
	int is_foreign; /* the handle belongs to the caller */
	int is_captured; /* recorded in a graph capture: the event never completes, and a query would invalidate the
			    capture */
	struct bi__cuda_event *next; /* in one of the lists of struct bi__cuda_shared */
	struct {
		char *slot; /* slot of a short read (bi__cuda_read); NULL: the event is not of this kind */
		void *dst;
		size_t nbytes;
		bi__cu_stream stream; /* the event is complete when this stream is empty; `handle` is NULL */
	} read;
};

/* Bytes of a single chunk (a chunk that is no pair), and number of single chunks in a CUcontext. */
#define BI__CUDA_CHUNK ((size_t)1 << 20)
#define BI__CUDA_CHUNKS 8

/* Short reads go through slots of pinned memory: bytes of a slot, and number of slots in a CUcontext. */
#define BI__CUDA_SLOT ((size_t)1 << 10)
#define BI__CUDA_SLOTS 64

/*
 * Number of pairs in a CUcontext, and bytes of each of the two buffers of a pair. A copy of more than BI__CUDA_BUFFER
 * bytes uses a pair if one is free. A buffer has 2 MiB, because the engine may use several threads from this size on.
 */
#define BI__CUDA_PAIRS 2
#define BI__CUDA_BUFFER ((size_t)2 << 20)
#define BI__CUDA_ALL_CHUNKS (BI__CUDA_CHUNKS + BI__CUDA_PAIRS)

/* A staging buffer of pinned memory through which pageable memory is copied, or a pair of such buffers. */
struct bi__cuda_chunk {
	bi__cu_event used; /* recorded on the queue after the chunk's last use; NULL: not made yet */
	uint64_t queue; /* serial of the queue of the last use; 0: not used yet, or the end of the last use was not
			   recorded */
	uint64_t last_use; /* number of the chunk's last use; a lower number is an older use */
	int is_unavailable; /* 1 in three cases: a thread is enqueuing a copy through the pair; the pair has no stream;
			       the driver has refused to record the end of the last use, and no wait for it has
			       succeeded */
	bi__cu_stream stream; /* pair: runs the host functions */
	bi__cu_event passed[2]; /* pair: one for each buffer, recorded after it is filled and after it is emptied */
};

struct bi__cuda_pageable {
	pthread_mutex_t lock; /* guards the members below, but not a pair that a thread has claimed; held while the
				 commands for one chunk are enqueued; taken before bi__cuda_shared.lock */
	char *bytes; /* pinned memory of the chunks, slots and pairs; NULL: the allocation has failed, and the next copy
			tries again */
	struct bi__cuda_chunk chunks[BI__CUDA_ALL_CHUNKS]; /* the pairs come last */
	uint64_t uses;
	uint64_t claimed; /* bits 1 << number of a slot in use */
};

/* The kernels of src/kernels. */
struct bi__cuda_kernels {
	pthread_mutex_t lock; /* held while the driver loads the kernels; taken after bi__cuda_pageable.lock */
	int is_prepared; /* 1: loading the kernels and making the chunks was tried; guarded by `lock` */
	_Atomic(bi__cu_module) module; /* NULL: not loaded. A launch then loads the module */
	bi__cu_function functions[BI__KERNEL_COUNT];
	atomic_ullong built, loaded; /* numbers of modules: compiled from PTX by the driver; loaded as machine code */
};

/*
 * State that the opened devices with one CUcontext share. Loading kernels may wait for work of the device, so they are
 * loaded when the first of these devices is opened. They are unloaded when the last of these devices is closed.
 *
 * Events belong to this state and not to one opened device: a memory of one device may hold an event that a stream of
 * another device recorded, and that other device may be closed first.
 */
struct bi__cuda_shared {
	struct bi__cuda_shared *next;
	bi__cu_context context;
	unsigned long long context_id; /* of cuCtxGetId; 0: the driver has no such numbers */
	unsigned users;
	atomic_int is_reset; /* 1: other code has destroyed the context, so its handles must not be used */
	pthread_mutex_t queues_lock; /* guards `queues`; taken before `lock` */
	struct bi__cuda_queue *queues; /* the open queues */
	atomic_ullong serials; /* the highest serial that a queue was given */
	struct bi__cuda_kernels kernels;
	struct bi__cuda_pageable pageable;

	pthread_mutex_t lock; /* guards the members below, and bi__cuda_queue.used */
	struct bi__cuda_event *free_events; /* unused events without timing, which take_event reuses */
	struct bi__cuda_event *uses; /* events for which the last close waits: recorded after the kernels of per-thread
					and of closed streams, and after uses of chunks whose own event was not
					recorded */
};

/* The state of an opened device: bi__device_state.state. */
struct bi__cuda {
	bi__cu_context context;
	bi__cu_context owner; /* the CUcontext that the driver reports for memory: the primary context if `context` is
				 that of a green context, otherwise `context` */
	bi__cu_device device;
	int ordinal;
	int is_primary; /* 1: the device's primary context, retained; 0: a context of the caller */
	struct bi__cuda_facts facts;
	bi__cu_stream stream; /* the context stream */
	bi__cu_pool pool; /* the driver's pool of device memory; NULL: there is none */
	uint64_t threshold; /* bytes of freed memory that the pool may keep at a synchronisation */
	atomic_int is_trimmed; /* 1: the threshold of the pool is 0, until alloc_device is called */
	struct bi__cuda_shared *shared;
};

/* The state of a stream: bi__queue.state. */
struct bi__cuda_queue {
	struct bi__cuda *cuda;
	bi__cu_stream stream;
	int per_thread;
	int is_own; /* 1: created by this library; 0: wrapped */
	uint64_t serial; /* number of the stream: not 0, unique in this CUcontext */
	struct bi__cuda_queue *next; /* in bi__cuda_shared.queues */
	atomic_int is_used; /* 1: kernels were enqueued on this own stream, or the end of a chunk's last use was not
			       recorded. The close records the end of this work */
	struct bi__cuda_event *used; /* wrapped stream, or a stream that is being closed: an event behind its kernels;
					NULL: none; guarded by bi__cuda_shared.lock */
};

static inline struct bi__cuda_queue *bi__cuda_queue_of(const struct bi__queue *queue)
{
	return queue->state;
}

/* How a block was made. This decides how the block is freed. Stored in bi__block.cookie. */
enum bi__cuda_source {
	BI__CUDA_ADOPTED,
	BI__CUDA_ADOPTED_HOST, /* host memory that other code pinned or registered */
	BI__CUDA_POOL,
	BI__CUDA_PLAIN,
	BI__CUDA_PINNED,
	BI__CUDA_MANAGED
};

/*
 * Returns true for host memory that is known to be pinned or registered, and false for memory that was wrapped without
 * a check. The driver's copy between two blocks of pinned or registered memory blocks the calling thread.
 */
static inline int bi__cuda_is_of_host(const struct bi__block *block)
{
	return block->cookie == BI__CUDA_PINNED || block->cookie == BI__CUDA_ADOPTED_HOST;
}

/* The state of the calling thread that bi__cuda_leave restores. */
struct bi__cuda_scope {
	bi__cu_context pushed; /* NULL: none was pushed */
	int is_relaxed;
	unsigned mode; /* the thread's capture mode before; valid if is_relaxed */
};

/*
 * bi__cuda_enter makes a context current on the calling thread. bi__cuda_relax allows calls of the calling thread that
 * would otherwise invalidate graph captures, its own or those of other threads. Each of the two overwrites the scope,
 * so both together need two scopes. bi__cuda_enter_to_release does both in one scope, tries each twice, and does not
 * report a failure. bi__cuda_leave ends what was begun in the scope. A call that failed has begun nothing.
 */
int bi__cuda_enter(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err);
int bi__cuda_relax(struct bi__cuda_scope *scope, struct bi_error *err);
void bi__cuda_enter_to_release(bi__cu_context context, struct bi__cuda_scope *scope);
void bi__cuda_leave(struct bi__cuda_scope *scope);

/* Wraps queue->native. If queue->native is 0, creates a stream with `flags`. */
int bi__cuda_queue_open(struct bi__cuda *cuda, struct bi__queue *queue, unsigned flags, struct bi_error *err);

/*
 * Records the start of a measurement on the queue. The caller enqueues the work, and then records (*out)->handle. *out
 * has one reference. The context must be current.
 */
int bi__cuda_timing_start(struct bi__cuda_queue *queue, struct bi__cuda_event **out, struct bi_error *err);

/*
 * Enqueues a copy of `nbytes` bytes, at most BI__CUDA_SLOT, to a slot. bi__cuda_poll copies the bytes to `dst` when it
 * finds *out complete. If no slot is free, enqueues nothing and sets *out to NULL. The context must be current.
 */
int bi__cuda_read(struct bi__cuda_queue *queue, void *dst, bi__cu_pointer src, size_t nbytes,
		  struct bi__cuda_event **out, struct bi_error *err);

/* Blocks the calling thread until the stream is empty. Tries up to twice. The context must be current. */
int bi__cuda_drain(bi__cu_stream stream);

/*
 * bi__cuda_find_capture sets *id to the number of the graph capture that the queue takes part in, or to 0 if there is
 * none. bi__cuda_refuse_capture returns BI_ECAPTURE if there is a capture, with `what` at the end of the message. The
 * context must be current.
 */
int bi__cuda_find_capture(const struct bi__cuda_queue *queue, uint64_t *id, struct bi_error *err);
int bi__cuda_refuse_capture(const struct bi__cuda_queue *queue, const char *what, struct bi_error *err);

/*
 * Must be called after kernels were enqueued on the queue. The last close, and the release of a program, then wait for
 * these kernels before they unload code, unless the kernels were captured. For a wrapped stream this call records an
 * event, because the handle of the stream may be invalid when the queue is closed. The context must be current.
 */
void bi__cuda_use(struct bi__cuda_queue *queue);

/*
 * Blocks the calling thread until the event is complete. Most events are complete already, so the event is queried
 * first. The context must be current, in a relaxed scope.
 */
static inline void bi__cuda_wait_for_event(bi__cu_event event)
{
	if (bi__cu->EventQuery(event) == BI__CU_SUCCESS)
		return;
	if (bi__cu->EventSynchronize(event) != BI__CU_SUCCESS)
		bi__cu->EventSynchronize(event);
}

/*
 * Blocks the calling thread until the events in shared->uses are complete. All queues must be closed, so that these
 * events cover all kernels outside of graphs. No other thread may use `shared`. The context must be current, in a
 * relaxed scope.
 */
void bi__cuda_wait_for_uses(const struct bi__cuda_shared *shared);

/*
 * Blocks the calling thread until the kernels are complete that were enqueued before, on any queue of the CUcontext.
 * Does not wait for captured kernels. Returns BI_ECAPTURE if an own stream with kernels is being captured. The context
 * must be current, in a relaxed scope.
 */
int bi__cuda_wait_for_kernels(struct bi__cuda_shared *shared);

/* The context must be current, in a relaxed scope. */
int bi__cuda_alloc_pinned(size_t nbytes, void **out, struct bi_error *err);

/*
 * The pool of the device memory. The context must be current; for bi__cuda_close_pool, it may also have been reset.
 * bi__cuda_empty_pool is called in a relaxed scope, because outside of it the calls would invalidate captures.
 */
void bi__cuda_open_pool(struct bi__cuda *cuda);
void bi__cuda_empty_pool(struct bi__cuda *cuda);
void bi__cuda_close_pool(struct bi__cuda *cuda);

/* Destroys the events in free_events. The context must be current. */
void bi__cuda_drop_events(struct bi__cuda_shared *shared);

/*
 * Destroys the events in free_events and uses. No other thread may use `shared`. The context must be current or reset.
 */
void bi__cuda_destroy_events(struct bi__cuda_shared *shared);

/*
 * bi__cuda_open_shared finds or makes cuda->shared. It succeeds even if the kernels cannot be loaded or the pinned
 * memory cannot be allocated: the first use tries again, and returns the error. A pair without a stream is never used.
 * The last bi__cuda_close_shared waits for the work that uses the kernels. The context must be current; for the close,
 * it must be current in a relaxed scope, or have been reset.
 */
int bi__cuda_open_shared(struct bi__cuda *cuda, struct bi_error *err);
void bi__cuda_close_shared(struct bi__cuda *cuda);

/* Enqueues all launches. `dst` and `src` must be multiples of BI__LAUNCH_ALIGN. The context must be current. */
int bi__cuda_launch(struct bi__cuda_queue *queue, struct bi__launches *launches, bi__cu_pointer dst, bi__cu_pointer src,
		    struct bi_error *err);

/*
 * Returns true if other code has destroyed the context: cudaDeviceReset does so although the context is retained.
 * Always false if shared->context_id is 0.
 */
int bi__cuda_is_reset(struct bi__cuda_shared *shared);

/*
 * Returns BI_EDRIVER if the context was reset. The handle does not show that, because a new context may have the same
 * handle.
 */
int bi__cuda_refuse_reset(struct bi__cuda *cuda, struct bi_error *err);

/* The arguments of a copy or fill. The context must be current while the job is used. */
struct bi__cuda_job {
	struct bi__cuda_queue *queue;
	const struct bi__plan *plan;
	const struct bi__place *dst, *src;
};

static inline bi__cu_pointer bi__cuda_address(const struct bi__place *place, int64_t offset)
{
	return (bi__cu_pointer)place->block->handle + place->block->origin + (bi__cu_pointer)offset;
}

/* Kernels get an address in two parts: a pointer that is a multiple of BI__LAUNCH_ALIGN, and the remaining bytes. */
static inline bi__cu_pointer bi__cuda_aligned(bi__cu_pointer address)
{
	return address & ~(bi__cu_pointer)(BI__LAUNCH_ALIGN - 1);
}

static inline uint64_t bi__cuda_excess(bi__cu_pointer address)
{
	return address & (BI__LAUNCH_ALIGN - 1);
}

extern const struct bi__launch_limits bi__cuda_limits;

/* Enqueues a copy between two blocks. The context must be current. */
int bi__cuda_copy_blocks(const struct bi__cuda_job *job, struct bi_error *err);
/* Returns BI_EDRIVER if a side is memory of another CUcontext than the queue's, and that CUcontext was reset. */
int bi__cuda_refuse_reset_places(const struct bi__cuda_job *job, struct bi_error *err);

/*
 * Enqueues the copy of a plan that is not LINEAR. The plan's offsets count from the device addresses `to` and `from`.
 * The context must be current.
 */
int bi__cuda_copy_nest(const struct bi__cuda_job *job, bi__cu_pointer to, bi__cu_pointer from, struct bi_error *err);

/* Enqueues a fill with an immediate item, which is copied before the call returns. The context must be current. */
int bi__cuda_fill(struct bi__cuda_job *job, struct bi_error *err);

/*
 * Enqueues the commands of the device for the bytes [at, at + nbytes) of a copy, which go through `pinned`.
 * bi__cuda_pageable.lock may be held.
 */
typedef int (*bi__cuda_piece_fn)(void *data, bi__cu_pointer pinned, size_t at, size_t nbytes, struct bi_error *err);

/* A copy of pageable host memory, or of a large item of a fill, piece by piece. */
struct bi__cuda_pageable_copy {
	struct bi__cuda_queue *queue; /* not captured */
	char *host; /* the pageable bytes; not written if to_host is 0 */
	size_t nbytes;
	int to_host; /* 1: to the host; 0: to the device */
	int is_immediate; /* 1: to the device; the bytes are read before the call returns */
	bi__cu_pointer device; /* if `enqueue` is NULL: the dense bytes on the device */
	bi__cuda_piece_fn enqueue;
	void *data; /* the first argument of `enqueue` */
};

/* Enqueues the copy. Host functions copy the bytes of `host` in stream order. The context must be current. */
int bi__cuda_copy_pageable(const struct bi__cuda_pageable_copy *copy, struct bi_error *err);

/* Returns an unused slot, or NULL if there is none. Free a slot only when no work uses it. */
char *bi__cuda_claim_slot(struct bi__cuda_pageable *pageable);
void bi__cuda_free_slot(struct bi__cuda_pageable *pageable, const char *slot);

/*
 * Enqueues a copy by the CPU between two host addresses, in stream order. If `is_immediate` is set, the bytes of the
 * source are read before the call returns. The stream must not be captured. The context must be current.
 */
int bi__cuda_copy_by_host(bi__cu_stream stream, void *dst, const void *src, size_t nbytes, int is_immediate,
			  struct bi_error *err);

/*
 * bi__cuda_make_chunks allocates the pinned memory and makes the streams of the pairs. It is called when the first
 * device of a CUcontext is opened, because the driver may wait for work of the device in these calls.
 * bi__cuda_free_chunks waits for the end of each chunk's last use if that end was recorded. For a pair whose end was
 * not recorded, it waits for the host functions. The context must be current; to free, in a relaxed scope. No other
 * thread may use the chunks.
 */
int bi__cuda_make_chunks(struct bi__cuda_pageable *pageable);
void bi__cuda_free_chunks(struct bi__cuda_pageable *pageable);

/*
 * Sets *device to the device address of `nbytes` bytes of host memory, or to 0 if the device may not access all of
 * these bytes. Pageable memory counts as not accessible. The context must be current.
 */
int bi__cuda_reach(const void *host, size_t nbytes, bi__cu_pointer *device, struct bi_error *err);

/* The operations of the table in backend.c: X(member of struct bi__backend, function). */
#define BI__CUDA_OPERATIONS(X) \
	X(devices.enumerate, bi__cuda_enumerate) \
	X(devices.open, bi__cuda_open) \
	X(devices.begin, bi__cuda_begin) \
	X(devices.end, bi__cuda_end) \
	X(devices.leave, bi__cuda_leave_device) \
	X(devices.close, bi__cuda_close) \
	X(devices.locate, bi__cuda_locate) \
	X(devices.drop_caches, bi__cuda_drop_caches) \
	X(devices.is_lost, bi__cuda_is_lost) \
	X(devices.cache_state, bi__cuda_cache_state) \
	X(memory.alloc, bi__cuda_alloc) \
	X(memory.adopt, bi__cuda_adopt) \
	X(memory.free, bi__cuda_free) \
	X(order.stream_open, bi__cuda_stream_open) \
	X(order.stream_close, bi__cuda_stream_close) \
	X(order.follow, bi__cuda_follow) \
	X(order.record, bi__cuda_record) \
	X(order.wait, bi__cuda_wait) \
	X(order.poll, bi__cuda_poll) \
	X(order.finish, bi__cuda_finish) \
	X(order.event_wrap, bi__cuda_event_wrap) \
	X(order.event_retain, bi__cuda_event_retain) \
	X(order.event_release, bi__cuda_event_release) \
	X(order.event_handle, bi__cuda_event_handle) \
	X(order.capture, bi__cuda_capture) \
	X(move.copy, bi__cuda_copy) \
	X(move.takes, bi__cuda_takes) \
	X(move.elapsed, bi__cuda_elapsed) \
	X(launch.build, bi__cuda_build) \
	X(launch.unload, bi__cuda_unload) \
	X(launch.get, bi__cuda_get_kernel) \
	X(launch.enqueue, bi__cuda_launch_kernel)

BI__CUDA_OPERATIONS(BI__OPERATION)

#endif
