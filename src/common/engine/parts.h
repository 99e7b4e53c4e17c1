/* The parts of the copy engine: what one thread does, with everything chosen that depends on the machine. */
#ifndef BI_COMMON_ENGINE_PARTS_H
#define BI_COMMON_ENGINE_PARTS_H

#include "common/engine/simd.h"
#include "common/plan/plan.h"

/* How the engine goes about a plan. Nothing in it changes the result. */
struct bi__engine_way {
	const struct bi__simd *simd;
	/* Bytes of a plan of such a kind from which its destination is streamed, where the processor can. */
	uint64_t stream_tiles_from, stream_lines_from, stream_fills_from;
	uint64_t share_from; /* bytes of a plan from which it is shared with other threads */
	uint64_t share; /* bytes of one share, about */
};

/* The one that bi__engine_copy takes. */
void bi__engine_usual_way(struct bi__engine_way *way);

/* bi__engine_copy, gone about in a given way. */
void bi__engine_copy_by(const struct bi__engine_way *way, const struct bi__plan *plan, void *dst, const void *src);

/* Bytes along the source that a tile takes at once: lines come in pairs. */
#define BI__PANEL 128

/* A plan without an axis is cut between pages. */
#define BI__PAGE 4096

/* Where a plan is cut: share i begins at i * step on the axis, or byte, if there is none (-1). */
struct bi__engine_split {
	int axis, shares;
	int64_t step;
};

/* Cuts a plan into about so many shares (> 0), fewer if it has not got enough for more; returns how many. */
int bi__engine_split(struct bi__engine_split *split, const struct bi__plan *plan, int64_t shares);

/* Makes share i of the plan. Together they move what the plan moves, each byte once. */
void bi__engine_share(struct bi__plan *share, const struct bi__engine_split *split, const struct bi__plan *plan, int i);

/*
 * The rest is for one thread. `dst` and `src` are the addresses of the first unit; the plan has an axis; `streams`:
 * past the caches, and fenced at the end.
 */
struct bi__engine_part {
	const struct bi__plan *plan;
	const struct bi__simd *simd;
	int streams;
};

/* Along the last axis, run after run. */
void bi__engine_lines(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/* In tiles over the axes `cross` and last. */
void bi__engine_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

/* Units, each behind the other from `phase` bytes into a line, until the next begins with one; INT64_MAX: none does. */
static inline int64_t bi__units_to_line(size_t phase, size_t unit)
{
	for (int64_t units = 0; units < BI__LINE; units++)
		if ((phase + (size_t)units * unit) % BI__LINE == 0)
			return units;
	return INT64_MAX;
}

/* A loop nest around a function. */
struct bi__walk {
	int ndim;
	int64_t shape[BI_MAX_NDIM], dst_strides[BI_MAX_NDIM], src_strides[BI_MAX_NDIM];
};

typedef void (*bi__walk_fn)(void *inner, unsigned char *dst, const unsigned char *src);

void bi__walk_add(struct bi__walk *walk, const struct bi__plan *plan, int axis);
void bi__walk_run(const struct bi__walk *walk, bi__walk_fn fn, void *inner, unsigned char *dst,
		  const unsigned char *src);

#endif
