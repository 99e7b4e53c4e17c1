/*
 * What the files of the CUDA backend share. The operations are described in common/backend/backend.h.
 *
 * Threads: every function may be called by several threads at once. Each leaves the calling thread's stack of contexts
 * and its capture mode as they were, on success and on failure, and makes the contexts that it needs current itself;
 * those that say "entered" rely on their caller for that. No lock is held while the device is waited for. The functions
 * that CUDA calls on a thread of its own (pageable.c) take no lock and call no driver.
 */
#ifndef BI_CUDA_CUDA_H
#define BI_CUDA_CUDA_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/backend/backend.h"
#include "cuda/api.h"
#include "kernels/launch.h"

/* Attributes of a device: member, what the driver calls it. */
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

/* An event of ours: bi__backend's number for it is the address. */
struct bi__cuda_event {
	atomic_uint refs;
	struct bi__cuda *cuda;
	bi__cu_event handle;
	bi__cu_event start; /* in front of the work that is timed, or NULL */
	int is_foreign; /* the handle is the caller's */
	int is_captured; /* recorded while its stream was captured: it never completes, and to ask would end the capture
			  */
	struct bi__cuda_event *next; /* in a list of the context's */
};

/* The kernels of src/kernels. Loaded when the first of them is needed. */
struct bi__cuda_kernels {
	bi__cu_module module; /* or NULL */
	bi__cu_function functions[BI__KERNEL_COUNT]; /* or NULL: not yet asked for */
	uint64_t built, loaded; /* compiled by the driver, taken as machine code */
};

/* Bytes of a piece of pinned memory, how many a queue has at most, and all queues of a context together. */
#define BI__CUDA_CHUNK ((size_t)1 << 20)
#define BI__CUDA_QUEUE_CHUNKS 4
#define BI__CUDA_CHUNKS 32

/* Pinned memory through which pageable memory travels. */
struct bi__cuda_chunk {
	char *bytes;
	bi__cu_event used; /* behind its last use */
	uint64_t queue; /* serial of the queue of its last use, 0: none */
	uint64_t turn; /* the lower, the longer ago was its last use */
	int is_lost; /* the end of its last use could not be recorded */
};

struct bi__cuda_staging {
	pthread_mutex_t lock; /* of what follows; held while a step is enqueued; taken before bi__cuda.lock */
	struct bi__cuda_chunk chunks[BI__CUDA_CHUNKS];
	int count;
	uint64_t turns;
};

/* A context of ours: bi__device_state.state. */
struct bi__cuda {
	bi__cu_context context;
	bi__cu_device device;
	int ordinal;
	int is_primary; /* the device's primary context, retained; else the caller's */
	int has_pools; /* memory is allocated and freed in the order of the context stream */
	struct bi__cuda_facts facts;
	bi__cu_stream stream; /* the context stream */
	atomic_ullong serials; /* of queues */
	struct bi__cuda_staging staging;

	pthread_mutex_t lock; /* of what follows */
	struct bi__cuda_event *free_events; /* without timing */
	struct bi__cuda_event *uses; /* ends of streams that kernels or chunks were used on and that we have left */
	struct bi__cuda_kernels kernels;
};

/* A stream of ours: bi__queue.state. */
struct bi__cuda_queue {
	struct bi__cuda *cuda;
	bi__cu_stream stream;
	int per_thread;
	int is_own; /* created here */
	uint64_t serial; /* not 0; never used again in this context */
	atomic_int is_used; /* work on it needs our kernels or chunks */
};

static inline struct bi__cuda_queue *bi__cuda_queue_of(const struct bi__queue *queue)
{
	return queue->state;
}

/* What memory is, and so how it is freed: bi__block.cookie. */
enum bi__cuda_source {
	BI__CUDA_ADOPTED,
	BI__CUDA_ADOPTED_HOST, /* pinned or registered by somebody else */
	BI__CUDA_POOL,
	BI__CUDA_PLAIN,
	BI__CUDA_PINNED,
	BI__CUDA_MANAGED
};

/* Is it memory of the host, which the driver does not copy to other memory of the host without a wait? */
static inline int bi__cuda_is_of_host(const struct bi__block *block)
{
	return block->cookie == BI__CUDA_PINNED || block->cookie == BI__CUDA_ADOPTED_HOST;
}

/* What entering changed about the calling thread. */
struct bi__cuda_scope {
	bi__cu_context pushed; /* or NULL: it was current */
	int is_relaxed;
	unsigned mode; /* the capture mode before that */
};

/*
 * Make a context current on the calling thread, if it is not, until `leave`, which does not fail. Scopes may be nested.
 * After a failure there is nothing to leave. In a relaxed scope calls are allowed that would otherwise break a capture
 * that is under way anywhere in the process; `relax` is for a caller who has entered. `enter_to_release` is relaxed and
 * tries a second time.
 */
int bi__cuda_enter(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err);
int bi__cuda_enter_relaxed(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err);
int bi__cuda_relax(struct bi__cuda_scope *scope, struct bi_error *err);
void bi__cuda_enter_to_release(bi__cu_context context, struct bi__cuda_scope *scope);
void bi__cuda_leave(struct bi__cuda_scope *scope);

/* The same for a caller who keeps no scope. */
int bi__cuda_enter_device(struct bi__device_state *device, int *entered, struct bi_error *err);
void bi__cuda_leave_device(struct bi__device_state *device);

/* Wraps queue->native, or creates a stream with these flags if it is 0. */
int bi__cuda_queue_open(struct bi__cuda *cuda, struct bi__queue *queue, unsigned flags, struct bi_error *err);

/* A pair of events around work on the queue, counted once. Entered. */
int bi__cuda_timing_start(struct bi__cuda_queue *queue, struct bi__cuda_event **out, struct bi_error *err);
int bi__cuda_timing_end(struct bi__cuda_queue *queue, struct bi__cuda_event *event, struct bi_error *err);

/* The capture that the queue takes part in, 0: none; and BI_ECAPTURE with the reason `what` if there is one. */
int bi__cuda_find_capture(const struct bi__cuda_queue *queue, uint64_t *id, struct bi_error *err);
int bi__cuda_refuse_capture(const struct bi__cuda_queue *queue, const char *what, struct bi_error *err);

/* Work that needs our kernels or chunks is, or is about to be, on the queue: they outlive it. Entered. */
void bi__cuda_use(struct bi__cuda_queue *queue);

/* Waits until nothing needs our kernels and chunks (host wait). All queues are closed. Entered. */
void bi__cuda_wait_for_uses(struct bi__cuda *cuda);

/* Destroys the events in the context's lists. Entered. */
void bi__cuda_destroy_events(struct bi__cuda *cuda);

/*
 * Enqueue all launches. `dst` and `src` are multiples of BI__LAUNCH_ALIGN; the kernels are loaded first if need be.
 * Entered.
 */
int bi__cuda_launch(struct bi__cuda_queue *queue, struct bi__launches *launches, bi__cu_pointer dst, bi__cu_pointer src,
		    struct bi_error *err);

/* Nothing uses them any more. Entered. */
void bi__cuda_unload_kernels(struct bi__cuda *cuda);

/* One copy or fill on its way to the driver; the context is entered. */
struct bi__cuda_job {
	struct bi__cuda_queue *queue;
	const struct bi__plan *plan;
	const struct bi__place *dst, *src;
};

static inline bi__cu_pointer bi__cuda_address(const struct bi__place *place, int64_t offset)
{
	return (bi__cu_pointer)place->block->handle + place->block->origin + (bi__cu_pointer)offset;
}

/* An address as kernels get it: a pointer that is a multiple of BI__LAUNCH_ALIGN, and the bytes from there. */
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

/* Any plan but a linear one. `to` and `from`: what the device calls the places that the plan's offsets count from. */
int bi__cuda_copy_nest(const struct bi__cuda_job *job, bi__cu_pointer to, bi__cu_pointer from, struct bi_error *err);

/* The source is an immediate item, which is read before the call returns. */
int bi__cuda_fill(struct bi__cuda_job *job, struct bi_error *err);

/* Enqueues what reads bytes [at, at + nbytes) of the staged ones, which then are at `chunk`. Runs under a lock. */
typedef int (*bi__cuda_read_fn)(void *data, bi__cu_pointer chunk, size_t at, size_t nbytes, struct bi_error *err);

/*
 * Host memory that the device cannot reach, chunk by chunk: a host function fills the chunk when the stream comes to it
 * and `read` enqueues what empties it. If `is_immediate` the bytes are read before the call returns. Entered; the queue
 * is not captured.
 */
int bi__cuda_stage(struct bi__cuda_queue *queue, const void *src, size_t nbytes, int is_immediate,
		   bi__cuda_read_fn read, void *data, struct bi_error *err);
int bi__cuda_upload(struct bi__cuda_queue *queue, bi__cu_pointer dst, const void *src, size_t nbytes,
		    struct bi_error *err);
int bi__cuda_download(struct bi__cuda_queue *queue, void *dst, bi__cu_pointer src, size_t nbytes, struct bi_error *err);

/* A copy by the processor when the stream comes to it. The queue is not captured. Entered. */
int bi__cuda_copy_by_host(const struct bi__cuda_queue *queue, void *dst, const void *src, size_t nbytes,
			  struct bi_error *err);

/* Nothing uses the chunks any more. Entered. */
void bi__cuda_free_chunks(struct bi__cuda *cuda);

/* Is this an address that the driver knows: pinned, registered, managed? */
int bi__cuda_is_known(const void *host, int *is_known, struct bi_error *err);

/* What the device calls nbytes of host memory; 0 if it does not reach all of them, or may not. */
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
