/* Moves units along one axis, for lines and tiles. */
#ifndef BI_COMMON_ENGINE_RUN_H
#define BI_COMMON_ENGINE_RUN_H

#include "common/engine/simd.h"

/* Longer units are moved by a call of memcpy. */
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

/* The axis that a run moves along. */
struct bi__run_axis {
	size_t unit; /* bytes */
	int64_t dst_step, src_step; /* bytes, any sign; dst_step is not 0 */
	uint64_t bytes; /* bytes of the plan; if they are few, no shuffle is prepared */
};

void bi__run_init(struct bi__run *run, const struct bi__simd *simd, const struct bi__run_axis *axis);

/* Moves `count` units. Reads no byte outside of the range that these units span in the source. */
void bi__run(const struct bi__run *run, unsigned char *dst, const unsigned char *src, int64_t count);

/*
 * Moves the first of `count` units by a shuffle with non-temporal stores. The number of periods is the largest that has
 * its spare units behind it and fills whole cache lines. dst is aligned to a cache line. Returns the number of units
 * moved, which is 0 without a shuffle.
 */
int64_t bi__run_streamed(const struct bi__run *run, unsigned char *dst, const unsigned char *src, int64_t count);

/* Makes the shuffle for units that are adjacent in the destination. Its count is 0 if they are moved one by one. */
void bi__shuffle_make(struct bi__shuffle *shuffle, const struct bi__simd *simd, size_t unit, int64_t src_step);

#endif
