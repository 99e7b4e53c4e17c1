#define _POSIX_C_SOURCE 200809L
#include "common/engine/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/environment.h"
#include "common/base/fork.h"
#include "common/base/status.h"
#include "common/base/threads.h"

/* The largest default number of threads. So many threads usually saturate the memory. */
#define DEFAULT_MOST 8

/* The time for which a thread polls before it sleeps. To wake a thread takes about as long. */
#define SPIN_NS 50000

/*
 * The job in progress. `ticket` holds the number of the job (32 bits), its number of chunks (16 bits) and the first
 * chunk that no thread has claimed (16 bits). A thread claims a chunk by a compare-and-exchange of the ticket. If the
 * exchange succeeds, the job is not over, so job_fn and job_arg belong to this job.
 */
static _Atomic uint64_t ticket;
static void (*job_fn)(void *arg, int chunk);
static void *job_arg;
static atomic_int job_done;
static atomic_int job_helpers;
static atomic_flag job_taken = ATOMIC_FLAG_INIT;

/* Guarded by lock, but stop_threads reads `threads` without it: after `stopping` is set, no thread is started. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static pthread_t threads[BI_MAX_THREADS];
static int thread_count, sleeping, stopping;

static atomic_int chosen_count;

static int chunks_of(uint64_t t)
{
	return (int)(t >> 16 & 0xffff);
}

static int next_of(uint64_t t)
{
	return (int)(t & 0xffff);
}

/* Claims and runs one chunk. Returns 1, or 0 if no chunk is left. */
static int run_next_chunk(void)
{
	uint64_t t = atomic_load_explicit(&ticket, memory_order_relaxed);

	do {
		if (next_of(t) >= chunks_of(t))
			return 0;
	} while (
		!atomic_compare_exchange_weak_explicit(&ticket, &t, t + 1, memory_order_acquire, memory_order_relaxed));
	job_fn(job_arg, next_of(t));
	if (atomic_fetch_add_explicit(&job_done, 1, memory_order_release) + 1 == chunks_of(t)) {
		pthread_mutex_lock(&lock);
		pthread_cond_broadcast(&finished);
		pthread_mutex_unlock(&lock);
	}
	return 1;
}

static void pause_cpu(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
	__asm__ volatile("yield");
#endif
}

static int is_wanted(int index)
{
	const uint64_t t = atomic_load_explicit(&ticket, memory_order_relaxed);

	return next_of(t) < chunks_of(t) && index < atomic_load_explicit(&job_helpers, memory_order_relaxed);
}

/* Waits for a job. Returns 1 if there is one, or 0 if this worker must end. */
static int wait_for_job(int index)
{
	const int64_t end = bi__clock_ns() + SPIN_NS;
	int goes_on;

	while (!is_wanted(index) && bi__clock_ns() < end)
		pause_cpu();
	if (is_wanted(index))
		return 1;
	pthread_mutex_lock(&lock);
	sleeping++;
	while (!stopping && !is_wanted(index))
		pthread_cond_wait(&wake, &lock);
	sleeping--;
	goes_on = !stopping;
	pthread_mutex_unlock(&lock);
	return goes_on;
}

static void *run_worker(void *index)
{
	bi__thread_adopt_affinity();
	while (wait_for_job((int)(intptr_t)index))
		while (run_next_chunk())
			;
	return NULL;
}

static void start_threads_locked(int count)
{
	while (thread_count < count && !stopping &&
	       !bi__thread_start(&threads[thread_count], run_worker, (void *)(intptr_t)thread_count))
		thread_count++;
}

/* Runs when the process ends or the library is unloaded. The library has no other destructor. */
__attribute__((destructor)) static void stop_threads(void)
{
	int count;

	if (bi__fork_generation)
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
	start_threads_locked(count);
	if (sleeping)
		pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&lock);
}

static int is_finished(int chunks)
{
	return atomic_load_explicit(&job_done, memory_order_acquire) >= chunks;
}

/*
 * Waits until the last chunks, which run on other threads, are done. The calling thread first polls, because chunks are
 * short. Then it sleeps, because a polling thread of higher priority could keep the other threads from running.
 */
static void wait_for_chunks(int chunks)
{
	const int64_t end = bi__clock_ns() + SPIN_NS;

	while (!is_finished(chunks) && bi__clock_ns() < end)
		pause_cpu();
	if (is_finished(chunks))
		return;
	pthread_mutex_lock(&lock);
	while (!is_finished(chunks))
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
}

/* Runs a job on the calling thread and about `helpers` workers. The calling thread has set job_taken. */
static void run_shared_job(int helpers, int chunks, void (*fn)(void *arg, int chunk), void *arg)
{
	uint64_t number;

	bi__fork_watch();
	job_fn = fn;
	job_arg = arg;
	atomic_store_explicit(&job_done, 0, memory_order_relaxed);
	atomic_store_explicit(&job_helpers, helpers, memory_order_relaxed);
	number = (atomic_load_explicit(&ticket, memory_order_relaxed) >> 32) + 1;
	atomic_store_explicit(&ticket, number << 32 | (uint64_t)chunks << 16, memory_order_release);
	wake_helpers(helpers);
	while (run_next_chunk())
		;
	wait_for_chunks(chunks);
}

/*
 * The calling thread cannot be cancelled during the job. If it ended while it waits for the chunks of other threads,
 * the lock would stay held and the job taken. A chunk may also call a kernel of the caller, which may reach a
 * cancellation point.
 */
void bi__workers_run(int chunks, void (*fn)(void *arg, int chunk), void *arg)
{
	int helpers = bi_threads() - 1, state;

	if (helpers > chunks - 1)
		helpers = chunks - 1;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (helpers > 0 && !atomic_flag_test_and_set_explicit(&job_taken, memory_order_acquire)) {
		run_shared_job(helpers, chunks, fn, arg);
		atomic_flag_clear_explicit(&job_taken, memory_order_release);
	} else {
		for (int i = 0; i < chunks; i++)
			fn(arg, i);
	}
	pthread_setcancelstate(state, NULL);
}

static int default_thread_count(void)
{
	int count = (int)bi__environment_number("BI_THREADS", 1, BI_MAX_THREADS, 0);

	if (count)
		return count;
	count = bi__count_processors();
	return count < DEFAULT_MOST ? count : DEFAULT_MOST;
}

int bi_threads(void)
{
	int count = atomic_load_explicit(&chosen_count, memory_order_relaxed), none = 0;

	if (bi__fork_generation)
		return 1;
	if (count)
		return count;
	count = default_thread_count();
	/* If another thread has set a count meanwhile, that count is used. */
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
