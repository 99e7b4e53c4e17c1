/* Declarations that the files of the copy engine share. */
#ifndef BI_COMMON_ENGINE_PARTS_H
#define BI_COMMON_ENGINE_PARTS_H

#include "common/engine/simd.h"
#include "common/plan/plan.h"

/* The machine-dependent choices of the engine. None of them changes the result. */
struct bi__engine_tuning {
	const struct bi__simd *simd;
	/* Least bytes of a copy, and of a fill or a broadcast, that may use the non-temporal stores of `simd`. */
	uint64_t stream_from, stream_fills_from;
	uint64_t chunk_from; /* plans of at least this many bytes are cut into chunks if there are several threads */
	uint64_t chunk; /* chunks have at least about this many bytes */
	uint64_t tiles_from; /* smaller plans are not copied in tiles, which take time to prepare */
};

/* Does what bi__engine_copy does, with a given tuning. */
void bi__engine_copy_tuned(const struct bi__engine_tuning *tuning, const struct bi__plan *plan, void *dst,
			   const void *src);

/* Along the axis `cross`, chunks have multiples of about so many bytes: processors fetch cache lines in pairs. */
#define BI__PANEL 128

/*
 * On current x86-64 processors, lines whose addresses differ by a multiple of BI__SETS lines are in the same set of the
 * first-level cache. A set holds at least BI__LINES_IN_SET lines. Other processors were not measured.
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

/* Cuts a plan into at most `chunks` (> 0) chunks of about equal length. Returns the number of chunks. */
int bi__engine_split(struct bi__engine_split *split, const struct bi__plan *plan, int64_t chunks);

/* Makes the plan of chunk i. All chunks together move the bytes of the plan, each byte once. */
void bi__engine_chunk(struct bi__plan *chunk, const struct bi__engine_split *split, const struct bi__plan *plan, int i);

/*
 * A plan for one thread. Only a linear plan has no axis. `streams` is 1 if non-temporal stores may be used; a function
 * that uses them ends with a fence. `dst` and `src` of the three functions below are the addresses of the first unit.
 */
struct bi__engine_part {
	const struct bi__plan *plan;
	const struct bi__simd *simd;
	int streams;
	uint64_t tiles_from;
};

/* Copies any plan that has an axis, line by line (lines.c). */
void bi__engine_lines(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/* Copies a plan of the kind TILES in tiles. If these need too much memory, or there is none, copies it in lines. */
void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/*
 * Copies a plan of the kind TILES by transposing planes of small units, without tiles. Returns 1 on success. Returns 0,
 * and copies nothing, if the plan has no such planes or if another way is faster.
 */
int bi__engine_planes(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/*
 * Returns the number of units before the first unit that begins at the start of a cache line, or INT64_MAX if there is
 * no such unit. The units are adjacent, and the first of them begins `phase` bytes after the start of a cache line.
 */
static inline int64_t bi__units_to_line(size_t phase, size_t unit)
{
	for (int64_t units = 0; units < BI__LINE; units++)
		if ((phase + (size_t)units * unit) % BI__LINE == 0)
			return units;
	return INT64_MAX;
}

typedef void (*bi__walk_fn)(void *inner, unsigned char *dst, const unsigned char *src);

/* Calls fn(inner, dst, src) for each position along all axes of the plan except x and y. The last axis is fastest. */
void bi__walk(const struct bi__plan *plan, int x, int y, bi__walk_fn fn, void *inner, unsigned char *dst,
	      const unsigned char *src);

#endif
