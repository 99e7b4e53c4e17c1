/* Tells whether this process is a forked child of the process that opened a driver. */
#ifndef BI_COMMON_BASE_FORK_H
#define BI_COMMON_BASE_FORK_H

#include <stdatomic.h>

/* 0 in the process that loaded the library. Each fork after the first call of bi__fork_watch adds 1 in the child. */
extern atomic_uint bi__fork_generation;

/* Starts to count forks. Must be called before a driver is opened. Further calls do nothing. */
void bi__fork_watch(void);

#endif
