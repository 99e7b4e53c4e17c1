/* Time for measurements and time limits. */
#ifndef BI_COMMON_BASE_CLOCK_H
#define BI_COMMON_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the nanoseconds of a monotonic clock. */
static inline int64_t bi__clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
