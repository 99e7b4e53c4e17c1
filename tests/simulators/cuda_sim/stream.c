#include "stream.h"

#include <stdlib.h>

#include "decisions.h"
#include "memory.h"
#include "scheduler.h"

static uint32_t last_number;
static uint64_t live;

int is_blocking(const struct stream *stream)
{
	return stream->kind == STREAM_BLOCKING || stream->kind == STREAM_PER_THREAD;
}

static int is_created(const struct stream *stream)
{
	return stream->kind == STREAM_BLOCKING || stream->kind == STREAM_NON_BLOCKING;
}

uint64_t streams_live(void)
{
	return live;
}

struct stream *stream_new(struct context *context, enum stream_kind kind)
{
	struct stream *stream = must_alloc(1, sizeof(*stream));

	stream->context = context;
	stream->kind = kind;
	stream->thread = thread_self()->number;
	stream->slot = slot_take();
	stream->next = context->streams;
	context->streams = stream;
	if (is_created(stream)) {
		stream->number = ++last_number;
		stream->handle = switched(SWITCH_stream_returns) ? handle_reuse(OBJECT_STREAM, stream) : NULL;
		if (!stream->handle)
			stream->handle = handle_make(OBJECT_STREAM, stream);
		live++;
	} else {
		stream->number = kind == STREAM_LEGACY ? PLACE_LEGACY : PLACE_PER_THREAD;
	}
	return stream;
}

static void free_stream(struct stream *stream)
{
	op_release(stream->last);
	clock_clear(&stream->clock);
	capture_release(stream->capture);
	node_set_clear(&stream->tip);
	free(stream->shown);
	free(stream);
}

static struct stream *per_thread(struct context *context)
{
	for (struct stream *stream = context->streams; stream; stream = stream->next)
		if (stream->kind == STREAM_PER_THREAD && stream->thread == thread_self()->number)
			return stream;
	return stream_new(context, STREAM_PER_THREAD);
}

struct stream *stream_find(bi__cu_stream handle, bi__cu_result *code)
{
	struct stream *stream;
	struct context *context;

	if (handle && handle != BI__CU_STREAM_LEGACY && handle != BI__CU_STREAM_PER_THREAD) {
		stream = handle_find(OBJECT_STREAM, handle, code);
		if (!stream || !stream->context->is_destroyed)
			return stream;
		report(REPORT_DESTROYED_CONTEXT, "stream %u was in it", stream->number);
		*code = BI__CU_ERROR_CONTEXT_IS_DESTROYED;
		return NULL;
	}
	context = context_current(code);
	if (!context)
		return NULL;
	return handle == BI__CU_STREAM_PER_THREAD ? per_thread(context) : context->legacy;
}

struct stream *stream_for_work(bi__cu_stream handle, bi__cu_result *code)
{
	struct stream *stream = stream_find(handle, code);

	if (!stream || !context_current(code))
		return NULL;
	if (stream->context != thread_top()) {
		report(REPORT_WRONG_CONTEXT, "stream %u belongs to another context than the current one",
		       stream->number);
		*code = (bi__cu_result)DECIDED_WORK_IN_OTHER_CONTEXT;
		return NULL;
	}
	*code = capture_admits_work(stream);
	return *code ? NULL : stream;
}

/* The work of a destroyed stream continues. The legacy stream still waits for it if the stream was a blocking one. */
static void leave_work(struct stream *stream)
{
	const struct action nothing = { .kind = ACTION_NOTHING };
	struct context *context = stream->context;
	struct op *op;

	clock_join(&context->gone_clock, &stream->clock);
	if (!is_blocking(stream))
		return;
	clock_join(&context->gone_blocking_clock, &stream->clock);
	if (!stream->last || stream->last->is_done)
		return;
	op = op_new(context, &nothing);
	op_follow(op, context->gone);
	op_follow(op, stream->last);
	op_submit(op);
	op_release(context->gone);
	context->gone = op;
}

static void destroy(struct stream *stream)
{
	struct stream **place = &stream->context->streams;

	while (*place != stream)
		place = &(*place)->next;
	*place = stream->next;
	capture_stream_destroyed(stream);
	leave_work(stream);
	slot_retire(stream->slot);
	handle_destroy(stream->handle);
	free_stream(stream);
	live--;
}

void streams_destroy_of(struct context *context)
{
	for (struct stream *stream = context->streams; stream; stream = stream->next) {
		slot_retire(stream->slot);
		capture_stream_destroyed(stream);
		op_release(stream->last);
		stream->last = NULL;
		if (!is_created(stream))
			continue;
		report(REPORT_LEFT, "stream %u, when its context was destroyed", stream->number);
		live--;
	}
}

void streams_forget_of(struct context *context)
{
	while (context->streams) {
		struct stream *stream = context->streams;

		context->streams = stream->next;
		if (is_created(stream) && !context->is_destroyed) {
			report(REPORT_LEFT, "stream %u", stream->number);
			live--;
		}
		free_stream(stream);
	}
}

void streams_count_anew(void)
{
	last_number = 0;
}

static bi__cu_result create_stream(bi__cu_stream *out, unsigned flags)
{
	bi__cu_result code = BI__CU_SUCCESS;

	if (!out || flags > BI__CU_STREAM_NON_BLOCKING)
		return BI__CU_ERROR_INVALID_VALUE;
	if (switched(SWITCH_stream_waits))
		code = context_drain(thread_top());
	if (!code)
		*out = stream_new(thread_top(), flags ? STREAM_NON_BLOCKING : STREAM_BLOCKING)->handle;
	return code;
}

bi__cu_result cuStreamCreate(bi__cu_stream *stream, unsigned flags)
{
	bi__cu_result code = ENTER(cuStreamCreate);

	return leave(code ? code : create_stream(stream, flags));
}

static bi__cu_result destroy_stream(bi__cu_stream handle)
{
	bi__cu_result code;
	struct stream *stream = stream_find(handle, &code);

	if (!stream)
		return code;
	if (!is_created(stream)) {
		report(REPORT_UNKNOWN_HANDLE, "a default stream is not destroyed");
		return BI__CU_ERROR_INVALID_HANDLE;
	}
	destroy(stream);
	return BI__CU_SUCCESS;
}

bi__cu_result cuStreamDestroy_v2(bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuStreamDestroy_v2);

	return leave(code ? code : destroy_stream(stream));
}

/* Handle of the green context. No function takes it. */
#define GREEN ((uintptr_t)0x9000)

/* The context that cuCtxFromGreenCtx returns. */
static bi__cu_context green_of(struct context *context)
{
	if (!context->green)
		context->green = handle_make(OBJECT_CONTEXT, context);
	return context->green;
}

static int is_green(const struct stream *stream)
{
	return is_created(stream) && switched(SWITCH_green_streams);
}

static bi__cu_result get_context(bi__cu_stream handle, bi__cu_context *out)
{
	bi__cu_result code;
	const struct stream *stream = stream_find(handle, &code);

	if (!stream)
		return code;
	if (!out)
		return BI__CU_ERROR_INVALID_VALUE;
	*out = is_green(stream) ? green_of(stream->context) : stream->context->handle;
	return BI__CU_SUCCESS;
}

bi__cu_result cuStreamGetCtx(bi__cu_stream stream, bi__cu_context *context)
{
	bi__cu_result code = ENTER(cuStreamGetCtx);

	return leave(code ? code : get_context(stream, context));
}

static bi__cu_result get_contexts(bi__cu_stream handle, bi__cu_context *out, bi__cu_green_context *green)
{
	bi__cu_result code;
	const struct stream *stream = stream_find(handle, &code);

	if (!stream)
		return code;
	if (!out || !green)
		return BI__CU_ERROR_INVALID_VALUE;
	*out = stream->context->handle;
	*green = is_green(stream) ? (bi__cu_green_context)GREEN : NULL;
	return BI__CU_SUCCESS;
}

bi__cu_result cuStreamGetCtx_v2(bi__cu_stream stream, bi__cu_context *context, bi__cu_green_context *green)
{
	bi__cu_result code = ENTER(cuStreamGetCtx_v2);

	return leave(code ? code : get_contexts(stream, context, green));
}

static bi__cu_result synchronize(bi__cu_stream handle)
{
	bi__cu_result code;
	struct stream *stream = stream_find(handle, &code);

	if (stream)
		code = capture_admits_asking(stream);
	return code ? code : stream_wait(stream);
}

bi__cu_result cuStreamSynchronize(bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuStreamSynchronize);

	return leave(code ? code : synchronize(stream));
}

static bi__cu_result query(bi__cu_stream handle)
{
	bi__cu_result code;
	struct stream *stream = stream_find(handle, &code);

	if (stream)
		code = capture_admits_asking(stream);
	if (code)
		return code;
	if (stream->last && !stream->last->is_done)
		return scheduler_not_ready();
	clock_join(&host_clock, &stream->clock);
	return BI__CU_SUCCESS;
}

bi__cu_result cuStreamQuery(bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuStreamQuery);

	return leave(code ? code : query(stream));
}
