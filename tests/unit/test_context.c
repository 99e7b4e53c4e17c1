/* A context lives until its last reference is released: by the caller, or by what was made in it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "buffer_interface.h"

static struct bi_error error;

static void count_release(void *data)
{
	++*(int *)data;
}

static struct bi_context *open_host(int *closed)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = "host";
	options.release = count_release;
	options.release_data = closed;
	assert_int_equal(bi_context_open(&options, &context, &error), BI_OK);
	return context;
}

static void test_last_reference(void **state)
{
	int closed = 0;
	struct bi_context *context = open_host(&closed);

	(void)state;
	assert_ptr_equal(bi_context_retain(context), context);
	bi_context_release(context);
	assert_int_equal(closed, 0);
	bi_context_release(context);
	assert_int_equal(closed, 1);
	bi_context_release(NULL);
}

static void test_view_keeps_it_open(void **state)
{
	static const int64_t shape[1] = { 4 };
	int numbers[4] = { 1, 2, 3, 4 }, back[4] = { 0 }, closed = 0, released = 0;
	struct bi_context *context = open_host(&closed);
	struct bi_view *view;
	struct bi_dtype type;

	(void)state;
	assert_int_equal(bi_dtype_make(BI_INT32, 1, 0, &type, &error), BI_OK);
	assert_int_equal(bi_view_wrap_host(context, numbers, type, 1, shape, count_release, &released, &view, &error),
			 BI_OK);
	bi_context_release(context);
	assert_int_equal(closed, 0);
	assert_ptr_equal(bi_memory_context(bi_view_memory(view)), context);
	assert_int_equal(bi_view_read(view, back, sizeof(back), &error), BI_OK);
	assert_memory_equal(back, numbers, sizeof(back));
	bi_view_release(view);
	assert_int_equal(released, 1);
	assert_int_equal(closed, 1);
}

static void test_trim_and_current(void **state)
{
	int closed = 0, entered = -1;
	struct bi_context *context = open_host(&closed);

	(void)state;
	assert_int_equal(bi_context_push_current(context, &entered, &error), BI_OK);
	assert_int_equal(entered, 0);
	bi_context_pop_current(context, entered);
	assert_int_equal(bi_context_trim(context, 0, &error), BI_OK);
	assert_int_equal(bi_context_trim(NULL, 0, &error), BI_EINVAL);
	bi_context_release(context);
	assert_int_equal(closed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_reference),
		cmocka_unit_test(test_view_keeps_it_open),
		cmocka_unit_test(test_trim_and_current),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
