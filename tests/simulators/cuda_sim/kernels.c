/* The phases of src/kernels/strided.h as plain C, and separately from them the bytes that a launch touches. */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/launch.h"

#define bi__word(a, b, c, d) ((bi__u128){ (a) | (bi__u64)(b) << 32, (c) | (bi__u64)(d) << 32 })
#define bi__device static inline
#define bi__global
#define bi__shared
#define bi__once

BI__KERNEL_FUNCTIONS
BI__UNITS(BI__KERNEL_PHASES)
BI__UNITS(BI__TILE_LOAD)
BI__UNITS(BI__TILE_PHASES)

/* The arguments of all threads of a launch. */
struct job {
	void *dst;
	const void *src; /* or NULL: a fill */
	const void *arguments;
	void *held; /* the shared memory of the group that runs */
	unsigned group_size;
};

typedef void phase_fn(const struct job *job, unsigned group, unsigned thread);

static bi__u32 first_unit(const struct job *job, unsigned group, unsigned x)
{
	return group * job->group_size * BI__NEST_UNITS + x;
}

/* One thread of each phase. */
#define STRIDED_PHASE(bits, size) \
	static void strided##bits##_##size(const struct job *job, unsigned group, unsigned thread) \
	{ \
		bi__strided##bits##_##size##_copy(job->dst, job->src, job->arguments, first_unit(job, group, thread), \
						  job->group_size); \
	}
#define PHASES(size, width) \
	STRIDED_PHASE(32, size) \
	STRIDED_PHASE(64, size) \
	static void fill_##size(const struct job *job, unsigned group, unsigned thread) \
	{ \
		bi__fill_##size##_store(job->dst, job->arguments, first_unit(job, group, thread), job->group_size); \
	} \
	static void load_##size(const struct job *job, unsigned group, unsigned thread) \
	{ \
		struct bi__corner corner = bi__corner(job->arguments, group); \
		bi__tile_##size##_load(job->src, job->arguments, job->held, &corner, thread); \
	} \
	static void store_##size(const struct job *job, unsigned group, unsigned thread) \
	{ \
		struct bi__corner corner = bi__corner(job->arguments, group); \
		bi__tile_##size##_store(job->dst, job->arguments, job->held, &corner, thread); \
	}
BI__UNITS(PHASES)

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Ends the program if a launch would be undefined on a device. */
static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "a launch of our kernels: %s\n", what);
	abort();
}

#define MOST_THREADS 1024

static void shuffle(unsigned *order, unsigned count, uint64_t *random)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned j = (unsigned)(next_random(random) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
}

static void run_phase(phase_fn *phase, const struct job *job, unsigned group, const unsigned block[3], uint64_t *random)
{
	unsigned order[MOST_THREADS], count = block[0];

	shuffle(order, count, random);
	for (unsigned i = 0; i < count; i++)
		phase(job, group, order[i]);
}

/*
 * Fills the shared memory anew for each group, so that a group cannot use values of another. It fits the largest
 * kernel.
 */
static void run_groups(phase_fn *const phases[2], struct job *job, const unsigned grid[3], const unsigned block[3],
		       uint64_t seed)
{
	size_t nbytes = BI__TILE_WORDS * sizeof(bi__u128);
	unsigned start;

	require(grid[0] > 0 && grid[1] == 1 && grid[2] == 1, "the grid has one dimension");
	require(block[0] <= MOST_THREADS && block[1] == 1 && block[2] == 1, "a group has one dimension");
	start = (unsigned)(next_random(&seed) % grid[0]);
	job->group_size = block[0];
	job->held = aligned_alloc(sizeof(bi__u128), nbytes);
	require(job->held != NULL, "no memory for the shared memory");
	for (unsigned i = 0; i < grid[0]; i++) {
		unsigned group = (unsigned)(((uint64_t)start + i) % grid[0]);

		memset(job->held, (int)(next_random(&seed) & 255), nbytes);
		for (int phase = 0; phase < 2 && phases[phase]; phase++)
			run_phase(phases[phase], job, group, block, &seed);
	}
	free(job->held);
}

static uint64_t get_pointer(const void *argument)
{
	uint64_t pointer;

	memcpy(&pointer, argument, sizeof(pointer));
	return pointer;
}

static void run_copy(phase_fn *const phases[2], void *const *arguments, const unsigned grid[3], const unsigned block[3],
		     uint64_t seed)
{
	struct job job = { .dst = (void *)(uintptr_t)get_pointer(arguments[0]),
			   .src = (const void *)(uintptr_t)get_pointer(arguments[1]),
			   .arguments = arguments[2] };

	run_groups(phases, &job, grid, block, seed);
}

/* Copies the arguments, because struct bi__fill may need a stricter alignment than they have. */
static void run_fill(phase_fn *const phases[2], void *const *arguments, const unsigned grid[3], const unsigned block[3],
		     uint64_t seed)
{
	struct bi__fill fill;
	struct job job = { .dst = (void *)(uintptr_t)get_pointer(arguments[0]), .arguments = &fill };

	memcpy(&fill, arguments[1], sizeof(fill));
	run_groups(phases, &job, grid, block, seed);
}

static void run_tiles(phase_fn *const phases[2], void *const *arguments, const unsigned grid[3],
		      const unsigned block[3], uint64_t seed)
{
	require(block[0] == BI__TILE_GROUP, "a tile has a fixed number of threads");
	run_copy(phases, arguments, grid, block, seed);
}

/*
 * A range for the caller. It grows by bytes that follow it, before it is passed on. Bytes in it are not passed again.
 */
struct range {
	sim_access_fn *access;
	void *state;
	int writes;
	uint64_t address;
	size_t nbytes;
};

static void flush(struct range *range)
{
	if (range->nbytes)
		range->access(range->state, range->address, range->nbytes, range->writes);
	range->nbytes = 0;
}

static void touch(struct range *range, uint64_t address, size_t nbytes)
{
	uint64_t end = range->address + range->nbytes;

	if (range->nbytes && address >= range->address && address + nbytes <= end)
		return;
	if (range->nbytes && address == end) {
		range->nbytes += nbytes;
		return;
	}
	flush(range);
	range->address = address;
	range->nbytes = nbytes;
}

/* Walks through a nest by its shape. The kernels divide instead, so this checks their arithmetic. */
struct walk {
	const struct bi__nest *nest;
	uint32_t index[BI__NEST_NDIM];
	int64_t to, from;
};

static struct walk begin_walk(const struct bi__nest *nest)
{
	return (struct walk){ .nest = nest, .to = nest->dst, .from = nest->src };
}

/* Begins again after the last unit. */
static void step(struct walk *walk)
{
	const struct bi__nest *nest = walk->nest;

	for (uint32_t i = 0; i < nest->ndim; i++) {
		if (++walk->index[i] < nest->shape[i]) {
			walk->to += nest->dst_steps[i];
			walk->from += nest->src_steps[i];
			return;
		}
		walk->to -= (int64_t)(nest->shape[i] - 1) * nest->dst_steps[i];
		walk->from -= (int64_t)(nest->shape[i] - 1) * nest->src_steps[i];
		walk->index[i] = 0;
	}
}

static uint64_t place(uint64_t pointer, int64_t units, size_t size)
{
	return pointer + (uint64_t)units * size;
}

/* Returns the number of units that the launch moves: too few if it has too few threads. */
static uint64_t units_of(const struct bi__nest *nest, const unsigned grid[3], const unsigned block[3])
{
	uint64_t threads = (uint64_t)grid[0] * block[0];

	return threads * BI__NEST_UNITS < nest->count ? threads * BI__NEST_UNITS : nest->count;
}

static void touch_nest(const struct bi__nest *nest, uint64_t units, uint64_t dst, const uint64_t *src, size_t size,
		       struct range *writes, struct range *reads)
{
	struct walk walk = begin_walk(nest);

	for (uint64_t i = 0; i < units; i++, step(&walk)) {
		touch(writes, place(dst, walk.to, size), size);
		if (src)
			touch(reads, place(*src, walk.from, size), size);
	}
}

static int64_t side(const struct bi__tile *tile, const struct walk *walk, int axis)
{
	uint32_t left = tile->shape[axis] - walk->index[axis] * tile->extents[axis];

	return left < tile->extents[axis] ? left : tile->extents[axis];
}

static int64_t src_step(const struct bi__tile *tile, int axis)
{
	return tile->line_axis == (uint32_t)axis ? tile->src_line : tile->src_steps[axis];
}

/* Touches the elements of one tile, on each side in the order of adjacent elements. */
static void touch_tile(const struct bi__tile *tile, const struct walk *walk, uint64_t dst, uint64_t src, size_t size,
		       struct range *writes, struct range *reads)
{
	int64_t nx = side(tile, walk, 0), ny = side(tile, walk, 1);
	int64_t step_x = src_step(tile, 0), step_y = src_step(tile, 1);

	for (int64_t y = 0; y < ny; y++) {
		for (int64_t x = 0; x < nx; x++)
			touch(writes, place(dst, walk->to + x * tile->dst_step + y * tile->dst_run, size), size);
	}
	for (int64_t x = 0; x < nx; x++) {
		for (int64_t y = 0; y < ny; y++)
			touch(reads, place(src, walk->from + x * step_x + y * step_y, size), size);
	}
}

#define RANGES \
	struct range writes = { .access = access, .state = state, .writes = 1 }; \
	struct range reads = { .access = access, .state = state }

static void footprint_copy(size_t size, void *const *arguments, const unsigned grid[3], const unsigned block[3],
			   sim_access_fn *access, void *state)
{
	const struct bi__nest *nest = arguments[2];
	uint64_t src = get_pointer(arguments[1]);
	RANGES;

	touch_nest(nest, units_of(nest, grid, block), get_pointer(arguments[0]), &src, size, &writes, &reads);
	flush(&writes);
	flush(&reads);
}

static void footprint_fill(size_t size, void *const *arguments, const unsigned grid[3], const unsigned block[3],
			   sim_access_fn *access, void *state)
{
	struct range writes = { .access = access, .state = state, .writes = 1 };
	struct bi__fill fill;

	memcpy(&fill, arguments[1], sizeof(fill));
	touch_nest(&fill.nest, units_of(&fill.nest, grid, block), get_pointer(arguments[0]), NULL, size, &writes, NULL);
	flush(&writes);
}

static void footprint_tiles(size_t size, void *const *arguments, const unsigned grid[3], const unsigned block[3],
			    sim_access_fn *access, void *state)
{
	const struct bi__tile *tile = arguments[2];
	struct walk walk = begin_walk(&tile->nest);
	RANGES;

	(void)block;
	for (unsigned group = 0; group < grid[0]; group++, step(&walk))
		touch_tile(tile, &walk, get_pointer(arguments[0]), get_pointer(arguments[1]), size, &writes, &reads);
	flush(&writes);
	flush(&reads);
}

/* The two functions of each entry point: its name, those of its kind, its size, its phases. */
#define FUNCTIONS(name, kind_of_run, kind_of_footprint, size, ...) \
	static void run_##name(void *const *arguments, const unsigned grid[3], const unsigned block[3], uint64_t seed) \
	{ \
		static phase_fn *const phases[2] = { __VA_ARGS__ }; \
		kind_of_run(phases, arguments, grid, block, seed); \
	} \
	static void footprint_##name(void *const *arguments, const unsigned grid[3], const unsigned block[3], \
				     sim_access_fn *access, void *state) \
	{ \
		kind_of_footprint(size, arguments, grid, block, access, state); \
	}
#define UNIT_FUNCTIONS(size, width) \
	FUNCTIONS(strided32_##size, run_copy, footprint_copy, size, strided32_##size) \
	FUNCTIONS(strided64_##size, run_copy, footprint_copy, size, strided64_##size) \
	FUNCTIONS(fill_##size, run_fill, footprint_fill, size, fill_##size) \
	FUNCTIONS(tile_##size, run_tiles, footprint_tiles, size, load_##size, store_##size)
BI__UNITS(UNIT_FUNCTIONS)

static const size_t copy_sizes[] = { sizeof(uint64_t), sizeof(uint64_t), sizeof(struct bi__nest) };
static const size_t fill_sizes[] = { sizeof(uint64_t), sizeof(struct bi__fill) };
static const size_t tile_sizes[] = { sizeof(uint64_t), sizeof(uint64_t), sizeof(struct bi__tile) };

#define KERNEL(name, sizes, shared) \
	{ "bi__" #name, sizeof(sizes) / sizeof(*(sizes)), sizes, shared, footprint_##name, run_##name },
#define UNIT_KERNELS(size, width) \
	KERNEL(strided32_##size, copy_sizes, 0) \
	KERNEL(strided64_##size, copy_sizes, 0) \
	KERNEL(fill_##size, fill_sizes, 0) \
	KERNEL(tile_##size, tile_sizes, BI__TILE_WORDS * 16)

static const struct sim_kernel kernels[] = { BI__UNITS(UNIT_KERNELS) };

const struct sim_kernel *sim_kernel_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	}
	return NULL;
}
