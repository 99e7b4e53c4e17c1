/*
 * model: the memory accesses of the kernels, for a list of layouts. Writes one line for each layout and item size:
 *
 *	layout, bytes of an item, kernel, axes of the nest, and the following figures
 *
 *	loads/access    32-byte sectors that one load of a warp touches, on average
 *	loads           bytes of the sectors that a group reads, each counted once, per byte that is moved
 *	stores/access   sectors that one store of a warp touches
 *	stores          bytes of the sectors that a group writes, each counted once for each store, per byte that is
 *moved waves           passes of the load and store unit for 512 bytes: 128-byte lines of each access to the arrays,
 *and bank conflicts of each access to shared memory pages           pages of 2 MiB that SAMPLE groups of a wave touch
 *	warps           warps that move 512 bytes; the instructions of a warp times this number are those for 512 bytes
 *	stores/warp
 *	is_one_run      as in struct bi__tile
 *	units           units of a run that a thread writes one by one; 0: runs are written in words
 *
 * The kernels run as plain C with accesses that are recorded instead of executed, so no array is allocated. SAMPLE
 * groups out of WAVE consecutive ones in the middle of a launch stand for the launch.
 *
 *	model --code MAJOR MINOR    writes the shipped machine code to standard output
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_length.h"
#include "kernels/image.h"
#include "kernels/launch.h"

#define SAMPLE 32
#define WAVE 1024
#define WARP 32
#define SECTOR 32
#define LINE 128
#define PAGE (UINT64_C(2) << 20)

enum access { READ, WRITE, PUT, TAKE, ACCESSES };
#define SIZES 5 /* 1, 2, 4, 8, 16 bytes */
#define MOST_ACCESSES 4096
#define PER_ROUND 16

/*
 * The accesses of one thread, by kind and size. Each round of a loop begins at a multiple of PER_ROUND, because a
 * thread may leave out a round; there the address is 0.
 */
struct lane {
	uint32_t round, counts[ACCESSES][SIZES];
	uint64_t addresses[ACCESSES][SIZES][MOST_ACCESSES];
};

static struct lane lanes[WARP], *lane;

static int size_index(size_t nbytes)
{
	int index = 0;

	while (nbytes > 1) {
		nbytes /= 2;
		index++;
	}
	return index;
}

/* Returns memory that stands for the accessed address. */
static void *record(enum access access, uintptr_t address, size_t nbytes)
{
	static bi__u128 scratch;
	int size = size_index(nbytes);
	uint32_t *count = &lane->counts[access][size], start = lane->round * PER_ROUND;

	while (*count < start && *count < MOST_ACCESSES)
		lane->addresses[access][size][(*count)++] = 0;

	if (*count == MOST_ACCESSES || address % nbytes) {
		fprintf(stderr, "model: too many accesses, or an address that is not aligned\n");
		exit(EXIT_FAILURE);
	}
	lane->addresses[access][size][(*count)++] = address;
	return &scratch;
}

#undef bi__read
#undef bi__write
#undef bi__put
#undef bi__take
#undef bi__round
#define bi__access(access, at) (*(__typeof__(at))record(access, (uintptr_t)(at), sizeof(*(at))))
#define bi__read(from) bi__access(READ, from)
#define bi__write(to, value) (bi__access(WRITE, to) = (value))
#define bi__put(to, value) (bi__access(PUT, to) = (value))
#define bi__take(from) bi__access(TAKE, from)
#define bi__round lane->round++
#define bi__word(a, b, c, d) ((bi__u128){ (a) | (bi__u64)(b) << 32, (c) | (bi__u64)(d) << 32 })
/* No row of the table is a fill, so its functions are not called. */
#define bi__device static inline __attribute__((unused))
#define bi__global
#define bi__shared
#define bi__once

BI__KERNEL_FUNCTIONS
BI__UNITS(BI__KERNEL_PHASES)
BI__UNITS(BI__TILE_LOAD)
BI__UNITS(BI__TILE_PHASES)

/* The arrays of a launch begin here, and so does the shared memory. */
#define DST ((uintptr_t)1 << 44)
#define SRC ((uintptr_t)1 << 45)
#define HELD ((uintptr_t)1 << 46)

/* Runs one thread of a launch. */
typedef void thread_fn(const struct bi__launch *launch, uint32_t group, uint32_t thread);

#define STRIDED(bits, size, width) \
	static void strided##bits##_##size(const struct bi__launch *launch, uint32_t group, uint32_t thread) \
	{ \
		uint32_t step = launch->threads; \
		bi__strided##bits##_##size##_copy((bi__u##width *)DST, (bi__u##width *)SRC, &launch->arguments.nest, \
						  group *step *BI__NEST_UNITS + thread, step); \
	}
#define TILE(size, width) \
	static void tile_##size(const struct bi__launch *launch, uint32_t group, uint32_t thread) \
	{ \
		const struct bi__tile *tile = &launch->arguments.tile; \
		struct bi__corner corner = bi__corner(tile, group); \
		bi__tile_##size##_load((bi__u##width *)SRC, tile, (bi__u##width *)HELD, &corner, thread); \
		bi__tile_##size##_store((bi__u##width *)DST, tile, (bi__u##width *)HELD, &corner, thread); \
	}
#define THREADS(size, width) STRIDED(32, size, width) STRIDED(64, size, width) TILE(size, width)
BI__UNITS(THREADS)

static thread_fn *const threads[BI__KERNEL_COUNT] = {
#define OF_UNIT(size, width) \
	[BI__KERNEL_strided32 * BI__KERNEL_UNITS + (size > 1) + (size > 2) + (size > 4) + \
		(size > 8)] = strided32_##size, \
			[BI__KERNEL_strided64 * BI__KERNEL_UNITS + (size > 1) + (size > 2) + (size > 4) + \
				(size > 8)] = strided64_##size, \
			[BI__KERNEL_tile * BI__KERNEL_UNITS + (size > 1) + (size > 2) + (size > 4) + (size > 8)] = \
				tile_##size,
	BI__UNITS(OF_UNIT)
};

/* A set of numbers that is emptied often. */
#define SLOTS (1u << 16)
struct set {
	uint64_t numbers[SLOTS];
	uint32_t rounds[SLOTS], round;
	uint64_t count;
};

static void empty_set(struct set *set)
{
	set->round++;
	set->count = 0;
}

static void add_to_set(struct set *set, uint64_t number)
{
	uint32_t slot = (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 48);

	while (set->rounds[slot] == set->round && set->numbers[slot] != number)
		slot = (slot + 1) % SLOTS;
	if (set->rounds[slot] == set->round)
		return;
	set->rounds[slot] = set->round;
	set->numbers[slot] = number;
	set->count++;
}

static struct set sectors_read, pages;

/* Sums over the sampled groups. */
struct sums {
	uint64_t accesses[ACCESSES], sectors[ACCESSES]; /* of READ and WRITE only */
	uint64_t sectors_read; /* each counted once for a group */
	uint64_t bytes, waves, warps;
};

/* Returns how many different numbers there are: addresses[i] / granularity. */
static uint64_t count_distinct(const uint64_t *addresses, int count, uint64_t granularity)
{
	uint64_t seen[WARP];
	uint64_t distinct = 0;

	for (int i = 0; i < count; i++) {
		uint64_t number = addresses[i] / granularity, j = distinct;

		while (j > 0 && seen[j - 1] != number)
			j--;
		if (!j)
			seen[distinct++] = number;
	}
	return distinct;
}

/* Adds one access of a warp to the arrays. */
static void add_access(struct sums *sums, enum access access, size_t nbytes, const uint64_t *addresses, int count)
{
	sums->accesses[access]++;
	sums->sectors[access] += count_distinct(addresses, count, SECTOR);
	sums->waves += count_distinct(addresses, count, LINE);
	for (int i = 0; i < count; i++) {
		add_to_set(&pages, addresses[i] / PAGE);
		if (access == READ)
			add_to_set(&sectors_read, addresses[i] / SECTOR);
		else
			sums->bytes += nbytes;
	}
}

/*
 * Returns the passes of one access to shared memory. At most 128 bytes are accessed in a pass; of each of the 32 banks,
 * which are four bytes wide, one word.
 */
static uint64_t count_passes(size_t nbytes, const uint64_t *addresses, int count)
{
	int each = nbytes > 4 ? (int)(LINE / nbytes) : WARP;
	uint64_t passes = 0;

	for (int first = 0; first < count; first += each) {
		uint64_t of_bank[32] = { 0 }, words[WARP], most = 0;
		int distinct = 0;

		for (int i = first; i < count && i < first + each; i++) {
			uint64_t word = addresses[i] / 4;
			int j = distinct;

			while (j > 0 && words[j - 1] != word)
				j--;
			if (j)
				continue;
			words[distinct++] = word;
			if (++of_bank[word % 32] > most)
				most = of_bank[word % 32];
		}
		passes += most;
	}
	return passes;
}

/* Adds the accesses of a warp. The n-th accesses of one kind and size of all lanes are one access of the warp. */
static void add_warp(struct sums *sums)
{
	for (int access = 0; access < ACCESSES; access++) {
		for (int size = 0; size < SIZES; size++) {
			int active = 1;

			for (uint32_t n = 0; active; n++) {
				uint64_t addresses[WARP];
				int found = active = 0;

				for (int i = 0; i < WARP; i++) {
					if (n >= lanes[i].counts[access][size])
						continue;
					active = 1;
					if (lanes[i].addresses[access][size][n])
						addresses[found++] = lanes[i].addresses[access][size][n];
				}
				if (found && access <= WRITE)
					add_access(sums, (enum access)access, (size_t)1 << size, addresses, found);
				else if (found)
					sums->waves += count_passes((size_t)1 << size, addresses, found);
			}
		}
	}
	sums->warps++;
}

static void run_group(struct sums *sums, const struct bi__launch *launch, uint32_t group)
{
	uint32_t count = launch->threads;

	empty_set(&sectors_read);
	for (uint32_t first = 0; first < count; first += WARP) {
		for (uint32_t i = 0; i < WARP; i++) {
			lane = &lanes[i];
			memset(lane->counts, 0, sizeof(lane->counts));
			lane->round = 0;
			if (first + i < count)
				threads[launch->kernel](launch, group, first + i);
		}
		add_warp(sums);
	}
	sums->sectors_read += sectors_read.count;
}

static void run_launch(struct sums *sums, const struct bi__launch *launch)
{
	uint32_t wave = launch->groups < WAVE ? launch->groups : WAVE;
	/* An odd step, so that the tiles are not all of one column. */
	uint32_t first = (launch->groups - wave) / 2, step = (wave + SAMPLE - 1) / SAMPLE | 1;

	empty_set(&pages);
	for (uint32_t group = first; group < first + wave; group += step)
		run_group(sums, launch, group);
}

static void print_row(const char *name, size_t item, const struct bi__launch *launch, const struct sums *sums)
{
	double bytes = (double)sums->bytes;
	int is_tile = launch->kernel / BI__KERNEL_UNITS == BI__KERNEL_tile;
	const struct bi__tile *tile = is_tile ? &launch->arguments.tile : NULL;

	printf("%-22s %2zu %-14s %2u %6.1f %6.2f %6.1f %6.2f %6.1f %5llu %7.3f %5.2f %d %u\n", name, item,
	       bi__kernel_name(launch->kernel) + 4, launch->arguments.nest.ndim,
	       (double)sums->sectors[READ] / (double)sums->accesses[READ], (double)sums->sectors_read * SECTOR / bytes,
	       (double)sums->sectors[WRITE] / (double)sums->accesses[WRITE],
	       (double)sums->sectors[WRITE] * SECTOR / bytes, (double)sums->waves * 512 / bytes,
	       (unsigned long long)pages.count, (double)sums->warps * 512 / bytes,
	       (double)sums->accesses[WRITE] / (double)sums->warps, tile && tile->is_one_run,
	       tile && tile->dst_step != 1 ? (tile->extents[0] + 31) / 32 : 0);
}

/*
 * A source: a dense array of `whole` with its axes permuted, then cut: out[i] = source axis axes[i], first, step. The
 * destination is dense, or it is [..., ::gap] of a dense array.
 */
struct layout {
	const char *name;
	int ndim;
	int64_t gap; /* units from element to element of the destination */
	int64_t whole[4];
	struct {
		int axis;
		int64_t extent, first, step;
	} axes[4];
};

/* Sizes are such that an array has 16 to 256 MiB. */
static const struct layout layouts[] = {
	{ "[::-1]", 2, 1, { 4096, 4096 }, { { 0, 4096, 4095, -1 }, { 1, 4096, 0, 1 } } },
	{
		"permute (0,2,1,3)",
		4,
		1,
		{ 64, 64, 64, 64 },
		{ { 0, 64, 0, 1 }, { 2, 64, 0, 1 }, { 1, 64, 0, 1 }, { 3, 64, 0, 1 } },
	},
	{ "[:, ::-1]", 2, 1, { 4096, 4096 }, { { 0, 4096, 0, 1 }, { 1, 4096, 4095, -1 } } },
	{ "[:, ::2]", 2, 1, { 4096, 8192 }, { { 0, 4096, 0, 1 }, { 1, 4096, 0, 2 } } },
	{ "[:, 1:]", 2, 1, { 4096, 4096 }, { { 0, 4096, 0, 1 }, { 1, 4095, 1, 1 } } },
	{ "transpose", 2, 1, { 4096, 4096 }, { { 1, 4096, 0, 1 }, { 0, 4096, 0, 1 } } },
	{ "transpose, odd sizes", 2, 1, { 4095, 4093 }, { { 1, 4093, 0, 1 }, { 0, 4095, 0, 1 } } },
	{
		"permute (3,2,1,0)",
		4,
		1,
		{ 128, 128, 128, 128 },
		{ { 3, 128, 0, 1 }, { 2, 128, 0, 1 }, { 1, 128, 0, 1 }, { 0, 128, 0, 1 } },
	},
	{ "HWC to CHW", 3, 1, { 2160, 3840, 3 }, { { 2, 3, 0, 1 }, { 0, 2160, 0, 1 }, { 1, 3840, 0, 1 } } },
	{ "CHW to HWC", 3, 1, { 3, 2160, 3840 }, { { 1, 2160, 0, 1 }, { 2, 3840, 0, 1 }, { 0, 3, 0, 1 } } },
	{ "[..., ::-1] of HWC", 3, 1, { 2160, 3840, 3 }, { { 0, 2160, 0, 1 }, { 1, 3840, 0, 1 }, { 2, 3, 2, -1 } } },
	{
		"NCHW to NHWC, 64",
		4,
		1,
		{ 16, 64, 112, 112 },
		{ { 0, 16, 0, 1 }, { 2, 112, 0, 1 }, { 3, 112, 0, 1 }, { 1, 64, 0, 1 } },
	},
	{
		"NHWC to NCHW, 64",
		4,
		1,
		{ 16, 112, 112, 64 },
		{ { 0, 16, 0, 1 }, { 3, 64, 0, 1 }, { 1, 112, 0, 1 }, { 2, 112, 0, 1 } },
	},
	{ "transpose to [:, ::2]", 2, 2, { 4096, 4096 }, { { 1, 4096, 0, 1 }, { 0, 4096, 0, 1 } } },
	{ "transpose to [:, ::6]", 2, 6, { 4096, 4096 }, { { 1, 4096, 0, 1 }, { 0, 4096, 0, 1 } } },
	{ "transpose of [:, ::3]", 2, 1, { 2048, 6144 }, { { 1, 2048, 0, 3 }, { 0, 2048, 0, 1 } } },
	{ "transpose of [:, ::6]", 2, 1, { 2048, 12288 }, { { 1, 2048, 0, 6 }, { 0, 2048, 0, 1 } } },
};

static int make_plan(struct bi__plan *plan, const struct layout *layout, size_t item)
{
	struct bi_layout whole, dst, src;
	int64_t shape[4], strides[4], offset = 0;
	struct bi_dtype dtype;
	struct bi_error err;
	int rc = bi_dtype_make(BI_VOID, 1, (uint32_t)item, &dtype, &err);

	if (!rc)
		rc = bi_layout_init(&whole, dtype, layout->ndim, layout->whole, NULL, 0, &err);
	for (int i = 0; !rc && i < layout->ndim; i++) {
		int64_t stride = whole.strides[layout->axes[i].axis];

		shape[i] = layout->axes[i].extent;
		strides[i] = stride * layout->axes[i].step;
		offset += stride * layout->axes[i].first;
	}
	if (!rc)
		rc = bi_layout_init(&src, dtype, layout->ndim, shape, strides, offset, &err);
	if (!rc)
		rc = bi_layout_init(&dst, dtype, layout->ndim, shape, NULL, 0, &err);
	for (int i = 0; !rc && i < layout->ndim; i++)
		dst.strides[i] *= layout->gap;
	if (rc)
		fprintf(stderr, "model: %s: %s\n", layout->name, err.message);
	else
		bi__plan_make(plan, &dst, &src);
	return rc;
}

static int print_layouts(void)
{
	const struct bi__launch_limits limits = { .group = BI__NEST_GROUP, .tiles = 1 };
	struct bi__launches launches;
	struct bi__launch launch;
	struct bi__plan plan;

	for (size_t i = 0; i < ARRAY_LENGTH(layouts); i++) {
		for (size_t item = 1; item <= 16; item *= 2) {
			struct sums sums = { .bytes = 0 };

			if (make_plan(&plan, &layouts[i], item))
				return EXIT_FAILURE;
			bi__launches_copy(&launches, &plan, 0, 0, &limits);
			bi__launches_next(&launches, &launch);
			run_launch(&sums, &launch);
			print_row(layouts[i].name, item, &launch, &sums);
		}
	}
	return EXIT_SUCCESS;
}

static int write_code(int major, int minor)
{
	size_t nbytes;
	void *image = bi__image_load(major, minor, &nbytes);

	if (!image || fwrite(image, 1, nbytes, stdout) != nbytes) {
		fprintf(stderr, "model: no machine code for %d.%d was written\n", major, minor);
		return EXIT_FAILURE;
	}
	free(image);
	return EXIT_SUCCESS;
}

int main(int count, char **words)
{
	if (count == 4 && !strcmp(words[1], "--code"))
		return write_code(atoi(words[2]), atoi(words[3]));
	return print_layouts();
}
