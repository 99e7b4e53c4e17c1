#include "common/copy/inline.h"

#include <stdlib.h>

/* To enqueue a command and to have it done by another thread takes as long as to copy about so many bytes. */
#define DEFAULT_LIMIT ((size_t)16 << 10)

/* A call that returns when its bytes are there waits as long as this many times as many bytes take. */
#define WAITING 16

/* Others who use the same memory wait for the lock meanwhile. */
#define MOST ((size_t)1 << 20)

/* One more than the limit; 0: not known yet. */
static atomic_size_t chosen;

static size_t wished_limit(void)
{
	const char *text = getenv("BI_AT_ONCE");
	unsigned long long wish;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return DEFAULT_LIMIT;
	wish = strtoull(text, &end, 10);
	return *end == '\0' && wish <= MOST ? (size_t)wish : DEFAULT_LIMIT;
}

size_t bi__at_once_limit(void)
{
	size_t limit = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!limit) {
		limit = wished_limit() + 1;
		atomic_store_explicit(&chosen, limit, memory_order_relaxed);
	}
	return limit - 1;
}

static int is_small(const struct bi__job *job, int waits)
{
	size_t limit = bi__at_once_limit();

	return job->plan.bytes <= (waits ? limit * WAITING : limit);
}

/* Can nobody else have work on it? */
static int is_free(const struct bi_memory *memory)
{
	return memory->lent || (memory->own && !bi__is_shown(memory) && bi__is_idle(memory) && !memory->readers &&
				!memory->writers && bi__address(memory));
}

static void leave(struct bi_memory *memory)
{
	if (!memory->lent)
		atomic_fetch_and(&memory->shown, (unsigned char)~BI__AT_ONCE);
}

/* 0: somebody was told of it in the meantime. */
static int enter(struct bi_memory *memory)
{
	unsigned char nobody = 0;

	return memory->lent || atomic_compare_exchange_strong(&memory->shown, &nobody, BI__AT_ONCE);
}

int bi__at_once_enter_near(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from)
{
	const int waits = to->lent || (from && from->lent);

	if (!is_free(to) || (from && !is_free(from)) || job->plan.kind == BI__PLAN_NOTHING || !is_small(job, waits))
		return 0;
	if (!enter(to))
		return 0;
	if (!from || enter(from))
		return 1;
	leave(to);
	return 0;
}

void bi__at_once_leave(struct bi_memory *to, struct bi_memory *from)
{
	leave(to);
	if (from)
		leave(from);
}
