/*
 * The structs of the public objects. The source file named after an object changes its members; all files of src/common
 * and src/interop may read them. docs/ordering.md has the rules that the members serve.
 */
#ifndef BI_COMMON_RUNTIME_OBJECT_H
#define BI_COMMON_RUNTIME_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/backend/dispatch.h"
#include "common/layout/dtype.h"

/* The reasons for which the calling thread is blocked (docs/ordering.md): name, key in reports. */
#define BI__WAIT_MAP(X) \
	X(SYNCHRONIZE, "synchronize") /* the caller asked for it */ \
	X(VALUE, "value") /* the caller's own bytes are read or written: get, read, write */ \
	X(MAP, "map") \
	X(CROSS, "cross") /* two contexts or backends share no events */ \
	X(STAGING, "staging") /* the driver maps a new piece of pinned memory */ \
	X(EXPORT, "export") /* the consumer gets no event that it could wait for */ \
	X(CLOSE, "close") /* pending work is drained when a context or an out-of-order stream closes */ \
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
 * A stream is a queue of a device. After it was made, only its atomic members change. The context stream, which
 * each context has from the start, lies inside the context and shares the reference count of the context.
 */
struct bi_stream {
	atomic_uint refs; /* unused in a context stream */
	struct bi_context *context; /* a reference, except in the context stream */
	struct bi__queue queue;
	unsigned id; /* number of the stream in reports; 0 is the context stream */
	uint64_t serial; /* unique for the life of the process; not 0 */
	atomic_bool is_shared; /* other code may know the handle, or the stream has waited for a captured stream. No
				  other stream can be captured into a graph */
	struct {
		bi_release_fn fn;
		void *data;
	} release; /* called when a wrapped stream ends */
};

/* An event is a fence with a reference count. The fence does not change. */
struct bi_event {
	atomic_uint refs;
	int is_own; /* 1: recorded by the library; 0: wrapped */
	struct bi__fence fence;
};

#define BI__POOL_CLASSES 512

struct bi__pool {
	pthread_mutex_t lock; /* guards the members below, and bi_context.pieces */
	size_t limit, bytes; /* `bytes` is the size of all pooled memories */
	uint64_t hits, misses;
	struct bi_memory **classes; /* BI__POOL_CLASSES lists, each last in, first out; NULL before the first use */
	struct bi_memory *oldest, *newest; /* ends of the list in the order in which memories entered the pool */
};

/*
 * Released memories that pending work still uses, the oldest first. The list owns the memories. Neither the memories
 * nor their events hold a reference to the context.
 */
struct bi__retired {
	pthread_mutex_t lock; /* guards the list */
	struct bi_memory *oldest, *newest; /* linked by bi_memory.retirement.next */
	atomic_uint count; /* memories in the list; changed under the lock, read without it */
	atomic_size_t bytes; /* of the memories that are not deferred; changed under the lock, read without it */
	size_t limit; /* of `bytes` */
};

struct bi__pinned_piece;
struct bi__report;

/*
 * A context is an opened device, together with everything that lives as long as the device is open. Members without a
 * lock are set while the context is opened and do not change afterwards.
 */
struct bi_context {
	atomic_uint refs;
	struct bi__device device;
	struct bi_stream stream; /* the context stream */
	atomic_uint stream_ids; /* number of streams made so far, without the context stream */
	int debug; /* 1: every operation is complete when its call returns */
	int cai_unordered; /* 1: the CUDA Array Interface is used without synchronisation (BI_CAI_SYNC=0) */
	enum bi_memory_kind default_memory; /* the kind that BI_MEMORY_DEFAULT stands for */
	struct {
		bi_log_fn fn;
		void *data;
		int level; /* 0: there is no callback, and no line is passed to it */
	} log;
	struct {
		bi_release_fn fn;
		void *data;
	} release; /* called after the context was closed, so that the caller may release adopted handles */
	void (*around_close)(void (*close)(struct bi_context *), struct bi_context *); /* calls close; or NULL */
	char *notes; /* a line for each device that "auto" passed over; or NULL */
	struct bi__pool pool;
	struct {
		struct bi__pinned_piece *first;
		unsigned count;
	} pieces; /* list of free pieces of pinned memory (pinned_pieces.h); guarded by pool.lock */
	struct bi__retired retired;
	atomic_uint host_uses; /* number of host memories on which work of this context is pending (order.c) */
	atomic_ullong waits[BI__WAIT_COUNT]; /* how often the calling thread was blocked, for each reason */
	struct bi__report *report; /* guarded by its own locks; NULL without option `profile` */
	int is_shared; /* 1: in the list of bi_context_shared */
	struct bi_context *next_shared; /* guarded by the lock of that list */
	struct bi_device own_info; /* the description that device.info points to */
};

/* A text with a reference count: the descr of a structured type, which a view shares with the views made from it. */
struct bi__text {
	atomic_uint refs;
	char text[];
};

/*
 * The part of a view that few views need: the descr of a structured type, and the strides in elements. It is made when
 * it is first needed.
 */
struct bi__more {
	struct bi__text *text; /* retained, or NULL */
	const char *descr; /* points into `text`, ends with a NUL; or NULL */
	uint32_t descr_length;
	struct bi__text *_Atomic json; /* the type in the JSON of exports; NULL until it is made */
	int is_exact; /* 0: the item size does not divide all strides */
	int64_t element_strides[]; /* strides / item size; 1 for axes of extent 0 or 1 */
};

enum bi__view_trait { BI__TRAIT_READONLY = 1, BI__TRAIT_C_CONTIGUOUS = 2, BI__TRAIT_F_CONTIGUOUS = 4 };

/* A view has few bytes, because there are many views: five words, shape and strides. */
struct bi_view {
	atomic_uint refs;
	uint8_t ndim;
	uint8_t flags; /* enum bi_view_flag */
	uint8_t traits; /* enum bi__view_trait */
	bool is_empty : 1; /* the view has no elements */
	bool is_behind : 1; /* the view lies in the allocation of its memory, and is freed with it */
	struct bi_memory *memory; /* retained */
	struct bi_dtype dtype;
	int64_t offset;
	struct bi__more *_Atomic more; /* NULL until it is made; does not change afterwards */
	int64_t dims[]; /* ndim extents, then ndim strides */
};

/* Events that the first use of wrapped memory waits for. */
struct bi__first_use {
	struct bi_event **events; /* retained; or NULL */
	size_t count;
};

/*
 * References that a step (order.h) no longer needs. The release of a reference may close a context, so they are
 * released after the step has unlocked the memories.
 */
struct bi__leftovers {
	unsigned fence_count;
	struct bi__fence fences[3]; /* at most three earlier last-use events; without any, the event of a copy */
	struct bi_stream *streams[2]; /* one step leaves at most two; unused entries are NULL and come last */
	struct bi__first_use first_use; /* the events of a first use that took place in this step */
};

/*
 * The end of a use of private memory. All memories of a step share one object, because a driver takes a lock when it
 * counts a reference to an event. The event keeps no reference to its context, which outlives the memories.
 */
struct bi__end {
	atomic_uint refs;
	uintptr_t event;
};

/* A use of private memory (docs/ordering.md, row 38). */
struct bi__point {
	uint64_t stream; /* serial of the stream; 0: none, or CUDA's per-thread stream */
	struct bi__end *end; /* retained; or NULL */
	uint64_t seen; /* in `reads`: the stream comes after the work of epoch `seen` - 1; 0: after `written` */
};

/* The number of streams whose reads of private memory are known one by one. */
#define BI__READS 8

/*
 * The order state of a memory: the work on it that is not known to be complete, and the events that later work waits
 * for. docs/ordering.md, "States of a memory". The functions of order.h and points.h change it.
 */
struct bi__order {
	/* State of the current step (order.h). */
	bool is_capturing; /* the step enqueues into a graph that is being captured */
	bool is_checked; /* the step has queried whether earlier work on the memory failed */
	struct bi__leftovers leftovers;

	/* Result of earlier steps. */
	bool pending; /* device memory: work was not seen complete */
	bool captured; /* a graph uses the memory */
	bool failed; /* work on the memory failed. Work before the failed work may still run: no reuse by the pool */
	bool lost; /* the end of work can never be known: the memory is never freed */
	uint64_t epoch; /* number of times that work was added */
	uint64_t home_use; /* private memory: number of the last use on the home stream (bi__queue.enqueued); UINT64_MAX
			      if it is not known, or work on another stream came after it */
	struct bi__first_use first_use;
	struct bi_stream *unrecorded; /* retained: the end of work on this stream could not be recorded yet; or NULL */
	struct bi__fence last_use; /* host memory: the last-use event; a fence without context if none is pending */
	uint64_t last_use_stream; /* serial of the stream on which last_use was recorded */

	/*
	 * Private memory with work on other streams than the home stream. Without `spread`, all work comes before the
	 * end of the home stream, and the other members are not used.
	 */
	bool spread;
	bool home_seen; /* the home stream comes after `written` */
	bool home_reads; /* work on the home stream has read the memory since `written` */
	uint8_t read_count; /* entries of `reads` */
	struct bi__point written; /* the last write */
	struct bi__point reads[BI__READS]; /* streams that come after `written`, and their reads since */
};

/*
 * Member of borrowed memory: the device memory that it was copied to or from last, and the stream that executes the
 * copy. `memory` is only compared, because the device memory may have been freed. The copied view keeps the stream
 * alive.
 */
struct bi__partner {
	const struct bi_memory *memory;
	uint64_t epoch; /* epoch of the device memory after the copy was enqueued */
	struct bi_stream *stream;
};

/* Guarded by the lock of the pool. */
struct bi__pool_links {
	struct bi_memory *next; /* next memory of the class */
	struct bi_memory **link; /* the pointer to this memory in the list of its class */
	struct bi_memory *older, *newer;
};

/* Guarded by the lock of the retired list. */
struct bi__retirement {
	struct bi_memory *next; /* the next newer memory in the list */
	uintptr_t event; /* complete when the memory can be destroyed; 0 if is_deferred */
	bool is_deferred; /* a graph uses the memory, or its stream is being captured: no event can be recorded */
};

enum bi__memory_mark {
	BI__MARK_EXPORTED = 1, /* the handle has escaped: the memory is never pooled and never copied inline */
	BI__MARK_INLINE = 2, /* a thread copies bytes of the memory inline, and holds its lock */
	BI__MARK_WRITTEN = 4, /* the memory is mapped for writing; changed under its lock */
	/* Other code may enqueue work on the home stream without calling the library. Set under the lock, never
	 * cleared: `pending` stays set. */
	BI__MARK_NAMED = 8
};

struct bi_memory {
	/* Identity: does not change after the memory was made, except for `context`. */
	atomic_uint refs;
	unsigned flags; /* enum bi_wrap_flag */
	struct bi_context *context; /* retained while refs > 0, then NULL: the context owns pooled and retired memory */
	const struct bi__backend *backend; /* backend of the block: that of the context, or the host backend */
	struct bi__block block;
	size_t nbytes; /* requested size; a pooled block may be larger */
	struct {
		bi_release_fn fn;
		void *data;
		/* Makes the producer's work follow the event, so that nobody waits. Not 0: it does not. NULL: none. */
		int (*done)(void *data, uint32_t order_kind, uint64_t event);
	} release;
	bool own; /* the library allocated it */
	bool borrowed; /* memory of the caller for one call: only the calling thread knows it, so no lock is taken */
	struct bi_stream *
		producer; /* retained: the stream that the producer named, even if it is not the home stream; or NULL */

	/* Read without the lock. */
	atomic_uchar marks; /* enum bi__memory_mark */
	/* No work was pending at the end of the last step. Other threads may enqueue work meanwhile. */
	atomic_bool idle;
	/* Work was pending at the end of the last step, and waiting for the home stream is enough. */
	atomic_bool on_home;
	atomic_uint readers; /* mappings for reading; changed under the lock */
	atomic_uint lock_process; /* value of bi__fork_generation when `lock` was made */
	struct bi_stream *_Atomic home; /* home stream, changed under the lock; NULL in host memory. A former home
					   stream stays valid */

	pthread_mutex_t lock;
	struct bi__order order; /* guarded by lock */
	struct bi__partner partner;
	struct bi__pool_links pooled;
	struct bi__retirement retirement;
};

/* Returns the address at which the library's own code may copy the bytes, or NULL. */
static inline void *bi__address(const struct bi_memory *memory)
{
	return memory->backend->cpu_addressable ? memory->block.host : memory->block.private_host;
}

/*
 * Releases a reference. Returns 1 if it was the last reference, else 0. A count of 1 is not written, because no other
 * thread can change it. The acquire makes visible what other threads did before they released their references.
 */
static inline int bi__release_reference(atomic_uint *refs)
{
	return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
	       atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* Counts that the calling thread was blocked for this reason. */
static inline void bi__count_wait(struct bi_context *context, enum bi__wait_reason reason)
{
	atomic_fetch_add_explicit(&context->waits[reason], 1, memory_order_relaxed);
}

/* Returns 1 if the two contexts have the same native context, and so can share events and memory. */
static inline int bi__same_space(const struct bi_context *a, const struct bi_context *b)
{
	return a->device.backend == b->device.backend && bi__is_same_native(&a->device.state, &b->device.state);
}

/* Returns 1 if streams of the two contexts can wait for each other. */
static inline int bi__share_events(const struct bi_context *a, const struct bi_context *b)
{
	return a->device.backend == b->device.backend &&
	       (bi__is_same_native(&a->device.state, &b->device.state) || a->device.backend->has_peers);
}

/*
 * The slow part of the next function: makes the home stream wait for the work on other streams (docs/ordering.md,
 * 38.8), sets the mark, and waits until no thread copies the bytes inline.
 */
__attribute__((cold, noinline)) int bi__memory_mark_first_export(struct bi_memory *memory, int blocks,
								 struct bi_error *err);

/*
 * Marks the memory as exported. Called before its handle is given out, with no lock held. When the function returns, no
 * inline copy of the memory is under way, and none will start. Only the first call writes, so threads that describe one
 * memory do not compete for its cache line. The memory is marked after a failure too: BI_EBUSY if it is mapped for
 * writing, BI_ECAPTURE if its home stream is captured and work on another stream is pending. With `blocks` 0, returns
 * BI_EBUSY and marks nothing if another thread has the lock of the memory, or the home stream would have to wait; and
 * BI_EBUSY if a thread copies the bytes inline.
 */
static inline int bi__memory_mark_exported(struct bi_memory *memory, int blocks, struct bi_error *err)
{
	unsigned marks = atomic_load_explicit(&memory->marks, memory_order_acquire);

	if ((marks & ~(unsigned)BI__MARK_NAMED) == BI__MARK_EXPORTED)
		return BI_OK;
	return bi__memory_mark_first_export(memory, blocks, err);
}

#endif
