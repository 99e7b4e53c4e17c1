/*
 * Layout operations against a naive reference: the list of the byte offsets of all elements, in C order. The reference
 * knows no strides; it moves offsets about as Python's language reference describes each operation.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MAX_ELEMENTS 4096
#define MAX_AXES 24
#define RANDOM_AXES 8
#define CASES 3000

struct reference {
	int ndim;
	int64_t item_size;
	int64_t shape[MAX_AXES];
	int64_t count;
	int64_t offsets[8 * MAX_ELEMENTS];
};

/* Steps to the next index in C order; returns 0 after the last. */
static int next_index(int ndim, const int64_t *shape, int64_t *index)
{
	for (int i = ndim - 1; i >= 0; i--) {
		if (++index[i] < shape[i])
			return 1;
		index[i] = 0;
	}
	return 0;
}

static int64_t product(int ndim, const int64_t *shape)
{
	int64_t result = 1;

	for (int i = 0; i < ndim; i++)
		result *= shape[i];
	return result;
}

/* Where an index stands in the list. */
static int64_t position(int ndim, const int64_t *shape, const int64_t *index)
{
	int64_t result = 0;

	for (int i = 0; i < ndim; i++)
		result = result * shape[i] + index[i];
	return result;
}

static void start_reference(struct reference *ref, int ndim, const int64_t *shape, int64_t item_size)
{
	ref->ndim = ndim;
	ref->item_size = item_size;
	ref->count = product(ndim, shape);
	for (int i = 0; i < ndim; i++)
		ref->shape[i] = shape[i];
	assert_in_range(ref->count, 0, COUNT(ref->offsets));
}

static void assert_refused(int rc, int status, const struct bi_error *err)
{
	assert_int_equal(rc, status);
	assert_int_equal(err->status, status);
	assert_true(err->message[0] != '\0');
}

/* A layout of which every byte is known, so that it can be seen whether one is changed. */
static struct bi_layout make(const char *type, int ndim, const int64_t *shape, const int64_t *strides, int64_t offset)
{
	struct bi_layout layout;
	struct bi_dtype dtype;

	memset(&layout, 0, sizeof(layout));
	assert_int_equal(bi_dtype_parse(type, &dtype, NULL), BI_OK);
	assert_int_equal(bi_layout_init(&layout, dtype, ndim, shape, strides, offset, NULL), BI_OK);
	return layout;
}

#define MAKE(type, offset, ...) \
	make(type, COUNT(((int64_t[]){ __VA_ARGS__ })), (int64_t[]){ __VA_ARGS__ }, NULL, offset)

/* Asserts that a call fails and changes nothing. */
#define ASSERT_UNTOUCHED(layout, call, status) \
	do { \
		const struct bi_layout before_ = *(layout); \
		struct bi_error err = { 0, 0, "" }; \
		int rc_ = call; \
		assert_refused(rc_, status, &err); \
		assert_memory_equal(layout, &before_, sizeof(before_)); \
	} while (0)

/* ------------------------------------------------------------------------------------------------------ comparing */

static void compare_elements(const struct bi_layout *layout, const struct reference *ref)
{
	int64_t index[MAX_AXES] = { 0 }, mirrored[MAX_AXES] = { 0 }, offset, again;

	for (int64_t k = 0; k < ref->count; k++) {
		assert_int_equal(bi_layout_element(layout, index, &offset, NULL), BI_OK);
		if (offset != ref->offsets[k])
			fail_msg("element %" PRId64 " is at %" PRId64 ", not at %" PRId64, k, offset, ref->offsets[k]);
		for (int i = 0; i < ref->ndim; i++)
			mirrored[i] = index[i] - ref->shape[i];
		assert_int_equal(bi_layout_element(layout, mirrored, &again, NULL), BI_OK);
		assert_int_equal(again, offset);
		next_index(ref->ndim, ref->shape, index);
	}
}

static void compare_extent(const struct bi_layout *layout, const struct reference *ref)
{
	int64_t first, end, low, high;

	bi_layout_extent(layout, &first, &end);
	if (ref->count == 0) {
		assert_int_equal(first, layout->offset);
		assert_int_equal(end, layout->offset);
		return;
	}
	low = high = ref->offsets[0];
	for (int64_t k = 0; k < ref->count; k++) {
		low = ref->offsets[k] < low ? ref->offsets[k] : low;
		high = ref->offsets[k] > high ? ref->offsets[k] : high;
	}
	assert_int_equal(first, low);
	assert_int_equal(end, high + ref->item_size);
}

/* Do the offsets grow by the item size when the elements are visited in this order? */
static int naive_contiguous(const struct reference *ref, char order)
{
	int64_t shape[MAX_AXES], index[MAX_AXES] = { 0 }, turned[MAX_AXES];

	for (int i = 0; i < ref->ndim; i++)
		shape[i] = ref->shape[order == 'C' ? i : ref->ndim - 1 - i];
	for (int64_t k = 0; k < ref->count; k++) {
		for (int i = 0; i < ref->ndim; i++)
			turned[i] = index[order == 'C' ? i : ref->ndim - 1 - i];
		if (ref->offsets[position(ref->ndim, ref->shape, turned)] != ref->offsets[0] + k * ref->item_size)
			return 0;
		next_index(ref->ndim, shape, index);
	}
	return 1;
}

static void compare(const struct bi_layout *layout, const struct reference *ref)
{
	assert_int_equal(layout->ndim, ref->ndim);
	assert_int_equal(layout->dtype.item_size, ref->item_size);
	for (int i = 0; i < ref->ndim; i++)
		assert_int_equal(layout->shape[i], ref->shape[i]);
	assert_int_equal(bi_layout_size(layout), ref->count);
	assert_int_equal(bi_layout_nbytes(layout), ref->count * ref->item_size);
	assert_int_equal(bi_layout_is_contiguous(layout, 'C'), naive_contiguous(ref, 'C'));
	assert_int_equal(bi_layout_is_contiguous(layout, 'F'), naive_contiguous(ref, 'F'));
	compare_extent(layout, ref);
	compare_elements(layout, ref);
}

/* -------------------------------------------------------------------------------------------------- random layouts */

static const int64_t item_sizes[] = { 1, 2, 3, 4, 8, 12, 16 };

static void random_shape(struct test_random *random, int max_ndim, int64_t max_count, int *ndim, int64_t *shape)
{
	int64_t count = 1;

	*ndim = (int)test_between(random, 0, max_ndim);
	for (int i = 0; i < *ndim; i++) {
		int64_t high = count * 7 <= max_count ? 7 : max_count / count;

		shape[i] = test_between(random, 0, 9) ? test_between(random, 1, high) : test_between(random, 0, high);
		count *= shape[i] ? shape[i] : 1;
	}
}

/* Dense in some order and perhaps stepped and turned round, or anything at all. */
static void random_strides(struct test_random *random, int ndim, const int64_t *shape, int64_t item_size,
			   int64_t *strides)
{
	int from_end = (int)test_between(random, 0, 2), anything = test_between(random, 0, 2) == 0;
	int64_t run = item_size;

	for (int k = 0; k < ndim; k++) {
		int i = from_end ? ndim - 1 - k : k;

		strides[i] = run;
		if (test_between(random, 0, 4) == 0)
			strides[i] *= test_between(random, 0, 3);
		if (test_between(random, 0, 4) == 0)
			strides[i] = -strides[i];
		if (anything)
			strides[i] = test_between(random, -40, 40);
		run = (strides[i] < 0 ? -strides[i] : strides[i]) * (shape[i] ? shape[i] : 1);
		run = run ? run : item_size;
	}
}

static void random_layout(struct test_random *random, int64_t max_count, struct bi_layout *layout,
			  struct reference *ref)
{
	int64_t shape[MAX_AXES], strides[MAX_AXES], index[MAX_AXES] = { 0 };
	int64_t item_size = item_sizes[test_between(random, 0, COUNT(item_sizes) - 1)];
	int64_t offset = test_between(random, -200, 200);
	struct bi_dtype dtype;
	int ndim;

	random_shape(random, RANDOM_AXES, max_count, &ndim, shape);
	random_strides(random, ndim, shape, item_size, strides);
	assert_int_equal(bi_dtype_make(BI_VOID, 1, (uint32_t)item_size, &dtype, NULL), BI_OK);
	memset(layout, 0, sizeof(*layout));
	assert_int_equal(bi_layout_init(layout, dtype, ndim, shape, strides, offset, NULL), BI_OK);
	start_reference(ref, ndim, shape, item_size);
	for (int64_t k = 0; k < ref->count; k++) {
		ref->offsets[k] = offset;
		for (int i = 0; i < ndim; i++)
			ref->offsets[k] += index[i] * strides[i];
		next_index(ndim, shape, index);
	}
}

/* ----------------------------------------------------------------------------------------- reference operations */

/* The indices that a slice selects, one by one; returns how many. */
static int64_t naive_slice(int64_t n, const struct bi_index *item, int64_t *selected)
{
	int64_t count = 0, i, j;

	if (item->step > 0) {
		i = item->start == BI_OMITTED ? 0 : item->start < 0 ? item->start + n : item->start;
		j = item->stop == BI_OMITTED ? n : item->stop < 0 ? item->stop + n : item->stop;
		if (i < 0)
			i = 0;
		for (; i < j && i < n; i += item->step)
			selected[count++] = i;
		return count;
	}
	i = item->start == BI_OMITTED ? n - 1 : item->start < 0 ? item->start + n : item->start;
	j = item->stop == BI_OMITTED ? -1 : item->stop < 0 ? item->stop + n : item->stop;
	if (i > n - 1)
		i = n - 1;
	if (j < -1)
		j = -1;
	for (; i > j && i >= 0; i += item->step)
		selected[count++] = i;
	return count;
}

/* What each axis of the source may be, and which axis of the result it is (-1: none). */
struct selection {
	int64_t chosen[MAX_AXES][8];
	int64_t length[MAX_AXES];
	int result[MAX_AXES];
};

static void select_whole(struct selection *sel, const struct reference *ref, int *axis, int *ndim, int64_t *shape,
			 int n)
{
	for (; n > 0; n--, ++*axis) {
		for (int64_t k = 0; k < ref->shape[*axis]; k++)
			sel->chosen[*axis][k] = k;
		sel->length[*axis] = ref->shape[*axis];
		sel->result[*axis] = *ndim;
		shape[(*ndim)++] = ref->shape[*axis];
	}
}

static void naive_index(struct reference *ref, const struct bi_index *items, int count)
{
	static struct reference old;
	int64_t shape[MAX_AXES], index[MAX_AXES] = { 0 }, source[MAX_AXES];
	struct selection sel;
	int axis = 0, ndim = 0, used = 0;

	old = *ref;
	for (int i = 0; i < count; i++)
		used += items[i].kind == BI_INDEX_INTEGER || items[i].kind == BI_INDEX_SLICE;
	for (int i = 0; i < count; i++) {
		if (items[i].kind == BI_INDEX_ELLIPSIS) {
			select_whole(&sel, &old, &axis, &ndim, shape, old.ndim - used);
		} else if (items[i].kind == BI_INDEX_NEWAXIS) {
			shape[ndim++] = 1;
		} else if (items[i].kind == BI_INDEX_INTEGER) {
			sel.chosen[axis][0] = items[i].start < 0 ? items[i].start + old.shape[axis] : items[i].start;
			sel.length[axis] = 1;
			sel.result[axis++] = -1;
		} else {
			sel.length[axis] = naive_slice(old.shape[axis], &items[i], sel.chosen[axis]);
			sel.result[axis] = ndim;
			shape[ndim++] = sel.length[axis++];
		}
	}
	select_whole(&sel, &old, &axis, &ndim, shape, old.ndim - axis);
	start_reference(ref, ndim, shape, old.item_size);
	for (int64_t k = 0; k < ref->count; k++) {
		for (int i = 0; i < old.ndim; i++)
			source[i] = sel.chosen[i][sel.result[i] < 0 ? 0 : index[sel.result[i]]];
		ref->offsets[k] = old.offsets[position(old.ndim, old.shape, source)];
		next_index(ndim, shape, index);
	}
}

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

/* -------------------------------------------------------------------------------------------------- random cases */

static int64_t random_limit(struct test_random *random, int64_t n)
{
	static const int64_t edges[] = { BI_OMITTED, INT64_MIN + 1, INT64_MAX, -1, 0 };
	int64_t choice = test_between(random, 0, 11);

	return choice < (int64_t)COUNT(edges) ? edges[choice] : test_between(random, -n - 2, n + 2);
}

static int64_t random_step(struct test_random *random)
{
	int64_t step = test_between(random, -4, 4);

	return step ? step : 1;
}

/* Items that fit; at the end, 0..n axes are left to be implied. */
static int random_items(struct test_random *random, const struct reference *ref, struct bi_index *items)
{
	int count = 0, ellipsis = 0, axis = 0, used = (int)test_between(random, 0, ref->ndim), added = 0;

	while (axis < used || test_between(random, 0, 3) == 0) {
		struct bi_index *item = &items[count];
		int64_t choice = test_between(random, 0, 9), n;

		memset(item, 0, sizeof(*item));
		if (choice == 0 && !ellipsis) {
			item->kind = BI_INDEX_ELLIPSIS;
			ellipsis = 1;
		} else if (choice == 1 && added < 4) {
			item->kind = BI_INDEX_NEWAXIS;
			added++;
		} else if (axis >= used) {
			break;
		} else {
			int source = ellipsis ? ref->ndim - used + axis : axis;

			n = ref->shape[source];
			axis++;
			item->kind = choice < 5 && n > 0 ? BI_INDEX_INTEGER : BI_INDEX_SLICE;
			item->start = item->kind == BI_INDEX_INTEGER ? test_between(random, -n, n - 1)
								     : random_limit(random, n);
			item->stop = random_limit(random, n);
			item->step = random_step(random);
		}
		count++;
	}
	return count;
}

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
	assert_in_range(refused, 100, CASES - 1000);
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
		int64_t item_size = item_sizes[test_between(&random, 0, COUNT(item_sizes) - 1)];

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

static const char record[] =
	"[('x', '<f4'), ('', '|V4'), (('title', 'y'), '>i2', (3, 2)), ('n', [('a', '|u1'), ('b', '<f8', (2,))], (2,)), "
	"('it\\'s', '<U2'), ('z', '|u1', 0)]";

static void field_matches_the_reference(void **state)
{
	static const struct {
		const char *name;
		int64_t offset, item_size;
		int ndim;
		int64_t shape[2];
	} fields[] = {
		{ "x", 0, 4, 0, { 0 } },     { "y", 8, 2, 2, { 3, 2 } }, { "n", 20, 17, 1, { 2 } },
		{ "it's", 54, 8, 0, { 0 } }, { "z", 62, 1, 1, { 0 } },
	};
	static struct reference ref, old;
	struct test_random random = { test_seed() };
	struct bi_dtype dtype;

	(void)state;
	assert_int_equal(bi_dtype_parse_descr(record, &dtype, NULL), BI_OK);
	assert_int_equal(dtype.item_size, 62);
	for (int i = 0; i < CASES; i++) {
		size_t f = (size_t)test_between(&random, 0, COUNT(fields) - 1);
		int64_t shape[MAX_AXES], each;
		struct bi_layout layout;

		random_layout(&random, 200, &layout, &old);
		layout.dtype.item_size = 62;
		assert_int_equal(bi_layout_reinterpret(&layout, dtype, record, NULL), BI_OK);
		memcpy(shape, old.shape, sizeof(shape));
		memcpy(shape + old.ndim, fields[f].shape, (size_t)fields[f].ndim * sizeof(*shape));
		start_reference(&ref, old.ndim + fields[f].ndim, shape, fields[f].item_size);
		each = product(fields[f].ndim, fields[f].shape);
		for (int64_t k = 0; k < ref.count; k++)
			ref.offsets[k] = old.offsets[k / each] + fields[f].offset + k % each * fields[f].item_size;
		assert_int_equal(bi_layout_field(&layout, fields[f].name, NULL), BI_OK);
		compare(&layout, &ref);
	}
}

/* -------------------------------------------------------------------------------------------------------- overlap */

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
	assert_true(found[0] > 200 && found[1] > 200);
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
	assert_true(found[0] > 200 && found[1] > 200);
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

/* -------------------------------------------------------------------------------------------------------- by hand */

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
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bi_dtype dtype;
		struct bi_error err;
		int rc;

		layout = before;
		assert_int_equal(bi_dtype_parse(cases[i].type, &dtype, NULL), BI_OK);
		rc = bi_layout_init(&layout, dtype, cases[i].ndim, cases[i].shape,
				    cases[i].dense ? NULL : cases[i].strides, cases[i].offset, &err);
		if (rc != cases[i].status)
			fail_msg("case %zu gives %d", i, rc);
		if (rc != BI_OK)
			assert_memory_equal(&layout, &before, sizeof(layout));
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
	for (size_t i = 0; i < COUNT(cases); i++) {
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

static void permute_and_flip_refuse_bad_axes(void **state)
{
	static const int bad[][3] = {
		{ 0, 0, 1 }, { 0, 1, 3 }, { 0, 1, -4 }, { -1, 2, 0 }, { 0, -3, 1 }, { 1, 2, 64 }
	};
	struct bi_layout layout = MAKE("<i4", 0, 5, 3, 2), point = make("<i4", 0, NULL, NULL, 0);

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
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
	ASSERT_UNTOUCHED(&empty, bi_layout_reshape(&empty, 1, (int64_t[]){ 3 }, &err), BI_EINVAL);
	assert_int_equal(bi_layout_reshape(&empty, 2, (int64_t[]){ -1, 5 }, NULL), BI_OK);
	assert_int_equal(empty.shape[0], 0);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 1, (int64_t[]){ 6 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 2, (int64_t[]){ 2, 12 }, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 2, NULL, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_broadcast(&layout, 65, layout.shape, &err), BI_EINVAL);
}

static void fields_lead_into_nested_structures(void **state)
{
	struct bi_layout layout;
	struct bi_dtype dtype;
	int64_t shape[] = { 2 }, strides[] = { -100 };

	(void)state;
	assert_int_equal(bi_dtype_parse_descr(record, &dtype, NULL), BI_OK);
	layout = make("V62", 1, shape, strides, 1000);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "x", &err), BI_EDTYPE);
	assert_int_equal(bi_layout_reinterpret(&layout, dtype, record, NULL), BI_OK);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "title", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "b", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "it", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "it's not", &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, NULL, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(NULL, "x", &err), BI_EINVAL);
	assert_int_equal(bi_layout_field(&layout, "n", NULL), BI_OK);
	assert_int_equal(layout.dtype.type, BI_VOID);
	assert_int_equal(layout.dtype.item_size, 17);
	assert_int_equal(layout.descr_length, strlen("[('a', '|u1'), ('b', '<f8', (2,))]"));
	assert_memory_equal(layout.descr, "[('a', '|u1'), ('b', '<f8', (2,))]", layout.descr_length);
	assert_int_equal(bi_layout_field(&layout, "b", NULL), BI_OK);
	assert_int_equal(layout.ndim, 3);
	assert_int_equal(layout.offset, 1021);
	assert_int_equal(layout.strides[0], -100);
	assert_int_equal(layout.strides[1], 17);
	assert_int_equal(layout.strides[2], 8);
	assert_null(layout.descr);
	ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "b", &err), BI_EDTYPE);
}

static void fields_cannot_have_too_many_dimensions(void **state)
{
	static const char descr[] = "[('a', '|u1', (1, 1, 1))]";
	int64_t ones[BI_MAX_NDIM];
	struct bi_layout layout;

	(void)state;
	for (int i = 0; i < BI_MAX_NDIM; i++)
		ones[i] = 1;
	for (int ndim = BI_MAX_NDIM - 3; ndim <= BI_MAX_NDIM - 2; ndim++) {
		layout = make("V1", ndim, ones, NULL, 0);
		assert_int_equal(bi_layout_reinterpret(&layout, layout.dtype, descr, NULL), BI_OK);
		if (ndim + 3 > BI_MAX_NDIM)
			ASSERT_UNTOUCHED(&layout, bi_layout_field(&layout, "a", &err), BI_EINVAL);
		else
			assert_int_equal(bi_layout_field(&layout, "a", NULL), BI_OK);
	}
}

static void reinterpret_checks_the_descr(void **state)
{
	struct bi_layout layout = MAKE("V8", 0, 3), point = make("<i4", 0, NULL, NULL, 0);
	struct bi_dtype floats, item = layout.dtype, none = { 0, 1, BI_VOID, 0 };

	(void)state;
	assert_int_equal(bi_dtype_parse("<f8", &floats, NULL), BI_OK);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, item, "[('a', '<f4')]", &err), BI_EDTYPE);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, item, "[('a', '<f8'", &err), BI_EDTYPE);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, floats, "[('a', '<f8')]", &err), BI_EDTYPE);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(NULL, floats, NULL, &err), BI_EINVAL);
	ASSERT_UNTOUCHED(&layout, bi_layout_reinterpret(&layout, none, NULL, &err), BI_EDTYPE);
	ASSERT_UNTOUCHED(&point, bi_layout_reinterpret(&point, floats, NULL, &err), BI_EDTYPE);
	assert_int_equal(bi_layout_reinterpret(&layout, item, "[('a', '<f8')]", NULL), BI_OK);
	assert_non_null(layout.descr);
	assert_int_equal(bi_layout_reinterpret(&layout, floats, NULL, NULL), BI_OK);
	assert_null(layout.descr);
	floats.swapped = 1;
	assert_int_equal(bi_layout_reinterpret(&layout, floats, NULL, NULL), BI_OK);
	assert_int_equal(layout.dtype.swapped, 1);
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
	for (size_t i = 0; i < COUNT(outside); i++)
		assert_refused(bi_layout_element(&layout, outside[i], &offset, &err), BI_EBOUNDS, &err);
	assert_refused(bi_layout_element(&layout, NULL, &offset, &err), BI_EINVAL, &err);
	assert_refused(bi_layout_element(&layout, outside[0], NULL, &err), BI_EINVAL, &err);
	assert_refused(bi_layout_element(NULL, outside[0], &offset, &err), BI_EINVAL, &err);
	assert_int_equal(offset, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_matches_the_reference),
		cmocka_unit_test(every_slice_matches_the_reference),
		cmocka_unit_test(permute_and_flip_match_the_reference),
		cmocka_unit_test(reshape_matches_the_reference),
		cmocka_unit_test(broadcast_matches_the_reference),
		cmocka_unit_test(reinterpret_matches_the_reference),
		cmocka_unit_test(field_matches_the_reference),
		cmocka_unit_test(random_overlaps_match_byte_sets),
		cmocka_unit_test(overlaps_of_slices_match_byte_sets),
		cmocka_unit_test(overlaps_of_large_slices_are_exact),
		cmocka_unit_test(overlap_edge_cases),
		cmocka_unit_test(overlap_search_is_bounded),
		cmocka_unit_test(init_checks_its_arguments),
		cmocka_unit_test(sizes_and_offsets_that_do_not_fit_are_refused),
		cmocka_unit_test(operations_check_what_they_multiply),
		cmocka_unit_test(empty_arrays_may_have_any_strides),
		cmocka_unit_test(slices_start_at_minus_one_as_in_numpy),
		cmocka_unit_test(index_refuses_what_numpy_refuses),
		cmocka_unit_test(permute_and_flip_refuse_bad_axes),
		cmocka_unit_test(reshape_and_broadcast_refuse_bad_shapes),
		cmocka_unit_test(fields_lead_into_nested_structures),
		cmocka_unit_test(fields_cannot_have_too_many_dimensions),
		cmocka_unit_test(reinterpret_checks_the_descr),
		cmocka_unit_test(equal_ignores_strides_that_nobody_steps_by),
		cmocka_unit_test(contiguity_knows_two_orders),
		cmocka_unit_test(element_refuses_what_is_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
