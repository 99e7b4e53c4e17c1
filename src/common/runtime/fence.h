/*
 * Fences: points on a stream that a stream or the calling thread can wait for. A fence owns a reference to its event
 * and to its context, unless it was made of a borrowed event and context for the duration of a call. The owner of a
 * fence calls bi__fence_clear at the end, without a lock, because the call may close the context. A cleared fence is
 * complete. In a forked child, calls that need the driver return BI_EFORK.
 */
#ifndef BI_COMMON_RUNTIME_FENCE_H
#define BI_COMMON_RUNTIME_FENCE_H

#include "common/runtime/object.h"

#define BI__FENCE_NONE ((struct bi__fence){ NULL, 0 })

/* Returns a fence with the event, which belongs to the context. Takes ownership of the event. Event 0 is complete. */
struct bi__fence bi__fence_of(struct bi_context *context, uintptr_t event);

/* Clears *out and sets it to the point after all work that is on the stream now. *out is not changed on failure. */
int bi__fence_record(struct bi_stream *stream, struct bi__fence *out, struct bi_error *err);

/* Sets *out to another reference to the point of `fence`. Does not change *out if `fence` is cleared. */
int bi__fence_share(const struct bi__fence *fence, struct bi__fence *out, struct bi_error *err);

/* Returns the native event, or 0. */
uintptr_t bi__fence_handle(const struct bi__fence *fence);

/* Releases the event and the context of a fence that has a context. */
void bi__fence_release(struct bi__fence *fence);

static inline void bi__fence_clear(struct bi__fence *fence)
{
	if (fence->context)
		bi__fence_release(fence);
}

/*
 * Makes later work on the stream wait for the fence, which is cleared or has a context that shares events with the
 * stream.
 */
int bi__fence_wait(struct bi_stream *stream, const struct bi__fence *fence, struct bi_error *err);

/* Sets *done to 1 if the fence is complete, else to 0. Returns BI_EPRODUCER if its work failed. */
int bi__fence_query(const struct bi__fence *fence, int *done, struct bi_error *err);

/*
 * Returns BI_ECAPTURE if the fence is not complete, because a graph that is being captured cannot wait for it. `what`
 * names the work in the message.
 */
int bi__fence_check_outside(const struct bi__fence *fence, const char *what, struct bi_error *err);

/* Blocks the calling thread until the fence is complete. Counts the wait, if there was one, under `reason`. */
int bi__fence_block(const struct bi__fence *fence, enum bi__wait_reason reason, struct bi_error *err);

/*
 * Does what bi__fence_block does. If the work has failed and work before it may still run (fails_by_event), also waits
 * until the queue of the event is empty, and counts that wait.
 */
int bi__fence_finish(const struct bi__fence *fence, enum bi__wait_reason reason, struct bi_error *err);

/* Blocks the calling thread until all work that is on the stream now is complete. */
int bi__fence_await(struct bi_stream *stream, enum bi__wait_reason reason, struct bi_error *err);

#endif
