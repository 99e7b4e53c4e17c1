/* bi_copy and bi_fill on the host: what they refuse, and that every layout arrives. */
#include "unit.h"

static struct bi_context *host;

static void arguments_are_checked(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "float32", 4, 6), *b = NEW_ARRAY(host, "float32", 6, 4);
	struct bi_view *doubles = NEW_ARRAY(host, "float64", 4, 6), *turned = transposed(b), *wide;
	const float one = 1;

	(void)state;
	REFUSED(BI_EINVAL, bi_copy(NULL, a, NULL, &error));
	REFUSED(BI_EINVAL, bi_copy(a, NULL, NULL, &error));
	REFUSED(BI_EINVAL, bi_copy(a, b, NULL, &error));
	REFUSED(BI_EDTYPE, bi_copy(a, doubles, NULL, &error));
	REFUSED(BI_EINVAL, bi_fill(NULL, &one, NULL, &error));
	REFUSED(BI_EINVAL, bi_fill(a, NULL, NULL, &error));
	OK(bi_view_broadcast(a, 3, (int64_t[]){ 2, 4, 6 }, &wide, &error));
	REFUSED(BI_EREADONLY, bi_copy(wide, wide, NULL, &error));
	REFUSED(BI_EREADONLY, bi_fill(wide, &one, NULL, &error));
	OK(bi_copy(a, turned, NULL, &error));
	bi_view_release(wide);
	bi_view_release(turned);
	bi_view_release(doubles);
	bi_view_release(b);
	bi_view_release(a);
}

static void a_destination_that_overlaps_itself_is_refused(void **state)
{
	const int64_t shape[] = { 3, 3 }, strides[] = { 4, 4 };
	struct bi_view *source = NEW_ARRAY(host, "float32", 3, 3), *overlapping;
	struct bi_layout layout;
	const float one = 1;

	(void)state;
	OK(bi_layout_init(&layout, dtype_of("float32"), 2, shape, strides, 0, &error));
	OK(bi_view_with_layout(source, &layout, &overlapping, &error));
	REFUSED(BI_EOVERLAP, bi_copy(overlapping, source, NULL, &error));
	REFUSED(BI_EOVERLAP, bi_fill(overlapping, &one, NULL, &error));
	OK(bi_copy(source, overlapping, NULL, &error));
	bi_view_release(overlapping);
	bi_view_release(source);
}

static void empty_arrays_move_nothing(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "float32", 0, 6), *b = NEW_ARRAY(host, "float32", 0, 6);
	const float one = 1;

	(void)state;
	OK(bi_copy(a, b, NULL, &error));
	OK(bi_fill(a, &one, NULL, &error));
	bi_view_release(b);
	bi_view_release(a);
}

static void layouts_arrive(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "int16", 20, 30), *b = NEW_ARRAY(host, "int16", 20, 30);
	struct bi_view *from = every(a, -3), *to = every(b, 3), *turned = transposed(a),
		       *c = NEW_ARRAY(host, "int16", 30, 20);
	const unsigned char item[2] = { 0x12, 0x34 };
	unsigned char bytes[2 * 20 * 30];

	(void)state;
	number_bytes(a);
	OK(bi_copy(to, from, NULL, &error));
	assert_same_elements(to, from);
	OK(bi_copy(c, turned, NULL, &error));
	assert_same_elements(c, turned);
	OK(bi_fill(b, item, NULL, &error));
	OK(bi_view_read(b, bytes, sizeof(bytes), &error));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], item[i % 2]);
	bi_view_release(c);
	bi_view_release(turned);
	bi_view_release(to);
	bi_view_release(from);
	bi_view_release(b);
	bi_view_release(a);
}

static void elements_go_in_and_out(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "int32", 3, 4), *turned = transposed(a);
	const int64_t index[] = { 1, 2 }, from_end[] = { -2, -2 }, swapped[] = { 2, 1 };
	int32_t in = 1234567, out = 0;

	(void)state;
	number_bytes(a);
	OK(bi_view_set_element(a, index, &in, &error));
	OK(bi_view_get_element(a, from_end, &out, &error));
	assert_int_equal(out, in);
	OK(bi_view_get_element(turned, swapped, &out, &error));
	assert_int_equal(out, in);
	bi_view_release(turned);
	bi_view_release(a);
}

static void elements_outside_are_refused(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "int32", 3, 4);
	const int64_t index[] = { 1, 2 }, outside[] = { 3, 0 }, below[] = { 0, -5 };
	int32_t element = 0;

	(void)state;
	REFUSED(BI_EBOUNDS, bi_view_get_element(a, outside, &element, &error));
	REFUSED(BI_EBOUNDS, bi_view_set_element(a, below, &element, &error));
	REFUSED(BI_EINVAL, bi_view_get_element(a, NULL, &element, &error));
	REFUSED(BI_EINVAL, bi_view_get_element(NULL, index, &element, &error));
	REFUSED(BI_EINVAL, bi_view_get_element(a, index, NULL, &error));
	REFUSED(BI_EINVAL, bi_view_set_element(a, index, NULL, &error));
	bi_view_release(a);
}

static void arrays_are_read_and_written_in_c_order(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "uint8", 3, 4), *turned = transposed(a);
	unsigned char bytes[12], again[12];

	(void)state;
	number_bytes(a);
	OK(bi_view_read(turned, bytes, sizeof(bytes), &error));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], i % 3 * 4 + i / 3);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(100 + i);
	OK(bi_view_write(turned, bytes, sizeof(bytes), &error));
	OK(bi_view_read(a, again, sizeof(again), &error));
	for (size_t i = 0; i < sizeof(again); i++)
		assert_int_equal(again[i], 100 + i % 4 * 3 + i / 4);
	bi_view_release(turned);
	bi_view_release(a);
}

static void the_number_of_bytes_has_to_be_right(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "int16", 5), *empty = NEW_ARRAY(host, "int16", 5, 0);
	unsigned char bytes[12] = { 0 };

	(void)state;
	REFUSED_FOR(BI_EBOUNDS, "the array holds 10", bi_view_read(a, bytes, 9, &error));
	REFUSED_FOR(BI_EBOUNDS, "nbytes is 12", bi_view_write(a, bytes, 12, &error));
	REFUSED(BI_EINVAL, bi_view_read(a, NULL, 10, &error));
	REFUSED(BI_EINVAL, bi_view_write(NULL, bytes, 10, &error));
	OK(bi_view_read(empty, NULL, 0, &error));
	OK(bi_view_write(empty, NULL, 0, &error));
	bi_view_release(empty);
	bi_view_release(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(a_destination_that_overlaps_itself_is_refused),
		cmocka_unit_test(empty_arrays_move_nothing),
		cmocka_unit_test(layouts_arrive),
		cmocka_unit_test(elements_go_in_and_out),
		cmocka_unit_test(elements_outside_are_refused),
		cmocka_unit_test(arrays_are_read_and_written_in_c_order),
		cmocka_unit_test(the_number_of_bytes_has_to_be_right),
	};
	int failed;

	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	return failed;
}
