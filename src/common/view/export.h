/* The order of work in exports and imports: the stream and the event that are exchanged with the array. */
#ifndef BI_COMMON_VIEW_EXPORT_H
#define BI_COMMON_VIEW_EXPORT_H

#include "common/runtime/object.h"

/*
 * Sets order_kind and stream of *out for a memory that is about to be exported. They must be 0 before, and stay 0 if no
 * work is pending. For host memory and with the wish BI_ACQUIRE_READY, blocks the calling thread until pending work is
 * complete (`export`).
 */
int bi__exchange_offer(struct bi_memory *memory, uint32_t wishes, struct bi_exchange *out, struct bi_error *err);

/*
 * Makes later work on the memory wait for a consumer's work: for all that is on `stream` now, or for `event`. Waits for
 * no device, and keeps no reference to either. If the function fails, nothing waits for the consumer.
 */
int bi__exchange_done(struct bi_memory *memory, const struct bi_exchange *self, uint32_t kind, uint64_t stream,
		      uint64_t event);

/*
 * Prepares an export through the CUDA Array Interface. Sets *stream to the handle of the home stream, or to 0 if no
 * work is pending. `wishes` are 0 or BI_ACQUIRE_READY, which blocks as in bi__exchange_offer.
 */
int bi__cai_offer(struct bi_memory *memory, uint32_t wishes, uintptr_t *stream, struct bi_error *err);

/* Does what bi__cai_offer does, but returns BI_EBUSY where that would wait or call the driver. */
int bi__cai_offer_nonblocking(struct bi_memory *memory, uint32_t wishes, uintptr_t *stream, struct bi_error *err);

/* The producer's stream and event, wrapped and owned. One of them or both may be NULL. */
struct bi__acceptance {
	struct bi_stream *stream;
	struct bi_event *event;
};

/*
 * Wraps the stream and the event that a producer exported. The members of *out must be NULL before. The stream may be a
 * queue of another device of the same native context; it then belongs to a context for that device.
 */
int bi__exchange_accept(struct bi_context *context, const struct bi_exchange *exchange, struct bi__acceptance *out,
			struct bi_error *err);

#endif
