/*
 * Transposes: source and destination are sequential along different axes.
 *
 * x is the plan's last axis, along which the destination is sequential; y is the axis `cross`, along which the source
 * is. All other axes step from one plane (y, x) to the next. A plane of the destination looks like this:
 *
 *              strip 0               strip 1
 *          x -->
 *        +------+------+------+    +------+------+--
 *      y | tile | tile | tile |    | tile | tile |      one row of tiles of a strip is a panel:
 *      | |      |      |      |    |      |      |      PANEL bytes of the source high
 *      v +------+------+------+    +------+------+--
 *        | tile | tile | tile |    | tile | tile |
 *        |      |      |      |    |      |      |      a tile is WIDTH units wide
 *        +------+------+------+    +------+------+--
 *
 * A strip is BLOCK units wide, or as wide as a tile (see `narrow`). The strips are copied one after the other, the
 * panels of a strip from above, the tiles of a panel from the left.
 *
 * The source of a tile is gathered into a dense block, transposed in registers into rows that have the phase of the
 * destination's cache lines, and written from there. So each line of the source is read once and whole, and each line
 * of the destination is written once and whole, whatever their addresses are. Without the block, extents that are
 * powers of two would make the lines of a tile evict each other from the caches.
 *
 * Elements of the next power of two are transposed: gathering pads the units to elements, writing packs them again.
 */
#include <string.h>

#include "common/engine/parts.h"
#include "common/engine/run.h"

#define PANEL BI__PANEL
#define WIDTH 64

/* Units of a wide strip: as many rows of the source as the processor keeps address translations for. */
#define BLOCK 1024

/* Bytes that the prefetch is ahead of the gathering along the lines of the source. */
#define AHEAD 256

/* Narrow strips side by side, and planes adjacent in the source, that make a square. */
#define BAND 8

/* The two axes of a plane: extents in units, steps in bytes. src_y > 0. */
struct plane {
	int64_t height, width;
	int64_t dst_x, dst_y, src_x, src_y;
};

/*
 * Rows of the destination may continue through several planes. After every `width` units along x, the source address
 * then moves by `gap` more bytes. If rows end with their plane, `width` is the width of the plane and `gap` is 0.
 */
struct joint {
	int64_t width, gap;
};

/* An axis that is not an axis of the plane: extent, and strides on both sides. */
struct outer {
	int64_t extent, dst, src;
};

/* Filled in the order of the members by bi__engine_tiles. */
struct tiles {
	const struct bi__simd *simd;
	int64_t unit; /* bytes */
	int level; /* elements of 1 << level bytes are transposed */
	struct plane plane;
	int dense_source; /* along y the units of the source are adjacent elements */
	int streams; /* non-temporal stores are used */
	struct outer near_src; /* the outer axis with the shortest steps of the source */
	struct joint joint;
	int narrow; /* strips are as wide as a tile and begin with cache lines of the destination */
	struct bi__run gather, pack;
};

struct buffers {
	_Alignas(BI__LINE) unsigned char source[WIDTH * PANEL];
	_Alignas(BI__LINE) unsigned char transposed[WIDTH * PANEL];
	_Alignas(BI__LINE) unsigned char rows[WIDTH * PANEL + (PANEL + 1) * 2 * BI__LINE];
};

/* The tile that is copied, in units, and its strip [begin, end). */
struct tile {
	int64_t x, y, height, width;
	int64_t begin, end;
	int first, last; /* 1: the first or the last tile of its panel */
};

static int64_t round_up(int64_t n, int64_t to)
{
	return (n + to - 1) / to * to;
}

static int64_t minimum(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Steps along x through the source. */
struct cursor {
	uintptr_t at; /* address; an integer, because it may lie outside of the source after the last row */
	int64_t left; /* units before the next gap */
};

static struct cursor cursor_at(const struct tiles *tiles, const unsigned char *src, int64_t x)
{
	const int64_t plane = x / tiles->joint.width, left = tiles->joint.width - x % tiles->joint.width;
	const uintptr_t steps = (uintptr_t)x * (uintptr_t)tiles->plane.src_x;

	return (struct cursor){ (uintptr_t)src + steps + (uintptr_t)plane * (uintptr_t)tiles->joint.gap, left };
}

static inline void step_cursor(struct cursor *cursor, const struct tiles *tiles)
{
	cursor->at += (uintptr_t)tiles->plane.src_x;
	if (--cursor->left)
		return;
	cursor->at += (uintptr_t)tiles->joint.gap;
	cursor->left = tiles->joint.width;
}

/* Returns the place to prefetch: in the next tile of the panel, or further on in the same lines if there is none. */
static struct cursor cursor_ahead(const struct tiles *tiles, const unsigned char *src, int64_t x)
{
	struct cursor cursor;

	if (!tiles->narrow && tiles->plane.width > WIDTH)
		return cursor_at(tiles, src, x + WIDTH);
	cursor = cursor_at(tiles, src, x);
	cursor.at += AHEAD;
	return cursor;
}

/* Prefetches the bytes of a panel. Hardware prefetching does not help, because the runs are short. */
static inline void prefetch_panel(uintptr_t from)
{
	for (size_t at = 0; at < PANEL; at += BI__LINE)
		__builtin_prefetch((const void *)(from + at), 0, 2);
}

static void gather_tile(const struct tiles *tiles, const struct tile *tile, unsigned char *to, const unsigned char *src)
{
	const size_t bytes = (size_t)(tile->height * tiles->unit);
	struct cursor here = cursor_at(tiles, src + tile->y * tiles->plane.src_y, tile->x);
	struct cursor soon = cursor_ahead(tiles, src + tile->y * tiles->plane.src_y, tile->x);

	for (int64_t x = 0; x < tile->width; x++, to += PANEL) {
		const unsigned char *from = (const unsigned char *)here.at;

		if (tiles->plane.src_y == tiles->unit)
			prefetch_panel(soon.at);
		if (!tiles->dense_source)
			bi__run(&tiles->gather, to, from, tile->height);
		else if (bytes == PANEL)
			memcpy(to, from, PANEL);
		else
			memcpy(to, from, bytes);
		step_cursor(&here, tiles);
		step_cursor(&soon, tiles);
	}
}

static void transpose_tile(const struct tiles *tiles, const struct tile *tile, unsigned char *to, int64_t pitch,
			   const unsigned char *from)
{
	tiles->simd->transpose[tiles->level](to, pitch, from, PANEL, round_up(tile->height, 16 >> tiles->level),
					     round_up(tile->width, BI__LINE >> tiles->level));
}

/* Copies transposed elements to rows of units, if these differ in size or have gaps. */
static void pack_rows(const struct tiles *tiles, const struct tile *tile, unsigned char *to, int64_t pitch,
		      const unsigned char *from)
{
	for (int64_t y = 0; y < tile->height; y++)
		bi__run(&tiles->pack, to + y * pitch, from + y * (WIDTH << tiles->level), tile->width);
}

static int is_packed(const struct tiles *tiles)
{
	return tiles->unit == 1 << tiles->level && tiles->plane.dst_x == tiles->unit;
}

/* Returns the function that transposes the tile from source to destination directly, or NULL if edges or gaps forbid
 * it.
 */
static bi__transpose_fn choose_direct(const struct tiles *tiles, const struct tile *tile)
{
	const struct bi__simd *simd = tiles->simd;

	if (tiles->streams || !tiles->dense_source || !is_packed(tiles) || tile->height * tiles->unit % 16)
		return NULL;
	if (tile->width * tiles->unit % BI__LINE == 0)
		return simd->transpose[tiles->level];
	if (tile->width * tiles->unit % 16)
		return NULL;
	return simd->transpose_narrow ? simd->transpose_narrow[tiles->level] : simd->transpose[tiles->level];
}

/* Writes a gathered tile with ordinary stores. */
static void write_tile(const struct tiles *tiles, const struct tile *tile, struct buffers *buffers, unsigned char *dst)
{
	unsigned char *to = dst + tile->x * tiles->plane.dst_x + tile->y * tiles->plane.dst_y;
	const int64_t pitch = WIDTH << tiles->level;

	transpose_tile(tiles, tile, buffers->transposed, pitch, buffers->source);
	if (!is_packed(tiles)) {
		pack_rows(tiles, tile, to, tiles->plane.dst_y, buffers->transposed);
		return;
	}
	for (int64_t y = 0; y < tile->height; y++, to += tiles->plane.dst_y)
		memcpy(to, buffers->transposed + y * pitch, (size_t)(tile->width * tiles->unit));
}

/* Returns a pitch for rows that begin at the same position in a cache line as the rows of the destination. */
static int64_t phased_pitch(const struct tiles *tiles)
{
	return WIDTH * tiles->unit + BI__LINE + (int64_t)((uint64_t)tiles->plane.dst_y % BI__LINE);
}

/*
 * Writes one row, bytes [row, row + bytes), to dst. The bytes before it, back to the start of the cache line, are the
 * rest that the previous tile left; the rest of this row's last line is moved there for the next tile.
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

/* Writes a gathered tile with non-temporal stores. */
static void stream_tile(const struct tiles *tiles, const struct tile *tile, struct buffers *buffers, unsigned char *dst)
{
	unsigned char *to = dst + tile->x * tiles->unit + tile->y * tiles->plane.dst_y;
	const int64_t pitch = phased_pitch(tiles);
	unsigned char *row = buffers->rows + BI__LINE + (uintptr_t)to % BI__LINE;

	if (is_packed(tiles)) {
		transpose_tile(tiles, tile, row, pitch, buffers->source);
	} else {
		transpose_tile(tiles, tile, buffers->transposed, WIDTH << tiles->level, buffers->source);
		pack_rows(tiles, tile, row, pitch, buffers->transposed);
	}
	for (int64_t y = 0; y < tile->height; y++, to += tiles->plane.dst_y, row += pitch)
		stream_row(tiles, tile, to, row);
}

static void copy_panel(const struct tiles *tiles, struct buffers *buffers, struct tile *tile, unsigned char *dst,
		       const unsigned char *src)
{
	const struct plane *plane = &tiles->plane;

	for (tile->x = tile->begin; tile->x < tile->end; tile->x += WIDTH) {
		bi__transpose_fn direct;

		tile->width = minimum(tile->end - tile->x, WIDTH);
		tile->first = tile->x == tile->begin;
		tile->last = tile->x + tile->width == tile->end;
		direct = choose_direct(tiles, tile);
		if (direct) {
			direct(dst + tile->x * plane->dst_x + tile->y * plane->dst_y, plane->dst_y,
			       src + tile->x * plane->src_x + tile->y * plane->src_y, plane->src_x, tile->height,
			       tile->width);
			continue;
		}
		gather_tile(tiles, tile, buffers->source, src);
		if (tiles->streams)
			stream_tile(tiles, tile, buffers, dst);
		else
			write_tile(tiles, tile, buffers, dst);
	}
}

/*
 * Returns the x at which strip k begins, or the width of the plane if there are fewer strips. With narrow strips, the
 * first strip may be narrower than a tile, so that all later strips begin with cache lines of the destination.
 */
static int64_t strip_begin(const struct tiles *tiles, const unsigned char *dst, int64_t k)
{
	int64_t lead;

	if (!tiles->narrow || k == 0)
		return minimum(k * BLOCK, tiles->plane.width);
	lead = bi__units_to_line((uintptr_t)dst % BI__LINE, (size_t)tiles->unit);
	if (lead == INT64_MAX)
		lead = 0;
	return minimum(lead + (k - (lead > 0)) * WIDTH, tiles->plane.width);
}

static void copy_strip(const struct tiles *tiles, int64_t k, unsigned char *dst, const unsigned char *src)
{
	const int64_t height = PANEL >> tiles->level;
	struct buffers buffers;
	struct tile tile;

	tile.begin = strip_begin(tiles, dst, k);
	tile.end = strip_begin(tiles, dst, k + 1);
	for (tile.y = 0; tile.y < tiles->plane.height; tile.y += height) {
		tile.height = minimum(tiles->plane.height - tile.y, height);
		copy_panel(tiles, &buffers, &tile, dst, src);
	}
}

/*
 * Copies up to BAND strips of up to BAND planes. Planes adjacent in the source are far apart in the destination, and
 * adjacent strips are far apart in the source: following either of them alone leaves each page of the other side long
 * before all of it was used. In small squares both sides keep their pages.
 */
static void copy_square(const struct tiles *tiles, int64_t k, int64_t i, unsigned char *dst, const unsigned char *src)
{
	const struct outer *planes = &tiles->near_src;
	const int64_t k_end = k + (tiles->narrow ? BAND : 1), i_end = minimum(i + BAND, planes->extent);

	for (; k < k_end; k++)
		for (int64_t plane = i; plane < i_end; plane++)
			copy_strip(tiles, k, dst + plane * planes->dst, src + plane * planes->src);
}

static void copy_planes(void *inner, unsigned char *dst, const unsigned char *src)
{
	const struct tiles *tiles = inner;
	const int64_t width = tiles->plane.width;
	/* There may be two more strips than whole tiles: a narrower first strip and a last part. */
	const int64_t strips = tiles->narrow ? width / WIDTH + 2 : (width + BLOCK - 1) / BLOCK;

	for (int64_t k = 0; k < strips; k += tiles->narrow ? BAND : 1)
		for (int64_t i = 0; i < tiles->near_src.extent; i += BAND)
			copy_square(tiles, k, i, dst, src);
}

static int level_of(size_t unit)
{
	int level = 0;

	while ((size_t)1 << level < unit)
		level++;
	return level;
}

/* Fills the plane. If the source runs backwards along y, both sides are reversed. */
static void set_plane(struct plane *plane, const struct bi__plan *plan, unsigned char **dst, const unsigned char **src)
{
	const int x = plan->ndim - 1, y = plan->cross;

	plane->height = plan->shape[y];
	plane->width = plan->shape[x];
	plane->dst_x = plan->dst_strides[x];
	plane->dst_y = plan->dst_strides[y];
	plane->src_x = plan->src_strides[x];
	plane->src_y = plan->src_strides[y];
	if (plane->src_y > 0)
		return;
	*dst += (plane->height - 1) * plane->dst_y;
	*src += (plane->height - 1) * plane->src_y;
	plane->dst_y = -plane->dst_y;
	plane->src_y = -plane->src_y;
}

/* Returns the outer axis with the shortest steps of the source, or -1 if there is no outer axis. */
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
 * Returns the outer axis along which each plane continues the rows of the plane before it in the destination, or -1 if
 * there is none. The axes are sorted by the destination's strides, so it can only be the axis before x.
 */
static int find_continuation(const struct bi__plan *plan, int nearest_in_source)
{
	const int x = plan->ndim - 1, axis = x - 1;

	if (axis < 0 || axis == plan->cross || axis == nearest_in_source ||
	    plan->dst_strides[axis] != plan->shape[x] * plan->dst_strides[x])
		return -1;
	return axis;
}

/* Joins the rows of the planes along `axis`, so that they do not end in parts of cache lines; -1: joins none. */
static void join_rows(struct tiles *tiles, const struct bi__plan *plan, int axis)
{
	tiles->joint = (struct joint){ tiles->plane.width, 0 };
	if (axis < 0)
		return;
	tiles->joint.gap = plan->src_strides[axis] - tiles->plane.width * tiles->plane.src_x;
	tiles->plane.width *= plan->shape[axis];
}

static struct outer outer_axis(const struct bi__plan *plan, int axis)
{
	if (axis < 0)
		return (struct outer){ 1, 0, 0 };
	return (struct outer){ plan->shape[axis], plan->dst_strides[axis], plan->src_strides[axis] };
}

/*
 * Narrow strips follow the cache lines of the source, which reads fastest. But each leaves partial lines of the
 * destination at both its sides, unless the lines of all rows begin at the same x and strips can begin there.
 */
static int has_narrow_strips(const struct tiles *tiles, const unsigned char *dst)
{
	return tiles->streams && tiles->plane.width > WIDTH && tiles->plane.dst_y % BI__LINE == 0 &&
	       bi__units_to_line((uintptr_t)dst % BI__LINE, (size_t)tiles->unit) != INT64_MAX;
}

/* Prepares the padding of units to elements, and the packing of elements to units. */
static void set_runs(struct tiles *tiles, uint64_t bytes)
{
	const int element = 1 << tiles->level;
	const size_t unit = (size_t)tiles->unit;
	const struct bi__run_axis gather = { unit, element, tiles->plane.src_y, bytes, 1 };
	const struct bi__run_axis pack = { unit, tiles->plane.dst_x, element, bytes, 0 };

	bi__run_init(&tiles->gather, tiles->simd, &gather);
	bi__run_init(&tiles->pack, tiles->simd, &pack);
}

/*
 * The order of the steps matters. set_plane chooses the direction of the plane, which dense_source reads. `streams` is
 * set before find_continuation, which only streamed copies use. join_rows changes the width of the plane, which
 * has_narrow_strips reads.
 */
void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;
	const int near_src = nearest_in_source(plan);
	int continuation = -1;
	struct bi__walk walk;
	struct tiles tiles;

	tiles.simd = part->simd;
	tiles.unit = (int64_t)plan->unit;
	tiles.level = level_of(plan->unit);
	set_plane(&tiles.plane, plan, &dst, &src);
	tiles.dense_source = tiles.plane.src_y == tiles.unit && tiles.unit == 1 << tiles.level;
	tiles.streams = part->streams && tiles.plane.dst_x == tiles.unit;
	tiles.near_src = outer_axis(plan, near_src);
	if (tiles.streams)
		continuation = find_continuation(plan, near_src);
	join_rows(&tiles, plan, continuation);
	tiles.narrow = has_narrow_strips(&tiles, dst);
	set_runs(&tiles, plan->bytes);
	walk.ndim = 0;
	for (int i = 0; i < plan->ndim - 1; i++)
		if (i != plan->cross && i != near_src && i != continuation)
			bi__walk_add(&walk, plan, i);
	bi__walk_run(&walk, copy_planes, &tiles, dst, src);
	if (tiles.streams)
		part->simd->fence();
}
