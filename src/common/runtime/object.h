/*
 * The structs of the public objects: context, stream, event, memory and view. This folder and the rooms above it
 * (docs/architecture.md) use them. docs/ordering.md has the rules that the members serve.
 */
#ifndef BI_COMMON_RUNTIME_OBJECT_H
#define BI_COMMON_RUNTIME_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/backend/dispatch.h"
#include "common/layout/dtype.h"

/* The reasons for which the calling thread is blocked (docs/ordering.md): name, key in reports, case. */
#define BI__WAIT_MAP(X) \
	X(SYNCHRONIZE, "synchronize") /* the caller called bi_view_, bi_stream_ or bi_event_synchronize */ \
	X(VALUE, "value") /* the caller's own bytes are read or written: get, read, write */ \
	X(MAP, "map") \
	X(CROSS, "cross") /* two contexts or backends share no events; or a chunked copy waits for a buffer */ \
	X(STAGING, "staging") /* the driver maps a new piece of pinned memory */ \
	X(EXPORT, "export") /* the export names no stream, so the work has to be complete */ \
	X(CLOSE, "close") /* a context with retired memory closes; or an OpenCL queue is released late (16.1) */ \
	X(PRESSURE, "pressure") /* retired memory is above its limit, or the driver has no memory */ \
	X(FAILURE, "failure") /* the driver refused to order work, or to end a mapping */ \
	X(DEBUG, "debug") \
	X(REPORT, "report")

enum bi__wait_reason {
#define BI__WAIT_ENUM(name, text) BI__WAIT_##name,
	BI__WAIT_MAP(BI__WAIT_ENUM)
#undef BI__WAIT_ENUM
		BI__WAIT_COUNT
};

/*
 * A fence is a point on a stream: an event of a backend, and the context that the event belongs to. A stream or the
 * calling thread can wait for it. A fence without a context is complete. fence.h says who owns the references.
 */
struct bi__fence {
	struct bi_context *context;
	uintptr_t event;
};

/*
 * A stream is a queue of a device. After it was made, only its atomic members change. The context stream is a member of
 * its context, and shares the reference count of the context.
 */
struct bi_stream {
	atomic_uint refs; /* unused in a context stream */
	struct bi_context *context; /* a reference, except in the context stream */
	struct bi__queue queue;
	unsigned id; /* number of the stream in reports; 0 is the context stream */
	uint64_t serial; /* unique for the life of the process; not 0 */
	atomic_bool is_shared; /* the stream may be captured into a graph: other code may have the handle, or the stream
				  has waited for a captured stream or for an event of the caller */
	struct {
		bi_release_fn fn;
		void *data;
	} release; /* called by the last release of a wrapped stream */
};

/* An event is a fence with a reference count. The fence does not change. */
struct bi_event {
	atomic_uint refs;
	int is_own; /* 1: recorded by the library; 0: wrapped */
	struct bi__fence fence;
};

#define BI__POOL_CLASSES 512

struct bi__pool {
	/*
	 * Allocations that empty the pool now. No memory enters while there is one. A child forked meanwhile has no
	 * pool.
	 */
	atomic_uint emptying;
	pthread_mutex_t lock; /* guards bi_context.pieces and the members below; `limit` does not change */
	size_t limit, bytes; /* `bytes` is the size of all pooled memories */
	uint64_t hits, misses;
	struct bi_memory **classes; /* BI__POOL_CLASSES lists, the newest memory first; NULL until a memory enters */
	struct bi_memory *oldest, *newest; /* ends of the list in the order in which memories entered the pool */
};

/*
 * Released memories that pending work or a graph may still use, the oldest first. The list owns the memories and their
 * events, which hold no reference to the context. A deferred memory may hold a stream of its producer or of its last
 * work, and the stream the context (docs/ordering.md, 19.2, 35.5).
 */
struct bi__retired {
	pthread_mutex_t lock; /* guards the list */
	struct bi_memory *oldest, *newest; /* linked by bi_memory.retirement.next */
	atomic_uint count; /* memories in the list; changed under the lock, read without it */
	atomic_size_t bytes; /* sum of counted_bytes (retire.c); changed under the lock, read without it */
	size_t limit; /* if `bytes` is above it, memory is freed or waited for (docs/ordering.md, 15.3) */
};

struct bi__pinned_piece;
struct bi__report;

/*
 * A context is an opened device, with all that exists only while the device is open. Members that are not atomic and
 * have no lock do not change between the opening and the close, except for device.state (backend.h).
 */
struct bi_context {
	atomic_uint refs;
	struct bi__device device;
	struct bi_stream stream; /* the context stream */
	atomic_uint stream_ids; /* number of streams made so far, without the context stream */
	int debug; /* 1: a copy, fill or launch is complete when its call returns, unless it is captured */
	int cai_unordered; /* 1: the CUDA Array Interface is unordered by default (BI_CAI_SYNC=0) */
	enum bi_memory_kind default_memory; /* the kind that BI_MEMORY_DEFAULT stands for */
	struct {
		bi_log_fn fn;
		void *data;
		int level; /* highest level that is logged; 0: there is no callback */
	} log;
	struct {
		bi_release_fn fn;
		void *data;
	} release; /* called after the close: the caller may release adopted handles now */
	void (*around_close)(void (*close)(struct bi_context *), struct bi_context *); /* calls close; or NULL */
	char *notes; /* the lines of bi_context_notes, or NULL */
	struct bi__pool pool;
	struct {
		struct bi__pinned_piece *first;
		unsigned count;
	} pieces; /* list of free pieces of pinned memory (pinned_pieces.h); guarded by pool.lock */
	struct bi__retired retired;
	atomic_uint host_uses; /* number of last-use events of this context, and of unrecorded ends of its work on
				   host memory; borrowed memory does not count (order.c) */
	atomic_ullong waits[BI__WAIT_COUNT]; /* number of waits of calling threads, for each reason */
	struct bi__report *report; /* guarded by its own locks; NULL without option `profile` */
	int is_shared; /* 1: in the list of bi_context_shared */
	struct bi_context *next_shared; /* guarded by the lock of that list */
	struct bi_device own_info; /* the description that device.info points to */
};

/* A text with a reference count: a descr, which a view shares with the views made from it, or a type in JSON. */
struct bi__text {
	atomic_uint refs;
	char text[];
};

/*
 * The part of a view that few views need: the descr of a structured type, and the strides in elements. A view with a
 * descr is made with it. Any other view gets it when it is first needed.
 */
struct bi__more {
	struct bi__text *text; /* retained, or NULL */
	const char *descr; /* points into `text`, ends with a NUL; or NULL */
	uint32_t descr_length;
	struct bi__text *_Atomic json; /* the type in the JSON of exports; NULL until it is made */
	int is_exact; /* 1: the item size is not 0, and divides all strides */
	int64_t element_strides[]; /* if is_exact: strides / item size; 1 for axes of extent 0 or 1 */
};

enum bi__view_trait { BI__TRAIT_READONLY = 1, BI__TRAIT_C_CONTIGUOUS = 2, BI__TRAIT_F_CONTIGUOUS = 4 };

/* A view is small, because there may be many views: five words, shape and strides. */
struct bi_view {
	atomic_uint refs;
	uint8_t ndim;
	uint8_t flags; /* enum bi_view_flag */
	uint8_t traits; /* enum bi__view_trait */
	bool is_empty : 1; /* the view has no elements */
	bool is_behind : 1; /* the view is in the allocation of its memory, and is freed with the memory */
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
	struct bi__fence fences[3]; /* earlier last-use events, at most three; or the event of a copy */
	struct bi_stream *streams[2]; /* one step leaves at most two; unused entries are NULL and come last */
	struct bi__first_use first_use; /* the events of a first use that took place in this step */
};

/*
 * The end of a use of private memory. The memories of a step share one object, so the event is recorded once. The
 * object holds no reference to its context, because the context outlives the memories.
 */
struct bi__end {
	atomic_uint refs;
	uintptr_t event;
};

/* A use of private memory (docs/ordering.md, row 38). */
struct bi__point {
	uint64_t stream; /* serial of the stream; 0: none, or CUDA's per-thread stream */
	struct bi__end *end; /* retained; or NULL */
	/* In `reads`: 1 + the epoch up to which the stream has waited for work; 0: it has waited for `written` alone.
	 */
	uint64_t seen;
};

/* The most streams whose reads of one private memory are stored (docs/ordering.md, 38.7). */
#define BI__READS 8

/*
 * The order state of a memory: the work on it that is not known to be complete, and the events that later work waits
 * for (docs/ordering.md, "States of a memory").
 */
struct bi__order {
	/* State of the current step (order.h). */
	bool is_capturing; /* the step enqueues into a graph that is being captured */
	bool is_checked; /* the step has queried whether earlier work on the memory failed */
	struct bi__leftovers leftovers;

	/* Result of earlier steps. */
	bool pending; /* device memory: the memory is pending */
	bool captured; /* a graph uses the memory */
	bool failed; /* work on the memory failed. Work before it may still run, so the memory never enters the pool */
	bool lost; /* the end of work can never be known: the memory is not freed, unless its device was reset */
	uint64_t epoch; /* number of times that work was added */
	uint64_t home_use; /* private memory: bi__queue.enqueued of the home stream after the last use there; UINT64_MAX
			      if it is not known, or if work on another stream came later */
	struct bi__first_use first_use;
	struct bi_stream *unrecorded; /* retained: the stream whose end could not be recorded yet; or NULL */
	struct bi__fence last_use; /* host memory: the last-use event; a fence without context if there is none */
	uint64_t last_use_stream; /* serial of the stream on which last_use was recorded */

	/*
	 * The members below are for private memory with work on streams other than the home stream. Without `spread`,
	 * all work comes before the end of the home stream, and the other members are not used.
	 */
	bool spread;
	bool home_seen; /* the home stream comes after `written` */
	bool home_reads; /* work on the home stream has read the memory since `written` */
	uint8_t read_count; /* entries of `reads` */
	struct bi__point written; /* the last write; at first, all work before `spread` was set */
	struct bi__point reads[BI__READS]; /* streams that come after `written`, and their reads since */
};

/*
 * The last copy between a host memory and device memory. It is read for borrowed memory only. The view that is copied
 * keeps `stream` alive. `memory` is only compared, because the device memory may have been freed.
 */
struct bi__partner {
	const struct bi_memory *memory; /* the device memory; NULL if other work on it may end after the copy */
	uint64_t epoch; /* epoch of the device memory after the copy was enqueued */
	struct bi_stream *stream;
};

/* Links of a pooled memory. The lock of the pool guards them. */
struct bi__pool_links {
	struct bi_memory *next; /* next memory of the class */
	struct bi_memory **link; /* the pointer to this memory in the list of its class */
	struct bi_memory *older, *newer;
};

/* State of a retired memory. The lock of the retired list guards it while the memory is in that list. */
struct bi__retirement {
	struct bi_memory *next; /* the next newer memory in the list */
	uintptr_t event; /* the end of all work on the memory; if is_deferred, the last-use event of captured host
			    memory, or 0 */
	bool is_deferred; /* a graph uses the memory, or a stream is captured on which the release must enqueue */
};

enum bi__memory_mark {
	BI__MARK_EXPORTED = 1, /* the handle was given out: the memory is never pooled and never copied inline */
	BI__MARK_INLINE = 2, /* a thread copies bytes of the memory inline, and holds its lock */
	BI__MARK_WRITTEN = 4, /* the memory is mapped for writing; changed under its lock */
	/* Other code may enqueue work on the home stream without calling the library. Set under the lock, never
	 * cleared: `pending` stays set. */
	BI__MARK_NAMED = 8
};

struct bi_memory {
	/* Identity. Between the making of the memory and its last release, only `refs` changes. */
	atomic_uint refs;
	unsigned flags; /* enum bi_wrap_flag */
	struct bi_context *context; /* retained, except by borrowed memory. NULL in pooled and retired memory, which the
				       context owns, and in pinned pieces (pinned_pieces.c) */
	const struct bi__backend *backend; /* backend of the block: that of the context, or the host backend */
	struct bi__block block;
	size_t nbytes; /* requested size; a pooled block may be larger */
	struct {
		bi_release_fn fn;
		void *data;
		/* Makes the producer's later work wait for the event. Returns 0 on success. May be NULL. */
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
					   stream is `producer`, and stays valid */

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
 * Marks the memory as exported. Called before its handle is given out, with no lock held. On success no inline copy of
 * the memory is under way, and none will start. If the memory is marked already, not mapped for writing and not copied
 * inline, the call only reads the marks, so threads that export one memory do not compete for its cache line.
 *
 * After these failures the memory is marked nevertheless:
 *
 *   - BI_EBUSY: the memory is mapped for writing; or `blocks` is 0, and a thread copies the bytes inline.
 *   - BI_ECAPTURE: the home stream is captured, and would have to wait for another stream.
 *   - The failure of the driver, if it refuses that wait, and blocking for the work fails too (19.2).
 *
 * After this failure the memory is not marked: BI_EBUSY, because `blocks` is 0, the memory is private, and another
 * thread has the lock or the home stream would have to wait.
 */
static inline int bi__memory_mark_exported(struct bi_memory *memory, int blocks, struct bi_error *err)
{
	unsigned marks = atomic_load_explicit(&memory->marks, memory_order_acquire);

	if ((marks & ~(unsigned)BI__MARK_NAMED) == BI__MARK_EXPORTED)
		return BI_OK;
	return bi__memory_mark_first_export(memory, blocks, err);
}

#endif
