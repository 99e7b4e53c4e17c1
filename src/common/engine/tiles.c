/*
 * Copies plans whose source and destination are sequential along different axes, tile by tile.
 *
 * A tile has long runs of the source and long rows of the destination:
 *
 *     S  the axes with the shortest steps of the source, until a run has about SRC_RUN bytes
 *     D  the last axes of the destination, until a row has about DST_RUN bytes
 *
 * The outermost axis of each is cut into blocks. All tiles have the same shape and share their tables of offsets. If an
 * extent is no multiple of the block, the last block begins earlier and copies some elements again.
 *
 *     ONCE    units of 1, 2, 3, 4, 6 and 8 bytes, if S and D have no axis in common:
 *
 *             a run of S for each position in D  →  a  → transpose →  c: a row of D for each position in S
 *
 *             If vectors have 16 bytes, runs of units of 1, 2, 4 and 8 bytes are transposed from the source directly,
 *             without `a`, if they fill a lane, their gaps are short, and they do not evict each other from the cache.
 *
 *     TWICE   units of 1 to 4 bytes, if S and D have an axis in common. As many tiles as a lane has elements are
 *             transposed together. Then the elements that all these tiles have at one position are one lane, and lanes
 *             can be put into any order:
 *
 *             runs of each tile                      →  a  → transpose →
 *             c: a lane for each position            → reorder, transpose →  a: rows of each tile
 *
 *     LARGE   all other plans: each unit is moved by itself, from the source to its row of D
 *
 * Units are transposed in registers. The functions that do it are called `turn`. A lane is 16 bytes of a register.
 *
 * A streamed row that another row continues, in the next tile or in the same one, leaves its incomplete last line to
 * that row. So lines are streamed whole.
 */
#include <stdlib.h>
#include <string.h>

#include "common/engine/tiles.h"

/* The most bytes of tables and buffers. A plan that needs more, such as one with short rows and gaps, uses lines. */
#define MOST_BYTES ((int64_t)4 << 20)

/* The tiles that are copied together. */
struct batch {
	int64_t count;
	unsigned char *dst[BI__SLOTS];
	const unsigned char *src[BI__SLOTS];
	const unsigned char *next; /* source of the first tile that continues the rows of this batch, or NULL */
	size_t skip; /* bytes of each row that the tile before has written */
	int first, last; /* 1: these tiles begin the rows; 1: these tiles end the rows */
};

/* Moves the first `size` bytes of a unit, and if `has_more`, its last `size` bytes too. The two parts may overlap. */
static inline __attribute__((always_inline)) void move_unit(unsigned char *to, const unsigned char *from, size_t unit,
							    size_t size, int has_more)
{
	memcpy(to, from, size);
	if (has_more)
		memcpy(to + unit - size, from + unit - size, size);
}

/*
 * Copies the units at these offsets to adjacent places. `size` and `has_more` are constants in each call. The loop
 * branches after four units. With a branch after each unit it takes up to twice the time on AMD Zen 3, if its code lies
 * in two cache lines.
 */
static inline __attribute__((always_inline)) void pack_units(unsigned char *to, const unsigned char *src,
							     const struct bi__tile_offsets *units, size_t unit,
							     size_t size, int has_more)
{
	const int64_t *list = units->list, *end = list + units->count;

	for (; end - list >= 4; list += 4, to += 4 * unit) {
		move_unit(to, src + list[0], unit, size, has_more);
		move_unit(to + unit, src + list[1], unit, size, has_more);
		move_unit(to + 2 * unit, src + list[2], unit, size, has_more);
		move_unit(to + 3 * unit, src + list[3], unit, size, has_more);
	}
	for (; list < end; list++, to += unit)
		move_unit(to, src + list[0], unit, size, has_more);
}

/* Calls pack_units with the `size` and `has_more` of the unit. Copies long units by calls of memcpy. */
static void pack(unsigned char *to, const unsigned char *src, const struct bi__tile_offsets *units, size_t unit)
{
	if (unit == 1)
		pack_units(to, src, units, 1, 1, 0);
	else if (unit == 2)
		pack_units(to, src, units, 2, 2, 0);
	else if (unit == 3)
		pack_units(to, src, units, 3, 2, 1);
	else if (unit == 4)
		pack_units(to, src, units, 4, 4, 0);
	else if (unit < 8)
		pack_units(to, src, units, unit, 4, 1);
	else if (unit == 8)
		pack_units(to, src, units, 8, 8, 0);
	else if (unit < 16)
		pack_units(to, src, units, unit, 8, 1);
	else if (unit == 16)
		pack_units(to, src, units, 16, 16, 0);
	else if (unit < 32)
		pack_units(to, src, units, unit, 16, 1);
	else if (unit < BI__LONG_UNIT)
		pack_units(to, src, units, unit, 32, 1);
	else
		for (int64_t i = 0; i < units->count; i++)
			memcpy(to + i * (int64_t)unit, src + units->list[i], unit);
}

/* How a row of a tile begins and ends. */
struct ends {
	size_t skip; /* bytes that the tile before has written */
	int is_first, is_last; /* 1: the row continues no other row; 1: no other row continues it */
	unsigned char *rest; /* the incomplete last line of a row that another row continues */
};

/* If tiles continue each other, so do their rows. Otherwise a row may continue the row before it in the same tile. */
static struct ends find_ends(const struct bi__tiles *tiles, const struct batch *batch, int64_t k, int64_t i)
{
	const int64_t bytes = tiles->row * tiles->element, count = tiles->rows.count, *at = tiles->rows.list + i;

	if (tiles->along >= 0)
		return (struct ends){ batch->skip, batch->first, batch->last,
				      tiles->rest + (k * count + i) * BI__LINE };
	return (struct ends){ 0, bytes < BI__LINE || i == 0 || at[0] != at[-1] + bytes,
			      bytes < BI__LINE || i == count - 1 || at[1] != at[0] + bytes, tiles->rest };
}

/* Writes the whole lines of a row with non-temporal stores. May overwrite the BI__LINE bytes before `row`. */
static void stream_row(const struct bi__tiles *tiles, const struct ends *ends, unsigned char *dst, unsigned char *row)
{
	size_t bytes = (size_t)(tiles->row * tiles->element) - ends->skip, phase, whole;

	dst += ends->skip;
	row += ends->skip;
	phase = (uintptr_t)dst % BI__LINE;
	if (!ends->is_first) {
		memcpy(row - BI__LINE, ends->rest, BI__LINE);
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
	if (ends->is_last)
		memcpy(dst - phase + whole, row - phase + whole, bytes - whole);
	else
		memcpy(ends->rest, row - phase + bytes - BI__LINE, BI__LINE);
}

/* Writes row i of tile k of the batch. */
static void write_row(const struct bi__tiles *tiles, const struct batch *batch, int64_t k, int64_t i,
		      unsigned char *row)
{
	unsigned char *dst = batch->dst[k] + tiles->rows.list[i];

	if (tiles->streams) {
		const struct ends ends = find_ends(tiles, batch, k, i);

		stream_row(tiles, &ends, dst, row);
	} else {
		bi__run(&tiles->scatter, dst, row, tiles->scattered);
	}
}

/*
 * The source of tiles that are streamed is prefetched, because hardware prefetching does not find runs and units that
 * are far apart: ONCE BI__RUNS_AHEAD runs ahead, TWICE the run of the next tile, LARGE ROWS_AHEAD rows of units ahead.
 * Gathered runs and the short units of LARGE are not prefetched. The source of a copy that is not streamed is often in
 * the cache, and prefetching it takes longer than it saves.
 */
#define ROWS_AHEAD 8

/*
 * Prefetches the run at `src` (NULL: none) if tiles are streamed and runs are not gathered. The function is always
 * inlined, because compilers drop a call whose only effect is a prefetch.
 */
static inline __attribute__((always_inline)) void prefetch_run(const struct bi__tiles *tiles, const unsigned char *src)
{
	if (!tiles->streams || tiles->gathered > 1 || !src)
		return;
	for (int64_t i = 0; i < tiles->pieces.count; i++)
		for (int64_t at = 0; at < tiles->span; at += BI__LINE)
			__builtin_prefetch(src + tiles->pieces.list[i] + at);
}

/*
 * Returns the source of the run that comes BI__RUNS_AHEAD runs after run i, in this tile or in the next one. Returns
 * NULL if there is none.
 */
static const unsigned char *run_ahead(const struct bi__tiles *tiles, const struct batch *batch, int64_t i)
{
	const int64_t ahead = i + BI__RUNS_AHEAD, in_next = ahead - tiles->row;

	if (in_next < 0)
		return batch->src[0] + tiles->reads.list[ahead];
	return batch->next && in_next < tiles->row ? batch->next + tiles->reads.list[in_next] : NULL;
}

static void gather_row(const struct bi__tiles *tiles, unsigned char *to, const unsigned char *src)
{
	if (tiles->gathered == 1)
		pack(to, src, &tiles->pieces, (size_t)tiles->span);
	for (int64_t i = 0; tiles->gathered > 1 && i < tiles->pieces.count; i++)
		bi__run(&tiles->gather, to + i * tiles->span, src + tiles->pieces.list[i], tiles->gathered);
}

/*
 * Transposes as many runs as fill a line of `c`, from number `at` on. If the last elements of a run fill no lane, some
 * elements before them are transposed again.
 */
static void turn_source(const struct bi__tiles *tiles, unsigned char *c, const unsigned char *src, int64_t at)
{
	const bi__transpose_fn turn = tiles->simd->transpose[tiles->element];
	const int64_t slots = tiles->slots, pitch = (int64_t)tiles->c_pitch, last = tiles->width - slots;
	const int64_t *reads = tiles->reads.list + at;

	turn(c, pitch, src, reads, tiles->width / slots * slots, BI__LANES * slots);
	if (tiles->width % slots)
		turn(c + last * pitch, pitch, src + last * tiles->element, reads, slots, BI__LANES * slots);
}

static void copy_once(const struct bi__tiles *tiles, const struct batch *batch)
{
	const bi__transpose_fn turn = tiles->simd->transpose[tiles->element];
	const int64_t some = BI__LANES * tiles->slots;
	const int64_t *reads = tiles->reads.list;
	unsigned char *c = tiles->c + BI__LINE;

	for (int64_t at = 0; at < tiles->row; at += some) {
		for (int64_t i = at; i < bi__minimum(at + some, tiles->row); i++) {
			prefetch_run(tiles, run_ahead(tiles, batch, i));
			if (tiles->a)
				gather_row(tiles, tiles->a + (i - at) * (int64_t)tiles->a_pitch,
					   batch->src[0] + reads[i]);
		}
		if (tiles->a)
			turn(c + at * tiles->element, (int64_t)tiles->c_pitch, tiles->a, tiles->blocks.list,
			     bi__tiles_round_up(tiles->width, tiles->slots), some);
		else
			turn_source(tiles, c + at * tiles->element, batch->src[0], at);
	}
	for (int64_t i = 0; i < tiles->rows.count; i++)
		write_row(tiles, batch, 0, i, c + tiles->lines.list[i]);
}

static void copy_twice(const struct bi__tiles *tiles, const struct batch *batch)
{
	const bi__transpose_fn turn = tiles->simd->transpose[tiles->element];
	const int64_t rows = tiles->rows.count, some = BI__LANES * tiles->slots, line = some * tiles->element;
	const int64_t a_pitch = (int64_t)tiles->a_pitch, pitch = (int64_t)tiles->tile_pitch;
	unsigned char *row = tiles->a + BI__LINE;

	for (int64_t k = 0; k < batch->count; k++) {
		prefetch_run(tiles, k + 1 < batch->count ? batch->src[k + 1] : batch->next);
		gather_row(tiles, tiles->a + k * a_pitch, batch->src[k]);
	}
	for (int64_t at = 0; at * some < tiles->width; at++)
		turn(tiles->c + at * tiles->slots * BI__LINE, BI__LINE, tiles->a + at * line, tiles->blocks.list,
		     tiles->slots, some);
	for (int64_t i = 0; i < rows; i++)
		turn(row + i * (int64_t)tiles->c_pitch, pitch, tiles->c, tiles->lines.list + i * tiles->row,
		     tiles->slots, bi__tiles_round_up(tiles->row, some));
	for (int64_t k = 0; k < batch->count; k++, row += pitch)
		for (int64_t i = 0; i < rows; i++)
			write_row(tiles, batch, k, i, row + i * (int64_t)tiles->c_pitch);
}

/*
 * LARGE: prefetches the source of the units of row i > 0. Does nothing if there is no such row, or if its first unit is
 * in the same cache line as the first unit of the row before.
 */
static inline __attribute__((always_inline)) void prefetch_row(const struct bi__tiles *tiles, const unsigned char *src,
							       int64_t i)
{
	const int64_t *at = tiles->lines.list + i;

	if (i >= tiles->rows.count || (uintptr_t)(src + at[0]) / BI__LINE == (uintptr_t)(src + at[-1]) / BI__LINE)
		return;
	for (int64_t j = 0; j < tiles->reads.count; j++)
		__builtin_prefetch(src + at[0] + tiles->reads.list[j]);
}

/* `prefetches` is a constant in each call. */
static inline __attribute__((always_inline)) void copy_rows(const struct bi__tiles *tiles, const struct batch *batch,
							    int prefetches)
{
	const int is_direct = !tiles->streams && tiles->scattered == 1;

	for (int64_t i = 0; i < tiles->rows.count; i++) {
		unsigned char *row = is_direct ? batch->dst[0] + tiles->rows.list[i] : tiles->c + BI__LINE;

		if (prefetches)
			prefetch_row(tiles, batch->src[0], i + ROWS_AHEAD);
		pack(row, batch->src[0] + tiles->lines.list[i], &tiles->reads, (size_t)tiles->element);
		if (!is_direct)
			write_row(tiles, batch, 0, i, row);
	}
}

/* To prefetch shorter units would take longer than it saves. */
#define PREFETCHED_UNIT 12

/* Not inlined: otherwise the loops have too few registers, and are slower. */
static __attribute__((noinline)) void copy_large(const struct bi__tiles *tiles, const struct batch *batch)
{
	if (tiles->streams && tiles->element >= PREFETCHED_UNIT)
		copy_rows(tiles, batch, 1);
	else
		copy_rows(tiles, batch, 0);
}

static int64_t block_start(const struct bi__tile_axis *axis, int64_t i)
{
	return bi__minimum(i * axis->block, axis->extent - axis->block);
}

/* Finds the tiles of the batch from number `first` on: of tiles that continue each other, the first one. */
static void find_tiles(const struct bi__tiles *tiles, struct batch *batch, int64_t first, unsigned char *dst,
		       const unsigned char *src)
{
	batch->count = bi__minimum(tiles->outer - first, tiles->together);
	for (int64_t k = 0; k < batch->count; k++) {
		int64_t left = first + k;

		batch->dst[k] = dst;
		batch->src[k] = src + tiles->backwards;
		for (int i = tiles->n - 1; i >= 0; i--) {
			const struct bi__tile_axis *axis = &tiles->axes[i];
			int64_t at;

			if (i == tiles->along)
				continue;
			at = block_start(axis, left % bi__tiles_blocks_of(axis));
			left /= bi__tiles_blocks_of(axis);
			batch->dst[k] += at * axis->dst;
			batch->src[k] += at * axis->src;
		}
	}
}

/* Returns the number of elements from the start of block i to the start of the next block. */
static int64_t block_step(const struct bi__tile_axis *axis, int64_t i)
{
	return block_start(axis, i + 1) - block_start(axis, i);
}

static void copy_batch(const struct bi__tiles *tiles, const struct batch *batch)
{
	if (tiles->way == BI__TILES_ONCE)
		copy_once(tiles, batch);
	else if (tiles->way == BI__TILES_TWICE)
		copy_twice(tiles, batch);
	else
		copy_large(tiles, batch);
}

/* Copies a batch of tiles from number `first` on, and the tiles that continue their rows. */
static void copy_tiles(const struct bi__tiles *tiles, int64_t first, unsigned char *dst, const unsigned char *src)
{
	const struct bi__tile_axis *axis = tiles->along < 0 ? NULL : &tiles->axes[tiles->along];
	const int64_t blocks = axis ? bi__tiles_blocks_of(axis) : 1;
	struct batch batch = { .skip = 0, .first = 1 };

	find_tiles(tiles, &batch, first, dst, src);
	for (int64_t i = 0; i < blocks; i++) {
		if (i) {
			const int64_t step = block_step(axis, i - 1);

			for (int64_t k = 0; k < batch.count; k++) {
				batch.dst[k] += step * axis->dst;
				batch.src[k] += step * axis->src;
			}
			batch.skip = (size_t)((axis->block - step) * axis->dst);
			batch.first = 0;
		}
		batch.last = i == blocks - 1;
		batch.next = batch.last ? NULL : batch.src[0] + block_step(axis, i) * axis->src;
		copy_batch(tiles, &batch);
	}
}

void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	struct bi__tiles tiles;
	unsigned char *memory;
	int64_t bytes;

	bi__tiles_choose(&tiles, part);
	bi__tiles_list(&tiles);
	bytes = bi__tiles_place(&tiles, NULL);
	memory = bytes <= MOST_BYTES ? malloc((size_t)bytes + BI__LINE) : NULL;
	if (!memory) {
		bi__engine_lines(part, dst, src);
		return;
	}
	bi__tiles_place(&tiles, memory + BI__LINE - (uintptr_t)memory % BI__LINE);
	bi__tiles_list(&tiles);
	for (int64_t i = 0; i < tiles.outer; i += tiles.together)
		copy_tiles(&tiles, i, dst, src);
	if (tiles.streams)
		tiles.simd->fence();
	free(memory);
}
