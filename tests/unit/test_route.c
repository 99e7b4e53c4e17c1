/*
 * The route of a copy, seen in the steps that the context logs: directly, in two steps, or not at all. What would stop
 * a later step stops the copy before its first one.
 */
#include "unit.h"

#include "common/runtime/object.h"

static struct log_lines log_lines;
static struct bi_context *device, *other, *host;

/* The steps of a copy: `all` of them, and how many move dense bytes. */
static void expect_steps(struct bi_view *to, struct bi_view *from, int all, int linear)
{
	struct log_lines before;
	int found;

	log_lines.count = 0;
	OK(bi_copy(to, from, NULL, &error));
	before = log_lines;
	found = count_lines(&log_lines, "copy: ");
	assert_int_equal(count_lines(&before, "linear"), linear);
	assert_int_equal(found, all);
	assert_same_elements(to, from);
}

static void dense_bytes_take_one_step(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 40, 30), *b = NEW_ARRAY(device, "float32", 40, 30);
	struct bi_view *c = NEW_ARRAY(host, "float32", 40, 30), *d = NEW_ARRAY(other, "float32", 40, 30);

	(void)state;
	number_bytes(a);
	expect_steps(b, a, 1, 1);
	expect_steps(c, a, 1, 1);
	expect_steps(d, a, 1, 1);
	number_bytes(c);
	expect_steps(b, c, 1, 1);
	bi_view_release(d);
	bi_view_release(c);
	bi_view_release(b);
	bi_view_release(a);
}

static void one_device_transposes_in_one_step(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 40, 30), *b = NEW_ARRAY(device, "float32", 30, 40);
	struct bi_view *turned = transposed(a);

	(void)state;
	number_bytes(a);
	expect_steps(b, turned, 1, 0);
	bi_view_release(turned);
	bi_view_release(b);
	bi_view_release(a);
}

static void layouts_between_places_are_packed(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 40, 30), *turned = transposed(a);
	struct bi_view *c = NEW_ARRAY(host, "float32", 30, 40), *d = NEW_ARRAY(other, "float32", 30, 40);

	(void)state;
	number_bytes(a);
	expect_steps(c, turned, 2, 1);
	expect_steps(d, turned, 2, 1);
	number_bytes(c);
	expect_steps(turned, c, 2, 1);
	bi_view_release(d);
	bi_view_release(c);
	bi_view_release(turned);
	bi_view_release(a);
}

static void overlap_goes_through_other_memory(void **state)
{
	struct bi_context *contexts[] = { device, host };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++) {
		struct bi_view *a = NEW_ARRAY(contexts[i], "int32", 40, 3),
			       *copy = NEW_ARRAY(contexts[i], "int32", 40, 3);
		struct bi_view *backwards, *of_copy;

		number_bytes(a);
		OK(bi_copy(copy, a, NULL, &error));
		OK(bi_view_flip(a, 0, &backwards, &error));
		OK(bi_view_flip(copy, 0, &of_copy, &error));
		log_lines.count = 0;
		OK(bi_copy(a, backwards, NULL, &error));
		assert_int_equal(count_lines(&log_lines, "copy: "), 2);
		assert_same_elements(a, of_copy);
		bi_view_release(of_copy);
		bi_view_release(backwards);
		bi_view_release(copy);
		bi_view_release(a);
	}
}

static void an_array_onto_itself_moves_nothing(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "int32", 40, 3), *b = bi_view_retain(a);

	(void)state;
	number_bytes(a);
	log_lines.count = 0;
	OK(bi_copy(a, b, NULL, &error));
	assert_int_equal(count_lines(&log_lines, "nothing, 0 bytes"), 1);
	bi_view_release(b);
	bi_view_release(a);
}

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
		cmocka_unit_test(dense_bytes_take_one_step),
		cmocka_unit_test(one_device_transposes_in_one_step),
		cmocka_unit_test(layouts_between_places_are_packed),
		cmocka_unit_test(overlap_goes_through_other_memory),
		cmocka_unit_test(an_array_onto_itself_moves_nothing),
		cmocka_unit_test(mapped_memory_stops_two_steps),
		cmocka_unit_test(mapped_memory_stops_chunks),
		cmocka_unit_test(the_array_between_comes_from_the_pool),
		cmocka_unit_test(elements_are_read_before_they_are_overwritten),
		cmocka_unit_test(both_steps_are_behind_the_stream),
	};
	int failed;

	device = open_logging("cuda:0", &log_lines);
	other = open_logging("cuda:1", &log_lines);
	host = open_logging("host", &log_lines);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(other);
	bi_context_release(device);
	return failed;
}
