/* Declarations that the files of tiles share (tile_shape.c, tile_tables.c, tiles.c). tiles.c explains the terms. */
#ifndef BI_COMMON_ENGINE_TILES_H
#define BI_COMMON_ENGINE_TILES_H

#include "common/base/checked.h"
#include "common/engine/parts.h"
#include "common/engine/run.h"

struct bi__tile_axis {
	int64_t extent, block; /* elements of the plan; elements of one tile */
	int64_t dst, src; /* strides in bytes */
	int in_row; /* 1: it is an axis of D */
	int in_run; /* 1: it is an axis of S */
	int64_t place; /* bytes from one element to the next in a row of `a`; LARGE: in the source */
};

/* Offsets: one for each combination of positions along some axes. The axis that was added first is fastest. */
struct bi__tile_offsets {
	int64_t count;
	int64_t *list;
};

struct bi__tiles {
	const struct bi__simd *simd;
	enum { BI__TILES_ONCE, BI__TILES_TWICE, BI__TILES_LARGE } way;
	int64_t element; /* bytes */
	int64_t slots; /* elements in a lane of a vector; LARGE does not use it */
	int64_t together; /* tiles that are transposed together: TWICE: as many as a lane has elements; else 1 */
	int streams;
	int n, columns;
	struct bi__tile_axis axes[BI_MAX_NDIM]; /* the largest step of the destination first */
	struct bi__tile_axis *column[BI_MAX_NDIM]; /* the axes of a row of `a`, the shortest step of the source first */
	int along; /* the axis along which the next tile continues the rows, or -1 */
	int64_t outer; /* number of tiles; those that continue each other along `along` count as one */
	int64_t width; /* elements of a row of `a` */
	int64_t row; /* elements of a row of the destination */
	int64_t backwards; /* bytes (<= 0) from the first element of a tile back to the start of its columns */
	int spanned; /* number of columns in a piece of a row of `a` */
	int64_t span; /* bytes of a piece */
	struct bi__run gather, scatter; /* reads a source with gaps; writes a row */
	int64_t gathered, scattered; /* units that `gather`, `scatter` move in one call */
	struct bi__tile_offsets pieces; /* source: the pieces of a row of `a` */
	/*
	 * Offsets in the source. ONCE: the offset of each row of `a`, then BI__LINE copies of the first one. LARGE: the
	 * offset of each unit of a row.
	 */
	struct bi__tile_offsets reads;
	struct bi__tile_offsets blocks; /* in `a`: the rows that are transposed together */
	struct bi__tile_offsets lines; /* the rows of a tile, in `c`; TWICE: their elements; LARGE: in the source */
	struct bi__tile_offsets rows; /* destination: the rows of a tile */
	size_t a_pitch, c_pitch, tile_pitch; /* bytes from a row of `a`, a row of D, all rows of a tile, to the next */
	unsigned char *a, *c, *rest; /* `a` is NULL if ONCE transposes runs from the source directly */
};

/* The source of streamed tiles of the way ONCE is prefetched so many runs ahead. */
#define BI__RUNS_AHEAD 16

/* The lanes of a cache line. So many lanes are transposed together. */
#define BI__LANES 4

/* The most elements that a lane has. */
#define BI__SLOTS 16

/* Chooses the axes, blocks and rows of the tiles of a part. */
void bi__tiles_choose(struct bi__tiles *tiles, const struct bi__engine_part *part);

/*
 * Fills the tables of offsets. While they have no memory, only their lengths are computed. With memory, sets `a` to
 * NULL if runs are transposed from the source directly.
 */
void bi__tiles_list(struct bi__tiles *tiles);

/* Places tables and buffers in the memory at `base`. Returns their bytes. If `base` is NULL, they are only counted. */
int64_t bi__tiles_place(struct bi__tiles *tiles, unsigned char *base);

static inline int64_t bi__tiles_divide_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static inline int64_t bi__tiles_round_up(int64_t n, int64_t to)
{
	return bi__tiles_divide_up(n, to) * to;
}

static inline int64_t bi__tiles_blocks_of(const struct bi__tile_axis *axis)
{
	return bi__tiles_divide_up(axis->extent, axis->block);
}

#endif
