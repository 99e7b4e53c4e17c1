/*
 * The order of work on memory: the rules of docs/ordering.md as functions.
 *
 * A step locks the one or two memories that it works on, checks them, makes its stream wait for earlier work (begin),
 * enqueues its own work, makes later work wait for that (end), and unlocks. Functions that end in _locked are called
 * with the lock of each memory held. Streams have no lock.
 */
#ifndef BI_COMMON_RUNTIME_ORDER_H
#define BI_COMMON_RUNTIME_ORDER_H

#include "common/runtime/object.h"

/* Sets the state of a memory on which no work is pending. */
void bi__order_init(struct bi__order *order);

/*
 * Notes whether the memory is idle, for those who ask without the lock. The last act of a step. Called with the lock
 * held, or when nobody else knows the memory.
 */
void bi__order_note_idle(struct bi_memory *memory);

/* Locks one or two memories (b may be NULL or a) in the order of their addresses. */
void bi__order_lock(struct bi_memory *a, struct bi_memory *b);
/* Unlocks them, and then releases the references that the step no longer needs, which may close a context. */
void bi__order_unlock(struct bi_memory *a, struct bi_memory *b);
/* Locks one memory and returns 1, or returns 0 if another thread has its lock. */
int bi__order_try_lock(struct bi_memory *memory);

/*
 * The first check of a step that uses the stream. Returns BI_ECAPTURE unless the stream and the home streams all belong
 * to one graph capture, or none of them to any, or if the step would wait for work outside its capture. `b` may be
 * NULL.
 */
int bi__order_check_capture_locked(struct bi_stream *stream, struct bi_memory *a, struct bi_memory *b,
				   struct bi_error *err);

/*
 * Returns BI_EPRODUCER if work has failed that the next use would wait for. The driver is queried once in a step, until
 * the step adds work of its own.
 */
int bi__order_check_failed_locked(struct bi_memory *memory, struct bi_error *err);

/*
 * Returns BI_EBUSY if the memory is mapped for writing, or mapped at all and `writes`. The answer holds as long as the
 * lock is held; without the lock it can change at any time.
 */
int bi__order_check_mapped(const struct bi_memory *memory, int writes, struct bi_error *err);

/*
 * Makes work that is enqueued on `stream` next wait for all work on the memory. Returns BI_EPRODUCER if that has
 * failed. Blocks the calling thread (`cross`) if the memory is host memory and the stream shares no events with the
 * device that works on it.
 */
int bi__order_begin_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err);

/*
 * The same for both memories of a copy; `from` may be NULL. A home stream that they share is waited for once. After a
 * failure nothing may be enqueued.
 */
int bi__order_begin_copy_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream,
				struct bi_error *err);

/*
 * Makes work that is enqueued on the memory's home stream next wait for all work that is on `stream` now. Host memory
 * gets a last-use event instead. If the driver fails, bi__order_catch_up_locked tries again later.
 */
int bi__order_end_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err);

/*
 * The same for both memories of a copy; `from` may be NULL. `end` is an event behind the work, if the driver made one
 * with it: it becomes the last-use event of host memory, and its ownership is transferred then. A home stream that they
 * share waits once. Both are ended whatever happens; the first failure is returned.
 */
int bi__order_end_copy_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream,
			      struct bi__fence *end, struct bi_error *err);

/*
 * Records the end of work that could not be recorded when it was enqueued. If the driver refuses again, the calling
 * thread waits for the stream (`failure`); if that fails too, the memory is lost.
 */
void bi__order_catch_up_locked(struct bi_memory *memory);

/*
 * Makes the home stream (host memory: the context stream) wait for the events of the first use now, so that they become
 * work on the memory like any other.
 */
int bi__order_wait_first_use_locked(struct bi_memory *memory, struct bi_error *err);

/*
 * Returns 1 if the stream orders the next use by itself: all pending work is on that very in-order stream, and nothing
 * has to be refused, reported or recorded late. Then the checks and bi__order_begin_locked would do nothing.
 */
static inline int bi__order_is_kept_locked(const struct bi_memory *memory, const struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;

	return !memory->mappings.readers && !memory->mappings.writers && !order->last_use.context &&
	       !order->first_use.count && !order->unrecorded && !order->lost &&
	       (!order->pending || (memory->home == stream && !stream->queue.out_of_order));
}

/* Blocks the calling thread until no work is pending on the memory. Calls no driver if it is idle. */
int bi__order_synchronize(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err);

/*
 * Blocks the calling thread until the work on borrowed memory is complete, and releases its references, whatever is
 * returned. After an error other than BI_EPRODUCER work may still use the caller's bytes.
 */
int bi__order_finish_borrowed(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err);

/* The calling thread has seen the end of the work of that epoch: the memory is idle if none was added since. */
void bi__order_note_completion(struct bi_memory *memory, uint64_t epoch);

/*
 * Returns the context whose work on host memory is pending, or NULL. If `context` can share events with it, the
 * last-use event belongs to `context` from then on, and `context` is returned.
 */
struct bi_context *bi__order_move_last_use(struct bi_memory *memory, struct bi_context *context);

/* Takes the last-use event of host memory that nobody else knows any more. The caller owns it. */
struct bi__fence bi__order_take_last_use(struct bi_memory *memory);

/*
 * Says that a last-use event of that context is known to be complete, or replaced. As long as a host memory has one,
 * bytes that a caller lends are not copied inline: they may be those of the host memory (docs/ordering.md, row 36).
 */
void bi__order_end_host_use(const struct bi_memory *memory, struct bi_context *context);

/* Releases the events of a first use that did not take place. No lock may be held. */
void bi__order_release_first_use(struct bi_memory *memory);

#endif
