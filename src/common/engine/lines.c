/* Copies line by line, in most plans along the last axis: rows, strided elements, broadcasts and fills. */
#include <string.h>

#include "common/engine/parts.h"
#include "common/engine/run.h"
#include "common/engine/writer.h"

struct lines {
	int x, y; /* axis of the inner loop; axis of the loop around it, or -1 */
	int64_t count, dst_x, src_x; /* axis x: extent, and strides in bytes */
	int64_t rows, dst_row, src_row; /* axis y: extent, and strides in bytes */
	int64_t batch; /* units that are moved along x before the next step along y */
	int dense; /* the units of a line of the destination are adjacent */
	int direct; /* each unit is passed to the writer; 0: units are collected in its buffer */
	int prefetches; /* later rows may be prefetched */
	struct bi__run run;
	struct bi__writer *writer; /* NULL: ordinary stores */
};

/* The most bytes that repeat_any copies in one step. A longer unit is copied whole. */
#define PATTERN_BYTES 2048

/* Fills dst with copies of `line`. The unit divides BI__LINE and `bytes` >= BI__LINE. The last copy may overlap. */
static void repeat_lines(unsigned char *dst, const unsigned char *line, size_t bytes)
{
	for (size_t done = 0; done + BI__LINE <= bytes; done += BI__LINE)
		memcpy(dst + done, line, BI__LINE);
	memcpy(dst + bytes - BI__LINE, line, BI__LINE);
}

/* Repeats a unit of any size: copies the bytes that are already written, in amounts that grow up to PATTERN_BYTES. */
static void repeat_any(unsigned char *dst, const unsigned char *src, size_t bytes, size_t unit)
{
	size_t done = unit;

	memcpy(dst, src, unit);
	while (done < bytes) {
		size_t most = done;

		if (most > PATTERN_BYTES)
			most = unit < PATTERN_BYTES ? PATTERN_BYTES / unit * unit : unit;
		if (most > bytes - done)
			most = bytes - done;
		memcpy(dst + done, dst, most);
		done += most;
	}
}

/* Writes the unit at src `count` times without gaps. */
static void repeat_unit(const struct lines *lines, unsigned char *dst, const unsigned char *src, int64_t count)
{
	const size_t unit = lines->run.unit, bytes = (size_t)count * unit;
	unsigned char line[BI__LINE];

	if (unit == 1) {
		memset(dst, *src, bytes);
	} else if (bytes < BI__LINE) {
		lines->run.one_by_one(dst, src, count, (int64_t)unit, 0, unit);
	} else if (BI__LINE % unit == 0) {
		lines->run.one_by_one(line, src, (int64_t)(BI__LINE / unit), (int64_t)unit, 0, unit);
		repeat_lines(dst, line, bytes);
	} else {
		repeat_any(dst, src, bytes, unit);
	}
}

static void move_units(const struct lines *lines, unsigned char *dst, const unsigned char *src, int64_t count)
{
	if (lines->dense && lines->run.src_step == 0)
		repeat_unit(lines, dst, src, count);
	else
		bi__run(&lines->run, dst, src, count);
}

/*
 * Streamed units of at least PREFETCHED bytes are prefetched about AHEAD bytes before they are read. Hardware
 * prefetching finds the lines of one unit, but not the next unit, and it stops at page boundaries.
 */
#define PREFETCHED BI__LINE
#define AHEAD 4096

/*
 * Units of at least ALWAYS_DIRECT bytes are passed to the writer one by one. Units of at least DIRECT_UNIT bytes are
 * passed one by one if the source has a step along x, and the two inner loops move DIRECT_BYTES or more, which is
 * enough for prefetching. All other units are collected in the writer's buffer, because a call for each of them would
 * cost more.
 */
#define ALWAYS_DIRECT 1024
#define DIRECT_UNIT 128
#define DIRECT_BYTES (4 * AHEAD)

/*
 * Prefetches `some` units from number `first` on, but none from number `count` on, and at most AHEAD bytes of each
 * unit. Does nothing for units of less than PREFETCHED bytes, and for a source without a step. The function is always
 * inlined, because compilers drop a call whose only effect is a prefetch.
 */
static inline __attribute__((always_inline)) void prefetch_units(const struct lines *lines, const unsigned char *src,
								 int64_t first, int64_t some, int64_t count)
{
	const size_t unit = lines->run.unit, bytes = unit < AHEAD ? unit : AHEAD;
	const int64_t end = first + some < count ? first + some : count;

	if (unit < PREFETCHED || lines->run.src_step == 0)
		return;
	for (int64_t i = first; i < end; i++)
		for (size_t at = 0; at < bytes; at += BI__LINE)
			__builtin_prefetch(src + i * lines->run.src_step + at);
}

/* Moves `count` units through the writer's buffer. */
static void collect_units(const struct lines *lines, const unsigned char *src, int64_t count)
{
	const size_t unit = lines->run.unit;
	const int64_t most = BI__WRITER_BYTES / (int64_t)unit;

	while (count > 0) {
		int64_t some = count < most ? count : most;

		prefetch_units(lines, src, some, some, count);
		move_units(lines, bi__writer_space(lines->writer), src, some);
		bi__writer_added(lines->writer, (size_t)some * unit);
		src += some * lines->run.src_step;
		count -= some;
	}
}

/*
 * Shuffles units to the destination without the buffer. The units before the first one that begins with a cache line,
 * and those that bi__run_streamed leaves at the end, go through the buffer.
 */
static void shuffle_units(const struct lines *lines, const unsigned char *src, int64_t count)
{
	const int64_t step = lines->run.src_step;
	int64_t first = bi__units_to_line(lines->writer->fill, lines->run.unit), went;

	if (first > count)
		first = count;
	collect_units(lines, src, first);
	went = bi__run_streamed(&lines->run, lines->writer->line, src + first * step, count - first);
	lines->writer->line += (size_t)went * lines->run.unit;
	collect_units(lines, src + (first + went) * step, count - first - went);
}

/* Writes `count` units with the writer: each by itself, by shuffles, or collected in its buffer. */
static void stream_units(const struct lines *lines, unsigned char *dst, const unsigned char *src, int64_t count)
{
	const size_t unit = lines->run.unit;

	bi__writer_seek(lines->writer, dst);
	if (lines->direct) {
		for (int64_t i = 0; i < count; i++) {
			prefetch_units(lines, src, i + 1 + AHEAD / (int64_t)unit, 1, count);
			bi__writer_put(lines->writer, src + i * lines->run.src_step, unit);
		}
	} else if (lines->run.shuffle.count) {
		shuffle_units(lines, src, count);
	} else {
		collect_units(lines, src, count);
	}
}

/* Returns 1 if the source has short units in reverse order, at most a line apart. */
static int is_reversed(const struct lines *lines)
{
	return lines->src_x < 0 && lines->src_x >= -BI__LINE && lines->run.unit < PREFETCHED;
}

/*
 * Prefetches the cache lines of a row if its units are reversed. The last cache line may be missed. Hardware
 * prefetching does not find the next row if the units run backwards (measured on AMD Zen 3).
 */
static inline __attribute__((always_inline)) void prefetch_reversed(const struct lines *lines, const unsigned char *src,
								    int64_t count)
{
	if (!is_reversed(lines))
		return;
	for (int64_t at = (count - 1) * lines->src_x; at < (int64_t)lines->run.unit; at += BI__LINE)
		__builtin_prefetch(src + at);
}

static void copy_some_of_rows(const struct lines *lines, unsigned char *dst, const unsigned char *src, int64_t count)
{
	const int64_t ahead = lines->prefetches ? 1 + AHEAD / (count * (int64_t)lines->run.unit) : 0;

	for (int64_t i = 0; i < lines->rows; i++, dst += lines->dst_row, src += lines->src_row) {
		/*
		 * Rows of more than AHEAD bytes are not prefetched here. If their units are long, stream_units
		 * prefetches them.
		 */
		if (ahead > 1 && i + ahead < lines->rows) {
			prefetch_units(lines, src + ahead * lines->src_row, 0, count, count);
			prefetch_reversed(lines, src + ahead * lines->src_row, count);
		}
		if (lines->writer)
			stream_units(lines, dst, src, count);
		else
			move_units(lines, dst, src, count);
	}
}

static void copy_rows(void *inner, unsigned char *dst, const unsigned char *src)
{
	const struct lines *lines = inner;
	int64_t count;

	for (int64_t done = 0; done < lines->count; done += count) {
		count = lines->count - done < lines->batch ? lines->count - done : lines->batch;
		copy_some_of_rows(lines, dst + done * lines->dst_x, src + done * lines->src_x, count);
	}
}

/* Only runs of at least this many bytes are streamed. Shorter runs have too many incomplete cache lines. */
#define STREAMED_RUN 512

/* Returns the bytes of the runs without gaps that the destination consists of. */
static int64_t dense_bytes(const struct bi__plan *plan)
{
	int64_t bytes = (int64_t)plan->unit;

	for (int i = plan->ndim - 1; i >= 0 && plan->dst_strides[i] == bytes; i--)
		bytes *= plan->shape[i];
	return bytes;
}

/*
 * Bytes of the destination between two steps along axis y. Non-temporal stores are fast if they are sequential in
 * pieces of this many bytes, so y can be the axis along which the source is sequential. If short lines are copied
 * across, a piece of the destination stays in the cache until its lines are complete.
 */
#define PIECE 2048

static int64_t per_piece(int64_t step)
{
	return step < PIECE ? PIECE / step : 1;
}

#define SHORT_COUNT 24

/* Returns true if lines are so short that ordinary stores take less time in a loop along the axis around them. */
static int has_short_lines(const struct bi__plan *plan)
{
	const int x = plan->ndim - 1;

	return x > 0 && plan->shape[x] < SHORT_COUNT && plan->shape[x] * (int64_t)plan->unit < BI__PLAN_SHORT &&
	       plan->shape[x - 1] > plan->shape[x];
}

static void choose_axes(struct lines *lines, const struct bi__plan *plan)
{
	const int last = plan->ndim - 1, along = lines->writer ? bi__plan_cross(plan) : -1;

	lines->x = last;
	lines->y = along < 0 ? last - 1 : along;
	lines->batch = along < 0 ? plan->shape[last] : per_piece((int64_t)plan->unit);
	if (lines->writer || !has_short_lines(plan))
		return;
	lines->x = last - 1;
	lines->y = last;
	lines->dense = 0;
	lines->batch = per_piece(plan->dst_strides[last - 1]);
}

/* Returns 1 if each unit is passed to the writer by itself. */
static int is_direct(const struct lines *lines, size_t unit)
{
	return unit >= ALWAYS_DIRECT ||
	       (unit >= DIRECT_UNIT && lines->src_x && (uint64_t)(lines->rows * lines->count) * unit >= DIRECT_BYTES);
}

/* If plans of fewer bytes are not streamed, they do not prefetch: their source is often in the cache. */
#define UNCACHED ((uint64_t)512 << 10)

static void set_up_lines(struct lines *lines, const struct bi__engine_part *part, struct bi__writer *writer)
{
	const struct bi__plan *plan = part->plan;

	lines->dense = plan->dst_strides[plan->ndim - 1] == (int64_t)plan->unit;
	lines->writer = part->streams && lines->dense && dense_bytes(plan) >= STREAMED_RUN ? writer : NULL;
	choose_axes(lines, plan);
	lines->count = plan->shape[lines->x];
	lines->dst_x = plan->dst_strides[lines->x];
	lines->src_x = plan->src_strides[lines->x];
	lines->rows = lines->y < 0 ? 1 : plan->shape[lines->y];
	lines->dst_row = lines->y < 0 ? 0 : plan->dst_strides[lines->y];
	lines->src_row = lines->y < 0 ? 0 : plan->src_strides[lines->y];
	lines->direct = is_direct(lines, plan->unit);
	bi__run_init(&lines->run, part->simd,
		     &(struct bi__run_axis){ plan->unit, lines->dst_x, lines->src_x, plan->bytes });
	lines->prefetches = lines->writer || (is_reversed(lines) && plan->bytes >= UNCACHED);
}

void bi__engine_lines(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	struct bi__writer writer;
	struct lines lines;

	set_up_lines(&lines, part, &writer);
	if (lines.writer)
		bi__writer_init(&writer, part->simd);
	bi__walk(part->plan, lines.x, lines.y, copy_rows, &lines, dst, src);
	if (lines.writer)
		bi__writer_finish(&writer);
}
