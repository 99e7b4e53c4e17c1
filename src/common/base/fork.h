/* Knows whether this process is a forked child of the one that opened a driver. */
#ifndef BI_COMMON_BASE_FORK_H
#define BI_COMMON_BASE_FORK_H

#include <stdatomic.h>

/* 0 in the process that loaded the library, one more in each generation of children made after the first watch. */
extern atomic_uint bi__fork_count;

static inline unsigned bi__fork_generation(void)
{
	return atomic_load_explicit(&bi__fork_count, memory_order_relaxed);
}

/* Starts to count. Called before a driver is opened; cheap when called again. */
void bi__fork_watch(void);

#endif
