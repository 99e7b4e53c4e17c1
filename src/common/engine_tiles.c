/*
 * Transposes: source and destination run along different axes.
 *
 * A tile is WIDTH units long along the last axis (x) and PANEL bytes along the other (y). Its source is gathered into a
 * dense block, which is turned in registers into rows that are in phase with the destination's lines, and written from
 * there. So each line of the source is read once and whole, each of the destination written once and whole, whatever
 * their addresses are: with extents that are powers of two, lines below each other drive each other out of the caches.
 *
 * Units are turned in elements of the next power of two; gathering pads them, writing packs them again.
 */
#include <string.h>

#include "common/engine_parts.h"
#include "common/engine_run.h"

#define PANEL BI__PANEL
#define WIDTH 64

/* Rows of the source that are worked on panel by panel, so that their pages stay known to the processor. */
#define BLOCK 1024

/* Bytes of a source that is followed along its lines, from what is gathered to what is told to be needed soon. */
#define AHEAD 256

/* Planes beside each other, in the destination and in the source, that are worked on together for the same reason. */
#define BAND 8

/* An axis around the planes. */
struct around {
	int64_t extent, dst, src;
};

struct tiles {
	const struct bi__simd *simd;
	int streams, level; /* elements of 1 << level bytes are turned */
	int64_t unit;
	int64_t height, width; /* extents of y and x, in units */
	int64_t dst_x, dst_y, src_x, src_y;
	int dense_source; /* its lines are elements as they are turned */
	int strips; /* a plane is worked on in strips as wide as a tile */
	int64_t ahead; /* bytes from what is gathered to what will be a little later; 0: not known */
	struct bi__run gather, scatter;
	struct around near_dst, near_src; /* those along which a plane's neighbour is nearest */
};

struct buffers {
	_Alignas(BI__LINE) unsigned char source[WIDTH * PANEL];
	_Alignas(BI__LINE) unsigned char turned[WIDTH * PANEL];
	_Alignas(BI__LINE) unsigned char rows[WIDTH * PANEL + (PANEL + 1) * 2 * BI__LINE];
};

/* A tile in work: `x`, `y` where it begins, `height` and `width` its extents; is it the first, the last of a panel? */
struct tile {
	int64_t x, y, height, width;
	int first, last;
};

static int64_t round_up(int64_t n, int64_t to)
{
	return (n + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* A panel of a line of the source, wherever that is. Processors fetch ahead in long runs, but these are short. */
static inline void fetch(uintptr_t from)
{
	for (size_t at = 0; at < PANEL; at += BI__LINE)
		__builtin_prefetch((const void *)(from + at), 0, 2);
}

static void gather(const struct tiles *tiles, const struct tile *tile, unsigned char *to, const unsigned char *src)
{
	const unsigned char *from = src + tile->x * tiles->src_x + tile->y * tiles->src_y;
	const size_t bytes = (size_t)(tile->height * tiles->unit);

	for (int64_t x = 0; x < tile->width; x++, from += tiles->src_x, to += PANEL) {
		if (tiles->ahead)
			fetch((uintptr_t)from + (uintptr_t)tiles->ahead);
		if (!tiles->dense_source)
			bi__run(&tiles->gather, to, from, tile->height);
		else if (bytes == PANEL)
			memcpy(to, from, PANEL);
		else
			memcpy(to, from, bytes);
	}
}

static void turn(const struct tiles *tiles, const struct tile *tile, unsigned char *to, int64_t pitch,
		 const unsigned char *from)
{
	tiles->simd->turn[tiles->level](to, pitch, from, PANEL, round_up(tile->height, 16 >> tiles->level),
					round_up(tile->width, BI__LINE >> tiles->level));
}

/* Turned elements that are not packed as the destination's units are. */
static void scatter(const struct tiles *tiles, const struct tile *tile, unsigned char *to, int64_t pitch,
		    const unsigned char *from)
{
	for (int64_t y = 0; y < tile->height; y++)
		bi__run(&tiles->scatter, to + y * pitch, from + y * (WIDTH << tiles->level), tile->width);
}

static int is_packed(const struct tiles *tiles)
{
	return tiles->unit == 1 << tiles->level && tiles->dst_x == tiles->unit;
}

/* How a tile is turned from where it lies to where it belongs; NULL if an edge or a gap is in the way. */
static bi__turn_fn direct_turn(const struct tiles *tiles, const struct tile *tile)
{
	const struct bi__simd *simd = tiles->simd;

	if (tiles->streams || !tiles->dense_source || !is_packed(tiles) || tile->height * tiles->unit % 16)
		return NULL;
	if (tile->width * tiles->unit % BI__LINE == 0)
		return simd->turn[tiles->level];
	if (tile->width * tiles->unit % 16)
		return NULL;
	return simd->turn_narrow ? simd->turn_narrow[tiles->level] : simd->turn[tiles->level];
}

/* What is turned goes to the caches. */
static void write_tile(const struct tiles *tiles, const struct tile *tile, struct buffers *buffers, unsigned char *dst)
{
	unsigned char *to = dst + tile->x * tiles->dst_x + tile->y * tiles->dst_y;
	const int64_t pitch = WIDTH << tiles->level;

	turn(tiles, tile, buffers->turned, pitch, buffers->source);
	if (!is_packed(tiles)) {
		scatter(tiles, tile, to, tiles->dst_y, buffers->turned);
		return;
	}
	for (int64_t y = 0; y < tile->height; y++, to += tiles->dst_y)
		memcpy(to, buffers->turned + y * pitch, (size_t)(tile->width * tiles->unit));
}

/* The pitch of rows whose lines are in phase with those of the destination. */
static int64_t phased_pitch(const struct tiles *tiles)
{
	return WIDTH * tiles->unit + BI__LINE + (int64_t)((uint64_t)tiles->dst_y % BI__LINE);
}

/*
 * One row: bytes [row, row + bytes) belong at dst. Before them lies, up to the start of the line, what the tile before
 * left behind; what is left of the last line is put there for the next one.
 */
static void stream_row(const struct tiles *tiles, const struct tile *tile, unsigned char *dst, unsigned char *row)
{
	const size_t phase = (uintptr_t)dst % BI__LINE, bytes = (size_t)(tile->width * tiles->unit);
	const size_t whole = (phase + bytes) / BI__LINE * BI__LINE, rest = phase + bytes - whole;
	unsigned char *line = row - phase, *to = dst - phase;
	size_t done = 0;

	if (tile->first && phase) {
		done = BI__LINE < phase + bytes ? BI__LINE : phase + bytes;
		memcpy(dst, row, done - phase);
		if (done < BI__LINE)
			return;
	}
	if (whole > done)
		tiles->simd->stream(to + done, line + done, (whole - done) / BI__LINE);
	if (tile->last)
		memcpy(to + whole, line + whole, rest);
	else if (rest)
		memcpy(line, line + whole, BI__LINE);
}

/* What is turned goes past the caches. */
static void stream_tile(const struct tiles *tiles, const struct tile *tile, struct buffers *buffers, unsigned char *dst)
{
	unsigned char *to = dst + tile->x * tiles->unit + tile->y * tiles->dst_y;
	const int64_t pitch = phased_pitch(tiles);
	unsigned char *row = buffers->rows + BI__LINE + (uintptr_t)to % BI__LINE;

	if (is_packed(tiles)) {
		turn(tiles, tile, row, pitch, buffers->source);
	} else {
		turn(tiles, tile, buffers->turned, WIDTH << tiles->level, buffers->source);
		scatter(tiles, tile, row, pitch, buffers->turned);
	}
	for (int64_t y = 0; y < tile->height; y++, to += tiles->dst_y, row += pitch)
		stream_row(tiles, tile, to, row);
}

/* All tiles of one panel, x in [from, end). */
static void panel(const struct tiles *tiles, struct buffers *buffers, struct tile *tile, int64_t from, int64_t end,
		  unsigned char *dst, const unsigned char *src)
{
	for (tile->x = from; tile->x < end; tile->x += WIDTH) {
		bi__turn_fn direct;

		tile->width = least(end - tile->x, WIDTH);
		tile->first = tile->x == from;
		tile->last = tile->x + tile->width == end;
		direct = direct_turn(tiles, tile);
		if (direct) {
			direct(dst + tile->x * tiles->dst_x + tile->y * tiles->dst_y, tiles->dst_y,
			       src + tile->x * tiles->src_x + tile->y * tiles->src_y, tiles->src_x, tile->height,
			       tile->width);
			continue;
		}
		gather(tiles, tile, buffers->source, src);
		if (tiles->streams)
			stream_tile(tiles, tile, buffers, dst);
		else
			write_tile(tiles, tile, buffers, dst);
	}
}

/*
 * The end of what begins at x and is worked on together, all panels of it. Strips as wide as a tile follow the lines of
 * the source, which is read fastest so, but leave parts of lines at both sides; only where the lines of all rows of the
 * destination begin together can the strips begin there, too.
 */
static int64_t block_end(const struct tiles *tiles, const unsigned char *dst, int64_t x)
{
	int64_t to_line = 0;

	if (!tiles->strips)
		return least(x + BLOCK, tiles->width);
	if (x == 0)
		to_line = bi__units_to_line((uintptr_t)dst % BI__LINE, (size_t)tiles->unit);
	return least(x + (to_line ? to_line : WIDTH), tiles->width);
}

static void plane(const struct tiles *tiles, unsigned char *dst, const unsigned char *src)
{
	const int64_t height = PANEL >> tiles->level;
	struct buffers buffers;
	struct tile tile;
	int64_t end;

	for (int64_t from = 0; from < tiles->width; from = end) {
		end = block_end(tiles, dst, from);
		for (tile.y = 0; tile.y < tiles->height; tile.y += height) {
			tile.height = least(tiles->height - tile.y, height);
			panel(tiles, &buffers, &tile, from, end, dst, src);
		}
	}
}

/* Planes [y, y + BAND) x [x, x + BAND). */
static void band(const struct tiles *tiles, int64_t y, int64_t x, unsigned char *dst, const unsigned char *src)
{
	const struct around *outer = &tiles->near_dst, *inner = &tiles->near_src;
	const int64_t y_end = least(y + BAND, outer->extent), x_end = least(x + BAND, inner->extent);

	for (int64_t i = y; i < y_end; i++)
		for (int64_t j = x; j < x_end; j++)
			plane(tiles, dst + i * outer->dst + j * inner->dst, src + i * outer->src + j * inner->src);
}

/*
 * Planes that are neighbours in the source lie far apart in the destination, and the other way round: a page is left
 * long before all of it was used, whichever of the two is followed. In small squares both sides keep their pages.
 */
static void planes(void *inner, unsigned char *dst, const unsigned char *src)
{
	const struct tiles *tiles = inner;

	for (int64_t y = 0; y < tiles->near_dst.extent; y += BAND)
		for (int64_t x = 0; x < tiles->near_src.extent; x += BAND)
			band(tiles, y, x, dst, src);
}

/* The source runs forward along y: if it does not, both sides are turned round. */
static void turn_round(struct tiles *tiles, unsigned char **dst, const unsigned char **src)
{
	if (tiles->src_y > 0)
		return;
	*dst += (tiles->height - 1) * tiles->dst_y;
	*src += (tiles->height - 1) * tiles->src_y;
	tiles->dst_y = -tiles->dst_y;
	tiles->src_y = -tiles->src_y;
}

static int has_strips(const struct tiles *tiles, const unsigned char *dst)
{
	return tiles->streams && tiles->width > WIDTH && tiles->dst_y % BI__LINE == 0 &&
	       bi__units_to_line((uintptr_t)dst % BI__LINE, (size_t)tiles->unit) != INT64_MAX;
}

/* From one tile to the next but one along a line of the source, or to the next tile of a panel. */
static int64_t how_far_ahead(const struct tiles *tiles)
{
	if (tiles->src_y != tiles->unit)
		return 0;
	return tiles->strips || tiles->width <= WIDTH ? AHEAD : WIDTH * tiles->src_x;
}

static int level_of(size_t unit)
{
	int level = 0;

	while ((size_t)1 << level < unit)
		level++;
	return level;
}

/* The axis around the planes with the shortest steps of the source; -1: there is none. */
static int nearest_in_source(const struct bi__plan *plan)
{
	int64_t best = INT64_MAX;
	int nearest = -1;

	for (int i = 0; i < plan->ndim - 1; i++) {
		int64_t step = plan->src_strides[i] < 0 ? -plan->src_strides[i] : plan->src_strides[i];

		if (i != plan->cross && step <= best) {
			nearest = i;
			best = step;
		}
	}
	return nearest;
}

/* The same of the destination, whose axes are sorted; -1 also if that is the nearest in the source. */
static int nearest_in_destination(const struct bi__plan *plan, int nearest_in_source)
{
	int nearest = plan->ndim - 2;

	if (nearest == plan->cross)
		nearest--;
	return nearest == nearest_in_source ? -1 : nearest;
}

static struct around around(const struct bi__plan *plan, int axis)
{
	if (axis < 0)
		return (struct around){ 1, 0, 0 };
	return (struct around){ plan->shape[axis], plan->dst_strides[axis], plan->src_strides[axis] };
}

void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;
	const int x = plan->ndim - 1, y = plan->cross;
	const int near_src = nearest_in_source(plan), near_dst = nearest_in_destination(plan, near_src);
	struct bi__walk walk;
	struct tiles tiles;
	int element;

	walk.ndim = 0;
	tiles.simd = part->simd;
	tiles.unit = (int64_t)plan->unit;
	tiles.level = level_of(plan->unit);
	element = 1 << tiles.level;
	tiles.height = plan->shape[y];
	tiles.width = plan->shape[x];
	tiles.dst_x = plan->dst_strides[x];
	tiles.dst_y = plan->dst_strides[y];
	tiles.src_x = plan->src_strides[x];
	tiles.src_y = plan->src_strides[y];
	tiles.near_src = around(plan, near_src);
	tiles.near_dst = around(plan, near_dst);
	turn_round(&tiles, &dst, &src);
	tiles.dense_source = tiles.src_y == element && tiles.unit == element;
	tiles.streams = part->streams && tiles.dst_x == tiles.unit;
	tiles.strips = has_strips(&tiles, dst);
	tiles.ahead = how_far_ahead(&tiles);
	bi__run_init(&tiles.gather, part->simd, plan->unit, element, tiles.src_y, 1, PANEL >> tiles.level, plan->bytes);
	bi__run_init(&tiles.scatter, part->simd, plan->unit, tiles.dst_x, element, 0, WIDTH, plan->bytes);
	for (int i = 0; i < x; i++)
		if (i != y && i != near_src && i != near_dst)
			bi__walk_add(&walk, plan, i);
	bi__walk_run(&walk, planes, &tiles, dst, src);
	if (tiles.streams)
		part->simd->fence();
}
