/* The order of work in exports and imports: the stream and the event that are exchanged with the array. */
#ifndef BI_COMMON_VIEW_EXPORT_H
#define BI_COMMON_VIEW_EXPORT_H

#include "common/runtime/object.h"

/*
 * Sets the stream and event members of *out for a memory that is about to be exported. They must be 0 before, and stay
 * 0 if no work is pending. *event receives the reference to out->event. `flags` are enum bi_export_flag; without
 * BI_EXPORT_EVENT `event` may be NULL. For host memory and with BI_EXPORT_SYNCHRONIZE, blocks the calling thread until
 * pending work is complete (`export`).
 */
int bi__exchange_offer(struct bi_memory *memory, unsigned flags, struct bi_exchange *out, struct bi__fence *event,
		       struct bi_error *err);

/*
 * Prepares an export through the CUDA Array Interface. Sets *stream to the handle of the home stream, or to 0 if no
 * work is pending. `flags` are 0 or BI_EXPORT_SYNCHRONIZE, which blocks as in bi__exchange_offer.
 */
int bi__cai_offer(struct bi_memory *memory, unsigned flags, uintptr_t *stream, struct bi_error *err);

/* Does what bi__cai_offer does, but returns BI_EBUSY where that would wait or call the driver. */
int bi__cai_offer_nonblocking(struct bi_memory *memory, unsigned flags, uintptr_t *stream, struct bi_error *err);

/* The producer's stream and event, wrapped and owned. One of them or both may be NULL. */
struct bi__acceptance {
	struct bi_stream *stream;
	struct bi_event *event;
};

/* Wraps the stream and the event that a producer exported. The members of *out must be NULL before. */
int bi__exchange_accept(struct bi_context *context, const struct bi_exchange *exchange, struct bi__acceptance *out,
			struct bi_error *err);

#endif
