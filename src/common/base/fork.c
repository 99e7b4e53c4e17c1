#include "common/base/fork.h"

#include <pthread.h>

atomic_uint bi__fork_generation;

#ifdef _WIN32
/* Windows has no fork. */
void bi__fork_watch(void)
{
}
#else
static pthread_once_t is_registered = PTHREAD_ONCE_INIT;

static void count_child(void)
{
	atomic_fetch_add_explicit(&bi__fork_generation, 1, memory_order_relaxed);
}

static void register_fork_handler(void)
{
	pthread_atfork(NULL, NULL, count_child);
}

void bi__fork_watch(void)
{
	pthread_once(&is_registered, register_fork_handler);
}
#endif
