#include "common/exchange_order.h"

#include "common/dispatch.h"
#include "common/order.h"

static int offer_home(struct bi_memory *memory, unsigned flags, struct bi_exchange *out, struct bi__fence *event,
		      struct bi_error *err)
{
	int rc = BI_OK;

	if (flags & BI_EXPORT_EVENT)
		rc = bi__fence_record(memory->home, event, err);
	if (rc)
		return rc;
	out->stream_kind = BI_STREAM_KIND_CL_QUEUE;
	out->stream = memory->home->queue.native;
	out->event = event->event;
	return BI_OK;
}

int bi__exchange_offer(struct bi_memory *memory, unsigned flags, struct bi_exchange *out, struct bi__fence *event,
		       struct bi_error *err)
{
	int rc;

	/* Whoever takes host memory can wait for no event of a device. */
	if (bi__is_host(memory) || flags & BI_EXPORT_SYNCHRONIZE)
		return bi__order_synchronize(memory, BI__WAIT_EXPORT, err);
	rc = bi__dispatch_alive(memory->context, err);
	if (rc)
		return rc;
	bi__order_lock(memory, NULL);
	/* Events that our own first use would wait for are not the consumer's to know. */
	bi__order_catch_up(memory);
	rc = bi__order_check(memory, err);
	if (!rc)
		rc = bi__order_absorb(memory, err);
	if (!rc && memory->pending)
		rc = offer_home(memory, flags, out, event, err);
	bi__order_unlock(memory, NULL);
	return rc;
}

int bi__exchange_accept(struct bi_context *context, const struct bi_exchange *exchange, struct bi__acceptance *out,
			struct bi_error *err)
{
	int rc = BI_OK;

	if (exchange->stream_kind != BI_STREAM_KIND_NONE && exchange->stream_kind != BI_STREAM_KIND_CL_QUEUE)
		return bi__fail(err, BI_EUNSUPPORTED, "stream kind %u cannot be waited for by this build",
				exchange->stream_kind);
	if (exchange->event)
		rc = bi_event_wrap(context, (uintptr_t)exchange->event, &out->event, err);
	if (rc || exchange->stream_kind == BI_STREAM_KIND_NONE)
		return rc;
	rc = bi_stream_wrap(context, (uintptr_t)exchange->stream, NULL, NULL, &out->stream, out->event ? NULL : err);
	/* A queue of another device of the cl_context is none of this context's streams; its event is enough. */
	return out->event ? BI_OK : rc;
}
