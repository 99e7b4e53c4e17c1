/*
 * Fences: points on a stream that can be waited for, on the device or by the calling thread. A fence holds a reference
 * to its context, so the owner of a fence calls bi__fence_clear at the end, under no lock: that may close the context.
 * A cleared fence is complete. In a forked child the functions that reach the driver return BI_EFORK.
 */
#ifndef BI_COMMON_RUNTIME_FENCE_H
#define BI_COMMON_RUNTIME_FENCE_H

#include "common/runtime/object.h"

#define BI__FENCE_NONE ((struct bi__fence){ NULL, 0 })

/* Makes a fence of an event of the context, and takes ownership of the event. Event 0 is complete. */
struct bi__fence bi__fence_of(struct bi_context *context, uintptr_t event);

/* Sets *out, after clearing it, to a point behind all work that is on the stream now. */
int bi__fence_record(struct bi_stream *stream, struct bi__fence *out, struct bi_error *err);

/* Sets *out to a native event of the caller. */
int bi__fence_wrap(struct bi_context *context, uintptr_t native, struct bi__fence *out, struct bi_error *err);

/* Sets *out to another reference to the same point. */
int bi__fence_share(const struct bi__fence *fence, struct bi__fence *out, struct bi_error *err);

/* Returns the native event, or 0. */
uintptr_t bi__fence_handle(const struct bi__fence *fence);

/* Releases the event and the context of a fence that has one. */
void bi__fence_release(struct bi__fence *fence);

static inline void bi__fence_clear(struct bi__fence *fence)
{
	if (fence->context)
		bi__fence_release(fence);
}

/* Later work on the stream waits for the fence. The context of the stream shares events with that of the fence. */
int bi__fence_wait(struct bi_stream *stream, const struct bi__fence *fence, struct bi_error *err);

/* Sets *done to 1 if the fence is complete. */
int bi__fence_query(const struct bi__fence *fence, int *done, struct bi_error *err);

/* Blocks the calling thread until the fence is complete, counted under `reason`. */
int bi__fence_block(const struct bi__fence *fence, enum bi__wait_reason reason, struct bi_error *err);

#endif
