/* Moves units along one axis: the innermost loop of the copy engine. */
#ifndef BI_COMMON_ENGINE_RUN_H
#define BI_COMMON_ENGINE_RUN_H

#include "common/engine/simd.h"

/* From this many bytes on memcpy itself is the fastest way to move one unit. */
#define BI__LONG_UNIT 64

typedef void (*bi__run_fn)(unsigned char *dst, const unsigned char *src, int64_t count, int64_t dst_step,
			   int64_t src_step, size_t unit);

struct bi__run {
	size_t unit;
	int64_t dst_step, src_step; /* bytes, any sign; dst_step is not 0 */
	bi__run_fn one_by_one;
	const struct bi__simd *simd;
	struct bi__shuffle shuffle;
};

/*
 * Runs will have about `count` units and move `bytes` in all: below some, preparing a shuffle costs more than it gains.
 * With `padded`, the bytes between the units of the destination may be written as well, and those behind the last up
 * to dst_step.
 */
void bi__run_init(struct bi__run *run, const struct bi__simd *simd, size_t unit, int64_t dst_step, int64_t src_step,
		  int padded, int64_t count, uint64_t bytes);

/* Moves `count` units; reads none but their bytes, and nothing between the first and the last that lies outside. */
void bi__run(const struct bi__run *run, unsigned char *dst, const unsigned char *src, int64_t count);

/*
 * Moves the first of `count` units, as many as can be shuffled past the caches, in whole lines from dst, which is
 * aligned to one; returns how many units, which may be 0.
 */
int64_t bi__run_past(const struct bi__run *run, unsigned char *dst, const unsigned char *src, int64_t count);

/*
 * Makes run->shuffle; its count is 0 where units are better moved one by one. With `is_long`, its last periods may be
 * lost to loads that reach too far.
 */
void bi__shuffle_make(struct bi__shuffle *shuffle, const struct bi__simd *simd, size_t unit, int64_t dst_step,
		      int64_t src_step, int is_long);

#endif
