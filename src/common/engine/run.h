/* Moves units along one axis: the innermost loop of the copy engine. */
#ifndef BI_COMMON_ENGINE_RUN_H
#define BI_COMMON_ENGINE_RUN_H

#include "common/engine/simd.h"

/* Units of more than this many bytes are moved by memcpy. */
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
	uint64_t bytes; /* bytes of the whole copy; for a small copy no shuffle is prepared */
};

void bi__run_init(struct bi__run *run, const struct bi__simd *simd, const struct bi__run_axis *axis);

/* Moves `count` units. Reads no byte before the first unit or after the last one. */
void bi__run(const struct bi__run *run, unsigned char *dst, const unsigned char *src, int64_t count);

/*
 * Moves units by shuffles with non-temporal stores, as many of the `count` units as fill whole cache lines. dst is
 * aligned to a cache line. Returns the number of units moved, which may be 0.
 */
int64_t bi__run_streamed(const struct bi__run *run, unsigned char *dst, const unsigned char *src, int64_t count);

/* Fills the shuffle. Its count becomes 0 if it is better to move units one by one. */
void bi__shuffle_make(struct bi__shuffle *shuffle, const struct bi__simd *simd, size_t unit, int64_t src_step);

#endif
