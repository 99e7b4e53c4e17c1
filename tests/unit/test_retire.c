/* The end of memories: destroyed, pooled, or retired until their work is complete. */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "buffer_interface/binding.h"
#include "common/runtime/retire.h"

static struct bi_context *device;

static unsigned retired(void)
{
	return atomic_load(&device->retired.count);
}

static void own_memory_goes_to_the_pool(void **state)
{
	struct bi_view *a;
	uint64_t hits;

	(void)state;
	OK(bi_context_trim(device, 0, &error));
	a = NEW_ARRAY(device, "uint8", 1 << 16);
	bi_view_release(a);
	assert_true(device->pool.bytes >= 1 << 16);
	hits = device->pool.hits;
	a = NEW_ARRAY(device, "uint8", 1 << 16);
	assert_int_equal(device->pool.hits, hits + 1);
	assert_int_equal(device->pool.bytes, 0);
	bi_view_release(a);
}

static void exported_memory_does_not(void **state)
{
	struct bi_native native;
	struct bi_view *a;

	(void)state;
	OK(bi_context_trim(device, 0, &error));
	a = NEW_ARRAY(device, "uint8", 1 << 16);
	bi_view_native(a, &native);
	bi_view_release(a);
	assert_int_equal(device->pool.bytes, 0);
}

static int pooled_by_release(void *view)
{
	struct bi_context *context = bi_memory_context(bi_view_memory(view));
	size_t before = context->pool.bytes;
	int is_pooled;

	bi_view_release(view);
	is_pooled = context->pool.bytes != before;
	bi_context_trim(context, 0, NULL);
	return is_pooled;
}

/* The end of the parent's work is never known in a forked child. */
static void unknown_work_of_a_parent_stays_out_of_the_pool(void **state)
{
	struct bi_context *host = open_device("host");
	struct bi_view *a = NEW_ARRAY(host, "uint8", 1 << 20);

	(void)state;
	assert_int_equal(status_of_child(pooled_by_release, a), 1);
	bi_view_memory(a)->order.unrecorded = bi_stream_retain(bi_context_stream(device));
	atomic_fetch_add(&device->host_uses, 1);
	assert_int_equal(status_of_child(pooled_by_release, a), 0);
	bi_view_release(a);
	OK(bi_stream_synchronize(bi_context_stream(device), &error)); /* frees the memory */
	bi_context_release(host);
}

/* Ends by a signal if it waits for the lock. The first release defers the memory, and the last would wait for it. */
static int end_captured(void *view)
{
	struct bi_context *context = bi_memory_context(bi_view_memory(view));

	alarm(30);
	bi_view_release(view);
	bi_context_trim(context, 0, NULL);
	bi_context_release(context);
	return 0;
}

/* Leaves the memory that the list should have. */
static int end_captured_and_leave(void *view)
{
	return leave_child(end_captured(view));
}

/* A thread of the parent may look through the retired memories at the moment of the fork. */
static void a_child_does_not_wait_for_the_lock_of_retired_memories(void **state)
{
	struct bi_context *host = open_device("host");
	struct bi_view *views[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(views); i++) {
		views[i] = NEW_ARRAY(host, "uint8", 16);
		bi_view_memory(views[i])->order.captured = true;
	}
	bi_view_release(views[0]);
	assert_int_equal(host->retired.count, 1);
	assert_int_equal(status_of_child(end_captured, views[1]), 0);
	pthread_mutex_lock(&host->retired.lock);
	assert_int_equal(status_of_child(end_captured_and_leave, views[1]), 0);
	pthread_mutex_unlock(&host->retired.lock);
	bi_view_release(views[1]);
	assert_int_equal(host->retired.count, 2);
	bi_context_release(host);
}

static int wait_for_view(const struct bi_view *view)
{
	return bi_view_synchronize(view, &error);
}

static int wait_for_stream(const struct bi_view *view)
{
	(void)view;
	return bi_stream_synchronize(bi_context_stream(device), &error);
}

static int wait_for_event(const struct bi_view *view)
{
	struct bi_event *event;
	int rc = bi_event_record(bi_context_stream(device), &event, &error);

	(void)view;
	if (!rc)
		rc = bi_event_synchronize(event, &error);
	bi_event_release(event);
	return rc;
}

/* Memory of a producer with pending work is retired. Its callback comes with the next wait for that work. */
static void a_producer_is_called_when_the_work_is_complete(void **state)
{
	int (*const waits[])(const struct bi_view *) = { wait_for_view, wait_for_stream, wait_for_event };
	struct bi_view *own = new_bytes(device, BI_MEMORY_PINNED, 1 << 16), *a = NEW_ARRAY(device, "uint8", 1 << 16),
		       *view;
	const int64_t shape[] = { 1 << 16 };

	(void)state;
	number_bytes(a);
	for (size_t i = 0; i < ARRAY_LENGTH(waits); i++) {
		atomic_int released = 0;

		OK(bi_view_wrap_host(device, bi_view_host_pointer(own), dtype_of("uint8"), 1, shape, count_release,
				     &released, &view, &error));
		OK(bi_copy(view, a, NULL, &error));
		bi_view_release(view);
		assert_int_equal(released + (int)retired(), 1);
		OK(waits[i](a));
		assert_int_equal(retired(), 0);
		assert_int_equal(released, 1);
	}
	bi_view_release(a);
	bi_view_release(own);
}

static void note_cancel_state(void *data)
{
	int *state = data;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, state);
	pthread_setcancelstate(*state, NULL);
}

/* A thread that is cancelled in the callback would leave the operation that waits half done. */
static void a_producer_is_called_without_cancellation(void **state)
{
	struct bi_view *own = new_bytes(device, BI_MEMORY_PINNED, 1 << 16), *a = NEW_ARRAY(device, "uint8", 1 << 16),
		       *view;
	const int64_t shape[] = { 1 << 16 };
	int cancel = -1;

	(void)state;
	do {
		OK(bi_view_wrap_host(device, bi_view_host_pointer(own), dtype_of("uint8"), 1, shape, note_cancel_state,
				     &cancel, &view, &error));
		OK(bi_copy(view, a, NULL, &error));
		bi_view_release(view);
	} while (!retired());
	bi__memory_await_retired(bi_context_stream(device), 0);
	assert_int_equal(retired(), 0);
	assert_int_equal(cancel, PTHREAD_CANCEL_DISABLE);
	bi_view_release(a);
	bi_view_release(own);
}

/* Memory that went through the list of retired memories to the pool is idle when it is allocated again. */
static void memory_from_the_pool_is_idle(void **state)
{
	struct bi_view *pinned = new_bytes(device, BI_MEMORY_PINNED, 1 << 16), *a = NEW_ARRAY(device, "uint8", 1 << 16);
	uint64_t hits;

	(void)state;
	OK(bi_copy(a, pinned, NULL, &error));
	bi_view_release(pinned);
	assert_int_equal(retired(), 1);
	OK(bi_view_synchronize(a, &error));
	assert_int_equal(retired(), 0);
	hits = device->pool.hits;
	pinned = new_bytes(device, BI_MEMORY_PINNED, 1 << 16);
	assert_int_equal(device->pool.hits, hits + 1);
	assert_int_equal(bi_view_is_idle(pinned), 1);
	bi_view_release(pinned);
	bi_view_release(a);
}

static void trimming_empties_the_pool(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		bi_view_release(NEW_ARRAY(device, "uint8", 1000 << i));
	assert_true(device->pool.bytes > 0);
	bi__memory_trim_pool(device, 0);
	assert_int_equal(device->pool.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_memory_goes_to_the_pool),
		cmocka_unit_test(exported_memory_does_not),
		cmocka_unit_test(unknown_work_of_a_parent_stays_out_of_the_pool),
		cmocka_unit_test(a_child_does_not_wait_for_the_lock_of_retired_memories),
		cmocka_unit_test(a_producer_is_called_when_the_work_is_complete),
		cmocka_unit_test(a_producer_is_called_without_cancellation),
		cmocka_unit_test(memory_from_the_pool_is_idle),
		cmocka_unit_test(trimming_empties_the_pool),
	};
	int failed;

	device = open_device("cuda:0");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(device);
	return failed;
}
