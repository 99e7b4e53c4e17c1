/* The parts of the copy engine. bi__engine_copy chooses a tuning, which all other parts use. */
#ifndef BI_COMMON_ENGINE_PARTS_H
#define BI_COMMON_ENGINE_PARTS_H

#include "common/engine/simd.h"
#include "common/plan/plan.h"

/* The machine-dependent choices of the engine. None of them changes the result. */
struct bi__engine_tuning {
	const struct bi__simd *simd;
	/* Plans of at least this many bytes may use non-temporal stores, if the processor has them. */
	uint64_t stream_from, stream_fills_from;
	uint64_t chunk_from; /* plans of at least this many bytes are cut into chunks */
	uint64_t chunk; /* approximate bytes of a chunk */
	uint64_t tiles_from; /* plans of at least this many bytes are copied in tiles, which take time to prepare */
};

/* Does what bi__engine_copy does, with a given tuning. */
void bi__engine_copy_tuned(const struct bi__engine_tuning *tuning, const struct bi__plan *plan, void *dst,
			   const void *src);

/* Along the source, a plan is cut at multiples of this many bytes: processors fetch cache lines in pairs. */
#define BI__PANEL 128

/*
 * On x86-64, lines whose addresses differ by BI__SETS lines are in the same set of the first-level cache. A set holds at
 * least BI__LINES_IN_SET lines. Other processors were not measured.
 */
#define BI__SETS 64
#define BI__LINES_IN_SET 8

/* A plan without an axis is cut at multiples of this many bytes. */
#define BI__PAGE 4096

/* The division of a plan: chunk i begins at i * step along the axis, or at byte i * step if the axis is -1. */
struct bi__engine_split {
	int axis, chunks;
	int64_t step;
};

/* Cuts a plan into about `chunks` (> 0) chunks, or fewer if the plan is too small. Returns the number of chunks. */
int bi__engine_split(struct bi__engine_split *split, const struct bi__plan *plan, int64_t chunks);

/* Makes the plan of chunk i. All chunks together move the bytes of the plan, each byte once. */
void bi__engine_chunk(struct bi__plan *chunk, const struct bi__engine_split *split, const struct bi__plan *plan, int i);

/*
 * A plan for one thread. Only a linear plan has no axis. `streams` is 1 if the result is large and the processor has
 * non-temporal stores. A function that uses them ends with a fence. `dst` and `src` of the functions below are the
 * addresses of the first unit.
 */
struct bi__engine_part {
	const struct bi__plan *plan;
	const struct bi__simd *simd;
	int streams;
	uint64_t tiles_from;
};

/* Copies along the last axis, run after run. */
void bi__engine_lines(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/* Copies a plan of the kind TILES in tiles, or in lines if there is not enough memory for the tiles. */
void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/*
 * Transposes planes of small units from the source to the destination. In a large result, rows of a few units that
 * follow each other are streamed. Returns 1, or 0 after it has copied nothing: the plan has no such planes, or tiles
 * are faster.
 */
int bi__engine_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/*
 * For adjacent units of which the first begins `phase` bytes after the start of a cache line: returns the number of
 * units before the first unit that begins with a cache line, or INT64_MAX if there is no such unit.
 */
static inline int64_t bi__units_to_line(size_t phase, size_t unit)
{
	for (int64_t units = 0; units < BI__LINE; units++)
		if ((phase + (size_t)units * unit) % BI__LINE == 0)
			return units;
	return INT64_MAX;
}

typedef void (*bi__walk_fn)(void *inner, unsigned char *dst, const unsigned char *src);

/* Calls fn(inner, ...) for each position along the axes of the plan but x and y (-1: none), the last axis fastest. */
void bi__walk(const struct bi__plan *plan, int x, int y, bi__walk_fn fn, void *inner, unsigned char *dst,
	      const unsigned char *src);

#endif
