#include "common/fork.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint generation;
static pthread_once_t watching = PTHREAD_ONCE_INIT;

static void count_child(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static void watch(void)
{
	pthread_atfork(NULL, NULL, count_child);
}

unsigned bi__fork_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

void bi__fork_watch(void)
{
	pthread_once(&watching, watch);
}
