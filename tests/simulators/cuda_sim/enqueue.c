#include "scheduler.h"
#include "stream.h"

/* The legacy stream waits for all blocking streams of its context, and each of them waits for the legacy stream. */
void stream_join(const struct stream *stream, struct clock *clock, struct op *op)
{
	const struct context *context = stream->context;

	clock_join(clock, &host_clock);
	clock_join(clock, &stream->clock);
	op_follow(op, stream->last);
	if (stream->kind == STREAM_LEGACY) {
		clock_join(clock, &context->gone_blocking_clock);
		op_follow(op, context->gone);
	} else if (is_blocking(stream)) {
		clock_join(clock, &context->legacy->clock);
		op_follow(op, context->legacy->last);
	}
	if (stream->kind != STREAM_LEGACY)
		return;
	for (const struct stream *other = context->streams; other; other = other->next)
		if (other != stream && is_blocking(other)) {
			clock_join(clock, &other->clock);
			op_follow(op, other->last);
		}
}

static void put_last(struct stream *stream, struct op *op)
{
	op_submit(op);
	op_release(stream->last);
	stream->last = op_retain(op);
}

bi__cu_result op_enter(struct op *op, struct clock *clock, unsigned slot, uint32_t stream_number)
{
	enum action_kind kind = op->action.kind;
	struct footprint *footprint = footprint_start();
	bi__cu_result code;
	uint32_t time;

	if (kind == ACTION_NOTHING)
		return BI__CU_SUCCESS;
	footprint_of_action(footprint, &op->action);
	code = footprint_resolve(footprint, op->context, kind);
	time = clock_tick(clock, slot);
	if (code) {
		op->is_void = 1;
		return kind == ACTION_COPY || kind == ACTION_SET ? code : BI__CU_SUCCESS;
	}
	footprint_check(footprint, clock, stamp_new(slot, time, place_now(stream_number)));
	if (kind == ACTION_LAUNCH)
		footprint_touched(footprint, op);
	return BI__CU_SUCCESS;
}

bi__cu_result stream_enqueue(struct stream *stream, const struct action *action, struct op **out)
{
	struct op *op;
	bi__cu_result code;

	if (out)
		*out = NULL;
	if (stream->capture) {
		capture_node(stream, action);
		return BI__CU_SUCCESS;
	}
	op = op_new(stream->context, action);
	stream_join(stream, &stream->clock, op);
	code = op_enter(op, &stream->clock, stream->slot, stream->number);
	put_last(stream, op);
	if (out && !code)
		*out = op_retain(op);
	op_release(op);
	return code;
}

struct op *stream_mark(struct stream *stream)
{
	const struct action nothing = { .kind = ACTION_NOTHING };
	struct op *op = op_new(stream->context, &nothing);

	stream_join(stream, &stream->clock, op);
	put_last(stream, op);
	return op;
}

void stream_follow(struct stream *stream, struct op *earlier, const struct clock *clock)
{
	const struct action nothing = { .kind = ACTION_NOTHING };
	struct op *op = op_new(stream->context, &nothing);

	stream_join(stream, &stream->clock, op);
	op_follow(op, earlier);
	clock_join(&stream->clock, clock);
	put_last(stream, op);
	op_release(op);
}

struct stamp *stream_stamp(struct stream *stream)
{
	op_release(stream_mark(stream));
	return stamp_new(stream->slot, clock_tick(&stream->clock, stream->slot), place_now(stream->number));
}

/*
 * For the legacy stream, waits for its own work alone: no document promises that the work of others is complete then.
 */
bi__cu_result stream_wait(struct stream *stream)
{
	struct op *last = op_retain(stream->last);
	struct clock clock = { NULL, 0 };
	bi__cu_result code;

	clock_join(&clock, &stream->clock);
	count_host_wait();
	code = wait_for_op(last);
	if (!code)
		clock_join(&host_clock, &clock);
	clock_clear(&clock);
	op_release(last);
	return code;
}
