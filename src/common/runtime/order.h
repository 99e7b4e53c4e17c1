/*
 * The order of work on memory: the rules of docs/ordering.md as functions.
 *
 * A step locks the memories that it works on (a copy one or two, uses up to BI__STEP_MEMORIES), checks them, makes its
 * stream wait for earlier work (begin), enqueues its own work, makes later work wait for that work (end), and unlocks.
 * bi_use_begin is a step that only begins, bi_use_end a step that only ends. Functions that end in _locked are called
 * with the lock of each memory held. Streams have no lock.
 */
#ifndef BI_COMMON_RUNTIME_ORDER_H
#define BI_COMMON_RUNTIME_ORDER_H

#include "common/runtime/step.h"

/* Sets the state of a memory on which no work is pending. */
void bi__order_init(struct bi__order *order);

/*
 * Sets the members `idle` and `on_home`, which other threads read without the lock. A step calls it last. Called with
 * the lock held, or while no other thread can use the memory.
 */
void bi__order_note_idle(struct bi_memory *memory);

/* Locks one or two memories in the order of their addresses. `b` may be NULL or equal to `a`. */
void bi__order_lock(struct bi_memory *a, struct bi_memory *b);
/* Unlocks the memories, then releases the references that the step no longer needs. The release may close a context. */
void bi__order_unlock(struct bi_memory *a, struct bi_memory *b);
/*
 * Marks the home stream as named to other code. From now on the memory counts as pending. With `blocks` 0, returns
 * BI_EBUSY and marks nothing if the mark is missing and another thread has the lock of the memory.
 */
int bi__order_name_home(struct bi_memory *memory, int blocks, struct bi_error *err);
/* The most memories that one step locks. */
#define BI__STEP_MEMORIES 32

/* Lock and unlock as the functions above do. `memories` has each memory once, in the order of the addresses. */
void bi__order_lock_all(struct bi_memory *const *memories, size_t count);
void bi__order_unlock_all(struct bi_memory *const *memories, size_t count);
/* Returns 1 and locks the memory, or returns 0 if its lock is held. */
int bi__order_try_lock(struct bi_memory *memory);

/* Returns 1 if streams of the backend can be captured into a graph. */
static inline int bi__order_can_be_captured(const struct bi_stream *stream)
{
	return stream->context->device.backend->order.capture != NULL;
}

/*
 * Checks the graph captures of a step on the stream, and notes in the memories whether the step is captured. `b` may be
 * NULL. Returns BI_ECAPTURE if the stream and the home streams do not all belong to the same capture or all to none, if
 * a captured step would use borrowed memory, or if it would have to wait for pending work outside of its capture. The
 * home stream of memory under row 26 is not checked. Other failures: BI_EFORK in a forked child, BI_EPRODUCER if such
 * work has failed, and those of the driver.
 */
int bi__order_check_capture_locked(struct bi_stream *stream, struct bi_memory *a, struct bi_memory *b,
				   struct bi_error *err);

/*
 * Returns BI_EPRODUCER if an event of the first use has failed, or if the last-use event has failed in a backend with
 * fails_by_event. Returns BI_EDRIVER if the memory is lost, BI_EFORK if a forked child would have to record the end of
 * work, and BI_ECAPTURE if a capture forbids to record it. After a success, the next calls in the step query nothing
 * until the step has added work.
 */
int bi__order_check_failed_locked(struct bi_memory *memory, struct bi_error *err);

/*
 * Returns BI_EBUSY if the memory is mapped for writing, or if it is mapped and `writes` is 1. The result holds as long
 * as the caller holds the lock. Without the lock it can change at any time.
 */
int bi__order_check_mapped(const struct bi_memory *memory, int writes, struct bi_error *err);

/*
 * Makes later work on `stream` wait for all work on the memory. Memory under row 26 is not waited for. Fails where
 * bi__order_check_failed_locked fails. Blocks the calling thread (`cross`) if the memory is host memory, and the stream
 * shares no events with the context of its last-use event or of an event of its first use.
 */
int bi__order_begin_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err);

/*
 * Returns 0 if the memory is idle, or if all its pending work is on `stream`, which is in-order. No use waits then. A
 * result of 1 means that a use may wait.
 */
int bi__order_waits_locked(const struct bi_memory *memory, struct bi_stream *stream);

/*
 * Does what bi__order_begin_locked does, for a use with this access (enum bi_access). Two reads of private memory do
 * not wait for each other (docs/ordering.md, row 38).
 */
int bi__order_begin_use_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err);

/* Does what bi__order_end_locked does, for a use with this access. */
int bi__order_end_use_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err);

/*
 * Checks both memories of a copy for mappings, captures and failed work. Then makes `stream` wait for all work on `to`,
 * and for all work on `from` (private memory: for the last write). `from` may be NULL. If the memories share a home
 * stream, `stream` waits for it once. After a failure nothing may be enqueued.
 */
int bi__order_begin_copy_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream,
				struct bi_error *err);

/*
 * Makes later work on the home stream of the memory wait for all work that is on `stream` now. Host memory gets a
 * last-use event instead, and private memory gets a point if it needs one (points.h). If the driver fails, the end
 * stays unrecorded: bi__order_catch_up_locked tries again later, and for a per-thread stream immediately.
 */
int bi__order_end_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err);

/*
 * Does what bi__order_end_locked does for both memories of a copy; `from` may be NULL. `end` is the event of the copy
 * if the driver made one, else a cleared fence. The function takes ownership of `end`, which becomes the last-use event
 * of host memory. If the memories share a home stream, that stream waits for `stream` once. The function handles both
 * memories even if the first fails, and returns the first failure.
 */
int bi__order_end_copy_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream,
			      struct bi__fence end, struct bi_error *err);

/*
 * Returns 1 if the end of work is unrecorded, and a capture forbids to record it: the stream of the work or the home
 * stream is captured, and the other stream would become a part of that capture.
 */
int bi__order_is_blocked(const struct bi_memory *memory);

/*
 * Records the end of work that could not be recorded when the work was enqueued. If the driver refuses again, blocks
 * the calling thread until the stream is empty (`failure`). If that fails too, the memory is lost. Does nothing in a
 * forked child, and while bi__order_is_blocked returns 1: then bi__order_check_failed_locked fails.
 */
void bi__order_catch_up_locked(struct bi_memory *memory);

/*
 * Does bi__order_catch_up_locked within a step. If there was work to record, the step forgets its waits and events: the
 * home stream may wait for more now, and an event may have been destroyed.
 */
void bi__order_catch_up_in_locked(struct bi__step *step, struct bi_memory *memory);

/*
 * Makes the home stream (host memory: the context stream) wait for the events of the first use, if there are any. Then
 * the memory is pending on that stream, and has no such events.
 */
int bi__order_wait_first_use_locked(struct bi_memory *memory, struct bi_error *err);

/*
 * Blocks the calling thread until all work that is on the memory now is complete. Then the memory is idle, unless other
 * work was added meanwhile or its home stream was named (docs/ordering.md, 11.5, 35.2). Calls no driver if the memory
 * is idle. No lock may be held.
 */
int bi__order_synchronize(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err);

/*
 * Blocks the calling thread until the work on borrowed memory is complete (`value`). Releases the references of the
 * memory, also on failure. After an error other than BI_EPRODUCER and BI_EFORK, work may still use the caller's bytes.
 */
int bi__order_finish_borrowed(struct bi_memory *memory, struct bi_error *err);

/* The slow part of the next function. */
void bi__order_note_end_locked(struct bi_memory *memory);

/* Makes private memory idle if its work is on the home stream alone, and bi_stream_synchronize has waited for it. */
static inline void bi__order_notice_end_locked(struct bi_memory *memory)
{
	if (!memory->idle && memory->order.pending &&
	    memory->order.home_use <= atomic_load_explicit(&memory->home->queue.completed, memory_order_acquire))
		bi__order_note_end_locked(memory);
}

/*
 * Called without the lock when all work up to `epoch` is complete. The memory becomes idle if its epoch is still the
 * same, except after 11.5 and 35.2. Work that failed counts as complete, so that its failure is reported once.
 */
void bi__order_note_completion(struct bi_memory *memory, uint64_t epoch, bool has_failed);

/*
 * Returns the context of the last-use event of host memory, or NULL if there is no event. If that context has the same
 * native context as `context`, moves the event to `context` first. The result is borrowed from the event.
 */
struct bi_context *bi__order_move_last_use(struct bi_memory *memory, struct bi_context *context);

/* Removes and returns the last-use event of host memory. The caller owns the event. No lock is taken. */
struct bi__fence bi__order_take_last_use(struct bi_memory *memory);

/*
 * Counts down context->host_uses for host memory that is not borrowed. Called when a last-use event of `context` is
 * complete, replaced or moved to another context, and when an end is no longer unrecorded. While the count is above 0,
 * borrowed bytes are not copied inline: they may be bytes of a host memory with pending work (docs/ordering.md, row
 * 36).
 */
void bi__order_end_host_use(const struct bi_memory *memory, struct bi_context *context);

/* Releases the events of a first use that did not take place. No lock may be held. */
void bi__order_release_first_use(struct bi_memory *memory);

#endif
