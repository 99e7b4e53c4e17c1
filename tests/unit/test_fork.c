/*
 * The generation of a process: one more in each forked child, from the first call of bi__fork_watch on. Locks that
 * threads of the parent held are new in the child.
 */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include "common/base/fork.h"
#include "common/runtime/order.h"

static int own_generation(void *unused)
{
	(void)unused;
	return (int)bi__fork_generation;
}

static int generation_of_grandchild(void *unused)
{
	return status_of_child(own_generation, unused);
}

static void forks_are_counted_once_watched(void **state)
{
	(void)state;
	assert_int_equal(bi__fork_generation, 0);
	assert_int_equal(status_of_child(own_generation, NULL), 0);
	bi__fork_watch();
	bi__fork_watch();
	assert_int_equal(status_of_child(own_generation, NULL), 1);
	assert_int_equal(status_of_child(generation_of_grandchild, NULL), 2);
	assert_int_equal(bi__fork_generation, 0);
}

/* The bytes of an array on the host, whose lock a thread holds from `is_held` to `may_end`. */
static struct {
	struct bi_view *view;
	pthread_barrier_t is_held, may_end;
} held;

static void *hold_lock(void *unused)
{
	struct bi_memory *memory = bi_view_memory(held.view);

	bi__order_lock(memory, NULL);
	pthread_barrier_wait(&held.is_held);
	pthread_barrier_wait(&held.may_end);
	bi__order_unlock(memory, NULL);
	return unused;
}

/* A child that hangs is killed. It releases the array, so that a search for leaks finds none. */
static int use_array(void *unused)
{
	unsigned char bytes[4] = { 1, 2, 3, 4 }, found[4];
	int rc = 0;

	(void)unused;
	alarm(30);
	for (int i = 0; i < 2 && !rc; i++)
		rc = bi_view_write(held.view, bytes, 4, NULL) || bi_view_read(held.view, found, 4, NULL) ||
		     memcmp(found, bytes, 4) != 0;
	bi_view_release(held.view);
	return rc;
}

static void a_child_uses_memory_that_a_thread_had_locked(void **state)
{
	struct bi_context *host = open_device("host");
	pthread_t thread;

	(void)state;
	held.view = NEW_ARRAY(host, "uint8", 4);
	pthread_barrier_init(&held.is_held, NULL, 2);
	pthread_barrier_init(&held.may_end, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, hold_lock, NULL), 0);
	pthread_barrier_wait(&held.is_held);
	assert_int_equal(status_of_child(use_array, NULL), 0);
	pthread_barrier_wait(&held.may_end);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&held.is_held);
	pthread_barrier_destroy(&held.may_end);
	bi_view_release(held.view);
	bi_context_release(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forks_are_counted_once_watched),
		cmocka_unit_test(a_child_uses_memory_that_a_thread_had_locked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
