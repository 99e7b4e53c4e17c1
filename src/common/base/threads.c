#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "common/base/threads.h"

#ifdef _WIN32
/* Windows has no signals. A new thread has the affinity of the process. */
int bi__thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	return pthread_create(thread, NULL, run, arg);
}

void bi__thread_adopt_affinity(void)
{
}

int bi__count_processors(void)
{
	return pthread_num_processors_np();
}
#else
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static void block_signals(sigset_t *before)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	sigset_t others;

	sigfillset(&others);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&others, own[i]);
	pthread_sigmask(SIG_SETMASK, &others, before);
}

int bi__thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t before;
	int code;

	block_signals(&before);
	code = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

void bi__thread_adopt_affinity(void)
{
#ifdef __linux__
	cpu_set_t set;

	if (!sched_getaffinity(getpid(), sizeof(set), &set))
		(void)sched_setaffinity(0, sizeof(set), &set);
#endif
}

int bi__count_processors(void)
{
	long count;

#ifdef __linux__
	cpu_set_t set;

	if (!sched_getaffinity(getpid(), sizeof(set), &set))
		return CPU_COUNT(&set);
#endif
	count = sysconf(_SC_NPROCESSORS_ONLN);
	return count < 1 ? 1 : count > 1024 ? 1024 : (int)count;
}
#endif
