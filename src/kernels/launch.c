#include "kernels/launch.h"

#include <string.h>

static const char *const kernel_names[BI__KERNEL_COUNT] = {
#define NAME_STRIDED32(size, bits) "bi__strided32_" #size,
#define NAME_STRIDED64(size, bits) "bi__strided64_" #size,
#define NAME_FILL(size, bits) "bi__fill_" #size,
#define NAME_TILE(size, bits) "bi__tile_" #size,
#define NAME_WORDS(size, n, bits) "bi__words_" #size "x" #n,
	BI__UNITS(NAME_STRIDED32) BI__UNITS(NAME_STRIDED64) BI__UNITS(NAME_FILL) BI__UNITS(NAME_TILE)
		BI__WORDS(NAME_WORDS)
};

const char *bi__kernel_name(int kernel)
{
	return kernel_names[kernel];
}

/* The structs have the same layout in every language that the kernels are compiled in. */
_Static_assert(sizeof(struct bi__nest) == 472, "OpenCL C and CUDA C++ lay out struct bi__nest in 472 bytes");
_Static_assert(sizeof(struct bi__fill) == 736, "OpenCL C and CUDA C++ lay out struct bi__fill in 736 bytes");
_Static_assert(sizeof(struct bi__tile) == 512, "OpenCL C and CUDA C++ lay out struct bi__tile in 512 bytes");
_Static_assert(sizeof(struct bi__fill) <= 1000, "with two pointers, the 1024 bytes that every OpenCL device takes");

static uint64_t magnitude(int64_t step)
{
	return step < 0 ? -(uint64_t)step : (uint64_t)step;
}

static uint64_t lowest_bit(uint64_t bits)
{
	return bits & -bits;
}

static int unit_index(uint64_t unit)
{
	int index = 0;

	while (unit > 1) {
		unit /= 2;
		index++;
	}
	return index;
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
	launches->unit = unit_index(unit);
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

/* Adds the plan's axes 0 to end - 1, innermost first, except axis `but` (-1: none). Steps are in units. */
static void add_axes(struct bi__launches *launches, const struct bi__plan *plan, int end, int but, int64_t unit)
{
	for (int i = end - 1; i >= 0; i--) {
		if (i != but)
			add_axis(launches, plan->shape[i], plan->dst_strides[i] / unit, plan->src_strides[i] / unit);
	}
}

/* The fewest blocks along an axis for which words are used: half the words of a line. Derived, not measured. */
#define FEWEST_BLOCKS (BI__TILE / 2)

/* The choice between transposing unit by unit and in words (strided.h). */
struct words {
	int unit; /* index of the unit or word, as in bi__launches.unit */
	int64_t n; /* units of a word, and the side of a block in units */
	int64_t word; /* bytes of a word */
};

static int64_t tiles_along(int64_t blocks)
{
	return (blocks + BI__TILE - 1) / BI__TILE;
}

/* Returns true if a tile kernel copies the plan. */
static int is_tiled(const struct bi__plan *plan, const struct bi__launch_limits *limits)
{
	int64_t most = limits->count ? limits->count : BI__LAUNCH_COUNT;
	int64_t nx, ny;

	if (!limits->tiles || plan->kind != BI__PLAN_TILES)
		return 0;
	nx = plan->shape[plan->ndim - 1];
	ny = plan->shape[plan->cross];
	return nx <= INT32_MAX && ny <= INT32_MAX && tiles_along(nx) * tiles_along(ny) <= most;
}

/*
 * Merges everything that a word must divide into `bits`: all strides and offsets except the dense strides along x and
 * y.
 */
static uint64_t bits_of_words(const struct bi__plan *plan, uint64_t bits)
{
	int x = plan->ndim - 1, y = plan->cross;

	for (int i = 0; i < plan->ndim; i++) {
		bits |= i == x ? 0 : (uint64_t)plan->dst_strides[i];
		bits |= i == y ? 0 : (uint64_t)plan->src_strides[i];
	}
	return bits | plan->unit * (uint64_t)plan->shape[x] | plan->unit * (uint64_t)plan->shape[y];
}

/* Returns the largest words that the plan allows. `bits` are the offsets and addresses, merged by OR. */
static struct words choose_words(const struct bi__plan *plan, uint64_t bits)
{
	static const struct {
		int64_t size, n;
	} words[] = {
#define WORD(size, n, width) { size, n },
		BI__WORDS(WORD)
	};
	int64_t unit = (int64_t)plan->unit, nx = plan->shape[plan->ndim - 1], ny = plan->shape[plan->cross];
	struct words best = { unit_index(plan->unit), 1, unit };

	if (plan->dst_strides[plan->ndim - 1] != unit || plan->src_strides[plan->cross] != unit)
		return best;
	bits = lowest_bit(bits_of_words(plan, bits));
	for (int i = 0; i < (int)(sizeof(words) / sizeof(*words)); i++) {
		int64_t n = words[i].n;

		if (words[i].size == unit && bits >= (uint64_t)(n * unit) && nx / n >= FEWEST_BLOCKS &&
		    ny / n >= FEWEST_BLOCKS)
			best = (struct words){ BI__KERNEL_UNITS + i, n, n * unit };
	}
	return best;
}

/*
 * Starts the launches of a tile kernel. The two transposed axes become steps from tile to tile; they are kept even if
 * there is only one tile.
 */
static void start_tiles(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, uint64_t src,
			const struct bi__launch_limits *limits)
{
	struct words best = choose_words(plan, dst | src | limits->misalignment);
	struct bi__tile *tile = &launches->rest.tile;
	int x = plan->ndim - 1, y = plan->cross;

	start_launches(launches, (uint64_t)best.word, dst, src, limits);
	launches->family = BI__KERNEL_tile;
	launches->unit = best.unit;
	*tile = (struct bi__tile){
		.dst_x = plan->dst_strides[x] * best.n / best.word,
		.dst_y = plan->dst_strides[y] / best.word,
		.src_x = plan->src_strides[x] / best.word,
		.src_y = plan->src_strides[y] * best.n / best.word,
		.nx = (uint32_t)(plan->shape[x] / best.n),
		.ny = (uint32_t)(plan->shape[y] / best.n),
	};
	launches->ndim = 2;
	launches->axes[0] = (struct bi__launch_axis){ tiles_along(tile->nx), tile->dst_x * BI__TILE,
						      tile->src_x * BI__TILE * best.n, 0 };
	launches->axes[1] = (struct bi__launch_axis){ tiles_along(tile->ny), tile->dst_y * BI__TILE * best.n,
						      tile->src_y * BI__TILE, 0 };
	add_axes(launches, plan, x, y, best.word);
}

void bi__launches_copy(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, uint64_t src,
		       const struct bi__launch_limits *limits)
{
	uint64_t to = dst + (uint64_t)plan->dst_offset, from = src + (uint64_t)plan->src_offset;
	uint64_t unit = largest_unit(plan, plan->ndim, plan->unit | to | from | limits->misalignment);

	if (plan->unit == unit && is_tiled(plan, limits)) {
		start_tiles(launches, plan, to, from, limits);
		return;
	}
	start_launches(launches, unit, to, from, limits);
	add_axis(launches, (int64_t)(plan->unit / unit), 1, 1);
	add_axes(launches, plan, plan->ndim, -1, (int64_t)unit);
}

static int is_fill(const struct bi__plan *plan)
{
	for (int i = 0; i < plan->ndim; i++) {
		if (plan->src_strides[i] != 0)
			return 0;
	}
	return plan->unit <= BI__FILL_BYTES;
}

/*
 * Returns the bytes after which a boundary between items is again a boundary between units, or 0 if the item buffer of
 * the kernel is shorter.
 */
static size_t common_period(size_t item, uint64_t unit)
{
	uint64_t common = lowest_bit(item | unit);
	uint64_t period = item / common * unit;

	return period <= BI__FILL_BYTES ? (size_t)period : 0;
}

int bi__launches_fill(struct bi__launches *launches, const struct bi__plan *plan, uint64_t dst, const void *item,
		      const struct bi__launch_limits *limits)
{
	uint64_t to = dst + (uint64_t)plan->dst_offset, run = plan->unit, unit;
	int outer = plan->ndim;
	size_t period;

	if (!is_fill(plan))
		return 0;
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
	add_axes(launches, plan, outer, -1, (int64_t)unit);
	memset(&launches->rest.fill.item, 0, sizeof(launches->rest.fill.item));
	for (size_t i = 0; i < period; i += plan->unit)
		memcpy(launches->rest.fill.item.of_1 + i, (const char *)item + plan->src_offset, plan->unit);
	return 1;
}

/*
 * Sets magic and shift of an axis (strided.h) by the method of Granlund and Montgomery, "Division by Invariant Integers
 * using Multiplication".
 */
static void set_division(struct bi__nest *nest, uint32_t axis, uint32_t extent)
{
	uint32_t shift = 31;

	while (UINT64_C(1) << (shift - 31) < extent)
		shift++;
	nest->shift[axis] = shift;
	nest->magic[axis] = (uint32_t)((UINT64_C(1) << shift) / extent + 1);
}

static void push_axis(struct bi__nest *nest, const struct bi__launch_axis *axis, int64_t extent)
{
	nest->shape[nest->ndim] = (uint32_t)extent;
	nest->dst_steps[nest->ndim] = axis->dst;
	nest->src_steps[nest->ndim] = axis->src;
	set_division(nest, nest->ndim++, (uint32_t)extent);
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

/* Returns true if the distance of every position from the first position fits in 31 bits. */
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

static struct bi__nest *put_arguments(const struct bi__launches *launches, struct bi__launch *launch)
{
	switch (launches->family) {
	case BI__KERNEL_fill:
		launch->nbytes = sizeof(struct bi__fill);
		launch->arguments.fill.item = launches->rest.fill.item;
		return &launch->arguments.fill.nest;
	case BI__KERNEL_tile:
		launch->nbytes = sizeof(struct bi__tile);
		launch->arguments.tile = launches->rest.tile;
		return &launch->arguments.tile.nest;
	default:
		launch->nbytes = sizeof(struct bi__nest);
		return &launch->arguments.nest;
	}
}

int bi__launches_next(struct bi__launches *launches, struct bi__launch *launch)
{
	enum bi__kernel_family family = launches->family;
	struct bi__nest *nest;
	uint32_t each;

	if (launches->is_done)
		return 0;
	memset(launch, 0, sizeof(*launch));
	nest = put_arguments(launches, launch);
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
	launch->threads[0] = family == BI__KERNEL_tile ? BI__TILE : launches->group;
	launch->threads[1] = family == BI__KERNEL_tile ? BI__TILE_ROWS : 1;
	return 1;
}
