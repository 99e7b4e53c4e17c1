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

#include "common/engine/parts.h"
#include "common/engine/run.h"

#define PANEL BI__PANEL
#define WIDTH 64

/* Rows of the source that are worked on panel by panel, so that their pages stay known to the processor. */
#define BLOCK 1024

/* Bytes of a source that is followed along its lines, from what is gathered to what is told to be needed soon. */
#define AHEAD 256

/* Strips beside each other, and planes of which one continues the source of the other, that make a square. */
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
	int64_t plane, next_plane; /* each time after so many x the source goes on so many bytes further */
	int dense_source; /* its lines are elements as they are turned */
	int strips; /* 1: those of a plane are as wide as a tile, and begin with lines; 0: as wide as a block */
	struct bi__run gather, scatter;
	struct around near_src; /* along which a plane's neighbour is nearest in the source */
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

/* Goes from one x of the source to the next. It may run on behind the last one, and is a number for that. */
struct cursor {
	uintptr_t at;
	int64_t left; /* x until the next plane */
};

static struct cursor cursor_at(const struct tiles *tiles, const unsigned char *src, int64_t x)
{
	const int64_t plane = x / tiles->plane, left = tiles->plane - x % tiles->plane;
	const uintptr_t steps = (uintptr_t)x * (uintptr_t)tiles->src_x;

	return (struct cursor){ (uintptr_t)src + steps + (uintptr_t)plane * (uintptr_t)tiles->next_plane, left };
}

static inline void advance(struct cursor *cursor, const struct tiles *tiles)
{
	cursor->at += (uintptr_t)tiles->src_x;
	if (--cursor->left)
		return;
	cursor->at += (uintptr_t)tiles->next_plane;
	cursor->left = tiles->plane;
}

/* What will be gathered a little later: further on in the same lines, or in those of the next tile. */
static struct cursor cursor_ahead(const struct tiles *tiles, const unsigned char *src, int64_t x)
{
	struct cursor cursor;

	if (!tiles->strips && tiles->width > WIDTH)
		return cursor_at(tiles, src, x + WIDTH);
	cursor = cursor_at(tiles, src, x);
	cursor.at += AHEAD;
	return cursor;
}

/* A panel of a line of the source, wherever that is. Processors fetch ahead in long runs, but these are short. */
static inline void fetch(uintptr_t from)
{
	for (size_t at = 0; at < PANEL; at += BI__LINE)
		__builtin_prefetch((const void *)(from + at), 0, 2);
}

static void gather(const struct tiles *tiles, const struct tile *tile, unsigned char *to, const unsigned char *src)
{
	const size_t bytes = (size_t)(tile->height * tiles->unit);
	struct cursor here = cursor_at(tiles, src + tile->y * tiles->src_y, tile->x);
	struct cursor soon = cursor_ahead(tiles, src + tile->y * tiles->src_y, tile->x);

	for (int64_t x = 0; x < tile->width; x++, to += PANEL) {
		const unsigned char *from = (const unsigned char *)here.at;

		if (tiles->src_y == tiles->unit)
			fetch(soon.at);
		if (!tiles->dense_source)
			bi__run(&tiles->gather, to, from, tile->height);
		else if (bytes == PANEL)
			memcpy(to, from, PANEL);
		else
			memcpy(to, from, bytes);
		advance(&here, tiles);
		advance(&soon, tiles);
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
 * Strips as wide as a tile follow the lines of the source, which is read fastest so, but leave parts of lines at both
 * sides of each; only where the lines of all rows of the destination begin together can they begin there, too, and the
 * first is narrower. Returns where strip k begins; beyond the last one that is the width.
 */
static int64_t strip_begin(const struct tiles *tiles, const unsigned char *dst, int64_t k)
{
	int64_t lead;

	if (!tiles->strips || k == 0)
		return least(k * BLOCK, tiles->width);
	lead = bi__units_to_line((uintptr_t)dst % BI__LINE, (size_t)tiles->unit);
	if (lead == INT64_MAX)
		lead = 0;
	return least(lead + (k - (lead > 0)) * WIDTH, tiles->width);
}

/* All panels of a strip. */
static void strip(const struct tiles *tiles, int64_t k, unsigned char *dst, const unsigned char *src)
{
	const int64_t height = PANEL >> tiles->level;
	const int64_t from = strip_begin(tiles, dst, k), end = strip_begin(tiles, dst, k + 1);
	struct buffers buffers;
	struct tile tile;

	for (tile.y = 0; tile.y < tiles->height; tile.y += height) {
		tile.height = least(tiles->height - tile.y, height);
		panel(tiles, &buffers, &tile, from, end, dst, src);
	}
}

/*
 * Planes that are neighbours in the source lie far apart in the destination, and strips that are neighbours there far
 * apart in the source: a page is left long before all of it was used, whichever of the two is followed. In small
 * squares both sides keep their pages.
 */
static void square(const struct tiles *tiles, int64_t k, int64_t i, unsigned char *dst, const unsigned char *src)
{
	const struct around *planes = &tiles->near_src;
	const int64_t k_end = k + (tiles->strips ? BAND : 1), i_end = least(i + BAND, planes->extent);

	for (; k < k_end; k++)
		for (int64_t plane = i; plane < i_end; plane++)
			strip(tiles, k, dst + plane * planes->dst, src + plane * planes->src);
}

static void planes(void *inner, unsigned char *dst, const unsigned char *src)
{
	const struct tiles *tiles = inner;
	/* One more for the first, which may be narrower. */
	const int64_t strips = tiles->strips ? tiles->width / WIDTH + 2 : (tiles->width + BLOCK - 1) / BLOCK;

	for (int64_t k = 0; k < strips; k += tiles->strips ? BAND : 1)
		for (int64_t i = 0; i < tiles->near_src.extent; i += BAND)
			square(tiles, k, i, dst, src);
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

/*
 * The axis along which one plane continues the rows of the other, so that they need not end in parts of lines; -1:
 * there is none. Axes are sorted by the destination.
 */
static int find_continuation(const struct bi__plan *plan, int nearest_in_source)
{
	const int x = plan->ndim - 1, axis = x - 1;

	if (axis < 0 || axis == plan->cross || axis == nearest_in_source ||
	    plan->dst_strides[axis] != plan->shape[x] * plan->dst_strides[x])
		return -1;
	return axis;
}

/* What is streamed is gathered, from wherever it is. */
static void continue_rows(struct tiles *tiles, const struct bi__plan *plan, int axis)
{
	tiles->plane = tiles->width;
	tiles->next_plane = 0;
	if (axis < 0)
		return;
	tiles->width *= plan->shape[axis];
	tiles->next_plane = plan->src_strides[axis] - tiles->plane * tiles->src_x;
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
	const int near_src = nearest_in_source(plan);
	int continuation = -1;
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
	turn_round(&tiles, &dst, &src);
	tiles.dense_source = tiles.src_y == element && tiles.unit == element;
	tiles.streams = part->streams && tiles.dst_x == tiles.unit;
	if (tiles.streams)
		continuation = find_continuation(plan, near_src);
	continue_rows(&tiles, plan, continuation);
	tiles.strips = has_strips(&tiles, dst);
	bi__run_init(&tiles.gather, part->simd, plan->unit, element, tiles.src_y, 1, PANEL >> tiles.level, plan->bytes);
	bi__run_init(&tiles.scatter, part->simd, plan->unit, tiles.dst_x, element, 0, WIDTH, plan->bytes);
	for (int i = 0; i < x; i++)
		if (i != y && i != near_src && i != continuation)
			bi__walk_add(&walk, plan, i);
	bi__walk_run(&walk, planes, &tiles, dst, src);
	if (tiles.streams)
		part->simd->fence();
}
