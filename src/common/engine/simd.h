/*
 * What the copy engine asks of a processor: three inner loops, once for each set of instructions that is worth it.
 *
 * Every set does the same, so the engine is written once and each set can be tested wherever it runs. The portable one
 * is C and is always there; `bi__simd_best` chooses the best that this processor has, at run time, so that the library
 * needs no compiler flag.
 */
#ifndef BI_COMMON_ENGINE_SIMD_H
#define BI_COMMON_ENGINE_SIMD_H

#include <stddef.h>
#include <stdint.h>

/* What is streamed at once, and the alignment that it needs: a cache line. */
#define BI__LINE 64

/* Loads of one shuffle: five for each vector, and up to 15 vectors until a unit ends where a vector does. */
#define BI__SHUFFLE_LOADS 75

/* Bytes of one vector that go into the vector that is being made. */
struct bi__shuffle_load {
	ptrdiff_t offset; /* from the source of the period */
	int last; /* the vector is complete with this one */
	unsigned char index[BI__LINE]; /* for each byte of the result which byte of the load, or 255: not from here */
};

/*
 * How the bytes of one period of a run are rearranged: a list of loads from which vectors are made, one after the
 * other. A period writes `written` bytes, whole vectors, and moves `units` units.
 */
struct bi__shuffle {
	int count; /* loads; 0: there is no shuffle */
	size_t units, written;
	ptrdiff_t step; /* from the source of one period to that of the next */
	ptrdiff_t low, high; /* the bytes that a period reads, from its source; high is behind the last */
	struct bi__shuffle_load loads[BI__SHUFFLE_LOADS];
};

/*
 * dst[y][x] = src[x][y] for elements of one size, y below height, x below width; pitches in bytes. The bytes of
 * `height` elements are a multiple of 16, those of `width` elements one of BI__LINE.
 */
typedef void (*bi__turn_fn)(unsigned char *dst, ptrdiff_t dst_pitch, const unsigned char *src, ptrdiff_t src_pitch,
			    ptrdiff_t height, ptrdiff_t width);

struct bi__simd {
	const char *name;
	int (*runs_here)(void);
	/* By the logarithm of the size of an element: 1, 2, 4, 8, 16 bytes. */
	bi__turn_fn turn[5];
	/* The same where the bytes of `width` elements are only a multiple of 16. NULL: `turn` can do it. */
	const bi__turn_fn *turn_narrow;
	/* Bytes of a vector of `shuffle`, and `shuffle` itself; 0 and NULL where bytes are moved one unit at a time. */
	size_t vector;
	void (*shuffle)(const struct bi__shuffle *shuffle, unsigned char *dst, const unsigned char *src,
			size_t periods);
	/* The first `bytes` of what one period writes, of which only [low, high) is read, from its source. NULL: there
	 * is none. */
	void (*shuffle_part)(const struct bi__shuffle *shuffle, unsigned char *dst, const unsigned char *src,
			     ptrdiff_t low, ptrdiff_t high, size_t bytes);
	/* `shuffle` past the caches, as `stream` below, to a destination that is aligned to a line. NULL: there is
	 * none. */
	void (*shuffle_past)(const struct bi__shuffle *shuffle, unsigned char *dst, const unsigned char *src,
			     size_t periods);
	/*
	 * Copies whole lines to an aligned destination past the caches. What was streamed is seen by other threads only
	 * after `fence` on this one. NULL where a processor has no such stores: memcpy is as good.
	 */
	void (*stream)(unsigned char *dst, const unsigned char *src, size_t lines);
	void (*fence)(void);
};

/* The best set that runs here. */
const struct bi__simd *bi__simd_best(void);

/* All sets in this binary, best first, whether they run here or not; NULL behind the last, which is the portable one.
 */
const struct bi__simd *const *bi__simd_all(void);

/* One file each. NULL-ended lists would hide which compilers build what, so a set that is not built is just not named.
 */
extern const struct bi__simd bi__simd_portable;
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
#define BI__SIMD_V128
extern const struct bi__simd bi__simd_v128;
extern const bi__turn_fn bi__simd_turn_v128[5];
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define BI__SIMD_X86
extern const struct bi__simd bi__simd_avx2;
extern const struct bi__simd bi__simd_avx512;
#endif

#endif
