/* The points of private memory: which reads are known, what a write waits for, and how the points end. */
#include "unit.h"

#include "common/runtime/order.h"
#include "common/runtime/points.h"

static struct bi_context *device;
static struct bi_view *array;
static struct bi_stream *streams[2];

static int make_array(void **state)
{
	(void)state;
	array = NEW_ARRAY(device, "uint8", 4096);
	OK(bi_view_synchronize(array, &error)); /* its allocation is work of the home stream */
	for (int i = 0; i < 2; i++)
		OK(bi_stream_create(device, 0, &streams[i], &error));
	return 0;
}

static int release_array(void **state)
{
	(void)state;
	bi_view_release(array);
	for (int i = 0; i < 2; i++)
		bi_stream_release(streams[i]);
	return 0;
}

/* Begins and ends a use of the array. */
static void use_on(struct bi_stream *stream, unsigned access)
{
	const struct bi_use use = { array, access };

	OK(bi_use_begin(stream, &use, 1, &error));
	OK(bi_use_end(stream, &use, 1, &error));
}

static int points_are_on(struct bi_stream *stream)
{
	return bi__points_are_on_locked(bi_view_memory(array), stream);
}

static void each_reading_stream_has_a_point(void **state)
{
	const struct bi__order *order = &bi_view_memory(array)->order;

	(void)state;
	use_on(streams[0], BI_ACCESS_READ);
	assert_int_equal(order->read_count, 1);
	assert_true(points_are_on(streams[0]));
	use_on(streams[1], BI_ACCESS_READ);
	use_on(streams[1], BI_ACCESS_READ);
	assert_int_equal(order->read_count, 2);
	assert_false(points_are_on(streams[0]) || points_are_on(streams[1]));
	assert_false(bi__points_come_before_locked(bi_view_memory(array), streams[1]));
}

static void a_write_takes_the_place_of_the_reads(void **state)
{
	const struct bi__order *order = &bi_view_memory(array)->order;

	(void)state;
	use_on(streams[0], BI_ACCESS_READ);
	use_on(streams[1], BI_ACCESS_WRITE);
	assert_int_equal(order->read_count, 0);
	assert_true(order->spread && order->written.end && points_are_on(streams[1]));
	assert_true(bi__points_come_before_locked(bi_view_memory(array), streams[1]));
}

static void a_write_on_the_home_stream_leaves_no_point(void **state)
{
	struct bi_memory *memory = bi_view_memory(array);

	(void)state;
	use_on(streams[0], BI_ACCESS_WRITE);
	use_on(bi_context_stream(device), BI_ACCESS_WRITE);
	assert_false(memory->order.spread);
	assert_true(memory->order.pending);
}

/* The home stream waits for the points, so that its end is the end of all work. */
static void points_are_gathered_and_finished(void **state)
{
	struct bi_memory *memory = bi_view_memory(array);

	(void)state;
	use_on(streams[0], BI_ACCESS_WRITE);
	use_on(streams[1], BI_ACCESS_READ);
	assert_int_equal(bi__points_finish(memory), BI_OK);
	assert_int_equal(memory->order.read_count, 1);
	bi__order_lock(memory, NULL);
	OK(bi__points_gather_locked(memory, &error));
	bi__order_unlock(memory, NULL);
	assert_false(memory->order.spread);
	assert_int_equal(memory->order.read_count, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_array, release_array)
	const struct CMUnitTest tests[] = {
		TEST(each_reading_stream_has_a_point),
		TEST(a_write_takes_the_place_of_the_reads),
		TEST(a_write_on_the_home_stream_leaves_no_point),
		TEST(points_are_gathered_and_finished),
	};
	int failed;

	device = open_device("cuda:0");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(device);
	return failed;
}
