/* The ordering half of exports and imports: what a memory's home is to somebody else. */
#ifndef BI_COMMON_VIEW_EXPORT_H
#define BI_COMMON_VIEW_EXPORT_H

#include "common/runtime/object.h"

/*
 * Fills the stream and event members of *out, which are 0, for a memory that is about to be shown; *event is the
 * reference behind out->event. `flags` are enum bi_export_flag; without BI_EXPORT_EVENT `event` may be NULL.
 */
int bi__exchange_offer(struct bi_memory *memory, unsigned flags, struct bi_exchange *out, struct bi__fence *event,
		       struct bi_error *err);

/*
 * The same for the CUDA Array Interface: *stream = handle of the stream on which the memory is ready, 0: it is ready.
 * `flags` are 0 or BI_EXPORT_SYNCHRONIZE.
 */
int bi__cai_offer(struct bi_memory *memory, unsigned flags, uintptr_t *stream, struct bi_error *err);
/* The same without a wait, and without a call of the driver: BI_EBUSY where it takes one. */
int bi__cai_offer_at_once(struct bi_memory *memory, unsigned flags, uintptr_t *stream, struct bi_error *err);

/* The producer's stream and event, wrapped; either may be NULL. Both owned. */
struct bi__acceptance {
	struct bi_stream *stream;
	struct bi_event *event;
};

int bi__exchange_accept(struct bi_context *context, const struct bi_exchange *exchange, struct bi__acceptance *out,
			struct bi_error *err);

#endif
