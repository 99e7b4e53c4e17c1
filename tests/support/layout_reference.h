/*
 * The naive reference of the layout tests: the list of the byte offsets of all elements, in C order. The reference has
 * no strides: an operation selects and reorders offsets. Slices follow Python's language reference.
 */
#ifndef BI_TESTS_SUPPORT_LAYOUT_REFERENCE_H
#define BI_TESTS_SUPPORT_LAYOUT_REFERENCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

#include "array_length.h"
#include "buffer_interface.h"
#include "random.h"

#define MAX_ELEMENTS 4096
#define MAX_AXES 24
#define RANDOM_AXES 8
#define CASES test_cases(3000)

struct reference {
	int ndim;
	int64_t item_size;
	int64_t shape[MAX_AXES];
	int64_t count;
	int64_t offsets[8 * MAX_ELEMENTS];
};

/* Steps to the next index in C order. Returns 0 after the last. */
static inline int next_index(int ndim, const int64_t *shape, int64_t *index)
{
	for (int i = ndim - 1; i >= 0; i--) {
		if (++index[i] < shape[i])
			return 1;
		index[i] = 0;
	}
	return 0;
}

static inline int64_t product(int ndim, const int64_t *shape)
{
	int64_t result = 1;

	for (int i = 0; i < ndim; i++)
		result *= shape[i];
	return result;
}

/* Returns the position of an index in the list of offsets. */
static inline int64_t position(int ndim, const int64_t *shape, const int64_t *index)
{
	int64_t result = 0;

	for (int i = 0; i < ndim; i++)
		result = result * shape[i] + index[i];
	return result;
}

static inline void start_reference(struct reference *ref, int ndim, const int64_t *shape, int64_t item_size)
{
	ref->ndim = ndim;
	ref->item_size = item_size;
	ref->count = product(ndim, shape);
	for (int i = 0; i < ndim; i++)
		ref->shape[i] = shape[i];
	assert_in_range(ref->count, 0, ARRAY_LENGTH(ref->offsets));
}

static inline void assert_refused(int rc, int status, const struct bi_error *err)
{
	assert_int_equal(rc, status);
	assert_int_equal(err->status, status);
	assert_true(err->message[0] != '\0');
}

/* Returns a layout whose unused bytes are 0, so that a comparison of all bytes detects a change. */
static inline struct bi_layout make(const char *type, int ndim, const int64_t *shape, const int64_t *strides,
				    int64_t offset)
{
	struct bi_layout layout;
	struct bi_dtype dtype;

	memset(&layout, 0, sizeof(layout));
	assert_int_equal(bi_dtype_parse(type, &dtype, NULL), BI_OK);
	assert_int_equal(bi_layout_init(&layout, dtype, ndim, shape, strides, offset, NULL), BI_OK);
	return layout;
}

#define MAKE(type, offset, ...) \
	make(type, ARRAY_LENGTH(((int64_t[]){ __VA_ARGS__ })), (int64_t[]){ __VA_ARGS__ }, NULL, offset)

/* Asserts that a call fails with this status and does not change the layout. The call passes `&err`. */
#define ASSERT_UNTOUCHED(layout, call, status) \
	do { \
		const struct bi_layout before_ = *(layout); \
		struct bi_error err = { 0, 0, "" }; \
		int rc_ = call; \
		assert_refused(rc_, status, &err); \
		assert_memory_equal(layout, &before_, sizeof(before_)); \
	} while (0)

static inline void compare_elements(const struct bi_layout *layout, const struct reference *ref)
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

static inline void compare_extent(const struct bi_layout *layout, const struct reference *ref)
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

/* Returns true if the offsets grow by the item size when the elements are visited in this order. */
static inline int naive_contiguous(const struct reference *ref, char order)
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

static inline void compare(const struct bi_layout *layout, const struct reference *ref)
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

static const int64_t item_sizes[] = { 1, 2, 3, 4, 8, 12, 16 };

static inline void random_shape(struct test_random *random, int max_ndim, int64_t max_count, int *ndim, int64_t *shape)
{
	int64_t count = 1;

	*ndim = (int)test_between(random, 0, max_ndim);
	for (int i = 0; i < *ndim; i++) {
		int64_t high = count * 7 <= max_count ? 7 : max_count / count;

		shape[i] = test_between(random, 0, 9) ? test_between(random, 1, high) : test_between(random, 0, high);
		count *= shape[i] ? shape[i] : 1;
	}
}

/* Makes the strides of C or Fortran order, some of them multiplied or negated, or any small numbers. */
static inline void random_strides(struct test_random *random, int ndim, const int64_t *shape, int64_t item_size,
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

static inline void random_layout(struct test_random *random, int64_t max_count, struct bi_layout *layout,
				 struct reference *ref)
{
	int64_t shape[MAX_AXES], strides[MAX_AXES], index[MAX_AXES] = { 0 };
	int64_t item_size = item_sizes[test_between(random, 0, ARRAY_LENGTH(item_sizes) - 1)];
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

/* Writes the indices that a slice selects. Returns their number. */
static inline int64_t naive_slice(int64_t n, const struct bi_index *item, int64_t *selected)
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

/* For each axis of the source: the selected indices, their number, and the axis of the result (-1: none). */
struct selection {
	int64_t chosen[MAX_AXES][8];
	int64_t length[MAX_AXES];
	int result[MAX_AXES];
};

static inline void select_whole(struct selection *sel, const struct reference *ref, int *axis, int *ndim,
				int64_t *shape, int n)
{
	for (; n > 0; n--, ++*axis) {
		for (int64_t k = 0; k < ref->shape[*axis]; k++)
			sel->chosen[*axis][k] = k;
		sel->length[*axis] = ref->shape[*axis];
		sel->result[*axis] = *ndim;
		shape[(*ndim)++] = ref->shape[*axis];
	}
}

static inline void naive_index(struct reference *ref, const struct bi_index *items, int count)
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

static inline int64_t random_limit(struct test_random *random, int64_t n)
{
	static const int64_t edges[] = { BI_OMITTED, INT64_MIN + 1, INT64_MAX, -1, 0 };
	int64_t choice = test_between(random, 0, 11);

	return choice < (int64_t)ARRAY_LENGTH(edges) ? edges[choice] : test_between(random, -n - 2, n + 2);
}

static inline int64_t random_step(struct test_random *random)
{
	int64_t step = test_between(random, -4, 4);

	return step ? step : 1;
}

/* Makes items of an index that fits. Returns their number. They may leave out axes at the end. */
static inline int random_items(struct test_random *random, const struct reference *ref, struct bi_index *items)
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

#endif
