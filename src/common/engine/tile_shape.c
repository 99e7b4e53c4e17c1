/* Chooses which axes of a plan a tile holds, and how much of each. */
#include <stdlib.h>
#include <string.h>

#include "common/engine/tiles.h"

/* Memory reads runs of SRC_RUN bytes and writes rows of DST_RUN bytes at nearly full speed. */
#define SRC_RUN 1024
#define DST_RUN 256

/* At least so many elements with gaps between them are gathered by bi__run, if possible by shuffles. */
#define LONG_STEPS 32

/* Short gaps of the source are copied too: elements and gaps have at most so many times the bytes of the elements. */
#define SHORT_GAPS 4

/*
 * For the way ONCE, rows and runs must have no axis in common. Therefore a run that has ENOUGH bytes is not extended
 * along an axis of a row, and a row that has SHORT_ROW bytes is not extended along an axis that the source needs for a
 * run of ENOUGH bytes.
 */
#define ENOUGH BI__LINE
#define SHORT_ROW 128

/* Runs of other tiles than ONCE are not extended beyond so many positions of a tile, so that buffers stay small. */
#define MOST_POSITIONS 4096

/* Returns the length of a block if the extent is cut into the fewest blocks of at most `most` elements. */
static int64_t equal_block(int64_t extent, int64_t most)
{
	return bi__tiles_divide_up(extent, bi__tiles_divide_up(extent, most));
}

/* Takes the unit and the axes from the plan. If lanes hold such units, tiles are ONCE until cut_runs changes that. */
static void set_axes(struct bi__tiles *tiles, const struct bi__plan *plan)
{
	static const int slots[] = { [1] = 16, [2] = 8, [3] = 4, [4] = 4, [6] = 2, [8] = 2 };
	const int64_t unit = (int64_t)plan->unit;

	tiles->slots = unit <= 8 ? slots[unit] : 0;
	tiles->way = tiles->slots ? BI__TILES_ONCE : BI__TILES_LARGE;
	tiles->element = unit;
	for (int i = 0; i < plan->ndim; i++)
		tiles->axes[tiles->n++] = (struct bi__tile_axis){
			.extent = plan->shape[i], .block = 1, .dst = plan->dst_strides[i], .src = plan->src_strides[i]
		};
}

/* Returns true if the axes with shorter steps in the source give no run of ENOUGH bytes. */
static int is_needed_by_source(const struct bi__tiles *tiles, const struct bi__tile_axis *axis)
{
	int64_t bytes = tiles->element;

	for (int i = 0; i < tiles->n && bytes < ENOUGH; i++) {
		const struct bi__tile_axis *other = &tiles->axes[i];

		if (other->src && llabs(other->src) < llabs(axis->src))
			bytes *= bi__minimum(other->extent, ENOUGH);
	}
	return axis->src && bytes < ENOUGH;
}

static void cut_rows(struct bi__tiles *tiles)
{
	int64_t run = tiles->element;

	for (int i = tiles->n - 1; i >= 0 && run < DST_RUN; i--) {
		struct bi__tile_axis *axis = &tiles->axes[i];

		if (axis->dst != run && i < tiles->n - 1)
			return;
		if (run >= SHORT_ROW && tiles->way == BI__TILES_ONCE && is_needed_by_source(tiles, axis))
			return;
		axis->block = equal_block(axis->extent, bi__tiles_divide_up(DST_RUN, run));
		axis->in_row = 1;
		if (axis->dst != run || axis->block < axis->extent)
			return;
		run *= axis->block;
	}
}

/* Returns the axis with the shortest step in the source that is not yet an axis of S, or NULL. */
static struct bi__tile_axis *nearest_in_source(struct bi__tiles *tiles)
{
	struct bi__tile_axis *nearest = NULL;

	for (int i = tiles->n - 1; i >= 0; i--) {
		struct bi__tile_axis *axis = &tiles->axes[i];

		if (axis->src && !axis->in_run && (!nearest || llabs(axis->src) < llabs(nearest->src)))
			nearest = axis;
	}
	return nearest;
}

/* Returns the longest block that the axis may have, given the blocks of the other axes. */
static int64_t most_positions(const struct bi__tiles *tiles, const struct bi__tile_axis *axis)
{
	int64_t count = 1;

	if (tiles->way == BI__TILES_ONCE)
		return axis->extent;
	for (int i = 0; i < tiles->n; i++)
		if (&tiles->axes[i] != axis)
			count *= tiles->axes[i].block;
	return MOST_POSITIONS / bi__minimum(count, MOST_POSITIONS);
}

/* Chooses S. If S needs an axis of D, tiles are no longer ONCE. */
static void cut_runs(struct bi__tiles *tiles)
{
	int64_t run = tiles->element, bytes = run;
	struct bi__tile_axis *axis;

	while (run < SRC_RUN && (axis = nearest_in_source(tiles)) != NULL) {
		int64_t most = bi__tiles_divide_up(SRC_RUN, run);

		if (bytes >= ENOUGH && llabs(axis->src) > 2 * run)
			return;
		if (axis->in_row && tiles->way == BI__TILES_ONCE) {
			if (bytes >= ENOUGH)
				return;
			/* Units of 6 and 8 bytes are mostly faster one by one than transposed twice. */
			tiles->way = tiles->element > 4 ? BI__TILES_LARGE : BI__TILES_TWICE;
		}
		most = bi__minimum(most, most_positions(tiles, axis));
		if (most > axis->block)
			axis->block = equal_block(axis->extent, most);
		axis->in_run = 1;
		bytes *= axis->block;
		run = llabs(axis->src) * axis->block;
		if (axis->block < axis->extent)
			return;
	}
}

/*
 * Finds the axes of a row, and the axis along which the next tile continues the row. If the elements of the destination
 * have gaps, the last axis is the only axis of a row.
 */
static void find_rows(struct bi__tiles *tiles)
{
	struct bi__tile_axis *last = &tiles->axes[tiles->n - 1];
	const int is_dense = last->dst == tiles->element;

	tiles->along = -1;
	tiles->row = is_dense ? 1 : last->block;
	for (int i = 0; i < tiles->n; i++)
		tiles->axes[i].in_row = 0;
	last->in_row = !is_dense;
	for (int i = tiles->n - 1; is_dense && tiles->along < 0 && i >= 0; i--) {
		struct bi__tile_axis *axis = &tiles->axes[i];

		if (axis->dst != tiles->row * tiles->element || (axis->in_run && tiles->way == BI__TILES_ONCE))
			break;
		if (axis->block < axis->extent)
			tiles->along = i;
		axis->in_row = axis->block > 1;
		tiles->row *= axis->block;
	}
	/* Only streamed rows of at least a cache line leave their last line to the next tile. */
	if (!tiles->streams || tiles->row * tiles->element < BI__LINE)
		tiles->along = -1;
	tiles->together = tiles->way == BI__TILES_TWICE ? tiles->slots : 1;
	tiles->outer = 1;
	for (int i = 0; i < tiles->n; i++)
		if (i != tiles->along)
			tiles->outer *= bi__tiles_blocks_of(&tiles->axes[i]);
	/* If other tiles are too few for a batch, tiles along this axis fill it. Then no row continues another. */
	if (tiles->along >= 0 && tiles->outer < tiles->together) {
		tiles->outer *= bi__tiles_blocks_of(&tiles->axes[tiles->along]);
		tiles->along = -1;
	}
}

static int is_column(const struct bi__tiles *tiles, const struct bi__tile_axis *axis)
{
	return axis->block > 1 && axis->src && (tiles->way == BI__TILES_TWICE || !axis->in_row);
}

static void sort_columns(struct bi__tiles *tiles)
{
	for (int i = tiles->n - 1; i >= 0; i--) {
		struct bi__tile_axis *axis = &tiles->axes[i];
		int at = tiles->columns;

		if (!is_column(tiles, axis))
			continue;
		for (; at > 0 && llabs(axis->src) < llabs(tiles->column[at - 1]->src); at--)
			tiles->column[at] = tiles->column[at - 1];
		tiles->column[at] = axis;
		tiles->columns++;
		if (axis->src < 0)
			tiles->backwards += (axis->block - 1) * axis->src;
	}
}

/*
 * Places the columns of a row of `a`. The first ones keep the steps of the source there, with gaps if these are short:
 * to transpose a gap costs less than to gather elements one by one. A long first column with gaps is gathered.
 */
static void place_columns(struct bi__tiles *tiles)
{
	int64_t elements = 1, place;
	int i = 0;

	tiles->span = tiles->element;
	tiles->gathered = 1;
	if (tiles->columns && tiles->way != BI__TILES_LARGE && tiles->column[0]->block >= LONG_STEPS &&
	    llabs(tiles->column[0]->src) > tiles->element) {
		tiles->gathered = tiles->column[0]->block;
		tiles->column[0]->place = tiles->element;
		tiles->span *= tiles->gathered;
		i = 1;
	}
	for (; i < tiles->columns && tiles->gathered == 1; i++) {
		struct bi__tile_axis *axis = tiles->column[i];
		const int64_t step = llabs(axis->src), span = tiles->span + (axis->block - 1) * step;

		elements *= axis->block;
		if (tiles->way != BI__TILES_LARGE &&
		    (step % tiles->element || span > SHORT_GAPS * elements * tiles->element ||
		     step > 2 * SHORT_GAPS * tiles->span || (step > tiles->span && tiles->span >= ENOUGH)))
			break;
		axis->place = step;
		tiles->span = span;
	}
	tiles->spanned = i;
	for (place = tiles->span; i < tiles->columns; i++) {
		tiles->column[i]->place = place;
		place *= tiles->column[i]->block;
	}
	tiles->width = place / tiles->element;
}

/*
 * Prepares the gathering of elements from a source with gaps, and the writing of rows. Rows are written whole, or
 * element by element if the destination has gaps.
 */
static void set_runs(struct bi__tiles *tiles, uint64_t bytes)
{
	const int64_t element = tiles->element, step = tiles->axes[tiles->n - 1].dst;
	const int64_t unit = step == element ? tiles->row * element : element;

	if (tiles->gathered > 1)
		bi__run_init(&tiles->gather, tiles->simd,
			     &(struct bi__run_axis){ (size_t)element, element, llabs(tiles->column[0]->src), bytes });
	tiles->scattered = step == element ? 1 : tiles->row;
	bi__run_init(&tiles->scatter, tiles->simd, &(struct bi__run_axis){ (size_t)unit, step, unit, bytes });
}

void bi__tiles_choose(struct bi__tiles *tiles, const struct bi__engine_part *part)
{
	memset(tiles, 0, sizeof(*tiles));
	tiles->simd = part->simd;
	set_axes(tiles, part->plan);
	tiles->streams = part->streams && tiles->axes[tiles->n - 1].dst == tiles->element;
	cut_rows(tiles);
	cut_runs(tiles);
	find_rows(tiles);
	sort_columns(tiles);
	place_columns(tiles);
	set_runs(tiles, part->plan->bytes);
}
