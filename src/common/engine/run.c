#include "common/engine/run.h"

#include <string.h>

/* Only plans of at least this many bytes use a shuffle. For smaller plans, its table takes longer than the copy. */
#define SHUFFLE_FROM 8192

/*
 * memcpy of a constant size is a load and a store. A branch follows after four units. Their addresses do not depend on
 * each other, so the processor can move several units at the same time.
 */
#define RUN(size) \
	static void run_##size(unsigned char *dst, const unsigned char *src, int64_t count, int64_t dst_step, \
			       int64_t src_step, size_t unit) \
	{ \
		(void)unit; \
		for (; count >= 4; count -= 4, dst += 4 * dst_step, src += 4 * src_step) { \
			memcpy(dst, src, size); \
			memcpy(dst + dst_step, src + src_step, size); \
			memcpy(dst + 2 * dst_step, src + 2 * src_step, size); \
			memcpy(dst + 3 * dst_step, src + 3 * src_step, size); \
		} \
		for (; count > 0; count--, dst += dst_step, src += src_step) \
			memcpy(dst, src, size); \
	}

RUN(1)
RUN(2)
RUN(4)
RUN(8)
RUN(16)

/* Moves the first `size` and the last `size` bytes of each unit. The two parts may overlap, and need no loop. */
#define OVERLAPPING(name, size) \
	static void name(unsigned char *dst, const unsigned char *src, int64_t count, int64_t dst_step, \
			 int64_t src_step, size_t unit) \
	{ \
		for (; count > 0; count--, dst += dst_step, src += src_step) { \
			memcpy(dst, src, size); \
			memcpy(dst + unit - (size), src + unit - (size), size); \
		} \
	}

OVERLAPPING(run_to_4, 2)
OVERLAPPING(run_to_8, 4)
OVERLAPPING(run_to_16, 8)
OVERLAPPING(run_to_32, 16)
OVERLAPPING(run_to_64, 32)

static void run_long(unsigned char *dst, const unsigned char *src, int64_t count, int64_t dst_step, int64_t src_step,
		     size_t unit)
{
	for (; count > 0; count--, dst += dst_step, src += src_step)
		memcpy(dst, src, unit);
}

static bi__run_fn choose_run(size_t unit)
{
	static const bi__run_fn short_units[] = {
		[1] = run_1,      [2] = run_2,      [3] = run_to_4,   [4] = run_4,
		[5] = run_to_8,   [6] = run_to_8,   [7] = run_to_8,   [8] = run_8,
		[9] = run_to_16,  [10] = run_to_16, [11] = run_to_16, [12] = run_to_16,
		[13] = run_to_16, [14] = run_to_16, [15] = run_to_16, [16] = run_16,
	};

	if (unit <= 16)
		return short_units[unit];
	return unit <= 32 ? run_to_32 : unit <= BI__LONG_UNIT ? run_to_64 : run_long;
}

void bi__run_init(struct bi__run *run, const struct bi__simd *simd, const struct bi__run_axis *axis)
{
	run->unit = axis->unit;
	run->dst_step = axis->dst_step;
	run->src_step = axis->src_step;
	run->one_by_one = choose_run(axis->unit);
	run->simd = simd;
	run->shuffle.count = 0;
	if (axis->dst_step == (int64_t)axis->unit && axis->bytes >= SHUFFLE_FROM)
		bi__shuffle_make(&run->shuffle, simd, axis->unit, axis->src_step);
}

void bi__run(const struct bi__run *run, unsigned char *dst, const unsigned char *src, int64_t count)
{
	const struct bi__shuffle *shuffle = &run->shuffle;
	const int64_t units = (int64_t)shuffle->units;
	int64_t done = 0;

	if (shuffle->count && count >= units + shuffle->spare) {
		done = (count - shuffle->spare) / units * units;
		run->simd->shuffle(shuffle, dst, src, (size_t)(done / units), 0);
		if (done < count && !shuffle->spare) {
			done = count - units; /* the last period overlaps the one before it */
			run->simd->shuffle(shuffle, dst + done * run->dst_step, src + done * run->src_step, 1, 0);
			return;
		}
	}
	run->one_by_one(dst + done * run->dst_step, src + done * run->src_step, count - done, run->dst_step,
			run->src_step, run->unit);
}

int64_t bi__run_streamed(const struct bi__run *run, unsigned char *dst, const unsigned char *src, int64_t count)
{
	const struct bi__shuffle *shuffle = &run->shuffle;
	int64_t periods;

	if (!shuffle->count)
		return 0;
	periods = count < shuffle->spare ? 0 : (count - shuffle->spare) / (int64_t)shuffle->units;
	while ((size_t)periods * shuffle->written % BI__LINE)
		periods--;
	run->simd->shuffle(shuffle, dst, src, (size_t)periods, 1);
	return periods * (int64_t)shuffle->units;
}
