/* Views of views: each operation is that of the layout, the memory is shared, and read-only stays read-only. */
#include "unit.h"

static struct bi_context *host;

static void expect_layout(struct bi_view *view, const struct bi_layout *expected)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	if (!bi_layout_equal(&layout, expected))
		fail_msg("the view has another layout");
	bi_view_release(view);
}

static void views_have_the_layouts_of_the_operations(void **state)
{
	const struct bi_index items[] = { { BI_INDEX_INTEGER, 1, 0, 1 },
					  { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, -2 } };
	const int64_t wide[] = { 3, 2, 3, 4 }, flat[] = { 24 };
	const int order[] = { 2, 0, 1 };
	struct bi_view *a = NEW_ARRAY(host, "int32", 2, 3, 4), *view;
	struct bi_layout start, layout;

	(void)state;
	bi_view_layout(a, &start);
	layout = start;
	OK(bi_layout_index(&layout, items, 2, &error));
	OK(bi_view_index(a, items, 2, &view, &error));
	expect_layout(view, &layout);
	layout = start;
	OK(bi_layout_permute(&layout, order, &error));
	OK(bi_view_permute(a, order, &view, &error));
	expect_layout(view, &layout);
	layout = start;
	OK(bi_layout_flip(&layout, 1, &error));
	OK(bi_view_flip(a, 1, &view, &error));
	expect_layout(view, &layout);
	layout = start;
	OK(bi_layout_reshape(&layout, 1, flat, &error));
	OK(bi_view_reshape(a, 1, flat, &view, &error));
	expect_layout(view, &layout);
	layout = start;
	OK(bi_layout_broadcast(&layout, 4, wide, &error));
	OK(bi_view_broadcast(a, 4, wide, &view, &error));
	expect_layout(view, &layout);
	layout = start;
	OK(bi_layout_reinterpret(&layout, dtype_of("int16"), NULL, &error));
	OK(bi_view_reinterpret(a, dtype_of("int16"), NULL, &view, &error));
	expect_layout(view, &layout);
	bi_view_release(a);
}

static void read_only_stays(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "int32", 2, 3), *wide, *part;

	(void)state;
	OK(bi_view_broadcast(a, 3, (int64_t[]){ 2, 2, 3 }, &wide, &error));
	assert_int_equal(bi_view_flags(a) & BI_VIEW_READONLY, 0);
	assert_int_equal(bi_view_flags(wide) & BI_VIEW_READONLY, BI_VIEW_READONLY);
	part = every(wide, 1);
	assert_int_equal(bi_view_flags(part) & BI_VIEW_READONLY, BI_VIEW_READONLY);
	bi_view_release(part);
	part = transposed(wide);
	assert_int_equal(bi_view_flags(part) & BI_VIEW_READONLY, BI_VIEW_READONLY);
	bi_view_release(part);
	bi_view_release(wide);
	bi_view_release(a);
}

static void failures_leave_nothing(void **state)
{
	const struct bi_index outside = { BI_INDEX_INTEGER, 9, 0, 1 };
	const int twice[] = { 0, 0 };
	struct bi_view *a = NEW_ARRAY(host, "int32", 2, 3), *view;

	(void)state;
#define REFUSES(status, call) \
	do { \
		view = STALE(struct bi_view); \
		REFUSED(status, call); \
		assert_null(view); \
	} while (0)
	REFUSES(BI_EBOUNDS, bi_view_index(a, &outside, 1, &view, &error));
	REFUSES(BI_EINVAL, bi_view_index(a, NULL, 1, &view, &error));
	REFUSES(BI_EINVAL, bi_view_index(a, &outside, -1, &view, &error));
	REFUSES(BI_EINVAL, bi_view_permute(a, twice, &view, &error));
	REFUSES(BI_EINVAL, bi_view_flip(a, 2, &view, &error));
	REFUSES(BI_EINVAL, bi_view_reshape(a, 1, (int64_t[]){ 7 }, &view, &error));
	REFUSES(BI_EINVAL, bi_view_broadcast(a, 1, (int64_t[]){ 3 }, &view, &error));
	REFUSES(BI_EDTYPE, bi_view_field(a, "x", &view, &error));
	REFUSES(BI_EINVAL, bi_view_permute(NULL, NULL, &view, &error));
	REFUSED(BI_EINVAL, bi_view_permute(a, NULL, NULL, &error));
	bi_view_release(a);
}

static void the_memory_lives_as_long_as_a_view_of_it(void **state)
{
	struct bi_view *a = NEW_ARRAY(host, "uint8", 6), *part = every(a, 2);
	unsigned char bytes[3];

	(void)state;
	number_bytes(a);
	assert_ptr_equal(bi_view_memory(part), bi_view_memory(a));
	bi_view_release(a);
	OK(bi_view_read(part, bytes, sizeof(bytes), &error));
	assert_int_equal(bytes[2], 4);
	bi_view_release(part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(views_have_the_layouts_of_the_operations),
		cmocka_unit_test(read_only_stays),
		cmocka_unit_test(failures_leave_nothing),
		cmocka_unit_test(the_memory_lives_as_long_as_a_view_of_it),
	};
	int failed;

	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	return failed;
}
