#include "common/base/inline_limit.h"

#include <stdatomic.h>

#include "common/base/environment.h"

/*
 * A caller that waits for an enqueued copy waits about 0.2 ms longer than the copy takes, because the threads of the
 * driver and of the engine sleep and are woken one after the other. This is about a tenth of the time of a copy of this
 * size. Larger copies are enqueued, because other threads that use the memory wait until an inline copy is done.
 */
#define DEFAULT_LIMIT ((size_t)16 << 20)
#define LARGEST_LIMIT ((size_t)1 << 30)

/* The limit + 1, or 0 if the variable was not read yet. */
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
