/* The planner: what every plan must be, on random layouts; and the plans of copies that everybody makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/plan_properties.h"

static struct test_random random_state;

static int64_t between(int64_t low, int64_t high)
{
	return test_between(&random_state, low, high);
}

static struct bi_dtype item_of(uint32_t size)
{
	struct bi_dtype dtype;

	assert_int_equal(bi_dtype_make(BI_VOID, 1, size, &dtype, NULL), BI_OK);
	return dtype;
}

static struct bi_layout layout_of(uint32_t item, int ndim, const int64_t *shape, const int64_t *strides, int64_t offset)
{
	struct bi_layout layout;
	struct bi_error err;
	int rc = bi_layout_init(&layout, item_of(item), ndim, shape, strides, offset, &err);

	if (rc)
		fail_msg("%s", err.message);
	return layout;
}

static int random_shape(int64_t *shape)
{
	int ndim = (int)between(0, 8);
	int64_t size = 1;

	for (int i = 0; i < ndim; i++) {
		shape[i] = between(1, size > 200 ? 2 : 9);
		size *= shape[i];
	}
	if (ndim && between(0, 49) == 0)
		shape[between(0, ndim - 1)] = 0;
	return ndim;
}

/* Axes in any order and of any sign around each other, sometimes with gaps. */
static void nested_strides(int ndim, const int64_t *shape, int64_t item, int64_t *strides)
{
	int64_t span = item;
	uint64_t done = 0;

	for (int left = ndim; left > 0; left--) {
		int axis = (int)between(0, ndim - 1);

		while (done >> axis & 1)
			axis = (axis + 1) % ndim;
		done |= UINT64_C(1) << axis;
		if (between(0, 2) == 0)
			span += between(0, 1) ? between(1, 5) : item * between(1, 3);
		strides[axis] = between(0, 2) ? span : -span;
		if (shape[axis] > 1)
			span += span * (shape[axis] - 1);
	}
}

static void source_strides(int ndim, const int64_t *shape, int64_t item, int64_t *strides)
{
	int spread = (int)between(0, 3);

	nested_strides(ndim, shape, item, strides);
	for (int i = 0; i < ndim; i++) {
		if (spread == 1 && between(0, 1))
			strides[i] = 0;
		if (spread == 2)
			strides[i] = between(-30, 30);
	}
}

/* Elements side by side on both sides, or axes that are alike on both, or nothing in common. */
static void random_pair(struct bi_layout *dst, struct bi_layout *src)
{
	int64_t shape[BI_MAX_NDIM], to[BI_MAX_NDIM], from[BI_MAX_NDIM];
	uint32_t item = (uint32_t)between(1, 40);
	int ndim = random_shape(shape), alike = (int)between(0, 2);

	nested_strides(ndim, shape, item, to);
	source_strides(ndim, shape, item, from);
	for (int i = 0; i < ndim; i++)
		if (alike && between(0, 3))
			from[i] = to[i];
	*dst = layout_of(item, ndim, shape, alike == 2 && between(0, 1) ? NULL : to, between(0, 100));
	*src = layout_of(item, ndim, shape, from, between(0, 100));
}

/* "shape x destination's stride, source's stride", an axis each. */
static void print_pair(const struct bi_layout *dst, const struct bi_layout *src)
{
	print_error("items of %u bytes:", dst->dtype.item_size);
	for (int i = 0; i < dst->ndim; i++)
		print_error(" %lld x %lld,%lld", (long long)dst->shape[i], (long long)dst->strides[i],
			    (long long)src->strides[i]);
	print_error("\n");
}

static void check_pair(const struct bi_layout *dst, const struct bi_layout *src)
{
	const char *wrong = plan_check(dst, src, &random_state, 100000);

	if (!wrong)
		return;
	print_pair(dst, src);
	fail_msg("%s", wrong);
}

static void test_random_layouts(void **state)
{
	int met[BI_PLAN_COUNT] = { 0 };

	(void)state;
	for (int i = 0; i < test_cases(20000); i++) {
		struct bi_layout dst, src;
		struct bi__plan plan;

		random_pair(&dst, &src);
		check_pair(&dst, &src);
		bi__plan_make(&plan, &dst, &src);
		met[plan.kind]++;
	}
	for (int kind = 0; kind < BI_PLAN_COUNT; kind++)
		if (met[kind] < test_cases(20))
			fail_msg("%s: met only %d times", bi__plan_name((enum bi_plan_kind)kind), met[kind]);
}

/* Long enough for tiles along several axes, few of the random ones above are. */
static void test_random_squares(void **state)
{
	int tiles = 0;

	(void)state;
	for (int i = 0; i < test_cases(2000); i++) {
		const int64_t shape[] = { between(2, 12), between(2, 12), between(1, 4) };
		uint32_t item = (uint32_t)between(1, 20);
		int64_t to[3], from[3];
		struct bi_layout dst, src;
		struct bi__plan plan;

		nested_strides(3, shape, item, to);
		nested_strides(3, shape, item, from);
		dst = layout_of(item, 3, shape, to, 0);
		src = layout_of(item, 3, shape, from, 0);
		check_pair(&dst, &src);
		bi__plan_make(&plan, &dst, &src);
		tiles += plan.kind == BI_PLAN_TILES;
	}
	assert_in_range(tiles, test_cases(100), test_cases(1900));
}

static void test_random_fills(void **state)
{
	(void)state;
	for (int i = 0; i < test_cases(3000); i++) {
		struct bi_layout dst, src;
		struct bi__plan plan, fill;

		random_pair(&dst, &src);
		memset(src.strides, 0, sizeof(src.strides));
		src.offset = 0;
		check_pair(&dst, &src);
		bi__plan_make(&plan, &dst, &src);
		bi__plan_make(&fill, &dst, NULL);
		assert_true(plan_equal(&plan, &fill));
		assert_true(fill.kind == BI_PLAN_FILL || fill.ndim == 0);
	}
}

/* Destinations whose axes interleave: still sound, though the plan may depend on how they are split. */
static void test_interleaved_destinations(void **state)
{
	static const int64_t shapes[][3] = { { 4, 2, 1 }, { 3, 2, 2 }, { 3, 2, 2 } };
	static const int64_t strides[][3] = { { 2, 3, 1 }, { 2, 3, 6 }, { -4, 6, -12 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		int64_t from[3];
		struct bi_layout dst = layout_of(1, 3, shapes[i], strides[i], 100), src;

		for (int axis = 0; axis < 3; axis++)
			from[axis] = 5 * strides[i][axis];
		src = layout_of(1, 3, shapes[i], from, 200);
		assert_false(bi_layout_self_overlap(&dst));
		check_pair(&dst, &src);
	}
}

/* One of the two sides; the other is dense. */
static void check_extreme(int ndim, const int64_t *shape, const int64_t *strides, int64_t offset)
{
	struct bi_layout far = layout_of(1, ndim, shape, strides, offset), dense = layout_of(1, ndim, shape, NULL, 0);

	check_pair(&dense, &far);
	if (!bi_layout_self_overlap(&far))
		check_pair(&far, &dense);
	check_pair(&dense, &dense);
}

/* The largest numbers that a layout takes. */
static void test_extremes(void **state)
{
	static const int64_t two[] = { 2 }, pair[] = { 2, 2 }, huge[] = { INT64_MAX - 1 };
	static const int64_t forward[] = { INT64_MAX - 1 }, backward[] = { -INT64_MAX };
	static const int64_t both[] = { INT64_MAX - 9, -INT64_MAX + 9 }, ones[] = { 1, 1 };
	static const int64_t lowest[] = { INT64_MIN, INT64_MIN };
	int64_t many[62], doubling[62], halving[62];

	(void)state;
	for (int i = 0; i < 62; i++) {
		many[i] = 2;
		doubling[i] = INT64_C(1) << i;
		halving[i] = -(INT64_C(1) << (61 - i));
	}
	check_extreme(1, two, forward, 0);
	check_extreme(1, two, backward, 0);
	check_extreme(1, two, backward, INT64_MAX - 1);
	check_extreme(2, pair, both, 0);
	check_extreme(2, ones, lowest, 7);
	if (sizeof(size_t) < 8) /* these have more bytes than addresses */
		return;
	check_extreme(1, huge, NULL, 0);
	check_extreme(62, many, doubling, 0);
	check_extreme(62, many, halving, INT64_MAX - 1);
}

static void test_refusals(void **state)
{
	static const int64_t a[] = { 2, 3 }, b[] = { 3, 2 }, overlapping[] = { 4, 4 };
	struct bi_layout dst = layout_of(4, 2, a, NULL, 0), other = layout_of(4, 2, b, NULL, 0), wrong;
	struct bi_plan out = { .kind = 77 };
	struct bi_error err;

	(void)state;
	assert_int_equal(bi_plan_make(&dst, &other, &out, &err), BI_EINVAL);
	assert_string_equal(err.message, "the destination has extent 2 on axis 0, the source 3");
	wrong = layout_of(4, 1, b, NULL, 0);
	assert_int_equal(bi_plan_make(&dst, &wrong, &out, &err), BI_EINVAL);
	assert_string_equal(err.message, "the destination has 2 dimensions, the source 1");
	wrong = layout_of(8, 2, a, NULL, 0);
	assert_int_equal(bi_plan_make(&dst, &wrong, &out, &err), BI_EDTYPE);
	assert_string_equal(err.message, "an item of the destination has 4 bytes, of the source 8");
	wrong = layout_of(4, 2, a, overlapping, 0);
	assert_int_equal(bi_plan_make(&wrong, &dst, &out, &err), BI_EOVERLAP);
	assert_int_equal(bi_plan_make(&wrong, NULL, &out, &err), BI_EOVERLAP);
	assert_int_equal(bi_plan_make(NULL, &dst, &out, &err), BI_EINVAL);
	assert_int_equal(bi_plan_make(&dst, &dst, NULL, &err), BI_EINVAL);
	assert_int_equal(out.kind, 77);
	assert_int_equal(bi_plan_make(&dst, &wrong, &out, &err), BI_OK);
}

/* A copy of a view of a dense array into a dense array of the view's shape, and what becomes of it. */
struct example {
	const char *name;
	uint32_t item;
	int ndim;
	int64_t shape[4]; /* of the array */
	const char *view; /* axes in their order: digit; with '-': backwards, with ':': every second element */
	struct bi_plan plan; /* reason: a part of it, or "" */
};

#define PLAN(kind_, cross_, ndim_, unit_, ...) \
	{ \
		.kind = BI_PLAN_##kind_, .ndim = (ndim_), .cross = (cross_), .unit = (unit_), __VA_ARGS__ \
	}

static const struct example examples[] = {
	{ "2-D transpose",
	  4,
	  2,
	  { 4096, 4096 },
	  "10",
	  PLAN(TILES, 0, 2, 4, .shape = { 4096, 4096 }, .dst_strides = { 16384, 4 }, .src_strides = { 4, 16384 },
	       .reason = "along axis 1 have 16384 bytes, and those along axis 0 have 4:") },
	{ "[:, ::2]",
	  4,
	  2,
	  { 4096, 4096 },
	  "01:",
	  PLAN(STRIDED, -1, 1, 4, .shape = { 4096 * 2048 }, .dst_strides = { 4 }, .src_strides = { 8 },
	       .reason = "8 in the source") },
	{ "permute (0, 2, 1, 3)",
	  4,
	  4,
	  { 64, 64, 64, 64 },
	  "0213",
	  PLAN(ROWS, -1, 3, 256, .shape = { 64, 64, 64 }, .dst_strides = { 1 << 20, 1 << 14, 1 << 8 },
	       .src_strides = { 1 << 20, 1 << 8, 1 << 14 },
	       .reason = "runs of 64 bytes and more are not copied in tiles") },
	{ "permute (3, 2, 1, 0)",
	  4,
	  4,
	  { 64, 64, 64, 64 },
	  "3210",
	  PLAN(TILES, 0, 4, 4, .shape = { 64, 64, 64, 64 }, .dst_strides = { 1 << 20, 1 << 14, 1 << 8, 4 },
	       .src_strides = { 4, 1 << 8, 1 << 14, 1 << 20 }) },
	{ "[::-1] rows",
	  4,
	  2,
	  { 4096, 4096 },
	  "-01",
	  PLAN(ROWS, -1, 1, 16384, .src_offset = 4095 * 16384, .shape = { 4096 }, .dst_strides = { 16384 },
	       .src_strides = { -16384 }, .reason = "runs of 16384 bytes") },
	{ "[:, ::-1]",
	  4,
	  2,
	  { 4096, 4096 },
	  "0-1",
	  PLAN(STRIDED, -1, 2, 4, .src_offset = 4095 * 4, .shape = { 4096, 4096 }, .dst_strides = { 16384, 4 },
	       .src_strides = { 16384, -4 }) },
	{ "contiguous",
	  4,
	  2,
	  { 4096, 4096 },
	  "01",
	  PLAN(LINEAR, -1, 0, 1 << 26, .reason = "one run of 67108864 bytes") },
	{ "one element", 8, 3, { 1, 1, 1 }, "210", PLAN(LINEAR, -1, 0, 8, .reason = "8 bytes") },
	{ "no element", 8, 2, { 4, 0 }, "10", PLAN(NOTHING, -1, 0, 8, .reason = "no elements") },
	{ "every second row",
	  2,
	  2,
	  { 100, 30 },
	  "0:1",
	  PLAN(ROWS, -1, 1, 60, .shape = { 50 }, .dst_strides = { 60 }, .src_strides = { 120 }) },
	{ "a narrow transpose",
	  4,
	  2,
	  { 1000, 7 },
	  "10",
	  PLAN(TILES, 0, 2, 4, .shape = { 7, 1000 }, .dst_strides = { 4000, 4 }, .src_strides = { 4, 28 }) },
	{ "planes to pixels",
	  1,
	  2,
	  { 3, 1000 },
	  "10",
	  PLAN(TILES, 0, 2, 1, .shape = { 1000, 3 }, .dst_strides = { 3, 1 }, .src_strides = { 1, 1000 },
	       .reason = "runs along axis 1 have only 3 bytes") },
	{ "four colours apart",
	  1,
	  2,
	  { 1000, 4 },
	  "10",
	  PLAN(STRIDED, -1, 2, 1, .shape = { 4, 1000 }, .dst_strides = { 1000, 1 }, .src_strides = { 1, 4 }) },
	{ "a small square",
	  16,
	  2,
	  { 8, 8 },
	  "10",
	  PLAN(TILES, 0, 2, 16, .shape = { 8, 8 }, .dst_strides = { 128, 16 }, .src_strides = { 16, 128 }) },
	{ "items too large for tiles",
	  64,
	  2,
	  { 80, 80 },
	  "10",
	  PLAN(STRIDED, -1, 2, 64, .shape = { 80, 80 }, .dst_strides = { 5120, 64 }, .src_strides = { 64, 5120 },
	       .reason = "runs of 64 bytes and more") },
	{ "an image turned, its pixels whole",
	  1,
	  3,
	  { 480, 640, 3 },
	  "102",
	  PLAN(TILES, 0, 2, 3, .shape = { 640, 480 }, .dst_strides = { 1440, 3 }, .src_strides = { 3, 1920 }) },
	{ "an image turned, and its colours apart",
	  1,
	  3,
	  { 480, 640, 3 },
	  "210",
	  PLAN(TILES, 0, 3, 1, .shape = { 3, 640, 480 }, .dst_strides = { 640 * 480, 480, 1 },
	       .src_strides = { 1, 3, 1920 }) },
	{ "a transpose from every second column",
	  4,
	  2,
	  { 100, 100 },
	  "1:0",
	  PLAN(TILES, 0, 2, 4, .shape = { 50, 100 }, .dst_strides = { 400, 4 }, .src_strides = { 8, 400 }) },
};

/* Applies the view's text to both the dense array and the order of its axes. */
static struct bi_layout view_of(const struct example *example)
{
	struct bi_layout layout = layout_of(example->item, example->ndim, example->shape, NULL, 0);
	int axes[4], count = 0, backward = 0;

	for (const char *c = example->view; *c; c++) {
		if (*c == '-') {
			backward = 1;
		} else if (*c == ':') {
			layout.shape[axes[count - 1]] /= 2;
			layout.strides[axes[count - 1]] *= 2;
		} else {
			axes[count++] = *c - '0';
			if (backward)
				assert_int_equal(bi_layout_flip(&layout, *c - '0', NULL), BI_OK);
			backward = 0;
		}
	}
	assert_int_equal(bi_layout_permute(&layout, axes, NULL), BI_OK);
	return layout;
}

static void check_plan(const char *name, const struct bi_plan *got, const struct bi_plan *wanted)
{
	size_t axes = (size_t)wanted->ndim * sizeof(int64_t);

	if (got->kind != wanted->kind || got->ndim != wanted->ndim || got->cross != wanted->cross ||
	    got->unit != wanted->unit || got->dst_offset != wanted->dst_offset ||
	    got->src_offset != wanted->src_offset || memcmp(got->shape, wanted->shape, axes) ||
	    memcmp(got->dst_strides, wanted->dst_strides, axes) || memcmp(got->src_strides, wanted->src_strides, axes))
		fail_msg("%s: another plan: %s, %d axes, unit %llu, %s", name,
			 bi__plan_name((enum bi_plan_kind)got->kind), got->ndim, (unsigned long long)got->unit,
			 got->reason);
	if (!strstr(got->reason, wanted->reason))
		fail_msg("%s: \"%s\" is not in \"%s\"", name, wanted->reason, got->reason);
}

static void test_examples(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(examples); i++) {
		const struct example *example = &examples[i];
		struct bi_layout src = view_of(example);
		struct bi_layout dst = layout_of(example->item, src.ndim, src.shape, NULL, 0);
		struct bi_plan plan;

		assert_int_equal(bi_plan_make(&dst, &src, &plan, NULL), BI_OK);
		check_plan(example->name, &plan, &example->plan);
		assert_int_equal(plan.bytes, bi_layout_nbytes(&dst));
		/* Into a view of that kind, from a dense array: what was read in a strange order is now written in one.
		 */
		if (bi_layout_size(&src) < 1 << 16)
			check_pair(&src, &dst);
	}
}

/* Both sides in Fortran order, or backwards, are one run. */
static void test_alike(void **state)
{
	static const int64_t shape[] = { 5, 6, 7 }, fortran[] = { 4, 20, 120 }, backwards[] = { -168, -28, -4 };
	static const int64_t *const strides[] = { NULL, fortran, backwards };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct bi_layout side = layout_of(4, 3, shape, strides[i], 836);
		struct bi_plan plan;

		assert_int_equal(bi_plan_make(&side, &side, &plan, NULL), BI_OK);
		assert_int_equal(plan.kind, BI_PLAN_LINEAR);
		assert_int_equal(plan.dst_offset, i == 2 ? 0 : 836);
	}
}

/* Sources that stand still: along the last axis, along all, and along one that does not count. */
static void test_repeats(void **state)
{
	static const int64_t shape[] = { 40, 70 };
	static const struct {
		int64_t src[2];
		struct bi_plan plan;
	} cases[] = {
		{ { 4, 0 },
		  PLAN(BROADCAST, -1, 2, 4, .shape = { 40, 70 }, .dst_strides = { 280, 4 }, .src_strides = { 4, 0 },
		       .reason = "4 bytes are written 70 times") },
		{ { 0, 4 },
		  PLAN(FILL, -1, 1, 280, .shape = { 40 }, .dst_strides = { 280 }, .reason = "same 280 bytes") },
		{ { 0, 0 }, PLAN(FILL, -1, 1, 4, .shape = { 2800 }, .dst_strides = { 4 }) },
		{ { 0, 8 },
		  PLAN(STRIDED, -1, 2, 4, .shape = { 40, 70 }, .dst_strides = { 280, 4 }, .src_strides = { 0, 8 }) },
	};
	struct bi_layout dst = layout_of(4, 2, shape, NULL, 0);
	struct bi_plan plan;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_layout src = layout_of(4, 2, shape, cases[i].src, 0);

		assert_int_equal(bi_plan_make(&dst, &src, &plan, NULL), BI_OK);
		check_plan("a repeat", &plan, &cases[i].plan);
	}
	assert_int_equal(bi_plan_make(&dst, NULL, &plan, NULL), BI_OK);
	check_plan("a fill", &plan, &cases[2].plan);
}

/* Of two axes along which the source is equally near, the inner one is turned. */
static void test_windows(void **state)
{
	static const int64_t shape[] = { 9, 9, 9 }, windows[] = { 2, 2, 1000 };
	struct bi_layout dst = layout_of(2, 3, shape, NULL, 0), src = layout_of(2, 3, shape, windows, 0);
	struct bi_plan plan;

	(void)state;
	check_pair(&dst, &src);
	assert_int_equal(bi_plan_make(&dst, &src, &plan, NULL), BI_OK);
	assert_int_equal(plan.kind, BI_PLAN_TILES);
	assert_int_equal(plan.cross, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_layouts), cmocka_unit_test(test_random_squares),
		cmocka_unit_test(test_random_fills),   cmocka_unit_test(test_interleaved_destinations),
		cmocka_unit_test(test_extremes),       cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_examples),       cmocka_unit_test(test_alike),
		cmocka_unit_test(test_repeats),        cmocka_unit_test(test_windows),
	};

	random_state.state = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
