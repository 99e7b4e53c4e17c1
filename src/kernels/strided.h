/*
 * The kernels, written once in the common subset of OpenCL C, CUDA C++ and plain C. Each backend expands the macros
 * below into its program. The tests and the simulated driver run the kernels as C. launch.h computes the launches.
 *
 * strided32, strided64   units from any place to any place, with offsets of 32 or 64 bits
 * fill                   the units of one item, which is part of the arguments, to any place
 * tile                   two transposed axes: the destination is dense along x, the source along y. Squares are read
 *                        along y, transposed in memory that a group shares, and written along x
 * words_1x4 and so on    as tile, but in words of several units, if sizes, offsets and all strides except the two dense
 *                        ones are multiples of a word. A thread transposes square blocks, as wide as a word, in its
 *                        registers
 *
 * A unit is 1, 2, 4, 8 or 16 bytes, whatever the element type is. Positions and steps are counted in units. Every count
 * and every index fits in 31 bits, so that a division by an extent is a multiplication. A thread reads several units
 * before it writes the first, so that enough reads are in flight.
 *
 * The code between two barriers is a function of its own, a phase. Its arguments include the numbers of the thread.
 * These names are defined for each language before this file is used: bi__u8 to bi__u128, bi__i32 and bi__i64
 * (types), bi__kernel and bi__device (functions), bi__global and bi__shared (pointers), bi__shared_array, bi__once
 * (before a loop that must not be unrolled), bi__group_id, bi__group_size, bi__thread_x, bi__thread_y, bi__barrier.
 *
 * Every access to an array is one of the four macros below, so that a test can record the accesses.
 *
 * This file includes nothing.
 */
#ifndef BI_KERNELS_STRIDED_H
#define BI_KERNELS_STRIDED_H

/* Accesses to the source and the destination, and to the memory that a group shares. */
#ifndef bi__read
#define bi__read(from) (*(from))
#define bi__write(to, value) (*(to) = (value))
#define bi__put(to, value) (*(to) = (value))
#define bi__take(from) (*(from))
#endif

/* The most axes of one launch. */
#define BI__NEST_NDIM 16

/* The most threads of a group for strided and fill kernels. */
#define BI__NEST_GROUP 256

/* The number of units that a thread moves. A group moves consecutive units. */
#define BI__NEST_UNITS 4

/*
 * BI__TILE: the side of a tile in blocks. A group has BI__TILE by BI__TILE_ROWS threads. BI__TILE_BLOCKS: the blocks
 * that one thread moves. A block is one unit, or for words a square of units whose side is the number of units of a
 * word.
 */
#define BI__TILE 32
#define BI__TILE_ROWS 8
#define BI__TILE_BLOCKS (BI__TILE / BI__TILE_ROWS)

/* Bytes of the largest item of a fill. */
#define BI__FILL_BYTES 256

/* X(bytes of a unit, bits of a unit) */
#define BI__UNITS(X) X(1, 8) X(2, 16) X(4, 32) X(8, 64) X(16, 128)

/* X(bytes of a unit, units of a word, bits of a word). A line of a tile has 32 words: 128 or 256 bytes. */
#define BI__WORDS(X) X(1, 4, 32) X(2, 2, 32) X(4, 2, 64)

/*
 * A nest of loops, one loop for each axis. Axis 0 is the innermost. A launch has `count` units, one for each iteration
 * of the nest: unit n is iteration n. Kernels split n by a multiplication in place of a division. For every x below
 * 2^31:
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
		union { \
			bi__u8 of_1[BI__FILL_BYTES]; \
			bi__u16 of_2[BI__FILL_BYTES / 2]; \
			bi__u32 of_4[BI__FILL_BYTES / 4]; \
			bi__u64 of_8[BI__FILL_BYTES / 8]; \
			bi__u128 of_16[BI__FILL_BYTES / 16]; \
		} item; \
		struct bi__nest nest; \
	};

/*
 * The arguments of a tile kernel. An iteration of the nest is a tile, which one group copies. Axes 0 and 1 of the nest
 * step from tile to tile along x and along y. Extents are in blocks. The destination is dense along x: dst_x is the
 * step from block to block, dst_y the step from row to row (a block has several rows). The source is dense along y. For
 * words, all steps are in words.
 */
#define BI__TILE_STRUCT \
	struct bi__tile { \
		struct bi__nest nest; \
		bi__i64 dst_x; \
		bi__i64 dst_y; \
		bi__i64 src_x; \
		bi__i64 src_y; \
		bi__u32 nx; \
		bi__u32 ny; \
	};

#define BI__DIVIDE_FUNCTION \
	bi__device bi__u32 bi__divide(const struct bi__nest *nest, bi__u32 axis, bi__u32 x) \
	{ \
		return (bi__u32)((bi__u64)x * nest->magic[axis] >> nest->shift[axis]); \
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
				bi__u32 outer = bi__divide(nest, i, rest[k]); \
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
 * Computes the positions of the first unit of a group's tile, and the blocks that are left from there along x and y.
 * There may be more blocks than the tile has.
 */
#define BI__CORNER_FUNCTION \
	struct bi__corner { \
		bi__i64 to; \
		bi__i64 from; \
		bi__u32 nx; \
		bi__u32 ny; \
	}; \
	bi__device struct bi__corner bi__corner(const struct bi__tile *tile, bi__u32 group) \
	{ \
		struct bi__corner corner = { tile->nest.dst, tile->nest.src, tile->nx, tile->ny }; \
		bi__u32 rest = group; \
		bi__once for (bi__u32 i = 0; i < tile->nest.ndim; i++) \
		{ \
			bi__u32 outer = bi__divide(&tile->nest, i, rest); \
			bi__u32 at = rest - outer * tile->nest.shape[i]; \
			corner.to += at * tile->nest.dst_steps[i]; \
			corner.from += at * tile->nest.src_steps[i]; \
			if (i == 0) \
				corner.nx -= at * BI__TILE; \
			if (i == 1) \
				corner.ny -= at * BI__TILE; \
			rest = outer; \
		} \
		return corner; \
	}

/*
 * Transposes a block of 4 by 4 or 2 by 2 units: word i receives unit i of every word. Quarters of the block are
 * exchanged first, then the units of each quarter. BI__LOW is a mask of the lower half of each group of 2 * bits bits.
 */
#define BI__LOW(word, bits) ((word) ~(word)0 / (word)(((word)1 << (bits)) + 1))
#define BI__SWAP_FUNCTION(width) \
	bi__device void bi__swap_##width(bi__u##width *low, bi__u##width *high, int bits) \
	{ \
		bi__u##width mask = BI__LOW(bi__u##width, bits), kept = *low; \
		*low = (kept & mask) | (*high & mask) << bits; \
		*high = (kept >> bits & mask) | (*high & ~mask); \
	}
#define BI__TURN_FUNCTION_2(name, size, width) \
	bi__device void bi__##name##_turn(bi__u##width *words) \
	{ \
		bi__swap_##width(&words[0], &words[1], 8 * (size)); \
	}
#define BI__TURN_FUNCTION_4(name, size, width) \
	bi__device void bi__##name##_turn(bi__u##width *words) \
	{ \
		bi__swap_##width(&words[0], &words[2], 16 * (size)); \
		bi__swap_##width(&words[1], &words[3], 16 * (size)); \
		bi__swap_##width(&words[0], &words[1], 8 * (size)); \
		bi__swap_##width(&words[2], &words[3], 8 * (size)); \
	}

/* A block of one unit is its own transpose. */
#define BI__TURN_FUNCTION_1(name, size, width) \
	bi__device void bi__##name##_turn(bi__u##width *words) \
	{ \
		(void)words; \
	}

/*
 * Copies a tile through shared memory in words of n units. Neighbouring threads read along y, and write along x. All
 * words are read before the first word is stored. In shared memory, the words with unit 0 of each block come first,
 * then the words with unit 1, and so on. This order and the odd length of the lines keep neighbouring threads in
 * different banks when they read and when they write.
 */
#define BI__TILE_LOAD(name, n, width) \
	bi__device void bi__##name##_load(bi__global const bi__u##width *src, const struct bi__tile *tile, \
					  bi__shared bi__u##width(*held)[BI__TILE + 1], \
					  const struct bi__corner *corner, bi__u32 tx, bi__u32 ty) \
	{ \
		bi__u##width words[BI__TILE_BLOCKS][n]; \
		src += corner->from + tx * tile->src_y + ty * (n)*tile->src_x; \
		for (int k = 0; k < BI__TILE_BLOCKS; k++) { \
			if (ty + (bi__u32)k * BI__TILE_ROWS < corner->nx && tx < corner->ny) { \
				for (int i = 0; i < (n); i++) \
					words[k][i] = bi__read(&src[(k * BI__TILE_ROWS * (n) + i) * tile->src_x]); \
			} \
		} \
		for (int k = 0; k < BI__TILE_BLOCKS; k++) { \
			bi__u32 x = ty + (bi__u32)k * BI__TILE_ROWS; \
			if (x < corner->nx && tx < corner->ny) { \
				bi__##name##_turn(words[k]); \
				for (int i = 0; i < (n); i++) \
					bi__put(&held[(bi__u32)i * BI__TILE + tx][x], words[k][i]); \
			} \
		} \
	}

#define BI__TILE_STORE(name, n, width) \
	bi__device void bi__##name##_store(bi__global bi__u##width *dst, const struct bi__tile *tile, \
					   bi__shared bi__u##width(*held)[BI__TILE + 1], \
					   const struct bi__corner *corner, bi__u32 tx, bi__u32 ty) \
	{ \
		dst += corner->to + tx * tile->dst_x + ty * (n)*tile->dst_y; \
		for (int k = 0; k < BI__TILE_BLOCKS; k++) { \
			bi__u32 y = ty + (bi__u32)k * BI__TILE_ROWS; \
			if (y < corner->ny && tx < corner->nx) { \
				for (int i = 0; i < (n); i++) \
					bi__write(&dst[(k * BI__TILE_ROWS * (n) + i) * tile->dst_y], \
						  bi__take(&held[(bi__u32)i * BI__TILE + y][tx])); \
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

#define BI__TILE_KERNEL(name, n, width) \
	bi__kernel void bi__##name(bi__global bi__u##width *dst, bi__global const bi__u##width *src, \
				   struct bi__tile tile) \
	{ \
		bi__shared_array bi__u##width held[(n)*BI__TILE][BI__TILE + 1]; \
		struct bi__corner corner = bi__corner(&tile, bi__group_id); \
		bi__##name##_load(src, &tile, held, &corner, bi__thread_x, bi__thread_y); \
		bi__barrier; \
		bi__##name##_store(dst, &tile, held, &corner, bi__thread_x, bi__thread_y); \
	}

/*
 * A program consists of the types and the functions, and, for each unit (`size` bytes that are moved together) and each
 * width of an index (32 or 64 bits), of the phases and the entry points.
 */
#define BI__KERNEL_TYPES BI__NEST_STRUCT BI__FILL_STRUCT BI__TILE_STRUCT
#define BI__KERNEL_FUNCTIONS \
	BI__DIVIDE_FUNCTION BI__PLACE_FUNCTION(32) BI__PLACE_FUNCTION(64) BI__CORNER_FUNCTION BI__SWAP_FUNCTION(32) \
		BI__SWAP_FUNCTION(64)
#define BI__TILE_PHASES(name, size, n, width) \
	BI__TURN_FUNCTION_##n(name, size, width) BI__TILE_LOAD(name, n, width) BI__TILE_STORE(name, n, width)
#define BI__KERNEL_PHASES(size, width) \
	BI__STRIDED_PHASE(32, size, width) \
	BI__STRIDED_PHASE(64, size, width) \
	BI__FILL_PHASE(size, width) \
	BI__TILE_PHASES(tile_##size, size, 1, width)
#define BI__WORD_PHASES(size, n, width) BI__TILE_PHASES(words_##size##x##n, size, n, width)
#define BI__KERNEL_ENTRIES(size, width) \
	BI__STRIDED_KERNEL(32, size, width) \
	BI__STRIDED_KERNEL(64, size, width) \
	BI__FILL_KERNEL(size, width) \
	BI__TILE_KERNEL(tile_##size, 1, width)
#define BI__WORD_ENTRIES(size, n, width) BI__TILE_KERNEL(words_##size##x##n, n, width)

#endif
