#include "common/runtime/order.h"

#include <stdlib.h>

#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/stream.h"

static const struct bi__first_use no_first_use;

/* Does not clear the fences: they count for nothing without fence_count, and this takes part in every wrap. */
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

/* Makes the lock new in a forked child. */
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

/* Returns 1 if no failure, no end of work and no event of a producer or of host memory is to be handled. */
static inline int is_plain_locked(const struct bi_memory *memory)
{
	const struct bi__order *order = &memory->order;

	return !order->last_use.context && !order->first_use.count && !order->unrecorded && !order->lost;
}

/* Returns 1 if later work waits for nothing but the home stream, and no failure and no end of work is to be handled. */
static inline int is_on_home_locked(const struct bi_memory *memory)
{
	return is_plain_locked(memory) && !memory->order.spread;
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

/* Unlocks the memory. Returns 1 if the step left references: the caller then releases *leftovers. */
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

/* Returns 1 if a last-use event counts in context->host_uses: for host memory that is not borrowed (order.h). */
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

/* Leaves the fence, unless it is complete, to the end of the step, which releases it. */
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

/* Private memory has the context stream as its home stream. memory->context is NULL after the last release. */
static struct bi_context *context_of_points(const struct bi_memory *memory)
{
	return memory->home->context;
}

/* The fence is borrowed from the point. */
static struct bi__fence fence_of_point(const struct bi_memory *memory, const struct bi__point *point)
{
	return point->end ? (struct bi__fence){ context_of_points(memory), point->end->event } : BI__FENCE_NONE;
}

static void release_end(const struct bi_memory *memory, struct bi__end *end)
{
	if (!end || !bi__release_reference(&end->refs))
		return;
	bi__dispatch_event_release(&context_of_points(memory)->device, end->event);
	free(end);
}

void bi__order_clear_points(struct bi_memory *memory)
{
	struct bi__order *order = &memory->order;

	if (!order->spread)
		return;
	release_end(memory, order->written.end);
	order->written = (struct bi__point){ 0 };
	for (int i = 0; i < order->read_count; i++)
		release_end(memory, order->reads[i].end);
	order->read_count = 0;
	order->spread = order->home_seen = order->home_reads = false;
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
		bi__order_clear_points(memory);
		memory->order.pending = memory->marks & BI__MARK_NAMED;
		bi__order_note_idle(memory);
	}
	pthread_mutex_unlock(&memory->lock);
	bi__fence_clear(&last_use);
}

/* Returns 1 in a forked child if the parent could not record the end of work. The child cannot make up for it. */
static int is_of_parent(const struct bi_memory *memory)
{
	const struct bi_stream *stream = memory->order.unrecorded;

	return stream && bi__dispatch_alive(&stream->context->device, NULL) != BI_OK;
}

static int check_lost(const struct bi_memory *memory, struct bi_error *err)
{
	if (is_of_parent(memory))
		return bi__dispatch_alive(&memory->order.unrecorded->context->device, err);
	if (memory->order.lost)
		return bi__fail(err, BI_EDRIVER, "the driver failed; work on the memory may never be known to end");
	return BI_OK;
}

int bi__order_check_failed_locked(struct bi_memory *memory, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int done, rc;

	if (is_plain_locked(memory) || order->is_checked)
		return BI_OK;
	rc = check_lost(memory, err);
	/* Other drivers report a failure of earlier work when more work is enqueued. */
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
		return bi__fail(err, BI_EBUSY, "the memory is mapped for reading (mappings: %u)", readers);
	return BI_OK;
}

/* Like bi__stream_follow. Most operations run on the home stream of their memory, so the comparison saves a call. */
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

/* Does not refuse work on the home stream, which takes part in the capture. */
static int refuse_point_outside(const struct bi_memory *memory, const struct bi__point *point, struct bi_error *err)
{
	const struct bi__fence fence = fence_of_point(memory, point);

	if (point->stream == memory->home->serial)
		return BI_OK;
	return refuse_outside(
		&fence, "earlier work on the array on another stream: call bi_view_synchronize before the capture",
		err);
}

/* Refuses work from before the capture that is not complete. If all is complete, forgets what was noted one by one. */
static int check_outside_locked(struct bi_memory *memory, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc = refuse_outside(&order->last_use, "earlier work on the host memory", err);

	for (size_t i = 0; i < order->first_use.count && !rc; i++)
		rc = refuse_outside(&order->first_use.events[i]->fence, "the producer's event", err);
	if (rc || !order->spread)
		return rc;
	rc = refuse_point_outside(memory, &order->written, err);
	for (int i = 0; i < order->read_count && !rc; i++)
		rc = refuse_point_outside(memory, &order->reads[i], err);
	if (!rc)
		bi__order_clear_points(memory);
	return rc;
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

	/* The home streams are of the same backend as the stream, so they cannot be captured either. */
	if (rc || !bi__order_can_be_captured(stream))
		return rc;
	rc = bi__stream_capture(stream, &id, err);
	if (!rc)
		rc = check_member_locked(a, id, err);
	return rc || !b || b == a ? rc : check_member_locked(b, id, err);
}

/* Blocks the calling thread if the two contexts share no events. */
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

/* Returns 1 if the last-use event was recorded on this stream, and the stream is in-order: no wait is needed. */
static int last_use_is_on(const struct bi_memory *memory, const struct bi_stream *stream)
{
	return memory->order.last_use_stream == stream->serial && !stream->queue.out_of_order &&
	       !stream->queue.per_thread;
}

static int has_followed(const struct bi__step *step, const struct bi_stream *stream)
{
	for (unsigned i = 0; i < step->stream_count; i++)
		if (step->streams[i] == stream)
			return 1;
	return 0;
}

static void note_followed(struct bi__step *step, const struct bi_stream *stream)
{
	if (step->stream_count < BI__STEP_STREAMS)
		step->streams[step->stream_count++] = stream;
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

	/* If the event is not shared, wait_fence has blocked until it was complete. */
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
 * Returns 1 if the library knows all work on the memory: it is its own, and no other code knows the handle. Only then
 * reads on several streams run side by side (docs/ordering.md, row 38).
 */
static int is_private_locked(const struct bi_memory *memory, const struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;

	/* The points of a memory belong to one context. */
	return !(memory->marks & (BI__MARK_EXPORTED | BI__MARK_NAMED)) && memory->own && memory->home &&
	       stream->context == context_of_points(memory) && !order->captured && !order->is_capturing;
}

/* The handle of a per-thread stream is another stream on each thread, so it has no number. */
static uint64_t point_stream(struct bi_stream *stream)
{
	return stream->queue.per_thread ? 0 : stream->serial;
}

static struct bi__point *find_read_locked(struct bi_memory *memory, uint64_t stream)
{
	struct bi__order *order = &memory->order;

	for (int i = 0; i < order->read_count && stream; i++)
		if (order->reads[i].stream == stream)
			return &order->reads[i];
	return NULL;
}

/*
 * Returns the entry of the stream, or a new one, or NULL if all entries have reads. If there is no room for a new
 * entry, it takes the place of another stream that has only begun a read.
 */
static struct bi__point *take_read_locked(struct bi_memory *memory, uint64_t stream)
{
	struct bi__order *order = &memory->order;
	struct bi__point *found = find_read_locked(memory, stream);

	if (found || !stream)
		return found;
	if (order->read_count < BI__READS)
		found = &order->reads[order->read_count++];
	for (int i = 0; i < BI__READS && !found; i++)
		if (!order->reads[i].end)
			found = &order->reads[i];
	if (found)
		*found = (struct bi__point){ .stream = stream };
	return found;
}

/* The step forgets the events that it has waited for, because they may be destroyed now. */
static void drop_complete_reads_locked(struct bi_memory *memory, struct bi__step *step)
{
	const struct bi__device *device = &context_of_points(memory)->device;
	struct bi__order *order = &memory->order;

	for (int i = order->read_count - 1; i >= 0; i--) {
		struct bi__end *end = order->reads[i].end;
		int done = 0;

		if (!end || bi__dispatch_poll(device, end->event, 0, &done, NULL) || !done)
			continue;
		release_end(memory, end);
		order->reads[i] = order->reads[--order->read_count];
		step->end_count = 0;
	}
}

/* Returns 1 if the point is on the stream, and the stream keeps its work in order. */
static int is_on(const struct bi__point *point, struct bi_stream *stream)
{
	return point->stream && point->stream == point_stream(stream) && !stream->queue.out_of_order;
}

/* Returns 1 if each noted point is on the stream, so that the stream need not wait for them. */
static int are_points_on_locked(const struct bi_memory *memory, struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;
	int are_on = !order->written.end || is_on(&order->written, stream);

	for (int i = 0; i < order->read_count && are_on; i++)
		are_on = !order->reads[i].end || is_on(&order->reads[i], stream);
	return are_on;
}

int bi__order_waits_locked(const struct bi_memory *memory, struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;

	if (!is_plain_locked(memory))
		return 1;
	if (!order->pending)
		return 0;
	if (!order->spread)
		return memory->home != stream || stream->queue.out_of_order;
	return !is_private_locked(memory, stream) || order->home_reads || !are_points_on_locked(memory, stream);
}

static int wait_for_point(const struct bi__point *point, struct bi__step *step, struct bi_error *err)
{
	struct bi_stream *stream = step->stream;
	int rc;

	if (!point->end || is_on(point, stream))
		return BI_OK;
	for (unsigned i = 0; i < step->end_count; i++)
		if (step->ends[i] == point->end)
			return BI_OK;
	rc = bi__dispatch_wait(&stream->context->device, &stream->queue, point->end->event, err);
	if (!rc && step->end_count < BI__STEP_ENDS)
		step->ends[step->end_count++] = point->end;
	return rc;
}

/* Each read comes after the last write, so the reads stand for it. */
static int wait_for_all_locked(const struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	const struct bi__order *order = &memory->order;
	int has_reads = 0, rc = BI_OK;

	for (int i = 0; i < order->read_count && !rc; i++) {
		has_reads |= order->reads[i].end != NULL;
		rc = wait_for_point(&order->reads[i], step, err);
	}
	return rc || has_reads ? rc : wait_for_point(&order->written, step, err);
}

int bi__order_gather_locked(struct bi_memory *memory, struct bi_error *err)
{
	struct bi__step step;
	int rc;

	if (!memory->order.spread)
		return BI_OK;
	step = bi__step_on(memory->home);
	rc = bi__stream_refuse_capture(memory->home, "it cannot wait for earlier work on another stream", err);
	if (!rc)
		rc = wait_for_all_locked(memory, &step, err);
	if (!rc)
		bi__order_clear_points(memory);
	return rc;
}

/* Sets *out to the end of the stream, which the memories of a step share: *shared is NULL before the first of them. */
static int record_point(struct bi__end **shared, struct bi_stream *stream, struct bi__end **out, struct bi_error *err)
{
	struct bi__end *end = *shared;
	int rc;

	if (end) {
		atomic_fetch_add_explicit(&end->refs, 1, memory_order_relaxed);
		*out = end;
		return BI_OK;
	}
	end = malloc(sizeof(*end));
	if (!end)
		return bi__fail(err, BI_ENOMEM, "no memory for an event");
	atomic_init(&end->refs, 1);
	rc = bi__dispatch_record(&stream->context->device, &stream->queue, &end->event, err);
	if (rc)
		free(end);
	else
		*out = *shared = end;
	return rc;
}

/* Begins to note the work one by one. The work so far has its end at the end of the home stream now. */
static int spread_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	struct bi__end *end = NULL;
	int rc = BI_OK;

	if (order->spread)
		return BI_OK;
	if (order->pending)
		rc = record_point(&step->home, memory->home, &end, err);
	if (rc)
		return rc;
	order->written = (struct bi__point){ memory->home->serial, end, 0 };
	order->read_count = 0;
	order->spread = order->home_seen = true;
	order->home_reads = false;
	return BI_OK;
}

/* The step forgets the events, because they may be destroyed now. */
static void clear_points_in(struct bi__step *step, struct bi_memory *memory)
{
	step->home = NULL;
	step->end_count = 0;
	bi__order_clear_points(memory);
}

/* After a wait for all work, the end of the home stream is the end of all work again. */
static int begin_on_home_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc = BI_OK;

	if (!order->spread)
		return BI_OK;
	if (access & BI_ACCESS_WRITE) {
		rc = wait_for_all_locked(memory, step, err);
		if (!rc)
			clear_points_in(step, memory);
		return rc;
	}
	if (!order->home_seen)
		rc = wait_for_point(&order->written, step, err);
	order->home_seen |= !rc;
	return rc;
}

static int begin_elsewhere_locked(struct bi_memory *memory, unsigned access, struct bi__step *step,
				  struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	uint64_t stream = point_stream(step->stream);
	struct bi__point *entry;
	int rc = spread_locked(memory, step, err);

	if (!rc && access & BI_ACCESS_WRITE)
		rc = wait_for_all_locked(memory, step, err);
	else if (!rc && !find_read_locked(memory, stream))
		rc = wait_for_point(&order->written, step, err);
	if (rc)
		return rc;
	entry = take_read_locked(memory, stream);
	if (!entry && stream) {
		drop_complete_reads_locked(memory, step);
		entry = take_read_locked(memory, stream);
	}
	if (!(access & BI_ACCESS_WRITE))
		return BI_OK;
	if (order->home_reads)
		rc = follow(step->stream, memory->home, err);
	if (!rc && entry)
		entry->seen = order->epoch + 1;
	return rc;
}

static int begin_private_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	const struct bi__order *order = &memory->order;
	int rc;

	if (step->stream == memory->home)
		return begin_on_home_locked(memory, access, step, err);
	rc = begin_elsewhere_locked(memory, access, step, err);
	if (!rc && step->home && order->written.end == step->home)
		note_followed(step, memory->home);
	return rc;
}

/* Does what begin_private_locked does for memory that other code may know. */
static int begin_shared_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	struct bi_stream *home = memory->home;
	int rc;

	if (memory->order.spread)
		step->stream_count = 0;
	rc = bi__order_gather_locked(memory, err);
	if (rc || !waits_for_home_stream_locked(memory) || has_followed(step, home))
		return rc;
	rc = follow(step->stream, home, err);
	if (!rc)
		note_followed(step, home);
	return rc;
}

void bi__order_catch_up_in_locked(struct bi__step *step, struct bi_memory *memory)
{
	if (!memory->order.unrecorded)
		return;
	bi__order_catch_up_locked(memory);
	*step = bi__step_on(step->stream);
}

int bi__order_begin_use_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc;

	bi__order_catch_up_in_locked(step, memory);
	if (!order->pending && is_on_home_locked(memory))
		return BI_OK;
	rc = is_plain_locked(memory) ? BI_OK : begin_first_use_locked(memory, step->stream, err);
	if (rc || memory->flags & BI_WRAP_UNORDERED)
		return rc;
	if (order->last_use.context && !order->is_capturing)
		return wait_last_use_locked(memory, step, err);
	if (!order->pending)
		return BI_OK;
	if (is_private_locked(memory, step->stream))
		return begin_private_locked(memory, access, step, err);
	return begin_shared_locked(memory, step, err);
}

int bi__order_begin_locked(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	struct bi__step step = bi__step_on(stream);

	return bi__order_begin_use_locked(memory, BI_ACCESS_READ_WRITE, &step, err);
}

/*
 * Returns 1 if nothing has to be checked or waited for: all pending work is on this in-order stream, the memory is not
 * mapped, and no failure and no end of work is still to be handled.
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
	/* Device memory comes first, because the last-use event of the host memory may be on its home stream. */
	int from_first = from && to->backend->synchronous;
	struct bi__step step = bi__step_on(stream);
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
	/* Nothing may be enqueued if the work of one of the two producers failed. */
	if (!rc && from)
		rc = bi__order_check_failed_locked(from, err);
	return rc ? rc : wait_for_both_locked(to, from, stream, err);
}

/* Sets the last-use event of host memory to that of the step, or to a new event for all work on the stream now. */
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

static int end_on_home_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	int rc = begin_on_home_locked(memory, access, step, err);

	if (memory->order.spread)
		memory->order.home_reads = true;
	return rc;
}

/* The stream first waits for all work that it has not waited for, because later work waits for this write alone. */
static int note_write_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	uint64_t stream = point_stream(step->stream);
	const struct bi__point *entry = order->spread ? find_read_locked(memory, stream) : NULL;
	struct bi__end *end = NULL;
	int rc = BI_OK;

	if (order->pending && !(entry && entry->seen == order->epoch + 1)) {
		step->end = NULL; /* an event of this step does not cover what the stream waits for now */
		rc = begin_elsewhere_locked(memory, BI_ACCESS_READ_WRITE, step, err);
	}
	if (!rc)
		rc = spread_locked(memory, step, err);
	if (!rc)
		rc = record_point(&step->end, step->stream, &end, err);
	if (rc)
		return rc;
	clear_points_in(step, memory);
	order->written = (struct bi__point){ stream, end, 0 };
	order->spread = true;
	return BI_OK;
}

/* A read counts as a write if its stream has not waited for the last write, or if there is no entry for it. */
static int note_read_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	uint64_t stream = point_stream(step->stream);
	struct bi__point *entry;
	struct bi__end *end = NULL;
	int rc = spread_locked(memory, step, err);

	if (rc)
		return rc;
	if (order->written.end && !is_on(&order->written, step->stream) && !find_read_locked(memory, stream))
		return note_write_locked(memory, step, err);
	entry = take_read_locked(memory, stream);
	if (!entry)
		drop_complete_reads_locked(memory, step);
	if (!entry && !(entry = take_read_locked(memory, stream)))
		return note_write_locked(memory, step, err);
	rc = record_point(&step->end, step->stream, &end, err);
	if (rc)
		return rc;
	release_end(memory, entry->end);
	entry->end = end;
	return BI_OK;
}

static int end_private_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	if (step->stream == memory->home)
		return end_on_home_locked(memory, access, step, err);
	return access & BI_ACCESS_WRITE ? note_write_locked(memory, step, err) : note_read_locked(memory, step, err);
}

static int end_shared_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	int rc = bi__order_gather_locked(memory, err);

	if (rc || has_followed(step, memory->home))
		return rc;
	rc = follow(memory->home, step->stream, err);
	if (!rc)
		note_followed(step, memory->home);
	return rc;
}

/* Does the gather for memory that another thread has exported during the step. */
static __attribute__((cold, noinline)) int gather_exported_locked(struct bi_memory *memory, struct bi__step *step,
								  struct bi_error *err)
{
	int rc = bi__order_gather_locked(memory, err);

	/* The gather may have released what the step recorded a moment ago. */
	step->home = step->end = NULL;
	step->end_count = 0;
	return rc;
}

/* Records the end of work on device memory. */
static int record_device_end_locked(struct bi_memory *memory, unsigned access, struct bi__step *step,
				    struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc;

	if (!is_private_locked(memory, step->stream)) {
		rc = end_shared_locked(memory, step, err);
		order->pending = true;
		order->home_use = UINT64_MAX; /* the stream may be that of another context */
		return rc;
	}
	rc = end_private_locked(memory, access, step, err);
	order->pending = true;
	order->home_use =
		order->spread ? UINT64_MAX : atomic_load_explicit(&memory->home->queue.enqueued, memory_order_relaxed);
	if (memory->idle)
		memory->idle = false; /* before the mark is read: the thread that sets it reads `idle` after that */
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

	if (!stream || is_of_parent(memory))
		return;
	step = bi__step_on(stream);
	if (record_end_locked(memory, BI_ACCESS_READ_WRITE, &step, NULL) && bi__stream_finish(stream, NULL))
		order->lost = true;
	else
		bi__order_end_host_use(memory, stream->context);
	order->leftovers.streams[order->leftovers.streams[0] != NULL] = stream;
	order->unrecorded = NULL;
	order->is_checked = false;
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
	struct bi__step step = bi__step_on(stream);

	return bi__order_end_use_locked(memory, BI_ACCESS_READ_WRITE, &step, err);
}

int bi__order_end_copy_locked(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream,
			      struct bi__fence end, struct bi_error *err)
{
	struct bi__step step = bi__step_on(stream);
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
		rc = bi__order_gather_locked(memory, err);
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
 * Waits for the end of the work on borrowed memory. If the driver cannot wait for its event, waits until its stream is
 * empty. Some events bring the bytes when they are found complete, so the event is queried after that.
 */
static int finish_last_use(const struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err)
{
	const struct bi__fence *last_use = &memory->order.last_use;
	struct bi_stream *stream = memory->partner.stream;
	int done, rc = check_lost(memory, err);

	if (!rc)
		rc = bi__fence_finish(last_use, reason, err);
	if (!rc || rc == BI_EPRODUCER || !stream || bi__stream_finish(stream, err))
		return rc;
	rc = bi__fence_query(last_use, &done, err);
	return rc || done ? rc : bi__fail(err, BI_EDRIVER, "the stream is empty, but its last event is not complete");
}

int bi__order_finish_borrowed(struct bi_memory *memory, enum bi__wait_reason reason, struct bi_error *err)
{
	int rc;

	if (memory->idle)
		return BI_OK;
	bi__order_catch_up_locked(memory);
	rc = finish_last_use(memory, reason, err);
	bi__fence_clear(&memory->order.last_use);
	if (has_leftovers(&memory->order.leftovers))
		release_leftovers(&memory->order.leftovers);
	return rc;
}

static int finish_point(const struct bi_memory *memory, const struct bi__point *point)
{
	const struct bi__fence fence = fence_of_point(memory, point);

	return bi__fence_finish(&fence, BI__WAIT_FAILURE, NULL);
}

int bi__order_finish_points(struct bi_memory *memory)
{
	const struct bi__order *order = &memory->order;
	int rc;

	if (!order->spread)
		return BI_OK;
	rc = finish_point(memory, &order->written);
	for (int i = 0; i < order->read_count && (!rc || rc == BI_EPRODUCER); i++)
		rc = finish_point(memory, &order->reads[i]);
	return rc == BI_EPRODUCER ? BI_OK : rc;
}

int bi__order_comes_last_locked(const struct bi_memory *memory, const struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;

	if (!order->spread)
		return 1;
	if (order->home_reads && stream != memory->home)
		return 0;
	for (int i = 0; i < order->read_count; i++)
		if (order->reads[i].end && order->reads[i].stream != stream->serial)
			return 0;
	return 1;
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
