/* Threads and processors, where systems differ. */
#ifndef BI_COMMON_BASE_THREADS_H
#define BI_COMMON_BASE_THREADS_H

#include <pthread.h>

/*
 * Starts a thread with all signals blocked, except those of a fault in the thread itself: if these were blocked, a
 * fault would end the process even if the program has a handler. Returns 0, or an error number of pthread_create.
 */
int bi__thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/*
 * Gives the calling thread the processor affinity of the main thread. Otherwise it has that of the thread that started
 * it, which may be bound to one processor. Does nothing if the system cannot do it.
 */
void bi__thread_adopt_affinity(void);

/* Returns the number of processors that the process may use, at least 1. */
int bi__count_processors(void);

#endif
