/*
 * Who waits for whom: docs/ordering.md as functions. Those with "locked" in their comment are called with the memory's
 * lock held, because wait, enqueue and record form one step.
 */
#ifndef BI_COMMON_RUNTIME_ORDER_H
#define BI_COMMON_RUNTIME_ORDER_H

#include "common/runtime/object.h"

/* Locks one or two memories (b may be NULL or a) in address order. */
void bi__order_lock(struct bi_memory *a, struct bi_memory *b);
void bi__order_unlock(struct bi_memory *a, struct bi_memory *b);
/* Locks one memory unless another thread has its lock: 1, or 0. */
int bi__order_try_lock(struct bi_memory *memory);

/*
 * Locked; first of all in a step that uses the stream. Streams that work together belong to the same graph capture, or
 * all of them to none, and nothing outside of a capture is waited for in it: else BI_ECAPTURE. `b` may be NULL.
 */
int bi__order_check_capture_locked(struct bi_stream *stream, struct bi_memory *a, struct bi_memory *b,
				   struct bi_error *err);

/*
 * Locked. BI_EPRODUCER if an event has failed that the next use would wait for. The driver is asked once in a step,
 * until the step adds work of its own.
 */
int bi__order_check_failed_locked(struct bi_memory *memory, struct bi_error *err);

/*
 * Locked. Work that is enqueued on `stream` next comes after all work on the memory. BI_EPRODUCER if that has failed.
 * Host memory with device work that the stream cannot wait for on the device is waited for here: the host wait of
 * "two backends".
 */
int bi__order_begin_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err);

/*
 * Locked. An end that could not be recorded is recorded now; where the driver still refuses it is waited for (host
 * wait), and where that fails too the memory is lost: nobody gets its bytes again.
 */
void bi__order_catch_up_locked(struct bi_memory *memory);

/*
 * Locked. The events of the first use are waited for now, on the home (host memory: on the context stream), so that
 * they are work on the memory like any other.
 */
int bi__order_wait_first_use_locked(struct bi_memory *memory, struct bi_error *err);

/*
 * Work of the context on host memory has ended. Called for a last-use event that was taken from the memory; as long as
 * there is one that was not seen complete, bytes that a caller lends are not copied inline, because they may be those
 * of the host memory (docs/ordering.md, row 36).
 */
void bi__order_end_host_use(const struct bi_memory *memory, struct bi_context *context);

/*
 * Locked. Is all that was enqueued on the memory on that very stream, which keeps its order by itself, and nothing to
 * be refused, reported or made up for? Then none of the functions here that come before work would do anything.
 */
static inline int bi__order_is_kept_locked(const struct bi_memory *memory, const struct bi_stream *stream)
{
	return !memory->readers && !memory->writers && !memory->tail.context && !memory->first_use_count &&
	       !memory->unrecorded && !memory->lost &&
	       (!memory->pending || (memory->home == stream && !stream->queue.out_of_order));
}

/*
 * Returns BI_EBUSY if the memory is mapped for writing, or mapped at all and `writes`. The answer holds as long as the
 * lock is held; without the lock it can change at any time.
 */
int bi__order_check_mapped(const struct bi_memory *memory, int writes, struct bi_error *err);

/*
 * Locked. Whatever is enqueued next on the memory's home comes after what is on `stream` now. If the driver fails, that
 * is made up for by whatever needs it next.
 */
int bi__order_end_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err);

/*
 * The same where `end` (may be NULL) is an event behind the work, if the driver made one with it. It becomes the
 * last-use event of host memory, and its ownership is transferred then.
 */
int bi__order_end_at_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi__fence *end,
			    struct bi_error *err);

/*
 * The context whose work on host memory is to be waited for, or NULL. Where that shares events with `keeper` it is
 * `keeper` from now on, which can ask for them as well.
 */
struct bi_context *bi__order_keep_last_use(struct bi_memory *memory, struct bi_context *keeper);

/* Host wait until nothing is pending on the memory. Asks the driver nothing if nothing is. */
int bi__order_synchronize(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err);

/*
 * Host wait for the work on lent bytes (bi__memory_borrow), which are the caller's again afterwards: they refer to
 * nothing any more, whatever is returned. On an error other than BI_EPRODUCER work may still use them.
 */
int bi__order_finish_borrowed(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err);

/* The calling thread has seen the end of the work that made the epoch: nothing is pending if none came after it. */
void bi__order_note_completion(struct bi_memory *memory, uint64_t epoch);

#endif
