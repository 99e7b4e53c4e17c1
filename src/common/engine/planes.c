/*
 * Transposes without the tables and buffers of tiles. The planes of a small result, which is not streamed, are written
 * directly with ordinary stores. If its rows share few sets of the cache, most plans use tiles instead
 * (is_direct_small). In a large result, rows of a few units that follow each other, such as the channels of pixels, are
 * collected and streamed. Other rows of a large result are written directly if that takes less time than streamed tiles
 * (is_direct_large).
 */
#include <stdlib.h>

#include "common/engine/parts.h"
#include "common/engine/writer.h"

/* Rows of at most so many units are streamed. Longer rows would read short runs of too many planes at the same time. */
#define MOST_STREAMED 32

/*
 * Rows of the destination and runs of the source are long from so many bytes on. Planes follow the order of the
 * destination, so the runs that they read one after the other may be far apart. Tiles read longer runs.
 */
#define LONG 192

/*
 * A column of blocks has at most so many rows. It stays in the second-level cache until the next column completes its
 * lines.
 */
#define PANEL_ROWS 2048

/*
 * Addresses that differ by a multiple of SAME_SET bytes are in the same set of the cache. A block that is written in
 * several passes has at most ROWS_IN_SET rows in a set, which is half of BI__LINES_IN_SET. It has more only if `turn`
 * needs more rows.
 */
#define SAME_SET (BI__SETS * BI__LINE)
#define ROWS_IN_SET (BI__LINES_IN_SET / 2)

/*
 * Rows count as spread over the cache if the first SOME_ROWS of them are in at least LEAST_SETS different sets. In
 * fewer sets, a column of many rows probably evicts lines that the next column completes, or that the processor has
 * fetched for it.
 */
#define SOME_ROWS 32
#define LEAST_SETS 4

/*
 * Fewer sets may be enough if the plan has at most this many bytes. If several threads copy, this is the plan of a
 * chunk, so the whole result may be larger.
 */
#define FEW_SETS_BYTES ((uint64_t)1 << 20)

/* A plane is dense along its height in the source, along its width in the destination. */
struct planes {
	bi__transpose_fn turn;
	int64_t unit, dst_pitch, src_pitch; /* bytes */
	int64_t height, width; /* units */
	int64_t high, wide; /* units of the smallest block that `turn` accepts */
	int64_t most; /* rows of a block: a multiple of `high`, or all */
	int64_t rows[BI__LINE]; /* bytes from the first run of a block to each of its runs */
	struct bi__writer writer;
};

/*
 * Returns the number of rows, at most `enough`, before the first row that is less than a line away from row 0 modulo
 * SAME_SET. The rows before it are in different sets of the cache. A pitch of less than a line counts as a line.
 */
static int64_t different_sets(int64_t pitch, int64_t enough)
{
	const int64_t step = pitch < BI__LINE ? BI__LINE : pitch % SAME_SET;
	int64_t rows = 1;

	for (int64_t at = step; rows < enough && at >= BI__LINE && at <= SAME_SET - BI__LINE; rows++)
		at = at + step < SAME_SET ? at + step : at + step - SAME_SET;
	return rows;
}

/*
 * Returns the most rows of a block. If its rows are longer than a vector, `turn` makes several passes, and each pass
 * writes a part of every row. Such a block gets few rows in a set of the cache, so that its lines stay there until the
 * last pass.
 */
static int64_t most_rows(const struct planes *planes, const struct bi__simd *simd)
{
	int64_t most;

	if (planes->wide * planes->unit <= (int64_t)simd->vector)
		return planes->height;
	most = ROWS_IN_SET * different_sets(planes->dst_pitch, planes->height / ROWS_IN_SET + 1);
	most = most / planes->high * planes->high;
	return most ? most : planes->high;
}

static void turn_block(const struct planes *planes, unsigned char *dst, const unsigned char *src, int64_t y,
		       int64_t rows)
{
	planes->turn(dst + y * planes->dst_pitch, planes->dst_pitch, src + y * planes->unit, planes->rows, rows,
		     planes->wide);
}

/* Along both axes, the last block overlaps the one before if the extent is no multiple of the block. */
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

/*
 * Returns the number of rows to transpose next, at most `most`. After them either no rows are left, or at least as many
 * as fill a block.
 */
static int64_t next_rows(const struct planes *planes, int64_t left, int64_t most)
{
	return left > most ? most - planes->high : left;
}

static void turn_plane(void *inner, unsigned char *dst, const unsigned char *src)
{
	const struct planes *planes = inner;
	int64_t rows;

	for (int64_t y = 0; y < planes->height; y += rows) {
		rows = next_rows(planes, planes->height - y, PANEL_ROWS);
		turn_rows(planes, dst + y * planes->dst_pitch, src + y * planes->unit, rows);
	}
}

/* Transposes only as many rows at a time as fit into the buffer of the writer. */
static void stream_plane(void *inner, unsigned char *dst, const unsigned char *src)
{
	struct planes *planes = inner;
	int64_t rows;

	bi__writer_seek(&planes->writer, dst);
	for (int64_t y = 0; y < planes->height; y += rows) {
		rows = next_rows(planes, planes->height - y, BI__WRITER_BYTES / planes->dst_pitch);
		turn_rows(planes, bi__writer_space(&planes->writer), src + y * planes->unit, rows);
		bi__writer_added(&planes->writer, (size_t)(rows * planes->dst_pitch));
	}
}

static int64_t run_of(const struct planes *planes)
{
	return planes->height * planes->unit;
}

static int64_t row_of(const struct planes *planes)
{
	return planes->width * planes->unit;
}

/* Returns 1 if the rows of a large result are streamed: short rows that follow each other, from long runs. */
static int is_streamed(const struct planes *planes)
{
	return planes->dst_pitch == row_of(planes) && planes->width <= MOST_STREAMED && run_of(planes) >= LONG;
}

/* Returns the number of different sets of the cache in which SOME_ROWS rows with this pitch begin. */
static int sets_of(int64_t pitch)
{
	uint64_t sets = 0;

	for (int64_t i = 0; i < SOME_ROWS; i++)
		sets |= (uint64_t)1 << (i * pitch / BI__LINE % BI__SETS);
	return __builtin_popcountll(sets);
}

/*
 * Returns 1 if the planes of a large result, which tiles would stream, take less time directly. This depends on the
 * processor. Rows and runs have to be long, or follow each other closely. Rows have to be spread over the cache. For
 * units of 1 byte runs have to be spread too, because a block of such units reads the largest number of runs.
 */
static int is_direct_large(const struct bi__engine_part *part, const struct planes *planes)
{
	const int64_t src_pitch = llabs(planes->src_pitch);

	return part->simd->scatters_here() && (row_of(planes) >= LONG || planes->dst_pitch == row_of(planes)) &&
	       (run_of(planes) >= LONG || src_pitch <= 2 * run_of(planes)) &&
	       sets_of(planes->dst_pitch) >= LEAST_SETS && (planes->unit > 1 || sets_of(src_pitch) >= LEAST_SETS);
}

/*
 * Returns 1 if planes whose rows are in few sets take less time directly than in tiles. The runs must not all be in one
 * set. On AMD Zen 3, vectors of 16 bytes take 0.5 to 1.0 of the time of tiles. On AMD Zen 5, vectors of 64 bytes take
 * 1.5 to 2.2 of the time of tiles.
 */
static int few_sets_are_enough(const struct bi__engine_part *part, const struct planes *planes)
{
	return part->simd->vector == 16 && planes->unit >= 4 && part->plan->bytes <= FEW_SETS_BYTES &&
	       sets_of(llabs(planes->src_pitch)) > 1;
}

/* Returns 1 if a small result is too small for tiles, or takes less time directly. Measured on x86-64 only. */
static int is_direct_small(const struct bi__engine_part *part, const struct planes *planes)
{
	return !part->simd->stream || part->plan->bytes < part->tiles_from || planes->height <= ROWS_IN_SET ||
	       sets_of(planes->dst_pitch) >= LEAST_SETS || few_sets_are_enough(part, planes);
}

/* Sets all members except the writer. Returns 1, or 0 if the last axis and the cross axis form no planes for `turn`. */
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
	if (planes->height < planes->high || planes->width < planes->wide)
		return 0;
	planes->most = most_rows(planes, part->simd);
	for (int64_t i = 0; i < planes->wide; i++)
		planes->rows[i] = i * planes->src_pitch;
	return 1;
}

int bi__engine_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;
	const int x = plan->ndim - 1, y = plan->cross;
	struct planes planes;

	if (!find_planes(&planes, part))
		return 0;
	if (part->streams && is_streamed(&planes)) {
		bi__writer_init(&planes.writer, part->simd);
		bi__walk(plan, x, y, stream_plane, &planes, dst, src);
		bi__writer_finish(&planes.writer);
		return 1;
	}
	if (part->streams ? !is_direct_large(part, &planes) : !is_direct_small(part, &planes))
		return 0;
	bi__walk(plan, x, y, turn_plane, &planes, dst, src);
	return 1;
}
