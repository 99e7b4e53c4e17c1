#include "uses.h"

#include <string.h>

#include "raw_cuda.h"
#include "raw_driver.h"
#include "support/use.h"

int try(enum use use, struct bi_view *view, struct bi_view *other, struct bi_stream *stream)
{
	const unsigned char used = USED;

	switch (use) {
	case USE_FILL:
		return bi_fill(view, &used, stream, &error);
	case USE_COPY_FROM:
		return bi_copy(other, view, stream, &error);
	case USE_COPY_TO:
		return bi_copy(view, other, stream, &error);
	default:
		return begin_use(view, stream ? stream : home_of(fixture.context), &error);
	}
}

void apply(enum use use, struct bi_view *view, struct bi_view *other, struct bi_stream *stream)
{
	OK(try(use, view, other, stream));
	if (use != USE_ACQUIRE) {
		assert_home_follows(view);
		assert_home_follows(other);
		return;
	}
	stream = stream ? stream : home_of(fixture.context);
	acquire(other, stream);
	raw_copy(stream, other, view);
	hand_back(view, stream);
}

int applied_to_view(enum use use, int view, int other)
{
	return use == USE_FILL ? USED : use == USE_COPY_TO ? other : view;
}

int applied_to_other(enum use use, int view, int other)
{
	return use == USE_COPY_FROM || use == USE_ACQUIRE ? view : other;
}

void assert_exported_stream(struct bi_view *view, struct bi_stream *stream)
{
	uintptr_t handle = stream ? bi_stream_handle(stream) : 0;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	OK(bi_view_export(view, 0, &exchange, &error));
	assert_int_equal(exchange.order_kind, handle ? setting.driver->stream_kind : BI_ORDER_NONE);
	assert_int_equal(exchange.stream, handle);
	assert_int_equal(exchange.event, 0);
	exchange.release(&exchange);
}

static int maps(const struct bi_context *context)
{
	return strcmp(bi_context_device(context)->backend, "opencl") == 0;
}

void expect_piece(const struct bi_context *a, const struct bi_context *b)
{
	if (maps(a) && (!b || maps(b)))
		expect_waits("staging", 1);
}

void arm_any(const char *function, unsigned nth)
{
	if (is_cuda(fixture.context))
		cuda_fail_call(nth, BI__CU_ERROR_OUT_OF_MEMORY);
	else
		arm(function, nth);
}

struct wait_count count_waits(struct bi_context *context)
{
	return (struct wait_count){ library_waits(), reported(context, "value"), reported(context, "failure") };
}

unsigned expect_waits_since(struct bi_context *context, struct wait_count before)
{
	struct wait_count now = count_waits(context);
	unsigned long value = now.value - before.value, failure = now.failure - before.failure;

	expect_waits("value", (unsigned)value);
	expect_waits("failure", (unsigned)failure);
	own_waits(now.driver - before.driver - value - failure);
	return (unsigned)failure;
}
