/* bi__place_bytes: the addresses that a producer's array reaches, and bi__cite. */
#include "unit.h"

#include "interop/place.h"

static struct bi_layout layout_of(int ndim, const int64_t *shape, const int64_t *strides)
{
	struct bi_layout layout;

	OK(bi_layout_init(&layout, dtype_of("float32"), ndim, shape, strides, 0, &error));
	return layout;
}

static void the_first_byte_becomes_the_start(void **state)
{
	struct bi_layout layout = layout_of(2, (int64_t[]){ 3, 4 }, (int64_t[]){ -100, 8 });
	uintptr_t address;
	size_t nbytes;

	(void)state;
	OK(bi__place_bytes(&layout, 10000, &address, &nbytes, &error));
	assert_int_equal(address, 9800);
	assert_int_equal(nbytes, 200 + 24 + 4);
	assert_int_equal(layout.offset, 200);
}

static void without_elements_there_is_no_place(void **state)
{
	struct bi_layout layout = layout_of(1, (int64_t[]){ 0 }, NULL);
	uintptr_t address = 1;
	size_t nbytes = 1;

	(void)state;
	OK(bi__place_bytes(&layout, 0, &address, &nbytes, &error));
	assert_int_equal(address, 0);
	assert_int_equal(nbytes, 0);
}

static void bytes_that_have_no_address_are_refused(void **state)
{
	struct bi_layout layout = layout_of(1, (int64_t[]){ 4 }, (int64_t[]){ -100 });
	uintptr_t address;
	size_t nbytes;

	(void)state;
	REFUSED(BI_EINVAL, bi__place_bytes(&layout, 0, &address, &nbytes, &error));
	FAILS(bi__place_bytes(&layout, 299, &address, &nbytes, &error));
	OK(bi__place_bytes(&layout, 300, &address, &nbytes, &error));
	assert_int_equal(address, 0);
	layout = layout_of(1, (int64_t[]){ 4 }, (int64_t[]){ 100 });
	FAILS(bi__place_bytes(&layout, UINT64_MAX - 100, &address, &nbytes, &error));
}

static void a_rule_is_cited_once(void **state)
{
	struct bi_error err = { BI_EINVAL, 0, "the strides are odd" };

	(void)state;
	assert_int_equal(bi__cite(BI_EINVAL, "C7", &err), BI_EINVAL);
	assert_non_null(strstr(err.message, "the strides are odd"));
	assert_non_null(strstr(err.message, "C7"));
	bi__cite(BI_EINVAL, "C9", &err);
	assert_non_null(strstr(err.message, "C9"));
	assert_null(strstr(err.message, "C7"));
	assert_int_equal(bi__cite(BI_OK, "C1", &err), BI_OK);
	assert_null(strstr(err.message, "C1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_byte_becomes_the_start),
		cmocka_unit_test(without_elements_there_is_no_place),
		cmocka_unit_test(bytes_that_have_no_address_are_refused),
		cmocka_unit_test(a_rule_is_cited_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
