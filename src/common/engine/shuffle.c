/* Computes how vectors of the destination are assembled from vectors of the source, for units close to each other. */
#include "common/engine/run.h"

#include <string.h>

#include "common/base/checked.h"

/* Steps of this many units and more use no shuffle: too few bytes of each load would be used. */
#define LONGEST_STEP 9

/*
 * Returns 1 if the shuffle takes less time than moving its units one by one. Vectors of more than 16 bytes hold so many
 * units that a shuffle is always used. Vectors of 16 bytes were measured on AMD Zen 3: the load and the store of a
 * vector take the time of 1.5 moves each if all indices stay in registers, otherwise of 2.5 moves. A unit whose size is
 * no power of two takes two moves.
 */
static int is_faster(const struct bi__shuffle *shuffle, size_t vector, size_t unit)
{
	const size_t moves = shuffle->units * (unit & (unit - 1) ? 2 : 1);
	const size_t accesses = (size_t)shuffle->count + shuffle->written / vector;

	return vector > 16 || (shuffle->few ? 3 : 5) * accesses < 2 * moves;
}

/* Sets source[i] to the offset in the source of byte `at` + i of the destination. */
static void find_sources(ptrdiff_t *source, size_t vector, size_t at, size_t unit, ptrdiff_t src_step)
{
	for (size_t i = 0; i < vector; i++)
		source[i] = (ptrdiff_t)((at + i) / unit) * src_step + (ptrdiff_t)((at + i) % unit);
}

/* Sets *low and *high to the range [*low, *high) of source bytes that one vector needs. */
static void find_span(const ptrdiff_t *source, size_t vector, ptrdiff_t *low, ptrdiff_t *high)
{
	*low = PTRDIFF_MAX;
	*high = PTRDIFF_MIN;
	for (size_t i = 0; i < vector; i++) {
		if (source[i] < *low)
			*low = source[i];
		if (source[i] >= *high)
			*high = source[i] + 1;
	}
}

/* Assigns to the load all bytes in its range that no earlier load has. Returns 1 if there is such a byte. */
static int assign_bytes(struct bi__shuffle_load *load, ptrdiff_t *source, size_t vector, ptrdiff_t offset)
{
	int has_bytes = 0;

	load->offset = offset;
	load->last = 0;
	memset(load->index, 255, sizeof(load->index));
	for (size_t i = 0; i < vector; i++) {
		if (source[i] < offset || source[i] >= offset + (ptrdiff_t)vector)
			continue;
		load->index[i] = (unsigned char)(source[i] - offset);
		source[i] = PTRDIFF_MIN;
		has_bytes = 1;
	}
	return has_bytes;
}

/*
 * Adds the loads of one vector: side by side over the bytes that the vector needs, from the side where the run begins.
 * The last load is moved back, so that it does not reach beyond these bytes. Only if all of them are fewer than a
 * vector, a load reaches beyond them. Loads without a byte are left out. Returns 1, or 0 if the table is full.
 */
static int add_vector(struct bi__shuffle *shuffle, ptrdiff_t *source, size_t vector, int backwards)
{
	const ptrdiff_t size = (ptrdiff_t)vector;
	ptrdiff_t low, high, most;

	find_span(source, vector, &low, &high);
	most = high - low > size ? high - low - size : 0;
	for (ptrdiff_t done = 0; done < high - low; done += size) {
		const ptrdiff_t at = done < most ? done : most;

		if (shuffle->count == BI__SHUFFLE_LOADS)
			return 0;
		shuffle->count += assign_bytes(&shuffle->loads[shuffle->count], source, vector,
					       backwards ? high - size - at : low + at);
	}
	shuffle->loads[shuffle->count - 1].last = 1;
	return 1;
}

void bi__shuffle_make(struct bi__shuffle *shuffle, const struct bi__simd *simd, size_t unit, int64_t src_step)
{
	const size_t vector = simd->vector;
	int64_t length = src_step < 0 ? -src_step : src_step;

	shuffle->count = 0;
	if (!vector || unit > 16 || src_step == 0 || length >= LONGEST_STEP * (int64_t)unit)
		return;
	shuffle->units = vector / (size_t)bi__common_divisor(vector, unit);
	shuffle->written = shuffle->units * unit;
	shuffle->spare = length < (int64_t)unit ? (int64_t)vector / length + 1 : 0;
	shuffle->step = (ptrdiff_t)shuffle->units * (ptrdiff_t)src_step;
	for (size_t done = 0; done < shuffle->written; done += vector) {
		ptrdiff_t source[BI__LINE];

		find_sources(source, vector, done, unit, (ptrdiff_t)src_step);
		if (!add_vector(shuffle, source, vector, src_step < 0)) {
			shuffle->count = 0;
			return;
		}
	}
	shuffle->few = shuffle->written == vector && shuffle->count <= BI__SHUFFLE_FEW ? shuffle->count : 0;
	if (!is_faster(shuffle, vector, unit))
		shuffle->count = 0;
}
