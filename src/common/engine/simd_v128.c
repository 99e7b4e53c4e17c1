/* 128-bit vectors: SSSE3 on x86-64, NEON on AArch64. Each has its intrinsics; only x86-64 has non-temporal stores. */
#include "common/engine/simd.h"

#ifdef BI__SIMD_V128

#include <string.h>

typedef uint8_t v128 __attribute__((vector_size(16)));

#ifdef __x86_64__

#include <tmmintrin.h>

#define TARGET __attribute__((target("ssse3")))

static int runs_here(void)
{
	return __builtin_cpu_supports("ssse3");
}

/* A byte becomes 0 if the highest bit of its index is set. */
#define LOOK_UP(table, index) ((v128)_mm_shuffle_epi8((__m128i)(table), (__m128i)(index)))
#define LOW_1(a, b) ((v128)_mm_unpacklo_epi8((__m128i)(a), (__m128i)(b)))
#define HIGH_1(a, b) ((v128)_mm_unpackhi_epi8((__m128i)(a), (__m128i)(b)))
#define LOW_2(a, b) ((v128)_mm_unpacklo_epi16((__m128i)(a), (__m128i)(b)))
#define HIGH_2(a, b) ((v128)_mm_unpackhi_epi16((__m128i)(a), (__m128i)(b)))
#define LOW_4(a, b) ((v128)_mm_unpacklo_epi32((__m128i)(a), (__m128i)(b)))
#define HIGH_4(a, b) ((v128)_mm_unpackhi_epi32((__m128i)(a), (__m128i)(b)))
#define LOW_8(a, b) ((v128)_mm_unpacklo_epi64((__m128i)(a), (__m128i)(b)))
#define HIGH_8(a, b) ((v128)_mm_unpackhi_epi64((__m128i)(a), (__m128i)(b)))

#else

#include <arm_neon.h>

#define TARGET

static int runs_here(void)
{
	return 1;
}

#define LOOK_UP(table, index) ((v128)vqtbl1q_u8((uint8x16_t)(table), (uint8x16_t)(index)))
#define LOW_1(a, b) ((v128)vzip1q_u8((uint8x16_t)(a), (uint8x16_t)(b)))
#define HIGH_1(a, b) ((v128)vzip2q_u8((uint8x16_t)(a), (uint8x16_t)(b)))
#define LOW_2(a, b) ((v128)vzip1q_u16((uint16x8_t)(a), (uint16x8_t)(b)))
#define HIGH_2(a, b) ((v128)vzip2q_u16((uint16x8_t)(a), (uint16x8_t)(b)))
#define LOW_4(a, b) ((v128)vzip1q_u32((uint32x4_t)(a), (uint32x4_t)(b)))
#define HIGH_4(a, b) ((v128)vzip2q_u32((uint32x4_t)(a), (uint32x4_t)(b)))
#define LOW_8(a, b) ((v128)vzip1q_u64((uint64x2_t)(a), (uint64x2_t)(b)))
#define HIGH_8(a, b) ((v128)vzip2q_u64((uint64x2_t)(a), (uint64x2_t)(b)))

#endif

TARGET static inline v128 load(const unsigned char *p)
{
	v128 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store(unsigned char *p, v128 v)
{
	memcpy(p, &v, sizeof(v));
}

#define VECTOR v128
#define LANES 1
#define LOAD(lane) load(lane(0))
#define SHUFFLE(v, table) LOOK_UP(v, load(table))
#define JOIN(v) (v)
#define STORE(p, v) store(p, v)

#include "common/engine/simd_transpose.inc"

#ifdef __x86_64__

/*
 * Copies of more bytes than this prefetch so many bytes ahead, because hardware prefetching stops at page boundaries.
 */
#define AHEAD 1024

static void stream_lines(unsigned char *dst, const unsigned char *src, size_t lines)
{
	for (; lines; lines--, dst += BI__LINE, src += BI__LINE) {
		if (lines > AHEAD / BI__LINE)
			_mm_prefetch(src + AHEAD, _MM_HINT_T0);
		UNROLL for (int i = 0; i < BI__LINE; i += 16) _mm_stream_si128(
			(__m128i *)(void *)(dst + i), _mm_loadu_si128((const __m128i *)(const void *)(src + i)));
	}
}

void bi__simd_fence(void)
{
	_mm_sfence();
}

/* Only AMD Zen 3 was measured. */
static int scatters_here(void)
{
	return 1;
}

#define STREAM(p, v) _mm_stream_si128((__m128i *)(void *)(p), (__m128i)(v))

#else

#define STREAM STORE

#endif

#define VECTOR_AT(p) load(p)
#define ZERO ((v128){ 0 })
#define MERGE(made, v, index) ((made) | LOOK_UP(v, index))

#include "common/engine/simd_shuffle.inc"

const struct bi__simd bi__simd_v128 = {
	.name = "v128",
	.runs_here = runs_here,
	.transpose = TRANSPOSES,
	.transpose_narrow = bi__simd_v128.transpose,
	.vector = sizeof(v128),
	.shuffle = shuffle_periods,
#ifdef __x86_64__
	.stream = stream_lines,
	.fence = bi__simd_fence,
	.scatters_here = scatters_here,
#endif
};

#endif
