/* The order of work in exports and imports: the stream and the event that are exchanged with the array. */
#ifndef BI_COMMON_VIEW_EXPORT_H
#define BI_COMMON_VIEW_EXPORT_H

#include "common/runtime/stream.h"

/* The slow part of bi__export_home. *home is NULL before. */
int bi__export_find_home(struct bi_memory *memory, uint32_t wishes, struct bi_stream **home, struct bi_error *err);

/*
 * Prepares an export of the memory. Sets *home to the home stream, borrowed, if work is pending, otherwise to NULL.
 * With the wish BI_ACQUIRE_READY, sets *home to NULL and blocks the calling thread until pending work is complete
 * (`export`). Exports of host memory need this wish, because host memory has no home stream. With `blocks` 0, returns
 * BI_EBUSY instead of waiting, calling the driver or taking a lock.
 */
static inline int bi__export_home(struct bi_memory *memory, uint32_t wishes, int blocks, struct bi_stream **home,
				  struct bi_error *err)
{
	int rc = bi__dispatch_check_reach(memory->backend, &memory->context->device, err);

	*home = NULL;
	if (rc || memory->idle)
		return rc;
	if (memory->on_home && !(wishes & BI_ACQUIRE_READY)) {
		*home = memory->home;
		bi__stream_share(*home);
		return BI_OK;
	}
	if (blocks)
		return bi__export_find_home(memory, wishes, home, err);
	return bi__fail(err, BI_EBUSY, "work on the memory is pending and has to be waited for");
}

/*
 * Makes later work on the memory wait for a consumer's work: for `event`, or if that is 0, for all that is on `stream`
 * now. Keeps no reference to either. After a failure it is not certain that the memory waits for the consumer, so the
 * consumer waits itself.
 */
int bi__exchange_done(struct bi_memory *memory, const struct bi_exchange *self, uint32_t kind, uint64_t stream,
		      uint64_t event);

/* The wrapped stream and event of a producer or a consumer, owned. Each may be NULL. */
struct bi__acceptance {
	struct bi_stream *stream;
	struct bi_event *event;
};

/*
 * Wraps the stream and the event that a producer exported, or that a consumer passed to `done`. An event with a stream
 * is wrapped only if the backend has fails_by_event. The members of *out must be NULL before. The stream may be a queue
 * of another device of the same native context; it then belongs to a context for that device.
 */
int bi__exchange_accept(struct bi_context *context, const struct bi_exchange *exchange, struct bi__acceptance *out,
			struct bi_error *err);

#endif
