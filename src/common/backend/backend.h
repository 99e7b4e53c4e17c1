/*
 * A backend is a const table of functions that allocate memory, move bytes and run kernels through one driver. This
 * header defines the table and the small structs that its functions take. Beside it, a backend may use plans (plan.h),
 * kernels of the caller (kernel.h), scopes (scope.h), the copy engine (engine.h), and the headers of src/kernels and
 * src/common/base.
 *
 * Only dispatch.c calls through the table. The callers of dispatch.c have checked that pointers are not NULL, that
 * devices belong to the backend, that plans are not empty, and that every byte that a plan reaches is inside the
 * blocks. So a backend only translates to its driver. An optional operation that a backend lacks is NULL. A table never
 * has a function that can only fail.
 *
 * Threads: several threads may call any function at the same time. Calls that enqueue work for a memory that several
 * threads can use are made under the lock of that memory. So the wait, copy and record of one operation are not
 * interleaved with those of another operation on the same memory.
 */
#ifndef BI_COMMON_BACKEND_BACKEND_H
#define BI_COMMON_BACKEND_BACKEND_H

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

#include "common/base/status.h"
#include "common/plan/plan.h"

/* A block is a piece of memory. Only its backend may interpret handle and cookie. */
struct bi__block {
	enum bi_handle_kind kind; /* BI_HANDLE_HOST: `host` is valid and any code may use it */
	enum bi_memory_kind memory; /* the requested kind; for foreign memory DEFAULT, or the kind that `adopt` found */
	uintptr_t handle;
	size_t origin; /* bytes from the start of the handle to the first byte of the block */
	size_t nbytes; /* without origin */
	void *host; /* address of the first byte if any code may use it, else NULL */
	void *private_host; /* NULL, or address of the first byte for the library's own access. Code outside of the
			       backend uses it only while no work is pending */
	uintptr_t cookie; /* free for use by the backend */
	int alloc_pending; /* 1: `alloc` and `free` are work on the context stream; other streams must wait for it */
	int free_follows; /* 1: `free` takes effect after all work that may still use the block */
};

/* How a handle and an offset name an element. */
enum bi__handle_form {
	BI__FORM_BASE, /* the handle is the address of the allocation; offsets count from this address */
	BI__FORM_ELEMENT, /* the handle is an address; exports have the address of the element, and offset 0 */
	BI__FORM_OBJECT /* the handle is an object, not an address; offsets count from the start of the object */
};

/* How memory of one kind is named to other programs, in the exchange structure and in DLPack. */
struct bi__exported {
	enum bi_exchange_device device; /* 0: there is no such memory */
	enum bi_handle_kind handle; /* BI_HANDLE_HOST if consumers use it as host memory */
	enum bi__handle_form form; /* form of the block's handle */
	int not_in_dlpack; /* 1: DLPack has no name for the handle */
};

struct bi__device_state;
struct bi__source;
struct bi__kernel;
struct bi__kernel_launch;

/* A place is one side of a copy. The offset of the plan counts from the first byte of `block`, or from `host`. */
struct bi__place {
	const struct bi__block *block; /* device memory of the executing backend, or NULL */
	const struct bi__device_state *device; /* device of `block`: the executing device, with has_peers any device */
	const void *host; /* address of host memory if `block` is NULL; valid until the work is done */
	int borrowed; /* 1: the calling thread will wait for the event of this work, or for a later one */
	size_t immediate; /* > 0: `host` has this many bytes, which must be read before the call returns */
};

/* A move is a copy or a fill: the elements of the plan go from src to dst. */
struct bi__move {
	const struct bi__plan *plan; /* never of kind NOTHING */
	struct bi__place dst, src;
	int is_timed; /* the event that `copy` gives must have a duration */
};

/* The bytes [offset, offset + nbytes) of a block, to be mapped. */
struct bi__range {
	const struct bi__block *block;
	size_t offset, nbytes;
	unsigned mode; /* bits of enum bi_map_mode */
};

/* The part of an opened device that belongs to the backend. Embedded in struct bi__device; its address is stable. */
struct bi__device_state {
	uintptr_t device; /* cl_device_id, CUdevice */
	uintptr_t native; /* cl_context, CUcontext */
	/*
	 * Number of the native context. A destroyed context that had the same `native` has another number. 0: the
	 * driver has no such numbers.
	 */
	uint64_t context_id;
	int device_id; /* in exports: the ordinal of a CUDA device, the position in CL_CONTEXT_DEVICES */
	void *state; /* memory that the backend allocates, or NULL */
};

/* Returns 1 if both devices are of one native context: they can share events and memory. */
static inline int bi__is_same_native(const struct bi__device_state *a, const struct bi__device_state *b)
{
	return a->native == b->native && a->context_id == b->context_id;
}

/* The device that has to be opened to reach a foreign memory or queue. */
struct bi__origin {
	int ordinal; /* position of the device; if `native` is not 0, among the devices of that context */
	uintptr_t native; /* context to adopt, or 0: the backend opens the device itself */
};

/* A queue is the driver's side of a stream. Embedded in struct bi_stream. */
struct bi__queue {
	uintptr_t native; /* cl_command_queue, CUstream; 0 on the host */
	int out_of_order;
	int per_thread; /* the handle names a different stream on each thread */
	enum bi_order_kind kind; /* how `native` is named to other programs; set when the stream is opened */
	void *state; /* free for use by the backend */
	/* Number of calls that may have enqueued work, counted when they return. A synchronous backend counts none. */
	atomic_ullong enqueued;
	atomic_ullong completed; /* of these, the number that bi_stream_synchronize has waited for */
};

/*
 * The table. Its first members are properties of the backend; the functions follow in five groups. A synchronous
 * backend leaves out the group `order`.
 */
struct bi__backend {
	const char *name; /* the first word of a device string */
	/*
	 * 1: work is done when a call returns. Streams are always complete, and memory has no home stream. A forked
	 * child may still use contexts of the backend, because they have no pending work.
	 */
	int synchronous;
	/* 1: blocks are of kind BI_HANDLE_HOST, and any code may use the address bi__block.host. */
	int cpu_addressable;
	/* The count of numbers in the string of a device: 2 in "opencl:0:1". */
	int numbers;
	/* The kind of the native handles of ordinary device memory. */
	enum bi_handle_kind handle;
	/* Indexed by enum bi_memory_kind. BI_MEMORY_DEFAULT is foreign memory of no particular kind. */
	struct bi__exported exported[BI_MEMORY_HOST + 1];
	/*
	 * 1: in exports device_id is the ordinal of the device, and the native context may be left out. 0: the native
	 * context names the device. device_id is then the position of the device in that context, and 0 in DLPack.
	 */
	int named_by_ordinal;
	/*
	 * 1: streams of any two contexts of the backend may wait for each other, and copy moves dense bytes between
	 * their blocks.
	 */
	int has_peers;
	/* Bits 1 << enum bi_order_kind: the kinds of foreign streams that stream_open wraps. */
	unsigned stream_kinds;
	/*
	 * 1: only events report that work failed, so an importer waits for the event in addition to the stream. The
	 * work before a failed event may still run: `drain` waits for its end.
	 */
	int fails_by_event;
	/*
	 * 1: a wait for a stream has no other effect than to wait for what was enqueued on it. On CUDA a wait for a
	 * blocking stream is also a wait for the legacy default stream, and lets the driver's pool return memory.
	 */
	int streams_stand_alone;
	/* The vendor's code for an allocation above the largest size that the device allows, or 0. */
	int above_limit;

	struct {
		/*
		 * Writes up to `capacity` entries, and the number of all entries into *count. An entry is a usable
		 * device, or the reason why a device or a whole platform cannot be used. The unusable devices of a
		 * platform that has a usable one may be left out. Returns BI_ENODEVICE if there is no entry.
		 */
		int (*enumerate)(struct bi_device *devices, int capacity, int *count, struct bi_error *err);
		/*
		 * Opens a device that `enumerate` described, and creates the queue of the context stream. If
		 * options->adopt_context is not 0, adopts that context instead, and options->adopt_stream if that is
		 * not 0. Then device->ordinal selects one of the context's devices (-1: the device of the stream;
		 * without a stream the first), and *adopted, which may be *device, receives the description. Optional,
		 * together with `close`: a backend that lacks them has nothing to open.
		 */
		int (*open)(const struct bi_options *options, const struct bi_device *device, struct bi_device *adopted,
			    struct bi__device_state *out, struct bi__queue *stream, struct bi_error *err);
		/*
		 * Makes the native context current on the calling thread. Sets *pushed to 1 if the context was not
		 * current before; `end` then makes the former context current again. Between the two, `alloc`,
		 * `follow`, `record`, `wait`, `poll`, `finish`, `capture`, `copy`, `takes`, `build`, `get` and
		 * `enqueue` are called; other functions are called anywhere. If code of the caller has run since
		 * `begin` (bi_context_pop_current), `leave` is called instead of `end`. `leave` does nothing if the
		 * context is not current. Optional, all three together.
		 */
		int (*begin)(const struct bi__device_state *device, int *pushed, struct bi_error *err);
		void (*end)(const struct bi__device_state *device);
		void (*leave)(const struct bi__device_state *device);
		/*
		 * Closes the device. Called after the end of all its memory and streams. Events that were made by this
		 * device may still be in use by other devices of its native context.
		 */
		void (*close)(struct bi__device_state *device, struct bi__queue *stream);
		/*
		 * Finds the device of a memory that is named by a handle of this backend's kind. May open the driver,
		 * but no device. Optional.
		 */
		int (*locate)(uintptr_t handle, struct bi__origin *out, struct bi_error *err);
		/* Does the same for a native queue. Optional. */
		int (*locate_queue)(uintptr_t queue, struct bi__origin *out, struct bi_error *err);
		/* Returns a function of the driver library by its name, or NULL. Optional. */
		bi_function *(*symbol)(const char *name);
		/*
		 * Drops caches: programs that can be built again, objects that are kept for reuse, unused memory that
		 * the driver keeps. Optional.
		 */
		void (*drop_caches)(struct bi__device_state *device);
		/* Returns 1 if other code has destroyed the native context, so that no work is left. NULL: always 0. */
		int (*is_lost)(const struct bi__device_state *device);
		/* Writes how many programs were built, and how many were loaded from the cache. Optional. */
		void (*cache_state)(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded);
	} devices;

	struct {
		/*
		 * Allocates block->origin + block->nbytes bytes; this sum and an alignment do not overflow. The caller
		 * has set `memory`, a kind that the device has, `origin` and `nbytes`, which is > 0, and cleared the
		 * rest. Sets `kind` and `handle`, and where they apply `host`, `private_host`, `cookie`,
		 * `alloc_pending` and `free_follows`.
		 */
		int (*alloc)(struct bi__device_state *device, struct bi__block *block, struct bi_error *err);
		/*
		 * Wraps a foreign handle. If the driver counts references, retains the handle, or takes ownership of
		 * the reference of the caller if foreign->flags say so. The caller has set block->nbytes (0: not
		 * known), and cleared the rest. Sets `kind` and `handle`, `nbytes` if it is 0 and the driver knows the
		 * size, `origin` if the foreign memory is part of a larger allocation, and where they apply `memory`,
		 * `host` and `cookie`. Optional.
		 */
		int (*adopt)(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
			     struct bi_error *err);
		/*
		 * Frees a block that `alloc` made, or releases the handle of a block that `adopt` made. Work may be
		 * pending on the block.
		 */
		void (*free)(struct bi__device_state *device, struct bi__block *block);
	} memory;

	/*
	 * An event is a number that stands for a reference to a point on a queue. Event 0 is complete, and no function
	 * gets it. Only the backend interprets other numbers. An event belongs to the native context: it stays valid as
	 * long as a device with that context is open. A synchronous backend has none of these functions. Any other
	 * backend has all of them, except for the optional ones.
	 */
	struct {
		/* Wraps queue->native. If it is 0, creates a queue, with the order that queue->out_of_order says. */
		int (*stream_open)(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err);
		/* Ends the use of the queue. Returns how often the calling thread was blocked. */
		int (*stream_close)(struct bi__queue *queue);
		/*
		 * Makes later work on `waiter` wait for all work that is on `on` now. With waiter == on this is a
		 * barrier. Both queues belong to one native context, or the backend has has_peers.
		 */
		int (*follow)(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err);
		/* Makes an event for all work that is on the queue now, and flushes the queue. */
		int (*record)(struct bi__queue *queue, uintptr_t *event, struct bi_error *err);
		/* Makes later work on the queue wait for the event. */
		int (*wait)(struct bi__queue *queue, uintptr_t event, struct bi_error *err);
		/*
		 * Sets *done to 1 if the event is complete, else to 0. If `block` is not 0, first blocks the calling
		 * thread until the event is complete. Returns BI_EPRODUCER if the work before the event failed.
		 */
		int (*poll)(uintptr_t event, int block, int *done, struct bi_error *err);
		/*
		 * Blocks the calling thread until the queue of an event is empty. Returns 0 if the event has no queue,
		 * else 1. Needed with fails_by_event.
		 */
		int (*drain)(uintptr_t event);
		/* Blocks the calling thread until the queue is empty. */
		int (*finish)(struct bi__queue *queue, struct bi_error *err);
		/*
		 * Makes an event from a native event of the caller. A native event that the driver counts is retained
		 * once; any other must outlive the new event. Returns BI_EINVAL if the driver can tell that the native
		 * event belongs to another native context.
		 */
		int (*event_wrap)(struct bi__device_state *device, uintptr_t native, uintptr_t *event,
				  struct bi_error *err);
		int (*event_retain)(uintptr_t event, struct bi_error *err);
		void (*event_release)(uintptr_t event);
		/* Returns the native handle. Optional: in a backend without it, the event itself is the handle. */
		uintptr_t (*event_handle)(uintptr_t event);
		/*
		 * Sets *id to the number of the graph capture that the queue takes part in, or to 0 if it takes part in
		 * none. Returns BI_ECAPTURE if its capture is invalid, or if another queue is being captured and the
		 * driver forbids any use of this queue meanwhile. Optional: a backend without it has no captures.
		 */
		int (*capture)(struct bi__queue *queue, uint64_t *id, struct bi_error *err);
	} order;

	struct {
		/*
		 * Enqueues a move. At least one side is a block, except in a backend with cpu_addressable. A copy
		 * between a block and host memory has a LINEAR plan, or one that `takes` accepts, or the device has
		 * BI_CAP_NATIVE_COPY. If `event` is not NULL, it receives an event. A synchronous backend leaves it 0,
		 * and others may do so if move->is_timed is 0 and an event would cost as much as `record`. On an
		 * in-order queue, the event of a fill, or of a move between a block and host memory, is complete when
		 * all work up to the move is complete.
		 */
		int (*copy)(struct bi__device_state *device, struct bi__queue *queue, const struct bi__move *move,
			    uintptr_t *event, struct bi_error *err);
		/*
		 * Sets *takes to 1 if `copy` moves this plan, which is not LINEAR, directly between a block and host
		 * memory, and does so faster than a packing step and a dense copy. Not called for devices with
		 * BI_CAP_NATIVE_COPY, which take all plans. Optional: in a backend without it, other devices take none.
		 */
		int (*takes)(const struct bi__move *move, int *takes, struct bi_error *err);
		/* Returns the nanoseconds that the work of a complete event took on the device, or -1. Optional. */
		int64_t (*elapsed)(uintptr_t event);
		/*
		 * Enqueues a mapping; *pointer is valid once the event is complete. Optional, together with `unmap`. If
		 * a backend lacks them, bi_view_map uses the address of a block, or copies a block without address.
		 */
		int (*map)(struct bi__queue *queue, const struct bi__range *range, void **pointer, uintptr_t *event,
			   struct bi_error *err);
		/* Enqueues the end of a mapping. After a failure the mapping is as before: a later call may succeed. */
		int (*unmap)(struct bi__queue *queue, const struct bi__block *block, void *pointer,
			     struct bi_error *err);
	} move;

	/* Kernels of the caller (kernel.h). A backend has all of these functions or none; only `put` is optional. */
	struct {
		/* Makes a program of the source. *program is a handle of the backend. */
		int (*build)(struct bi__device_state *device, struct bi__source *source, uintptr_t *program,
			     struct bi_error *err);
		/* Releases a program. `put` was called for all its kernels. Work with them may be pending. */
		void (*unload)(struct bi__device_state *device, uintptr_t program);
		/* Finds a kernel, and describes it in *out, which is cleared. BI_EINVAL: there is none of this name. */
		int (*get)(struct bi__device_state *device, uintptr_t program, const char *name, struct bi__kernel *out,
			   struct bi_error *err);
		/* Releases kernel->state, also if `get` set it and then failed. NULL: there is nothing to release. */
		void (*put)(struct bi__kernel *kernel);
		/* Enqueues a launch. The values are copied before the function returns. */
		int (*enqueue)(struct bi__queue *queue, const struct bi__kernel_launch *launch, struct bi_error *err);
	} launch;
};

/*
 * A backend may list its functions once, as X(member of the table, function). These macros make of the list the
 * declarations of the functions, and their entries in the table.
 */
#define BI__OPERATION(member, function) __typeof__(*((const struct bi__backend *)0)->member) function;
#define BI__OPERATION_ENTRY(member, function) .member = function,

/* Returns 1 if the backend wraps streams of `kind`, which may be any number. */
static inline int bi__wraps_stream_kind(const struct bi__backend *backend, uint32_t kind)
{
	return kind < sizeof(backend->stream_kinds) * CHAR_BIT && backend->stream_kinds >> kind & 1;
}

/*
 * An opened device: all that a call to its backend needs. Embedded in struct bi_context; its address is stable. While
 * the device is open, only the member `state` changes, and only its backend changes it.
 */
struct bi__device {
	const struct bi__backend *backend;
	const struct bi_device *info; /* description; valid at least as long as the device is open */
	struct bi__device_state state;
	unsigned fork_generation; /* bi__fork_generation of the process that opened the device */
};

#endif
