/*
 * Transposes without the tables and buffers of tiles. Rows of a few units that follow each other, such as the channels
 * of pixels, are collected and streamed. Other rows are written directly, with ordinary stores.
 */
#include "common/engine/parts.h"
#include "common/engine/writer.h"

/* So many units in a row are streamed. A row of more would read short runs of too many planes at the same time. */
#define MOST_STREAMED 32

/*
 * Runs of at least so many bytes in the source are long. Planes read runs in the order of the destination, which may be
 * far from that of the source. Tiles read longer runs.
 */
#define SHORTEST_RUN 192

/*
 * Lines whose addresses differ by about a multiple of SAME_SET bytes are in the same set of a first-level cache. A set
 * holds at least twice HALF_SET lines.
 */
#define SAME_SET 4096
#define HALF_SET 4

/* A plane is dense along its height in the source, along its width in the destination. */
struct planes {
	bi__transpose_fn turn;
	int64_t unit, dst_pitch, src_pitch; /* bytes */
	int64_t height, width; /* units */
	int64_t high, wide; /* units of the smallest block that `turn` accepts */
	int64_t most; /* rows of the largest block, a multiple of `high` */
	int64_t rows[BI__LINE]; /* the rows of a block */
	struct bi__writer writer;
};

static int64_t magnitude(int64_t step)
{
	return step < 0 ? -step : step;
}

/*
 * Returns the number of rows that are in different sets. The row after them is in the set of the first. Rows nearer
 * than a line count as a line apart.
 */
static int64_t different_sets(int64_t pitch)
{
	int64_t rows = 1, at;

	if (pitch < BI__LINE)
		pitch = BI__LINE;
	at = pitch % SAME_SET;
	for (; at >= BI__LINE && at <= SAME_SET - BI__LINE; rows++)
		at = (at + pitch) % SAME_SET;
	return rows;
}

/*
 * Narrow vectors turn a block in several passes, and each pass writes a part of every row. So a block has only as many
 * rows as stay in the first-level cache until the last pass.
 */
static int64_t most_rows(const struct planes *planes)
{
	const int64_t most = HALF_SET * different_sets(planes->dst_pitch) / planes->high * planes->high;

	return most ? most : planes->high;
}

static void turn_block(const struct planes *planes, unsigned char *dst, const unsigned char *src, int64_t y,
		       int64_t rows)
{
	planes->turn(dst + y * planes->dst_pitch, planes->dst_pitch, src + y * planes->unit, planes->rows, rows,
		     planes->wide);
}

/* The last block of a row, and the last row of blocks, overlap those before them. */
static void turn_rows(const struct planes *planes, unsigned char *dst, const unsigned char *src, int64_t height)
{
	const int64_t last = planes->width - planes->wide, whole = height - height % planes->high;

	for (int64_t x = 0; x < planes->width; x += planes->wide) {
		const int64_t at = x < last ? x : last;
		unsigned char *to = dst + at * planes->unit;
		const unsigned char *from = src + at * planes->src_pitch;

		for (int64_t y = 0; y < whole; y += planes->most)
			turn_block(planes, to, from, y, whole - y < planes->most ? whole - y : planes->most);
		if (whole < height)
			turn_block(planes, to, from, height - planes->high, planes->high);
	}
}

static void turn_plane(void *inner, unsigned char *dst, const unsigned char *src)
{
	const struct planes *planes = inner;

	turn_rows(planes, dst, src, planes->height);
}

/* Turns as many rows at a time as the writer accepts, and leaves enough of them for a block at the end. */
static void stream_plane(void *inner, unsigned char *dst, const unsigned char *src)
{
	struct planes *planes = inner;
	const int64_t most = BI__WRITER_BYTES / planes->dst_pitch;
	int64_t rows;

	bi__writer_seek(&planes->writer, dst);
	for (int64_t y = 0; y < planes->height; y += rows) {
		rows = planes->height - y;
		if (rows > most)
			rows = most - planes->high;
		turn_rows(planes, bi__writer_space(&planes->writer), src + y * planes->unit, rows);
		bi__writer_added(&planes->writer, (size_t)(rows * planes->dst_pitch));
	}
}

static int64_t run_of(const struct planes *planes)
{
	return planes->height * planes->unit;
}

/* Returns 1 if the rows of the planes are streamed. They follow each other, and the runs of the source are long. */
static int is_streamed(const struct bi__engine_part *part, const struct planes *planes)
{
	return part->streams && planes->dst_pitch == planes->width * planes->unit && planes->width <= MOST_STREAMED &&
	       run_of(planes) >= SHORTEST_RUN;
}

/* Returns 1 if the source has long runs, or runs that are near each other. */
static int is_read_well(const struct planes *planes)
{
	return run_of(planes) >= SHORTEST_RUN || magnitude(planes->src_pitch) <= 2 * run_of(planes);
}

/*
 * Returns 1 if planes are turned with ordinary stores. Large results have tiles, which are streamed. But vectors that
 * are shorter than a line turn them faster directly, unless all rows of a side are in the same set of the cache.
 */
static int is_direct(const struct bi__engine_part *part, const struct planes *planes)
{
	return !part->streams ||
	       (part->simd->vector < BI__LINE && is_read_well(planes) && different_sets(planes->dst_pitch) > 1 &&
		different_sets(magnitude(planes->src_pitch)) > 1);
}

/* Returns 1 if the last axis and the cross axis of the plan form planes that `turn` accepts. */
static int find_planes(struct planes *planes, const struct bi__engine_part *part)
{
	const struct bi__plan *plan = part->plan;
	const int x = plan->ndim - 1, y = plan->cross;
	int is_narrow;

	planes->unit = (int64_t)plan->unit;
	planes->height = plan->shape[y];
	planes->width = plan->shape[x];
	if (planes->unit > 8 || (planes->unit & (planes->unit - 1)) || plan->dst_strides[x] != planes->unit ||
	    plan->src_strides[y] != planes->unit)
		return 0;
	is_narrow = planes->width * planes->unit < BI__LINE;
	planes->high = 16 / planes->unit;
	planes->wide = is_narrow ? planes->high : BI__LINE / planes->unit;
	planes->turn = (is_narrow ? part->simd->transpose_narrow : part->simd->transpose)[plan->unit];
	planes->dst_pitch = plan->dst_strides[y];
	planes->src_pitch = plan->src_strides[x];
	planes->most = most_rows(planes);
	if (planes->height < planes->high || planes->width < planes->wide)
		return 0;
	for (int64_t i = 0; i < planes->wide; i++)
		planes->rows[i] = i * planes->src_pitch;
	return 1;
}

int bi__engine_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;
	struct bi__walk walk;
	struct planes planes;

	if (!find_planes(&planes, part))
		return 0;
	walk.ndim = 0;
	for (int i = 0; i < plan->ndim - 1; i++)
		if (i != plan->cross)
			bi__walk_add(&walk, plan, i);
	if (is_streamed(part, &planes)) {
		bi__writer_init(&planes.writer, part->simd);
		bi__walk_run(&walk, stream_plane, &planes, dst, src);
		bi__writer_finish(&planes.writer);
		return 1;
	}
	if (!is_direct(part, &planes))
		return 0;
	bi__walk_run(&walk, turn_plane, &planes, dst, src);
	return 1;
}
