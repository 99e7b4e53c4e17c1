/* Copies of several steps: what would stop a later step stops the copy before its first one. */
#include "unit.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapped_memory_stops_two_steps),
		cmocka_unit_test(mapped_memory_stops_chunks),
	};
	int failed;

	device = open_logging("cuda:0", &log_lines);
	host = open_logging("host", &log_lines);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(device);
	return failed;
}
