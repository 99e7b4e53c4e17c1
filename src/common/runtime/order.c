#include "common/runtime/order.h"

#include <stdlib.h>
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/stream.h"

static void lock(struct bi_memory *memory)
{
	if (!memory->lent)
		pthread_mutex_lock(&memory->lock);
}

void bi__order_lock(struct bi_memory *a, struct bi_memory *b)
{
	struct bi_memory *first = b && (uintptr_t)b < (uintptr_t)a ? b : a;
	struct bi_memory *second = first == a ? b : a;

	lock(first);
	if (second && second != first)
		lock(second);
}

int bi__order_try_lock(struct bi_memory *memory)
{
	return pthread_mutex_trylock(&memory->lock) == 0;
}

/* What the locked step left behind. Letting go may close a context, so it waits until no lock is held. */
struct leftovers {
	struct bi__fence fences[3];
	unsigned fence_count;
	struct bi_stream *streams[2];
	struct bi_event **events;
	size_t count;
};

/* Locked. Nothing to wait for, to report or to make up for. */
static int is_settled(const struct bi_memory *memory)
{
	return !memory->pending && !memory->tail.context && !memory->first_use_count && !memory->unrecorded &&
	       !memory->lost;
}

/* Locked; last of all before the lock is dropped. */
static void note_idle(struct bi_memory *memory)
{
	atomic_store_explicit(&memory->idle, is_settled(memory), memory_order_release);
}

static void take_leftovers(struct bi_memory *memory, struct leftovers *left)
{
	left->fence_count = memory->stale_count;
	memcpy(left->fences, memory->stale, sizeof(left->fences));
	memory->stale_count = 0;
	memcpy(left->streams, memory->caught_up, sizeof(left->streams));
	memset(memory->caught_up, 0, sizeof(memory->caught_up));
	left->events = memory->used ? memory->first_use : NULL;
	left->count = memory->used ? memory->first_use_count : 0;
	if (!memory->used)
		return;
	memory->first_use = NULL;
	memory->first_use_count = 0;
	memory->used = 0;
}

static int has_leftovers(const struct bi_memory *memory)
{
	return memory->stale_count || memory->caught_up[0] || memory->used;
}

/* 1: something is left, and in *left. */
static inline int unlock(struct bi_memory *memory, struct leftovers *left)
{
	int leaves = has_leftovers(memory);

	if (leaves)
		take_leftovers(memory, left);
	memory->capturing = memory->checked = 0;
	note_idle(memory);
	if (!memory->lent)
		pthread_mutex_unlock(&memory->lock);
	return leaves;
}

static void drop(struct leftovers *left)
{
	for (unsigned i = 0; i < left->fence_count; i++)
		bi__fence_clear(&left->fences[i]);
	bi_stream_release(left->streams[0]);
	bi_stream_release(left->streams[1]);
	for (size_t i = 0; i < left->count; i++)
		bi_event_release(left->events[i]);
	free(left->events);
}

void bi__order_unlock(struct bi_memory *a, struct bi_memory *b)
{
	struct leftovers left, other;
	int leaves = unlock(a, &left);

	if (b && b != a && unlock(b, &other))
		drop(&other);
	if (leaves)
		drop(&left);
}

/* The bytes of host memory may also be lent by a caller. Borrowed memory is nobody else's, so it does not count. */
static int is_host_use(const struct bi_memory *memory, const struct bi_context *context)
{
	return context && !memory->lent && bi__is_cpu_addressable(memory);
}

static void begin_host_use(const struct bi_memory *memory, struct bi_context *context)
{
	if (is_host_use(memory, context))
		atomic_fetch_add_explicit(&context->host_uses, 1, memory_order_relaxed);
}

void bi__order_end_host_use(const struct bi_memory *memory, struct bi_context *context)
{
	if (is_host_use(memory, context))
		atomic_fetch_sub_explicit(&context->host_uses, 1, memory_order_relaxed);
}

/* The memory is idle if nothing was added since `epoch`. Fences are released while no lock is held. */
static void mark_idle(struct bi_memory *memory, uint64_t epoch, bool has_failed)
{
	struct bi__fence old = { NULL, 0 };

	pthread_mutex_lock(&memory->lock);
	memory->failed |= has_failed;
	if (memory->epoch == epoch) {
		old = memory->tail;
		bi__order_end_host_use(memory, old.context);
		memory->tail = (struct bi__fence){ NULL, 0 };
		memory->pending = 0;
		note_idle(memory);
	}
	pthread_mutex_unlock(&memory->lock);
	bi__fence_clear(&old);
}

void bi__order_note_completion(struct bi_memory *memory, uint64_t epoch)
{
	if (!bi__is_synchronous(memory))
		mark_idle(memory, epoch, false);
}

static int block_on(struct bi_memory *memory, struct bi__fence *fence, uint64_t epoch, enum bi__wait_reason reason,
		    struct bi_error *err)
{
	int rc = bi__fence_block(fence, reason, err);

	bi__fence_clear(fence);
	/* Work that failed counts as complete. The failure is reported once. */
	if (!rc || rc == BI_EPRODUCER)
		mark_idle(memory, epoch, rc == BI_EPRODUCER);
	return rc;
}

static int check_lost(const struct bi_memory *memory, struct bi_error *err)
{
	if (memory->lost)
		return bi__fail(err, BI_EDRIVER, "the driver failed; work on the memory may never be known to end");
	return BI_OK;
}

int bi__order_check_failed_locked(struct bi_memory *memory, struct bi_error *err)
{
	int can_fail = memory->tail.context || memory->first_use_count || memory->lost;
	int done, rc;

	if (!can_fail || memory->checked)
		return BI_OK;
	rc = check_lost(memory, err);
	if (!rc)
		rc = bi__fence_query(&memory->tail, &done, err);
	for (size_t i = 0; i < memory->first_use_count && !rc; i++)
		rc = bi__fence_query(&memory->first_use[i]->fence, &done, err);
	memory->checked = !rc;
	return rc;
}

/* An operation on the home of a memory is the usual case: a stream that keeps its order waits for itself. */
static int follow(struct bi_stream *waiter, struct bi_stream *on, struct bi_error *err)
{
	return waiter == on && !on->queue.out_of_order ? BI_OK : bi__stream_follow(waiter, on, err);
}

static int refuse_outside(const struct bi__fence *fence, const char *what, struct bi_error *err)
{
	int done, rc = bi__fence_query(fence, &done, err);

	if (rc || done)
		return rc;
	return bi__fail(err, BI_ECAPTURE, "a graph that is being captured cannot wait for %s", what);
}

/* What has been enqueued on a memory before the capture, elsewhere than on its home, must be complete. */
static int check_outside(const struct bi_memory *memory, struct bi_error *err)
{
	int rc = refuse_outside(&memory->tail, "earlier work on the host memory", err);

	for (size_t i = 0; i < memory->first_use_count && !rc; i++)
		rc = refuse_outside(&memory->first_use[i]->fence, "the producer's event", err);
	return rc;
}

/* Is the capture of its home not known yet, from the stream or from the home of the other memory? */
static int is_asked(const struct bi_memory *memory, const struct bi_memory *other, const struct bi_stream *stream)
{
	struct bi_stream *home = memory->home;

	return home && home != stream && !bi__is_unordered(memory) &&
	       !(other && other->home == home && !bi__is_unordered(other));
}

static int check_member(struct bi_memory *memory, const struct bi_memory *other, const struct bi_stream *stream,
			uint64_t id, struct bi_error *err)
{
	uint64_t home_id = id;
	int rc = BI_OK;

	memory->capturing = id != 0;
	if (id && memory->unrecorded)
		return bi__fail(err, BI_ECAPTURE,
				"the end of earlier work is not recorded yet, and cannot be in a graph");
	if (is_asked(memory, other, stream))
		rc = bi__stream_capture(memory->home, &home_id, err);
	if (rc)
		return rc;
	if (home_id != id)
		return bi__fail(err, BI_ECAPTURE,
				"the stream belongs to graph capture %llu, the home of the memory to %llu (0: none)",
				(unsigned long long)id, (unsigned long long)home_id);
	return id ? check_outside(memory, err) : BI_OK;
}

int bi__order_check_capture_locked(struct bi_stream *stream, struct bi_memory *a, struct bi_memory *b,
				   struct bi_error *err)
{
	uint64_t id;
	int rc = bi__dispatch_alive(&stream->context->device, err);

	/* Streams that work together are of one backend. */
	if (rc || !bi__stream_captures(stream))
		return rc;
	rc = bi__stream_capture(stream, &id, err);
	if (!rc)
		rc = check_member(a, NULL, stream, id, err);
	return rc || !b || b == a ? rc : check_member(b, a, stream, id, err);
}

/* On the device where the two share events, else by the calling thread. */
static int wait_fence(struct bi_stream *stream, const struct bi__fence *fence, struct bi_error *err)
{
	if (!fence->context || bi__share_events(stream->context, fence->context))
		return bi__fence_wait(stream, fence, err);
	return bi__fence_block(fence, BI__WAIT_CROSS, err);
}

static int wait_first_use(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	int rc = bi__order_check_failed_locked(memory, err);

	/* In a capture they are complete. */
	for (size_t i = 0; i < memory->first_use_count && !rc && !memory->capturing; i++)
		rc = wait_fence(stream, &memory->first_use[i]->fence, err);
	return rc;
}

/* Is the tail of host memory on that very stream, which keeps its order by itself? */
static int tail_is_on(const struct bi_memory *memory, const struct bi_stream *stream)
{
	return memory->tail_stream == bi__stream_serial(stream) && !stream->queue.out_of_order &&
	       !stream->queue.per_thread;
}

static void discard_tail(struct bi_memory *memory)
{
	if (memory->tail.context)
		memory->stale[memory->stale_count++] = memory->tail;
	bi__order_end_host_use(memory, memory->tail.context);
	memory->tail = (struct bi__fence){ NULL, 0 };
}

static int wait_tail(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	int is_shared = bi__share_events(stream->context, memory->tail.context);
	int rc = tail_is_on(memory, stream) ? BI_OK : wait_fence(stream, &memory->tail, err);

	if (rc || is_shared)
		return rc;
	discard_tail(memory);
	return BI_OK;
}

/* Host memory: the tail moves to the end of what is on the stream now, or to `end`, which is taken. */
static int move_tail(struct bi_memory *memory, struct bi_stream *stream, struct bi__fence *end, struct bi_error *err)
{
	struct bi__fence tail = { NULL, 0 };
	int rc = BI_OK;

	if (stream->context->device.backend->synchronous)
		return BI_OK;
	if (end && end->context) {
		tail = *end;
		*end = (struct bi__fence){ NULL, 0 };
	} else {
		rc = bi__fence_record(stream, &tail, err);
	}
	if (rc || !tail.context)
		return rc;
	discard_tail(memory);
	memory->tail = tail;
	begin_host_use(memory, tail.context);
	memory->tail_stream = bi__stream_number(stream);
	return BI_OK;
}

static inline int record_end(struct bi_memory *memory, struct bi_stream *stream, struct bi__fence *end,
			     struct bi_error *err)
{
	memory->captured |= memory->capturing;
	if (bi__is_unordered(memory))
		return BI_OK;
	/* What is captured runs when its launcher says; host memory then keeps no tail, because the order is his. */
	if (bi__is_synchronous(memory))
		return memory->capturing ? BI_OK : move_tail(memory, stream, end, err);
	memory->pending = 1;
	return follow(memory->home, stream, err);
}

void bi__order_catch_up_locked(struct bi_memory *memory)
{
	if (!memory->unrecorded)
		return;
	if (record_end(memory, memory->unrecorded, NULL, NULL) && bi__stream_finish(memory->unrecorded, NULL))
		memory->lost = 1;
	else
		bi__order_end_host_use(memory, memory->unrecorded->context);
	memory->caught_up[memory->caught_up[0] != NULL] = memory->unrecorded;
	memory->unrecorded = NULL;
	memory->checked = 0;
}

int bi__order_begin_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	int rc;

	bi__order_catch_up_locked(memory);
	if (is_settled(memory))
		return BI_OK;
	rc = wait_first_use(memory, stream, err);
	if (rc || bi__is_unordered(memory))
		return rc;
	if (memory->tail.context && !memory->capturing)
		return wait_tail(memory, stream, err);
	return memory->home && memory->pending ? follow(stream, memory->home, err) : BI_OK;
}

int bi__order_end_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	return bi__order_end_at_locked(memory, stream, NULL, err);
}

int bi__order_end_at_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi__fence *end,
			    struct bi_error *err)
{
	int rc;

	if (memory->unrecorded)
		bi__order_catch_up_locked(memory);
	rc = record_end(memory, stream, end, err);
	memory->epoch++;
	memory->checked = 0;
	memory->used = memory->first_use_count > 0;
	if (rc) {
		memory->unrecorded = bi_stream_retain(stream);
		begin_host_use(memory, stream->context);
	}
	/* On another thread it would be another stream. */
	if (rc && stream->queue.per_thread)
		bi__order_catch_up_locked(memory);
	return rc;
}

int bi__order_wait_first_use_locked(struct bi_memory *memory, struct bi_error *err)
{
	struct bi_stream *stream = memory->home ? memory->home : &memory->context->stream;
	int rc;

	if (!memory->first_use_count)
		return BI_OK;
	rc = bi__order_check_capture_locked(stream, memory, NULL, err);
	if (!rc)
		rc = bi__order_begin_locked(memory, stream, err);
	return rc ? rc : bi__order_end_locked(memory, stream, err);
}

/* An event behind all work on the memory, or no context if nothing is pending. */
static int end_of_work(struct bi_memory *memory, struct bi__fence *out, uint64_t *epoch, struct bi_error *err)
{
	int rc;

	bi__order_lock(memory, NULL);
	bi__order_catch_up_locked(memory);
	rc = check_lost(memory, err);
	if (!rc)
		rc = bi__order_wait_first_use_locked(memory, err);
	if (!rc && memory->pending)
		rc = bi__stream_refuse_capture(memory->home, "its work cannot be waited for", err);
	*epoch = memory->epoch;
	if (!rc && memory->tail.context)
		rc = bi__fence_share(&memory->tail, out, err);
	else if (!rc && memory->pending)
		rc = bi__fence_record(memory->home, out, err);
	bi__order_unlock(memory, NULL);
	return rc;
}

int bi__order_synchronize(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err)
{
	struct bi__fence fence = { NULL, 0 };
	uint64_t epoch;
	int rc = bi__memory_check_reach(memory, err);

	if (rc || bi__is_idle(memory))
		return rc;
	rc = end_of_work(memory, &fence, &epoch, err);
	return rc ? rc : block_on(memory, &fence, epoch, reason, err);
}

int bi__order_finish_borrowed(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err)
{
	struct leftovers left;
	int rc;

	if (bi__is_idle(memory))
		return BI_OK;
	bi__order_catch_up_locked(memory);
	rc = check_lost(memory, err);
	if (!rc)
		rc = bi__fence_block(&memory->tail, reason, err);
	bi__fence_clear(&memory->tail);
	if (has_leftovers(memory)) {
		take_leftovers(memory, &left);
		drop(&left);
	}
	return rc;
}

struct bi_context *bi__order_keep_last_use(struct bi_memory *memory, struct bi_context *keeper)
{
	struct bi_context *worker, *before = NULL;

	bi__order_lock(memory, NULL);
	bi__order_catch_up_locked(memory);
	worker = memory->tail.context;
	if (worker && worker != keeper && bi__same_space(worker, keeper)) {
		before = worker;
		bi__order_end_host_use(memory, before);
		memory->tail.context = worker = bi_context_retain(keeper);
		begin_host_use(memory, worker);
	}
	bi__order_unlock(memory, NULL);
	bi_context_release(before);
	return worker;
}

int bi__order_check_mapped(const struct bi_memory *memory, int writes, struct bi_error *err)
{
	unsigned readers = memory->readers;

	if (memory->writers)
		return bi__fail(err, BI_EBUSY, "the memory is mapped for writing");
	if (writes && readers)
		return bi__fail(err, BI_EBUSY, "the memory is mapped for reading (mappings: %u)", readers);
	return BI_OK;
}
