/*
 * What a backend is: a const table of functions over places in memory.
 *
 * dispatch.c alone calls through the table. It has checked everything: pointers are not NULL, contexts belong to the
 * backend, plans are not empty and every byte that they reach lies inside the blocks. A backend only translates to its
 * driver. Optional operations that a backend lacks are NULL; there are no stubs that only fail.
 *
 * Threads: every function may be called by several threads at once. Calls that enqueue for one memory come under
 * that memory's lock, so wait, copy and record of one operation are not interleaved with another on the same memory.
 */
#ifndef BI_COMMON_BACKEND_BACKEND_H
#define BI_COMMON_BACKEND_BACKEND_H

#include <limits.h>
#include <stddef.h>

#include "common/plan/plan.h"
#include "common/base/status.h"

/* A piece of memory. Only its backend may interpret handle and cookie. */
struct bi__block {
	enum bi_handle_kind kind; /* BI_HANDLE_HOST: `host` is valid and any code may use it */
	enum bi_memory_kind memory; /* what it was allocated as */
	uintptr_t handle;
	size_t origin; /* bytes from the start of the handle to the first byte that is ours */
	size_t nbytes; /* bytes that are ours, origin not included */
	void *host; /* address of the first byte that is ours if the CPU can use it as it stands */
	void *near; /* the same for the library alone, where the memory is as near to the CPU as its own; or NULL */
	uintptr_t cookie; /* the backend's own */
	int alloc_pending; /* alloc was work on the context stream: the block is there for what comes behind it */
	int free_follows; /* free takes effect behind all work that may still use the block */
};

struct bi__device_state;

/* One side of a copy. The plan's offset counts from the first byte of `block` or from `host`. */
struct bi__place {
	const struct bi__block *block; /* device memory of the executing backend, or NULL */
	const struct bi__device_state *device; /* whose block it is; another than the executing one only if has_peers */
	const void *host; /* else an address; the memory lives until the work is done */
	int lent; /* whoever lends these bytes waits for the event that comes with the work, or for one behind it */
	size_t immediate; /* > 0: `host` points to so many bytes that must be read before the call returns */
};

/* How a handle and an offset say where an element is. */
enum bi__handle_form {
	BI__FORM_BASE, /* address of the allocation; offsets count from there */
	BI__FORM_ELEMENT, /* address; exports name that of the element, and no offset */
	BI__FORM_OBJECT /* no address; offsets count from the start of the object, and only the driver knows its size */
};

/* How memory of one kind is named to other programs, in the exchange structure and in DLPack. */
struct bi__exported {
	enum bi_exchange_device device; /* 0: there is no such memory */
	enum bi_handle_kind handle; /* BI_HANDLE_HOST where consumers use it as host memory */
	enum bi__handle_form form; /* of the block's own handle */
	int not_in_dlpack; /* 1: DLPack has no name for the handle */
};

/* What a backend keeps of an opened device. Embedded in struct bi__device, where it stays. */
struct bi__device_state {
	uintptr_t native; /* cl_context, CUcontext; equal natives can share events and memory */
	void *state; /* in the room, or a larger one that the backend allocates */
	_Alignas(max_align_t) unsigned char room[112];
};

/* What to open to reach something foreign. */
struct bi__origin {
	int ordinal; /* of the device; if there is a native context, among its devices */
	uintptr_t native; /* context to adopt, or 0: the backend's own of that device */
};

/* A stream as opened. Embedded in struct bi_stream. */
struct bi__queue {
	uintptr_t native; /* cl_command_queue, CUstream; 0 on the host */
	int out_of_order;
	int per_thread; /* names a different stream on each thread */
	enum bi_stream_kind kind; /* what `native` is to the consumers of an export; set when the stream is opened */
	void *state; /* the backend's */
};

struct bi__backend {
	const char *name;
	/*
	 * 1: work is done when a call returns. Streams are always complete, memory has no home stream, nothing is under
	 * way when the process is forked, and the group "order" is empty.
	 */
	int synchronous;
	/* 1: blocks are of kind BI_HANDLE_HOST, and any code may use their address, bi__block.host. */
	int cpu_addressable;
	/* What native handles of device memory are. */
	enum bi_handle_kind handle;
	/* By enum bi_memory_kind. BI_MEMORY_DEFAULT is memory of others that is of no particular kind. */
	struct bi__exported exported[BI_MEMORY_HOST + 1];
	/*
	 * 1: in exports device_id is the ordinal of the device, and the native context may be left out. 0: device_id is
	 * 0, and the native context says where the memory belongs.
	 */
	int named_by_ordinal;
	/* 1: streams of any two contexts may wait for each other, and copy moves dense bytes from another's block. */
	int has_peers;
	/*
	 * 1: the event of a copy between a block and host memory, on an in-order queue, is also one for all that is on
	 * the queue then, and costs less than `record`.
	 */
	int copy_marks;
	/* Bits 1 << enum bi_stream_kind: which streams of other programs stream_open wraps. */
	unsigned stream_kinds;
	/* 1: only an event tells that work failed, so an importer waits for the event beside the stream. */
	int fails_by_event;

	/* Devices. */

	/*
	 * Appends devices while there is room, counts all into *count; those that cannot be used with the reason.
	 * BI_ENODEVICE if there is none at all.
	 */
	int (*enumerate)(struct bi_device *devices, int capacity, int *count, struct bi_error *err);
	/*
	 * What enumerate last described under exactly that device string; it lives as long as the process and can be
	 * opened, or open says why not. NULL: nothing is known of such a device, enumerate is to be asked. Optional.
	 */
	const struct bi_device *(*recall)(const char *spec);
	/*
	 * Opens a device that enumerate described, or adopts options->adopt_context: then device->ordinal selects among
	 * its devices (-1: that of adopt_stream, else the first) and *adopted, which may be *device, is filled. Creates
	 * or adopts the context stream. Optional, together with close: there is nothing to open.
	 */
	int (*open)(const struct bi_options *options, const struct bi_device *device, struct bi_device *adopted,
		    struct bi__device_state *out, struct bi__queue *stream, struct bi_error *err);
	/*
	 * Makes the native context current on the calling thread, *entered = 1 if it was not; leave undoes that.
	 * Optional, where a thread has no such thing.
	 */
	int (*enter)(struct bi__device_state *device, int *entered, struct bi_error *err);
	void (*leave)(struct bi__device_state *device);
	/* Everything else of the context is gone. */
	void (*close)(struct bi__device_state *device, struct bi__queue *stream);

	/* Memory. */

	/* block->nbytes (> 0), block->origin and block->memory are set; allocates origin + nbytes, sets the kind. */
	int (*alloc)(struct bi__device_state *device, struct bi__block *block, struct bi_error *err);
	/*
	 * Retains or takes what a foreign handle names; block->nbytes (0: ask) is set. Sets kind, handle, nbytes, and
	 * origin if the foreign memory starts inside a larger one. Optional.
	 */
	int (*adopt)(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		     struct bi_error *err);
	/* Frees what alloc made, or gives back what adopt retained. Pending work may still use it. */
	void (*free)(struct bi__device_state *device, struct bi__block *block);

	/*
	 * Order. An event is the backend's own number for a counted point in a queue; 0 is one that is complete. A
	 * backend that is synchronous has none of these; any other has all but those that are called optional.
	 */

	/* queue->native is a handle to wrap, or 0: create one (out_of_order as set). */
	int (*stream_open)(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err);
	void (*stream_close)(struct bi__queue *queue);
	/*
	 * Later work on `waiter` waits for all that is now on `on`; with waiter == on: a barrier. Same native context,
	 * unless has_peers.
	 */
	int (*follow)(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err);
	/* An event for all that is now on the queue, flushed. */
	int (*record)(struct bi__queue *queue, uintptr_t *event, struct bi_error *err);
	/* Later work on the queue waits for the event. */
	int (*wait)(struct bi__queue *queue, uintptr_t event, struct bi_error *err);
	/* *done = is it complete; `block` makes the calling thread wait until it is. BI_EPRODUCER if it failed. */
	int (*poll)(uintptr_t event, int block, int *done, struct bi_error *err);
	/* The calling thread waits until the queue is empty. */
	int (*finish)(struct bi__queue *queue, struct bi_error *err);
	/* An event of the caller's as one of ours, counted once. BI_EINVAL for one of another native context. */
	int (*event_wrap)(struct bi__device_state *device, uintptr_t native, uintptr_t *event, struct bi_error *err);
	int (*event_retain)(uintptr_t event, struct bi_error *err);
	void (*event_release)(uintptr_t event);
	/* The native handle. Optional: the number is the handle. */
	uintptr_t (*event_handle)(uintptr_t event);
	/*
	 * *id = number of the graph capture that the queue takes part in, 0: none. Optional, where there is no such
	 * thing. BI_ECAPTURE if the queue must not be used at all while others are captured.
	 */
	int (*capture)(struct bi__queue *queue, uint64_t *id, struct bi_error *err);

	/* Move. */

	/*
	 * Enqueues a plan (never NOTHING). At least one side is a block unless cpu_addressable. If `event` is not NULL
	 * it receives an event with times, which bi__backend.elapsed reads. Between a block and host memory that is a
	 * LINEAR plan, or one that the device takes.
	 */
	int (*copy)(struct bi__device_state *device, struct bi__queue *queue, const struct bi__plan *plan,
		    const struct bi__place *dst, const struct bi__place *src, uintptr_t *event, struct bi_error *err);
	/*
	 * *takes = does copy move this plan, which is not LINEAR, between a block and host memory as it is, and would
	 * that be faster than packing? Optional: it takes all where the device has BI_CAP_NATIVE_COPY, else none.
	 */
	int (*takes)(struct bi__device_state *device, const struct bi__plan *plan, const struct bi__place *dst,
		     const struct bi__place *src, int *takes, struct bi_error *err);
	/* Nanoseconds that the work of a complete event took on the device, or -1. Optional. */
	int64_t (*elapsed)(uintptr_t event);
	/*
	 * Enqueues a mapping of [offset, offset + nbytes) of the block; *pointer is valid once the event is complete.
	 * Optional, together with unmap: then blocks with a host address are used as they are, others copied.
	 */
	int (*map)(struct bi__device_state *device, struct bi__queue *queue, const struct bi__block *block,
		   size_t offset, size_t nbytes, unsigned mode, void **pointer, uintptr_t *event, struct bi_error *err);
	int (*unmap)(struct bi__device_state *device, struct bi__queue *queue, const struct bi__block *block,
		     void *pointer, struct bi_error *err);
	/* Where a memory that is named by a handle of this backend's kind belongs; opens nothing. Optional. */
	int (*locate)(uintptr_t handle, struct bi__origin *out, struct bi_error *err);
	/* The same for a stream. Optional. */
	int (*locate_queue)(uintptr_t queue, struct bi__origin *out, struct bi_error *err);
	/* Drops caches that can be built again (programs). Optional. */
	void (*drop_caches)(struct bi__device_state *device);
	/* Programs built and taken from the cache so far. Optional. */
	void (*cache_state)(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded);
};

/* Returns 1 if the backend can wrap streams of that kind, enum bi_stream_kind or any other number. */
static inline int bi__wraps_stream_kind(const struct bi__backend *backend, uint32_t kind)
{
	return kind < sizeof(backend->stream_kinds) * CHAR_BIT && backend->stream_kinds >> kind & 1;
}

/* Returns 1 if a forked child may go on using contexts of the backend: no driver and no pending work is behind them. */
static inline int bi__survives_fork(const struct bi__backend *backend)
{
	return backend->synchronous;
}

/*
 * An opened device: all that a call to its backend needs. Embedded in struct bi_context, where it stays. Nothing of it
 * changes while it is open, except what the backend changes in `state`.
 */
struct bi__device {
	const struct bi__backend *backend;
	const struct bi_device *info; /* description; lives at least as long as the device is open */
	struct bi__device_state state;
	unsigned fork_generation; /* of the process that opened it (fork.h) */
};

#endif
