/*
 * The kernels, written once in the common subset of OpenCL C, CUDA C++ and plain C. The OpenCL backend and strided.cu
 * expand the macros below. The tests and the simulated driver run the kernels as C. launch.h computes the launches.
 *
 * strided32, strided64   units from any place to any place, with offsets of 32 or 64 bits
 * fill                   the units of one item, which is part of the arguments, to any place
 * tile                   two axes, x and y, in tiles. The source is nearly dense along x or y. A group reads the lines
 *                        of a tile into shared memory, and writes them to the destination in runs along x.
 *                        Accesses have 16 bytes, except at the ends of lines and runs. A destination with gaps along x
 *                        is written in units
 *
 * A unit is 1, 2, 4, 8 or 16 bytes, whatever the element type is. Positions and steps are counted in units. Unit
 * numbers and extents fit in 31 bits, so that a division by an extent can be done by a multiplication. A thread reads
 * several units before it writes the first, so that enough reads are in flight.
 *
 * The code between two barriers is a function, called a phase. The number of the thread is one of its arguments, so
 * plain C can call it. These names are defined for each language before this file is used: bi__u8 to bi__u128, bi__i32
 * and bi__i64 (types), bi__kernel and bi__device (functions), bi__global and bi__shared (pointers), bi__shared_array,
 * bi__once (before a loop that must not be unrolled), bi__word(a, b, c, d) (a bi__u128 of four bi__u32, the lowest
 * first), bi__group_id, bi__group_size, bi__thread_x, bi__barrier.
 *
 * Every access to an array is one of the macros below, so that a test can record the accesses.
 *
 * This file includes nothing.
 */
#ifndef BI_KERNELS_STRIDED_H
#define BI_KERNELS_STRIDED_H

/*
 * bi__read and bi__write access the source and the destination; bi__put and bi__take access the memory that a group
 * shares. bi__round begins a round of a loop, so that a test can match the accesses of several threads.
 */
#ifndef bi__read
#define bi__read(from) (*(from))
#define bi__write(to, value) (*(to) = (value))
#define bi__put(to, value) (*(to) = (value))
#define bi__take(from) (*(from))
#define bi__round
#endif

/* The most axes of one launch. */
#define BI__NEST_NDIM 16

/* The most threads of a group for strided and fill kernels. */
#define BI__NEST_GROUP 256

/* The number of units that a thread moves. A group moves consecutive units. */
#define BI__NEST_UNITS 4

/* The threads of a group for tile kernels, and the words of 16 bytes that they share. */
#define BI__TILE_GROUP 128
#define BI__TILE_WORDS 1280

/* The most whole words of the source that a thread reads. */
#define BI__TILE_READS 8

/* Bytes of the largest item of a fill. */
#define BI__FILL_BYTES 256

/* X(bytes of a unit, bits of a unit) */
#define BI__UNITS(X) X(1, 8) X(2, 16) X(4, 32) X(8, 64) X(16, 128)

/*
 * A nest of loops, one loop for each axis. Axis 0 is the innermost. A launch has `count` units (tile kernels: tiles),
 * one for each iteration of the nest: unit n is iteration n. Kernels split n by a multiplication in place of a
 * division. For every x below 2^31:
 *
 *   x / shape[i] == x * magic[i] >> shift[i]
 */
#define BI__NEST_STRUCT \
	struct bi__nest { \
		bi__i64 dst; \
		bi__i64 src; \
		bi__u32 count; \
		bi__u32 ndim; \
		bi__u32 shape[BI__NEST_NDIM]; \
		bi__u32 magic[BI__NEST_NDIM]; \
		bi__u32 shift[BI__NEST_NDIM]; \
		bi__i64 dst_steps[BI__NEST_NDIM]; \
		bi__i64 src_steps[BI__NEST_NDIM]; \
	};

/* The arguments of a fill. Source positions count from the start of the item. */
#define BI__FILL_STRUCT \
	struct bi__fill { \
		struct bi__nest nest; \
		union { \
			bi__u8 of_1[BI__FILL_BYTES]; \
			bi__u16 of_2[BI__FILL_BYTES / 2]; \
			bi__u32 of_4[BI__FILL_BYTES / 4]; \
			bi__u64 of_8[BI__FILL_BYTES / 8]; \
			bi__u128 of_16[BI__FILL_BYTES / 16]; \
		} item; \
	};

/*
 * The arguments of a tile kernel. An iteration of the nest is a tile, which one group copies. Axes 0 and 1 of the nest
 * step from tile to tile along x and along y. Members with two values have those of x and of y. All steps are in units.
 *
 * The source of a tile is read in lines: one for each x, one for each y, or one for the whole tile (line_axis). The
 * gaps between the elements of a line are read too. Nothing before the first and after the last element of the axis is
 * read. In shared memory, lines are `pitch` units apart. The remainders of `pitch` and src_line modulo the units of a
 * word are equal, so a word of the source is a word in shared memory.
 *
 * The destination of a tile is written in runs. Each y has a run, or all have one run (is_one_run). If dst_step is not
 * 1, runs are written in units. Otherwise they are written in words: a word of the destination is written by the tile
 * that has its first unit. For this purpose a tile reads more[] elements of the next tile.
 */
#define BI__TILE_STRUCT \
	struct bi__tile { \
		struct bi__nest nest; \
		bi__i64 dst_step; /* from element to element along x */ \
		bi__i64 dst_run; \
		bi__i64 src_line; \
		bi__u32 shape[2]; \
		bi__u32 extents[2]; /* elements of a tile, without more[] */ \
		bi__u32 more[2]; \
		bi__i32 src_steps[2]; /* inside of a line; 0 for the axis that has a line for each element */ \
		bi__i32 held_steps[2]; /* in shared memory */ \
		bi__u32 line_axis; /* 0 or 1: the axis that has a line for each element; 2: there is one line */ \
		bi__u32 is_one_run; \
		bi__u32 has_edges; /* lines begin or end inside of a word */ \
		bi__i32 pitch; \
		bi__i32 mask; /* units of a word, less 1; clang 14 does not handle a constant here */ \
		bi__u32 threads; /* log2 of the threads that read a line */ \
		bi__u32 parts; /* log2 of the parts of a line; a part has one word for each thread */ \
		bi__u32 runs; /* log2 of the runs that threads write side by side */ \
		bi__u32 row; /* if is_one_run: x and y of unit u are u % row and u / row */ \
		bi__u32 magic; \
		bi__u32 shift; \
	};

#define BI__DIVIDE_FUNCTION \
	bi__device bi__u32 bi__divide(bi__u32 x, bi__u32 magic, bi__u32 shift) \
	{ \
		return (bi__u32)((bi__u64)x * magic >> shift); \
	}

/*
 * Computes the destination and source positions of units first, first + step and so on, relative to the start of the
 * nest. The outermost axis needs no division. Unit numbers above the last unit give positions that are not used. The
 * arithmetic is unsigned because of these positions and because of negative steps.
 */
#define BI__PLACE_FUNCTION(bits) \
	bi__device void bi__place##bits(const struct bi__nest *nest, bi__u32 first, bi__u32 step, bi__u##bits *to, \
					bi__u##bits *from) \
	{ \
		bi__u32 rest[BI__NEST_UNITS]; \
		for (int k = 0; k < BI__NEST_UNITS; k++) { \
			rest[k] = first + (bi__u32)k * step; \
			to[k] = from[k] = 0; \
		} \
		bi__once for (bi__u32 i = 0; i + 1 < nest->ndim; i++) \
		{ \
			for (int k = 0; k < BI__NEST_UNITS; k++) { \
				bi__u32 outer = bi__divide(rest[k], nest->magic[i], nest->shift[i]); \
				bi__u32 at = rest[k] - outer * nest->shape[i]; \
				to[k] += at * (bi__u##bits)nest->dst_steps[i]; \
				from[k] += at * (bi__u##bits)nest->src_steps[i]; \
				rest[k] = outer; \
			} \
		} \
		for (int k = 0; k < BI__NEST_UNITS && nest->ndim; k++) { \
			to[k] += rest[k] * (bi__u##bits)nest->dst_steps[nest->ndim - 1]; \
			from[k] += rest[k] * (bi__u##bits)nest->src_steps[nest->ndim - 1]; \
		} \
	}

/* Moves the units of one thread: every `step`-th unit, beginning with unit `first`. */
#define BI__STRIDED_PHASE(bits, size, width) \
	bi__device void bi__strided##bits##_##size##_copy(bi__global bi__u##width *dst, \
							  bi__global const bi__u##width *src, \
							  const struct bi__nest *nest, bi__u32 first, bi__u32 step) \
	{ \
		bi__u##bits to[BI__NEST_UNITS], from[BI__NEST_UNITS]; \
		bi__u##width held[BI__NEST_UNITS]; \
		bi__place##bits(nest, first, step, to, from); \
		dst += nest->dst; \
		src += nest->src; \
		for (int k = 0; k < BI__NEST_UNITS; k++) { \
			if (first + (bi__u32)k * step < nest->count) \
				held[k] = bi__read(&src[(bi__i##bits)from[k]]); \
		} \
		for (int k = 0; k < BI__NEST_UNITS; k++) { \
			if (first + (bi__u32)k * step < nest->count) \
				bi__write(&dst[(bi__i##bits)to[k]], held[k]); \
		} \
	}

#define BI__FILL_PHASE(size, width) \
	bi__device void bi__fill_##size##_store(bi__global bi__u##width *dst, const struct bi__fill *fill, \
						bi__u32 first, bi__u32 step) \
	{ \
		bi__u64 to[BI__NEST_UNITS], from[BI__NEST_UNITS]; \
		bi__place64(&fill->nest, first, step, to, from); \
		dst += fill->nest.dst; \
		for (int k = 0; k < BI__NEST_UNITS; k++) { \
			if (first + (bi__u32)k * step < fill->nest.count) \
				bi__write(&dst[(bi__i64)to[k]], \
					  fill->item.of_##size[fill->nest.src + (bi__i64)from[k]]); \
		} \
	}

/*
 * The part of a tile that a group copies. Tiles at the end of an axis are smaller.
 *
 * before, after   units before and behind a line that may be read, because other tiles have elements there
 * low             the lowest unit of the first line, counted from the element with x = y = 0; negative if a step is
 *                 negative
 * run, loaded     units of a run of this tile, without and with the elements of the next tile
 * follows         1: the tile continues runs of the tile before it
 */
#define BI__CORNER_FUNCTION \
	struct bi__corner { \
		bi__i64 to; \
		bi__i64 from; /* the lowest unit of the first line */ \
		bi__i32 low, length, before, after, run, loaded; \
		bi__u32 lines, runs, follows; \
	}; \
	bi__device struct bi__corner bi__corner(const struct bi__tile *tile, bi__u32 group) \
	{ \
		struct bi__corner corner = { tile->nest.dst, tile->nest.src, 0, 1, 0, 0, 0, 0, 1, 1, 0 }; \
		bi__u32 done[2] = { 0, 0 }, own[2], load[2], rest = group; \
		bi__once for (bi__u32 i = 0; i < tile->nest.ndim; i++) \
		{ \
			bi__u32 outer = bi__divide(rest, tile->nest.magic[i], tile->nest.shift[i]); \
			bi__u32 at = rest - outer * tile->nest.shape[i]; \
			corner.to += at * tile->nest.dst_steps[i]; \
			corner.from += at * tile->nest.src_steps[i]; \
			if (i == 0) \
				done[0] = at * tile->extents[0]; \
			if (i == 1) \
				done[1] = at * tile->extents[1]; \
			rest = outer; \
		} \
		for (int i = 0; i < 2; i++) { \
			bi__u32 left = tile->shape[i] - done[i], most = tile->extents[i] + tile->more[i]; \
			bi__i32 step = tile->src_steps[i], size = step < 0 ? -step : step; \
			own[i] = left < tile->extents[i] ? left : tile->extents[i]; \
			load[i] = left < most ? left : most; \
			if (tile->line_axis == (bi__u32)i) \
				corner.lines = load[i]; \
			bi__i32 span = (bi__i32)(load[i] - 1) * size; \
			bi__i32 ahead = (done[i] < 16 ? (bi__i32)done[i] : 16) * size; \
			bi__i32 behind = (left - load[i] < 16 ? (bi__i32)(left - load[i]) : 16) * size; \
			corner.length += span; \
			corner.low -= step < 0 ? span : 0; \
			corner.before += step < 0 ? behind : ahead; \
			corner.after += step < 0 ? ahead : behind; \
		} \
		corner.from += corner.low; \
		corner.runs = tile->is_one_run ? 1 : own[1]; \
		corner.run = (bi__i32)(tile->is_one_run ? own[0] * own[1] : own[0]); \
		corner.loaded = (bi__i32)(tile->is_one_run ? own[0] * load[1] : load[0]); \
		corner.follows = (tile->is_one_run ? done[1] : done[0]) > 0; \
		return corner; \
	}

/*
 * Reads the lines of a tile. Whole words come first: a thread reads all of its words before it stores the first. Then
 * the units of incomplete words follow.
 */
#define BI__TILE_LOAD(size, width) \
	bi__device void bi__tile_##size##_words(bi__global const bi__u##width *src, const struct bi__tile *tile, \
						bi__shared bi__u##width *held, const struct bi__corner *corner, \
						bi__u32 thread) \
	{ \
		const bi__i32 n = 16 / (size), first = -corner->before, last = corner->length + corner->after - n; \
		bi__u32 part = thread >> tile->threads; \
		bi__i32 column = (bi__i32)(thread & ((1u << tile->threads) - 1)) * n; \
		bi__u128 words[BI__TILE_READS]; \
		bi__i32 places[BI__TILE_READS]; \
		for (int k = 0; k < BI__TILE_READS; k++) { \
			bi__round; \
			bi__u32 line = part >> tile->parts; \
			bi__i32 word = column + (bi__i32)(part - (line << tile->parts)) * n * BI__TILE_GROUP; \
			bi__i64 from = corner->from + line * tile->src_line; \
			bi__i32 phase = (bi__i32)from & tile->mask, unit = word - phase; \
			places[k] = -n; \
			if (line < corner->lines && unit < corner->length && unit >= first && unit <= last) { \
				places[k] = (bi__i32)line * tile->pitch + unit; \
				words[k] = bi__read((bi__global const bi__u128 *)(src + from + unit)); \
			} \
			part += (bi__u32)BI__TILE_GROUP >> tile->threads; \
		} \
		for (int k = 0; k < BI__TILE_READS; k++) { \
			if (places[k] != -n) \
				bi__put((bi__shared bi__u128 *)(held + places[k]), words[k]); \
		} \
	} \
	bi__device void bi__tile_##size##_load(bi__global const bi__u##width *src, const struct bi__tile *tile, \
					       bi__shared bi__u##width *held, const struct bi__corner *corner, \
					       bi__u32 thread) \
	{ \
		const bi__u32 n = 16 / (size); \
		const bi__i32 end = corner->length + corner->after; \
		held += tile->mask + 1 + ((bi__i32)corner->from & tile->mask); \
		bi__tile_##size##_words(src, tile, held, corner, thread); \
		if (n == 1 || !tile->has_edges || (corner->before >= tile->mask && corner->after >= tile->mask)) \
			return; \
		bi__once for (bi__u32 i = thread; i < 2 * n * corner->lines; i += BI__TILE_GROUP) \
		{ \
			bi__u32 line = i / (2 * n), slot = i % n; \
			bi__i64 from = corner->from + line * tile->src_line; \
			bi__i32 phase = (bi__i32)from & tile->mask, unit = (bi__i32)slot - phase; \
			bi__i32 word = ((corner->length - 1 + phase) & ~tile->mask) - phase; \
			int is_partial = phase > corner->before || (word == -phase && word + (bi__i32)n > end); \
			if (i & n) { \
				unit += word + phase; \
				is_partial = word > -phase && word + (bi__i32)n > end; \
			} \
			if (is_partial && unit >= 0 && unit < corner->length) \
				bi__put(held + (bi__i32)line * tile->pitch + unit, bi__read(src + from + unit)); \
		} \
	}

/*
 * Returns a word of units that are `step` units apart. After `left` units, and then after each `row` units, the next
 * unit is `turn` units further.
 */
#define BI__GATHER(size, width, body) \
	bi__device bi__u128 bi__gather_##size(bi__shared const bi__u##width *held, bi__i32 step, int left, \
					      bi__u32 row, bi__i32 turn) \
	{ \
		bi__u32 words[4] = { 0, 0, 0, 0 }; \
		for (int k = 0; k < 16 / (size); k++) { \
			bi__u##width unit = bi__take(held); \
			body; \
			held += step; \
			if (--left == 0) { \
				held += turn; \
				left = (int)row; \
			} \
		} \
		return bi__word(words[0], words[1], words[2], words[3]); \
	}
#define BI__GATHER_FUNCTION_1 BI__GATHER(1, 8, words[k / 4] |= (bi__u32)unit << 8 * (k % 4))
#define BI__GATHER_FUNCTION_2 BI__GATHER(2, 16, words[k / 2] |= (bi__u32)unit << 16 * (k % 2))
#define BI__GATHER_FUNCTION_4 BI__GATHER(4, 32, words[k] = unit)
#define BI__GATHER_FUNCTION_8 BI__GATHER(8, 64, words[2 * k] = (bi__u32)unit; words[2 * k + 1] = (bi__u32)(unit >> 32))
#define BI__GATHER_FUNCTION_16 \
	bi__device bi__u128 bi__gather_16(bi__shared const bi__u128 *held, bi__i32 step, int left, bi__u32 row, \
					  bi__i32 turn) \
	{ \
		(void)step, (void)left, (void)row, (void)turn; \
		return bi__take(held); \
	}

/* Writes the runs of a tile in units. */
#define BI__TILE_SCATTER(size, width) \
	bi__device void bi__tile_##size##_scatter(bi__global bi__u##width *dst, const struct bi__tile *tile, \
						  bi__shared const bi__u##width *held, \
						  const struct bi__corner *corner, bi__u32 thread) \
	{ \
		bi__once for (bi__u32 run = thread / 32; run < corner->runs; run += BI__TILE_GROUP / 32) \
		{ \
			bi__once for (bi__i32 x = (bi__i32)(thread % 32); x < corner->run; x += 32) \
			{ \
				bi__round; \
				bi__write(dst + corner->to + run * tile->dst_run + x * tile->dst_step, \
					  bi__take(held + x * tile->held_steps[0] + \
						   (bi__i32)run * tile->held_steps[1])); \
			} \
		} \
	}

/*
 * Writes the runs of a tile. Two neighbouring threads write the two words of a sector (32 bytes) of memory. The next
 * two write to the next run if there is one, so that threads read neighbouring units of a line.
 */
#define BI__TILE_STORE(size, width) \
	bi__device void bi__tile_##size##_store(bi__global bi__u##width *dst, const struct bi__tile *tile, \
						bi__shared const bi__u##width *held, const struct bi__corner *corner, \
						bi__u32 thread) \
	{ \
		const bi__i32 n = 16 / (size), step_x = tile->held_steps[0], step_y = tile->held_steps[1]; \
		const bi__i32 turn = step_y - (bi__i32)tile->row * step_x; \
		bi__u32 run = (thread >> 1) & ((1u << tile->runs) - 1), sector = thread >> 1 >> tile->runs; \
		held += tile->mask + 1 + ((bi__i32)corner->from & tile->mask) - corner->low; \
		if (tile->dst_step != 1) { \
			bi__tile_##size##_scatter(dst, tile, held, corner, thread); \
			return; \
		} \
		bi__once for (; run < corner->runs; run += 1u << tile->runs) \
		{ \
			bi__i64 to = corner->to + run * tile->dst_run; \
			bi__i32 unit = \
				(bi__i32)(2 * sector + (thread & 1)) * n - ((bi__i32)to & (2 * tile->mask + 1)); \
			bi__once for (; unit < corner->run; unit += n * (BI__TILE_GROUP >> tile->runs)) \
			{ \
				bi__round; \
				bi__i32 first = unit < 0 ? 0 : unit; \
				bi__u32 y = \
					tile->is_one_run ? bi__divide((bi__u32)first, tile->magic, tile->shift) : 0; \
				bi__i32 x = first - (bi__i32)(y * tile->row), \
					place = x * step_x + (bi__i32)(run + y) * step_y; \
				int left = (bi__i32)tile->row - x; \
				if (unit + n <= 0 || (unit < 0 && corner->follows)) \
					continue; \
				if (unit >= 0 && unit + n <= corner->loaded) { \
					bi__u128 word; \
					if (tile->is_one_run) \
						word = bi__gather_##size(held + place, step_x, left, tile->row, turn); \
					else \
						word = bi__gather_##size(held + place, step_x, n, 0, 0); \
					bi__write((bi__global bi__u128 *)(dst + to + unit), word); \
					continue; \
				} \
				bi__once for (; first < unit + n && first < corner->loaded; first++) \
				{ \
					bi__write(dst + to + first, bi__take(held + place)); \
					place += step_x; \
					if (--left == 0) { \
						place += turn; \
						left = (bi__i32)tile->row; \
					} \
				} \
			} \
		} \
	}

/* The entry points. Plain C calls the phases directly. */
#define BI__STRIDED_KERNEL(bits, size, width) \
	bi__kernel void bi__strided##bits##_##size(bi__global bi__u##width *dst, bi__global const bi__u##width *src, \
						   struct bi__nest nest) \
	{ \
		bi__u32 first = bi__group_id * bi__group_size * BI__NEST_UNITS + bi__thread_x; \
		bi__strided##bits##_##size##_copy(dst, src, &nest, first, bi__group_size); \
	}

#define BI__FILL_KERNEL(size, width) \
	bi__kernel void bi__fill_##size(bi__global bi__u##width *dst, struct bi__fill fill) \
	{ \
		bi__u32 first = bi__group_id * bi__group_size * BI__NEST_UNITS + bi__thread_x; \
		bi__fill_##size##_store(dst, &fill, first, bi__group_size); \
	}

#define BI__TILE_KERNEL(size, width) \
	bi__kernel void bi__tile_##size(bi__global bi__u##width *dst, bi__global const bi__u##width *src, \
					struct bi__tile tile) \
	{ \
		bi__shared_array bi__u##width held[BI__TILE_WORDS * 16 / (size)] __attribute__((aligned(16))); \
		struct bi__corner corner = bi__corner(&tile, bi__group_id); \
		bi__tile_##size##_load(src, &tile, held, &corner, bi__thread_x); \
		bi__barrier; \
		bi__tile_##size##_store(dst, &tile, held, &corner, bi__thread_x); \
	}

/*
 * A program consists of the types, the functions and, for each unit of BI__UNITS, the phases and the entry points.
 * `size` and `width` are the bytes and the bits of a unit.
 */
#define BI__KERNEL_TYPES BI__NEST_STRUCT BI__FILL_STRUCT BI__TILE_STRUCT
#define BI__KERNEL_FUNCTIONS BI__DIVIDE_FUNCTION BI__PLACE_FUNCTION(32) BI__PLACE_FUNCTION(64) BI__CORNER_FUNCTION
#define BI__KERNEL_PHASES(size, width) \
	BI__STRIDED_PHASE(32, size, width) BI__STRIDED_PHASE(64, size, width) BI__FILL_PHASE(size, width)
#define BI__TILE_PHASES(size, width) \
	BI__GATHER_FUNCTION_##size BI__TILE_SCATTER(size, width) BI__TILE_STORE(size, width)
#define BI__KERNEL_ENTRIES(size, width) \
	BI__STRIDED_KERNEL(32, size, width) \
	BI__STRIDED_KERNEL(64, size, width) \
	BI__FILL_KERNEL(size, width) \
	BI__TILE_KERNEL(size, width)

#endif
