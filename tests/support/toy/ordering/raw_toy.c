/* The raw driver of the toy backend, for the ordering suite. It has no gates: work is done when it is enqueued. */
#include "behaviour/ordering/raw_driver.h"
#include "support/toy/toy.h"

static unsigned toy_open_device(const char *spec)
{
	(void)spec;
	return NEED_DEVICE;
}

static void toy_nothing(void)
{
}

static int toy_counts(void)
{
	return 0;
}

static uint64_t toy_zero(void)
{
	return 0;
}

static uint64_t toy_count(enum counted what)
{
	(void)what;
	return 0;
}

static uint64_t toy_calls(const char *name)
{
	(void)name;
	return 0;
}

static int64_t toy_live_memory(void)
{
	return 0;
}

static void toy_arm(const char *name, unsigned nth)
{
	(void)name, (void)nth;
}

static uintptr_t toy_share(const char *const specs[2], const char *adopt[2])
{
	(void)specs;
	adopt[0] = adopt[1] = "toy";
	return (uintptr_t)toy_create(CONTEXT, NULL, &error);
}

static void toy_release_handle(uintptr_t handle)
{
	toy_release((struct native *)handle);
}

static void toy_release_in(uintptr_t native, uintptr_t handle)
{
	(void)native;
	toy_release_handle(handle);
}

static struct native *native_of(const struct bi_context *context)
{
	return (struct native *)bi_context_handle(context);
}

static uintptr_t toy_stream_create(struct bi_context *context, unsigned flags)
{
	struct native *queue = toy_create(QUEUE, native_of(context), &error);

	assert_non_null(queue);
	queue->out_of_order = flags != 0;
	return (uintptr_t)queue;
}

static void toy_finish(struct bi_stream *const *streams, size_t count)
{
	(void)streams, (void)count;
}

static void toy_settle(struct bi_context *context)
{
	(void)context;
}

static uintptr_t toy_alloc(struct bi_context *context, int value)
{
	struct native *memory = toy_create_file(native_of(context), ARRAY_BYTES, &error);

	assert_non_null(memory);
	memset(memory->bytes, value, ARRAY_BYTES);
	return (uintptr_t)memory;
}

static void *bytes_of(struct bi_view *view)
{
	void *host = bi_view_host_pointer(view);

	return host ? host : ((struct native *)handle_of(view))->bytes;
}

static void toy_peek(struct bi_view *view, unsigned char bytes[ARRAY_BYTES], int is_quiet)
{
	(void)is_quiet;
	memcpy(bytes, bytes_of(view), ARRAY_BYTES);
}

static void toy_poke(struct bi_view *view, const unsigned char bytes[ARRAY_BYTES])
{
	memcpy(bytes_of(view), bytes, ARRAY_BYTES);
}

static int toy_ordered(struct bi_stream *stream, struct bi_view *view, int writes)
{
	(void)stream, (void)view, (void)writes;
	return -1;
}

static uintptr_t toy_event_complete(struct bi_context *context)
{
	return (uintptr_t)toy_create(EVENT, native_of(context), &error);
}

static void toy_write(struct bi_stream *stream, struct bi_view *view, int value, struct gate *gate, uintptr_t *event)
{
	(void)gate;
	memset(bytes_of(view), value, ARRAY_BYTES);
	if (event)
		*event = toy_event_complete(bi_stream_context(stream));
}

static void toy_copy(struct bi_stream *stream, struct bi_view *to, struct bi_view *from)
{
	(void)stream;
	memcpy(bytes_of(to), bytes_of(from), ARRAY_BYTES);
}

static void toy_event_wait(struct bi_stream *stream, uintptr_t event)
{
	(void)stream, (void)event;
}

static int toy_event_done(uintptr_t event)
{
	(void)event;
	return 1;
}

const struct raw_driver raw_extra = {
	.backend = "toy",
	.handle_kind = (enum bi_handle_kind)HANDLE,
	.stream_kind = (enum bi_order_kind)STREAM_KIND,
	.open = toy_open_device,
	.begin = toy_nothing,
	.end = toy_nothing,
	.counts = toy_counts,
	.host_waits = toy_zero,
	.count = toy_count,
	.calls = toy_calls,
	.live_memory = toy_live_memory,
	.arm = toy_arm,
	.failures = toy_zero,
	.share = toy_share,
	.unshare = toy_release_handle,
	.stream_create = toy_stream_create,
	.stream_release = toy_release_in,
	.finish = toy_finish,
	.settle = toy_settle,
	.alloc = toy_alloc,
	.wrap_flags = BI_WRAP_STEAL,
	.bury = toy_nothing,
	.peek = toy_peek,
	.poke = toy_poke,
	.ordered = toy_ordered,
	.write = toy_write,
	.copy = toy_copy,
	.upload = toy_copy,
	.event_complete = toy_event_complete,
	.event_release = toy_release_in,
	.event_wait = toy_event_wait,
	.event_done = toy_event_done,
};
