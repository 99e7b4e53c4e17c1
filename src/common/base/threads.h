/* Threads and processors, where systems differ. */
#ifndef BI_COMMON_BASE_THREADS_H
#define BI_COMMON_BASE_THREADS_H

#include <pthread.h>

/*
 * Starts a thread that blocks all signals except SIGSEGV, SIGBUS, SIGFPE and SIGILL. If these were blocked, a fault
 * in the thread would end the process even if the program has a handler. Returns 0, or an error of pthread_create.
 */
int bi__thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/*
 * Gives the calling thread the processor affinity of the main thread. A new thread has the affinity of the thread that
 * started it, which may be bound to one processor. Does nothing on systems other than Linux, and on failure.
 */
void bi__thread_adopt_affinity(void);

/*
 * Returns the number of processors that the main thread (Linux) or the process (Windows) may use, at least 1. Where
 * this number is not available, returns the number of processors that are online, at most 1024.
 */
int bi__count_processors(void);

#endif
