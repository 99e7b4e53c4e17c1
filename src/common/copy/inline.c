#include "common/copy/inline.h"

#include "common/base/inline_limit.h"

/*
 * Factor by which the limit is larger for a call that blocks until its copy is done: an enqueued copy would also take
 * the time of the wait.
 */
#define WAITING 16

static int is_small_enough(const struct bi__job *job, int waits)
{
	size_t limit = bi__inline_limit();

	return job->plan.bytes <= (waits ? limit * WAITING : limit);
}

/*
 * Returns 1 if no work can use the memory. Borrowed bytes may also be bytes of a host memory, so no work of the context
 * on host memory may be pending.
 */
static int is_free_locked(const struct bi_memory *memory)
{
	if (memory->borrowed)
		return !atomic_load_explicit(&memory->context->host_uses, memory_order_relaxed);
	return memory->own && !bi__is_exported(memory) && !memory->order.failed && bi__is_idle(memory) &&
	       !memory->readers && bi__address(memory);
}

static void clear_inline_mark(struct bi_memory *memory)
{
	if (!memory->borrowed)
		atomic_fetch_and(&memory->marks, (unsigned char)~BI__MARK_INLINE);
}

/*
 * Returns 1, or 0 if the memory is mapped for writing, or if another thread has exported it since it was checked. An
 * export needs no lock.
 */
static int set_inline_mark(struct bi_memory *memory)
{
	unsigned char unmarked = 0;

	return memory->borrowed || atomic_compare_exchange_strong(&memory->marks, &unmarked, BI__MARK_INLINE);
}

int bi__inline_begin_checked_locked(const struct bi__job *job, struct bi_memory *to, struct bi_memory *from)
{
	const int waits = to->borrowed || (from && from->borrowed);

	if (!is_free_locked(to) || (from && !is_free_locked(from)) || job->plan.kind == BI__PLAN_NOTHING ||
	    !is_small_enough(job, waits))
		return 0;
	if (!set_inline_mark(to))
		return 0;
	if (!from || set_inline_mark(from))
		return 1;
	clear_inline_mark(to);
	return 0;
}

void bi__inline_end(struct bi_memory *to, struct bi_memory *from)
{
	clear_inline_mark(to);
	if (from)
		clear_inline_mark(from);
}
