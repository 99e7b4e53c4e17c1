/* Overlap of layouts against sets of bytes, and the bound of the search. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout_reference.h"

#define BYTES 32768

static int mark(const struct reference *ref, unsigned char *bytes)
{
	int twice = 0;

	memset(bytes, 0, BYTES);
	for (int64_t k = 0; k < ref->count; k++)
		for (int64_t i = 0; i < ref->item_size; i++)
			twice |= bytes[BYTES / 2 + ref->offsets[k] + i]++;
	return twice != 0;
}

static int naive_overlap(const struct reference *a, const struct reference *b)
{
	static unsigned char in_a[BYTES], in_b[BYTES];

	mark(a, in_a);
	mark(b, in_b);
	for (int i = 0; i < BYTES; i++)
		if (in_a[i] && in_b[i])
			return 1;
	return 0;
}

static int naive_self_overlap(const struct reference *ref)
{
	static unsigned char bytes[BYTES];

	for (int64_t k = 0; k < ref->count; k++)
		if (ref->offsets[k] < -BYTES / 2 || ref->offsets[k] + ref->item_size > BYTES / 2)
			return -1;
	return mark(ref, bytes);
}

static void compare_overlap(const struct bi_layout *a, const struct reference *ref_a, const struct bi_layout *b,
			    const struct reference *ref_b, int found[2])
{
	int self_a = naive_self_overlap(ref_a), wanted;

	if (self_a < 0 || naive_self_overlap(ref_b) < 0)
		return;
	assert_int_equal(bi_layout_self_overlap(a), self_a);
	wanted = naive_overlap(ref_a, ref_b);
	assert_int_equal(bi_layout_overlap(a, b), wanted);
	assert_int_equal(bi_layout_overlap(b, a), wanted);
	found[wanted]++;
}

static void random_overlaps_match_byte_sets(void **state)
{
	static struct reference ref_a, ref_b;
	struct test_random random = { test_seed() };
	struct bi_layout a, b;
	int found[2] = { 0, 0 };

	(void)state;
	for (int i = 0; i < CASES; i++) {
		random_layout(&random, 60, &a, &ref_a);
		random_layout(&random, 60, &b, &ref_b);
		compare_overlap(&a, &ref_a, &b, &ref_b, found);
	}
	assert_true(found[0] > CASES / 15 && found[1] > CASES / 15);
}

/* Two slices of one dense array, with small items now and then, as fields make them. */
static void overlaps_of_slices_match_byte_sets(void **state)
{
	static struct reference whole, ref_a, ref_b;
	struct test_random random = { test_seed() };
	int found[2] = { 0, 0 };

	(void)state;
	for (int i = 0; i < CASES; i++) {
		int64_t shape[3] = { test_between(&random, 1, 9), test_between(&random, 1, 9),
				     test_between(&random, 1, 9) };
		struct bi_layout layouts[2];
		struct reference *refs[2] = { &ref_a, &ref_b };

		layouts[0] = layouts[1] = make("V8", 3, shape, NULL, 0);
		start_reference(&whole, 3, shape, 8);
		for (int64_t k = 0; k < whole.count; k++)
			whole.offsets[k] = 8 * k;
		for (int side = 0; side < 2; side++) {
			struct bi_index items[3];
			int64_t first, shift = test_between(&random, 0, 7);

			*refs[side] = whole;
			for (int axis = 0; axis < 3; axis++) {
				first = test_between(&random, 0, shape[axis] - 1);
				items[axis] = (struct bi_index){ BI_INDEX_SLICE, first > 7 ? 0 : first, BI_OMITTED,
								 test_between(&random, 2, 4) };
			}
			naive_index(refs[side], items, 3);
			assert_int_equal(bi_layout_index(&layouts[side], items, 3, NULL), BI_OK);
			if (test_between(&random, 0, 2) == 0) {
				layouts[side].offset += shift;
				layouts[side].dtype.item_size = (uint32_t)(8 - shift);
				refs[side]->item_size = 8 - shift;
				for (int64_t k = 0; k < refs[side]->count; k++)
					refs[side]->offsets[k] += shift;
			}
		}
		compare_overlap(&layouts[0], &ref_a, &layouts[1], &ref_b, found);
	}
	assert_true(found[0] > CASES / 15 && found[1] > CASES / 15);
}

/* Too large to be counted byte by byte; each answer is known and needs the search to be clever. */
static void overlaps_of_large_slices_are_exact(void **state)
{
	struct bi_layout whole = MAKE("<f4", 0, 5000000, 30, 1000), a = whole, b = whole, c;
	struct bi_index left[] = { { BI_INDEX_SLICE, 0, BI_OMITTED, 2 },
				   { BI_INDEX_SLICE, 1, BI_OMITTED, 3 },
				   { BI_INDEX_SLICE, 0, 500, 5 } };
	struct bi_index right[] = { { BI_INDEX_SLICE, 0, BI_OMITTED, 3 },
				    { BI_INDEX_SLICE, 1, BI_OMITTED, 7 },
				    { BI_INDEX_SLICE, 500, BI_OMITTED, 7 } };

	(void)state;
	assert_int_equal(bi_layout_index(&a, left, 3, NULL), BI_OK);
	assert_int_equal(bi_layout_index(&b, right, 3, NULL), BI_OK);
	assert_int_equal(bi_layout_overlap(&a, &b), 0);
	assert_int_equal(bi_layout_overlap(&whole, &b), 1);
	assert_int_equal(bi_layout_self_overlap(&whole), 0);
	assert_int_equal(bi_layout_self_overlap(&a), 0);
	assert_int_equal(bi_layout_init(&c, a.dtype, 2, (const int64_t[]){ 2, 2 },
					(const int64_t[]){ INT64_C(1) << 62, -(INT64_C(1) << 62) - 64 }, 0, NULL),
			 BI_OK);
	assert_int_equal(bi_layout_self_overlap(&c), 0);
	right[2].start = 3;
	b = whole;
	assert_int_equal(bi_layout_index(&b, right, 3, NULL), BI_OK);
	assert_int_equal(bi_layout_overlap(&a, &b), 1);
}

static void overlap_edge_cases(void **state)
{
	static const int64_t three[] = { 3 }, zero[] = { 0 }, odd[] = { 3 }, two_axes[] = { 3, 3 },
			     crossing[] = { 4, 6 };
	static const int64_t far[] = { INT64_MAX / 8 };
	struct bi_layout a = make("<i4", 1, three, zero, 0), b = make("<i4", 1, three, odd, 0), c;

	(void)state;
	assert_int_equal(bi_layout_self_overlap(&a), 1);
	assert_int_equal(bi_layout_self_overlap(&b), 1);
	c = make("<i2", 2, two_axes, crossing, 0);
	assert_int_equal(bi_layout_self_overlap(&c), 0);
	c = make("V0", 1, three, zero, 0);
	assert_int_equal(bi_layout_self_overlap(&c), 0);
	assert_int_equal(bi_layout_overlap(&a, &c), 0);
	c = make("<i4", 1, zero, NULL, 2);
	assert_int_equal(bi_layout_overlap(&a, &c), 0);
	assert_int_equal(bi_layout_self_overlap(&c), 0);
	a = make("<i8", 1, far, NULL, 0);
	assert_int_equal(bi_layout_self_overlap(&a), 0);
	assert_int_equal(bi_layout_overlap(&a, &a), 1);
}

/* A sum of unrelated steps: the search gives up, says 1, and does not run for ever. */
static void overlap_search_is_bounded(void **state)
{
	int64_t shape[24], strides[24], index[24], b_offset;
	struct test_random random = { 5 };
	struct bi_layout a, b;

	(void)state;
	for (int i = 0; i < 24; i++) {
		shape[i] = 3;
		index[i] = 1;
		strides[i] = 2 * test_between(&random, INT64_C(1) << 40, INT64_C(1) << 41);
	}
	a = make("|u1", 24, shape, strides, 0);
	assert_int_equal(bi_layout_element(&a, index, &b_offset, NULL), BI_OK);
	b = make("|u1", 0, NULL, NULL, b_offset + 1);
	assert_int_equal(bi_layout_overlap(&a, &b), 0);
	b = make("|u1", 0, NULL, NULL, b_offset + 2);
	assert_int_equal(bi_layout_overlap(&a, &b), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_overlaps_match_byte_sets),
		cmocka_unit_test(overlaps_of_slices_match_byte_sets),
		cmocka_unit_test(overlaps_of_large_slices_are_exact),
		cmocka_unit_test(overlap_edge_cases),
		cmocka_unit_test(overlap_search_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
