#include "common/view/export.h"

#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"

/* Makes the home stream wait for the events of the first use, because the consumer does not know them. */
static int prepare_export_locked(struct bi_memory *memory, struct bi_error *err)
{
	int rc;

	bi__order_catch_up_locked(memory);
	rc = bi__order_check_failed_locked(memory, err);
	return rc ? rc : bi__order_wait_first_use_locked(memory, err);
}

/* Sets *home to the stream that the export names, and *event if the flags demand an event; or *home to NULL. */
static inline int offer_home(struct bi_memory *memory, unsigned flags, struct bi_stream **home, struct bi__fence *event,
			     struct bi_error *err)
{
	struct bi__scope scope;
	int rc;

	*home = NULL;
	if (flags & BI_EXPORT_SYNCHRONIZE)
		return bi__order_synchronize(memory, BI__WAIT_EXPORT, err);
	rc = bi__dispatch_alive(&memory->context->device, err);
	if (rc || memory->idle)
		return rc;
	bi__order_lock(memory, NULL);
	bi__dispatch_begin(&scope, &memory->context->device);
	rc = prepare_export_locked(memory, err);
	if (!rc && memory->order.pending) {
		*home = memory->home;
		bi__stream_share(*home);
		if (flags & BI_EXPORT_EVENT)
			rc = bi__fence_record(*home, event, err);
	}
	bi__dispatch_end(&scope);
	bi__order_unlock(memory, NULL);
	return rc;
}

int bi__exchange_offer(struct bi_memory *memory, unsigned flags, struct bi_exchange *out, struct bi__fence *event,
		       struct bi_error *err)
{
	/* Consumers that use the memory as host memory cannot wait for an event of a device. */
	int for_host = memory->backend->exported[memory->block.memory].handle == BI_HANDLE_HOST;
	struct bi_stream *home;
	int rc = offer_home(memory, for_host ? BI_EXPORT_SYNCHRONIZE : flags, &home, event, err);

	if (rc || !home)
		return rc;
	out->stream_kind = home->queue.kind;
	out->stream = home->queue.native;
	if (flags & BI_EXPORT_EVENT)
		out->event = bi__fence_handle(event);
	return BI_OK;
}

int bi__cai_offer(struct bi_memory *memory, unsigned flags, uintptr_t *stream, struct bi_error *err)
{
	struct bi_stream *home;
	int rc = offer_home(memory, flags, &home, NULL, err);

	*stream = rc || !home ? 0 : home->queue.native;
	return rc;
}

/* Returns 1 if work is pending and all of it is on the home stream, so that no driver call is needed. */
static int is_all_on_home_locked(const struct bi_memory *memory)
{
	return memory->order.pending && !memory->order.last_use.context && !memory->order.first_use.count &&
	       !memory->order.unrecorded && !memory->order.lost;
}

int bi__cai_offer_nonblocking(struct bi_memory *memory, unsigned flags, uintptr_t *stream, struct bi_error *err)
{
	int rc = bi__dispatch_alive(&memory->context->device, err), is_named = 0;

	*stream = 0;
	if (rc || memory->idle)
		return rc;
	if (!(flags & BI_EXPORT_SYNCHRONIZE) && bi__order_try_lock(memory)) {
		is_named = is_all_on_home_locked(memory);
		if (is_named)
			*stream = bi__stream_share(memory->home);
		bi__order_unlock(memory, NULL);
	}
	return is_named ? BI_OK : bi__fail(err, BI_EBUSY, "work on the memory is pending and has to be waited for");
}

int bi__exchange_accept(struct bi_context *context, const struct bi_exchange *exchange, struct bi__acceptance *out,
			struct bi_error *err)
{
	int rc = BI_OK;

	if (exchange->stream_kind != BI_STREAM_KIND_NONE &&
	    !bi__wraps_stream_kind(context->device.backend, exchange->stream_kind))
		return bi__fail(err, BI_EUNSUPPORTED, "stream kind %u cannot be waited for on device %s",
				exchange->stream_kind, context->device.info->spec);
	if (exchange->event &&
	    (exchange->stream_kind == BI_STREAM_KIND_NONE || context->device.backend->fails_by_event))
		rc = bi_event_wrap(context, (uintptr_t)exchange->event, &out->event, err);
	if (rc || exchange->stream_kind == BI_STREAM_KIND_NONE)
		return rc;
	rc = bi_stream_wrap(context, (uintptr_t)exchange->stream, NULL, NULL, &out->stream, out->event ? NULL : err);
	/* The queue of another device of the cl_context cannot be wrapped. Its event is enough. */
	return out->event ? BI_OK : rc;
}
