/*
 * Layout operations against a naive reference (layout_reference.h), and what they refuse. Indexing, fields and overlap
 * have test programs of their own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/layout/layout.h"
#include "layout_reference.h"

static void naive_permute(struct reference *ref, const int *axes)
{
	static struct reference old;
	int64_t shape[MAX_AXES], index[MAX_AXES] = { 0 }, source[MAX_AXES];

	old = *ref;
	for (int i = 0; i < old.ndim; i++)
		shape[i] = old.shape[axes[i]];
	start_reference(ref, old.ndim, shape, old.item_size);
	for (int64_t k = 0; k < ref->count; k++) {
		for (int i = 0; i < old.ndim; i++)
			source[axes[i]] = index[i];
		ref->offsets[k] = old.offsets[position(old.ndim, old.shape, source)];
		next_index(old.ndim, shape, index);
	}
}

static void naive_flip(struct reference *ref, int axis)
{
	static struct reference old;
	int64_t index[MAX_AXES] = { 0 };

	old = *ref;
	for (int64_t k = 0; k < ref->count; k++) {
		int64_t kept = index[axis];

		index[axis] = ref->shape[axis] - 1 - kept;
		ref->offsets[k] = old.offsets[position(old.ndim, old.shape, index)];
		index[axis] = kept;
		next_index(old.ndim, old.shape, index);
	}
}

static void naive_broadcast(struct reference *ref, int ndim, const int64_t *shape)
{
	static struct reference old;
	int64_t index[MAX_AXES] = { 0 }, source[MAX_AXES];

	old = *ref;
	start_reference(ref, ndim, shape, old.item_size);
	for (int64_t k = 0; k < ref->count; k++) {
		for (int i = 0; i < old.ndim; i++)
			source[i] = old.shape[i] == 1 ? 0 : index[ndim - old.ndim + i];
		ref->offsets[k] = old.offsets[position(old.ndim, old.shape, source)];
		next_index(ndim, shape, index);
	}
}

/* Can the list be seen as an array of its shape, with one stride for each axis? */
static int is_strided(const struct reference *ref)
{
	int64_t index[MAX_AXES] = { 0 }, strides[MAX_AXES] = { 0 };

	for (int i = 0; i < ref->ndim && ref->count > 0; i++) {
		if (ref->shape[i] < 2)
			continue;
		index[i] = 1;
		strides[i] = ref->offsets[position(ref->ndim, ref->shape, index)] - ref->offsets[0];
		index[i] = 0;
	}
	for (int64_t k = 0; k < ref->count; k++) {
		int64_t offset = ref->offsets[0];

		for (int i = 0; i < ref->ndim; i++)
			offset += index[i] * strides[i];
		if (offset != ref->offsets[k])
			return 0;
		next_index(ref->ndim, ref->shape, index);
	}
	return 1;
}

static void permute_and_flip_match_the_reference(void **state)
{
	static struct reference ref;
	struct test_random random = { test_seed() };
	struct bi_layout layout;
	int axes[MAX_AXES], given[MAX_AXES];

	(void)state;
	for (int i = 0; i < CASES; i++) {
		random_layout(&random, 600, &layout, &ref);
		for (int k = 0; k < ref.ndim; k++)
			axes[k] = ref.ndim - 1 - k;
		if (test_between(&random, 0, 4)) {
			for (int k = ref.ndim - 1; k > 0; k--) {
				int other = (int)test_between(&random, 0, k), axis = axes[k];

				axes[k] = axes[other];
				axes[other] = axis;
			}
			for (int k = 0; k < ref.ndim; k++)
				given[k] = test_between(&random, 0, 1) ? axes[k] : axes[k] - ref.ndim;
			assert_int_equal(bi_layout_permute(&layout, given, NULL), BI_OK);
		} else {
			assert_int_equal(bi_layout_permute(&layout, NULL, NULL), BI_OK);
		}
		naive_permute(&ref, axes);
		compare(&layout, &ref);
		if (ref.ndim > 0) {
			int axis = (int)test_between(&random, -ref.ndim, ref.ndim - 1);

			naive_flip(&ref, axis < 0 ? axis + ref.ndim : axis);
			assert_int_equal(bi_layout_flip(&layout, axis, NULL), BI_OK);
			compare(&layout, &ref);
		}
	}
}

/* Extents that multiply to `count`, with a few of 1 in between. */
static int random_factors(struct test_random *random, int64_t count, int64_t *shape)
{
	int ndim = 0;

	while (ndim < 10 && (count > 1 || test_between(random, 0, 2) == 0)) {
		int64_t factor = count > 1 ? test_between(random, 1, 7) : 1;

		if (factor > 1 && count % factor)
			continue;
		shape[ndim++] = factor;
		count /= factor;
	}
	if (count > 1)
		shape[ndim++] = count;
	return ndim;
}

static void reshape_matches_the_reference(void **state)
{
	static struct reference ref;
	struct test_random random = { test_seed() };
	int64_t shape[MAX_AXES], inferred[MAX_AXES];
	int views = 0, copies = 0;

	(void)state;
	for (int i = 0; i < 3 * CASES; i++) {
		struct bi_layout layout, before;
		struct bi_error err;
		int ndim, rc;

		random_layout(&random, 256, &layout, &ref);
		ndim = random_factors(&random, ref.count, shape);
		if (ref.count == 0)
			shape[ndim++] = 0;
		memcpy(inferred, shape, sizeof(shape));
		if (ndim > 0 && ref.count > 0 && test_between(&random, 0, 1))
			inferred[test_between(&random, 0, ndim - 1)] = -1;
		start_reference(&ref, ndim, shape, ref.item_size);
		before = layout;
		rc = bi_layout_reshape(&layout, ndim, inferred, &err);
		if (is_strided(&ref)) {
			views++;
			assert_int_equal(rc, BI_OK);
			compare(&layout, &ref);
		} else {
			copies++;
			assert_refused(rc, BI_EUNSUPPORTED, &err);
			assert_memory_equal(&layout, &before, sizeof(before));
		}
	}
	assert_true(views > CASES && copies > CASES / 4);
}

static void broadcast_matches_the_reference(void **state)
{
	static struct reference ref;
	struct test_random random = { test_seed() };
	int refused = 0;

	(void)state;
	for (int i = 0; i < CASES; i++) {
		int64_t shape[MAX_AXES], count = 1;
		struct bi_layout layout;
		int ndim, added, fits = 1;

		random_layout(&random, 40, &layout, &ref);
		added = (int)test_between(&random, 0, 2);
		ndim = ref.ndim + added;
		for (int k = 0; k < ndim; k++) {
			int64_t extent = k < added ? 1 : ref.shape[k - added];

			shape[k] = extent;
			if (count < 200 && (extent == 1 || test_between(&random, 0, 9) == 0))
				shape[k] = test_between(&random, 0, 4);
			fits &= extent == 1 || extent == shape[k];
			count *= shape[k];
		}
		if (fits) {
			naive_broadcast(&ref, ndim, shape);
			assert_int_equal(bi_layout_broadcast(&layout, ndim, shape, NULL), BI_OK);
			compare(&layout, &ref);
		} else {
			refused++;
			ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, ndim, shape, &err), BI_EINVAL);
		}
	}
	assert_in_range(refused, CASES / 30, CASES - CASES / 3);
}

/* The bytes of each row, one after the other, cut into items of the new size. Returns 0 if that cannot be done. */
static int naive_reinterpret(struct reference *ref, int64_t item_size)
{
	static int64_t bytes[8 * MAX_ELEMENTS];
	int64_t row, n = 0;

	if (ref->ndim == 0)
		return 0;
	row = ref->shape[ref->ndim - 1] * ref->item_size;
	if (row % item_size || (ref->item_size > item_size && ref->item_size % item_size))
		return 0;
	for (int64_t k = 0; k < ref->count; k++)
		for (int64_t i = 0; i < ref->item_size; i++)
			bytes[n++] = ref->offsets[k] + i;
	ref->shape[ref->ndim - 1] = row / item_size;
	ref->count = product(ref->ndim, ref->shape);
	for (int64_t i = 0; i < row && n > 0; i++)
		if (bytes[i] != bytes[0] + i)
			return 0;
	for (int64_t k = 0; k < ref->count; k++)
		ref->offsets[k] = bytes[k * item_size];
	ref->item_size = item_size;
	return 1;
}

static void reinterpret_matches_the_reference(void **state)
{
	static struct reference ref;
	struct test_random random = { test_seed() };
	int done = 0;

	(void)state;
	for (int i = 0; i < 3 * CASES; i++) {
		struct bi_layout layout;
		struct bi_dtype dtype;
		int64_t item_size = item_sizes[test_between(&random, 0, ARRAY_LENGTH(item_sizes) - 1)];

		random_layout(&random, 200, &layout, &ref);
		assert_int_equal(bi_dtype_make(BI_VOID, 1, (uint32_t)item_size, &dtype, NULL), BI_OK);
		if (item_size == ref.item_size || naive_reinterpret(&ref, item_size)) {
			done += item_size != ref.item_size || ref.count > 0;
			assert_int_equal(bi_layout_reinterpret(&layout, dtype, NULL, NULL), BI_OK);
			compare(&layout, &ref);
		} else {
			ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, dtype, NULL, &err), BI_EDTYPE);
		}
	}
	assert_in_range(done, CASES / 2, 3 * CASES);
}

static void init_checks_its_arguments(void **state)
{
	static const int64_t negative[] = { 2, -1 }, shape[] = { 2, 3 };
	struct bi_layout layout = MAKE("<i4", 8, 2, 2);
	struct bi_dtype dtype = layout.dtype;

	(void)state;
	ASSERT_UNTOUCHED(&layout, bi_layout_init(NULL, dtype, 2, shape, NULL, 0, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_init(&layout, dtype, -1, shape, NULL, 0, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_init(&layout, dtype, BI_MAX_NDIM + 1, shape, NULL, 0, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_init(&layout, dtype, 1, NULL, NULL, 0, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_init(&layout, dtype, 2, negative, NULL, 0, &err), BI_EINVAL);
	assert_int_equal(bi_layout_init(&layout, dtype, 0, NULL, NULL, 0, NULL), BI_OK);
	assert_int_equal(bi_layout_size(&layout), 1);
	assert_int_equal(bi_layout_nbytes(&layout), 4);
}

#define BIG (INT64_C(1) << 62)

static void sizes_and_offsets_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		const char *type;
		int ndim;
		int64_t shape[3], strides[3], offset;
		int status, dense;
	} cases[] = {
		{ "|u1", 1, { INT64_MAX }, { 0 }, 0, BI_OK, 1 },
		{ "|u1", 1, { INT64_MAX }, { 0 }, 1, BI_EOVERFLOW, 1 },
		{ "<i2", 1, { INT64_MAX }, { 0 }, 0, BI_EOVERFLOW, 1 },
		{ "V0", 2, { BIG, 2 }, { 0 }, 0, BI_EOVERFLOW, 1 },
		{ "V0", 1, { INT64_MAX }, { 0 }, 7, BI_OK, 1 },
		{ "|u1", 2, { BIG, 2 }, { 0 }, 0, BI_EOVERFLOW, 1 },
		{ "|u1", 3, { BIG, 0, 2 }, { 0 }, 0, BI_EOVERFLOW, 1 },
		{ "|u1", 3, { 0, BIG, 2 }, { 0 }, 0, BI_EOVERFLOW, 1 },
		{ "<i4", 2, { 0, BIG }, { 0 }, 0, BI_EOVERFLOW, 1 },
		{ "<i4", 2, { 0, BIG / 4 }, { 0 }, 0, BI_OK, 1 },
		{ "|u1", 1, { 3 }, { BIG }, 0, BI_EOVERFLOW, 0 },
		{ "|u1", 1, { 2 }, { BIG }, BIG - 2, BI_OK, 0 },
		{ "|u1", 1, { 2 }, { BIG }, BIG - 1, BI_EOVERFLOW, 0 },
		{ "<i4", 1, { 2 }, { BIG }, BIG - 4, BI_EOVERFLOW, 0 },
		{ "<i4", 1, { 2 }, { BIG }, BIG - 5, BI_OK, 0 },
		{ "|u1", 2, { 2, 2 }, { BIG, BIG }, 0, BI_EOVERFLOW, 0 },
		{ "|u1", 2, { 2, 2 }, { BIG, -BIG }, 0, BI_OK, 0 },
		{ "|u1", 1, { 2 }, { -BIG }, -BIG, BI_OK, 0 },
		{ "|u1", 1, { 2 }, { -BIG }, -BIG - 1, BI_EOVERFLOW, 0 },
		{ "|u1", 1, { 2 }, { INT64_MIN }, 0, BI_EOVERFLOW, 0 },
		{ "|u1", 1, { 3 }, { INT64_MIN / 2 }, 0, BI_EOVERFLOW, 0 },
		{ "|u1", 1, { 1 }, { INT64_MIN }, 0, BI_OK, 0 },
		{ "|u1", 3, { 0, 5, 9 }, { INT64_MIN, INT64_MAX, INT64_MIN }, 0, BI_OK, 0 },
		{ "|u1", 0, { 0 }, { 0 }, INT64_MAX, BI_EOVERFLOW, 1 },
		{ "|u1", 0, { 0 }, { 0 }, INT64_MIN, BI_OK, 1 },
	};
	struct bi_layout layout = MAKE("<i4", 8, 2, 2), before = layout;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_dtype dtype;
		struct bi_error err;
		char offset[40];
		int rc;

		layout = before;
		snprintf(offset, sizeof(offset), "offset %" PRId64, cases[i].offset);
		assert_int_equal(bi_dtype_parse(cases[i].type, &dtype, NULL), BI_OK);
		rc = bi_layout_init(&layout, dtype, cases[i].ndim, cases[i].shape,
				    cases[i].dense ? NULL : cases[i].strides, cases[i].offset, &err);
		if (rc != cases[i].status)
			fail_msg("case %zu gives %d", i, rc);
		if (rc != BI_OK)
			assert_memory_equal(&layout, &before, sizeof(layout));
		if (rc != BI_OK && cases[i].offset && !strstr(err.message, offset))
			fail_msg("case %zu does not name the offset: %s", i, err.message);
	}
}

/* Operations that make more elements, larger items or other shapes out of sizes that fit. */
static void operations_check_what_they_multiply(void **state)
{
	struct bi_layout layout = MAKE("<i4", 0, 1);
	struct bi_dtype dtype;

	(void)state;
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 2, (int64_t[]){ BIG, 2 }, &err), BI_EOVERFLOW);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 1, (int64_t[]){ BIG }, &err), BI_EOVERFLOW);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 2, (int64_t[]){ 0, BIG }, &err), BI_EOVERFLOW);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 1, (int64_t[]){ -1 }, &err), BI_EINVAL);
	layout = MAKE("<i4", 0, 0);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 3, (int64_t[]){ 0, BIG, 2 }, &err), BI_EOVERFLOW);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 3, (int64_t[]){ -1, BIG, 2 }, &err), BI_EOVERFLOW);
	layout = MAKE("|u1", 0, BIG, 0);
	assert_int_equal(bi_dtype_parse("<i8", &dtype, NULL), BI_OK);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, dtype, NULL, &err), BI_EOVERFLOW);
	layout = MAKE("V8", 0, INT64_C(1) << 59);
	assert_int_equal(bi_layout_reinterpret(&layout, layout.dtype, "[('e', '|u1', (0, 4)), ('f', '<i8')]", NULL),
			 BI_OK);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "g", &err), BI_EINVAL);
	assert_int_equal(bi_layout_field(&layout, "e", NULL), BI_OK);
	assert_int_equal(bi_layout_size(&layout), 0);
}

/* Strides without meaning, as empty arrays may have them, are never added up. */
static void empty_arrays_may_have_any_strides(void **state)
{
	static const int64_t shape[] = { 5, 0, 6 }, strides[] = { INT64_MIN, INT64_MAX, INT64_MAX - 3 };
	static const char descr[] = "[('', '<i2'), ('b', '<i2')]";
	struct bi_layout layout = make("<i4", 3, shape, strides, INT64_MAX);
	struct bi_index items[] = { { BI_INDEX_INTEGER, 4, 0, 0 },
				    { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, -3 },
				    { BI_INDEX_SLICE, 5, BI_OMITTED, -2 } };
	struct bi_dtype dtype = { 4, 1, BI_VOID, 0 };
	struct bi_error err;
	int64_t offset;

	(void)state;
	for (int axis = 0; axis < 3; axis++)
		assert_int_equal(bi_layout_flip(&layout, axis, NULL), BI_OK);
	assert_refused(bi_layout_element(&layout, (int64_t[]){ 4, 0, 5 }, &offset, &err), BI_EBOUNDS, &err);
	assert_true(bi_layout_is_contiguous(&layout, 'C') && bi_layout_is_contiguous(&layout, 'F'));
	assert_int_equal(bi_layout_overlap(&layout, &layout), 0);
	assert_int_equal(bi_layout_self_overlap(&layout), 0);
	assert_int_equal(bi_layout_reinterpret(&layout, dtype, descr, NULL), BI_OK);
	assert_int_equal(bi_layout_field(&layout, "b", NULL), BI_OK);
	assert_int_equal(bi_layout_index(&layout, items, 3, NULL), BI_OK);
	assert_int_equal(layout.ndim, 2);
	assert_int_equal(layout.shape[0], 0);
	assert_int_equal(layout.shape[1], 3);
	assert_int_equal(bi_layout_permute(&layout, NULL, NULL), BI_OK);
	assert_int_equal(bi_layout_reshape(&layout, 2, (int64_t[]){ 7, 0 }, NULL), BI_OK);
	assert_int_equal(bi_layout_broadcast(&layout, 3, (int64_t[]){ 2, 7, 0 }, NULL), BI_OK);
	assert_int_equal(layout.offset, INT64_MAX);
}

static void permute_and_flip_refuse_bad_axes(void **state)
{
	static const int bad[][3] = {
		{ 0, 0, 1 }, { 0, 1, 3 }, { 0, 1, -4 }, { -1, 2, 0 }, { 0, -3, 1 }, { 1, 2, 64 }
	};
	struct bi_layout layout = MAKE("<i4", 0, 5, 3, 2), point = make("<i4", 0, NULL, NULL, 0);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		ASSERT_UNTOUCHED(&layout, bi_layout_permute(&layout, bad[i], &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_permute(NULL, bad[0], &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_flip(&layout, 3, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_flip(&layout, -4, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&point, bi_layout_flip(&point, 0, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&point, bi_layout_flip(NULL, 0, &err), BI_EINVAL);
	assert_int_equal(bi_layout_permute(&point, NULL, NULL), BI_OK);
}

static void reshape_and_broadcast_refuse_bad_shapes(void **state)
{
	struct bi_layout layout = MAKE("<i4", 0, 2, 6), empty = MAKE("<i4", 0, 0, 3);
	struct bi_error refusal;

	(void)state;
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 2, (int64_t[]){ 5, 2 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 2, (int64_t[]){ -1, -1 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 2, (int64_t[]){ -2, -6 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 2, (int64_t[]){ -1, 5 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 2, (int64_t[]){ -1, 0 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 0, NULL, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 1, NULL, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reshape(&layout, 65, layout.shape, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&empty, bi_layout_reshape(&empty, 2, (int64_t[]){ -1, 0 }, &err), BI_EINVAL);
	assert_int_equal(bi_layout_reshape(&empty, 2, (int64_t[]){ 0, -1 }, &refusal), BI_EINVAL);
	assert_string_equal(refusal.message, "shape[1] is -1 beside an extent of 0: write the extent");
	assert_int_equal(bi_layout_reshape(&layout, 2, (int64_t[]){ -1, 0 }, &refusal), BI_EINVAL);
	assert_non_null(strstr(refusal.message, "do not fit extents that multiply to 0"));
	ASSERT_UNTOUCHED(&empty, bi_layout_reshape(&empty, 1, (int64_t[]){ 3 }, &err), BI_EINVAL);
	assert_int_equal(bi_layout_reshape(&empty, 2, (int64_t[]){ -1, 5 }, NULL), BI_OK);
	assert_int_equal(empty.shape[0], 0);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 1, (int64_t[]){ 6 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 2, (int64_t[]){ 2, 12 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 2, NULL, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 65, layout.shape, &err), BI_EINVAL);
}

static void equal_ignores_strides_that_nobody_steps_by(void **state)
{
	static const int64_t shape[] = { 1, 4 }, strides[] = { 99, 4 };
	struct bi_layout a = MAKE("<i4", 0, 1, 4), b = make("<i4", 2, shape, strides, 0), c = a;

	(void)state;
	assert_true(bi_layout_equal(&a, &b));
	c.offset = 4;
	assert_false(bi_layout_equal(&a, &c));
	c = MAKE("<f4", 0, 1, 4);
	assert_false(bi_layout_equal(&a, &c));
	c = MAKE("<i4", 0, 4);
	assert_false(bi_layout_equal(&a, &c));
	c = MAKE("<i4", 0, 1, 3);
	assert_false(bi_layout_equal(&a, &c));
	assert_int_equal(bi_layout_flip(&b, 1, NULL), BI_OK);
	b.offset = 0;
	assert_false(bi_layout_equal(&a, &b));
	a = b = MAKE("V4", 0, 2);
	assert_int_equal(bi_layout_reinterpret(&a, a.dtype, "[('x', '<f4')]", NULL), BI_OK);
	assert_false(bi_layout_equal(&a, &b));
	assert_int_equal(bi_layout_reinterpret(&b, a.dtype, "[('y', '<f4')]", NULL), BI_OK);
	assert_false(bi_layout_equal(&a, &b));
	assert_int_equal(bi_layout_reinterpret(&b, a.dtype, "[('x', '<f4')]", NULL), BI_OK);
	assert_true(bi_layout_equal(&a, &b));
}

static void contiguity_knows_two_orders(void **state)
{
	struct bi_layout layout = MAKE("<i4", 0, 2, 3), empty = MAKE("<i4", 0, 2, 0, 3);

	(void)state;
	assert_int_equal(empty.strides[0], 12);
	assert_int_equal(empty.strides[1], 12);
	assert_int_equal(empty.strides[2], 4);
	assert_int_equal(bi_layout_is_contiguous(&layout, 'C'), 1);
	assert_int_equal(bi_layout_is_contiguous(&layout, 'F'), 0);
	assert_int_equal(bi_layout_is_contiguous(&layout, 'A'), 0);
}

static void element_refuses_what_is_outside(void **state)
{
	struct bi_layout layout = MAKE("<i4", 0, 2, 3);
	int64_t offset = 77, outside[][2] = { { 2, 0 }, { 0, 3 }, { -3, 0 }, { 0, INT64_MIN }, { INT64_MAX, 0 } };
	struct bi_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(outside); i++)
		assert_refused(bi_layout_element(&layout, outside[i], &offset, &err), BI_EBOUNDS, &err);
	assert_refused(bi_layout_element(&layout, NULL, &offset, &err), BI_EINVAL, &err);
	assert_refused(bi_layout_element(&layout, outside[0], NULL, &err), BI_EINVAL, &err);
	assert_refused(bi_layout_element(NULL, outside[0], &offset, &err), BI_EINVAL, &err);
	assert_int_equal(offset, 77);
}

/* Layouts that bi_layout_init never filled are refused before anything is read beyond them. */
static void layouts_filled_wrongly_are_refused(void **state)
{
	static const int wrong[] = { -1, BI_MAX_NDIM + 1, 1000000 };
	static const int64_t shape[] = { 1 };
	struct bi_layout layout = {
		.dtype = { 4, 1, BI_FLOAT32, 0 }, .ndim = 1, .shape = { INT64_MAX }, .strides = { 4 }
	};
	const struct bi_index items[BI_MAX_NDIM + 1] = { { .kind = BI_INDEX_INTEGER } };
	const int64_t index[BI_MAX_NDIM + 1] = { 0 };
	struct bi_plan plan;
	int64_t offset;

	(void)state;
	assert_true(bi_plan_make(&layout, NULL, &plan, NULL) < 0);
	assert_true(bi_plan_make(&layout, &layout, &plan, NULL) < 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		layout.ndim = wrong[i];
		assert_int_equal(bi_layout_permute(&layout, NULL, NULL), BI_EINVAL);
		assert_int_equal(bi_layout_flip(&layout, 0, NULL), BI_EINVAL);
		assert_int_equal(bi_layout_reshape(&layout, 1, shape, NULL), BI_EINVAL);
		assert_int_equal(bi_layout_broadcast(&layout, 1, shape, NULL), BI_EINVAL);
		assert_int_equal(bi_layout_reinterpret(&layout, layout.dtype, NULL, NULL), BI_EINVAL);
		assert_int_equal(bi_layout_element(&layout, index, &offset, NULL), BI_EINVAL);
		assert_int_equal(bi_layout_index(&layout, items, BI_MAX_NDIM + 1, NULL), BI_EINVAL);
		assert_int_equal(bi_layout_index(&layout, NULL, 0, NULL), BI_EINVAL);
		layout.dtype = (struct bi_dtype){ 4, 1, BI_VOID, 0 };
		layout.descr = "[('x', '<f4', (1,))]";
		layout.descr_length = (uint32_t)strlen(layout.descr);
		assert_int_equal(bi_layout_field(&layout, "x", NULL), BI_EINVAL);
		layout.dtype = (struct bi_dtype){ 4, 1, BI_FLOAT32, 0 };
		assert_int_equal(bi_plan_make(&layout, NULL, &plan, NULL), BI_EINVAL);
		assert_int_equal(bi_plan_make(&layout, &layout, &plan, NULL), BI_EINVAL);
	}
}

static void a_layout_has_a_place_in_the_address_space(void **state)
{
	struct bi_layout layout = make("<f4", 2, (int64_t[]){ 3, 4 }, (int64_t[]){ -100, 8 }, 0);
	struct bi_error err;
	uintptr_t address;
	size_t nbytes;

	(void)state;
	assert_int_equal(bi__layout_place(&layout, 10000, &address, &nbytes, NULL), BI_OK);
	assert_int_equal(address, 9800);
	assert_int_equal(nbytes, 200 + 24 + 4);
	assert_int_equal(layout.offset, 200);
	layout = MAKE("<f4", 0, 0);
	assert_int_equal(bi__layout_place(&layout, 0, &address, &nbytes, NULL), BI_OK);
	assert_int_equal(address, 0);
	assert_int_equal(nbytes, 0);
	layout = make("<f4", 1, (int64_t[]){ 4 }, (int64_t[]){ -100 }, 0);
	assert_refused(bi__layout_place(&layout, 0, &address, &nbytes, &err), BI_EINVAL, &err);
	assert_refused(bi__layout_place(&layout, 299, &address, &nbytes, &err), BI_EBOUNDS, &err);
	assert_int_equal(bi__layout_place(&layout, 300, &address, &nbytes, NULL), BI_OK);
	assert_int_equal(address, 0);
	layout = make("<f4", 1, (int64_t[]){ 4 }, (int64_t[]){ 100 }, 0);
	assert_refused(bi__layout_place(&layout, UINT64_MAX - 100, &address, &nbytes, &err), BI_EBOUNDS, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_filled_wrongly_are_refused),
		cmocka_unit_test(permute_and_flip_match_the_reference),
		cmocka_unit_test(reshape_matches_the_reference),
		cmocka_unit_test(broadcast_matches_the_reference),
		cmocka_unit_test(reinterpret_matches_the_reference),
		cmocka_unit_test(init_checks_its_arguments),
		cmocka_unit_test(sizes_and_offsets_that_do_not_fit_are_refused),
		cmocka_unit_test(operations_check_what_they_multiply),
		cmocka_unit_test(empty_arrays_may_have_any_strides),
		cmocka_unit_test(permute_and_flip_refuse_bad_axes),
		cmocka_unit_test(reshape_and_broadcast_refuse_bad_shapes),
		cmocka_unit_test(equal_ignores_strides_that_nobody_steps_by),
		cmocka_unit_test(contiguity_knows_two_orders),
		cmocka_unit_test(element_refuses_what_is_outside),
		cmocka_unit_test(a_layout_has_a_place_in_the_address_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
