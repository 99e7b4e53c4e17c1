/*
 * The kernels as plain C, in the launches that a plan becomes, against a copy that follows the plan; and the arithmetic
 * of the launches alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cuda_sim/kernels.h"
#include "kernels/launch.h"
#include "support/random.h"

static struct test_random random_state;

static int64_t between(int64_t low, int64_t high)
{
	return test_between(&random_state, low, high);
}

static void randomize(unsigned char *bytes, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)test_next(&random_state);
}

/* One side of a copy, and for each byte how often the launches say that they touch it. */
struct side {
	size_t offset; /* of the plan's zero */
	size_t nbytes;
	unsigned char *bytes, *marks;
};

static void make_side(struct side *side, size_t nbytes, size_t offset)
{
	side->offset = offset;
	side->nbytes = nbytes + offset;
	/* Exactly so long that a sanitizer sees the first byte behind it. */
	side->bytes = malloc(side->nbytes);
	side->marks = calloc(1, side->nbytes);
	assert_non_null(side->bytes);
	assert_non_null(side->marks);
	randomize(side->bytes, side->nbytes);
}

static void free_side(struct side *side)
{
	free(side->bytes);
	free(side->marks);
}

/* The plan as it is read: marks what it touches, and copies. */
static void naive(const struct bi__plan *plan, int axis, struct side *dst, struct side *src, int64_t to, int64_t from)
{
	if (axis < plan->ndim) {
		for (int64_t i = 0; i < plan->shape[axis]; i++)
			naive(plan, axis + 1, dst, src, to + i * plan->dst_strides[axis],
			      from + i * plan->src_strides[axis]);
		return;
	}
	memcpy(dst->bytes + dst->offset + to, src->bytes + src->offset + from, plan->unit);
	memset(dst->marks + dst->offset + to, 1, plan->unit);
	memset(src->marks + src->offset + from, 1, plan->unit);
}

/* A source is marked as often as it may be read, a destination once. */
struct marks {
	struct side *dst, *src;
};

static void mark(void *state, uint64_t address, size_t nbytes, int writes)
{
	struct marks *marks = state;
	struct side *side = writes ? marks->dst : marks->src;
	size_t start = (size_t)(address - (uint64_t)(uintptr_t)side->bytes);

	assert_true(start < side->nbytes && nbytes <= side->nbytes - start);
	for (size_t i = start; i < start + nbytes; i++) {
		assert_true(!writes || !side->marks[i]);
		side->marks[i] = 1;
	}
}

static unsigned runs[BI__KERNEL_COUNT];

/* A kernel with 64-bit offsets does all that one with 32-bit offsets does. */
static int choose(int kernel)
{
	if (kernel / BI__KERNEL_UNITS == BI__KERNEL_strided32 && between(0, 1))
		return kernel + BI__KERNEL_UNITS;
	return kernel;
}

static void run_launch(const struct bi__launch *launch, struct side *dst, struct side *src)
{
	int number = choose(launch->kernel);
	const struct sim_kernel *kernel = sim_kernel_find(bi__kernel_name(number));
	const unsigned grid[] = { launch->groups, 1, 1 }, block[] = { launch->threads, 1, 1 };
	uint64_t to = (uintptr_t)dst->bytes, from = src ? (uintptr_t)src->bytes : 0;
	struct bi__launch copy = *launch;
	void *both[] = { &to, &from, &copy.arguments }, *one[] = { &to, &copy.arguments };
	struct marks marks = { dst, src };

	assert_non_null(kernel);
	assert_int_equal(kernel->argument_count, launch->has_source ? 3 : 2);
	assert_int_equal(kernel->argument_sizes[kernel->argument_count - 1], launch->nbytes);
	kernel->footprint(launch->has_source ? both : one, grid, block, mark, &marks);
	kernel->run(launch->has_source ? both : one, grid, block, test_next(&random_state));
	runs[number]++;
}

static void run_launches(struct bi__launches *launches, struct side *dst, struct side *src)
{
	struct bi__launch launch = { .is_last = 0 };
	int count = 0;

	while (bi__launches_next(launches, &launch)) {
		run_launch(&launch, dst, src);
		count++;
	}
	assert_true(count > 0 && launch.is_last);
}

static void random_limits(struct bi__launch_limits *limits)
{
	*limits = (struct bi__launch_limits){ .group = (uint32_t)(UINT64_C(1) << between(0, 8)), .tiles = 1 };
	if (between(0, 3) == 0)
		limits->tiles = 0;
	if (between(0, 2) == 0)
		limits->count = (uint32_t)between(1, 400);
}

/* Axes from the outermost to the innermost: the destination has gaps or none. Returns its bytes. */
static size_t random_dst(struct bi__plan *plan, size_t align)
{
	int64_t stride = (int64_t)plan->unit;

	plan->bytes = plan->unit;
	for (int i = plan->ndim - 1; i >= 0; i--) {
		if (between(0, 2) == 0)
			stride += between(0, 3) * (int64_t)align;
		plan->dst_strides[i] = stride;
		stride *= plan->shape[i];
		plan->bytes *= (uint64_t)plan->shape[i];
	}
	plan->dst_offset = between(0, 3) * (int64_t)align;
	return (size_t)(plan->dst_offset + stride);
}

/* The axes in any order, dense or not, some running backwards, some standing still. Returns its bytes. */
static size_t random_src(struct bi__plan *plan, size_t align)
{
	int order[BI_MAX_NDIM];
	int64_t stride = (int64_t)plan->unit;

	plan->src_offset = 0;
	for (int i = 0; i < plan->ndim; i++) {
		int j = (int)between(0, i);

		order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < plan->ndim; i++) {
		int64_t *mine = &plan->src_strides[order[i]], extent = plan->shape[order[i]];

		if (between(0, 9) == 0) {
			*mine = 0;
			continue;
		}
		if (between(0, 3) == 0)
			stride += between(0, 3) * (int64_t)align;
		*mine = stride;
		stride *= extent;
		if (between(0, 4) == 0) {
			plan->src_offset += (extent - 1) * *mine;
			*mine = -*mine;
		}
	}
	return (size_t)stride;
}

static const size_t units[] = { 1, 2, 4, 8, 16, 3, 12, 24, 32, 40 };
#define UNITS (ARRAY_LENGTH(units))

/* Two axes are long enough for tiles with ragged edges, and more or fewer are around them. */
static void random_shape(struct bi__plan *plan, int round)
{
	*plan = (struct bi__plan){ .kind = BI_PLAN_STRIDED, .unit = units[(size_t)round % UNITS] };
	plan->ndim = (int)between(0, 4);
	for (int i = 0; i < plan->ndim; i++)
		plan->shape[i] = between(2, plan->ndim == 2 ? 80 : 9);
	if (plan->ndim > 2)
		plan->shape[between(0, plan->ndim - 1)] = between(8, 40);
}

static void check_sides(const struct side *dst, const struct side *actual)
{
	assert_memory_equal(dst->bytes, actual->bytes, dst->nbytes);
	assert_memory_equal(dst->marks, actual->marks, dst->nbytes);
}

/* Another destination that begins as `dst` does, or with the opposite bits of it. */
static void make_twin(struct side *twin, const struct side *dst, int invert)
{
	make_side(twin, dst->nbytes - dst->offset, dst->offset);
	for (size_t i = 0; i < dst->nbytes; i++)
		twin->bytes[i] = (unsigned char)(invert ? ~dst->bytes[i] : dst->bytes[i]);
}

static void check_copy(struct bi__plan *plan, size_t dst_nbytes, size_t src_nbytes, size_t align,
		       const struct bi__launch_limits *limits)
{
	struct side dst, src, actual, again;
	struct bi__launches launches;

	bi__plan_classify(plan, plan->unit);
	make_side(&dst, dst_nbytes, (size_t)between(0, 3) * align);
	make_side(&src, src_nbytes, (size_t)between(0, 3) * align);
	make_twin(&actual, &dst, 0);
	make_twin(&again, &dst, 1);
	bi__launches_copy(&launches, plan, dst.offset, src.offset, limits);
	run_launches(&launches, &actual, &src);
	bi__launches_copy(&launches, plan, dst.offset, src.offset, limits);
	run_launches(&launches, &again, &src);
	/* What differs between the two was not written. */
	for (size_t i = 0; i < dst.nbytes; i++)
		assert_int_equal(actual.bytes[i] == again.bytes[i], actual.marks[i]);
	{
		struct side named = src;

		src.marks = calloc(1, src.nbytes);
		naive(plan, 0, &dst, &src, plan->dst_offset, plan->src_offset);
		assert_memory_equal(src.marks, named.marks, src.nbytes);
		free(named.marks);
	}
	check_sides(&dst, &actual);
	free_side(&dst);
	free_side(&src);
	free_side(&actual);
	free_side(&again);
}

static void test_copies(void **unused)
{
	static const size_t aligns[] = { 1, 2, 4, 8, 16, 16, 16 };

	(void)unused;
	for (int round = 0; round < 600; round++) {
		struct bi__launch_limits limits;
		struct bi__plan plan;
		size_t align, dst, src;

		random_limits(&limits);
		random_shape(&plan, round);
		align = aligns[between(0, (int)ARRAY_LENGTH(aligns) - 1)];
		dst = random_dst(&plan, align);
		src = random_src(&plan, align);
		check_copy(&plan, dst, src, align, &limits);
	}
}

/*
 * Axes of all lengths: shorter than a word, than a line of a tile, and longer. Inside of a run the destination is
 * dense. Returns its bytes.
 */
static size_t random_runs(struct bi__plan *plan)
{
	int64_t stride = (int64_t)plan->unit, room = 60000;

	plan->ndim = (int)between(1, 4);
	plan->bytes = plan->unit;
	for (int i = plan->ndim - 1; i >= 0; i--) {
		static const int64_t most[] = { 4, 20, 150, 150, 1500 };
		int64_t extent = between(2, most[between(0, (int)ARRAY_LENGTH(most) - 1)]);

		while (extent > 2 && extent * (int64_t)plan->bytes > room)
			extent /= 2;
		plan->shape[i] = extent;
		plan->dst_strides[i] = stride;
		stride = stride * extent + (between(0, 3) ? 0 : between(0, 40) * (int64_t)plan->unit);
		plan->bytes *= (uint64_t)extent;
	}
	plan->dst_offset = between(0, 1) * between(0, 20) * (int64_t)plan->unit;
	return (size_t)(plan->dst_offset + stride);
}

/* Random runs from any source, in which all axes have gaps now and then. Sets the bytes of both sides. */
static void random_rows(struct bi__plan *plan, size_t *dst, size_t *src)
{
	*dst = random_runs(plan);
	*src = random_src(plan, plan->unit);
	if (between(0, 2) == 0) {
		for (int i = 0; i < plan->ndim; i++)
			plan->src_strides[i] *= 2;
		plan->src_offset *= 2;
		*src *= 2;
	}
}

/* Transposes between steps of any size, with and without gaps. Sets the bytes of both sides. */
static void random_transpose(struct bi__plan *plan, size_t *dst, size_t *src)
{
	int64_t unit = (int64_t)plan->unit, x = between(2, 200), y = between(2, 200);
	int64_t to_x = between(0, 1) ? unit : unit * between(1, 9), from_y = unit * between(1, 9);
	int64_t to_y = to_x * (x + between(0, 1) * between(0, 5)), from_x = from_y * (y + between(0, 5));
	int is_reversed = (int)between(0, 1);

	plan->ndim = 2;
	plan->bytes = (uint64_t)(unit * x * y);
	memcpy(plan->shape, (int64_t[]){ y, x }, 2 * sizeof(int64_t));
	memcpy(plan->dst_strides, (int64_t[]){ to_y, to_x }, 2 * sizeof(int64_t));
	memcpy(plan->src_strides, (int64_t[]){ is_reversed ? -from_y : from_y, from_x }, 2 * sizeof(int64_t));
	plan->src_offset = is_reversed ? from_y * (y - 1) : 0;
	plan->dst_offset = between(0, 20) * unit;
	*dst = (size_t)(plan->dst_offset + to_y * y);
	*src = (size_t)(from_x * x);
}

/*
 * Tiles that have run: by the bytes of a unit, by the axis of their lines or one line, with runs of rows, one run, or
 * units. Those of lines along y with steps of more than four units are counted too.
 */
enum form { RUNS, ONE_RUN, IN_UNITS, FORMS };
static unsigned tiles_seen[BI__KERNEL_UNITS][3][FORMS], wide_steps_seen[BI__KERNEL_UNITS];

static void note_tiles(const struct bi__plan *plan, const struct bi__launch_limits *limits)
{
	struct bi__launches launches;
	struct bi__launch launch;
	const struct bi__tile *tile = &launch.arguments.tile;

	bi__launches_copy(&launches, plan, 0, 0, limits);
	assert_true(bi__launches_next(&launches, &launch));
	if (launch.kernel / BI__KERNEL_UNITS != BI__KERNEL_tile)
		return;
	tiles_seen[launch.kernel % BI__KERNEL_UNITS][tile->line_axis]
		  [tile->dst_step != 1 ? IN_UNITS : tile->is_one_run]++;
	wide_steps_seen[launch.kernel % BI__KERNEL_UNITS] += tile->line_axis == 0 && abs(tile->src_steps[1]) > 4;
}

/* Units of 8 and 16 bytes are read along y only, and never with wide steps. */
static int are_tiles_seen(void)
{
	for (int unit = 0; unit < BI__KERNEL_UNITS; unit++) {
		unsigned(*seen)[FORMS] = tiles_seen[unit];
		int is_small = unit <= 2;

		if (!seen[0][RUNS] || !seen[0][ONE_RUN] || !seen[0][IN_UNITS] || !(seen[2][RUNS] + seen[2][ONE_RUN]))
			return 0;
		if (is_small != (seen[1][RUNS] + seen[1][ONE_RUN] > 0) || is_small != (wide_steps_seen[unit] > 0))
			return 0;
		assert_false(seen[1][IN_UNITS]);
	}
	return 1;
}

static void test_tiles(void **unused)
{
	static const size_t sizes[] = { 1, 2, 4, 8, 16, 3, 12 };

	(void)unused;
	for (int round = 0; round < 700 || (round < 10000 && !are_tiles_seen()); round++) {
		struct bi__launch_limits limits = { .group = 32, .tiles = 1 };
		struct bi__plan plan = { .kind = BI_PLAN_STRIDED, .unit = sizes[round % (int)ARRAY_LENGTH(sizes)] };
		size_t dst, src;

		if (between(0, 3) == 0)
			random_transpose(&plan, &dst, &src);
		else
			random_rows(&plan, &dst, &src);
		if (between(0, 2) == 0)
			limits.count = (uint32_t)between(20, 60);
		bi__plan_classify(&plan, plan.unit);
		note_tiles(&plan, &limits);
		check_copy(&plan, dst, src, plan.unit, &limits);
	}
	assert_true(are_tiles_seen());
}

static void check_fill(const struct bi__plan *plan, size_t dst_nbytes, size_t align)
{
	struct side dst, item, actual, again;
	struct bi__launch_limits limits;
	struct bi__launches launches;

	random_limits(&limits);
	make_side(&dst, dst_nbytes, (size_t)between(0, 3) * align);
	make_side(&item, plan->unit, (size_t)plan->src_offset);
	item.offset = 0;
	make_twin(&actual, &dst, 0);
	make_twin(&again, &dst, 1);
	bi__launches_fill(&launches, plan, dst.offset, item.bytes, &limits);
	run_launches(&launches, &actual, NULL);
	bi__launches_fill(&launches, plan, dst.offset, item.bytes, &limits);
	run_launches(&launches, &again, NULL);
	for (size_t i = 0; i < dst.nbytes; i++)
		assert_int_equal(actual.bytes[i] == again.bytes[i], actual.marks[i]);
	naive(plan, 0, &dst, &item, plan->dst_offset, plan->src_offset);
	check_sides(&dst, &actual);
	free_side(&dst);
	free_side(&item);
	free_side(&actual);
	free_side(&again);
}

static void test_fills(void **unused)
{
	(void)unused;
	for (int round = 0; round < 600; round++) {
		size_t align = (size_t)1 << between(0, 4);
		struct bi__plan plan;
		size_t dst;

		random_shape(&plan, round);
		if (round % 3 == 0)
			plan.unit = (size_t)between(1, BI__FILL_BYTES);
		dst = random_dst(&plan, align);
		plan.src_offset = between(0, 5);
		check_fill(&plan, dst, align);
	}
}

static void test_every_entry_point_ran(void **unused)
{
	(void)unused;
	for (int i = 0; i < BI__KERNEL_COUNT; i++) {
		if (!runs[i])
			fail_msg("%s never ran", bi__kernel_name(i));
	}
	assert_null(sim_kernel_find("bi__strided32_3"));
}

/* More axes than a launch has, of which none continues another. */
static void test_many_axes(void **unused)
{
	struct bi__plan plan = { .kind = BI_PLAN_STRIDED, .ndim = BI__NEST_NDIM + 2, .unit = 1 };
	struct side dst, src, actual;
	struct bi__launch_limits limits = { .group = 256 };
	struct bi__launches launches;
	int64_t total = 1 << (BI__NEST_NDIM + 2);

	(void)unused;
	for (int i = 0; i < plan.ndim; i++) {
		plan.shape[i] = 2;
		plan.dst_strides[i] = total >> (i + 1);
		plan.src_strides[i] = (int64_t)1 << i;
	}
	make_side(&dst, (size_t)total, 0);
	make_side(&src, (size_t)total, 0);
	make_twin(&actual, &dst, 0);
	bi__launches_copy(&launches, &plan, 0, 0, &limits);
	run_launches(&launches, &actual, &src);
	naive(&plan, 0, &dst, &src, 0, 0);
	check_sides(&dst, &actual);
	free_side(&dst);
	free_side(&src);
	free_side(&actual);
}

/* A launch with fewer groups than its units need moves fewer, and says so. */
static void test_short_grid(void **unused)
{
	struct bi__plan plan = { .ndim = 1, .unit = 4, .shape = { 5000 }, .dst_strides = { 8 }, .src_strides = { 4 } };
	struct bi__launch_limits limits = { .group = 32 };
	struct side dst, src, before;
	struct bi__launches launches;
	struct bi__launch launch;

	(void)unused;
	make_side(&dst, 40000, 0);
	make_side(&src, 20000, 0);
	make_twin(&before, &dst, 0);
	bi__launches_copy(&launches, &plan, 0, 0, &limits);
	assert_true(bi__launches_next(&launches, &launch));
	launch.groups = 3;
	run_launch(&launch, &dst, &src);
	plan.shape[0] = 3 * 32 * BI__NEST_UNITS;
	naive(&plan, 0, &before, &src, 0, 0);
	check_sides(&before, &dst);
	free_side(&dst);
	free_side(&src);
	free_side(&before);
}

struct expectation {
	struct bi__plan plan;
	uint64_t dst, src;
	const char *kernel;
	int launches;
	uint64_t groups; /* of all launches */
	int tiles; /* as in the limits of launches */
};

#define BIG ((int64_t)1 << 40)

/* Only the arithmetic: most of these arrays would not fit in any memory. */
static const struct expectation expectations[] = {
	/* The unit: the largest that divides offsets, strides and run. */
	{ { .ndim = 0, .unit = 4096 }, 0, 0, "bi__strided32_16", 1, 1, 0 },
	{ { .ndim = 0, .unit = 4096 }, 8, 0, "bi__strided32_8", 1, 1, 0 },
	{ { .ndim = 0, .unit = 4096 }, 0, 4, "bi__strided32_4", 1, 1, 0 },
	{ { .ndim = 0, .unit = 4096, .src_offset = 2 }, 0, 4, "bi__strided32_2", 1, 2, 0 },
	{ { .ndim = 0, .unit = 4095 }, 0, 0, "bi__strided32_1", 1, 4, 0 },
	{ { .ndim = 1, .unit = 4, .shape = { 9 }, .dst_strides = { 6 }, .src_strides = { 4 } },
	  0,
	  0,
	  "bi__strided32_2",
	  1,
	  1,
	  0 },
	{ { .ndim = 1, .unit = 4, .shape = { 9 }, .dst_strides = { 8 }, .src_strides = { -4 } },
	  0,
	  32,
	  "bi__strided32_4",
	  1,
	  1,
	  0 },
	/* Offsets of 32 bits as far as they reach, whatever the launch starts at. */
	{ { .ndim = 1, .unit = 1, .shape = { 2 }, .dst_strides = { INT32_MAX }, .src_strides = { 1 } },
	  BIG,
	  BIG,
	  "bi__strided32_1",
	  1,
	  1,
	  0 },
	{ { .ndim = 1, .unit = 1, .shape = { 2 }, .dst_strides = { 3 }, .src_strides = { -INT64_C(2147483647) } },
	  0,
	  BIG,
	  "bi__strided32_1",
	  1,
	  1,
	  0 },
	{ { .ndim = 1, .unit = 1, .shape = { 2 }, .dst_strides = { INT64_C(1) << 31 }, .src_strides = { 1 } },
	  0,
	  0,
	  "bi__strided64_1",
	  1,
	  1,
	  0 },
	{ { .ndim = 1, .unit = 1, .shape = { 2 }, .dst_strides = { 3 }, .src_strides = { -(INT64_C(1) << 31) } },
	  0,
	  BIG,
	  "bi__strided64_1",
	  1,
	  1,
	  0 },
	{ { .ndim = 2, .unit = 1, .shape = { 2, 3 }, .dst_strides = { 1 << 30, 1 << 29 }, .src_strides = { 1, 2 } },
	  0,
	  0,
	  "bi__strided64_1",
	  1,
	  1,
	  0 },
	/* No more than 2^31 - 1 units in a launch: 2^33 - 4 of them are four full ones and four units. */
	{ { .ndim = 0, .unit = ((size_t)1 << 33) - 4 + 3 }, 1, 0, "bi__strided32_1", 5, 4 * 2097152 + 1, 0 },
	/* 3000 times 10^6 units: 2147 times 10^6 and the rest. */
	{ { .ndim = 2,
	    .unit = 2,
	    .shape = { 3000, 1000000 },
	    .dst_strides = { 8000000, 6 },
	    .src_strides = { 2000000, 2 } },
	  0,
	  0,
	  "bi__strided64_2",
	  2,
	  2096680 + 833008,
	  0 },
	/* Tiles of 64 by 64 units, if nothing is out of alignment: 40 by 100 units are one by two of them, three times.
	 */
	{ { .ndim = 3,
	    .unit = 4,
	    .shape = { 3, 100, 40 },
	    .dst_strides = { 16000, 160, 4 },
	    .src_strides = { 16000, 4, 400 } },
	  4,
	  0,
	  "bi__tile_4",
	  1,
	  6,
	  1 },
	{ { .ndim = 3,
	    .unit = 4,
	    .shape = { 3, 100, 80 },
	    .dst_strides = { 32000, 320, 4 },
	    .src_strides = { 32000, 4, 400 } },
	  8,
	  0,
	  "bi__tile_4",
	  1,
	  12,
	  1 },
	/* The same in units, with gaps in the destination, and with lines of 5 units from element to element. */
	{ { .ndim = 3,
	    .unit = 4,
	    .shape = { 3, 100, 40 },
	    .dst_strides = { 32000, 320, 8 },
	    .src_strides = { 16000, 4, 400 } },
	  0,
	  0,
	  "bi__tile_4",
	  1,
	  6,
	  1 },
	{ { .ndim = 2, .unit = 4, .shape = { 100, 40 }, .dst_strides = { 160, 4 }, .src_strides = { 20, 2000 } },
	  0,
	  0,
	  "bi__tile_4",
	  1,
	  9,
	  1 },
	/* Short lines are one line if the gaps between them are no longer than they are. */
	{ { .ndim = 2, .unit = 4, .shape = { 3, 1000 }, .dst_strides = { 4000, 4 }, .src_strides = { 4, 24 } },
	  0,
	  0,
	  "bi__tile_4",
	  1,
	  2,
	  1 },
	{ { .ndim = 2, .unit = 4, .shape = { 3, 1000 }, .dst_strides = { 4000, 4 }, .src_strides = { 4, 28 } },
	  0,
	  0,
	  "bi__strided32_4",
	  1,
	  3,
	  1 },
	/* No tiles: runs are short and do not follow each other, each sector of the source has a single element. */
	{ { .ndim = 2, .unit = 4, .shape = { 100, 7 }, .dst_strides = { 32, 4 }, .src_strides = { 4, 400 } },
	  0,
	  0,
	  "bi__strided32_4",
	  1,
	  1,
	  1 },
	{ { .ndim = 2, .unit = 4, .shape = { 100, 40 }, .dst_strides = { 164, 4 }, .src_strides = { 32, 3200 } },
	  0,
	  0,
	  "bi__strided32_4",
	  1,
	  4,
	  1 },
};

static void test_arithmetic(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LENGTH(expectations); i++) {
		const struct expectation *expect = &expectations[i];
		const struct bi__launch_limits limits = { .group = 256, .tiles = expect->tiles };
		struct bi__launches launches;
		struct bi__launch launch;
		uint64_t groups = 0;
		int count = 0;
		struct bi__plan plan = expect->plan;

		bi__plan_classify(&plan, plan.unit);
		bi__launches_copy(&launches, &plan, expect->dst, expect->src, &limits);
		while (bi__launches_next(&launches, &launch)) {
			if (!count++)
				assert_string_equal(bi__kernel_name(launch.kernel), expect->kernel);
			groups += launch.groups;
			assert_true(launch.groups <= INT32_MAX);
		}
		if (count != expect->launches || groups != expect->groups)
			fail_msg("case %zu: %d launches, %llu groups", i, count, (unsigned long long)groups);
	}
}

/* The multiplication that stands for a division, through an axis that a launch divides by. */
static void test_division(void **unused)
{
	const struct bi__launch_limits limits = { .group = 1 };

	(void)unused;
	for (int round = 0; round < 20000; round++) {
		int64_t extent = between(2, (INT64_C(2) << between(1, 30)) - (round % 2));
		struct bi__plan plan = {
			.ndim = 1, .unit = 1, .shape = { extent }, .dst_strides = { 3 }, .src_strides = { 3 }
		};
		struct bi__launches launches;
		struct bi__launch launch;
		const struct bi__nest *nest = &launch.arguments.nest;
		uint64_t d, edge, x;

		bi__launches_copy(&launches, &plan, 0, 0, &limits);
		assert_true(bi__launches_next(&launches, &launch));
		d = nest->shape[0];
		edge = (uint64_t)between(0, (int64_t)(INT32_MAX / d)) * d;
		x = (uint64_t)between(0, INT32_MAX);
		assert_int_equal(x * nest->magic[0] >> nest->shift[0], x / d);
		assert_int_equal(edge * nest->magic[0] >> nest->shift[0], edge / d);
		if (edge)
			assert_int_equal((edge - 1) * nest->magic[0] >> nest->shift[0], (edge - 1) / d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_tiles),
		cmocka_unit_test(test_fills),
		cmocka_unit_test(test_every_entry_point_ran),
		cmocka_unit_test(test_many_axes),
		cmocka_unit_test(test_short_grid),
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_division),
	};

	random_state.state = test_seed();
	return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
