/*
 * Declarations for the files of the CUDA backend. The operations are described in common/backend/backend.h.
 *
 * Threads: every function may be called by several threads concurrently. Each function makes the contexts current that
 * it needs, and restores the calling thread's stack of contexts and its capture mode, on success and on failure.
 * Functions whose comment says "context current" rely on their caller for that. No lock is held while the device is
 * waited for. The functions that CUDA calls on a thread of its own (pageable.c) take no lock and call no driver.
 */
#ifndef BI_CUDA_CUDA_H
#define BI_CUDA_CUDA_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/backend/backend.h"
#include "cuda/api.h"
#include "kernels/launch.h"

/* Attributes of a device: member, and the driver's name. */
#define BI__CUDA_FACTS(X) \
	X(unified_addressing, UNIFIED_ADDRESSING) \
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

/* An event; the backend table passes its address. */
struct bi__cuda_event {
	atomic_uint refs;
	struct bi__cuda *cuda;
	bi__cu_event handle;
	bi__cu_event start; /* recorded before the work that is timed; NULL: no timing */
	int is_foreign; /* the handle belongs to the caller */
	int is_captured; /* recorded during a capture of its stream: it never completes, and querying it would
			    invalidate the capture */
	struct bi__cuda_event *next; /* in a list of the context */
};

/* The kernels of src/kernels, loaded when the first of them is needed. */
struct bi__cuda_kernels {
	bi__cu_module module; /* NULL until it is loaded */
	bi__cu_function functions[BI__KERNEL_COUNT]; /* NULL until it is used */
	uint64_t built, loaded; /* how many were compiled by the driver, and loaded as machine code */
};

/* Bytes of a chunk of pinned memory; most chunks that one queue uses; most chunks of a context. */
#define BI__CUDA_CHUNK ((size_t)1 << 20)
#define BI__CUDA_QUEUE_CHUNKS 4
#define BI__CUDA_CHUNKS 32

/* Pinned memory through which pageable memory is copied. */
struct bi__cuda_chunk {
	char *bytes;
	bi__cu_event used; /* recorded after its last use */
	uint64_t queue; /* serial of the queue of its last use; 0: none */
	uint64_t last_use; /* number of its last use: a lower one is older */
	int is_lost; /* the end of its last use could not be recorded */
};

struct bi__cuda_pageable {
	pthread_mutex_t lock; /* guards the members below; held while a step is enqueued; taken before bi__cuda.lock */
	struct bi__cuda_chunk chunks[BI__CUDA_CHUNKS];
	int count;
	uint64_t uses;
};

/* The state of an opened device: bi__device_state.state. */
struct bi__cuda {
	bi__cu_context context;
	bi__cu_device device;
	int ordinal;
	int is_primary; /* the device's primary context, retained; otherwise the caller's */
	int has_pools; /* memory is allocated and freed in the order of the context stream */
	struct bi__cuda_facts facts;
	bi__cu_stream stream; /* the context stream */
	atomic_ullong serials; /* the last serial of a queue */
	struct bi__cuda_pageable pageable;

	pthread_mutex_t lock; /* guards the members below */
	struct bi__cuda_event *free_events; /* events without timing, for reuse */
	struct bi__cuda_event *uses; /* recorded at the end of closed streams on which kernels or chunks were used */
	struct bi__cuda_kernels kernels;
};

/* A stream: bi__queue.state. */
struct bi__cuda_queue {
	struct bi__cuda *cuda;
	bi__cu_stream stream;
	int per_thread;
	int is_own; /* created here, not wrapped */
	uint64_t serial; /* not 0; unique in this context */
	atomic_int is_used; /* some work on it uses our kernels or chunks */
};

static inline struct bi__cuda_queue *bi__cuda_queue_of(const struct bi__queue *queue)
{
	return queue->state;
}

/* How a block was made, which decides how it is freed: bi__block.cookie. */
enum bi__cuda_source {
	BI__CUDA_ADOPTED,
	BI__CUDA_ADOPTED_HOST, /* pinned or registered by somebody else */
	BI__CUDA_POOL,
	BI__CUDA_PLAIN,
	BI__CUDA_PINNED,
	BI__CUDA_MANAGED
};

/* Returns true for host memory: the driver's copies between two host memories block the calling thread. */
static inline int bi__cuda_is_of_host(const struct bi__block *block)
{
	return block->cookie == BI__CUDA_PINNED || block->cookie == BI__CUDA_ADOPTED_HOST;
}

/* How entering a context changed the calling thread. */
struct bi__cuda_scope {
	bi__cu_context pushed; /* NULL: the context was current already */
	int is_relaxed;
	unsigned mode; /* the capture mode before */
};

/*
 * Make a context current on the calling thread until `leave`, which cannot fail. Scopes may be nested. After a failure
 * there is nothing to leave.
 *
 * In a relaxed scope, calls are allowed that would otherwise invalidate any graph capture under way in the process.
 * `relax` does that when the context is already current. `enter_to_release` is relaxed and, on failure, tries again
 * once.
 */
int bi__cuda_enter(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err);
int bi__cuda_enter_relaxed(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err);
int bi__cuda_relax(struct bi__cuda_scope *scope, struct bi_error *err);
void bi__cuda_enter_to_release(bi__cu_context context, struct bi__cuda_scope *scope);
void bi__cuda_leave(struct bi__cuda_scope *scope);

/* The same for callers that keep no scope. */
int bi__cuda_enter_device(struct bi__device_state *device, int *entered, struct bi_error *err);
void bi__cuda_leave_device(struct bi__device_state *device);

/* Wraps queue->native, or creates a stream with these flags if it is 0. */
int bi__cuda_queue_open(struct bi__cuda *cuda, struct bi__queue *queue, unsigned flags, struct bi_error *err);

/* Records a pair of events around work on the queue. *out has one reference. Context current. */
int bi__cuda_timing_start(struct bi__cuda_queue *queue, struct bi__cuda_event **out, struct bi_error *err);
int bi__cuda_timing_end(struct bi__cuda_queue *queue, struct bi__cuda_event *event, struct bi_error *err);

/*
 * `find` writes the number of the capture that the queue takes part in, or 0. `refuse` returns BI_ECAPTURE if there is
 * one, with `what` in the message.
 */
int bi__cuda_find_capture(const struct bi__cuda_queue *queue, uint64_t *id, struct bi_error *err);
int bi__cuda_refuse_capture(const struct bi__cuda_queue *queue, const char *what, struct bi_error *err);

/*
 * Tells that work on the queue uses, or is about to use, our kernels or chunks, which must outlive it. Context current.
 */
void bi__cuda_use(struct bi__cuda_queue *queue);

/* Blocks the calling thread until nothing uses our kernels and chunks. All queues are closed. Context current. */
void bi__cuda_wait_for_uses(struct bi__cuda *cuda);

/* Destroys the events in the lists of the context. Context current. */
void bi__cuda_destroy_events(struct bi__cuda *cuda);

/*
 * Enqueues all launches, after loading the kernels if necessary. `dst` and `src` are multiples of BI__LAUNCH_ALIGN.
 * Context current.
 */
int bi__cuda_launch(struct bi__cuda_queue *queue, struct bi__launches *launches, bi__cu_pointer dst, bi__cu_pointer src,
		    struct bi_error *err);

/* Nothing may use the kernels any more. Context current. */
void bi__cuda_unload_kernels(struct bi__cuda *cuda);

/* The arguments of a copy or fill. The context is current while it exists. */
struct bi__cuda_job {
	struct bi__cuda_queue *queue;
	const struct bi__plan *plan;
	const struct bi__place *dst, *src;
};

static inline bi__cu_pointer bi__cuda_address(const struct bi__place *place, int64_t offset)
{
	return (bi__cu_pointer)place->block->handle + place->block->origin + (bi__cu_pointer)offset;
}

/* Kernels get an address in two parts: a pointer that is a multiple of BI__LAUNCH_ALIGN, and the bytes after it. */
static inline bi__cu_pointer bi__cuda_aligned(bi__cu_pointer address)
{
	return address & ~(bi__cu_pointer)(BI__LAUNCH_ALIGN - 1);
}

static inline uint64_t bi__cuda_excess(bi__cu_pointer address)
{
	return address & (BI__LAUNCH_ALIGN - 1);
}

extern const struct bi__launch_limits bi__cuda_limits;

/* Both sides are blocks. */
int bi__cuda_copy_blocks(const struct bi__cuda_job *job, struct bi_error *err);

/* Any plan but a linear one. `to` and `from` are the device addresses that the plan's offsets count from. */
int bi__cuda_copy_nest(const struct bi__cuda_job *job, bi__cu_pointer to, bi__cu_pointer from, struct bi_error *err);

/* The source is an immediate item, which is copied before the call returns. */
int bi__cuda_fill(struct bi__cuda_job *job, struct bi_error *err);

/* Pageable memory that is copied to the device. */
struct bi__cuda_pageable_source {
	const void *bytes;
	size_t nbytes;
	int is_immediate; /* copied before the call returns */
};

/*
 * Enqueues the commands that read source bytes [at, at + nbytes), which are then at `chunk`. Called with a lock held.
 */
typedef int (*bi__cuda_read_fn)(void *data, bi__cu_pointer chunk, size_t at, size_t nbytes, struct bi_error *err);

/*
 * Copies pageable host memory chunk by chunk. A host function, called in stream order, fills the chunk; `read` enqueues
 * the commands that read it. The queue must not be captured.
 * Context current.
 */
int bi__cuda_send_pageable(struct bi__cuda_queue *queue, const struct bi__cuda_pageable_source *source,
			   bi__cuda_read_fn read, void *data, struct bi_error *err);
int bi__cuda_upload(struct bi__cuda_queue *queue, bi__cu_pointer dst, const void *src, size_t nbytes,
		    struct bi_error *err);
int bi__cuda_download(struct bi__cuda_queue *queue, void *dst, bi__cu_pointer src, size_t nbytes, struct bi_error *err);

/* Copies by the CPU in stream order. The queue must not be captured. Context current. */
int bi__cuda_copy_by_host(const struct bi__cuda_queue *queue, void *dst, const void *src, size_t nbytes,
			  struct bi_error *err);

/* Nothing may use the chunks any more. Context current. */
void bi__cuda_free_chunks(struct bi__cuda *cuda);

/* Reports whether the driver knows the address as pinned, registered or managed memory. */
int bi__cuda_is_known(const void *host, int *is_known, struct bi_error *err);

/* Writes the device address of nbytes of host memory, or 0 if the device may not access all of them. */
int bi__cuda_reach(const void *host, size_t nbytes, bi__cu_pointer *device, struct bi_error *err);

int bi__cuda_enumerate(struct bi_device *devices, int capacity, int *count, struct bi_error *err);
int bi__cuda_open(const struct bi_options *options, const struct bi_device *device, struct bi_device *adopted,
		  struct bi__device_state *out, struct bi__queue *stream, struct bi_error *err);
void bi__cuda_close(struct bi__device_state *device, struct bi__queue *stream);

int bi__cuda_alloc(struct bi__device_state *device, struct bi__block *block, struct bi_error *err);
int bi__cuda_adopt(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		   struct bi_error *err);
void bi__cuda_free(struct bi__device_state *device, struct bi__block *block);
int bi__cuda_locate(uintptr_t handle, struct bi__origin *out, struct bi_error *err);

int bi__cuda_stream_open(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err);
void bi__cuda_stream_close(struct bi__queue *queue);
int bi__cuda_follow(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err);
int bi__cuda_record(struct bi__queue *queue, uintptr_t *event, struct bi_error *err);
int bi__cuda_wait(struct bi__queue *queue, uintptr_t event, struct bi_error *err);
int bi__cuda_poll(uintptr_t event, int block, int *done, struct bi_error *err);
int bi__cuda_finish(struct bi__queue *queue, struct bi_error *err);
int bi__cuda_event_wrap(struct bi__device_state *device, uintptr_t native, uintptr_t *event, struct bi_error *err);
int bi__cuda_event_retain(uintptr_t event, struct bi_error *err);
void bi__cuda_event_release(uintptr_t event);
uintptr_t bi__cuda_event_handle(uintptr_t event);
int bi__cuda_capture(struct bi__queue *queue, uint64_t *id, struct bi_error *err);

int bi__cuda_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__move *move,
		  uintptr_t *event, struct bi_error *err);
int bi__cuda_takes(struct bi__device_state *device, const struct bi__move *move, int *takes, struct bi_error *err);
int64_t bi__cuda_elapsed(uintptr_t event);
void bi__cuda_cache_state(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded);

#endif
