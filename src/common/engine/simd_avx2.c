/* 256-bit vectors. Runs are shuffled 128 bits at a time, because the byte shuffle cannot cross lanes. */
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

TARGET static inline __m256i load_lanes(const unsigned char *p, ptrdiff_t d)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(load_lane(p)), load_lane(p + d), 1);
}

TARGET static inline __m256i load_vector(const unsigned char *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

#define VECTOR __m256i
#define LANES 2
#define LOAD(p, d) load_lanes(p, d)
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

/* `streams` is a constant in each caller. */
TARGET static inline __attribute__((always_inline)) void shuffle_any(const struct bi__shuffle *shuffle,
								     unsigned char *dst, const unsigned char *src,
								     size_t periods, int streams)
{
	for (; periods; periods--, src += shuffle->step) {
		__m128i made = _mm_setzero_si128();

		for (int i = 0; i < shuffle->count; i++) {
			const struct bi__shuffle_load *from = &shuffle->loads[i];

			made = _mm_or_si128(made,
					    _mm_shuffle_epi8(load_lane(src + from->offset), load_lane(from->index)));
			if (!from->last)
				continue;
			if (streams)
				_mm_stream_si128((__m128i *)(void *)dst, made);
			else
				_mm_storeu_si128((__m128i *)(void *)dst, made);
			dst += sizeof(made);
			made = _mm_setzero_si128();
		}
	}
}

TARGET static void shuffle_periods(const struct bi__shuffle *shuffle, unsigned char *dst, const unsigned char *src,
				   size_t periods)
{
	shuffle_any(shuffle, dst, src, periods, 0);
}

TARGET static void shuffle_streamed(const struct bi__shuffle *shuffle, unsigned char *dst, const unsigned char *src,
				    size_t periods)
{
	shuffle_any(shuffle, dst, src, periods, 1);
}

TARGET static inline void stream_line(unsigned char *dst, const unsigned char *src)
{
	__m256i low = load_vector(src), high = load_vector(src + 32);

	_mm256_stream_si256((__m256i *)(void *)dst, low);
	_mm256_stream_si256((__m256i *)(void *)(dst + 32), high);
}

#define STREAM_LINE(to, from) stream_line(to, from)

#include "common/engine/simd_stream.inc"

static void fence_stores(void)
{
	_mm_sfence();
}

const struct bi__simd bi__simd_avx2 = {
	.name = "avx2",
	.runs_here = runs_here,
	.transpose = TRANSPOSES,
	.transpose_narrow = bi__simd_transpose_v128,
	.vector = 16,
	.shuffle = shuffle_periods,
	.shuffle_streamed = shuffle_streamed,
	.stream = stream_lines,
	.fence = fence_stores,
};

#endif
