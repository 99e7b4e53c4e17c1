#include "common/runtime/retire.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/order.h"
#include "common/runtime/points.h"
#include "common/runtime/pool.h"
#include "common/runtime/stream.h"

/* A look with BI__REAP_SOME ends at this many memories that are not complete. Deferred memory does not count. */
#define SOME 4

/* A retired memory counts with at least this many bytes: the library and the driver keep objects for it. */
#define LEAST_BYTES ((size_t)4096)

void bi__memory_destroy(struct bi_context *context, struct bi_memory *memory)
{
	struct bi__scope *scope;

	if (memory->block.handle)
		bi__dispatch_free(memory->backend, &context->device, &memory->block);
	bi_stream_release(memory->producer);
	bi_stream_release(memory->order.unrecorded);
	bi__order_release_first_use(memory);
	bi__fence_clear(&memory->order.last_use);
	bi__points_clear(memory);
	pthread_mutex_destroy(&memory->lock);
	if (memory->release.fn) {
		scope = bi__dispatch_pause();
		memory->release.fn(memory->release.data);
		bi__dispatch_resume(scope);
	}
	free(memory);
}

/* Returns 1 if the conditions of pool.h hold. put_into_pool compares the size with the classes and the limit. */
static int is_reusable(const struct bi_context *context, const struct bi_memory *memory)
{
	if (!memory->own || memory->backend != context->device.backend)
		return 0;
	if (memory->marks & (BI__MARK_EXPORTED | BI__MARK_NAMED) || memory->order.captured || memory->order.failed ||
	    memory->order.lost || memory->order.unrecorded)
		return 0;
	if (memory->block.host && (memory->order.pending || memory->order.last_use.context))
		return 0;
	return bi__pool_serves(context, memory->block.memory, memory->block.nbytes);
}

static void put_into_pool(struct bi_context *context, struct bi_memory *memory)
{
	size_t nbytes = memory->block.nbytes;
	int fits = nbytes <= context->pool.limit && bi__pool_round(nbytes) == nbytes;
	size_t bytes = fits ? bi__pool_put(context, memory) : 0;

	if (!bytes)
		bi__memory_destroy_when_done(context, memory);
	else if (bytes > context->pool.limit)
		bi__memory_trim_pool(context, context->pool.limit);
}

void bi__memory_trim_pool(struct bi_context *context, size_t keep)
{
	struct bi_memory *memory;

	while ((memory = bi__pool_take_oldest(context, keep)))
		bi__memory_destroy_when_done(context, memory);
}

/*
 * Returns 1 if pending work must end before device memory is destroyed. There are two exceptions. If the producer named
 * a stream, its next work on that stream runs after the pending work. The driver frees some memory in stream order.
 */
static int has_work_to_await(const struct bi_memory *memory)
{
	return memory->order.pending && !memory->producer && !(memory->own && memory->block.alloc_pending);
}

/* Returns 1 if the stream that the producer named is no longer the home stream, and must wait for the home stream. */
static int owes_producer(const struct bi_memory *memory)
{
	return memory->order.pending && memory->producer && memory->producer != memory->home;
}

/*
 * Sets *out to the end of all work on the memory, or clears *out if the memory can be destroyed immediately. Makes the
 * stream that the producer named wait for the home stream if the two differ.
 */
static int record_end_of_work(struct bi_memory *memory, struct bi__fence *out)
{
	*out = BI__FENCE_NONE;
	if (memory->backend->synchronous) {
		*out = bi__order_take_last_use(memory);
		return BI_OK;
	}
	if (bi__points_gather_locked(memory, NULL))
		return BI_EDRIVER;
	if (owes_producer(memory))
		return bi__stream_follow(memory->producer, memory->home, NULL);
	return has_work_to_await(memory) ? bi__fence_record(memory->home, out, NULL) : BI_OK;
}

/* Returns the bytes that count for the limit: 0 for deferred memory, because a wait cannot free that. */
static size_t counted_bytes(const struct bi_memory *memory)
{
	if (memory->retirement.is_deferred)
		return 0;
	return memory->block.nbytes > LEAST_BYTES ? memory->block.nbytes : LEAST_BYTES;
}

static int lock_retired(struct bi_context *context)
{
	return bi__fork_lock(&context->retired.lock, context->device.fork_generation);
}

/*
 * Appends the memory to the retired memories of the context. Takes ownership of the event. If a forked child cannot
 * lock the list (fork.h), the memory is never freed.
 */
static void append_retired(struct bi_context *context, struct bi_memory *memory, uintptr_t event)
{
	memory->retirement.event = event;
	memory->retirement.next = NULL;
	if (!lock_retired(context))
		return;
	*(context->retired.oldest ? &context->retired.newest->retirement.next : &context->retired.oldest) = memory;
	context->retired.newest = memory;
	atomic_fetch_add(&context->retired.count, 1);
	atomic_fetch_add(&context->retired.bytes, counted_bytes(memory));
	pthread_mutex_unlock(&context->retired.lock);
}

/*
 * Returns 1 if the fence is complete or was made before this process was forked, BI_EPRODUCER if its work failed and
 * has ended, else 0.
 */
static int has_ended(const struct bi__fence *fence)
{
	int done = 1, rc = bi__fence_query(fence, &done, NULL);

	if (rc == BI_EPRODUCER)
		return fence->context->device.backend->fails_by_event ? 0 : rc;
	return rc ? rc == BI_EFORK : done;
}

/*
 * Returns 1 if a graph prevents that the memory is destroyed or that an event is recorded for it. An end of work is
 * still unrecorded here only if a capture has prevented the record. A graph may be launched until the context closes,
 * so own memory that the graph uses is kept until then. While a stream is captured, no event can be recorded on it, and
 * no memory can be freed in its order.
 */
static int is_deferred(const struct bi_memory *memory)
{
	if (memory->order.unrecorded)
		return bi__dispatch_is_alive(&memory->order.unrecorded->context->device);
	if (memory->own && memory->order.captured)
		return 1;
	if (memory->backend->synchronous)
		return 0;
	if (owes_producer(memory) && bi__stream_is_captured(memory->producer))
		return 1;
	return (has_work_to_await(memory) || owes_producer(memory) || (memory->own && memory->block.alloc_pending)) &&
	       bi__stream_is_captured(memory->home);
}

/*
 * Returns 1 if work is pending whose end is *out. If the driver refuses to record the end, blocks the calling thread
 * until the home stream is empty and all points are complete (`failure`). If that fails too, the memory is lost.
 */
static int find_last_work(struct bi_memory *memory, struct bi__fence *out)
{
	if (record_end_of_work(memory, out) && (bi__stream_finish(memory->home, NULL) || bi__points_finish(memory)))
		memory->order.lost = 1;
	return out->context && !has_ended(out);
}

/* Passes the end of the pending work to the producer. Returns 1 if the later work of the producer waits for it. */
static int is_handed_back(const struct bi_memory *memory, const struct bi__fence *work)
{
	struct bi__scope *scope;
	int rc;

	if (!memory->release.done)
		return 0;
	scope = bi__dispatch_pause();
	rc = memory->release.done(memory->release.data, work->context->stream.queue.kind, bi__fence_handle(work));
	bi__dispatch_resume(scope);
	return !rc;
}

/* Returns 1 if work on the memory may run whose end cannot be known. A device that was reset runs none. */
static int is_end_unknown(const struct bi_context *context, const struct bi_memory *memory)
{
	return memory->order.lost && !bi__dispatch_is_lost(&context->device);
}

/* Returns 1 if captured host memory has a last-use event that is complete. */
static int has_complete_event(const struct bi_memory *memory)
{
	return memory->order.captured && !memory->order.unrecorded && memory->order.last_use.context &&
	       has_ended(&memory->order.last_use);
}

/*
 * Takes the last-use event of captured host memory. The context keeps this memory until it closes, so the memory must
 * not hold the reference that a last-use event holds to its context. Returns the event without this reference, or 0 if
 * there is none. An event of another native context is released if it is complete; otherwise it stays until is_done
 * finds it complete.
 */
static uintptr_t take_last_event(struct bi_context *context, struct bi_memory *memory)
{
	struct bi__fence last_use;

	if (!memory->order.captured || memory->order.unrecorded)
		return 0;
	if (bi__order_move_last_use(memory, context) == context) {
		last_use = bi__order_take_last_use(memory);
		bi_context_release(context);
		return last_use.event;
	}
	if (has_complete_event(memory)) {
		last_use = bi__order_take_last_use(memory);
		bi__order_end_host_use(memory, last_use.context);
		bi__fence_clear(&last_use);
	}
	return 0;
}

/* Destroys the memory, retires it if work is pending, or keeps it for ever if it is lost. */
static void destroy_or_retire(struct bi_context *context, struct bi_memory *memory)
{
	struct bi__scope scope;
	struct bi__fence work;
	int has_work;

	bi__order_release_first_use(memory);
	bi__dispatch_begin(&scope, &context->device);
	memory->retirement.is_deferred = is_deferred(memory);
	has_work = !memory->retirement.is_deferred && find_last_work(memory, &work);
	bi__dispatch_end(&scope);
	if (memory->retirement.is_deferred) {
		append_retired(context, memory, take_last_event(context, memory));
		return;
	}
	if (has_work && !is_handed_back(memory, &work)) {
		append_retired(work.context, memory, work.event);
		bi_context_release(work.context);
		return;
	}
	bi__order_end_host_use(memory, work.context);
	bi__fence_clear(&work);
	if (!is_end_unknown(context, memory))
		bi__memory_destroy(context, memory);
}

static void catch_up(struct bi_memory *memory)
{
	if (memory->order.unrecorded && bi__dispatch_is_alive(&memory->order.unrecorded->context->device)) {
		bi__order_lock(memory, NULL);
		bi__order_catch_up_locked(memory);
		bi__order_unlock(memory, NULL);
	}
}

void bi__memory_retire(struct bi_context *context, struct bi_memory *memory)
{
	catch_up(memory);
	if (is_reusable(context, memory))
		put_into_pool(context, memory);
	else if (!is_end_unknown(context, memory))
		destroy_or_retire(context, memory);
}

void bi__memory_destroy_when_done(struct bi_context *context, struct bi_memory *memory)
{
	/* The driver keeps the memory until all work on it has ended. */
	if (memory->block.free_follows)
		bi__memory_destroy(context, memory);
	else
		destroy_or_retire(context, memory);
}

/*
 * Returns 1 in two cases. The last-use event of captured host memory has ended, so its reference can be released. Or no
 * capture and no graph prevents any longer that the memory is destroyed.
 */
static int is_free_of_captures(const struct bi_memory *memory)
{
	if (has_complete_event(memory))
		return 1;
	return memory->order.unrecorded ? !bi__order_is_blocked(memory) : !is_deferred(memory);
}

static int is_done(struct bi_context *context, struct bi_memory *memory)
{
	const struct bi__fence fence = { context, memory->retirement.event };
	int ended = memory->retirement.is_deferred ? is_free_of_captures(memory) : has_ended(&fence);

	if (ended == BI_EPRODUCER)
		memory->order.failed = 1;
	return ended != 0;
}

/*
 * Blocks the calling thread until the work on the memory is done. If the driver cannot wait for the event, waits for
 * all work on the context stream. Host memory may have work on another stream, so its event is queried again. Returns 0
 * if the end of the work is not known then, else 1.
 */
static int wait_until_done(struct bi_context *context, struct bi_memory *memory, enum bi__wait_reason reason)
{
	const struct bi__fence fence = { context, memory->retirement.event };
	int rc = bi__fence_finish(&fence, reason, NULL);

	if (rc == BI_EPRODUCER)
		memory->order.failed = 1;
	if (rc == BI_OK || rc == BI_EPRODUCER)
		return 1;
	return bi__stream_finish(&context->stream, NULL) == BI_OK && (memory->home || is_done(context, memory));
}

static int is_wanted(struct bi_context *context, struct bi_memory *memory, enum bi__reap how)
{
	if (how == BI__REAP_WAIT)
		return 1;
	return how == BI__REAP_OLDEST ? !memory->retirement.is_deferred : is_done(context, memory);
}

/*
 * Unlinks and returns the first retired memory that is_wanted accepts, or returns NULL if there is none, and in a
 * forked child that cannot lock the list (fork.h).
 */
static struct bi_memory *unlink_retired(struct bi_context *context, enum bi__reap how)
{
	struct bi_memory *before = NULL, *memory;
	unsigned left = how == BI__REAP_SOME ? SOME : UINT_MAX;

	if (!lock_retired(context))
		return NULL;
	memory = context->retired.oldest;
	while (memory && !is_wanted(context, memory, how)) {
		before = memory;
		/* Deferred memory stays in the list for long, so it does not count. */
		left -= !memory->retirement.is_deferred;
		memory = left ? memory->retirement.next : NULL;
	}
	if (memory) {
		*(before ? &before->retirement.next : &context->retired.oldest) = memory->retirement.next;
		if (context->retired.newest == memory)
			context->retired.newest = before;
		atomic_fetch_sub(&context->retired.count, 1);
		atomic_fetch_sub(&context->retired.bytes, counted_bytes(memory));
	}
	pthread_mutex_unlock(&context->retired.lock);
	return memory;
}

/* Waits for the work on the memory as `how` demands. Returns 1, or 0 if the end of the work is not known after that. */
static int await_retired(struct bi_context *context, struct bi_memory *memory, enum bi__reap how)
{
	if (how == BI__REAP_WAIT)
		return wait_until_done(context, memory, BI__WAIT_CLOSE);
	if (how == BI__REAP_OLDEST)
		return is_done(context, memory) || wait_until_done(context, memory, BI__WAIT_PRESSURE);
	return 1;
}

static void reap_one(struct bi_context *context, struct bi_memory *memory, enum bi__reap how)
{
	int is_safe = await_retired(context, memory, how);

	bi__order_end_host_use(memory, context);
	bi__dispatch_event_release(&context->device, memory->retirement.event);
	memory->order.pending = 0;
	bi__order_note_idle(memory);
	if (is_safe && how != BI__REAP_WAIT && is_reusable(context, memory))
		put_into_pool(context, memory);
	else if (is_safe)
		bi__memory_destroy(context, memory);
}

/*
 * Destroys or retires a deferred memory. When the context closes, its graphs are not launched any more, so memory that
 * they use is destroyed. Memory whose stream is still being captured then is never freed.
 */
static void reap_deferred(struct bi_context *context, struct bi_memory *memory, enum bi__reap how)
{
	if (how == BI__REAP_WAIT)
		memory->order.captured = 0;
	catch_up(memory);
	if (memory->retirement.event) {
		memory->retirement.is_deferred = false;
		reap_one(context, memory, how);
	} else if (how != BI__REAP_WAIT || !is_deferred(memory)) {
		destroy_or_retire(context, memory);
	}
}

/*
 * This function and bi__memory_await_retired disable cancellation, because release callbacks of the caller run there in
 * the middle of another operation.
 */
void bi__memory_reap_retired(struct bi_context *context, enum bi__reap how)
{
	struct bi_memory *memory;
	int state;

	if (!bi__dispatch_is_alive(&context->device))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (atomic_load_explicit(&context->retired.count, memory_order_relaxed) &&
	       (memory = unlink_retired(context, how))) {
		if (memory->retirement.is_deferred)
			reap_deferred(context, memory, how);
		else
			reap_one(context, memory, how);
	}
	pthread_setcancelstate(state, NULL);
}

static int is_above(const struct bi_context *context, size_t bytes)
{
	return atomic_load_explicit(&context->retired.bytes, memory_order_relaxed) > bytes;
}

void bi__memory_await_retired(struct bi_stream *stream, size_t keep)
{
	struct bi_context *context = stream->context;
	struct bi_memory *memory;
	int state;

	if (!bi__dispatch_is_alive(&context->device))
		return;
	if (bi__stream_is_captured(&context->stream) || (stream != &context->stream && bi__stream_is_captured(stream)))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (is_above(context, keep) && (memory = unlink_retired(context, BI__REAP_OLDEST)))
		reap_one(context, memory, BI__REAP_OLDEST);
	pthread_setcancelstate(state, NULL);
}

void bi__memory_relieve_pressure(struct bi_stream *stream)
{
	struct bi_context *context = stream->context;

	bi__memory_reap_retired(context, BI__REAP_ALL);
	/* Half of the limit, so that the next calls do not search the whole list again. */
	if (is_above(context, context->retired.limit))
		bi__memory_await_retired(stream, context->retired.limit / 2);
}
