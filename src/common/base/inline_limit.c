#include "common/base/inline_limit.h"

#include <stdatomic.h>

#include "common/base/environment.h"

/* Enqueueing a command for another thread takes about as long as copying this many bytes. */
#define DEFAULT_LIMIT ((size_t)16 << 10)

/* An upper bound is needed, because other threads that use the memory wait while it is copied. */
#define LARGEST_LIMIT ((size_t)1 << 20)

/* The limit + 1, or 0 if the environment was not read yet. */
static atomic_size_t chosen;

size_t bi__inline_limit(void)
{
	size_t limit = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!limit) {
		limit = (size_t)bi__environment_number("BI_INLINE_LIMIT", 0, LARGEST_LIMIT, DEFAULT_LIMIT) + 1;
		atomic_store_explicit(&chosen, limit, memory_order_relaxed);
	}
	return limit - 1;
}
