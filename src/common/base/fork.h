/* Counts forks, so that code can detect that it runs in a forked child. */
#ifndef BI_COMMON_BASE_FORK_H
#define BI_COMMON_BASE_FORK_H

#include <pthread.h>
#include <stdatomic.h>

/* Starts at 0. Each fork after the first call of bi__fork_watch adds 1 in the child. */
extern atomic_uint bi__fork_generation;

/*
 * Makes a mutex new in a forked child: a thread of the parent may have held it at the fork, and is not in the child.
 * *process is the value of bi__fork_generation when the mutex was made, and becomes the present value. Code that locks
 * the mutex calls this function first if *process is not equal to bi__fork_generation. Any thread may call it.
 */
void bi__fork_renew(pthread_mutex_t *mutex, atomic_uint *process);

/*
 * Locks a mutex and returns 1. `process` is the value of bi__fork_generation when the mutex was made. In a process that
 * was forked since then, does not wait for the mutex: returns 0 if it is held, because it may stay held for ever.
 */
int bi__fork_lock(pthread_mutex_t *mutex, unsigned process);

/* Starts to count forks. Called before the first context, driver and worker thread. Further calls do nothing. */
void bi__fork_watch(void);

#endif
