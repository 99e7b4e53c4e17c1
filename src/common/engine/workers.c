#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#endif

#include "common/engine/workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fork.h"
#include "common/base/status.h"

/* Memory is busy with this many; more only take processors from others. */
#define DEFAULT_MOST 8

/* How long a worker looks for another job before it sleeps: about as long as waking it takes. */
#define SPIN_NS 50000

/*
 * A job. `ticket` is its number, its shares, and the next that nobody has taken: 32, 16 and 16 bits. Who takes a share
 * by exchanging the ticket knows that the job is not over, so that fn and arg are its own.
 */
static _Atomic uint64_t ticket;
static void (*job_fn)(void *arg, int share);
static void *job_arg;
static atomic_int job_done;
static atomic_int job_helpers;
static atomic_flag job_taken = ATOMIC_FLAG_INIT;

/* The threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static pthread_t threads[BI_MAX_THREADS];
static int thread_count, sleeping, stopping;

static atomic_int chosen_count;

static int shares_of(uint64_t t)
{
	return (int)(t >> 16 & 0xffff);
}

static int next_of(uint64_t t)
{
	return (int)(t & 0xffff);
}

static int has_share(void)
{
	uint64_t t = atomic_load_explicit(&ticket, memory_order_relaxed);

	return next_of(t) < shares_of(t);
}

static void say_finished(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&finished);
	pthread_mutex_unlock(&lock);
}

/* Does one share, if there is one. */
static int work(void)
{
	uint64_t t = atomic_load_explicit(&ticket, memory_order_relaxed);

	do {
		if (next_of(t) >= shares_of(t))
			return 0;
	} while (
		!atomic_compare_exchange_weak_explicit(&ticket, &t, t + 1, memory_order_acquire, memory_order_relaxed));
	job_fn(job_arg, next_of(t));
	if (atomic_fetch_add_explicit(&job_done, 1, memory_order_release) + 1 == shares_of(t))
		say_finished();
	return 1;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_a_little(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
	__asm__ volatile("yield");
#endif
}

static int is_asked(int index)
{
	return has_share() && index < atomic_load_explicit(&job_helpers, memory_order_relaxed);
}

/* 0: this worker ends. */
static int wait_for_job(int index)
{
	const int64_t end = now_ns() + SPIN_NS;
	int goes_on;

	while (!is_asked(index) && now_ns() < end)
		pause_a_little();
	if (is_asked(index))
		return 1;
	pthread_mutex_lock(&lock);
	sleeping++;
	while (!stopping && !is_asked(index))
		pthread_cond_wait(&wake, &lock);
	sleeping--;
	goes_on = !stopping;
	pthread_mutex_unlock(&lock);
	return goes_on;
}

/*
 * The thread that happens to be the first to make a large copy may be bound to one processor, which its workers would
 * inherit: they go where the main thread may. Where they may not, they stay.
 */
static void leave_the_starter(void)
{
#ifdef __linux__
	cpu_set_t set;

	if (!sched_getaffinity(getpid(), sizeof(set), &set))
		(void)sched_setaffinity(0, sizeof(set), &set);
#endif
}

static void *worker(void *index)
{
	leave_the_starter();
	while (wait_for_job((int)(intptr_t)index))
		while (work())
			;
	return NULL;
}

/* All but those that a thread raises itself: blocked, they end the process whatever handler it has. */
static void block_signals(sigset_t *before)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	sigset_t others;

	sigfillset(&others);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&others, own[i]);
	pthread_sigmask(SIG_SETMASK, &others, before);
}

/* Locked. */
static void start_threads(int count)
{
	sigset_t before;

	if (thread_count >= count || stopping)
		return;
	block_signals(&before);
	while (thread_count < count &&
	       !pthread_create(&threads[thread_count], NULL, worker, (void *)(intptr_t)thread_count))
		thread_count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* At the end of the process, or when the library is unloaded; no destructor of ours is left to run after it. */
__attribute__((destructor)) static void stop_threads(void)
{
	int count;

	if (bi__fork_generation())
		return;
	pthread_mutex_lock(&lock);
	stopping = 1;
	count = thread_count;
	thread_count = 0;
	pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void wake_helpers(int count)
{
	pthread_mutex_lock(&lock);
	start_threads(count);
	if (sleeping)
		pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&lock);
}

static void run_alone(int shares, void (*fn)(void *arg, int share), void *arg)
{
	for (int i = 0; i < shares; i++)
		fn(arg, i);
}

static int is_finished(int shares)
{
	return atomic_load_explicit(&job_done, memory_order_acquire) >= shares;
}

/*
 * The last shares are under way elsewhere, and each is short. But a thread that only spun could keep those that are at
 * them from running, if it has the higher priority.
 */
static void await_shares(int shares)
{
	const int64_t end = now_ns() + SPIN_NS;

	while (!is_finished(shares) && now_ns() < end)
		pause_a_little();
	if (is_finished(shares))
		return;
	pthread_mutex_lock(&lock);
	while (!is_finished(shares))
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
}

void bi__workers_run(int shares, void (*fn)(void *arg, int share), void *arg)
{
	int helpers = bi_threads() - 1;
	uint64_t number;

	if (helpers > shares - 1)
		helpers = shares - 1;
	if (helpers <= 0 || atomic_flag_test_and_set_explicit(&job_taken, memory_order_acquire)) {
		run_alone(shares, fn, arg);
		return;
	}
	bi__fork_watch();
	job_fn = fn;
	job_arg = arg;
	atomic_store_explicit(&job_done, 0, memory_order_relaxed);
	atomic_store_explicit(&job_helpers, helpers, memory_order_relaxed);
	number = (atomic_load_explicit(&ticket, memory_order_relaxed) >> 32) + 1;
	atomic_store_explicit(&ticket, number << 32 | (uint64_t)shares << 16, memory_order_release);
	wake_helpers(helpers);
	while (work())
		;
	await_shares(shares);
	atomic_flag_clear_explicit(&job_taken, memory_order_release);
}

/* Processors that the process may use. */
static int processors(void)
{
	long count;

#ifdef __linux__
	cpu_set_t set;

	if (!sched_getaffinity(getpid(), sizeof(set), &set))
		return CPU_COUNT(&set);
#endif
	count = sysconf(_SC_NPROCESSORS_ONLN);
	return count < 1 ? 1 : count > BI_MAX_THREADS ? BI_MAX_THREADS : (int)count;
}

/* What BI_THREADS says; 0 if it is not set, or no whole number in 1..BI_MAX_THREADS. */
static int wished_count(void)
{
	const char *text = getenv("BI_THREADS");
	long count;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	count = strtol(text, &end, 10);
	return *end == '\0' && count >= 1 && count <= BI_MAX_THREADS ? (int)count : 0;
}

static int default_count(void)
{
	int count = wished_count();

	if (count)
		return count;
	count = processors();
	return count < DEFAULT_MOST ? count : DEFAULT_MOST;
}

int bi_threads(void)
{
	int count = atomic_load_explicit(&chosen_count, memory_order_relaxed), none = 0;

	if (bi__fork_generation())
		return 1;
	if (count)
		return count;
	count = default_count();
	/* Unless somebody has chosen in the meantime. */
	return atomic_compare_exchange_strong_explicit(&chosen_count, &none, count, memory_order_relaxed,
						       memory_order_relaxed)
		       ? count
		       : none;
}

int bi_set_threads(int count, struct bi_error *err)
{
	if (count < 0 || count > BI_MAX_THREADS)
		return bi__fail(err, BI_EINVAL, "%d threads are not in 0..%d", count, BI_MAX_THREADS);
	atomic_store_explicit(&chosen_count, count, memory_order_relaxed);
	return BI_OK;
}
