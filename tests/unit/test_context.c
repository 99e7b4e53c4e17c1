/* A context that is kept is closed by nobody, however often it is released, and goes on to serve. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "buffer_interface.h"
#include "buffer_interface/binding.h"

static struct bi_error error;
static struct bi_context *kept; /* found by whoever looks for leaks */
static int numbers[4] = { 1, 2, 3, 4 };

static void count_release(void *data)
{
	++*(int *)data;
}

static struct bi_view *wrap(int *released)
{
	static const int64_t shape[1] = { 4 };
	struct bi_dtype type;
	struct bi_view *view;

	assert_int_equal(bi_dtype_make(BI_INT32, 1, 0, &type, &error), BI_OK);
	assert_int_equal(bi_view_wrap_host(kept, numbers, type, 1, shape, count_release, released, &view, &error),
			 BI_OK);
	return view;
}

static void check_view(struct bi_view *view, int *released)
{
	int back[4] = { 0 }, before = *released;

	assert_ptr_equal(bi_memory_context(bi_view_memory(view)), kept);
	assert_int_equal(bi_view_read(view, back, sizeof(back), &error), BI_OK);
	assert_memory_equal(back, numbers, sizeof(back));
	bi_view_release(view);
	assert_int_equal(*released, before + 1);
}

static void test_kept(void **state)
{
	static int closed;
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_view *before;
	int released = 0;

	(void)state;
	options.device = "host";
	options.release = count_release;
	options.release_data = &closed;
	assert_int_equal(bi_context_open(&options, &kept, &error), BI_OK);
	before = wrap(&released);
	bi_context_retain(kept);
	bi_context_make_immortal(kept);
	bi_context_release(kept);
	bi_context_release(kept);
	check_view(before, &released);
	assert_int_equal(closed, 0);
	assert_ptr_equal(bi_context_retain(kept), kept);
	bi_context_release(kept);
	check_view(wrap(&released), &released);
	assert_int_equal(closed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_kept) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
