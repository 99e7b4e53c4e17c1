/*
 * The first view of wrapped memory, and one more, lie in room of the memory, and a tensor in room of its view; all
 * others are freed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <string.h>

#include "buffer_interface.h"
#include "buffer_interface/binding.h"
#include "buffer_interface/dlpack.h"

#define VIEWS 1000

static struct bi_error error;

/* Bytes that malloc has lent; sanitizers and valgrind have another malloc, and look for leaks themselves. */
static size_t lent(void)
{
	return mallinfo2().uordblks;
}

/* The view alone holds the context. */
static struct bi_view *wrap(void)
{
	static float numbers[4][4];
	const int64_t shape[2] = { 4, 4 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_dtype type;
	struct bi_view *view;

	options.device = "host";
	assert_int_equal(bi_context_open(&options, &context, &error), BI_OK);
	assert_int_equal(bi_dtype_make(BI_FLOAT32, 1, 0, &type, &error), BI_OK);
	assert_int_equal(bi_view_wrap_host(context, numbers, type, 2, shape, NULL, NULL, &view, &error), BI_OK);
	bi_context_release(context);
	return view;
}

static void test_views_are_freed(void **state)
{
	struct bi_view *first = wrap(), *turned, *again;
	size_t before = lent();

	(void)state;
	for (int i = 0; i < VIEWS; i++) {
		assert_int_equal(bi_view_permute(first, NULL, &turned, &error), BI_OK);
		assert_int_equal(bi_view_permute(turned, NULL, &again, &error), BI_OK);
		bi_view_release(turned);
		bi_view_release(again);
	}
	assert_in_range(lent() - before, 0, VIEWS);
	bi_view_release(first);
}

static void test_tensors_are_freed(void **state)
{
	struct bi_view *view = wrap();
	struct bi_dl_managed_versioned *first, *again;
	size_t before = lent();

	(void)state;
	for (int i = 0; i < VIEWS; i++) {
		assert_int_equal(bi_dlpack_export(view, 0, &first, &error), BI_OK);
		assert_int_equal(bi_dlpack_export(view, 0, &again, &error), BI_OK);
		assert_ptr_not_equal(first, again);
		again->flags = ~first->flags;
		assert_int_equal(first->flags, 0);
		first->deleter(first);
		again->deleter(again);
	}
	assert_in_range(lent() - before, 0, VIEWS);
	bi_view_release(view);
}

/* Elements are counted, though they have no bytes. */
static void test_too_many_without_bytes(void **state)
{
	const int64_t huge = INT64_C(1) << 32;
	struct bi_view *other = wrap(), *view;
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_layout layout;

	(void)state;
	bi_view_layout(other, &layout);
	assert_int_equal(bi_dtype_make(BI_VOID, 1, 0, &layout.dtype, &error), BI_OK);
	layout.ndim = 2;
	layout.shape[0] = layout.shape[1] = huge;
	layout.strides[0] = layout.strides[1] = 0;
	assert_int_equal(bi_view_wrap_at(bi_memory_context(bi_view_memory(other)), 0, &foreign, &layout, &view, &error),
			 BI_EOVERFLOW);
	assert_null(view);
	bi_view_release(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views_are_freed),
		cmocka_unit_test(test_tensors_are_freed),
		cmocka_unit_test(test_too_many_without_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
