/* The route of a copy, seen in the steps that the context logs: directly, in two steps, or not at all. */
#include "unit.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dense_bytes_take_one_step),
		cmocka_unit_test(one_device_transposes_in_one_step),
		cmocka_unit_test(layouts_between_places_are_packed),
		cmocka_unit_test(overlap_goes_through_other_memory),
		cmocka_unit_test(an_array_onto_itself_moves_nothing),
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
