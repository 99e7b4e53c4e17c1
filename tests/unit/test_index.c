/* bi_layout_index against a list of the byte offsets of all elements, and what NumPy refuses. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout_reference.h"

static void index_matches_the_reference(void **state)
{
	static struct reference ref;
	struct test_random random = { test_seed() };
	struct bi_index items[4 * MAX_AXES];
	struct bi_layout layout;

	(void)state;
	for (int i = 0; i < CASES; i++) {
		random_layout(&random, 600, &layout, &ref);
		compare(&layout, &ref);
		for (int round = 0; round < 2; round++) {
			int count = random_items(&random, &ref, items);

			if (ref.ndim + count > MAX_AXES)
				break;
			naive_index(&ref, items, count);
			assert_int_equal(bi_layout_index(&layout, items, count, NULL), BI_OK);
			compare(&layout, &ref);
		}
	}
}

/* All slices of short axes, with limits around the ends. */
static void every_slice_matches_the_reference(void **state)
{
	static struct reference ref, all;

	(void)state;
	for (int64_t n = 0; n <= 5; n++)
		for (int64_t start = -7; start <= 8; start++)
			for (int64_t stop = -7; stop <= 8; stop++)
				for (int64_t step = -6; step <= 6; step++) {
					struct bi_index item = { BI_INDEX_SLICE, start == 8 ? BI_OMITTED : start,
								 stop == 8 ? BI_OMITTED : stop, step };
					struct bi_layout layout = make("<i4", 1, &n, NULL, 40);

					if (step == 0)
						continue;
					start_reference(&all, 1, &n, 4);
					for (int64_t k = 0; k < n; k++)
						all.offsets[k] = 40 + 4 * k;
					ref = all;
					naive_index(&ref, &item, 1);
					assert_int_equal(bi_layout_index(&layout, &item, 1, NULL), BI_OK);
					compare(&layout, &ref);
				}
}

static void slices_start_at_minus_one_as_in_numpy(void **state)
{
	static const struct {
		int64_t start, stop, step, offset, extent;
	} cases[] = {
		{ -1, BI_OMITTED, 1, 16, 1 },
		{ -1, BI_OMITTED, -1, 16, 5 },
		{ -1, BI_OMITTED, -2, 16, 3 },
		{ -1, -6, -1, 16, 5 },
		{ -1, -1, -1, 0, 0 },
		{ -1, 0, -1, 16, 4 },
		{ -1, 0, 1, 0, 0 },
		{ -6, BI_OMITTED, -1, 0, 0 },
		{ 7, BI_OMITTED, -1, 16, 5 },
		{ -9, 9, 1, 0, 5 },
		{ 2, INT64_MAX, INT64_MAX, 8, 1 },
		{ INT64_MAX, INT64_MIN + 1, INT64_MIN, 16, 1 },
		{ INT64_MIN + 1, INT64_MAX, 2, 0, 3 },
		{ 3, 3, 1, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_layout layout = MAKE("<i4", 0, 5);
		struct bi_index item = { BI_INDEX_SLICE, cases[i].start, cases[i].stop, cases[i].step };

		assert_int_equal(bi_layout_index(&layout, &item, 1, NULL), BI_OK);
		assert_int_equal(layout.shape[0], cases[i].extent);
		assert_int_equal(layout.offset, cases[i].offset);
		if (cases[i].extent > 1)
			assert_int_equal(layout.strides[0], 4 * cases[i].step);
	}
}

static void index_refuses_what_numpy_refuses(void **state)
{
	struct bi_layout layout = MAKE("<i4", 0, 5, 3);
	struct bi_index items[BI_MAX_NDIM] = { { BI_INDEX_INTEGER, 5, 0, 0 } };

	(void)state;
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, 1, &err), BI_EBOUNDS);
	items[0].start = -6;
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, 1, &err), BI_EBOUNDS);
	items[0].start = INT64_MIN;
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, 1, &err), BI_EBOUNDS);
	items[0].start = 0;
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, 3, &err), BI_EBOUNDS);
	items[1] = (struct bi_index){ BI_INDEX_INTEGER, 3, 0, 0 };
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, 2, &err), BI_EBOUNDS);
	items[1] = (struct bi_index){ BI_INDEX_SLICE, 0, 1, 0 };
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, 2, &err), BI_EINVAL);
	items[1].kind = (enum bi_index_kind)9;
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, 2, &err), BI_EINVAL);
	items[0].kind = items[1].kind = BI_INDEX_ELLIPSIS;
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, 2, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, NULL, 1, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, -1, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_index(NULL, items, 1, &err), BI_EINVAL);
	for (int i = 0; i < BI_MAX_NDIM; i++)
		items[i].kind = BI_INDEX_NEWAXIS;
	ASSERT_UNTOUCHED(&layout, bi_layout_index(&layout, items, BI_MAX_NDIM - 1, &err), BI_EINVAL);
	assert_int_equal(bi_layout_index(&layout, items, BI_MAX_NDIM - 2, NULL), BI_OK);
	assert_int_equal(layout.ndim, BI_MAX_NDIM);
	assert_int_equal(bi_layout_index(&layout, NULL, 0, NULL), BI_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_matches_the_reference),
		cmocka_unit_test(every_slice_matches_the_reference),
		cmocka_unit_test(slices_start_at_minus_one_as_in_numpy),
		cmocka_unit_test(index_refuses_what_numpy_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
