#include "common/base/inline_limit.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Enqueueing a command for another thread takes about as long as copying this many bytes. */
#define DEFAULT_LIMIT ((size_t)16 << 10)

/* The memory is locked during the copy, so other threads that use it wait. */
#define LARGEST_LIMIT ((size_t)1 << 20)

/* One more than the limit. 0: the environment was not read yet. */
static atomic_size_t chosen;

static size_t read_limit(void)
{
	const char *text = getenv("BI_AT_ONCE");
	unsigned long long limit;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return DEFAULT_LIMIT;
	limit = strtoull(text, &end, 10);
	return *end == '\0' && limit <= LARGEST_LIMIT ? (size_t)limit : DEFAULT_LIMIT;
}

size_t bi__inline_limit(void)
{
	size_t limit = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!limit) {
		limit = read_limit() + 1;
		atomic_store_explicit(&chosen, limit, memory_order_relaxed);
	}
	return limit - 1;
}
