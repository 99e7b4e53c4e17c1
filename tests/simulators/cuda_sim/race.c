#include "race.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operations that read the same bytes. Reference-counted, and not changed after it was made. */
struct readers {
	unsigned references;
	unsigned count;
	struct stamp *stamps[];
};

struct place place_now(uint32_t stream)
{
	const struct thread *self = thread_self();

	return (struct place){ self->entry, self->call, stream };
}

const char *stream_text(uint32_t stream, char text[40])
{
	if (stream == PLACE_HOST)
		snprintf(text, 40, "the CPU");
	else if (stream == PLACE_LEGACY)
		snprintf(text, 40, "the legacy stream");
	else if (stream == PLACE_PER_THREAD)
		snprintf(text, 40, "a per-thread stream");
	else
		snprintf(text, 40, "stream %u", stream);
	return text;
}

const char *place_text(struct place place, char text[128])
{
	char where[40];

	stream_text(place.stream, where);
	if (place.entry < ENTRY_COUNT)
		snprintf(text, 128, "%s (call %ju) on %s", entry_name(place.entry), (uintmax_t)place.call, where);
	else
		snprintf(text, 128, "%s on %s", entry_name(place.entry), where);
	return text;
}

struct stamp *stamp_new(unsigned slot, uint32_t time, struct place place)
{
	struct stamp *stamp = must_alloc(1, sizeof(*stamp));

	*stamp = (struct stamp){ 1, slot, time, place };
	return stamp;
}

static struct stamp *stamp_retain(struct stamp *stamp)
{
	if (stamp)
		stamp->references++;
	return stamp;
}

void stamp_release(struct stamp *stamp)
{
	if (stamp && !--stamp->references)
		free(stamp);
}

static int is_behind(const struct clock *clock, const struct stamp *stamp)
{
	return clock_at(clock, stamp->slot) >= stamp->time;
}

static struct readers *readers_retain(struct readers *readers)
{
	if (readers)
		readers->references++;
	return readers;
}

static void readers_release(struct readers *readers)
{
	if (!readers || --readers->references)
		return;
	for (unsigned i = 0; i < readers->count; i++)
		stamp_release(readers->stamps[i]);
	free(readers);
}

/* Returns the new reader, and the old ones that do not come before it. */
static struct readers *readers_with(const struct readers *old, struct stamp *stamp, const struct clock *clock)
{
	unsigned count = old ? old->count : 0;
	struct readers *readers = must_alloc(1, sizeof(*readers) + (count + 1) * sizeof(struct stamp *));

	readers->references = 1;
	for (unsigned i = 0; i < count; i++)
		if (!is_behind(clock, old->stamps[i]))
			readers->stamps[readers->count++] = stamp_retain(old->stamps[i]);
	readers->stamps[readers->count++] = stamp_retain(stamp);
	return readers;
}

/* Appends a segment, with references of its own, or extends the last one if that is equal. */
static void append(struct history *history, size_t start, size_t end, struct stamp *writer, struct readers *readers)
{
	struct segment *last = history->count ? &history->segments[history->count - 1] : NULL;

	if (start == end)
		return;
	if (last && last->writer == writer && last->readers == readers) {
		last->end = end;
		return;
	}
	if (history->count == history->capacity) {
		history->capacity = history->capacity ? 2 * history->capacity : 1;
		history->segments = must_grow(history->segments, history->capacity, sizeof(struct segment));
	}
	history->segments[history->count++] =
		(struct segment){ start, end, stamp_retain(writer), readers_retain(readers) };
}

static void release_segments(struct segment *segments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		stamp_release(segments[i].writer);
		readers_release(segments[i].readers);
	}
}

void history_init(struct history *history, size_t nbytes, struct stamp *writer)
{
	*history = (struct history){ NULL, 0, 0 };
	append(history, 0, nbytes, writer, NULL);
}

void history_clear(struct history *history)
{
	release_segments(history->segments, history->count);
	free(history->segments);
	*history = (struct history){ NULL, 0, 0 };
}

/* Returns the index of the segment that contains the byte. */
static size_t segment_at(const struct history *history, size_t at)
{
	size_t low = 0, high = history->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (history->segments[middle].start <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static const struct stamp *segment_conflict(const struct segment *segment, int writes, const struct clock *clock)
{
	const struct readers *readers = segment->readers;

	if (segment->writer && !is_behind(clock, segment->writer))
		return segment->writer;
	for (unsigned i = 0; writes && readers && i < readers->count; i++)
		if (!is_behind(clock, readers->stamps[i]))
			return readers->stamps[i];
	return NULL;
}

const struct stamp *history_conflict(const struct history *history, const struct extent *extents, size_t count,
				     int writes, const struct clock *clock, struct extent *where)
{
	size_t i = segment_at(history, extents[0].start);

	for (size_t k = 0; k < count; k++) {
		while (history->segments[i].end <= extents[k].start)
			i++;
		for (size_t j = i; j < history->count && history->segments[j].start < extents[k].end; j++) {
			const struct segment *segment = &history->segments[j];
			const struct stamp *found = segment_conflict(segment, writes, clock);

			if (!found)
				continue;
			where->start = segment->start > extents[k].start ? segment->start : extents[k].start;
			where->end = segment->end < extents[k].end ? segment->end : extents[k].end;
			return found;
		}
	}
	return NULL;
}

/* A new access while it is added. `with` is the result of readers_with for `old`, which often comes again. */
struct entering {
	struct stamp *stamp;
	const struct clock *clock;
	int writes;
	const struct readers *old;
	struct readers *with;
};

static void append_accessed(struct history *to, struct entering *entering, const struct segment *segment, size_t start,
			    size_t end)
{
	if (entering->writes) {
		append(to, start, end, entering->stamp, NULL);
		return;
	}
	if (!entering->with || entering->old != segment->readers) {
		readers_release(entering->with);
		entering->with = readers_with(segment->readers, entering->stamp, entering->clock);
		entering->old = segment->readers;
	}
	append(to, start, end, segment->writer, entering->with);
}

/* Appends a segment, cut at the ends of the extents. Returns the index of the first extent that reaches further. */
static size_t append_cut(struct history *to, struct entering *entering, const struct segment *segment,
			 const struct extent *extents, size_t k, size_t count)
{
	size_t at = segment->start;

	for (; k < count && extents[k].start < segment->end; k++) {
		size_t start = extents[k].start > at ? extents[k].start : at;
		size_t end = extents[k].end < segment->end ? extents[k].end : segment->end;

		append(to, at, start, segment->writer, segment->readers);
		append_accessed(to, entering, segment, start, end);
		at = end;
		if (extents[k].end > segment->end)
			break;
	}
	append(to, at, segment->end, segment->writer, segment->readers);
	return k;
}

/* Replaces segments [first, last). */
static void splice(struct history *history, size_t first, size_t last, const struct history *by)
{
	size_t count = history->count - (last - first) + by->count;
	struct segment *segments;

	release_segments(history->segments + first, last - first);
	if (count > history->capacity) {
		history->capacity = 2 * count;
		history->segments = must_grow(history->segments, history->capacity, sizeof(struct segment));
	}
	segments = history->segments;
	memmove(segments + first + by->count, segments + last, (history->count - last) * sizeof(*segments));
	memcpy(segments + first, by->segments, by->count * sizeof(*segments));
	history->count = count;
}

/* One segment more on either side takes part, so that equal neighbours merge. */
void history_note(struct history *history, const struct extent *extents, size_t count, int writes,
		  const struct clock *clock, struct stamp *stamp)
{
	struct entering entering = { stamp, clock, writes, NULL, NULL };
	struct history by = { NULL, 0, 0 };
	size_t first = segment_at(history, extents[0].start);
	size_t last = segment_at(history, extents[count - 1].end - 1) + 1;
	size_t k = 0;

	first -= first > 0;
	last += last < history->count;
	for (size_t i = first; i < last; i++)
		k = append_cut(&by, &entering, &history->segments[i], extents, k, count);
	readers_release(entering.with);
	splice(history, first, last, &by);
	free(by.segments);
}
