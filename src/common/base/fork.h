/* Tells whether this process is a forked child of the process that opened a driver. */
#ifndef BI_COMMON_BASE_FORK_H
#define BI_COMMON_BASE_FORK_H

#include <pthread.h>
#include <stdatomic.h>

/* 0 in the process that loaded the library. Each fork after the first call of bi__fork_watch adds 1 in the child. */
extern atomic_uint bi__fork_generation;

/*
 * Makes a mutex new in a forked child, because a thread of the parent, which is not in the child, may have held it at
 * the fork. *process is the value of bi__fork_generation when the mutex was made. Called before each lock if they
 * differ. Any thread may call it.
 */
void bi__fork_renew(pthread_mutex_t *mutex, atomic_uint *process);

/* Starts to count forks. Must be called before a driver is opened. Further calls do nothing. */
void bi__fork_watch(void);

#endif
