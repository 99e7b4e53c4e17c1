/*
 * The objects behind the public names. The file named after an object changes its members; other files of src/common
 * and src/interop read them. docs/ordering.md has the rules that the members serve.
 */
#ifndef BI_COMMON_RUNTIME_OBJECT_H
#define BI_COMMON_RUNTIME_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/backend/dispatch.h"
#include "common/layout/dtype.h"

/* The reasons for which the calling thread is blocked (docs/ordering.md), and their keys in reports. */
#define BI__WAIT_MAP(X) \
	X(SYNCHRONIZE, "synchronize") /* the caller asked for it */ \
	X(VALUE, "value") /* the caller's own bytes are read or written: get, read, write */ \
	X(MAP, "map") \
	X(CROSS, "cross") /* two contexts or backends share no events */ \
	X(STAGING, "staging") /* a new piece of pinned memory is mapped */ \
	X(EXPORT, "export") /* the consumer gets no event */ \
	X(CLOSE, "close") /* pending work is drained when a context closes */ \
	X(PRESSURE, "pressure") /* retired memory is above its bound */ \
	X(FAILURE, "failure") /* the end of work could not be recorded */ \
	X(DEBUG, "debug") \
	X(REPORT, "report")

enum bi__wait_reason {
#define BI__WAIT_ENUM(name, text) BI__WAIT_##name,
	BI__WAIT_MAP(BI__WAIT_ENUM)
#undef BI__WAIT_ENUM
		BI__WAIT_COUNT
};

/*
 * A fence is a point on a stream that can be waited for: an event of a backend, and a reference to the context that the
 * event belongs to. A fence without a context is complete (fence.h).
 */
struct bi__fence {
	struct bi_context *context;
	uintptr_t event;
};

/*
 * A stream is a queue of a device. Nothing of it changes after it was made, except its two atomic members. The stream
 * that each context has from the start, the context stream, lies inside the context and shares its count.
 */
struct bi_stream {
	atomic_uint refs; /* unused in a context stream */
	struct bi_context *context; /* a reference, except in the context stream */
	struct bi__queue queue;
	unsigned id; /* in reports; 0 is the context stream */
	atomic_ullong serial; /* unique in the process and never used again; 0 until one is needed */
	struct {
		bi_release_fn fn;
		void *data;
	} release; /* called when a wrapped stream ends */
};

/* An event is a counted fence. The fence does not change. */
struct bi_event {
	atomic_uint refs;
	struct bi__fence fence;
};

#define BI__POOL_CLASSES 512

struct bi__pool {
	pthread_mutex_t lock; /* guards all that follows, and bi_context.pieces */
	size_t limit, bytes;
	uint64_t hits, misses;
	struct bi_memory **classes; /* BI__POOL_CLASSES, each last in, first out; NULL until something came back */
	struct bi_memory *oldest, *newest; /* in the order in which they came back */
};

/*
 * Released memories that pending work still uses, the oldest first. The list owns them. Neither they nor their events
 * hold a reference to the context.
 */
struct bi__retired {
	pthread_mutex_t lock; /* guards the list */
	struct bi_memory *oldest, *newest; /* linked by bi_memory.next */
	atomic_uint count; /* changed under the lock, read without it */
	atomic_size_t bytes; /* of those that an event completes; the same */
	size_t limit; /* of the bytes */
};

struct bi__pinned_piece;
struct bi__report;

/*
 * A context is an opened device, together with everything that lives as long as the device is open. Members without a
 * lock are set while the context is opened and do not change afterwards.
 */
struct bi_context {
	atomic_uint refs;
	struct bi__device device; /* what calls to the backend need */
	struct bi_stream stream; /* the context stream */
	atomic_uint stream_ids; /* number of streams made so far */
	int debug; /* every operation is complete when its call returns */
	int cai_unordered; /* BI_CAI_SYNC=0: the CUDA Array Interface is used without synchronisation */
	enum bi_memory_kind default_memory; /* replaces BI_MEMORY_DEFAULT */
	struct {
		bi_log_fn fn; /* or NULL */
		void *data;
		int level;
	} log;
	struct {
		bi_release_fn fn;
		void *data;
	} release; /* called after the context was closed: gives adopted handles back */
	char *notes; /* a line for each device that "auto" passed over; or NULL */
	struct bi__pool pool;
	struct {
		struct bi__pinned_piece *first;
		unsigned count;
	} pieces; /* free pieces of pinned memory (pinned_pieces.h); guarded by pool.lock */
	struct bi__retired retired;
	atomic_uint host_uses; /* host memories with work of this context that was not seen complete (order.c) */
	atomic_ullong waits[BI__WAIT_COUNT]; /* how often the calling thread was blocked, for each reason */
	struct bi__report *report; /* has locks of its own; NULL without option `profile` */
	struct bi_device own_info; /* device.info points here */
};

/* A counted text: the descr of structured types, shared by the views made of one view. */
struct bi__text {
	atomic_uint refs;
	char text[];
};

/*
 * The part of a view that few views need: the descr of a structured type, and the strides in elements, which are made
 * when they are first needed.
 */
struct bi__more {
	struct bi__text *text; /* retained, or NULL */
	const char *descr; /* inside text, followed by a NUL; or NULL */
	uint32_t descr_length;
	int is_exact; /* 0: some stride is no multiple of the item size */
	int64_t element_strides[]; /* those of extents below 2 are 1 */
};

/* Where a view lies. */
enum bi__view_place {
	BI__VIEW_ALONE, /* in an allocation of its own */
	BI__VIEW_BEHIND /* behind its memory, and freed with that */
};

/* Few bytes, because there are many views: five words, shape and strides. */
struct bi_view {
	atomic_uint refs;
	uint8_t ndim;
	uint8_t flags; /* enum bi_view_flag */
	uint8_t exchange_flags; /* enum bi_exchange_flag: those that the layout and read-only make */
	bool is_empty : 1; /* no element */
	uint8_t place : 1; /* enum bi__view_place */
	struct bi_memory *memory; /* retained */
	struct bi_dtype dtype;
	int64_t offset;
	struct bi__more *_Atomic more; /* or NULL; once it is there it stays */
	int64_t dims[]; /* shape, strides */
};

/* Events that the first use of wrapped memory waits for. */
struct bi__first_use {
	struct bi_event **events; /* retained; or NULL */
	size_t count;
	bool is_over; /* it took place in this locked step: the events are released with the leftovers */
};

/* References that a locked step no longer needs. Releasing one may close a context, so no lock may be held then. */
struct bi__leftovers {
	unsigned fence_count;
	struct bi__fence fences[3]; /* earlier last-use events; one step leaves three at most */
	struct bi_stream *streams[2]; /* NULL from the first unused one on; one step leaves two at most */
};

/*
 * Which work on a memory is not known to be complete, and what later work waits for: docs/ordering.md, "States of a
 * memory". The functions of order.h change it.
 */
struct bi__order {
	/* The locked step that is under way. */
	bool is_capturing; /* it enqueues into a graph that is being captured */
	bool is_checked; /* it has queried whether the work that it waits for failed */
	struct bi__leftovers leftovers;

	/* The result of earlier steps. */
	bool pending; /* device memory: work on the home stream was not seen complete */
	bool consumed; /* a consumer works on the home stream without calling the library: always pending */
	bool captured; /* a graph uses the memory */
	bool failed; /* work on it has failed; work that it waited for may still run, so the memory is not reused */
	bool lost; /* the end of work can never be known: the memory is never freed */
	uint64_t epoch; /* counts changes of what is pending */
	struct bi__first_use first_use;
	struct bi_stream *unrecorded; /* retained: the end of work on this stream could not be recorded yet; or NULL */
	struct bi__fence last_use; /* host memory: the end of all device work on it; or nothing */
	uint64_t last_use_stream; /* serial of the stream on which last_use was recorded */
};

/* Borrowed memory: the device memory on the other side of the copy. Only compared, never followed. */
struct bi__partner {
	const struct bi_memory *memory;
	uint64_t epoch; /* its epoch behind the copy */
};

/* Guarded by the lock of the pool. */
struct bi__pool_links {
	struct bi_memory *next; /* in the class */
	struct bi_memory **link; /* the pointer to this memory in its class */
	struct bi_memory *older, *newer;
};

/* Guarded by the lock of the retired list. */
struct bi__retirement {
	struct bi_memory *next; /* the next newer one */
	uintptr_t event; /* complete when the memory can be destroyed */
	bool is_deferred; /* a capture must end before an event can be recorded */
};

enum bi__memory_mark {
	BI__MARK_EXPORTED = 1, /* the handle has escaped: the memory is never pooled, nor copied inline */
	BI__MARK_INLINE = 2 /* a thread copies its bytes inline, under the lock */
};

struct bi_memory {
	/* Identity: constant once others know the memory. */
	atomic_uint refs;
	unsigned flags; /* enum bi_wrap_flag */
	struct bi_context *context; /* retained while refs > 0, then NULL: pooled and retired memory is the context's */
	const struct bi__backend *backend; /* of the block: the context's, or the host's */
	struct bi__block block;
	size_t nbytes; /* as requested; a pooled block may be larger */
	struct {
		bi_release_fn fn;
		void *data;
	} release;
	bool own; /* the library allocated it */
	bool borrowed; /* bytes of the caller for one call: only the calling thread knows them, so no lock is taken */
	struct bi_stream
		*producer; /* retained: the stream that the producer named, whatever the home stream is; or NULL */

	/* Read without the lock. */
	atomic_uchar marks; /* enum bi__memory_mark */
	atomic_bool idle; /* no work was pending when the lock was released last */
	struct {
		atomic_uint readers, writers;
	} mappings; /* changed under the lock */
	struct bi_stream *_Atomic home; /* the home stream, changed under the lock; NULL on host memory. A former home
					   stays valid */

	pthread_mutex_t lock;
	struct bi__order order; /* guarded by lock */
	struct bi__partner partner;
	struct bi__pool_links pooled;
	struct bi__retirement retirement;
};

/* The place of a view behind a memory that was made with one. */
static inline struct bi_view *bi__view_behind(struct bi_memory *memory)
{
	return (struct bi_view *)(void *)(memory + 1);
}

/* Returns 1 if work on the memory is done when a call returns: it has no home stream, but may have a last-use event. */
static inline int bi__is_synchronous(const struct bi_memory *memory)
{
	return memory->backend->synchronous;
}

/* Returns 1 if any code may use the address of the memory, block.host. */
static inline int bi__is_cpu_addressable(const struct bi_memory *memory)
{
	return memory->backend->cpu_addressable;
}

/*
 * Returns BI_OK, or BI_EFORK for device memory that the parent of this process made. Memory that the CPU can address is
 * usable in a forked child, whatever its context.
 */
static inline int bi__memory_check_reach(const struct bi_memory *memory, struct bi_error *err)
{
	return bi__is_cpu_addressable(memory) ? BI_OK : bi__dispatch_alive(&memory->context->device, err);
}

/* Returns how the memory is named to other programs. */
static inline const struct bi__exported *bi__exported_of(const struct bi_memory *memory)
{
	return &memory->backend->exported[memory->block.memory];
}

/* Returns where the CPU copies the bytes at full speed, or NULL. */
static inline void *bi__address(const struct bi_memory *memory)
{
	return bi__is_cpu_addressable(memory) ? memory->block.host : memory->block.private_host;
}

/*
 * Releases a reference and returns 1 if it was the last. A count of 1 is not written, because nobody else can change
 * it. The acquire makes visible what other threads did before they released theirs.
 */
static inline int bi__release_reference(atomic_uint *refs)
{
	return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
	       atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* Adds one to the times that the calling thread was blocked for this reason. */
static inline void bi__count_wait(struct bi_context *context, enum bi__wait_reason reason)
{
	atomic_fetch_add_explicit(&context->waits[reason], 1, memory_order_relaxed);
}

/* Returns 1 if the two can share events and memory. */
static inline int bi__same_space(const struct bi_context *a, const struct bi_context *b)
{
	return a->device.backend == b->device.backend && a->device.state.native == b->device.state.native;
}

/* Returns 1 if streams of the two can wait for each other. */
static inline int bi__share_events(const struct bi_context *a, const struct bi_context *b)
{
	return a->device.backend == b->device.backend &&
	       (a->device.state.native == b->device.state.native || a->device.backend->has_peers);
}

/* The slow part of bi__memory_mark_exported: waits until no thread copies the bytes inline. */
void bi__memory_mark_first_export(struct bi_memory *memory);

/*
 * Called before the handle is given out, with no lock held. Afterwards the memory is not copied inline, and no inline
 * copy is under way. Writes only once, so threads that describe one memory do not compete for its cache line.
 */
static inline void bi__memory_mark_exported(struct bi_memory *memory)
{
	if (atomic_load_explicit(&memory->marks, memory_order_acquire) != BI__MARK_EXPORTED)
		bi__memory_mark_first_export(memory);
}

static inline int bi__is_exported(const struct bi_memory *memory)
{
	return atomic_load_explicit(&memory->marks, memory_order_relaxed) & BI__MARK_EXPORTED;
}

/* Returns 1 if no work is pending. Needs no lock: work that other threads enqueue meanwhile comes after the call. */
static inline int bi__is_idle(const struct bi_memory *memory)
{
	return atomic_load_explicit(&memory->idle, memory_order_acquire);
}

static inline int bi__is_unordered(const struct bi_memory *memory)
{
	return (memory->flags & BI_WRAP_UNORDERED) != 0;
}

#endif
