/*
 * The inner loops of the copy engine that instruction sets make faster.
 *
 * A set is a struct bi__simd. The result of a copy is the same with all sets. The portable set is C and always present.
 * bi__simd_best chooses a set at run time, so the library needs no compiler flags.
 */
#ifndef BI_COMMON_ENGINE_SIMD_H
#define BI_COMMON_ENGINE_SIMD_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a cache line: the unit and the alignment of non-temporal stores. */
#define BI__LINE 64

/* The most loads of one shuffle. Units that need more are moved one by one. */
#define BI__SHUFFLE_LOADS 75

/* The most loads whose indices stay in registers if a period is one vector. Other indices are read for each period. */
#define BI__SHUFFLE_FEW 4

/* One load of source bytes, and the places of these bytes in the vector that is assembled. */
struct bi__shuffle_load {
	int64_t offset; /* bytes from the source address of the period */
	int last; /* 1: the vector is complete after this load */
	unsigned char index[BI__LINE]; /* for each byte of the vector: its position in the load, or 255 if the byte
					  comes from another load */
};

/*
 * The rearrangement of one period of a run: a list of loads, from which vectors are assembled one after the other. A
 * period moves `units` units and writes `written` bytes, whole vectors.
 */
struct bi__shuffle {
	int count; /* number of loads; 0: no shuffle is used */
	int few; /* `count` if a period is one vector of at most BI__SHUFFLE_FEW loads; else 0 */
	size_t units, written;
	int64_t step; /* bytes from the source address of a period to the source address of the next period */
	int64_t spare; /* units that must follow a period, because its loads may reach them; 0 if no units overlap */
	struct bi__shuffle_load loads[BI__SHUFFLE_LOADS];
};

/*
 * dst[y][x] = element y of row x, for y < height, x < width. Row x begins rows[x] bytes after src. In a register an
 * element of 3 bytes has a slot of 4 bytes, an element of 6 bytes a slot of 8, and any other element a slot of its own
 * size. The slots of `height` elements are a multiple of 16 bytes, and those of `width` elements a multiple of
 * BI__LINE. For elements of 3 and 6 bytes, up to 16 bytes after each row of both sides are accessed.
 */
typedef void (*bi__transpose_fn)(unsigned char *dst, int64_t dst_pitch, const unsigned char *src, const int64_t *rows,
				 int64_t height, int64_t width);

/* Moves periods. If `streams` is 1, dst is aligned to a cache line, and non-temporal stores are used, if any. */
typedef void (*bi__shuffle_fn)(const struct bi__shuffle *shuffle, unsigned char *dst, const unsigned char *src,
			       size_t periods, int streams);

struct bi__simd {
	const char *name;
	int (*runs_here)(void);
	/* Indexed by the bytes of an element: 1, 2, 3, 4, 6, 8. */
	bi__transpose_fn transpose[9];
	/* Like `transpose`, for `width` elements whose slots are a multiple of 16 bytes. */
	const bi__transpose_fn *transpose_narrow;
	/* Bytes of a vector of `shuffle`, and the function. 0 and NULL: units are moved one by one. */
	size_t vector;
	bi__shuffle_fn shuffle;
	/*
	 * `stream` copies whole cache lines to an aligned destination with non-temporal stores. Other threads may not
	 * see these bytes until this thread has called `fence`. Both are NULL if the set uses no such stores.
	 */
	void (*stream)(unsigned char *dst, const unsigned char *src, size_t lines);
	void (*fence)(void);
	/*
	 * Returns true if this processor transposes a large result faster with ordinary stores to rows far apart than
	 * by collecting longer rows and streaming them. NULL if `stream` is NULL.
	 */
	int (*scatters_here)(void);
};

/* Returns the best set that runs on this processor. */
const struct bi__simd *bi__simd_best(void);

/*
 * Returns all sets of this binary, the best set first, then NULL. The last is the portable set. This processor may not
 * be able to run all of them (`runs_here`).
 */
const struct bi__simd *const *bi__simd_all(void);

/* Each set has a file of its own. A set that is not built is not declared. */
extern const struct bi__simd bi__simd_portable;
/* Big-endian AArch64 numbers the lanes of a vector against the order of memory, so it has only the portable set. */
#if defined(__GNUC__) && (defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)))
#define BI__SIMD_V128
extern const struct bi__simd bi__simd_v128;
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define BI__SIMD_X86
extern const struct bi__simd bi__simd_avx512;
void bi__simd_fence(void); /* the `fence` of both sets of x86 */
#endif

#endif
