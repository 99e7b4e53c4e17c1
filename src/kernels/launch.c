#include "kernels/launch.h"

#include <string.h>

#include "common/base/checked.h"

static const char *const kernel_names[BI__KERNEL_COUNT] = {
#define NAME_STRIDED32(size, bits) "bi__strided32_" #size,
#define NAME_STRIDED64(size, bits) "bi__strided64_" #size,
#define NAME_FILL(size, bits) "bi__fill_" #size,
#define NAME_TILE(size, bits) "bi__tile_" #size,
	BI__UNITS(NAME_STRIDED32) BI__UNITS(NAME_STRIDED64) BI__UNITS(NAME_FILL) BI__UNITS(NAME_TILE)
};

const char *bi__kernel_name(int kernel)
{
	return kernel_names[kernel];
}

/* The structs have the same layout in every language that the kernels are compiled in. */
_Static_assert(sizeof(struct bi__nest) == 472, "OpenCL C and CUDA C++ lay out struct bi__nest in 472 bytes");
_Static_assert(sizeof(struct bi__fill) == 736, "OpenCL C and CUDA C++ lay out struct bi__fill in 736 bytes");
_Static_assert(sizeof(struct bi__tile) == 584, "OpenCL C and CUDA C++ lay out struct bi__tile in 584 bytes");
_Static_assert(sizeof(struct bi__fill) <= 1000, "with two pointers, the 1024 bytes that every OpenCL device takes");

static uint64_t magnitude(int64_t step)
{
	return step < 0 ? -(uint64_t)step : (uint64_t)step;
}

static uint64_t lowest_bit(uint64_t bits)
{
	return bits & -bits;
}

static uint32_t log2_above(int64_t value)
{
	uint32_t shift = 0;

	while (INT64_C(1) << shift < value)
		shift++;
	return shift;
}

/*
 * Returns the bytes of the largest unit, at most 16, that divides all sizes, offsets, addresses and strides. `bits` are
 * the sizes, offsets and addresses, merged by OR. The lowest bit that is set is the largest power of two that divides
 * all of them.
 */
static uint64_t largest_unit(const struct bi__plan *plan, int ndim, uint64_t bits)
{
	for (int i = 0; i < ndim; i++)
		bits |= (uint64_t)plan->dst_strides[i] | (uint64_t)plan->src_strides[i];
	return lowest_bit(bits | 16);
}

static void start_launches(struct bi__launches *launches, uint64_t unit, uint64_t dst, uint64_t src,
			   const struct bi__launch_limits *limits)
{
	launches->family = BI__KERNEL_strided64;
	launches->unit = (int)log2_above((int64_t)unit);
	launches->is_done = 0;
	launches->group = limits->group;
	launches->count = limits->count ? limits->count : BI__LAUNCH_COUNT;
	launches->dst = (int64_t)(dst / unit);
	launches->src = (int64_t)(src / unit);
	launches->ndim = 0;
}

static void add_axis(struct bi__launches *launches, int64_t extent, int64_t dst, int64_t src)
{
	if (extent > 1)
		launches->axes[launches->ndim++] = (struct bi__launch_axis){ extent, dst, src, 0 };
}

/* Adds the plan's axes 0 to end - 1, innermost first. Steps are in units. */
static void add_axes(struct bi__launches *launches, const struct bi__plan *plan, int end, int64_t unit)
{
	for (int i = end - 1; i >= 0; i--)
		add_axis(launches, plan->shape[i], plan->dst_strides[i] / unit, plan->src_strides[i] / unit);
}

/*
 * Sets magic and shift for a division by `extent` (strided.h) by the method of Granlund and Montgomery, "Division by
 * Invariant Integers using Multiplication".
 */
static void set_division(uint32_t extent, uint32_t *magic, uint32_t *shift)
{
	*shift = 31 + log2_above(extent);
	*magic = (uint32_t)((UINT64_C(1) << *shift) / extent + 1);
}

/* The largest step of a line along x, in units. Such a line is read with its gaps. */
#define WIDEST_STEP 4

/* The fewest bytes of a run, a line and a tile, without gaps. Runs or lines that follow each other may be shorter. */
#define SHORTEST 64
#define SMALLEST_TILE 1024

/* Lines along x are kept so short that a tile can have this many of them. */
#define LEAST_LINES 8

/* The two axes of a tile. x is axis 0 of the copy. */
struct pair {
	struct bi__launch_axis axes[2];
	int64_t steps[2]; /* units from element to element in the source, without the sign */
	int64_t extents[2], more[2]; /* of a tile, as in struct bi__tile */
	int64_t n; /* units of a word */
	int64_t slack[2]; /* the most units from the start of a sector (two words) to the start of a run (0), and from
			     the start of a word to the start of a line (1) */
	int y; /* number of the axis y of the copy; 0: y has a single element */
	int line; /* lines are along x (0) or y (1) */
	int is_one_line, is_one_run;
};

/*
 * Chooses y and the axis of the lines. Steps of 0 do not count here. If the source has a smaller step along another
 * axis than along x, y is the axis of the smallest step, and lines are along y. Otherwise lines are along x, and y is
 * the next axis.
 */
static void choose_axes(const struct bi__launches *launches, struct pair *pair)
{
	const struct bi__launch_axis *axes = launches->axes;

	pair->axes[0] = axes[0];
	pair->steps[0] = pair->steps[1] = (int64_t)magnitude(axes[0].src);
	for (int i = 1; i < launches->ndim; i++) {
		int64_t step = (int64_t)magnitude(axes[i].src);

		if (step && step < pair->steps[1]) {
			pair->line = 1;
			pair->y = i;
			pair->steps[1] = step;
		}
	}
	if (!pair->line)
		pair->y = launches->ndim > 1;
	pair->axes[1] = pair->y ? axes[pair->y] : (struct bi__launch_axis){ 1, 0, 0, 0 };
	pair->steps[1] = (int64_t)magnitude(pair->axes[1].src);
}

/*
 * Sets is_one_run and is_one_line. Returns true if the lines and the runs of the pair are long enough for words. Lines
 * along y are worth a tile if their step is shorter than a sector of 32 bytes. Lines along x are worth a tile if units
 * have at most 4 bytes, the step is at most WIDEST_STEP and runs are dense. For other lines a strided kernel needs as
 * few accesses.
 */
static int is_worth_tiles(struct pair *pair, int64_t side)
{
	const struct bi__launch_axis *x = &pair->axes[0], *y = &pair->axes[1], *line = &pair->axes[pair->line];
	int64_t step = pair->steps[pair->line], next = pair->steps[!pair->line], shortest = SHORTEST * pair->n / 16;

	if (pair->line ? step >= 2 * pair->n : step > WIDEST_STEP || pair->n < 4 || x->dst != 1)
		return 0;
	if (x->extent > INT32_MAX / 32 || y->extent > INT32_MAX / 32)
		return 0;
	pair->is_one_run = x->dst == 1 && x->extent < side && y->dst == x->extent &&
			   (x->extent < shortest || x->extent % (2 * pair->n));
	pair->is_one_line =
		line->extent < side && next && next >= line->extent * step && next <= 2 * line->extent * step;
	return (pair->is_one_run || x->extent >= shortest) && (pair->is_one_line || line->extent >= shortest);
}

/*
 * Sets slack[] and more[]. Axes along which runs or lines continue do not count, because round_extent makes the extents
 * of tiles along them multiples of a sector.
 */
static void set_slack(const struct bi__launches *launches, struct pair *pair)
{
	int64_t n = pair->n, dst = launches->dst, src = launches->src;

	for (int i = 0; i < launches->ndim; i++) {
		if (i != (pair->is_one_run ? pair->y : 0))
			dst |= i ? launches->axes[i].dst : 0;
		if (i != (pair->line ? pair->y : 0))
			src |= launches->axes[i].src;
	}
	pair->slack[0] = dst & (2 * n - 1) && launches->axes[0].dst == 1 ? 2 * n - 1 : 0;
	pair->slack[1] = src & (n - 1) || pair->is_one_line || pair->axes[pair->line].src != 1 ? n - 1 : 0;
	if (pair->is_one_run)
		pair->more[1] = ((pair->slack[0] ? n - 1 : 0) + pair->axes[0].extent - 1) / pair->axes[0].extent;
	else
		pair->more[0] = pair->slack[0] ? n - 1 : 0;
}

/* Returns the units of a line of a whole tile. */
static int64_t line_length(const struct pair *pair)
{
	int in = pair->line, out = !in;
	int64_t length = (pair->extents[in] + pair->more[in] - 1) * pair->steps[in] + 1;

	return pair->is_one_line ? length + (pair->extents[out] + pair->more[out] - 1) * pair->steps[out] : length;
}

/*
 * Returns the units from line to line in shared memory. The number is congruent to the step from line to line in the
 * source, modulo the units of a word. An odd number of words spreads the lines over the banks.
 */
static int64_t line_pitch(const struct pair *pair)
{
	int64_t n = pair->n, pitch = line_length(pair) + 2 * pair->slack[1];

	pitch += (pair->axes[!pair->line].src - pitch) & (n - 1);
	return pitch / n % 2 ? pitch : pitch + n;
}

/*
 * Rounds the extent of a tile down to whole sectors if the runs or lines along the axis are aligned, so that only the
 * last tile can end inside of a word. Does not round an extent that is the whole axis. Returns 0 if nothing is left.
 */
static int64_t round_extent(const struct pair *pair, int axis, int64_t extent)
{
	int run = pair->is_one_run ? 1 : 0; /* runs continue along this axis */
	int is_aligned = (axis == run && !pair->slack[0]) || (axis == pair->line && !pair->slack[1]);

	return extent < pair->axes[axis].extent && is_aligned ? extent - extent % (2 * pair->n) : extent;
}

static int64_t words_of_line(const struct pair *pair)
{
	return (line_length(pair) + pair->slack[1] + pair->n - 1) / pair->n;
}

/* Returns the most elements of a tile along the axis of the lines, for lines that do not follow each other. */
static int64_t most_inside(const struct pair *pair, int64_t side)
{
	int in = pair->line, out = !in;
	int64_t outer = pair->axes[out].extent, step = pair->steps[in] ? pair->steps[in] : 1;
	int64_t lines = bi__minimum(outer, in ? side : LEAST_LINES) + pair->more[out];
	/* A power of two of words, unless the shared memory allows fewer. */
	int64_t words = INT64_C(1) << log2_above(BI__TILE_READS * BI__TILE_GROUP / 2 / lines + 1);

	words = bi__minimum(words, (BI__TILE_WORDS - 4) / lines - 4);
	if (in && outer >= side)
		words = side / pair->n;
	return (words * pair->n - pair->slack[1]) / step - pair->more[in];
}

/* Sets the extents of a tile. Returns 0 if a tile would be too small. */
static int size_tile(struct pair *pair, int64_t side)
{
	int in = pair->line, out = !in;
	int64_t n = pair->n, most = BI__TILE_READS * BI__TILE_GROUP;
	int64_t inner = pair->axes[in].extent, outer = pair->axes[out].extent;

	pair->extents[in] =
		round_extent(pair, in, pair->is_one_line ? inner : bi__minimum(inner, most_inside(pair, side)));
	if (pair->extents[in] < 1)
		return 0;
	if (pair->is_one_line)
		outer = bi__minimum(outer, (most - 2) * n / pair->steps[out] - pair->more[out] - 1);
	else
		outer = bi__minimum(outer, bi__minimum((BI__TILE_WORDS - 4) * n / line_pitch(pair),
						       most >> log2_above(words_of_line(pair))) -
						   pair->more[out]);
	pair->extents[out] = round_extent(pair, out, outer);
	if (pair->extents[out] < 1 || (pair->is_one_run && pair->extents[0] < pair->axes[0].extent))
		return 0;
	return pair->extents[0] * pair->extents[1] >= SMALLEST_TILE / 16 * n;
}

/* Chooses a pair of axes and the extents of a tile. Returns 1 if tiles are good for the copy. */
static int choose_pair(const struct bi__launches *launches, int64_t size, struct pair *pair)
{
	/* The length of lines and runs in units: 128, 256 or 512 bytes. */
	int64_t side = size <= 2 ? 128 : size == 4 ? 64 : 32;

	*pair = (struct pair){ .n = 16 / size };
	if (!launches->ndim)
		return 0;
	choose_axes(launches, pair);
	if (!is_worth_tiles(pair, side))
		return 0;
	set_slack(launches, pair);
	return size_tile(pair, side);
}

/* Sets how threads share the words of lines and of runs. */
static void share_words(struct bi__tile *tile, const struct pair *pair)
{
	uint32_t words = log2_above(pair->is_one_line ? BI__TILE_READS * BI__TILE_GROUP : words_of_line(pair));
	uint32_t group = log2_above(BI__TILE_GROUP);

	tile->threads = words < group ? words : group;
	tile->parts = words - tile->threads;
	tile->runs = pair->is_one_run ? 0 : log2_above(bi__minimum(pair->extents[1], BI__TILE_GROUP / 2));
	tile->row = pair->is_one_run ? (uint32_t)pair->extents[0] : 0;
	if (pair->is_one_run)
		set_division(tile->row, &tile->magic, &tile->shift);
}

/* Sets all members of the arguments except the nest. */
static void set_tile(struct bi__tile *tile, const struct pair *pair)
{
	int in = pair->line, out = !in;

	*tile = (struct bi__tile){
		.dst_step = pair->axes[0].dst,
		.dst_run = pair->axes[1].dst,
		.src_line = pair->is_one_line ? 0 : pair->axes[out].src,
		.line_axis = pair->is_one_line ? 2 : (uint32_t)out,
		.is_one_run = (uint32_t)pair->is_one_run,
		.has_edges = pair->slack[1] || pair->axes[in].extent % pair->n,
		.pitch = (int32_t)line_pitch(pair),
		.mask = (int32_t)pair->n - 1,
	};
	for (int i = 0; i < 2; i++) {
		tile->shape[i] = (uint32_t)pair->axes[i].extent;
		tile->extents[i] = (uint32_t)pair->extents[i];
		tile->more[i] = (uint32_t)pair->more[i];
		if (i == in || pair->is_one_line)
			tile->held_steps[i] = tile->src_steps[i] = (int32_t)pair->axes[i].src;
		else
			tile->held_steps[i] = tile->pitch;
	}
	share_words(tile, pair);
}

static int64_t tiles_along(const struct pair *pair, int axis)
{
	return (pair->axes[axis].extent - 1) / pair->extents[axis] + 1;
}

/*
 * Replaces the launches of a strided kernel by those of a tile kernel, if the copy gains from tiles and a launch can
 * have all tiles of the pair. The axes of the pair become steps from tile to tile; they are kept even if there is only
 * one tile.
 */
static void start_tiles(struct bi__launches *launches, int64_t size)
{
	struct bi__launch_axis *axes = launches->axes;
	struct pair pair;
	size_t between;

	if (!choose_pair(launches, size, &pair) || tiles_along(&pair, 0) * tiles_along(&pair, 1) > launches->count)
		return;
	launches->family = BI__KERNEL_tile;
	set_tile(&launches->arguments.tile, &pair);
	/* The axes between x and y move outwards by one, because axis 1 becomes the tiles along y. */
	between = (size_t)(pair.y ? pair.y : launches->ndim++) - 1;
	memmove(axes + 2, axes + 1, between * sizeof(*axes));
	for (int i = 0; i < 2; i++)
		axes[i] = (struct bi__launch_axis){ tiles_along(&pair, i), pair.extents[i] * pair.axes[i].dst,
						    pair.extents[i] * pair.axes[i].src, 0 };
}

void bi__launches_copy(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, uint64_t src,
		       const struct bi__launch_limits *limits)
{
	uint64_t to = dst + (uint64_t)plan->dst_offset, from = src + (uint64_t)plan->src_offset;
	uint64_t unit = largest_unit(plan, plan->ndim, plan->unit | to | from | limits->misalignment);

	start_launches(launches, unit, to, from, limits);
	add_axis(launches, (int64_t)(plan->unit / unit), 1, 1);
	add_axes(launches, plan, plan->ndim, (int64_t)unit);
	if (limits->tiles && !(limits->misalignment & (BI__LAUNCH_ALIGN - 1)))
		start_tiles(launches, (int64_t)unit);
}

/*
 * Returns the least common multiple of the bytes of an item and of a unit. Returns 0 if the item buffer of the kernel
 * is shorter.
 */
static size_t common_period(size_t item, uint64_t unit)
{
	uint64_t common = lowest_bit(item | unit);
	uint64_t period = item / common * unit;

	return period <= BI__FILL_BYTES ? (size_t)period : 0;
}

void bi__launches_fill(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, const void *item,
		       const struct bi__launch_limits *limits)
{
	uint64_t to = dst + (uint64_t)plan->dst_offset, run = plan->unit, unit;
	int outer = plan->ndim;
	size_t period;

	/* Adjacent items are written as one dense run. Its units may be larger than an item. */
	if (outer && plan->dst_strides[outer - 1] == (int64_t)plan->unit)
		run *= (uint64_t)plan->shape[--outer];
	unit = largest_unit(plan, outer, run | to | limits->misalignment);
	period = common_period(plan->unit, unit);
	if (!period) {
		unit = lowest_bit(unit | plan->unit);
		period = plan->unit;
	}
	start_launches(launches, unit, to, 0, limits);
	launches->family = BI__KERNEL_fill;
	add_axis(launches, (int64_t)(period / unit), 1, 1);
	add_axis(launches, (int64_t)(run / period), (int64_t)(period / unit), 0);
	add_axes(launches, plan, outer, (int64_t)unit);
	memset(&launches->arguments.fill.item, 0, sizeof(launches->arguments.fill.item));
	for (size_t i = 0; i < period; i += plan->unit)
		memcpy(launches->arguments.fill.item.of_1 + i, (const char *)item + plan->src_offset, plan->unit);
}

static void push_axis(struct bi__nest *nest, const struct bi__launch_axis *axis, int64_t extent)
{
	nest->shape[nest->ndim] = (uint32_t)extent;
	nest->dst_steps[nest->ndim] = axis->dst;
	nest->src_steps[nest->ndim] = axis->src;
	set_division((uint32_t)extent, &nest->magic[nest->ndim], &nest->shift[nest->ndim]);
	nest->ndim++;
	nest->count *= (uint32_t)extent;
}

/*
 * Fills `nest` with as many whole axes as fit into a launch, and with a part of the next axis. Advances `launches` to
 * the beginning of the next launch.
 */
static void take_axes(struct bi__launches *launches, struct bi__nest *nest)
{
	struct bi__launch_axis *axis = launches->axes, *end = axis + launches->ndim;
	int64_t part = 1;

	for (; axis < end && nest->ndim < BI__NEST_NDIM && axis->extent <= launches->count / nest->count; axis++)
		push_axis(nest, axis, axis->extent);
	if (axis < end && nest->ndim < BI__NEST_NDIM) {
		part = launches->count / nest->count;
		if (part > axis->extent - axis->index)
			part = axis->extent - axis->index;
		push_axis(nest, axis, part);
	}
	for (; axis < end; axis++, part = 1) {
		if (axis->index + part < axis->extent) {
			axis->index += part;
			launches->dst += part * axis->dst;
			launches->src += part * axis->src;
			return;
		}
		launches->dst -= axis->index * axis->dst;
		launches->src -= axis->index * axis->src;
		axis->index = 0;
	}
	launches->is_done = 1;
}

/*
 * Returns true if the distances from the first to the last position of each axis, without signs, add up to a number of
 * 31 bits.
 */
static int fits_31_bits(const uint32_t *shape, const int64_t *steps, uint32_t ndim)
{
	uint64_t left = INT32_MAX;

	for (uint32_t i = 0; i < ndim; i++) {
		uint64_t step = magnitude(steps[i]);

		if (shape[i] > 1 && step > left / (shape[i] - 1))
			return 0;
		left -= step * (shape[i] - 1);
	}
	return 1;
}

int bi__launches_next(struct bi__launches *launches, struct bi__launch *launch)
{
	static const size_t sizes[] = { [BI__KERNEL_strided64] = sizeof(struct bi__nest),
					[BI__KERNEL_fill] = sizeof(struct bi__fill),
					[BI__KERNEL_tile] = sizeof(struct bi__tile) };
	enum bi__kernel_family family = launches->family;
	struct bi__nest *nest = &launch->arguments.nest;
	uint32_t each;

	if (launches->is_done)
		return 0;
	launch->nbytes = sizes[family];
	memcpy(&launch->arguments, &launches->arguments, launch->nbytes);
	*nest = (struct bi__nest){ .dst = launches->dst, .src = launches->src, .count = 1 };
	take_axes(launches, nest);
	if (family == BI__KERNEL_strided64 && fits_31_bits(nest->shape, nest->dst_steps, nest->ndim) &&
	    fits_31_bits(nest->shape, nest->src_steps, nest->ndim))
		family = BI__KERNEL_strided32;
	launch->kernel = (int)family * BI__KERNEL_UNITS + launches->unit;
	launch->has_source = family != BI__KERNEL_fill;
	launch->is_last = launches->is_done;
	each = family == BI__KERNEL_tile ? 1 : launches->group * BI__NEST_UNITS;
	launch->groups = (nest->count - 1) / each + 1;
	launch->threads = family == BI__KERNEL_tile ? BI__TILE_GROUP : launches->group;
	return 1;
}
