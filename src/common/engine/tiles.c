/*
 * Copies source and destination that are sequential along different axes, tile by tile.
 *
 * A tile holds long runs of both sides:
 *
 *     S  the axes with the shortest steps of the source, until a run has SRC_RUN bytes
 *     D  the last axes of the destination, until a row has DST_RUN bytes
 *
 * The outermost axis of each is cut into blocks. All tiles have the same shape and share their tables of offsets: if an
 * extent is no multiple of the block, the last block begins earlier and copies some elements again.
 *
 *     ONCE    units of 1 to 4, and of 8 bytes, if S and D have no axis in common:
 *
 *             a run of S for each position in D  →  a  → turn →  c: a row of D for each position in S
 *
 *     TWICE   units of 1 to 4 bytes, if they have. LINE bytes of elements from as many tiles are turned together.
 *             Then the elements of all these tiles for one position are one line, and lines can be put into any order:
 *
 *             runs of each tile  →  a  → turn →  c: a line for each position  → reorder, turn →  a: rows of each tile
 *
 *     LARGE   other units are moved one by one, from the source to the rows of D
 *
 * To turn is to transpose a matrix of elements of 1, 2, 4 or 8 bytes in registers. A unit of 3 bytes is three elements,
 * and one more axis.
 *
 * A row that continues in the next tile leaves its incomplete last line to that tile, so lines are streamed whole.
 */
#include <stdlib.h>
#include <string.h>

#include "common/engine/tiles.h"

/* A destination with short rows and gaps would need more; then it is copied in lines. */
#define MOST_BYTES ((size_t)4 << 20)

/* The tiles that are copied together. */
struct batch {
	int64_t count;
	unsigned char *dst[BI__LINE];
	const unsigned char *src[BI__LINE];
	size_t skip; /* bytes of each row that the tile before has written */
	int first, last; /* 1: no tile before, after this one continues the rows */
};

static void gather_row(const struct bi__tiles *tiles, unsigned char *to, const unsigned char *src)
{
	const int64_t bytes = tiles->gathered * (int64_t)tiles->gather.unit;

	for (int64_t i = 0; i < tiles->pieces.count; i++, to += bytes)
		bi__run(&tiles->gather, to, src + tiles->pieces.list[i], tiles->gathered);
}

/* Transposes LINE bytes of elements from each of `height` columns. */
static void turn(const struct bi__tiles *tiles, unsigned char *to, size_t to_pitch, const unsigned char *from,
		 size_t from_pitch, int64_t height)
{
	tiles->simd->transpose[tiles->level](to, (int64_t)to_pitch, from, (int64_t)from_pitch,
					     bi__tiles_round_up(height, 16 >> tiles->level), BI__LINE >> tiles->level);
}

/*
 * Writes a row with non-temporal stores. `rest` holds the incomplete last line of the row so far. The LINE bytes before
 * `row` are overwritten.
 */
static void stream_row(const struct bi__tiles *tiles, const struct batch *batch, unsigned char *dst, unsigned char *row,
		       unsigned char *rest)
{
	size_t bytes = (size_t)(tiles->row * tiles->element) - batch->skip, phase, whole;

	dst += batch->skip;
	row += batch->skip;
	phase = (uintptr_t)dst % BI__LINE;
	if (!batch->first) {
		memcpy(row - BI__LINE, rest, BI__LINE);
	} else if (phase) {
		const size_t head = bytes < BI__LINE - phase ? bytes : BI__LINE - phase;

		memcpy(dst, row, head);
		dst += head;
		row += head;
		bytes -= head;
		phase = 0;
	}
	bytes += phase;
	whole = bytes / BI__LINE * BI__LINE;
	tiles->simd->stream(dst - phase, row - phase, whole / BI__LINE);
	if (batch->last)
		memcpy(dst - phase + whole, row - phase + whole, bytes - whole);
	else
		memcpy(rest, row - phase + bytes - BI__LINE, BI__LINE);
}

/* Writes row number i of all rows in the batch. */
static void write_row(const struct bi__tiles *tiles, const struct batch *batch, unsigned char *dst, unsigned char *row,
		      int64_t i)
{
	if (tiles->streams)
		stream_row(tiles, batch, dst, row, tiles->rest + i * BI__LINE);
	else
		bi__run(&tiles->scatter, dst, row, tiles->scattered);
}

static void copy_once(const struct bi__tiles *tiles, const struct batch *batch)
{
	const int64_t some = BI__LINE >> tiles->level;
	const int64_t *reads = tiles->reads.list;
	unsigned char *c = tiles->c + BI__LINE;

	for (int64_t at = 0; at < tiles->row; at += some) {
		for (int64_t i = at; i < bi__tiles_minimum(at + some, tiles->row); i++)
			gather_row(tiles, tiles->a + (i - at) * (int64_t)tiles->a_pitch, batch->src[0] + reads[i]);
		turn(tiles, c + at * tiles->element, tiles->c_pitch, tiles->a, tiles->a_pitch, tiles->width);
	}
	for (int64_t i = 0; i < tiles->rows.count; i++)
		write_row(tiles, batch, batch->dst[0] + tiles->rows.list[i], c + i * (int64_t)tiles->c_pitch, i);
}

/* Turns row i of all tiles in the batch back. */
static void turn_back(const struct bi__tiles *tiles, int64_t i)
{
	const int64_t some = BI__LINE >> tiles->level;
	const int64_t *lines = tiles->lines.list + i * tiles->row;
	unsigned char *to = tiles->a + BI__LINE + i * (int64_t)tiles->c_pitch;

	for (int64_t at = 0; at < tiles->row; at += some) {
		for (int64_t k = 0; k < bi__tiles_minimum(some, tiles->row - at); k++)
			memcpy(tiles->some + k * BI__LINE, tiles->c + lines[at + k], BI__LINE);
		turn(tiles, to + at * tiles->element, tiles->tile_pitch, tiles->some, BI__LINE, some);
	}
}

static void copy_twice(const struct bi__tiles *tiles, const struct batch *batch)
{
	const int64_t rows = tiles->rows.count;

	for (int64_t k = 0; k < batch->count; k++)
		gather_row(tiles, tiles->a + k * (int64_t)tiles->a_pitch, batch->src[k]);
	turn(tiles, tiles->c, BI__LINE, tiles->a, tiles->a_pitch, tiles->width);
	for (int64_t i = 0; i < rows; i++)
		turn_back(tiles, i);
	for (int64_t k = 0; k < batch->count; k++)
		for (int64_t i = 0; i < rows; i++)
			write_row(tiles, batch, batch->dst[k] + tiles->rows.list[i],
				  tiles->a + BI__LINE + k * (int64_t)tiles->tile_pitch + i * (int64_t)tiles->c_pitch,
				  k * rows + i);
}

static void copy_large(const struct bi__tiles *tiles, const struct batch *batch)
{
	const int64_t *reads = tiles->reads.list;

	for (int64_t i = 0; i < tiles->rows.count; i++, reads += tiles->places.count) {
		unsigned char *dst = batch->dst[0] + tiles->rows.list[i];
		unsigned char *row = tiles->streams ? tiles->c + BI__LINE : dst;

		for (int64_t k = 0; k < tiles->places.count; k++)
			bi__run(&tiles->pack, row + tiles->places.list[k], batch->src[0] + reads[k], tiles->packed);
		if (tiles->streams)
			stream_row(tiles, batch, dst, row, tiles->rest + i * BI__LINE);
	}
}

static int64_t block_start(const struct bi__tile_axis *axis, int64_t i)
{
	return bi__tiles_minimum(i * axis->block, axis->extent - axis->block);
}

/* Finds the tiles from number `first` on: block `along` of the axis along the rows, and one block of each other axis.
 */
static void find_tiles(const struct bi__tiles *tiles, struct batch *batch, int64_t first, int64_t along)
{
	for (int64_t k = 0; k < batch->count; k++) {
		int64_t left = first + k;

		for (int i = tiles->n - 1; i >= 0; i--) {
			const struct bi__tile_axis *axis = &tiles->axes[i];
			int64_t at = along;

			if (i != tiles->along) {
				at = left % bi__tiles_blocks_of(axis);
				left /= bi__tiles_blocks_of(axis);
			}
			at = block_start(axis, at);
			batch->dst[k] += at * axis->dst;
			batch->src[k] += at * axis->src;
		}
	}
}

/* Copies the tiles from number `first` on, and those that continue their rows. */
static void copy_tiles(const struct bi__tiles *tiles, int64_t first, unsigned char *dst, const unsigned char *src)
{
	const struct bi__tile_axis *axis = tiles->along < 0 ? NULL : &tiles->axes[tiles->along];
	const int64_t some = tiles->way == BI__TILES_TWICE ? BI__LINE >> tiles->level : 1,
		      blocks = axis ? bi__tiles_blocks_of(axis) : 1;
	struct batch batch;

	batch.count = bi__tiles_minimum(tiles->outer - first, some);
	for (int64_t i = 0; i < blocks; i++) {
		for (int64_t k = 0; k < batch.count; k++) {
			batch.dst[k] = dst;
			batch.src[k] = src + tiles->backwards;
		}
		find_tiles(tiles, &batch, first, i);
		batch.skip = axis ? (size_t)((i * axis->block - block_start(axis, i)) * axis->dst) : 0;
		batch.first = i == 0;
		batch.last = i == blocks - 1;
		if (tiles->way == BI__TILES_ONCE)
			copy_once(tiles, &batch);
		else if (tiles->way == BI__TILES_TWICE)
			copy_twice(tiles, &batch);
		else
			copy_large(tiles, &batch);
	}
}

void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	struct bi__tiles tiles;
	unsigned char *memory;
	size_t bytes;

	bi__tiles_choose(&tiles, part);
	bi__tiles_list(&tiles, part->plan->bytes);
	bytes = bi__tiles_place(&tiles, NULL);
	memory = bytes <= MOST_BYTES ? malloc(bytes + BI__LINE) : NULL;
	if (!memory) {
		bi__engine_lines(part, dst, src);
		return;
	}
	bi__tiles_place(&tiles, memory + BI__LINE - (uintptr_t)memory % BI__LINE);
	bi__tiles_list(&tiles, part->plan->bytes);
	for (int64_t i = 0; i < tiles.outer; i += tiles.way == BI__TILES_TWICE ? BI__LINE >> tiles.level : 1)
		copy_tiles(&tiles, i, dst, src);
	if (tiles.streams)
		tiles.simd->fence();
	free(memory);
}
