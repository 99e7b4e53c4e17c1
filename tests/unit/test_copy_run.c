/*
 * Copies of several steps: what would stop a later step stops the copy before its first one. Copies in two steps: where
 * the array between the steps lies, and what happens to it.
 */
#include "unit.h"

#include "common/runtime/object.h"

static struct log_lines log_lines;
static struct bi_context *device, *host;

/* The copy is refused, and no step of it has run. */
static void expect_no_step(struct bi_view *to, struct bi_view *from)
{
	log_lines.count = 0;
	REFUSED(BI_EBUSY, bi_copy(to, from, NULL, &error));
	assert_int_equal(count_lines(&log_lines, "success"), 0);
}

static void mapped_memory_stops_two_steps(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 40, 30), *turned = transposed(a);
	struct bi_view *c = NEW_ARRAY(host, "float32", 30, 40);
	struct bi_map *map;

	(void)state;
	number_bytes(a);
	/* The destination of the second step. */
	OK(bi_view_map(c, BI_MAP_READ, &map, &error));
	expect_no_step(c, turned);
	OK(bi_unmap(map, &error));
	/* The source of the first one may be read. */
	OK(bi_view_map(a, BI_MAP_READ, &map, &error));
	OK(bi_copy(c, turned, NULL, &error));
	OK(bi_unmap(map, &error));
	assert_same_elements(c, turned);
	OK(bi_view_map(a, BI_MAP_WRITE, &map, &error));
	expect_no_step(c, turned);
	OK(bi_unmap(map, &error));
	bi_view_release(c);
	bi_view_release(turned);
	bi_view_release(a);
}

static void mapped_memory_stops_chunks(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 1500, 2000), *c = NEW_ARRAY(host, "float32", 2000, 1500);
	struct bi_view *turned = transposed(c);
	struct bi_map *map;

	(void)state;
	number_bytes(c);
	OK(bi_view_map(a, BI_MAP_READ, &map, &error));
	expect_no_step(a, turned);
	OK(bi_unmap(map, &error));
	OK(bi_copy(a, turned, NULL, &error));
	assert_same_elements(a, turned);
	bi_view_release(turned);
	bi_view_release(c);
	bi_view_release(a);
}

/* A copy of a transposed device array to the host packs it on the device first, in memory that comes from the pool. */
static void the_array_between_comes_from_the_pool(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float64", 64, 32), *turned = transposed(a);
	struct bi_view *c = NEW_ARRAY(host, "float64", 32, 64);
	uint64_t misses, hits;

	(void)state;
	number_bytes(a);
	OK(bi_copy(c, turned, NULL, &error));
	OK(bi_view_synchronize(c, &error));
	OK(bi_context_trim(device, 1 << 20, &error));
	misses = device->pool.misses;
	hits = device->pool.hits;
	for (int i = 0; i < 5; i++) {
		OK(bi_copy(c, turned, NULL, &error));
		assert_same_elements(c, turned);
	}
	assert_int_equal(device->pool.misses, misses);
	assert_true(device->pool.hits >= hits + 5);
	bi_view_release(c);
	bi_view_release(turned);
	bi_view_release(a);
}

/* Halves of one array that overlap: every element is read before it is overwritten. */
static void elements_are_read_before_they_are_overwritten(void **state)
{
	struct bi_context *contexts[] = { device, host };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++) {
		const struct bi_index first = { BI_INDEX_SLICE, BI_OMITTED, -1, 1 },
				      last = { BI_INDEX_SLICE, 1, BI_OMITTED, 1 };
		struct bi_view *a = NEW_ARRAY(contexts[i], "uint8", 5000), *to, *from;
		unsigned char bytes[5000];

		number_bytes(a);
		OK(bi_view_index(a, &last, 1, &to, &error));
		OK(bi_view_index(a, &first, 1, &from, &error));
		OK(bi_copy(to, from, NULL, &error));
		OK(bi_view_read(a, bytes, sizeof(bytes), &error));
		assert_int_equal(bytes[0], 0);
		for (size_t j = 1; j < sizeof(bytes); j++)
			assert_int_equal(bytes[j], number_at(j - 1));
		bi_view_release(from);
		bi_view_release(to);
		bi_view_release(a);
	}
}

/* Two steps on a stream of the caller's: the destination is complete when that stream is. */
static void both_steps_are_behind_the_stream(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 100, 60), *turned = transposed(a);
	struct bi_view *c = NEW_ARRAY(host, "float32", 60, 100);
	struct bi_stream *stream;

	(void)state;
	number_bytes(a);
	OK(bi_stream_create(device, BI_STREAM_IN_ORDER, &stream, &error));
	OK(bi_copy(c, turned, stream, &error));
	OK(bi_stream_synchronize(stream, &error));
	assert_same_elements(c, turned);
	bi_stream_release(stream);
	bi_view_release(c);
	bi_view_release(turned);
	bi_view_release(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapped_memory_stops_two_steps),
		cmocka_unit_test(mapped_memory_stops_chunks),
		cmocka_unit_test(the_array_between_comes_from_the_pool),
		cmocka_unit_test(elements_are_read_before_they_are_overwritten),
		cmocka_unit_test(both_steps_are_behind_the_stream),
	};
	int failed;

	device = open_logging("cuda:0", &log_lines);
	host = open_logging("host", &log_lines);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(device);
	return failed;
}
