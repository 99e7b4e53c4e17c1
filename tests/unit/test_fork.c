/*
 * The generation of a process: one more in each forked child, from the first call of bi__fork_watch on. Locks that
 * threads of the parent held are new in the child.
 */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include <time.h>

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

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *hold_mutex(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&held.is_held);
	pthread_barrier_wait(&held.may_end);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *let_mutex_go(void *unused)
{
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	pthread_barrier_wait(&held.may_end);
	return unused;
}

/* Another thread holds the mutex for some time. */
static int lock_while_held(unsigned process)
{
	pthread_t threads[2];
	int is_locked;

	alarm(30);
	pthread_barrier_init(&held.is_held, NULL, 2);
	pthread_barrier_init(&held.may_end, NULL, 2);
	pthread_create(&threads[0], NULL, hold_mutex, NULL);
	pthread_barrier_wait(&held.is_held);
	pthread_create(&threads[1], NULL, let_mutex_go, NULL);
	is_locked = bi__fork_lock(&mutex, process);
	if (is_locked)
		pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return is_locked;
}

static int lock_new_mutex(void *unused)
{
	(void)unused;
	return lock_while_held(bi__fork_generation);
}

static int lock_old_mutex(void *unused)
{
	(void)unused;
	return lock_while_held(bi__fork_generation - 1);
}

/* A child waits for the locks of what it has made, because its own threads hold them. */
static void a_child_waits_for_its_own_locks_only(void **state)
{
	(void)state;
	bi__fork_watch();
	assert_int_equal(lock_new_mutex(NULL), 1);
	assert_int_equal(status_of_child(lock_new_mutex, NULL), 1);
	assert_int_equal(status_of_child(lock_old_mutex, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forks_are_counted_once_watched),
		cmocka_unit_test(a_child_uses_memory_that_a_thread_had_locked),
		cmocka_unit_test(a_child_waits_for_its_own_locks_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
