/* 512-bit vectors with VBMI: a vector is a cache line, and one instruction moves its bytes to any places. */
#include "common/engine/simd.h"

#ifdef BI__SIMD_X86

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))

static int runs_here(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512vbmi");
}

TARGET static inline __m512i load_vector(const unsigned char *p)
{
	return _mm512_loadu_si512((const void *)p);
}

TARGET static inline __m128i load_lane(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Masked broadcasts from memory do not use the shuffle port, which is busy with the transpose itself. */
TARGET static inline __m512i load_lanes(const unsigned char *p, const unsigned char *q, const unsigned char *r,
					const unsigned char *s)
{
	__m512i v = _mm512_castsi128_si512(load_lane(p));

	v = _mm512_mask_broadcast_i32x4(v, 0x00f0, load_lane(q));
	v = _mm512_mask_broadcast_i32x4(v, 0x0f00, load_lane(r));
	return _mm512_mask_broadcast_i32x4(v, 0xf000, load_lane(s));
}

#define VECTOR __m512i
#define LANES 4
#define LOAD(lane) load_lanes(lane(0), lane(1), lane(2), lane(3))
#define SHUFFLE(v, table) _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(load_lane(table)))
#define JOIN(v) _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0), v)
#define STORE(p, v) _mm512_storeu_si512((void *)(p), v)
#define LOW_1 _mm512_unpacklo_epi8
#define HIGH_1 _mm512_unpackhi_epi8
#define LOW_2 _mm512_unpacklo_epi16
#define HIGH_2 _mm512_unpackhi_epi16
#define LOW_4 _mm512_unpacklo_epi32
#define HIGH_4 _mm512_unpackhi_epi32
#define LOW_8 _mm512_unpacklo_epi64
#define HIGH_8 _mm512_unpackhi_epi64

#include "common/engine/simd_transpose.inc"

#define VECTOR_AT(p) load_vector(p)
#define ZERO _mm512_setzero_si512()
#define MERGE(made, v, index) _mm512_mask_permutexvar_epi8(made, _knot_mask64(_mm512_movepi8_mask(index)), index, v)
#define STREAM(p, v) _mm512_stream_si512((void *)(p), v)

#include "common/engine/simd_shuffle.inc"

#define STREAM_LINE(to, from) STREAM(to, load_vector(from))
#define PAGES 4
#define PAGE_BYTES 4096

/*
 * Long copies interleave several pages. Hardware prefetching stops at page boundaries; while it restarts on one page,
 * the loads of the others continue. The 128-bit set writes in order instead: with stores of 16 bytes, interleaved pages
 * take three to four times as long (AMD Zen 3).
 */
TARGET static void stream_lines(unsigned char *dst, const unsigned char *src, size_t lines)
{
	const size_t group = PAGES * PAGE_BYTES / BI__LINE;

	for (; lines >= group; lines -= group, dst += PAGES * PAGE_BYTES, src += PAGES * PAGE_BYTES) {
		for (size_t at = 0; at < PAGE_BYTES; at += 2 * BI__LINE) {
			UNROLL for (size_t page = 0; page < PAGES; page++)
			{
				STREAM_LINE(dst + page * PAGE_BYTES + at, src + page * PAGE_BYTES + at);
				STREAM_LINE(dst + page * PAGE_BYTES + at + BI__LINE,
					    src + page * PAGE_BYTES + at + BI__LINE);
			}
		}
	}
	for (; lines; lines--, dst += BI__LINE, src += BI__LINE)
		STREAM_LINE(dst, src);
}

/*
 * AMD Zen 5 takes 1.1 to 3.2 times as long if it streams. One processor of Intel was measured, a Xeon: it streams four
 * times as many bytes in a second as it writes with ordinary stores to rows of up to 256 bytes.
 */
static int scatters_here(void)
{
	return __builtin_cpu_is("amd") != 0;
}

const struct bi__simd bi__simd_avx512 = {
	.name = "avx512",
	.runs_here = runs_here,
	.transpose = TRANSPOSES,
	.transpose_narrow = bi__simd_v128.transpose,
	.vector = sizeof(__m512i),
	.shuffle = shuffle_periods,
	.stream = stream_lines,
	.fence = bi__simd_fence,
	.scatters_here = scatters_here,
};

#endif
