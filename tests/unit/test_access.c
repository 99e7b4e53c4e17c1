/* Single elements and whole arrays from and to the caller's bytes. */
#include "unit.h"

static struct bi_context *host;

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
