/* Views: bounds, views of views through every change of layout, read back through the device. */
#include "contract.h"
#include "support/use.h"

#include <stdio.h>
#include <stdlib.h>

/* What a view must show: the offset of each element, in C order. */
struct model {
	int ndim;
	int64_t shape[BI_MAX_NDIM];
	int64_t *offsets;
	size_t count;
};

/* Which element of the old model is element `index` of the new one. */
typedef void (*source_fn)(const struct model *old, const int64_t *index, int64_t *source, const void *data);

static int64_t between(int64_t low, int64_t high)
{
	return test_between(&fixture.random, low, high);
}

static size_t count_of(int ndim, const int64_t *shape)
{
	size_t n = 1;

	for (int i = 0; i < ndim; i++)
		n *= (size_t)shape[i];
	return n;
}

static void to_index(size_t position, int ndim, const int64_t *shape, int64_t *index)
{
	for (int i = ndim; i-- > 0; position /= (size_t)shape[i])
		index[i] = (int64_t)(position % (size_t)shape[i]);
}

static size_t to_position(int ndim, const int64_t *shape, const int64_t *index)
{
	size_t position = 0;

	for (int i = 0; i < ndim; i++)
		position = position * (size_t)shape[i] + (size_t)index[i];
	return position;
}

static void model_open(struct model *model, const struct bi_layout *layout)
{
	model->ndim = layout->ndim;
	memcpy(model->shape, layout->shape, sizeof(model->shape));
	model->offsets = naive_offsets(layout, &model->count);
}

static void model_change(struct model *model, int ndim, const int64_t *shape, source_fn source_of, const void *data)
{
	struct model made = { ndim, { 0 }, NULL, count_of(ndim, shape) };
	int64_t index[BI_MAX_NDIM], source[BI_MAX_NDIM];

	memcpy(made.shape, shape, (size_t)ndim * sizeof(*shape));
	made.offsets = malloc((made.count + 1) * sizeof(*made.offsets));
	assert_non_null(made.offsets);
	for (size_t i = 0; i < made.count; i++) {
		to_index(i, ndim, shape, index);
		source_of(model, index, source, data);
		made.offsets[i] = model->offsets[to_position(model->ndim, model->shape, source)];
	}
	free(model->offsets);
	*model = made;
}

/* A view under test, its model and the memory under both. */
struct subject {
	struct oracle *oracle;
	struct bi_view *view;
	struct model model;
	uint32_t item_size;
};

static void check_shape(const struct subject *subject)
{
	assert_int_equal(bi_view_ndim(subject->view), subject->model.ndim);
	for (int i = 0; i < subject->model.ndim; i++)
		assert_int_equal(bi_view_shape(subject->view)[i], subject->model.shape[i]);
	if (subject->model.ndim == 0) {
		assert_null(bi_view_shape(subject->view));
		assert_null(bi_view_strides(subject->view));
	}
}

/* The layout leads to the same offsets, from the start of the same memory. */
static void check_layout(const struct subject *subject, const char *what)
{
	struct bi_layout layout;
	size_t count;
	int64_t *offsets;

	bi_view_layout(subject->view, &layout);
	assert_ptr_equal(bi_view_memory(subject->view), subject->oracle->memory);
	offsets = naive_offsets(&layout, &count);
	assert_int_equal(count, subject->model.count);
	if (memcmp(offsets, subject->model.offsets, count * sizeof(*offsets)) != 0)
		fail_msg("case %lu: %s: offsets of %s", fixture.cases, what, layout_text(&layout));
	free(offsets);
}

static void check_bytes(const struct subject *subject, const char *what)
{
	size_t size = subject->item_size, nbytes = subject->model.count * size;
	unsigned char *dense = malloc(nbytes + 1);

	assert_non_null(dense);
	OK(bi_view_read(subject->view, dense, nbytes, &error));
	for (size_t i = 0; i < subject->model.count; i++)
		if (memcmp(dense + i * size, subject->oracle->bytes + subject->model.offsets[i], size) != 0)
			fail_msg("case %lu: %s: element %zu", fixture.cases, what, i);
	free(dense);
}

static void check_subject(const struct subject *subject, const char *what)
{
	check_shape(subject);
	check_layout(subject, what);
	check_bytes(subject, what);
	fixture.cases++;
}

/* The view before a change is let go at once: the new one must not lean on it. */
static void replace_view(struct subject *subject, struct bi_view *view)
{
	assert_int_equal(bi_view_flags(view) & bi_view_flags(subject->view), bi_view_flags(subject->view));
	bi_view_release(subject->view);
	subject->view = view;
}

static void flip_source(const struct model *old, const int64_t *index, int64_t *source, const void *data)
{
	int axis = *(const int *)data;

	memcpy(source, index, (size_t)old->ndim * sizeof(*index));
	source[axis] = old->shape[axis] - 1 - index[axis];
}

static void change_flip(struct subject *subject)
{
	int ndim = subject->model.ndim, axis, given;
	struct bi_view *view = STALE(struct bi_view);

	if (ndim == 0) {
		REFUSED(BI_EINVAL, bi_view_flip(subject->view, 0, &view, &error));
		assert_null(view);
		return;
	}
	given = (int)between(-ndim, ndim - 1);
	axis = given < 0 ? given + ndim : given;
	OK(bi_view_flip(subject->view, given, &view, &error));
	replace_view(subject, view);
	model_change(&subject->model, ndim, subject->model.shape, flip_source, &axis);
	check_subject(subject, "flip");
}

static void permute_source(const struct model *old, const int64_t *index, int64_t *source, const void *data)
{
	const int *axes = data;

	for (int i = 0; i < old->ndim; i++)
		source[axes[i]] = index[i];
}

static void change_permute(struct subject *subject)
{
	int ndim = subject->model.ndim, axes[BI_MAX_NDIM], given[BI_MAX_NDIM], reverse = between(0, 3) == 0;
	int64_t shape[BI_MAX_NDIM];
	struct bi_view *view = STALE(struct bi_view);

	for (int i = 0; i < ndim; i++) {
		int j = reverse ? 0 : (int)between(0, i);

		memmove(axes + j + 1, axes + j, (size_t)(i - j) * sizeof(*axes));
		axes[j] = i;
	}
	for (int i = 0; i < ndim; i++) {
		given[i] = between(0, 1) ? axes[i] : axes[i] - ndim;
		shape[i] = subject->model.shape[axes[i]];
	}
	OK(bi_view_permute(subject->view, reverse ? NULL : given, &view, &error));
	replace_view(subject, view);
	model_change(&subject->model, ndim, shape, permute_source, axes);
	check_subject(subject, "permute");
}

/* Reads an element of the model in C order, whatever its new shape is. */
struct reshaped {
	int ndim;
	const int64_t *shape;
};

static void reshape_source(const struct model *old, const int64_t *index, int64_t *source, const void *data)
{
	const struct reshaped *to = data;

	to_index(to_position(to->ndim, to->shape, index), old->ndim, old->shape, source);
}

/* Can the offsets be reached with one stride for each axis? */
static int is_affine(const struct model *model)
{
	int64_t index[BI_MAX_NDIM], strides[BI_MAX_NDIM];

	for (int axis = 0; axis < model->ndim && model->count; axis++) {
		memset(index, 0, sizeof(index));
		index[axis] = model->shape[axis] > 1;
		strides[axis] = model->offsets[to_position(model->ndim, model->shape, index)] - model->offsets[0];
	}
	for (size_t i = 0; i < model->count; i++) {
		int64_t offset = model->offsets[0];

		to_index(i, model->ndim, model->shape, index);
		for (int axis = 0; axis < model->ndim; axis++)
			offset += index[axis] * strides[axis];
		if (offset != model->offsets[i])
			return 0;
	}
	return 1;
}

/* Random factors of count, some of them 1. */
static int random_factors(size_t count, int64_t *shape)
{
	int ndim = 0;
	int64_t rest = (int64_t)count;

	while (rest > 1 && ndim < 6) {
		int64_t factor = between(1, rest < 8 ? rest : 8);

		if (rest % factor)
			factor = 1;
		shape[ndim++] = factor;
		rest /= factor;
	}
	shape[ndim++] = rest;
	return ndim;
}

static void change_reshape(struct subject *subject)
{
	int64_t shape[BI_MAX_NDIM], given[BI_MAX_NDIM];
	int ndim = random_factors(subject->model.count, shape);
	struct reshaped to = { ndim, shape };
	struct bi_view *view = STALE(struct bi_view);
	struct subject made = *subject;

	memcpy(given, shape, sizeof(given));
	if (subject->model.count && between(0, 2) == 0)
		given[between(0, ndim - 1)] = -1;
	made.model.offsets = malloc((made.model.count + 1) * sizeof(int64_t));
	assert_non_null(made.model.offsets);
	memcpy(made.model.offsets, subject->model.offsets, made.model.count * sizeof(int64_t));
	model_change(&made.model, ndim, shape, reshape_source, &to);
	if (!is_affine(&made.model)) {
		REFUSED(BI_EUNSUPPORTED, bi_view_reshape(subject->view, ndim, given, &view, &error));
		assert_null(view);
		free(made.model.offsets);
		fixture.cases++;
		return;
	}
	OK(bi_view_reshape(subject->view, ndim, given, &view, &error));
	replace_view(subject, view);
	free(subject->model.offsets);
	subject->model = made.model;
	check_subject(subject, "reshape");
}

struct broadcast {
	int added;
};

static void broadcast_source(const struct model *old, const int64_t *index, int64_t *source, const void *data)
{
	const struct broadcast *to = data;

	for (int i = 0; i < old->ndim; i++)
		source[i] = old->shape[i] == 1 ? 0 : index[i + to->added];
}

static void change_broadcast(struct subject *subject)
{
	struct broadcast to = { (int)between(0, 2) };
	int64_t shape[BI_MAX_NDIM];
	int ndim = subject->model.ndim + to.added;
	struct bi_view *view = STALE(struct bi_view);

	for (int i = 0; i < ndim; i++) {
		int64_t extent = i < to.added ? 1 : subject->model.shape[i - to.added];

		shape[i] = extent == 1 ? between(0, 12) ? between(1, 3) : 0 : extent;
	}
	if (count_of(ndim, shape) > 2000)
		return;
	OK(bi_view_broadcast(subject->view, ndim, shape, &view, &error));
	assert_true(bi_view_flags(view) & BI_VIEW_READONLY);
	replace_view(subject, view);
	model_change(&subject->model, ndim, shape, broadcast_source, &to);
	check_subject(subject, "broadcast");
}

/* What an index item does to one axis: an old axis (or -1: a new one), where it starts and how it steps. */
struct picked {
	int axis;
	int64_t start, step, extent; /* extent -1: the axis vanishes */
};

struct picks {
	struct picked picked[2 * BI_MAX_NDIM];
	int count;
};

static void index_source(const struct model *old, const int64_t *index, int64_t *source, const void *data)
{
	const struct picks *picks = data;
	int next = 0;

	(void)old;
	for (int i = 0; i < picks->count; i++) {
		const struct picked *picked = &picks->picked[i];

		if (picked->extent < 0)
			source[picked->axis] = picked->start;
		else if (picked->axis < 0)
			next++;
		else
			source[picked->axis] = picked->start + picked->step * index[next++];
	}
}

static int64_t clip(int64_t value, int64_t extent, int64_t low, int64_t high)
{
	if (value < 0)
		value += extent;
	return value < low ? low : value > high ? high : value;
}

/* Python's rule for slices, and a count of what a loop over them would visit. */
static struct picked pick_slice(int axis, int64_t extent, const struct bi_index *item)
{
	int64_t low = item->step < 0 ? -1 : 0, high = item->step < 0 ? extent - 1 : extent;
	int64_t start = item->step < 0 ? high : low, stop = item->step < 0 ? low : high, count = 0;

	if (item->start != BI_OMITTED)
		start = clip(item->start, extent, low, high);
	if (item->stop != BI_OMITTED)
		stop = clip(item->stop, extent, low, high);
	for (int64_t i = start; item->step > 0 ? i < stop : i > stop; i += item->step)
		count++;
	return (struct picked){ axis, start, item->step, count };
}

static int64_t random_bound(void)
{
	return between(0, 3) ? between(-9, 9) : BI_OMITTED;
}

static void random_slice(struct bi_index *item)
{
	item->kind = BI_INDEX_SLICE;
	item->start = random_bound();
	item->stop = random_bound();
	item->step = between(1, 3) * (between(0, 1) ? 1 : -1);
}

static void add_new_axis(struct bi_index *items, int *count, struct picks *picks)
{
	items[(*count)++] = (struct bi_index){ BI_INDEX_NEWAXIS, 0, 0, 0 };
	picks->picked[picks->count++] = (struct picked){ -1, 0, 0, 1 };
}

static void keep_axis(const struct model *model, int axis, struct picks *picks)
{
	picks->picked[picks->count++] = (struct picked){ axis, 0, 1, model->shape[axis] };
}

static void pick_axis(const struct model *model, int axis, struct bi_index *item, struct picks *picks)
{
	int64_t extent = model->shape[axis];

	if (extent && between(0, 3) == 0) {
		int64_t i = between(0, extent - 1);

		*item = (struct bi_index){ BI_INDEX_INTEGER, between(0, 1) ? i : i - extent, 0, 0 };
		picks->picked[picks->count++] = (struct picked){ axis, i, 0, -1 };
		return;
	}
	random_slice(item);
	picks->picked[picks->count++] = pick_slice(axis, extent, item);
}

/* Items for the first axes, perhaps an ellipsis, items for the last axes, with new axes among them. */
static int random_items(const struct model *model, struct bi_index *items, struct picks *picks)
{
	int count = 0, first = (int)between(0, model->ndim), last = first;

	if (between(0, 1))
		last = (int)between(first, model->ndim);
	for (int axis = 0; axis < first; axis++) {
		if (between(0, 7) == 0)
			add_new_axis(items, &count, picks);
		pick_axis(model, axis, &items[count++], picks);
	}
	if (last > first || first < model->ndim)
		items[count++] = (struct bi_index){ BI_INDEX_ELLIPSIS, 0, 0, 0 };
	for (int axis = first; axis < last; axis++)
		keep_axis(model, axis, picks);
	for (int axis = last; axis < model->ndim; axis++)
		pick_axis(model, axis, &items[count++], picks);
	return count;
}

static void change_index(struct subject *subject)
{
	struct bi_index items[2 * BI_MAX_NDIM];
	struct picks picks = { .count = 0 };
	int count = random_items(&subject->model, items, &picks), ndim = 0;
	int64_t shape[BI_MAX_NDIM];
	struct bi_view *view = STALE(struct bi_view);

	for (int i = 0; i < picks.count; i++)
		if (picks.picked[i].extent >= 0)
			shape[ndim++] = picks.picked[i].extent;
	OK(bi_view_index(subject->view, items, count, &view, &error));
	replace_view(subject, view);
	model_change(&subject->model, ndim, shape, index_source, &picks);
	check_subject(subject, "index");
}

static void change_with_layout(struct subject *subject)
{
	struct bi_layout layout;
	struct bi_view *view = STALE(struct bi_view);

	bi_view_layout(subject->view, &layout);
	OK(bi_view_with_layout(subject->view, &layout, &view, &error));
	replace_view(subject, view);
	check_subject(subject, "with_layout");
}

static void open_subject(struct subject *subject, struct oracle *oracle, enum spread spread)
{
	int64_t shape[BI_MAX_NDIM];
	int ndim = random_shape(shape);
	struct bi_layout layout;

	random_layout(&layout, (size_t)between(0, SCALAR_ITEMS - 1), ndim, shape, spread);
	oracle_open(oracle, fixture.context, PLACE_DEVICE, settle_randomly(&layout));
	subject->oracle = oracle;
	subject->view = view_of(oracle, &layout, 0);
	subject->item_size = layout.dtype.item_size;
	model_open(&subject->model, &layout);
}

static void test_changes(void **state)
{
	static void (*const changes[])(struct subject *) = {
		change_flip,  change_permute, change_reshape,     change_broadcast,
		change_index, change_index,   change_with_layout,
	};

	(void)state;
	for (int i = 0; i < effort(250); i++) {
		struct oracle oracle;
		struct subject subject;

		open_subject(&subject, &oracle, random_target_spread());
		for (int j = 0; j < 5; j++)
			changes[between(0, (int)ARRAY_LENGTH(changes) - 1)](&subject);
		bi_view_release(subject.view);
		free(subject.model.offsets);
		oracle_check(&oracle, "views");
		oracle_close(&oracle);
	}
}

/* A memory of `nbytes`, and views of it that do and do not fit. */
static void check_bounds(int status, size_t nbytes, int64_t offset, int64_t extent, int64_t stride)
{
	struct bi_memory *memory;
	struct bi_layout layout;
	struct bi_view *view = STALE(struct bi_view);

	OK(bi_memory_create(fixture.context, nbytes, BI_MEMORY_DEFAULT, &memory, &error));
	OK(bi_layout_init(&layout, dtype_of("int32"), 1, &extent, &stride, offset, &error));
	if (status) {
		REFUSED(status, bi_view_create(memory, &layout, 0, &view, &error));
		assert_null(view);
	} else {
		OK(bi_view_create(memory, &layout, 0, &view, &error));
		bi_view_release(view);
	}
	bi_memory_release(memory);
	fixture.cases++;
}

static void test_bounds(void **state)
{
	(void)state;
	check_bounds(BI_OK, 40, 0, 10, 4);
	check_bounds(BI_EBOUNDS, 39, 0, 10, 4);
	check_bounds(BI_EBOUNDS, 40, 1, 10, 4);
	check_bounds(BI_EBOUNDS, 40, -1, 10, 4);
	check_bounds(BI_EBOUNDS, 40, -40, 1, 4);
	check_bounds(BI_OK, 40, 36, 10, -4);
	check_bounds(BI_EBOUNDS, 40, 35, 10, -4);
	check_bounds(BI_EBOUNDS, 40, 37, 10, -4);
	check_bounds(BI_OK, 40, 36, 7, 0);
	check_bounds(BI_EBOUNDS, 40, 37, 7, 0);
	check_bounds(BI_OK, 4, 0, 1, INT64_MAX);
	check_bounds(BI_EBOUNDS, 3, 0, 1, 4);
	check_bounds(BI_EBOUNDS, 0, 0, 1, 4);
	check_bounds(BI_OK, 0, 0, 0, 4);
	check_bounds(BI_EBOUNDS, 40, INT64_MAX - 8, 1, 4);
	check_bounds(BI_EBOUNDS, 40, 0, 2, INT64_MAX / 2);
}

/* One byte less at either end is too little, whatever the layout. */
static void test_tight_bounds(void **state)
{
	(void)state;
	for (int i = 0; i < effort(200); i++) {
		int64_t shape[BI_MAX_NDIM];
		int ndim = random_shape(shape);
		struct bi_layout layout;
		struct oracle oracle;
		struct bi_view *view = STALE(struct bi_view);
		size_t nbytes;

		random_layout(&layout, random_item(), ndim, shape, random_source_spread());
		nbytes = settle(&layout, 0);
		if (nbytes == 0)
			continue;
		oracle_open(&oracle, fixture.context, PLACE_DEVICE, nbytes);
		bi_view_release(view_of(&oracle, &layout, 0));
		layout.offset--;
		REFUSED(BI_EBOUNDS, bi_view_create(oracle.memory, &layout, 0, &view, &error));
		layout.offset += 2;
		REFUSED(BI_EBOUNDS, bi_view_create(oracle.memory, &layout, 0, &view, &error));
		assert_null(view);
		oracle_close(&oracle);
		fixture.cases += 3;
	}
}

/* A layout that somebody filled in by hand is checked as if it came from bi_layout_init. */
static void test_layouts_by_hand(void **state)
{
	struct bi_layout good, bad;
	struct oracle oracle;
	struct bi_view *view = STALE(struct bi_view);
	static const int64_t shape[] = { 2, 3 };

	(void)state;
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, 64);
	OK(bi_layout_init(&good, dtype_of("int32"), 2, shape, NULL, 0, &error));
#define BAD(change) \
	do { \
		bad = good; \
		change; \
		FAILS(bi_view_create(oracle.memory, &bad, 0, &view, &error)); \
		assert_null(view); \
		fixture.cases++; \
	} while (0)
	BAD(bad.ndim = -1);
	BAD(bad.ndim = BI_MAX_NDIM + 1);
	BAD(bad.shape[0] = -1);
	BAD(bad.shape[0] = INT64_MAX);
	BAD((bad.shape[0] = INT64_MAX / 2, bad.strides[0] = 0, bad.strides[1] = 0));
	BAD((bad.shape[0] = INT64_C(1) << 32, bad.shape[1] = INT64_C(1) << 32));
	BAD(bad.strides[1] = INT64_MAX);
	BAD(bad.strides[1] = INT64_MIN);
	BAD(bad.offset = INT64_MIN);
	BAD(bad.offset = INT64_MAX);
	BAD(bad.dtype.type = 200);
	BAD(bad.dtype.item_size = 5);
#undef BAD
	oracle_close(&oracle);
}

static void test_view_arguments(void **state)
{
	struct bi_layout layout;
	struct oracle oracle;
	struct bi_view *view = STALE(struct bi_view);

	(void)state;
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, 64);
	OK(bi_layout_init(&layout, dtype_of("int32"), 0, NULL, NULL, 0, &error));
	REFUSED(BI_EINVAL, bi_view_create(NULL, &layout, 0, &view, &error));
	assert_null(view);
	REFUSED(BI_EINVAL, bi_view_create(oracle.memory, NULL, 0, &view, &error));
	REFUSED(BI_EINVAL, bi_view_create(oracle.memory, &layout, 0, NULL, &error));
	REFUSED(BI_EINVAL, bi_view_create(oracle.memory, &layout, 0x80, &view, &error));
	REFUSED(BI_EINVAL, bi_view_empty(NULL, layout.dtype, 0, NULL, &view, &error));
	REFUSED(BI_EINVAL, bi_view_empty(fixture.context, layout.dtype, -1, NULL, &view, &error));
	REFUSED(BI_EINVAL, bi_view_empty(fixture.context, layout.dtype, 1, NULL, &view, &error));
	oracle_close(&oracle);
	fixture.cases += 7;
}

/* 0, 1, ... in an array of int32. */
static struct bi_view *counting(int ndim, const int64_t *shape)
{
	struct bi_view *view = STALE(struct bi_view);
	size_t count = count_of(ndim, shape);
	int32_t *values = malloc((count + 1) * sizeof(*values));

	assert_non_null(values);
	for (size_t i = 0; i < count; i++)
		values[i] = (int32_t)i;
	OK(bi_view_empty(fixture.context, dtype_of("int32"), ndim, shape, &view, &error));
	OK(bi_view_write(view, values, count * sizeof(*values), &error));
	free(values);
	return view;
}

/* Takes the view. */
static void check_values(struct bi_view *view, size_t count, const int32_t *expected)
{
	int32_t values[32] = { 0 };

	assert_non_null(view);
	OK(bi_view_read(view, values, count * sizeof(*values), &error));
	assert_memory_equal(values, expected, count * sizeof(*values));
	bi_view_release(view);
	fixture.cases++;
}

static struct bi_view *sliced(const struct bi_view *view, int64_t start, int64_t stop, int64_t step)
{
	const struct bi_index item = { BI_INDEX_SLICE, start, stop, step };
	struct bi_view *out = STALE(struct bi_view);

	OK(bi_view_index(view, &item, 1, &out, &error));
	return out;
}

static void test_slices_from_the_end(void **state)
{
	static const int64_t shape[] = { 5 };
	struct bi_view *view = counting(1, shape);

	(void)state;
	check_values(sliced(view, -1, BI_OMITTED, -1), 5, (const int32_t[]){ 4, 3, 2, 1, 0 });
	check_values(sliced(view, -1, BI_OMITTED, 1), 1, (const int32_t[]){ 4 });
	check_values(sliced(view, -1, -4, -1), 3, (const int32_t[]){ 4, 3, 2 });
	check_values(sliced(view, -1, BI_OMITTED, -2), 3, (const int32_t[]){ 4, 2, 0 });
	check_values(sliced(view, -1, 0, 1), 0, NULL);
	check_values(sliced(view, -1, -100, -1), 5, (const int32_t[]){ 4, 3, 2, 1, 0 });
	check_values(sliced(view, -100, 100, 1), 5, (const int32_t[]){ 0, 1, 2, 3, 4 });
	check_values(sliced(view, 100, INT64_MIN + 1, INT64_MIN + 1), 1, (const int32_t[]){ 4 });
	check_values(sliced(view, 0, INT64_MAX, INT64_MAX), 1, (const int32_t[]){ 0 });
	bi_view_release(view);
}

static void test_bad_indices(void **state)
{
	static const int64_t shape[] = { 2, 3 };
	static const struct {
		int status, count;
		struct bi_index items[3];
	} cases[] = {
		{ BI_EBOUNDS, 1, { { BI_INDEX_INTEGER, 2, 0, 0 } } },
		{ BI_EBOUNDS, 1, { { BI_INDEX_INTEGER, -3, 0, 0 } } },
		{ BI_EINVAL, 1, { { BI_INDEX_SLICE, 0, 1, 0 } } },
		{ BI_EINVAL, 2, { { BI_INDEX_ELLIPSIS, 0, 0, 0 }, { BI_INDEX_ELLIPSIS, 0, 0, 0 } } },
		{ BI_OK,
		  3,
		  { { BI_INDEX_INTEGER, 0, 0, 0 }, { BI_INDEX_INTEGER, 0, 0, 0 }, { BI_INDEX_INTEGER, 0, 0, 0 } } },
		{ BI_EINVAL, -1, { { BI_INDEX_INTEGER, 0, 0, 0 } } },
		{ BI_EINVAL, 1, { { (enum bi_index_kind)9, 0, 0, 0 } } },
	};
	struct bi_view *view = counting(2, shape), *out;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		out = STALE(struct bi_view);
		REFUSED(cases[i].status, bi_view_index(view, cases[i].items, cases[i].count, &out, &error));
		assert_null(out);
		fixture.cases++;
	}
	REFUSED(BI_EINVAL, bi_view_index(view, NULL, 1, &out, &error));
	bi_view_release(view);
}

static void test_bad_axes(void **state)
{
	static const int64_t shape[] = { 2, 3, 1 };
	static const int axes[][3] = {
		{ 0, 0, 1 }, { 0, 1, 3 }, { 0, 1, -4 }, { 2, 1, -1 }, { 1, 1, 1 }, { 0, 1, 1000000 }, { -1, 0, 2 },
	};
	struct bi_view *view = counting(3, shape), *out;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(axes); i++) {
		out = STALE(struct bi_view);
		REFUSED(BI_EINVAL, bi_view_permute(view, axes[i], &out, &error));
		assert_null(out);
		fixture.cases++;
	}
	REFUSED(BI_EINVAL, bi_view_flip(view, 3, &out, &error));
	REFUSED(BI_EINVAL, bi_view_flip(view, -4, &out, &error));
	bi_view_release(view);
}

static void test_bad_shapes(void **state)
{
	static const int64_t shape[] = { 2, 3 }, seven[] = { 7 }, minus[] = { -1, -1 }, four[] = { 4, -1 };
	static const int64_t negative[] = { -2, -3 }, wide[] = { 2, 4 }, flat[] = { 3 };
	struct bi_view *view = counting(2, shape), *out = STALE(struct bi_view);

	(void)state;
	FAILS(bi_view_reshape(view, 1, seven, &out, &error));
	assert_null(out);
	FAILS(bi_view_reshape(view, 2, minus, &out, &error));
	FAILS(bi_view_reshape(view, 2, four, &out, &error));
	FAILS(bi_view_reshape(view, 2, negative, &out, &error));
	FAILS(bi_view_reshape(view, -1, seven, &out, &error));
	FAILS(bi_view_broadcast(view, 2, wide, &out, &error));
	FAILS(bi_view_broadcast(view, 1, flat, &out, &error));
	FAILS(bi_view_broadcast(view, 2, negative, &out, &error));
	FAILS(bi_view_broadcast(view, BI_MAX_NDIM + 1, wide, &out, &error));
	assert_null(out);
	bi_view_release(view);
	fixture.cases += 9;
}

/* Read-only views stay read-only through every change, and refuse every way to write. */
static void test_read_only(void **state)
{
	static const int64_t shape[] = { 1, 3 }, wide[] = { 2, 3 }, flat[] = { 6 }, index[] = { 0, 0 };
	struct bi_view *view = counting(2, shape), *wider, *turned;
	const int32_t values[6] = { 9, 9, 9, 9, 9, 9 };
	struct bi_map *map = STALE(struct bi_map);

	(void)state;
	OK(bi_view_broadcast(view, 2, wide, &wider, &error));
	OK(bi_view_permute(wider, NULL, &turned, &error));
	assert_int_equal(bi_view_flags(view), 0);
	assert_int_equal(bi_view_flags(wider), BI_VIEW_READONLY);
	assert_int_equal(bi_view_flags(turned), BI_VIEW_READONLY);
	REFUSED(BI_EREADONLY, bi_fill(turned, values, NULL, &error));
	REFUSED(BI_EREADONLY, bi_view_write(turned, values, sizeof(values), &error));
	REFUSED(BI_EREADONLY, bi_view_set_element(turned, index, values, &error));
	REFUSED(BI_EREADONLY, bi_view_map(turned, BI_MAP_WRITE, &map, &error));
	assert_null(map);
	REFUSED(BI_EREADONLY, bi_copy(wider, wider, NULL, &error));
	check_values(turned, 6, (const int32_t[]){ 0, 0, 1, 1, 2, 2 });
	REFUSED(BI_EUNSUPPORTED, bi_view_reshape(wider, 1, flat, &turned, &error));
	check_values(wider, 6, (const int32_t[]){ 0, 1, 2, 0, 1, 2 });
	check_values(view, 3, (const int32_t[]){ 0, 1, 2 });
	fixture.cases += 6;
}

/* Fields of structured elements, one by one and as an array of arrays; the caller's text may go. */
static void test_fields(void **state)
{
	char descr[] = "[('x', '<f4'), ('n', '<i2', (3,)), ('pair', [('re', '<f8'), ('im', '<f8')])]";
	static const int64_t shape[] = { 4 }, strides[] = { -28 };
	struct oracle oracle;
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view, *n, *pair, *im, *none = STALE(struct bi_view);
	int16_t values[12];
	double parts[4];

	(void)state;
	OK(bi_dtype_parse_descr(descr, &dtype, &error));
	assert_int_equal(dtype.item_size, 26);
	OK(bi_layout_init(&layout, dtype, 1, shape, strides, 87, &error));
	layout.descr = descr;
	layout.descr_length = (uint32_t)strlen(descr);
	oracle_open(&oracle, fixture.context, PLACE_DEVICE, 120);
	view = view_of(&oracle, &layout, 0);
	memset(descr, 'x', sizeof(descr) - 1);
	OK(bi_view_field(view, "n", &n, &error));
	OK(bi_view_field(view, "pair", &pair, &error));
	REFUSED(BI_EINVAL, bi_view_field(view, "missing", &none, &error));
	assert_null(none);
	bi_view_release(view);
	OK(bi_view_field(pair, "im", &im, &error));
	bi_view_release(pair);
	assert_int_equal(bi_view_ndim(n), 2);
	OK(bi_view_read(n, values, sizeof(values), &error));
	OK(bi_view_read(im, parts, sizeof(parts), &error));
	for (size_t i = 0; i < 4; i++) {
		assert_memory_equal(&values[3 * i], oracle.bytes + 87 - 28 * i + 4, 6);
		assert_memory_equal(&parts[i], oracle.bytes + 87 - 28 * i + 18, 8);
	}
	OK(bi_fill(im, &parts[0], NULL, &error));
	for (size_t i = 0; i < 4; i++)
		memcpy(oracle.bytes + 87 - 28 * i + 18, &parts[0], 8);
	oracle_check(&oracle, "fill of a field");
	bi_view_release(n);
	bi_view_release(im);
	oracle_close(&oracle);
	fixture.cases += 4;
}

static void test_reinterpret(void **state)
{
	static const int64_t shape[] = { 2, 2 };
	struct bi_view *view = counting(2, shape), *bytes, *wide, *complex_view, *record, *field;
	unsigned char raw[16];

	(void)state;
	OK(bi_view_reinterpret(view, dtype_of("uint8"), NULL, &bytes, &error));
	assert_int_equal(bi_view_shape(bytes)[1], 8);
	OK(bi_view_read(bytes, raw, sizeof(raw), &error));
	assert_memory_equal(raw, ((const int32_t[]){ 0, 1, 2, 3 }), 16);
	OK(bi_view_reinterpret(bytes, dtype_of("complex64"), NULL, &complex_view, &error));
	assert_int_equal(bi_view_shape(complex_view)[1], 1);
	OK(bi_view_reinterpret(complex_view, dtype_of("void8"), "[('a', '<i4'), ('b', '<i4')]", &record, &error));
	OK(bi_view_field(record, "b", &field, &error));
	check_values(field, 2, (const int32_t[]){ 1, 3 });
	REFUSED(BI_EDTYPE, bi_view_reinterpret(view, dtype_of("void8"), "[('a', '<i4')]", &wide, &error));
	FAILS(bi_view_reinterpret(view, dtype_of("bytes3"), NULL, &wide, &error));
	assert_null(wide);
	bi_view_release(record);
	bi_view_release(complex_view);
	bi_view_release(bytes);
	bi_view_release(view);
	fixture.cases += 5;
}

/* Each operation accepts arrays without elements, and changes nothing. */
static void check_empty(enum place place, size_t nbytes, int ndim, const int64_t *shape)
{
	struct oracle oracle;
	struct bi_layout layout;
	struct bi_view *view, *turned;
	struct bi_stream *stream = bi_context_stream(fixture.context);
	struct bi_native native;
	struct bi_map *map = NULL;
	const int32_t element = 1;

	OK(bi_layout_init(&layout, dtype_of("int32"), ndim, shape, NULL, 0, &error));
	oracle_open(&oracle, fixture.context, place, nbytes);
	view = view_of(&oracle, &layout, 0);
	OK(bi_view_permute(view, NULL, &turned, &error));
	OK(bi_copy(view, view, NULL, &error));
	OK(bi_copy(view, view, stream, &error));
	OK(bi_fill(turned, &element, NULL, &error));
	OK(bi_view_read(view, NULL, 0, &error));
	OK(bi_view_write(view, NULL, 0, &error));
	REFUSED(BI_EBOUNDS, bi_view_write(view, &element, 4, &error));
	OK(bi_view_map(view, BI_MAP_WRITE, &map, &error));
	assert_null(bi_map_data(map));
	OK(bi_unmap(map, &error));
	OK(begin_use(view, stream, &error));
	OK(end_use(view, stream, &error));
	OK(bi_view_synchronize(view, &error));
	bi_view_native(view, &native);
	bi_view_host_pointer(view);
	oracle_check(&oracle, "arrays without elements");
	bi_view_release(turned);
	bi_view_release(view);
	oracle_close(&oracle);
	fixture.cases += 11;
}

static void test_empty(void **state)
{
	static const int64_t shapes[][3] = { { 0, 2, 3 }, { 2, 0, 3 }, { 0, 0, 0 }, { 2, INT64_C(1) << 40, 0 } };
	static const int64_t none[] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++)
		for (int place = 0; place < PLACE_COUNT; place++) {
			if (!has_place(fixture.context, (enum place)place))
				continue;
			check_empty((enum place)place, 0, 3, shapes[i]);
			check_empty((enum place)place, 16, 3, shapes[i]);
			check_empty((enum place)place, 4, 1, none);
		}
}

int views_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_changes),         TEST(test_bounds),         TEST(test_tight_bounds),
		TEST(test_layouts_by_hand), TEST(test_view_arguments), TEST(test_slices_from_the_end),
		TEST(test_bad_indices),     TEST(test_bad_axes),       TEST(test_bad_shapes),
		TEST(test_read_only),       TEST(test_fields),         TEST(test_reinterpret),
		TEST(test_empty),
	};

	return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
