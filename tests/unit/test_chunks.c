/* Chunks of a plan: together they move every byte once, and no chunk cuts a cache line of the destination. */
#include "unit.h"

#include "common/engine/parts.h"

#define NOWHERE INT64_MIN

/* For each byte of the destination: the offset of the source byte that goes there. */
static int64_t sources[1 << 19], expected[1 << 19];

static void forget_bytes(void)
{
	for (size_t i = 0; i < ARRAY_LENGTH(sources); i++)
		sources[i] = NOWHERE;
}

/* Notes where a plan takes each byte from. No byte is written twice. */
static void note_bytes(const struct bi__plan *plan)
{
	int64_t at[BI_MAX_NDIM] = { 0 };
	int axis;

	do {
		int64_t to = plan->dst_offset, from = plan->src_offset;

		for (int i = 0; i < plan->ndim; i++) {
			to += at[i] * plan->dst_strides[i];
			from += at[i] * plan->src_strides[i];
		}
		for (size_t i = 0; i < plan->unit; i++) {
			assert_true(sources[(size_t)to + i] == NOWHERE);
			sources[(size_t)to + i] = from + (int64_t)i;
		}
		for (axis = plan->ndim - 1; axis >= 0 && ++at[axis] == plan->shape[axis]; axis--)
			at[axis] = 0;
	} while (axis >= 0);
}

static void check_chunks(const struct bi__plan *plan, int64_t wanted)
{
	struct bi__engine_split split;
	struct bi__plan chunk;
	uint64_t bytes = 0;
	int chunks;

	forget_bytes();
	note_bytes(plan);
	memcpy(expected, sources, sizeof(sources));
	forget_bytes();
	chunks = bi__engine_split(&split, plan, wanted);
	assert_int_equal(chunks, split.chunks);
	assert_in_range(chunks, 1, wanted);
	for (int i = 0; i < chunks; i++) {
		bi__engine_chunk(&chunk, &split, plan, i);
		bytes += chunk.bytes;
		note_bytes(&chunk);
	}
	assert_int_equal(bytes, plan->bytes);
	assert_memory_equal(sources, expected, sizeof(sources));
}

static struct bi__plan plan_of(const char *type, int ndim, const int64_t *shape, const int64_t *src_strides)
{
	struct bi_layout dst, src;
	struct bi__plan plan;

	OK(bi_layout_init(&dst, dtype_of(type), ndim, shape, NULL, 0, &error));
	OK(bi_layout_init(&src, dtype_of(type), ndim, shape, src_strides, 0, &error));
	bi__plan_make(&plan, &dst, &src);
	return plan;
}

static void every_byte_is_in_one_chunk(void **state)
{
	const int64_t shape[] = { 37, 50, 61 }, forwards[] = { 12, 12 * 37, 12 * 37 * 50 };
	const int64_t rows[] = { 50 * 61 * 24, 61 * 24, 24 };
	struct test_random random = { test_seed() };
	struct bi__plan plans[4];

	(void)state;
	plans[0] = plan_of("float32", 3, shape, NULL);
	plans[1] = plan_of("float32", 3, shape, forwards);
	plans[2] = plan_of("int64", 2, shape, (int64_t[]){ 16 * 50, 16 });
	plans[3] = plan_of("float32", 3, shape, rows);
	for (size_t i = 0; i < ARRAY_LENGTH(plans); i++)
		for (int j = 0; j < 8; j++)
			check_chunks(&plans[i], test_between(&random, 1, 40));
}

static void dense_bytes_are_cut_at_pages(void **state)
{
	struct bi__engine_split split;
	struct bi__plan plan;

	(void)state;
	bi__plan_bytes(&plan, 0, 0, 100000);
	assert_int_equal(bi__engine_split(&split, &plan, 7), 7);
	assert_int_equal(split.axis, -1);
	assert_int_equal(split.step % BI__PAGE, 0);
	check_chunks(&plan, 7);
	/* Too few bytes for so many chunks. */
	assert_int_equal(bi__engine_split(&split, &plan, 1000), (100000 + BI__PAGE - 1) / BI__PAGE);
}

static void an_axis_that_is_not_tiled_is_cut_first(void **state)
{
	/* Planes of transposed matrices: the planes are cut, not the tiles. */
	const int64_t shape[] = { 16, 40, 40 }, strides[] = { 6400, 4, 160 };
	struct bi__engine_split split;
	struct bi__plan plan = plan_of("float32", 3, shape, strides);

	(void)state;
	assert_int_equal(plan.kind, BI_PLAN_TILES);
	bi__engine_split(&split, &plan, 4);
	assert_int_equal(split.axis, 0);
	assert_int_equal(split.step, 4);
}

/* An axis with steps of 8 bytes in the source has as many elements as chunks are wanted. To cut it would leave each
 * chunk 8 bytes of each line. */
static void no_cut_shortens_the_runs_of_the_source(void **state)
{
	const int64_t shape[] = { 2, 2, 2, 8, 31, 32, 24 };
	const int64_t strides[] = { 3047424, 47616, 4, 8, 64, 95232, 1984 };
	struct bi__engine_split split;
	struct bi__plan plan = plan_of("float32", 7, shape, strides);

	(void)state;
	bi__engine_split(&split, &plan, 8);
	assert_in_range(split.chunks, 2, 8);
	assert_true(split.step * plan.src_strides[split.axis] >= 1024);
	assert_true(split.step * plan.dst_strides[split.axis] >= 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_is_in_one_chunk),
		cmocka_unit_test(dense_bytes_are_cut_at_pages),
		cmocka_unit_test(an_axis_that_is_not_tiled_is_cut_first),
		cmocka_unit_test(no_cut_shortens_the_runs_of_the_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
