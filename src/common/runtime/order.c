#include "common/runtime/order.h"

#include <stdlib.h>

#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/points.h"
#include "common/runtime/stream.h"

static const struct bi__first_use no_first_use;

/* The fences are not cleared: fence_count says how many are valid, and each wrap of memory calls this function. */
static void clear_leftovers(struct bi__leftovers *leftovers)
{
	leftovers->fence_count = 0;
	leftovers->streams[0] = leftovers->streams[1] = NULL;
	leftovers->first_use = no_first_use;
}

void bi__order_init(struct bi__order *order)
{
	order->is_capturing = order->is_checked = false;
	clear_leftovers(&order->leftovers);
	order->pending = order->captured = order->failed = order->lost = false;
	order->epoch = 0;
	order->first_use = no_first_use;
	order->unrecorded = NULL;
	order->last_use = BI__FENCE_NONE;
	order->last_use_stream = 0;
	order->spread = false;
	order->home_use = UINT64_MAX;
}

/* In a forked child, makes the lock new before its first use there (fork.h). */
static void prepare_lock(struct bi_memory *memory)
{
	if (memory->lock_process != bi__fork_generation)
		bi__fork_renew(&memory->lock, &memory->lock_process);
}

static void lock_memory(struct bi_memory *memory)
{
	if (memory->borrowed)
		return;
	prepare_lock(memory);
	pthread_mutex_lock(&memory->lock);
}

void bi__order_lock(struct bi_memory *a, struct bi_memory *b)
{
	struct bi_memory *first = b && (uintptr_t)b < (uintptr_t)a ? b : a;
	struct bi_memory *second = first == a ? b : a;

	lock_memory(first);
	if (second && second != first)
		lock_memory(second);
}

void bi__order_lock_all(struct bi_memory *const *memories, size_t count)
{
	for (size_t i = 0; i < count; i++)
		lock_memory(memories[i]);
}

int bi__order_try_lock(struct bi_memory *memory)
{
	prepare_lock(memory);
	return pthread_mutex_trylock(&memory->lock) == 0;
}

/* Returns 1 if there is no last-use event, no event of the first use, and no end of work that is unrecorded or lost. */
static inline int has_only_stream_order_locked(const struct bi_memory *memory)
{
	const struct bi__order *order = &memory->order;

	return !order->last_use.context && !order->first_use.count && !order->unrecorded && !order->lost;
}

/*
 * Returns 1 if has_only_stream_order_locked does, and the memory has no points: a wait for its home stream is a wait
 * for all work.
 */
static inline int is_on_home_locked(const struct bi_memory *memory)
{
	return has_only_stream_order_locked(memory) && !memory->order.spread;
}

void bi__order_note_idle(struct bi_memory *memory)
{
	bool is_on_home = is_on_home_locked(memory);

	atomic_store_explicit(&memory->idle, is_on_home && !memory->order.pending, memory_order_release);
	atomic_store_explicit(&memory->on_home, is_on_home && memory->order.pending, memory_order_release);
}

static int has_leftovers(const struct bi__leftovers *leftovers)
{
	return leftovers->fence_count || leftovers->streams[0] || leftovers->first_use.count;
}

static void release_events(const struct bi__first_use *first_use)
{
	for (size_t i = 0; i < first_use->count; i++)
		bi_event_release(first_use->events[i]);
	free(first_use->events);
}

static void release_leftovers(struct bi__leftovers *leftovers)
{
	for (unsigned i = 0; i < leftovers->fence_count; i++)
		bi__fence_clear(&leftovers->fences[i]);
	for (int i = 0; i < 2; i++)
		bi_stream_release(leftovers->streams[i]);
	release_events(&leftovers->first_use);
}

/* Unlocks the memory. Returns 1 if the step left references: they are moved to *leftovers for the caller to release. */
static inline int unlock_memory(struct bi_memory *memory, struct bi__leftovers *leftovers)
{
	struct bi__order *order = &memory->order;
	int is_left = has_leftovers(&order->leftovers);

	if (is_left) {
		*leftovers = order->leftovers;
		clear_leftovers(&order->leftovers);
	}
	order->is_capturing = order->is_checked = false;
	bi__order_note_idle(memory);
	if (!memory->borrowed)
		pthread_mutex_unlock(&memory->lock);
	return is_left;
}

void bi__order_unlock(struct bi_memory *a, struct bi_memory *b)
{
	struct bi__leftovers left, other;
	int is_left = unlock_memory(a, &left);

	if (b && b != a && unlock_memory(b, &other))
		release_leftovers(&other);
	if (is_left)
		release_leftovers(&left);
}

void bi__order_unlock_all(struct bi_memory *const *memories, size_t count)
{
	struct bi__leftovers left[BI__STEP_MEMORIES];
	size_t left_count = 0;

	for (size_t i = 0; i < count; i++)
		left_count += (size_t)unlock_memory(memories[i], &left[left_count]);
	while (left_count)
		release_leftovers(&left[--left_count]);
}

int bi__order_name_home(struct bi_memory *memory, int blocks, struct bi_error *err)
{
	if (memory->marks & BI__MARK_NAMED)
		return BI_OK;
	if (blocks)
		bi__order_lock(memory, NULL);
	else if (!bi__order_try_lock(memory))
		return bi__fail(err, BI_EBUSY, "another thread works on the memory");
	atomic_fetch_or(&memory->marks, BI__MARK_NAMED);
	memory->order.pending = true;
	bi__order_unlock(memory, NULL);
	return BI_OK;
}

void bi__order_release_first_use(struct bi_memory *memory)
{
	release_events(&memory->order.first_use);
	memory->order.first_use = no_first_use;
}

/* Returns 1 if work on the memory counts in context->host_uses (order.h): it is host memory and not borrowed. */
static int is_host_use(const struct bi_memory *memory, const struct bi_context *context)
{
	return context && !memory->borrowed && memory->backend->cpu_addressable;
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

struct bi__fence bi__order_take_last_use(struct bi_memory *memory)
{
	struct bi__fence last_use = memory->order.last_use;

	memory->order.last_use = BI__FENCE_NONE;
	return last_use;
}

static void set_last_use_locked(struct bi_memory *memory, struct bi__fence last_use)
{
	memory->order.last_use = last_use;
	begin_host_use(memory, last_use.context);
}

/* Stores a fence that the end of the step releases. Does nothing for a cleared fence. */
static void leave_fence_locked(struct bi_memory *memory, struct bi__fence fence)
{
	struct bi__leftovers *leftovers = &memory->order.leftovers;

	if (fence.context)
		leftovers->fences[leftovers->fence_count++] = fence;
}

static void discard_last_use_locked(struct bi_memory *memory)
{
	struct bi__fence last_use = bi__order_take_last_use(memory);

	bi__order_end_host_use(memory, last_use.context);
	leave_fence_locked(memory, last_use);
}

void bi__order_note_completion(struct bi_memory *memory, uint64_t epoch, bool has_failed)
{
	struct bi__fence last_use = BI__FENCE_NONE;

	prepare_lock(memory);
	pthread_mutex_lock(&memory->lock);
	memory->order.failed |= has_failed;
	if (memory->order.epoch == epoch) {
		last_use = bi__order_take_last_use(memory);
		bi__order_end_host_use(memory, last_use.context);
		bi__points_clear(memory);
		memory->order.pending = memory->marks & BI__MARK_NAMED;
		bi__order_note_idle(memory);
	}
	pthread_mutex_unlock(&memory->lock);
	bi__fence_clear(&last_use);
}

int bi__order_is_blocked(const struct bi_memory *memory)
{
	struct bi_stream *stream = memory->order.unrecorded;

	return stream && (bi__stream_is_captured(stream) || (memory->home && bi__stream_is_captured(memory->home)));
}

/*
 * If an end of work is unrecorded: returns BI_EFORK in a forked child, and BI_ECAPTURE if a capture forbids to record
 * it. Returns BI_EDRIVER for lost memory.
 */
static int check_lost(const struct bi_memory *memory, struct bi_error *err)
{
	const struct bi_stream *stream = memory->order.unrecorded;
	int rc = stream ? bi__dispatch_alive(&stream->context->device, err) : BI_OK;

	if (!rc && stream && bi__order_is_blocked(memory))
		rc = bi__fail(err, BI_ECAPTURE,
			      "the end of earlier work is not recorded yet, and its stream or the home stream is being "
			      "captured into a graph: call again after the capture");
	if (!rc && memory->order.lost)
		rc = bi__fail(err, BI_EDRIVER, "the driver failed; work on the memory may never be known to end");
	return rc;
}

int bi__order_check_failed_locked(struct bi_memory *memory, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int done, rc;

	if (has_only_stream_order_locked(memory) || order->is_checked)
		return BI_OK;
	rc = check_lost(memory, err);
	/* A driver without fails_by_event reports a failure of earlier work when more work is enqueued. */
	if (!rc && order->last_use.context && order->last_use.context->device.backend->fails_by_event)
		rc = bi__fence_query(&order->last_use, &done, err);
	for (size_t i = 0; i < order->first_use.count && !rc; i++)
		rc = bi__fence_query(&order->first_use.events[i]->fence, &done, err);
	order->is_checked = !rc;
	return rc;
}

int bi__order_check_mapped(const struct bi_memory *memory, int writes, struct bi_error *err)
{
	unsigned readers = memory->readers;

	if (memory->marks & BI__MARK_WRITTEN)
		return bi__fail(err, BI_EBUSY, "the memory is mapped for writing: end the mapping first");
	if (writes && readers)
		return bi__fail(err, BI_EBUSY, "the memory is mapped for reading (mappings: %u): end the mapping first",
				readers);
	return BI_OK;
}

/* Does what bi__stream_follow does. The comparison saves a call: most operations run on the home stream. */
static int follow(struct bi_stream *waiter, struct bi_stream *on, struct bi_error *err)
{
	return waiter == on && !on->queue.out_of_order ? BI_OK : bi__stream_follow(waiter, on, err);
}

/* Returns BI_ECAPTURE if an event or a point outside of the capture is not complete. Otherwise clears the points. */
static int check_outside_locked(struct bi_memory *memory, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc = bi__fence_check_outside(&order->last_use, "earlier work on the host memory", err);

	for (size_t i = 0; i < order->first_use.count && !rc; i++)
		rc = bi__fence_check_outside(&order->first_use.events[i]->fence, "the producer's event", err);
	return rc ? rc : bi__points_check_outside_locked(memory, err);
}

/* `id` is the capture of the stream, or 0 if there is none. */
static int check_member_locked(struct bi_memory *memory, uint64_t id, struct bi_error *err)
{
	uint64_t home_id = id;
	int rc = BI_OK;

	memory->order.is_capturing = id != 0;
	if (id && memory->order.unrecorded)
		return bi__fail(err, BI_ECAPTURE,
				"the end of earlier work is not recorded yet, and cannot be in a graph");
	/* The call would have to wait for the copy, and the caller may free the bytes before the graph is launched. */
	if (id && memory->borrowed)
		return bi__fail(
			err, BI_ECAPTURE,
			"the stream is being captured into a graph (capture %llu), which cannot use bytes that are "
			"borrowed for one call: wrap the bytes and use bi_copy",
			(unsigned long long)id);
	if (memory->home && !(memory->flags & BI_WRAP_UNORDERED))
		rc = bi__stream_capture(memory->home, &home_id, err);
	if (rc)
		return rc;
	if (home_id != id)
		return bi__fail(
			err, BI_ECAPTURE,
			"the stream belongs to graph capture %llu, the home stream of the memory to %llu (0: none)",
			(unsigned long long)id, (unsigned long long)home_id);
	return id ? check_outside_locked(memory, err) : BI_OK;
}

int bi__order_check_capture_locked(struct bi_stream *stream, struct bi_memory *a, struct bi_memory *b,
				   struct bi_error *err)
{
	uint64_t id;
	int rc = bi__dispatch_alive(&stream->context->device, err);

	/* A home stream is of the same backend as the stream, so it cannot be captured either. */
	if (rc || !bi__order_can_be_captured(stream))
		return rc;
	rc = bi__stream_capture(stream, &id, err);
	if (!rc)
		rc = check_member_locked(a, id, err);
	return rc || !b || b == a ? rc : check_member_locked(b, id, err);
}

/* Makes the stream wait for the fence. If they share no events, blocks the calling thread instead (`cross`). */
static int wait_fence(struct bi_stream *stream, const struct bi__fence *fence, struct bi_error *err)
{
	if (!fence->context || bi__share_events(stream->context, fence->context))
		return bi__fence_wait(stream, fence, err);
	return bi__fence_block(fence, BI__WAIT_CROSS, err);
}

static int begin_first_use_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	const struct bi__first_use *first_use = &memory->order.first_use;
	int rc = bi__order_check_failed_locked(memory, err);

	if (first_use->count)
		bi__stream_share(stream);
	/* In a capture the events are complete: check_outside_locked has queried them. */
	for (size_t i = 0; i < first_use->count && !rc && !memory->order.is_capturing; i++)
		rc = wait_fence(stream, &first_use->events[i]->fence, err);
	return rc;
}

/* Returns 1 if no wait is needed: the last-use event was recorded on this stream, which is in-order, not per-thread. */
static int last_use_is_on(const struct bi_memory *memory, const struct bi_stream *stream)
{
	return memory->order.last_use_stream == stream->serial && !stream->queue.out_of_order &&
	       !stream->queue.per_thread;
}

static int wait_last_use_locked(struct bi_memory *memory, const struct bi__step *step, struct bi_error *err)
{
	const struct bi__fence *last_use = &memory->order.last_use;
	struct bi_stream *stream = step->stream;
	int is_shared = bi__share_events(stream->context, last_use->context);
	int is_ordered = last_use_is_on(memory, stream), rc;

	for (unsigned i = 0; i < step->stream_count && !is_ordered; i++)
		is_ordered = last_use_is_on(memory, step->streams[i]);
	rc = is_ordered ? BI_OK : wait_fence(stream, last_use, err);

	/* If the contexts share no events, wait_fence has blocked until the event was complete. */
	if (!rc && !is_shared)
		discard_last_use_locked(memory);
	return rc;
}

static int waits_for_home_stream_locked(const struct bi_memory *memory)
{
	const struct bi__order *order = &memory->order;

	return memory->home && order->pending && !(memory->flags & BI_WRAP_UNORDERED) &&
	       (!order->last_use.context || order->is_capturing);
}

/*
 * Returns 1 if row 38 of docs/ordering.md applies to a use on the stream. The memory is private: the library allocated
 * it, no other code has its handle or home stream, and no graph uses it. The stream is of the context of the memory.
 */
static int is_private_locked(const struct bi_memory *memory, const struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;

	/* All points of a memory belong to the context of its home stream, which is the context stream here. */
	return !(memory->marks & (BI__MARK_EXPORTED | BI__MARK_NAMED)) && memory->own && memory->home &&
	       stream->context == memory->home->context && !order->captured && !order->is_capturing;
}

/* Returns 1 if the memory has no points, and this use on its home stream needs none (points.h). */
static int needs_no_point_locked(const struct bi_memory *memory, const struct bi_stream *stream)
{
	return stream == memory->home && !memory->order.spread;
}

int bi__order_waits_locked(const struct bi_memory *memory, struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;

	if (!has_only_stream_order_locked(memory))
		return 1;
	if (!order->pending)
		return 0;
	if (!order->spread)
		return memory->home != stream || stream->queue.out_of_order;
	return !is_private_locked(memory, stream) || order->home_reads || !bi__points_are_on_locked(memory, stream);
}

/* Does what bi__points_begin_locked does, for a use that is not private: first the home stream waits for all points. */
static int begin_shared_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	struct bi_stream *home = memory->home;
	int rc;

	if (memory->order.spread)
		step->stream_count = 0;
	rc = bi__points_gather_locked(memory, err);
	if (rc || !waits_for_home_stream_locked(memory) || bi__step_has(step, home))
		return rc;
	rc = follow(step->stream, home, err);
	if (!rc)
		bi__step_note(step, home);
	return rc;
}

void bi__order_catch_up_in_locked(struct bi__step *step, struct bi_memory *memory)
{
	if (!memory->order.unrecorded)
		return;
	bi__order_catch_up_locked(memory);
	*step = BI__STEP_ON(step->stream);
}

int bi__order_begin_use_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc;

	bi__order_catch_up_in_locked(step, memory);
	if (!order->pending && is_on_home_locked(memory))
		return BI_OK;
	rc = has_only_stream_order_locked(memory) ? BI_OK : begin_first_use_locked(memory, step->stream, err);
	if (rc || memory->flags & BI_WRAP_UNORDERED)
		return rc;
	if (order->last_use.context && !order->is_capturing)
		return wait_last_use_locked(memory, step, err);
	if (!order->pending)
		return BI_OK;
	if (!is_private_locked(memory, step->stream))
		return begin_shared_locked(memory, step, err);
	if (needs_no_point_locked(memory, step->stream))
		return BI_OK;
	return bi__points_begin_locked(memory, access, step, err);
}

int bi__order_begin_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	struct bi__step step = BI__STEP_ON(stream);

	return bi__order_begin_use_locked(memory, BI_ACCESS_READ_WRITE, &step, err);
}

/*
 * Returns 1 if nothing has to be checked or waited for: the memory is not mapped, and it is idle or has all its work on
 * this in-order stream, without an event, a point, or an end of work that is unrecorded or lost.
 */
static inline int is_in_order_locked(const struct bi_memory *memory, const struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;

	return !memory->readers && !(memory->marks & BI__MARK_WRITTEN) && is_on_home_locked(memory) &&
	       (!order->pending || (memory->home == stream && !stream->queue.out_of_order));
}

static int wait_for_both_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream,
				struct bi_error *err)
{
	/* Device memory comes first: the wait for its home stream may include the last-use event of the host memory. */
	int from_first = from && to->backend->synchronous;
	struct bi__step step = BI__STEP_ON(stream);
	int rc = from_first ? bi__order_begin_use_locked(from, BI_ACCESS_READ, &step, err) : BI_OK;

	if (!rc)
		rc = bi__order_begin_use_locked(to, BI_ACCESS_READ_WRITE, &step, err);
	return rc || !from || from_first ? rc : bi__order_begin_use_locked(from, BI_ACCESS_READ, &step, err);
}

int bi__order_begin_copy_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream,
				struct bi_error *err)
{
	int rc;

	if (!bi__order_can_be_captured(stream) && is_in_order_locked(to, stream) &&
	    (!from || is_in_order_locked(from, stream)))
		return BI_OK;
	rc = bi__order_check_mapped(to, 1, err);
	if (!rc && from)
		rc = bi__order_check_mapped(from, 0, err);
	if (!rc)
		rc = bi__order_check_capture_locked(stream, to, from, err);
	/* This comes before the waits, because nothing may be enqueued if work on one of the memories has failed. */
	if (!rc && from)
		rc = bi__order_check_failed_locked(from, err);
	return rc ? rc : wait_for_both_locked(to, from, stream, err);
}

/* Makes step->made the last-use event of host memory. Without step->made, records the end of the stream. */
static int move_last_use_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	struct bi_stream *stream = step->stream;
	struct bi__fence last_use = BI__FENCE_NONE;
	int rc = BI_OK;

	if (stream->context->device.backend->synchronous)
		return BI_OK;
	if (step->made && step->made->context) {
		last_use = *step->made;
		*step->made = BI__FENCE_NONE;
	} else {
		rc = bi__fence_record(stream, &last_use, err);
	}
	if (rc || !last_use.context)
		return rc;
	discard_last_use_locked(memory);
	set_last_use_locked(memory, last_use);
	memory->order.last_use_stream = stream->serial;
	return BI_OK;
}

static int end_shared_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	int rc = bi__points_gather_locked(memory, err);

	if (rc || bi__step_has(step, memory->home))
		return rc;
	rc = follow(memory->home, step->stream, err);
	if (!rc)
		bi__step_note(step, memory->home);
	return rc;
}

/*
 * Makes the home stream wait for the stored reads and the last write, because another thread has exported the memory
 * during the step.
 */
static __attribute__((cold, noinline)) int gather_exported_locked(struct bi_memory *memory, struct bi__step *step,
								  struct bi_error *err)
{
	int rc = bi__points_gather_locked(memory, err);

	/* The clearing of the points may have released the ends that this step recorded. */
	step->home = step->end = NULL;
	step->end_count = 0;
	return rc;
}

static int record_device_end_locked(struct bi_memory *memory, unsigned access, struct bi__step *step,
				    struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc;

	if (!is_private_locked(memory, step->stream)) {
		rc = end_shared_locked(memory, step, err);
		order->pending = true;
		order->home_use = UINT64_MAX; /* the work may be on a stream of another context */
		return rc;
	}
	rc = needs_no_point_locked(memory, step->stream) ? BI_OK : bi__points_end_locked(memory, access, step, err);
	order->pending = true;
	order->home_use =
		order->spread ? UINT64_MAX : atomic_load_explicit(&memory->home->queue.enqueued, memory_order_relaxed);
	if (memory->idle)
		memory->idle = false; /* before the mark is read: mark_private sets the mark and then reads `idle` */
	return rc || !(memory->marks & BI__MARK_EXPORTED) ? rc : gather_exported_locked(memory, step, err);
}

static inline int record_end_locked(struct bi_memory *memory, unsigned access, struct bi__step *step,
				    struct bi_error *err)
{
	struct bi__order *order = &memory->order;

	order->captured |= order->is_capturing;
	if (memory->flags & BI_WRAP_UNORDERED)
		return BI_OK;
	/* Captured work runs when the caller launches the graph, and the caller orders it. */
	if (memory->backend->synchronous)
		return order->is_capturing ? BI_OK : move_last_use_locked(memory, step, err);
	return record_device_end_locked(memory, access, step, err);
}

void bi__order_catch_up_locked(struct bi_memory *memory)
{
	struct bi__order *order = &memory->order;
	struct bi_stream *stream = order->unrecorded;
	struct bi__step step;

	if (!stream || !bi__dispatch_is_alive(&stream->context->device))
		return;
	order->is_checked = false;
	if (bi__order_is_blocked(memory))
		return;
	step = BI__STEP_ON(stream);
	if (record_end_locked(memory, BI_ACCESS_READ_WRITE, &step, NULL) && bi__stream_finish(stream, NULL))
		order->lost = true;
	else
		bi__order_end_host_use(memory, stream->context);
	order->leftovers.streams[order->leftovers.streams[0] != NULL] = stream;
	order->unrecorded = NULL;
}

int bi__order_end_use_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc;

	bi__order_catch_up_in_locked(step, memory);
	rc = record_end_locked(memory, access, step, err);
	order->epoch++;
	order->is_checked = false;
	if (order->first_use.count) {
		order->leftovers.first_use = order->first_use;
		order->first_use = no_first_use;
	}
	if (!rc || order->unrecorded)
		return rc;
	order->unrecorded = bi_stream_retain(step->stream);
	begin_host_use(memory, step->stream->context);
	/* The end cannot be recorded later: on another thread, the handle of a per-thread stream is another stream. */
	if (step->stream->queue.per_thread)
		bi__order_catch_up_in_locked(step, memory);
	return rc;
}

int bi__order_end_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	struct bi__step step = BI__STEP_ON(stream);

	return bi__order_end_use_locked(memory, BI_ACCESS_READ_WRITE, &step, err);
}

int bi__order_end_copy_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream,
			      struct bi__fence end, struct bi_error *err)
{
	struct bi__step step = BI__STEP_ON(stream);
	int rc, other = BI_OK;

	step.made = &end;
	rc = bi__order_end_use_locked(to, BI_ACCESS_READ_WRITE, &step, err);
	if (from)
		other = bi__order_end_use_locked(from, BI_ACCESS_READ, &step, rc ? NULL : err);
	leave_fence_locked(to, end);
	return rc ? rc : other;
}

int bi__order_wait_first_use_locked(struct bi_memory *memory, struct bi_error *err)
{
	struct bi_stream *stream = memory->home ? memory->home : &memory->context->stream;
	int rc;

	if (!memory->order.first_use.count)
		return BI_OK;
	rc = bi__order_check_capture_locked(stream, memory, NULL, err);
	if (!rc)
		rc = bi__order_begin_locked(memory, stream, err);
	return rc ? rc : bi__order_end_locked(memory, stream, err);
}

/* Sets *out to an event for the end of all work on the memory. Does not change *out if no work is pending. */
static int find_end_of_work_locked(struct bi_memory *memory, struct bi__fence *out, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc;

	bi__order_catch_up_locked(memory);
	rc = check_lost(memory, err);
	if (!rc)
		rc = bi__order_wait_first_use_locked(memory, err);
	if (!rc && order->pending)
		rc = bi__stream_refuse_capture(memory->home, "its work cannot be waited for", err);
	if (!rc)
		rc = bi__points_gather_locked(memory, err);
	if (rc)
		return rc;
	if (order->last_use.context)
		return bi__fence_share(&order->last_use, out, err);
	return order->pending ? bi__fence_record(memory->home, out, err) : BI_OK;
}

void bi__order_note_end_locked(struct bi_memory *memory)
{
	struct bi__order *order = &memory->order;

	if (order->spread || order->unrecorded || order->failed || order->lost || order->first_use.count ||
	    !is_private_locked(memory, memory->home))
		return;
	order->pending = false;
	order->home_use = UINT64_MAX;
	bi__order_note_idle(memory);
}

int bi__order_synchronize(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err)
{
	struct bi__fence end = BI__FENCE_NONE;
	struct bi__scope scope;
	uint64_t epoch;
	int rc = bi__dispatch_check_reach(memory->backend, &memory->context->device, err);

	if (rc || memory->idle)
		return rc;
	bi__order_lock(memory, NULL);
	bi__order_notice_end_locked(memory);
	if (memory->idle) {
		bi__order_unlock(memory, NULL);
		return BI_OK;
	}
	bi__dispatch_begin(&scope, &memory->context->device);
	rc = find_end_of_work_locked(memory, &end, err);
	bi__dispatch_end(&scope);
	epoch = memory->order.epoch;
	bi__order_unlock(memory, NULL);
	if (rc)
		return rc;
	rc = bi__fence_finish(&end, reason, err);
	bi__fence_clear(&end);
	if (!rc || rc == BI_EPRODUCER)
		bi__order_note_completion(memory, epoch, rc == BI_EPRODUCER);
	return rc;
}

/*
 * Waits for the end of the work on borrowed memory. If the driver cannot wait for the event, waits until the stream is
 * empty, and then queries the event. The query is necessary for a short read of CUDA (docs/ordering.md, 21.4): the
 * query that finds the event complete copies the bytes from pinned memory to the caller.
 */
static int finish_last_use(const struct bi_memory *memory, struct bi_error *err)
{
	const struct bi__fence *last_use = &memory->order.last_use;
	struct bi_stream *stream = memory->partner.stream;
	int done, rc = check_lost(memory, err);

	if (!rc)
		rc = bi__fence_finish(last_use, BI__WAIT_VALUE, err);
	if (!rc || rc == BI_EPRODUCER || !stream || bi__stream_finish(stream, err))
		return rc;
	rc = bi__fence_query(last_use, &done, err);
	return rc || done ? rc : bi__fail(err, BI_EDRIVER, "the stream is empty, but its last event is not complete");
}

int bi__order_finish_borrowed(struct bi_memory *memory, struct bi_error *err)
{
	int rc;

	if (memory->idle)
		return BI_OK;
	bi__order_catch_up_locked(memory);
	rc = finish_last_use(memory, err);
	bi__fence_clear(&memory->order.last_use);
	bi_stream_release(memory->order.unrecorded);
	if (has_leftovers(&memory->order.leftovers))
		release_leftovers(&memory->order.leftovers);
	return rc;
}

struct bi_context *bi__order_move_last_use(struct bi_memory *memory, struct bi_context *context)
{
	struct bi_context *worker, *before = NULL;

	bi__order_lock(memory, NULL);
	bi__order_catch_up_locked(memory);
	worker = memory->order.last_use.context;
	if (worker && worker != context && bi__same_space(worker, context)) {
		before = worker;
		worker = bi_context_retain(context);
		bi__order_end_host_use(memory, before);
		set_last_use_locked(memory, (struct bi__fence){ worker, memory->order.last_use.event });
	}
	bi__order_unlock(memory, NULL);
	bi_context_release(before);
	return worker;
}
