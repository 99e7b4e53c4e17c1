/* Order of one memory: who waits, and when a memory is idle. */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include <stdatomic.h>
#include <pthread.h>
#include <time.h>

#include "common/runtime/order.h"

static struct bi_context *device, *host;

static void a_memory_is_idle_once_it_was_waited_for(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 4096);
	struct bi_memory *memory = bi_view_memory(a);
	const unsigned char byte = 3;

	(void)state;
	OK(bi_fill(a, &byte, NULL, &error));
	assert_false(memory->idle);
	OK(bi__order_synchronize(memory, BI__WAIT_SYNCHRONIZE, &error));
	assert_true(memory->idle);
	bi_view_release(a);
}

static void waits_are_counted_and_idle_memory_needs_none(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 4096);
	struct bi_memory *memory = bi_view_memory(a);
	unsigned long long before = atomic_load(&device->waits[BI__WAIT_MAP]);
	const unsigned char byte = 3;

	(void)state;
	OK(bi_fill(a, &byte, NULL, &error));
	OK(bi__order_synchronize(memory, BI__WAIT_MAP, &error));
	assert_int_equal(atomic_load(&device->waits[BI__WAIT_MAP]), before + 1);
	OK(bi__order_synchronize(memory, BI__WAIT_MAP, &error));
	assert_int_equal(atomic_load(&device->waits[BI__WAIT_MAP]), before + 1);
	bi_view_release(a);
}

/* Work of a device on host memory leaves a last-use event, for which reading waits. */
static void device_work_on_host_memory_is_waited_for(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 1 << 16), *b = NEW_ARRAY(host, "uint8", 1 << 16);

	(void)state;
	number_bytes(a);
	OK(bi_copy(b, a, NULL, &error));
	assert_same_elements(b, a);
	OK(bi_view_synchronize(b, &error));
	assert_true(bi_view_memory(b)->idle);
	bi_view_release(b);
	bi_view_release(a);
}

static void both_memories_are_locked(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 64), *b = NEW_ARRAY(device, "uint8", 64);
	struct bi_memory *first = bi_view_memory(a), *second = bi_view_memory(b);

	(void)state;
	bi__order_lock(first, second);
	assert_int_equal(pthread_mutex_trylock(&first->lock) != 0, 1);
	assert_int_equal(pthread_mutex_trylock(&second->lock) != 0, 1);
	bi__order_unlock(first, second);
	/* One memory on both sides is locked once. */
	bi__order_lock(first, first);
	bi__order_unlock(first, first);
	assert_int_equal(pthread_mutex_trylock(&first->lock), 0);
	assert_int_equal(bi__order_try_lock(first), 0);
	pthread_mutex_unlock(&first->lock);
	bi_view_release(b);
	bi_view_release(a);
}

static void *name_home(void *memory)
{
	return bi__order_name_home(memory, 1, NULL) ? NULL : memory;
}

static void the_home_of_a_locked_memory_is_named_later(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 64);
	struct bi_memory *memory = bi_view_memory(a);
	pthread_t thread;
	void *named;

	(void)state;
	bi__order_lock(memory, NULL);
	REFUSED(BI_EBUSY, bi__order_name_home(memory, 0, &error));
	assert_int_equal(pthread_create(&thread, NULL, name_home, memory), 0);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	assert_false(memory->marks & BI__MARK_NAMED);
	bi__order_unlock(memory, NULL);
	assert_int_equal(pthread_join(thread, &named), 0);
	assert_ptr_equal(named, memory);
	assert_true(memory->marks & BI__MARK_NAMED);
	bi_view_release(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_memory_is_idle_once_it_was_waited_for),
		cmocka_unit_test(waits_are_counted_and_idle_memory_needs_none),
		cmocka_unit_test(device_work_on_host_memory_is_waited_for),
		cmocka_unit_test(both_memories_are_locked),
		cmocka_unit_test(the_home_of_a_locked_memory_is_named_later),
	};
	int failed;

	device = open_device("cuda:0");
	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(device);
	return failed;
}
