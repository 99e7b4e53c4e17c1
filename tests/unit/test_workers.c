/* The threads that help with large copies: each chunk once, by any number of threads, by several callers, after a fork.
 */
#define _GNU_SOURCE /* sched_getaffinity */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buffer_interface.h"
#include "common/engine/workers.h"
#include "array_length.h"

#define CHUNKS 1000

struct job {
	atomic_int times[CHUNKS];
	pthread_t caller;
	atomic_int elsewhere, signals_open, faults_blocked;
	int plain[CHUNKS]; /* written by chunks, read by the caller: unordered, ThreadSanitizer says so */
};

static int is_open(int signal_number)
{
	sigset_t blocked;

	return pthread_sigmask(SIG_BLOCK, NULL, &blocked) || !sigismember(&blocked, signal_number);
}

static void count(void *arg, int chunk)
{
	struct job *job = arg;

	atomic_fetch_add(&job->times[chunk], 1);
	job->plain[chunk] = chunk + 1;
	if (pthread_equal(pthread_self(), job->caller))
		return;
	atomic_fetch_add(&job->elsewhere, 1);
	if (is_open(SIGINT) || is_open(SIGTERM) || is_open(SIGUSR1))
		atomic_store(&job->signals_open, 1);
	/* What a fault raises goes to the process's handler. */
	if (!is_open(SIGSEGV) || !is_open(SIGBUS) || !is_open(SIGFPE))
		atomic_store(&job->faults_blocked, 1);
}

static void run_once(struct job *job, int chunks)
{
	memset(job, 0, sizeof(*job));
	job->caller = pthread_self();
	bi__workers_run(chunks, count, job);
	for (int i = 0; i < CHUNKS; i++) {
		assert_int_equal(atomic_load(&job->times[i]), i < chunks);
		assert_int_equal(job->plain[i], i < chunks ? i + 1 : 0);
	}
	assert_int_equal(atomic_load(&job->signals_open), 0);
	assert_int_equal(atomic_load(&job->faults_blocked), 0);
}

static void each_chunk_is_done_once(void **state)
{
	static struct job job;

	(void)state;
	for (int threads = 1; threads <= 8; threads++) {
		assert_int_equal(bi_set_threads(threads, NULL), BI_OK);
		assert_int_equal(bi_threads(), threads);
		for (int chunks = 1; chunks <= CHUNKS; chunks += 37)
			run_once(&job, chunks);
	}
}

static void nap(void *arg, int chunk)
{
	const struct timespec moment = { 0, 2000000 };

	(void)chunk;
	nanosleep(&moment, NULL);
	count(arg, chunk);
}

/* While the caller sleeps in its chunks, somebody must take the others; one thread alone does all. */
static void others_help(void **state)
{
	static struct job job;

	(void)state;
	for (int threads = 1; threads <= 4; threads += 3) {
		assert_int_equal(bi_set_threads(threads, NULL), BI_OK);
		memset(&job, 0, sizeof(job));
		job.caller = pthread_self();
		bi__workers_run(61, nap, &job);
		assert_int_equal(atomic_load(&job.elsewhere) > 0, threads > 1);
		/* Also those that others were at when the caller had none left. */
		for (int i = 0; i < 61; i++)
			assert_int_equal(job.plain[i], i + 1);
	}
}

#ifdef __linux__

/* A thread that is bound to one processor, as are those of some runtimes; it starts all threads that are missing. */
struct bound {
	cpu_set_t process;
	atomic_int elsewhere, elsewhere_bound;
	pthread_t caller;
	int usual;
};

static void look_at_processors(void *arg, int chunk)
{
	const struct timespec moment = { 0, 2000000 };
	struct bound *bound = arg;
	cpu_set_t mine;

	(void)chunk;
	nanosleep(&moment, NULL);
	if (pthread_equal(pthread_self(), bound->caller))
		return;
	atomic_fetch_add(&bound->elsewhere, 1);
	if (sched_getaffinity(0, sizeof(mine), &mine) || !CPU_EQUAL(&mine, &bound->process))
		atomic_store(&bound->elsewhere_bound, 1);
}

static void *call_bound(void *arg)
{
	struct bound *bound = arg;
	cpu_set_t one;

	CPU_ZERO(&one);
	for (size_t i = 0; !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &bound->process))
			CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return NULL;
	bound->caller = pthread_self();
	bi_set_threads(0, NULL);
	bound->usual = bi_threads();
	bi_set_threads(BI_MAX_THREADS, NULL);
	bi__workers_run(200, look_at_processors, bound);
	return bound;
}

/* How many threads there are, and where they run, is a matter of the process and not of who calls first. */
static void a_bound_caller_binds_nobody_else(void **state)
{
	struct bound bound = { .usual = 0 };
	pthread_t caller;
	void *done;
	int count;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(bound.process), &bound.process), 0);
	count = CPU_COUNT(&bound.process);
	assert_int_equal(pthread_create(&caller, NULL, call_bound, &bound), 0);
	assert_int_equal(pthread_join(caller, &done), 0);
	assert_non_null(done);
	assert_int_equal(bound.usual, count < 8 ? count : 8);
	assert_true(atomic_load(&bound.elsewhere) > 0);
	assert_int_equal(atomic_load(&bound.elsewhere_bound), 0);
	assert_int_equal(bi_set_threads(0, NULL), BI_OK);
}

#endif

/* Returns its argument, or NULL if there is no memory. */
static void *call_often(void *data)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return NULL;
	for (int i = 0; i < 100; i++)
		run_once(job, 1 + i * 7);
	free(job);
	return data;
}

static void several_callers_do_not_mix(void **state)
{
	pthread_t callers[4];
	void *done;

	(void)state;
	assert_int_equal(bi_set_threads(3, NULL), BI_OK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&callers[i], NULL, call_often, callers), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(callers[i], &done), 0);
		assert_non_null(done);
	}
}

/* Shares of another caller that hang until they are let go. */
static void hang(void *released, int chunk)
{
	const struct timespec moment = { 0, 1000000 };

	(void)chunk;
	while (!atomic_load((atomic_int *)released))
		nanosleep(&moment, NULL);
}

static void *run_hanging(void *released)
{
	bi__workers_run(2, hang, released);
	return NULL;
}

/* A caller whose chunks hang holds up nobody else, whichever of the two has the workers. */
static void a_second_caller_waits_for_nobody(void **state)
{
	static struct job job;
	atomic_int released = 0;
	pthread_t other;

	(void)state;
	assert_int_equal(bi_set_threads(2, NULL), BI_OK);
	assert_int_equal(pthread_create(&other, NULL, run_hanging, &released), 0);
	for (int i = 0; i < 200; i++)
		run_once(&job, 50);
	atomic_store(&released, 1);
	assert_int_equal(pthread_join(other, NULL), 0);
}

static int works_alone(void)
{
	static struct job job;

	memset(&job, 0, sizeof(job));
	job.caller = pthread_self();
	bi__workers_run(60, count, &job);
	for (int i = 0; i < 60; i++)
		if (atomic_load(&job.times[i]) != 1)
			return 0;
	return bi_threads() == 1 && atomic_load(&job.elsewhere) == 0;
}

static void a_forked_child_works_alone(void **state)
{
	static struct job job;
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(bi_set_threads(4, NULL), BI_OK);
	run_once(&job, 100);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(20);
		/* By exit: what the library does at the end of a process is done in the child as well. */
		exit(works_alone() ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	run_once(&job, 100);
}

static void the_number_is_checked(void **state)
{
	struct bi_error err;
	int usual;

	(void)state;
	assert_int_equal(bi_set_threads(5, &err), BI_OK);
	assert_int_equal(bi_set_threads(-1, &err), BI_EINVAL);
	assert_string_equal(err.message, "-1 threads are not in 0..64");
	assert_int_equal(bi_set_threads(BI_MAX_THREADS + 1, &err), BI_EINVAL);
	assert_int_equal(bi_threads(), 5);
	assert_int_equal(bi_set_threads(BI_MAX_THREADS, &err), BI_OK);
	assert_int_equal(bi_threads(), BI_MAX_THREADS);
	unsetenv("BI_THREADS");
	assert_int_equal(bi_set_threads(0, &err), BI_OK);
	usual = bi_threads();
	assert_in_range(usual, 1, 8);
}

/* What is no number from 1 to 64 counts as if it were not set. */
static void the_environment_is_read(void **state)
{
	static const struct {
		const char *text;
		int threads; /* 0: as if it were not set */
	} cases[] = {
		{ "1", 1 }, { "7", 7 },   { "64", 64 }, { "065", 0 }, { "0", 0 },  { "-2", 0 },
		{ "", 0 },  { "two", 0 }, { "3x", 0 },  { " 3", 0 },  { "+3", 0 }, { "99999999999999999999", 0 }
	};
	int usual;

	(void)state;
	unsetenv("BI_THREADS");
	assert_int_equal(bi_set_threads(0, NULL), BI_OK);
	usual = bi_threads();
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		setenv("BI_THREADS", cases[i].text, 1);
		assert_int_equal(bi_set_threads(0, NULL), BI_OK);
		assert_int_equal(bi_threads(), cases[i].threads ? cases[i].threads : usual);
	}
	unsetenv("BI_THREADS");
	assert_int_equal(bi_set_threads(0, NULL), BI_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_chunk_is_done_once),          cmocka_unit_test(others_help),
		cmocka_unit_test(several_callers_do_not_mix),       cmocka_unit_test(a_second_caller_waits_for_nobody),
		cmocka_unit_test(a_forked_child_works_alone),       cmocka_unit_test(the_number_is_checked),
		cmocka_unit_test(the_environment_is_read),
#ifdef __linux__
		cmocka_unit_test(a_bound_caller_binds_nobody_else),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
