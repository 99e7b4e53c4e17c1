/* The order of work in exports and imports: which stream and event other code is given, or gives. */
#ifndef BI_COMMON_VIEW_EXPORT_H
#define BI_COMMON_VIEW_EXPORT_H

#include "common/runtime/object.h"

/*
 * Sets the stream and event members of *out, which are 0, for a memory that is about to be exported. *event holds the
 * reference to out->event. `flags` are enum bi_export_flag; without BI_EXPORT_EVENT `event` may be NULL. Blocks the
 * calling thread (`export`) for host memory and with BI_EXPORT_SYNCHRONIZE.
 */
int bi__exchange_offer(struct bi_memory *memory, unsigned flags, struct bi_exchange *out, struct bi__fence *event,
		       struct bi_error *err);

/*
 * The same for the CUDA Array Interface: *stream = the handle of the stream on which the memory is ready, or 0 if it is
 * ready. `flags` are 0 or BI_EXPORT_SYNCHRONIZE.
 */
int bi__cai_offer(struct bi_memory *memory, unsigned flags, uintptr_t *stream, struct bi_error *err);

/* The same, but returns BI_EBUSY instead of waiting or calling the driver. */
int bi__cai_offer_nonblocking(struct bi_memory *memory, unsigned flags, uintptr_t *stream, struct bi_error *err);

/* The producer's stream and event, wrapped and owned. Either may be NULL. */
struct bi__acceptance {
	struct bi_stream *stream;
	struct bi_event *event;
};

/* Wraps the stream and the event that a producer exported. The members of *out are NULL before. */
int bi__exchange_accept(struct bi_context *context, const struct bi_exchange *exchange, struct bi__acceptance *out,
			struct bi_error *err);

#endif
