/*
 * Declarations for the files of the CUDA backend. The operations are described in common/backend/backend.h.
 *
 * Threads: several threads may call any function concurrently. A function makes the context that it needs current, and
 * restores the calling thread's stack of contexts and its capture mode before it returns. A function whose comment says
 * "The context must be current" leaves this to its caller. No lock is held while a thread waits for the device. CUDA
 * calls the host functions of pageable.c on a thread of its own; they take no lock and do not call the driver.
 */
#ifndef BI_CUDA_CUDA_H
#define BI_CUDA_CUDA_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/backend/backend.h"
#include "cuda/api.h"
#include "kernels/launch.h"

/* Attributes of a device: X(member, name in the driver without its prefix). */
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

/* An event. The functions of the backend table take its address as a number. */
struct bi__cuda_event {
	atomic_uint refs;
	struct bi__cuda *cuda;
	bi__cu_event handle;
	bi__cu_event start; /* recorded before the work that is timed; NULL: the event has no timing */
	int is_foreign; /* the handle belongs to the caller */
	int is_captured; /* recorded in a graph capture: the event never completes, and a query would invalidate the
			    capture */
	struct bi__cuda_event *next; /* in one of the lists of struct bi__cuda */
};

/* The kernels of src/kernels, loaded when the first of them is needed. */
struct bi__cuda_kernels {
	bi__cu_module module; /* NULL until it is loaded */
	bi__cu_function functions[BI__KERNEL_COUNT]; /* NULL until it is used */
	uint64_t built, loaded; /* numbers of modules: compiled from PTX by the driver; loaded as machine code */
};

/* Bytes of a chunk, the most chunks that one queue uses, and the most chunks of a context. */
#define BI__CUDA_CHUNK ((size_t)1 << 20)
#define BI__CUDA_QUEUE_CHUNKS 4
#define BI__CUDA_CHUNKS 32

/* A chunk is a staging buffer of pinned memory. Pageable memory is copied through it. */
struct bi__cuda_chunk {
	char *bytes;
	bi__cu_event used; /* recorded on the queue after the chunk's last use */
	uint64_t queue; /* serial of the queue that used the chunk last; 0: not used yet */
	uint64_t last_use; /* number of the chunk's last use; a lower number is an older use */
	int is_lost; /* recording `used` failed: the chunk is unused until take_back_chunks_locked */
};

struct bi__cuda_pageable {
	pthread_mutex_t lock; /* guards the members below; held while the commands for one chunk are enqueued; taken
				 before bi__cuda.lock */
	struct bi__cuda_chunk chunks[BI__CUDA_CHUNKS];
	int count;
	uint64_t uses;
};

/* The state of an opened device: bi__device_state.state. */
struct bi__cuda {
	bi__cu_context context;
	bi__cu_device device;
	int ordinal;
	int is_primary; /* 1: the device's primary context, retained; 0: a context of the caller */
	int has_pools; /* 1: device memory is allocated and freed in the order of the context stream */
	struct bi__cuda_facts facts;
	bi__cu_stream stream; /* the context stream */
	atomic_ullong serials; /* serial of the queue that was opened last */
	struct bi__cuda_pageable pageable;

	pthread_mutex_t lock; /* guards the members below */
	struct bi__cuda_event *free_events; /* unused events without timing, which take_event reuses */
	struct bi__cuda_event *uses; /* events behind the kernels and chunk copies of closed and per-thread streams;
					closing the context waits for them */
	struct bi__cuda_kernels kernels;
};

/* The state of a stream: bi__queue.state. */
struct bi__cuda_queue {
	struct bi__cuda *cuda;
	bi__cu_stream stream;
	int per_thread;
	int is_own; /* 1: created by this library; 0: wrapped */
	uint64_t serial; /* number of the stream: not 0, unique in this context */
	atomic_int is_used; /* 1: kernels or chunk copies were enqueued on the stream */
};

static inline struct bi__cuda_queue *bi__cuda_queue_of(const struct bi__queue *queue)
{
	return queue->state;
}

/* How a block was made. This decides how the block is freed. Stored in bi__block.cookie. */
enum bi__cuda_source {
	BI__CUDA_ADOPTED,
	BI__CUDA_ADOPTED_HOST, /* pinned or registered by the caller */
	BI__CUDA_POOL,
	BI__CUDA_PLAIN,
	BI__CUDA_PINNED,
	BI__CUDA_MANAGED
};

/*
 * Returns true for pinned or registered host memory. The driver's copies between two such blocks block the calling
 * thread.
 */
static inline int bi__cuda_is_of_host(const struct bi__block *block)
{
	return block->cookie == BI__CUDA_PINNED || block->cookie == BI__CUDA_ADOPTED_HOST;
}

/* What bi__cuda_enter changed on the calling thread, and bi__cuda_leave restores. */
struct bi__cuda_scope {
	bi__cu_context pushed; /* the context that was pushed; NULL: it was current already */
	int is_relaxed;
	unsigned mode; /* the thread's capture mode before; valid if is_relaxed */
};

/*
 * Make a context current on the calling thread until bi__cuda_leave, which cannot fail. Scopes may be nested. After a
 * failure bi__cuda_leave must not be called.
 *
 * A relaxed scope allows calls that would otherwise invalidate a graph capture of any thread in the process.
 * bi__cuda_relax only relaxes: the context must be current. bi__cuda_enter_to_release makes a relaxed scope. It tries
 * twice; if both attempts fail, bi__cuda_leave does nothing.
 */
int bi__cuda_enter(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err);
int bi__cuda_enter_relaxed(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err);
int bi__cuda_relax(struct bi__cuda_scope *scope, struct bi_error *err);
void bi__cuda_enter_to_release(bi__cu_context context, struct bi__cuda_scope *scope);
void bi__cuda_leave(struct bi__cuda_scope *scope);

/*
 * bi__cuda_enter and bi__cuda_leave for callers that keep no scope. *entered becomes 1 if the context was not current
 * before.
 */
int bi__cuda_enter_device(struct bi__device_state *device, int *entered, struct bi_error *err);
void bi__cuda_leave_device(struct bi__device_state *device);

/* Wraps queue->native. If it is 0, creates a stream with `flags`. */
int bi__cuda_queue_open(struct bi__cuda *cuda, struct bi__queue *queue, unsigned flags, struct bi_error *err);

/*
 * Measure the work that the caller enqueues between the two calls. *out has one reference. The context must be current.
 */
int bi__cuda_timing_start(struct bi__cuda_queue *queue, struct bi__cuda_event **out, struct bi_error *err);
int bi__cuda_timing_end(struct bi__cuda_queue *queue, struct bi__cuda_event *event, struct bi_error *err);

/*
 * bi__cuda_find_capture sets *id to the number of the graph capture that the queue takes part in, or to 0 if there is
 * none. bi__cuda_refuse_capture returns BI_ECAPTURE if there is a capture, with `what` at the end of the message.
 */
int bi__cuda_find_capture(const struct bi__cuda_queue *queue, uint64_t *id, struct bi_error *err);
int bi__cuda_refuse_capture(const struct bi__cuda_queue *queue, const char *what, struct bi_error *err);

/*
 * Must be called whenever a kernel or a chunk copy is enqueued on the queue. Closing the context then waits for this
 * work before it frees the kernels and chunks. The context must be current.
 */
void bi__cuda_use(struct bi__cuda_queue *queue);

/*
 * Blocks the calling thread until all work that uses the kernels and chunks is complete. All queues must be closed. The
 * context must be current.
 */
void bi__cuda_wait_for_uses(struct bi__cuda *cuda);

/* Destroys the events in both lists of struct bi__cuda. The context must be current. */
void bi__cuda_destroy_events(struct bi__cuda *cuda);

/*
 * Enqueues all launches. Loads the kernels first if necessary. `dst` and `src` must be multiples of BI__LAUNCH_ALIGN.
 * The context must be current.
 */
int bi__cuda_launch(struct bi__cuda_queue *queue, struct bi__launches *launches, bi__cu_pointer dst, bi__cu_pointer src,
		    struct bi_error *err);

/* The work that uses the kernels must be complete. The context must be current. */
void bi__cuda_unload_kernels(struct bi__cuda *cuda);

/* The arguments of a copy or fill. The context must be current while a job is used. */
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

/* Copies between two blocks. The context must be current. */
int bi__cuda_copy_blocks(const struct bi__cuda_job *job, struct bi_error *err);

/*
 * Copies a plan that is not LINEAR. The plan's offsets count from the device addresses `to` and `from`. The context
 * must be current.
 */
int bi__cuda_copy_nest(const struct bi__cuda_job *job, bi__cu_pointer to, bi__cu_pointer from, struct bi_error *err);

/*
 * Fills the destination with an immediate item, which is copied before the call returns. The context must be current.
 */
int bi__cuda_fill(struct bi__cuda_job *job, struct bi_error *err);

/* Pageable host memory that is copied to the device. */
struct bi__cuda_pageable_source {
	const void *bytes;
	size_t nbytes;
	int is_immediate; /* 1: the bytes are copied before the call returns */
};

/*
 * Enqueues the commands that read the source bytes [at, at + nbytes), which are at `chunk` when the commands run.
 * Called with bi__cuda_pageable.lock held.
 */
typedef int (*bi__cuda_read_fn)(void *data, bi__cu_pointer chunk, size_t at, size_t nbytes, struct bi_error *err);

/*
 * Copy pageable host memory chunk by chunk. For bi__cuda_send_pageable, a host function in stream order fills the
 * chunk, and `read` enqueues the commands that read the chunk. The queue must not be captured. The context must be
 * current.
 */
int bi__cuda_send_pageable(struct bi__cuda_queue *queue, const struct bi__cuda_pageable_source *source,
			   bi__cuda_read_fn read, void *data, struct bi_error *err);
int bi__cuda_upload(struct bi__cuda_queue *queue, bi__cu_pointer dst, const void *src, size_t nbytes,
		    struct bi_error *err);
int bi__cuda_download(struct bi__cuda_queue *queue, void *dst, bi__cu_pointer src, size_t nbytes, struct bi_error *err);

/*
 * Enqueues a copy by the CPU between two host addresses, in stream order. The queue must not be captured. The context
 * must be current.
 */
int bi__cuda_copy_by_host(const struct bi__cuda_queue *queue, void *dst, const void *src, size_t nbytes,
			  struct bi_error *err);

/* The work that uses the chunks must be complete. The context must be current. */
void bi__cuda_free_chunks(struct bi__cuda *cuda);

/* Sets *is_known to 1 if the driver knows the address as pinned, registered or managed memory, otherwise to 0. */
int bi__cuda_is_known(const void *host, int *is_known, struct bi_error *err);

/*
 * Sets *device to the device address of `nbytes` bytes of host memory, or to 0 if the device may not access all of
 * these bytes.
 */
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
