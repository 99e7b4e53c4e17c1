/* Threads: the signals that they block, and their processors. test_workers.c tests the signals of the copy engine. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "unit.h"

#include <sched.h>
#include <signal.h>

#include "common/base/threads.h"

struct seen {
	sigset_t blocked;
	cpu_set_t before, after;
};

static void *look(void *arg)
{
	struct seen *seen = arg;

	pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked);
	sched_getaffinity(0, sizeof(seen->before), &seen->before);
	bi__thread_adopt_affinity();
	sched_getaffinity(0, sizeof(seen->after), &seen->after);
	return NULL;
}

static void start(struct seen *seen)
{
	pthread_t thread;

	assert_int_equal(bi__thread_start(&thread, look, seen), 0);
	pthread_join(thread, NULL);
}

static void only_faults_reach_a_thread(void **state)
{
	struct seen seen;
	sigset_t own;

	(void)state;
	start(&seen);
	assert_true(sigismember(&seen.blocked, SIGINT) && sigismember(&seen.blocked, SIGTERM));
	assert_false(sigismember(&seen.blocked, SIGSEGV) || sigismember(&seen.blocked, SIGBUS));
	pthread_sigmask(SIG_BLOCK, NULL, &own);
	assert_false(sigismember(&own, SIGINT));
}

static void *start_from_one_processor(void *seen)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	start(seen);
	return NULL;
}

static void a_thread_gets_the_processors_of_the_main_thread(void **state)
{
	struct seen seen;
	pthread_t bound;
	cpu_set_t all;

	(void)state;
	sched_getaffinity(0, sizeof(all), &all);
	assert_int_equal(bi__count_processors(), CPU_COUNT(&all));
	assert_int_equal(pthread_create(&bound, NULL, start_from_one_processor, &seen), 0);
	pthread_join(bound, NULL);
	assert_int_equal(CPU_COUNT(&seen.before), 1);
	assert_true(CPU_EQUAL(&seen.after, &all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_faults_reach_a_thread),
		cmocka_unit_test(a_thread_gets_the_processors_of_the_main_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
