/* The parts of the copy engine. bi__engine_copy chooses the tuning; everything below obeys it. */
#ifndef BI_COMMON_ENGINE_PARTS_H
#define BI_COMMON_ENGINE_PARTS_H

#include "common/engine/simd.h"
#include "common/plan/plan.h"

/* The machine-dependent choices of the engine. None of them changes the result. */
struct bi__engine_tuning {
	const struct bi__simd *simd;
	/* Bytes of a plan, by kind, from which on non-temporal stores are used if the processor has them. */
	uint64_t stream_tiles_from, stream_lines_from, stream_fills_from;
	uint64_t chunk_from; /* bytes of a plan from which on it is cut into chunks */
	uint64_t chunk; /* approximate bytes of a chunk */
};

/* The tuning that bi__engine_copy uses. */
void bi__engine_default_tuning(struct bi__engine_tuning *tuning);

/* bi__engine_copy with a given tuning. */
void bi__engine_copy_tuned(const struct bi__engine_tuning *tuning, const struct bi__plan *plan, void *dst,
			   const void *src);

/* Bytes of a tile along the source: two cache lines, because processors fetch pairs of them. */
#define BI__PANEL 128

/* A plan without an axis is cut at multiples of this many bytes. */
#define BI__PAGE 4096

/* Where a plan is cut: chunk i begins at i * step along the axis, or at byte i * step if the axis is -1. */
struct bi__engine_split {
	int axis, chunks;
	int64_t step;
};

/* Cuts a plan into about `chunks` (> 0) chunks, or fewer if the plan is too small. Returns their number. */
int bi__engine_split(struct bi__engine_split *split, const struct bi__plan *plan, int64_t chunks);

/* Makes the plan of chunk i. All chunks together move what the plan moves, each byte once. */
void bi__engine_chunk(struct bi__plan *chunk, const struct bi__engine_split *split, const struct bi__plan *plan, int i);

/*
 * A plan for one thread. `dst` and `src` below are the addresses of the first unit. The plan has an axis. With
 * `streams`, non-temporal stores are used, and fenced at the end.
 */
struct bi__engine_part {
	const struct bi__plan *plan;
	const struct bi__simd *simd;
	int streams;
};

/* Copies along the last axis, run after run. */
void bi__engine_lines(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/* Copies in tiles over the axes `cross` and last. */
void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/*
 * Returns the number of adjacent units, the first of them `phase` bytes after the start of a cache line, until the next
 * one begins with a line. INT64_MAX: none does.
 */
static inline int64_t bi__units_to_line(size_t phase, size_t unit)
{
	for (int64_t units = 0; units < BI__LINE; units++)
		if ((phase + (size_t)units * unit) % BI__LINE == 0)
			return units;
	return INT64_MAX;
}

/* A loop nest around a function. The loops are added outermost first. */
struct bi__walk {
	int ndim;
	int64_t shape[BI_MAX_NDIM], dst_strides[BI_MAX_NDIM], src_strides[BI_MAX_NDIM];
};

typedef void (*bi__walk_fn)(void *inner, unsigned char *dst, const unsigned char *src);

void bi__walk_add(struct bi__walk *walk, const struct bi__plan *plan, int axis);
void bi__walk_run(const struct bi__walk *walk, bi__walk_fn fn, void *inner, unsigned char *dst,
		  const unsigned char *src);

#endif
