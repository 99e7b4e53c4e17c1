/*
 * Fuzzes the planner with two layouts of one shape between which a copy is possible. Checks the properties in
 * plan_properties.h.
 *
 * The input: one byte each for the seed of the rewritten copy, the item size and the number of axes; then both offsets,
 * and for each axis the extent and both strides. Each of the latter numbers is a byte with its sign and length, and
 * then its bytes in little endian. Missing bytes are 0.
 */
#include "fuzz/target.h"
#include "support/plan_properties.h"

static int64_t take_number(struct input *in)
{
	const uint64_t head = take(in, 1), number = take(in, head % 9);

	return (int64_t)(head & 128 ? -number : number);
}

static int take_pair(struct input *in, struct plan_pair *pair)
{
	int64_t shape[BI_MAX_NDIM], to[BI_MAX_NDIM], from[BI_MAX_NDIM], to_offset, from_offset;
	struct bi_dtype dtype;
	int ndim;

	if (bi_dtype_make(BI_VOID, 1, (uint32_t)take(in, 1) + 1, &dtype, NULL) != BI_OK)
		return 0;
	ndim = (int)(take(in, 1) % (BI_MAX_NDIM + 1));
	to_offset = take_number(in);
	from_offset = take_number(in);
	for (int i = 0; i < ndim; i++) {
		shape[i] = take_number(in);
		to[i] = take_number(in);
		from[i] = take_number(in);
	}
	return bi_layout_init(&pair->dst, dtype, ndim, shape, to, to_offset, NULL) == BI_OK &&
	       bi_layout_init(&pair->src, dtype, ndim, shape, from, from_offset, NULL) == BI_OK &&
	       !bi_layout_self_overlap(&pair->dst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct test_random random = { take(&in, 1) };
	struct plan_pair pair;
	const char *wrong = take_pair(&in, &pair) ? plan_check(&pair.dst, &pair.src, &random, 2000) : NULL;

	require(!wrong, wrong);
	return 0;
}
