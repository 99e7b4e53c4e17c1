/*
 * Inline copies: copies and fills that the calling thread does itself. They enqueue nothing, call no driver and wait
 * for no work (docs/ordering.md, row 36).
 *
 * A copy or fill can be inline if at least one side is device memory at whose address the CPU may copy, and each side
 * is one of these:
 *
 *  - The library's own memory: idle, never exported, not mapped, without failed work, and with an address at which the
 *    CPU may copy (bi__address). No code outside of the library can have enqueued work on it.
 *  - Borrowed bytes of the caller, if no work of the context on host memory is pending. The caller guarantees that no
 *    work enqueued without the library uses the bytes.
 */
#include "common/copy/job.h"

#include "common/base/inline_limit.h"
#include "common/runtime/order.h"

/*
 * Returns 1 if no work can be using the memory, and the CPU may copy at its address. Borrowed bytes may also be bytes
 * of a host memory, so no work of the context on host memory may be pending.
 */
static int is_free_locked(const struct bi_memory *memory)
{
	if (memory->borrowed)
		return !atomic_load_explicit(&memory->context->host_uses, memory_order_relaxed);
	return memory->own && !memory->marks && !memory->order.failed && memory->idle && !memory->readers &&
	       bi__address(memory);
}

static void clear_inline_mark(struct bi_memory *memory)
{
	if (!memory->borrowed)
		atomic_fetch_and(&memory->marks, (unsigned char)~BI__MARK_INLINE);
}

/* Returns 1, or 0 if another thread has exported the memory meanwhile: an export of idle memory needs no lock. */
static int set_inline_mark(struct bi_memory *memory)
{
	unsigned char unmarked = 0;

	return memory->borrowed || atomic_compare_exchange_strong(&memory->marks, &unmarked, BI__MARK_INLINE);
}

int bi__inline_begin_locked(const struct bi__job *job)
{
	struct bi_memory *to = job->dst, *from = job->src != to ? job->src : NULL;

	if (!to->block.private_host && !(from && from->block.private_host))
		return 0;
	bi__order_notice_end_locked(to);
	if (from)
		bi__order_notice_end_locked(from);
	if (!is_free_locked(to) || (from && !is_free_locked(from)) || job->plan.bytes > bi__inline_limit() ||
	    !set_inline_mark(to))
		return 0;
	if (!from || set_inline_mark(from))
		return 1;
	clear_inline_mark(to);
	return 0;
}

void bi__inline_end(const struct bi__job *job)
{
	clear_inline_mark(job->dst);
	if (job->src)
		clear_inline_mark(job->src);
}
