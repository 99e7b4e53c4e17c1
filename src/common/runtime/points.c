#include "common/runtime/points.h"

#include <stdlib.h>

#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/stream.h"

/* The home stream of private memory is the context stream. After the last release memory->context is NULL. */
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

void bi__points_clear(struct bi_memory *memory)
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

/* Returns the number of the stream in points. A per-thread stream has none: it is another stream on each thread. */
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
 * Returns the entry of the stream, or a new entry. If all entries are taken, the new entry takes the place of a stream
 * that has begun a use and not ended it. Returns NULL if there is no such stream, and for stream 0.
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

/* Drops entries whose read is complete. Then the step forgets the ends that it has waited for: they may be freed. */
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

/* Returns 1 if the point is on the stream, and the stream is in-order. */
static int is_on(const struct bi__point *point, struct bi_stream *stream)
{
	return point->stream && point->stream == point_stream(stream) && !stream->queue.out_of_order;
}

int bi__points_are_on_locked(const struct bi_memory *memory, struct bi_stream *stream)
{
	const struct bi__order *order = &memory->order;
	int are_on = !order->written.end || is_on(&order->written, stream);

	for (int i = 0; i < order->read_count && are_on; i++)
		are_on = !order->reads[i].end || is_on(&order->reads[i], stream);
	return are_on;
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

/* Each read comes after the last write, so a wait for a read is also a wait for the last write. */
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

/* Accepts a point on the home stream, because the home stream takes part in the capture. */
static int check_point_outside(const struct bi_memory *memory, const struct bi__point *point, struct bi_error *err)
{
	const struct bi__fence fence = fence_of_point(memory, point);

	if (point->stream == memory->home->serial)
		return BI_OK;
	return bi__fence_check_outside(
		&fence, "earlier work on the array on another stream: call bi_view_synchronize before the capture",
		err);
}

int bi__points_check_outside_locked(struct bi_memory *memory, struct bi_error *err)
{
	const struct bi__order *order = &memory->order;
	int rc;

	if (!order->spread)
		return BI_OK;
	rc = check_point_outside(memory, &order->written, err);
	for (int i = 0; i < order->read_count && !rc; i++)
		rc = check_point_outside(memory, &order->reads[i], err);
	if (!rc)
		bi__points_clear(memory);
	return rc;
}

int bi__points_gather_locked(struct bi_memory *memory, struct bi_error *err)
{
	struct bi__step step;
	int rc;

	if (!memory->order.spread)
		return BI_OK;
	step = BI__STEP_ON(memory->home);
	rc = bi__stream_refuse_capture(memory->home, "it cannot wait for earlier work on another stream", err);
	if (!rc)
		rc = wait_for_all_locked(memory, &step, err);
	if (!rc)
		bi__points_clear(memory);
	return rc;
}

/* Sets *out to an end for all work on the stream now. The first memory of a step sets *shared, others get *shared. */
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

/* Gives points to a memory without points: the end of its home stream becomes the end of the last write. */
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

/* Clears the points. Then the step forgets the ends that it has waited for, because they may be freed now. */
static void clear_points_in(struct bi__step *step, struct bi_memory *memory)
{
	step->home = NULL;
	step->end_count = 0;
	bi__points_clear(memory);
}

/* A write waits for all work. Then no points are needed: the end of the home stream is the end of all work again. */
static int begin_on_home_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	int rc = BI_OK;

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
		rc = bi__stream_follow(step->stream, memory->home, err);
	if (!rc && entry)
		entry->seen = order->epoch + 1;
	return rc;
}

int bi__points_begin_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	const struct bi__order *order = &memory->order;
	int rc;

	if (step->stream == memory->home)
		return begin_on_home_locked(memory, access, step, err);
	rc = begin_elsewhere_locked(memory, access, step, err);
	if (!rc && step->home && order->written.end == step->home)
		bi__step_note(step, memory->home);
	return rc;
}

/* Before the end is recorded, the stream waits for all other work, because later work waits for this write alone. */
static int note_write_locked(struct bi_memory *memory, struct bi__step *step, struct bi_error *err)
{
	struct bi__order *order = &memory->order;
	uint64_t stream = point_stream(step->stream);
	const struct bi__point *entry = order->spread ? find_read_locked(memory, stream) : NULL;
	struct bi__end *end = NULL;
	int rc = BI_OK;

	if (order->pending && !(entry && entry->seen == order->epoch + 1)) {
		step->end = NULL; /* the end that this step recorded comes before this wait */
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

/* A read counts as a write if its stream has not waited for the last write, or if no entry is free (38.5, 38.7). */
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

static int end_on_home_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	int rc = begin_on_home_locked(memory, access, step, err);

	if (memory->order.spread)
		memory->order.home_reads = true;
	return rc;
}

int bi__points_end_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err)
{
	if (step->stream == memory->home)
		return end_on_home_locked(memory, access, step, err);
	return access & BI_ACCESS_WRITE ? note_write_locked(memory, step, err) : note_read_locked(memory, step, err);
}

static int finish_point(const struct bi_memory *memory, const struct bi__point *point)
{
	const struct bi__fence fence = fence_of_point(memory, point);

	return bi__fence_finish(&fence, BI__WAIT_FAILURE, NULL);
}

int bi__points_finish(struct bi_memory *memory)
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

int bi__points_come_before_locked(const struct bi_memory *memory, const struct bi_stream *stream)
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
