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
 *     LARGE   units of 5 to 7, and of 9 and more bytes are moved one by one, from the source to the rows of D
 *
 *     ONCE    smaller units, if S and D have no axis in common:
 *
 *             a run of S for each position in D  →  a  → turn →  c: a row of D for each position in S
 *
 *     TWICE   smaller units, if they have. LINE bytes of elements from as many tiles are turned together. Then the
 *             elements of all these tiles for one position are one line, and lines can be put into any order:
 *
 *             runs of each tile  →  a  → turn →  c: a line for each position  → reorder, turn →  a: rows of each tile
 *
 * To turn is to transpose a matrix of elements of 1, 2, 4 or 8 bytes in registers. A unit of 3 bytes is three elements,
 * and one more axis.
 *
 * A row that continues in the next tile leaves its incomplete last line to that tile, so lines are streamed whole.
 */
#include <stdlib.h>
#include <string.h>

#include "common/engine/parts.h"
#include "common/engine/run.h"

/* Memory reads runs of SRC_RUN bytes and writes rows of DST_RUN bytes at nearly full speed. */
#define SRC_RUN 1024
#define DST_RUN 256

/* A run of this many bytes is not made longer along an axis of D, because tiles are turned once then. */
#define ENOUGH BI__LINE

/* The most positions of a tile that is turned twice: its buffers are to stay in the second-level cache. */
#define MOST_POSITIONS 4096

/* Tables and buffers of at most this many bytes are on the stack. */
#define ON_STACK 16384

/* A destination with short rows and gaps would need more; then it is copied in lines. */
#define MOST_BYTES ((size_t)4 << 20)

#define MOST_AXES (BI_MAX_NDIM + 1)

struct axis {
	int64_t extent, block; /* elements; in one tile */
	int64_t dst, src; /* bytes */
	int in_row; /* 1: it is an axis of D */
	int in_run; /* 1: it is an axis of S */
};

/* Sums of multiples of steps: one for each combination of positions along some axes, the first axis fastest. */
struct offsets {
	int64_t count;
	int64_t *list;
};

struct tiles {
	const struct bi__simd *simd;
	enum { ONCE, TWICE, LARGE } way;
	int64_t element; /* bytes */
	int level; /* its base-2 logarithm, if elements are turned */
	int streams;
	int n, columns;
	struct axis axes[MOST_AXES]; /* the largest step of the destination first */
	const struct axis *column[MOST_AXES]; /* the axes of a row of `a`, the shortest step of the source first */
	int along; /* the axis along which the next tile continues the rows, or -1 */
	int64_t outer; /* tiles that do not continue each other */
	int64_t width; /* elements of a row of `a` */
	int64_t row; /* elements of a row of the destination */
	int64_t backwards; /* from the first element of a tile to the first column, where the source runs backwards */
	struct bi__run gather, pack, scatter; /* to `a`, to a row of LARGE units, to a row with gaps */
	int64_t gathered, packed, scattered; /* units that each moves at once */
	struct offsets pieces; /* source: the parts of a row of `a` that are gathered */
	struct offsets reads; /* ONCE: source of the rows of `a`; LARGE: of the parts of all rows of D */
	struct offsets places; /* LARGE: the parts of a row of D, in the row */
	struct offsets lines; /* TWICE: the elements of all rows of D, in `c` */
	struct offsets rows; /* destination: the rows of a tile */
	size_t a_pitch, c_pitch, tile_pitch; /* bytes of a row of `a`, of a row of D, of all rows of a tile */
	unsigned char *a, *c, *some, *rest;
};

static int64_t divide_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static int64_t round_up(int64_t n, int64_t to)
{
	return divide_up(n, to) * to;
}

static int64_t minimum(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t magnitude(int64_t step)
{
	return step < 0 ? -step : step;
}

/* Returns the length of blocks of at most `most` elements that are about equal. */
static int64_t equal_block(int64_t extent, int64_t most)
{
	return divide_up(extent, divide_up(extent, most < 1 ? 1 : most));
}

static int64_t blocks_of(const struct axis *axis)
{
	return divide_up(axis->extent, axis->block);
}

static int64_t block_start(const struct axis *axis, int64_t i)
{
	return minimum(i * axis->block, axis->extent - axis->block);
}

/* Makes the axes of the plan, and of the elements in a unit, the axes of the tiles. */
static void set_axes(struct tiles *tiles, const struct bi__plan *plan)
{
	const int64_t unit = (int64_t)plan->unit;

	while (tiles->level < 3 && unit % (2 << tiles->level) == 0)
		tiles->level++;
	tiles->way = unit > 4 && unit != 8 ? LARGE : ONCE;
	tiles->element = tiles->way == LARGE ? unit : 1 << tiles->level;
	for (int i = 0; i < plan->ndim; i++)
		tiles->axes[tiles->n++] =
			(struct axis){ plan->shape[i], 1, plan->dst_strides[i], plan->src_strides[i], 0, 0 };
	if (unit > tiles->element)
		tiles->axes[tiles->n++] =
			(struct axis){ unit / tiles->element, 1, tiles->element, tiles->element, 0, 0 };
}

static void cut_rows(struct tiles *tiles)
{
	int64_t run = tiles->element;

	for (int i = tiles->n - 1; i >= 0 && run < DST_RUN; i--) {
		struct axis *axis = &tiles->axes[i];

		if (axis->dst != run && i < tiles->n - 1)
			return;
		axis->block = equal_block(axis->extent, divide_up(DST_RUN, run));
		axis->in_row = 1;
		if (axis->dst != run || axis->block < axis->extent)
			return;
		run *= axis->block;
	}
}

/* Returns the axis outside of S with the shortest step of the source, or NULL. */
static struct axis *nearest_in_source(struct tiles *tiles)
{
	struct axis *nearest = NULL;

	for (int i = tiles->n - 1; i >= 0; i--) {
		struct axis *axis = &tiles->axes[i];

		if (axis->src && !axis->in_run && (!nearest || magnitude(axis->src) < magnitude(nearest->src)))
			nearest = axis;
	}
	return nearest;
}

/* Returns how many positions an axis may have in a tile, beside those of the other axes. */
static int64_t most_positions(const struct tiles *tiles, const struct axis *axis)
{
	int64_t count = 1;

	if (tiles->way == ONCE)
		return axis->extent;
	for (int i = 0; i < tiles->n; i++)
		if (&tiles->axes[i] != axis)
			count *= tiles->axes[i].block;
	return MOST_POSITIONS / minimum(count, MOST_POSITIONS);
}

/* Chooses S, and with it whether tiles are turned twice. */
static void cut_runs(struct tiles *tiles)
{
	int64_t run = tiles->element, bytes = run;
	struct axis *axis;

	while (run < SRC_RUN && (axis = nearest_in_source(tiles)) != NULL) {
		int64_t most = divide_up(SRC_RUN, run);

		if (bytes >= ENOUGH && magnitude(axis->src) > 2 * run)
			return;
		if (axis->in_row && tiles->way == ONCE) {
			if (bytes >= ENOUGH)
				return;
			tiles->way = TWICE;
		}
		most = minimum(most, most_positions(tiles, axis));
		if (most > axis->block)
			axis->block = equal_block(axis->extent, most);
		axis->in_run = 1;
		bytes *= axis->block;
		run = magnitude(axis->src) * axis->block;
		if (axis->block < axis->extent)
			return;
	}
}

static void count_outer(struct tiles *tiles)
{
	tiles->outer = 1;
	for (int i = 0; i < tiles->n; i++)
		if (i != tiles->along)
			tiles->outer *= blocks_of(&tiles->axes[i]);
}

/*
 * Finds the axes of a row, and the axis along which the next tile continues it. If the elements of the destination have
 * gaps, a row is the part of its last axis in the tile.
 */
static void find_rows(struct tiles *tiles)
{
	struct axis *last = &tiles->axes[tiles->n - 1];
	const int is_dense = last->dst == tiles->element;

	tiles->along = -1;
	tiles->row = is_dense ? 1 : last->block;
	for (int i = 0; i < tiles->n; i++)
		tiles->axes[i].in_row = 0;
	last->in_row = !is_dense;
	for (int i = tiles->n - 1; is_dense && tiles->along < 0 && i >= 0; i--) {
		struct axis *axis = &tiles->axes[i];

		if (axis->dst != tiles->row * tiles->element || (axis->in_run && tiles->way == ONCE))
			break;
		if (axis->block < axis->extent)
			tiles->along = i;
		axis->in_row = axis->block > 1;
		tiles->row *= axis->block;
	}
	/* A row that does not reach the end of a line cannot leave the line to the next tile. */
	if (!tiles->streams || tiles->row * tiles->element < BI__LINE)
		tiles->along = -1;
	count_outer(tiles);
	/* The tiles of a batch do not continue each other. */
	if (tiles->way == TWICE && tiles->outer < BI__LINE >> tiles->level) {
		tiles->along = -1;
		count_outer(tiles);
	}
}

static int is_column(const struct tiles *tiles, const struct axis *axis)
{
	return axis->block > 1 && axis->src && tiles->way != LARGE && (tiles->way == TWICE || !axis->in_row);
}

static void sort_columns(struct tiles *tiles)
{
	tiles->width = 1;
	for (int i = tiles->n - 1; i >= 0; i--) {
		const struct axis *axis = &tiles->axes[i];
		int at = tiles->columns;

		if (!is_column(tiles, axis))
			continue;
		for (; at > 0 && magnitude(axis->src) < magnitude(tiles->column[at - 1]->src); at--)
			tiles->column[at] = tiles->column[at - 1];
		tiles->column[at] = axis;
		tiles->columns++;
		tiles->width *= axis->block;
		if (axis->src < 0)
			tiles->backwards += (axis->block - 1) * axis->src;
	}
}

/* Starts a list. Without memory, the offsets are only counted. */
static void start_list(struct offsets *offsets, int64_t first)
{
	offsets->count = 1;
	if (offsets->list)
		offsets->list[0] = first;
}

static void add_axis(struct offsets *offsets, int64_t count, int64_t step)
{
	const int64_t all = offsets->count * count;

	for (int64_t i = offsets->count; offsets->list && i < all; i++)
		offsets->list[i] = offsets->list[i - offsets->count] + step;
	offsets->count = all;
}

/* Lists the parts of a row of `a`: dense in the source, or of dense units along one axis. */
static void list_pieces(struct tiles *tiles, uint64_t bytes)
{
	struct bi__run_axis axis = { (size_t)tiles->element, 0, 0, bytes };
	int i = 0;

	for (; i < tiles->columns && magnitude(tiles->column[i]->src) == (int64_t)axis.unit; i++)
		axis.unit *= (size_t)tiles->column[i]->block;
	axis.dst_step = axis.src_step = (int64_t)axis.unit;
	tiles->gathered = 1;
	if (i < tiles->columns) {
		axis.src_step = magnitude(tiles->column[i]->src);
		tiles->gathered = tiles->column[i++]->block;
	}
	bi__run_init(&tiles->gather, tiles->simd, &axis);
	start_list(&tiles->pieces, 0);
	for (; i < tiles->columns; i++)
		add_axis(&tiles->pieces, tiles->column[i]->block, magnitude(tiles->column[i]->src));
}

static void list_once(struct tiles *tiles)
{
	int64_t first = 0;

	start_list(&tiles->reads, 0);
	for (int i = tiles->n - 1; i >= 0; i--)
		if (tiles->axes[i].in_row)
			add_axis(&tiles->reads, tiles->axes[i].block, tiles->axes[i].src);
	for (int i = 0; i < tiles->columns; i++)
		if (tiles->column[i]->src < 0)
			first += (tiles->column[i]->block - 1) * tiles->column[i]->dst;
	start_list(&tiles->rows, first);
	for (int i = 0; i < tiles->columns; i++) {
		const struct axis *axis = tiles->column[i];

		add_axis(&tiles->rows, axis->block, axis->src < 0 ? -axis->dst : axis->dst);
	}
}

static void list_twice(struct tiles *tiles)
{
	int64_t steps[MOST_AXES] = { 0 }, step = BI__LINE, first = 0;

	for (int i = 0; i < tiles->columns; i++) {
		const struct axis *axis = tiles->column[i];

		steps[axis - tiles->axes] = axis->src < 0 ? -step : step;
		if (axis->src < 0)
			first += (axis->block - 1) * step;
		step *= axis->block;
	}
	start_list(&tiles->lines, first);
	start_list(&tiles->rows, 0);
	for (int i = tiles->n - 1; i >= 0; i--) {
		add_axis(&tiles->lines, tiles->axes[i].block, steps[i]);
		if (!tiles->axes[i].in_row)
			add_axis(&tiles->rows, tiles->axes[i].block, tiles->axes[i].dst);
	}
}

/* The parts of a row run along its longest axis. */
static void list_large(struct tiles *tiles, uint64_t bytes)
{
	const struct axis *axes = tiles->axes, *longest = &axes[tiles->n - 1];

	for (int i = tiles->n - 2; i >= 0; i--)
		if (axes[i].in_row && axes[i].block > longest->block)
			longest = &axes[i];
	tiles->packed = longest->block;
	bi__run_init(&tiles->pack, tiles->simd,
		     &(struct bi__run_axis){ (size_t)tiles->element, longest->dst, longest->src, bytes });
	start_list(&tiles->reads, 0);
	start_list(&tiles->places, 0);
	start_list(&tiles->rows, 0);
	for (int i = tiles->n - 1; i >= 0; i--) {
		if (&axes[i] == longest)
			continue;
		add_axis(&tiles->reads, axes[i].block, axes[i].src);
		add_axis(axes[i].in_row ? &tiles->places : &tiles->rows, axes[i].block, axes[i].dst);
	}
}

static void list_all(struct tiles *tiles, uint64_t bytes)
{
	list_pieces(tiles, bytes);
	if (tiles->way == ONCE)
		list_once(tiles);
	else if (tiles->way == TWICE)
		list_twice(tiles);
	else
		list_large(tiles, bytes);
}

/* Prepares to write rows: whole, or element by element if the destination has gaps. */
static void set_scatter(struct tiles *tiles, uint64_t bytes)
{
	const int64_t step = tiles->axes[tiles->n - 1].dst;
	const int is_dense = step == tiles->element;
	const int64_t unit = is_dense ? tiles->row * tiles->element : tiles->element;

	tiles->scattered = is_dense ? 1 : tiles->row;
	bi__run_init(&tiles->scatter, tiles->simd, &(struct bi__run_axis){ (size_t)unit, step, unit, bytes });
}

/* Takes bytes of the memory at `base`. If that is NULL, they are only counted. */
static void *take(unsigned char *base, size_t *used, int64_t bytes)
{
	void *taken = base ? base + *used : NULL;

	*used += (size_t)round_up(bytes, BI__LINE);
	return taken;
}

static void take_list(struct offsets *offsets, unsigned char *base, size_t *used)
{
	offsets->list = take(base, used, offsets->count * (int64_t)sizeof(*offsets->list));
}

/* Returns a pitch with which rows do not evict each other from the caches. */
static size_t odd_lines(int64_t bytes)
{
	return (size_t)(round_up(bytes, BI__LINE) | BI__LINE);
}

/* Places tables and buffers in the memory at `base`. Returns their bytes. */
static size_t place_all(struct tiles *tiles, unsigned char *base)
{
	const int64_t some = tiles->way == LARGE ? 1 : BI__LINE >> tiles->level, rows = tiles->rows.count;
	const int64_t turned = round_up(tiles->width, 16); /* elements that fill 16 bytes, whatever their size */
	int64_t a = 0, c;
	size_t used = 0;

	take_list(&tiles->pieces, base, &used);
	take_list(&tiles->reads, base, &used);
	take_list(&tiles->places, base, &used);
	take_list(&tiles->lines, base, &used);
	take_list(&tiles->rows, base, &used);
	tiles->a_pitch = odd_lines(turned * tiles->element);
	tiles->c_pitch = odd_lines(BI__LINE + round_up(tiles->row, some) * tiles->element);
	tiles->tile_pitch = odd_lines(rows * (int64_t)tiles->c_pitch);
	if (tiles->way != LARGE)
		a = some * (int64_t)tiles->a_pitch;
	c = (tiles->way == ONCE ? turned : 1) * (int64_t)tiles->c_pitch;
	if (tiles->way == TWICE) {
		c = turned * BI__LINE;
		if (a < some * (int64_t)tiles->tile_pitch)
			a = some * (int64_t)tiles->tile_pitch;
	}
	tiles->a = take(base, &used, a);
	tiles->c = take(base, &used, c);
	tiles->some = take(base, &used, tiles->way == TWICE ? some * BI__LINE : 0);
	tiles->rest = take(base, &used, tiles->along < 0 ? 0 : rows * (tiles->way == TWICE ? some : 1) * BI__LINE);
	return used;
}

/* The tiles that are copied together. */
struct batch {
	int64_t count;
	unsigned char *dst[BI__LINE];
	const unsigned char *src[BI__LINE];
	size_t skip; /* bytes of each row that the tile before has written */
	int first, last; /* 1: no tile before, after this one continues the rows */
};

static void gather_row(const struct tiles *tiles, unsigned char *to, const unsigned char *src)
{
	const int64_t bytes = tiles->gathered * (int64_t)tiles->gather.unit;

	for (int64_t i = 0; i < tiles->pieces.count; i++, to += bytes)
		bi__run(&tiles->gather, to, src + tiles->pieces.list[i], tiles->gathered);
}

/* Transposes LINE bytes of elements from each of `height` columns. */
static void turn(const struct tiles *tiles, unsigned char *to, size_t to_pitch, const unsigned char *from,
		 size_t from_pitch, int64_t height)
{
	tiles->simd->transpose[tiles->level](to, (int64_t)to_pitch, from, (int64_t)from_pitch,
					     round_up(height, 16 >> tiles->level), BI__LINE >> tiles->level);
}

/*
 * Writes a row with non-temporal stores. `rest` holds the incomplete last line of the row so far. The LINE bytes before
 * `row` are overwritten.
 */
static void stream_row(const struct tiles *tiles, const struct batch *batch, unsigned char *dst, unsigned char *row,
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
static void write_row(const struct tiles *tiles, const struct batch *batch, unsigned char *dst, unsigned char *row,
		      int64_t i)
{
	if (tiles->streams)
		stream_row(tiles, batch, dst, row, tiles->rest + i * BI__LINE);
	else
		bi__run(&tiles->scatter, dst, row, tiles->scattered);
}

static void copy_once(const struct tiles *tiles, const struct batch *batch)
{
	const int64_t some = BI__LINE >> tiles->level;
	const int64_t *reads = tiles->reads.list;
	unsigned char *c = tiles->c + BI__LINE;

	for (int64_t at = 0; at < tiles->row; at += some) {
		for (int64_t i = at; i < minimum(at + some, tiles->row); i++)
			gather_row(tiles, tiles->a + (i - at) * (int64_t)tiles->a_pitch, batch->src[0] + reads[i]);
		turn(tiles, c + at * tiles->element, tiles->c_pitch, tiles->a, tiles->a_pitch, tiles->width);
	}
	for (int64_t i = 0; i < tiles->rows.count; i++)
		write_row(tiles, batch, batch->dst[0] + tiles->rows.list[i], c + i * (int64_t)tiles->c_pitch, i);
}

/* Turns row i of all tiles in the batch back. */
static void turn_back(const struct tiles *tiles, int64_t i)
{
	const int64_t some = BI__LINE >> tiles->level;
	const int64_t *lines = tiles->lines.list + i * tiles->row;
	unsigned char *to = tiles->a + BI__LINE + i * (int64_t)tiles->c_pitch;

	for (int64_t at = 0; at < tiles->row; at += some) {
		for (int64_t k = 0; k < minimum(some, tiles->row - at); k++)
			memcpy(tiles->some + k * BI__LINE, tiles->c + lines[at + k], BI__LINE);
		turn(tiles, to + at * tiles->element, tiles->tile_pitch, tiles->some, BI__LINE, some);
	}
}

static void copy_twice(const struct tiles *tiles, const struct batch *batch)
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

static void copy_large(const struct tiles *tiles, const struct batch *batch)
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

/* Finds the tiles from number `first` on: block `along` of the axis along the rows, and one block of each other axis.
 */
static void find_tiles(const struct tiles *tiles, struct batch *batch, int64_t first, int64_t along)
{
	for (int64_t k = 0; k < batch->count; k++) {
		int64_t left = first + k;

		for (int i = tiles->n - 1; i >= 0; i--) {
			const struct axis *axis = &tiles->axes[i];
			int64_t at = along;

			if (i != tiles->along) {
				at = left % blocks_of(axis);
				left /= blocks_of(axis);
			}
			at = block_start(axis, at);
			batch->dst[k] += at * axis->dst;
			batch->src[k] += at * axis->src;
		}
	}
}

/* Copies the tiles from number `first` on, and those that continue their rows. */
static void copy_tiles(const struct tiles *tiles, int64_t first, unsigned char *dst, const unsigned char *src)
{
	const struct axis *axis = tiles->along < 0 ? NULL : &tiles->axes[tiles->along];
	const int64_t some = tiles->way == TWICE ? BI__LINE >> tiles->level : 1, blocks = axis ? blocks_of(axis) : 1;
	struct batch batch;

	batch.count = minimum(tiles->outer - first, some);
	for (int64_t i = 0; i < blocks; i++) {
		for (int64_t k = 0; k < batch.count; k++) {
			batch.dst[k] = dst;
			batch.src[k] = src + tiles->backwards;
		}
		find_tiles(tiles, &batch, first, i);
		batch.skip = axis ? (size_t)((i * axis->block - block_start(axis, i)) * axis->dst) : 0;
		batch.first = i == 0;
		batch.last = i == blocks - 1;
		if (tiles->way == ONCE)
			copy_once(tiles, &batch);
		else if (tiles->way == TWICE)
			copy_twice(tiles, &batch);
		else
			copy_large(tiles, &batch);
	}
}

static void choose_tiles(struct tiles *tiles, const struct bi__engine_part *part)
{
	memset(tiles, 0, sizeof(*tiles));
	tiles->simd = part->simd;
	set_axes(tiles, part->plan);
	tiles->streams = part->streams && tiles->axes[tiles->n - 1].dst == tiles->element;
	cut_rows(tiles);
	cut_runs(tiles);
	find_rows(tiles);
	sort_columns(tiles);
	list_all(tiles, part->plan->bytes);
	set_scatter(tiles, part->plan->bytes);
}

void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	_Alignas(BI__LINE) unsigned char on_stack[ON_STACK];
	unsigned char *memory = on_stack, *allocated = NULL;
	struct tiles tiles;
	size_t bytes;

	choose_tiles(&tiles, part);
	bytes = place_all(&tiles, NULL);
	if (bytes > ON_STACK) {
		allocated = bytes <= MOST_BYTES ? malloc(bytes + BI__LINE) : NULL;
		if (!allocated) {
			bi__engine_lines(part, dst, src);
			return;
		}
		memory = allocated + BI__LINE - (uintptr_t)allocated % BI__LINE;
	}
	place_all(&tiles, memory);
	list_all(&tiles, part->plan->bytes);
	for (int64_t i = 0; i < tiles.outer; i += tiles.way == TWICE ? BI__LINE >> tiles.level : 1)
		copy_tiles(&tiles, i, dst, src);
	if (tiles.streams)
		tiles.simd->fence();
	free(allocated);
}
