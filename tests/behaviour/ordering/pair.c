/*
 * Two devices in one cl_context: objects of the two contexts go together. Arrays are at home on the asynchronous
 * device. The other may be one that works in the calling thread, and PoCL never goes on with what such a device has put
 * aside for a pending event of another one. So nothing here makes it wait for work that is not done.
 */
#include "uses.h"

static const struct producer nobody;

static void use_all(struct bi_stream *stream)
{
	for (int use = 0; use < USE_COUNT; use++) {
		struct bi_view *view = wrap(PLACE_DEVICE, 1, nobody), *other = wrap(PLACE_DEVICE, 2, nobody);

		apply((enum use)use, view, other, stream);
		finish_all();
		assert_int_equal(value_of(view), applied_to_view((enum use)use, 1, 2));
		assert_int_equal(value_of(other), applied_to_other((enum use)use, 1, 2));
		assert_exported_stream(use == USE_COPY_FROM ? other : view, home_of(fixture.context));
		bi_view_release(view);
		bi_view_release(other);
		finish_all();
	}
}

static void row_06_streams_of_the_other_device(void **state)
{
	(void)state;
	use_all(new_stream(BI_STREAM_IN_ORDER));
	if (stream_kinds() > 1)
		use_all(new_stream(BI_STREAM_OUT_OF_ORDER));
	use_all(home_of(setting.other));
}

static void row_03_a_producer_on_the_other_device(void **state)
{
	struct bi_stream *producer = new_producer(BI_STREAM_IN_ORDER), *home = home_of(fixture.context);
	struct bi_view *view = wrap(PLACE_DEVICE, 1, (struct producer){ .stream = producer });
	struct bi_view *to = wrap(PLACE_DEVICE, 2, nobody);

	(void)state;
	fill(view, 7, NULL);
	assert_exported_stream(view, producer);
	acquire(view, home);
	raw_copy(home, to, view);
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(view);
	bi_view_release(to);
}

/* One cl_context: no host wait, no copy through the host. */
static void row_07_between_the_devices(void **state)
{
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *to = wrap_in(setting.other, PLACE_DEVICE, 1, nobody);
	uint64_t before = calls_of("clEnqueueCopyBuffer");

	(void)state;
	copy(to, from, NULL);
	assert_int_equal(calls_of("clEnqueueCopyBuffer"), before + 1);
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(from);
	bi_view_release(to);
}

static void row_11_export_to_the_other_device(void **state)
{
	struct bi_view *view = wrap(PLACE_DEVICE, 7, nobody), *to = wrap_in(setting.other, PLACE_DEVICE, 2, nobody);
	struct bi_view *imported;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	OK(bi_view_export(view, 0, &exchange, &error));
	OK(bi_view_import(setting.other, &exchange, 0, &imported, &error));
	copy(to, imported, NULL);
	finish_all();
	assert_int_equal(value_of(to), 7);
	bi_view_release(imported);
	bi_view_release(view);
	bi_view_release(to);
}

int pair_rows(void)
{
	static const struct row rows[] = {
		ROW(row_03_a_producer_on_the_other_device, NEED_PAIR),
		ROW(row_06_streams_of_the_other_device, NEED_PAIR),
		ROW(row_07_between_the_devices, NEED_PAIR),
		ROW(row_11_export_to_the_other_device, NEED_PAIR),
	};

	return run_rows("two devices in one cl_context", rows, ARRAY_LENGTH(rows));
}
