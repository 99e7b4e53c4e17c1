/* 256-bit vectors for transposes. The byte shuffle cannot cross lanes, and streams are limited by the memory. */
#include "common/engine/simd.h"

#ifdef BI__SIMD_X86

#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))

static int runs_here(void)
{
	return __builtin_cpu_supports("avx2");
}

TARGET static inline __m128i load_lane(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

TARGET static inline __m256i load_lanes(const unsigned char *p, const unsigned char *q)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(load_lane(p)), load_lane(q), 1);
}

#define VECTOR __m256i
#define LANES 2
#define LOAD(lane) load_lanes(lane(0), lane(1))
#define SHUFFLE(v, table) _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(load_lane(table)))
#define JOIN(v) _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 0, 0))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define LOW_1 _mm256_unpacklo_epi8
#define HIGH_1 _mm256_unpackhi_epi8
#define LOW_2 _mm256_unpacklo_epi16
#define HIGH_2 _mm256_unpackhi_epi16
#define LOW_4 _mm256_unpacklo_epi32
#define HIGH_4 _mm256_unpackhi_epi32
#define LOW_8 _mm256_unpacklo_epi64
#define HIGH_8 _mm256_unpackhi_epi64

#include "common/engine/simd_transpose.inc"

const struct bi__simd bi__simd_avx2 = {
	.name = "avx2",
	.runs_here = runs_here,
	.transpose = TRANSPOSES,
	.transpose_narrow = bi__simd_v128.transpose,
	.vector = 16,
	.shuffle = bi__simd_shuffle_v128,
	.stream = bi__simd_stream_v128,
	.fence = bi__simd_fence,
};

#endif
