#include "common/view/export.h"

#include "buffer_interface/binding.h"
#include "common/backend/dispatch.h"
#include "common/base/checked.h"
#include "common/runtime/fence.h"
#include "common/runtime/order.h"
#include "common/runtime/points.h"
#include "common/runtime/stream.h"

/*
 * Makes the home stream wait for the work that does not come before its end yet: work whose end is not recorded, uses
 * on other streams, and the events of the first use. The consumer waits for the home stream alone.
 */
static int prepare_export_locked(struct bi_memory *memory, struct bi_error *err)
{
	int rc;

	bi__order_catch_up_locked(memory);
	rc = bi__order_check_failed_locked(memory, err);
	if (!rc)
		rc = bi__points_gather_locked(memory, err);
	return rc ? rc : bi__order_wait_first_use_locked(memory, err);
}

int bi__export_find_home(struct bi_memory *memory, uint32_t wishes, struct bi_stream **home, struct bi_error *err)
{
	struct bi__scope scope;
	int rc;

	if (wishes & BI_ACQUIRE_READY)
		return bi__order_synchronize(memory, BI__WAIT_EXPORT, err);
	bi__order_lock(memory, NULL);
	bi__dispatch_begin(&scope, &memory->context->device);
	rc = prepare_export_locked(memory, err);
	if (!rc && memory->order.pending)
		*home = memory->home;
	if (*home)
		bi__stream_share(*home);
	bi__dispatch_end(&scope);
	bi__order_unlock(memory, NULL);
	return rc;
}

/* Wraps a queue of another device of the native context. */
static int wrap_stream_elsewhere(struct bi_context *context, const struct bi_exchange *exchange, struct bi_stream **out,
				 struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_location location;
	struct bi_context *other;
	int rc = bi_locate_queue((enum bi_order_kind)exchange->order_kind, (uintptr_t)exchange->stream, &location, err);

	if (!rc && (!location.context || location.context != context->device.state.native))
		rc = bi__fail(err, BI_EINVAL, "stream 0x%llx belongs to another context than the memory [B-33]",
			      (unsigned long long)exchange->stream);
	if (rc)
		return rc;
	options.device = location.device;
	options.adopt_context = location.context;
	options.around_close = context->around_close;
	rc = bi_context_open(&options, &other, err);
	if (rc)
		return rc;
	rc = bi_stream_wrap(other, (uintptr_t)exchange->stream, NULL, NULL, out, err);
	bi_context_release(other);
	return rc;
}

static int wrap_stream(struct bi_context *context, const struct bi_exchange *exchange, struct bi_stream **out,
		       struct bi_error *err)
{
	const int has_elsewhere = context->device.backend->devices.locate_queue != NULL;
	int rc = bi_stream_wrap(context, (uintptr_t)exchange->stream, NULL, NULL, out, has_elsewhere ? NULL : err);

	if (rc && has_elsewhere)
		rc = wrap_stream_elsewhere(context, exchange, out, err);
	if (rc || !(*out)->queue.per_thread)
		return rc;
	bi_stream_release(*out);
	*out = NULL;
	return bi__fail(
		err, BI_EINVAL,
		"stream is %llu, which is another stream on each thread; name the stream that has the work [B-32]",
		(unsigned long long)exchange->stream);
}

static int check_order(const struct bi_context *context, const struct bi_exchange *exchange, struct bi_error *err)
{
	uint32_t kind = exchange->order_kind;
	int rc = bi__check_handle("stream", exchange->stream, err);

	if (!rc)
		rc = bi__check_handle("event", exchange->event, err);
	if (rc)
		return rc;
	if ((kind == BI_ORDER_NONE) != (!exchange->stream && !exchange->event))
		return bi__fail(err, BI_EINVAL,
				"order_kind is %u, stream is 0x%llx and event is 0x%llx; set order_kind to 0 if both "
				"are 0, and "
				"otherwise to their kind [B-32]",
				kind, (unsigned long long)exchange->stream, (unsigned long long)exchange->event);
	if (kind != BI_ORDER_NONE && !bi__wraps_stream_kind(context->device.backend, kind))
		return bi__fail(err, BI_EUNSUPPORTED, "order_kind %u cannot be waited for on device %s", kind,
				context->device.info->spec);
	if (exchange->event && !exchange->stream && !exchange->done)
		return bi__fail(
			err, BI_EINVAL,
			"event is 0x%llx, but stream and done are 0: the memory could not be handed back [B-32]",
			(unsigned long long)exchange->event);
	return BI_OK;
}

int bi__exchange_accept(struct bi_context *context, const struct bi_exchange *exchange, struct bi__acceptance *out,
			struct bi_error *err)
{
	int rc = check_order(context, exchange, err);

	if (!rc && exchange->event && (!exchange->stream || context->device.backend->fails_by_event))
		rc = bi_event_wrap(context, (uintptr_t)exchange->event, &out->event, err);
	if (!rc && exchange->stream)
		rc = wrap_stream(context, exchange, &out->stream, err);
	if (rc) {
		bi_event_release(out->event);
		out->event = NULL;
	}
	return rc;
}

/*
 * Returns BI_ECAPTURE if the consumer's stream and the home stream do not belong to the same capture, or if the
 * consumer passes an event while the home stream is captured. The event is not queried: if it was recorded in a
 * capture, the query would invalidate that capture.
 */
static int check_consumer(struct bi_stream *home, const struct bi__acceptance *consumer)
{
	uint64_t home_id, id = 0;
	int rc;

	bi__stream_share(home);
	rc = bi__stream_capture(home, &home_id, NULL);
	if (!rc && !consumer->event)
		rc = bi__stream_capture(consumer->stream, &id, NULL);
	return rc || id == home_id ? rc : BI_ECAPTURE;
}

/*
 * Returns BI_EUNSUPPORTED if bi__order_begin_locked would block: the last use of a host memory is pending, in a context
 * that shares no events with the stream.
 */
static int check_last_use_locked(const struct bi_memory *memory, const struct bi_stream *stream)
{
	const struct bi__fence *last_use = &memory->order.last_use;
	int done = 1, rc = BI_OK;

	if (last_use->context && !bi__share_events(stream->context, last_use->context))
		rc = bi__fence_query(last_use, &done, NULL);
	return rc || done ? rc : BI_EUNSUPPORTED;
}

/* Makes the home stream (host memory: the context stream) wait for the consumer, and records that as work. */
static int follow_consumer_locked(struct bi_memory *memory, const struct bi__acceptance *consumer)
{
	struct bi_stream *home = memory->home ? memory->home : &memory->context->stream;
	int rc = bi__order_check_capture_locked(home, memory, NULL, NULL);

	if (!rc)
		rc = check_last_use_locked(memory, home);
	if (!rc)
		rc = check_consumer(home, consumer);
	if (!rc && memory->backend->synchronous)
		rc = bi__order_begin_locked(memory, home, NULL);
	if (!rc)
		rc = consumer->event ? bi__fence_wait(home, &consumer->event->fence, NULL)
				     : bi__stream_follow(home, consumer->stream, NULL);
	return rc ? rc : bi__order_end_locked(memory, home, NULL);
}

int bi__exchange_done(struct bi_memory *memory, const struct bi_exchange *self, uint32_t kind, uint64_t stream,
		      uint64_t event)
{
	struct bi_exchange order = BI_EXCHANGE_INIT;
	struct bi__acceptance consumer = { NULL, NULL };
	int rc;

	if (kind > UINT8_MAX || memory->flags & BI_WRAP_UNORDERED)
		return BI_EINVAL;
	order.order_kind = (uint8_t)kind;
	order.stream = event ? 0 : stream;
	order.event = event;
	order.done = self->done;
	rc = bi__exchange_accept(memory->context, &order, &consumer, NULL);
	if (rc || kind == BI_ORDER_NONE)
		return rc ? rc : bi__dispatch_alive(&memory->context->device, NULL);
	bi__order_lock(memory, NULL);
	rc = follow_consumer_locked(memory, &consumer);
	bi__order_unlock(memory, NULL);
	bi_stream_release(consumer.stream);
	bi_event_release(consumer.event);
	return rc;
}
