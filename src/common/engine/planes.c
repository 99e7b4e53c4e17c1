/*
 * Transposes without the tables and buffers of tiles: those that stay in the caches, and those into rows of a few units
 * that follow each other, such as the channels of pixels. The latter are streamed.
 */
#include "common/engine/parts.h"
#include "common/engine/writer.h"

/* So many units in a row are streamed. A row of more would read short runs of too many planes at the same time. */
#define MOST_STREAMED 32

/*
 * Planes with runs of at least so many bytes in the source are streamed. Runs are read in the order of the destination,
 * which may be far from that of the source. Tiles read longer runs.
 */
#define SHORTEST_RUN 192

/* A plane is dense along its height in the source, along its width in the destination. */
struct planes {
	bi__transpose_fn turn;
	int64_t unit, dst_pitch, src_pitch; /* bytes */
	int64_t height, width; /* units */
	int64_t high, wide; /* units of the smallest block that `turn` accepts */
	int64_t rows[BI__LINE]; /* the rows of a block */
	struct bi__writer writer;
};

/* The last block of a row, and the last row of blocks, overlap those before them. */
static void turn_rows(const struct planes *planes, unsigned char *dst, const unsigned char *src, int64_t height)
{
	const int64_t last = planes->width - planes->wide, rest = height % planes->high, last_y = height - planes->high;

	for (int64_t x = 0; x < planes->width; x += planes->wide) {
		const int64_t at = x < last ? x : last;
		unsigned char *to = dst + at * planes->unit;
		const unsigned char *from = src + at * planes->src_pitch;

		planes->turn(to, planes->dst_pitch, from, planes->rows, height - rest, planes->wide);
		if (rest)
			planes->turn(to + last_y * planes->dst_pitch, planes->dst_pitch, from + last_y * planes->unit,
				     planes->rows, planes->high, planes->wide);
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

int bi__engine_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;
	const int x = plan->ndim - 1, y = plan->cross;
	struct bi__walk walk;
	struct planes planes;
	int is_narrow;

	planes.unit = (int64_t)plan->unit;
	planes.height = plan->shape[y];
	planes.width = plan->shape[x];
	is_narrow = planes.width * planes.unit < BI__LINE;
	planes.high = 16 / planes.unit;
	planes.wide = is_narrow ? planes.high : BI__LINE / planes.unit;
	if (part->streams && (plan->dst_strides[y] != planes.width * planes.unit || planes.width > MOST_STREAMED ||
			      planes.height * planes.unit < SHORTEST_RUN))
		return 0;
	if (plan->unit > 8 || (plan->unit & (plan->unit - 1)) || plan->dst_strides[x] != planes.unit ||
	    plan->src_strides[y] != planes.unit || planes.height < planes.high || planes.width < planes.wide)
		return 0;
	planes.turn = (is_narrow ? part->simd->transpose_narrow : part->simd->transpose)[plan->unit];
	planes.dst_pitch = plan->dst_strides[y];
	planes.src_pitch = plan->src_strides[x];
	for (int64_t i = 0; i < planes.wide; i++)
		planes.rows[i] = i * planes.src_pitch;
	walk.ndim = 0;
	for (int i = 0; i < x; i++)
		if (i != y)
			bi__walk_add(&walk, plan, i);
	if (!part->streams) {
		bi__walk_run(&walk, turn_plane, &planes, dst, src);
		return 1;
	}
	bi__writer_init(&planes.writer, part->simd);
	bi__walk_run(&walk, stream_plane, &planes, dst, src);
	bi__writer_finish(&planes.writer);
	return 1;
}
