/* The host backend: large memory is allocated with a request for large pages, and small memory without one. */
#include "unit.h"

#include "page_flags.h"

#define MIB ((int64_t)1 << 20)

/* Returns test_large_pages_at for the middle of a new array. */
static int large_pages_of_array(int64_t nbytes)
{
	struct bi_context *context = open_device("host");
	struct bi_dtype byte;
	struct bi_view *view;
	int found;

	OK(bi_dtype_make(BI_UINT8, 1, 0, &byte, &error));
	OK(bi_view_empty(context, byte, 1, &nbytes, &view, &error));
	found = test_large_pages_at((char *)bi_view_host_pointer(view) + nbytes / 2);
	bi_view_release(view);
	bi_context_release(context);
	return found;
}

/* The small array is first, because memory that was large may be used again for it. */
static void test_large_pages(void **state)
{
	(void)state;
	if (test_large_pages_at(&fixture) < 0) {
		print_message("the system has no large pages, or does not list the requests\n");
		skip();
	}
	assert_int_equal(large_pages_of_array(MIB), 0);
	assert_int_equal(large_pages_of_array(64 * MIB), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_large_pages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
