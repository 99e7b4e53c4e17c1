#include "common/base/fork.h"

atomic_uint bi__fork_generation;

int bi__fork_lock(pthread_mutex_t *mutex, unsigned process)
{
	return !(process == bi__fork_generation ? pthread_mutex_lock(mutex) : pthread_mutex_trylock(mutex));
}

#ifdef _WIN32
/* Windows has no fork. */
void bi__fork_watch(void)
{
}

void bi__fork_renew(pthread_mutex_t *mutex, atomic_uint *process)
{
	(void)mutex;
	(void)process;
}
#else
static pthread_once_t is_registered = PTHREAD_ONCE_INIT;
static pthread_mutex_t renewal = PTHREAD_MUTEX_INITIALIZER; /* held by bi__fork_renew; new in each child */

static void count_child(void)
{
	renewal = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	atomic_fetch_add_explicit(&bi__fork_generation, 1, memory_order_relaxed);
}

static void register_fork_handler(void)
{
	pthread_atfork(NULL, NULL, count_child);
}

void bi__fork_renew(pthread_mutex_t *mutex, atomic_uint *process)
{
	pthread_mutex_lock(&renewal);
	if (*process != bi__fork_generation) {
		*mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		*process = bi__fork_generation;
	}
	pthread_mutex_unlock(&renewal);
}

void bi__fork_watch(void)
{
	pthread_once(&is_registered, register_fork_handler);
}
#endif
