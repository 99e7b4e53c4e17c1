/* The tables of tiles: where the parts of a tile are in the source, in the destination and in the buffers. */
#include <stdlib.h>

#include "common/engine/tiles.h"

/* Starts a list. If it has no memory, its offsets are only counted. */
static void start_list(struct bi__tile_offsets *offsets, int64_t first)
{
	offsets->count = 1;
	if (offsets->list)
		offsets->list[0] = first;
}

static void add_axis(struct bi__tile_offsets *offsets, int64_t count, int64_t step)
{
	const int64_t all = offsets->count * count;

	for (int64_t i = offsets->count; offsets->list && i < all; i++)
		offsets->list[i] = offsets->list[i - offsets->count] + step;
	offsets->count = all;
}

static void list_pieces(struct bi__tiles *tiles)
{
	start_list(&tiles->pieces, 0);
	for (int i = tiles->spanned; i < tiles->columns; i++)
		add_axis(&tiles->pieces, tiles->column[i]->block, llabs(tiles->column[i]->src));
}

/*
 * Returns the step of `lines` along the axis. ONCE: the step is in bytes of `c`. TWICE: it is in elements of a row of
 * `a`. LARGE: it is in bytes of the source.
 */
static int64_t step_of_lines(const struct bi__tiles *tiles, const struct bi__tile_axis *axis)
{
	const int64_t step = axis->src < 0 ? -axis->place : axis->place;

	if (tiles->way == BI__TILES_LARGE)
		return step;
	return step / tiles->element * (tiles->way == BI__TILES_ONCE ? (int64_t)tiles->c_pitch : 1);
}

static void start_lines(struct bi__tiles *tiles)
{
	int64_t first = 0;

	for (int i = 0; i < tiles->n; i++)
		if (tiles->axes[i].src < 0)
			first -= (tiles->axes[i].block - 1) * step_of_lines(tiles, &tiles->axes[i]);
	start_list(&tiles->lines, first);
}

/*
 * Returns 1 if no set of the cache gets more lines than it holds from the runs that are transposed together and those
 * that are prefetched meanwhile. A run is read 16 bytes at a time, so its current line must stay until all of that line
 * is read. Only the first runs of a tile are tested, and only the first line of each: all runs advance together, so
 * their next lines are in the next sets.
 */
static int fit_sets(const struct bi__tiles *tiles)
{
	const int64_t wanted = tiles->slots + (tiles->streams ? BI__RUNS_AHEAD : 0);
	const int64_t runs = bi__minimum(wanted, tiles->reads.count);
	unsigned char lines[BI__SETS] = { 0 };

	for (int64_t i = 0; i < runs; i++)
		if (++lines[(uint64_t)tiles->reads.list[i] / BI__LINE % BI__SETS] > BI__LINES_IN_SET)
			return 0;
	return 1;
}

/*
 * Returns 1 if runs are transposed directly from the source, without the buffer `a`. The vectors must have 16 bytes.
 * Longer vectors read more runs at the same time, which was not measured. Portable C takes up to three times as long as
 * with `a`, because it reads one unit of each of many runs. A run must be at least as long as a lane, and its elements
 * must not have 3 or 6 bytes. Otherwise bytes before or after the run would be read, which may be outside of the
 * source.
 */
static int needs_no_gather(const struct bi__tiles *tiles)
{
	return tiles->simd->vector == 16 && (tiles->element & (tiles->element - 1)) == 0 && tiles->gathered == 1 &&
	       tiles->pieces.count == 1 && tiles->width >= tiles->slots && fit_sets(tiles);
}

static void list_once(struct bi__tiles *tiles)
{
	start_lines(tiles);
	start_list(&tiles->reads, 0);
	start_list(&tiles->rows, 0);
	for (int i = tiles->n - 1; i >= 0; i--) {
		const struct bi__tile_axis *axis = &tiles->axes[i];

		if (axis->in_row) {
			add_axis(&tiles->reads, axis->block, axis->src);
		} else {
			add_axis(&tiles->lines, axis->block, step_of_lines(tiles, axis));
			add_axis(&tiles->rows, axis->block, axis->dst);
		}
	}
}

/*
 * The last transpose of a tile may read more runs than the tile has. The result for these spare runs is not used, so
 * each of them is the first run again.
 */
static void list_spare_reads(struct bi__tiles *tiles)
{
	for (int64_t i = 0; i < BI__LINE; i++)
		tiles->reads.list[tiles->reads.count + i] = tiles->reads.list[0];
}

/*
 * Returns the place in `c` of the elements that all tiles have at this position. One transpose takes BI__LANES lanes of
 * the rows of `a`. Its result has lines of BI__LINE bytes, one for each position of a lane. Each line has the elements
 * of the first lane, followed by those of the other lanes.
 */
static int64_t place_in_c(const struct bi__tiles *tiles, int64_t position)
{
	const int64_t slots = tiles->slots, line = position / (BI__LANES * slots), lane = position / slots % BI__LANES;

	return (line * slots + position % slots) * BI__LINE + lane * slots * tiles->element;
}

static void list_twice(struct bi__tiles *tiles)
{
	start_lines(tiles);
	start_list(&tiles->rows, 0);
	for (int i = tiles->n - 1; i >= 0; i--) {
		const struct bi__tile_axis *axis = &tiles->axes[i];

		add_axis(&tiles->lines, axis->block, step_of_lines(tiles, axis));
		if (!axis->in_row)
			add_axis(&tiles->rows, axis->block, axis->dst);
	}
	for (int64_t i = 0; tiles->lines.list && i < tiles->lines.count + BI__LINE; i++)
		tiles->lines.list[i] = i < tiles->lines.count ? place_in_c(tiles, tiles->lines.list[i]) : 0;
}

/*
 * Lists the rows that are transposed together: a lane of many rows of `a`; TWICE: BI__LANES lanes of a row of each
 * tile.
 */
static void list_blocks(struct bi__tiles *tiles)
{
	const int lanes = tiles->way == BI__TILES_TWICE ? BI__LANES : 1;

	start_list(&tiles->blocks, 0);
	add_axis(&tiles->blocks, BI__LANES / lanes * tiles->slots, (int64_t)tiles->a_pitch);
	add_axis(&tiles->blocks, lanes, tiles->slots * tiles->element);
}

void bi__tiles_list(struct bi__tiles *tiles)
{
	list_pieces(tiles);
	if (tiles->way != BI__TILES_LARGE)
		list_blocks(tiles);
	if (tiles->way == BI__TILES_TWICE)
		list_twice(tiles);
	else
		list_once(tiles);
	if (tiles->way == BI__TILES_ONCE && tiles->reads.list) {
		list_spare_reads(tiles);
		if (needs_no_gather(tiles))
			tiles->a = NULL;
	}
}

/* Takes bytes of the memory at `base`. If `base` is NULL, the bytes are only counted. */
static void *take(unsigned char *base, int64_t *used, int64_t bytes)
{
	void *taken = base ? base + *used : NULL;

	*used += bi__tiles_round_up(bytes, BI__LINE);
	return taken;
}

/* Takes memory for the list, and for `more` entries after it. */
static void take_list(struct bi__tile_offsets *offsets, int64_t more, unsigned char *base, int64_t *used)
{
	offsets->list = take(base, used, (offsets->count + more) * (int64_t)sizeof(*offsets->list));
}

/* Returns a pitch of an odd number of cache lines, so that successive rows are in different sets of the cache. */
static size_t odd_lines(int64_t bytes)
{
	return (size_t)(bi__tiles_round_up(bytes, BI__LINE) | BI__LINE);
}

int64_t bi__tiles_place(struct bi__tiles *tiles, unsigned char *base)
{
	const int64_t some = tiles->way == BI__TILES_LARGE ? 1 : BI__LANES * tiles->slots, rows = tiles->rows.count;
	const int64_t turned =
		bi__tiles_round_up(tiles->width, 16); /* these fill whole lanes, whatever the size of an element */
	int64_t a = 0, c, used = 0;

	take_list(&tiles->pieces, 0, base, &used);
	take_list(&tiles->reads, BI__LINE, base, &used);
	take_list(&tiles->blocks, 0, base, &used);
	take_list(&tiles->lines, BI__LINE, base, &used);
	take_list(&tiles->rows, 0, base, &used);
	tiles->a_pitch = odd_lines(turned * tiles->element);
	tiles->c_pitch = odd_lines(BI__LINE + bi__tiles_round_up(tiles->row, some) * tiles->element);
	tiles->tile_pitch = odd_lines(rows * (int64_t)tiles->c_pitch);
	if (tiles->way != BI__TILES_LARGE)
		a = some * (int64_t)tiles->a_pitch;
	c = (tiles->way == BI__TILES_ONCE ? turned : 1) * (int64_t)tiles->c_pitch;
	if (tiles->way == BI__TILES_TWICE) {
		c = bi__tiles_round_up(tiles->width, some) / BI__LANES * BI__LINE;
		a = tiles->together *
		    (int64_t)(tiles->a_pitch > tiles->tile_pitch ? tiles->a_pitch : tiles->tile_pitch);
	}
	tiles->a = take(base, &used, a + BI__LINE);
	tiles->c = take(base, &used, c + BI__LINE);
	tiles->rest = take(base, &used, tiles->along < 0 ? BI__LINE : rows * tiles->together * BI__LINE);
	return used;
}
