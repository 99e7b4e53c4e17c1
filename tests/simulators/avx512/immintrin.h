/*
 * The AVX-512 instructions that src/common/engine/simd_avx512.c uses, in C, so that its code runs in the tests on every
 * x86-64 processor. The tests find this file before the compiler's own immintrin.h. The results are those of Intel's
 * Intrinsics Guide; a misaligned address of a non-temporal store ends the program. simd_avx512.c is compiled without
 * AVX-512 then, and every processor counts as one that has it.
 */
#ifndef BI_TESTS_AVX512_H
#define BI_TESTS_AVX512_H

#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

#define target(...) unused
#define __builtin_cpu_supports(name) 1

#define LANES_IN_VECTOR 4
#define LANE 16 /* bytes */

struct simulated_vector {
	uint8_t byte[LANES_IN_VECTOR * LANE];
};

#define __m512i struct simulated_vector
#define __mmask64 uint64_t

static inline __m512i _mm512_loadu_si512(const void *p)
{
	__m512i v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void _mm512_storeu_si512(void *p, __m512i v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void _mm512_stream_si512(void *p, __m512i v)
{
	if ((uintptr_t)p % sizeof(v))
		__builtin_trap();
	memcpy(p, &v, sizeof(v));
}

static inline __m512i _mm512_setzero_si512(void)
{
	return (__m512i){ { 0 } };
}

/* The instruction leaves the other lanes undefined; here they have a fixed value. */
static inline __m512i _mm512_castsi128_si512(__m128i lane)
{
	__m512i v;

	memset(&v, 0xcc, sizeof(v));
	memcpy(&v, &lane, sizeof(lane));
	return v;
}

static inline __m512i _mm512_broadcast_i32x4(__m128i lane)
{
	__m512i v;

	for (int i = 0; i < LANES_IN_VECTOR; i++)
		memcpy(v.byte + i * LANE, &lane, sizeof(lane));
	return v;
}

static inline __m512i _mm512_mask_broadcast_i32x4(__m512i v, uint16_t mask, __m128i lane)
{
	const __m512i all = _mm512_broadcast_i32x4(lane);

	for (int i = 0; i < 16; i++)
		if (mask >> i & 1)
			memcpy(v.byte + i * 4, all.byte + i * 4, 4);
	return v;
}

/* Moves bytes in each lane. */
static inline __m512i _mm512_shuffle_epi8(__m512i from, __m512i index)
{
	__m512i v;

	for (int i = 0; i < (int)sizeof(v); i++)
		v.byte[i] = index.byte[i] & 0x80 ? 0 : from.byte[i / LANE * LANE + index.byte[i] % LANE];
	return v;
}

static inline __m512i _mm512_setr_epi32(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k,
					int l, int m, int n, int o, int p)
{
	const int32_t words[] = { a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p };

	return _mm512_loadu_si512(words);
}

static inline __m512i _mm512_permutexvar_epi32(__m512i index, __m512i from)
{
	__m512i v;

	for (int i = 0; i < 16; i++)
		memcpy(v.byte + i * 4, from.byte + index.byte[i * 4] % 16 * 4, 4);
	return v;
}

static inline __m512i _mm512_mask_permutexvar_epi8(__m512i v, __mmask64 mask, __m512i index, __m512i from)
{
	for (int i = 0; i < (int)sizeof(v); i++)
		if (mask >> i & 1)
			v.byte[i] = from.byte[index.byte[i] % sizeof(v)];
	return v;
}

static inline __mmask64 _mm512_movepi8_mask(__m512i v)
{
	__mmask64 mask = 0;

	for (int i = 0; i < (int)sizeof(v); i++)
		mask |= (__mmask64)(v.byte[i] >> 7) << i;
	return mask;
}

static inline __mmask64 _knot_mask64(__mmask64 mask)
{
	return ~mask;
}

/* Interleaves the elements of `size` bytes of the low or the high halves of each lane. */
static inline __m512i interleave(__m512i a, __m512i b, int size, int is_high)
{
	__m512i v;
	uint8_t *to = v.byte;

	for (int lane = 0; lane < LANES_IN_VECTOR; lane++)
		for (int i = 0; i < LANE / 2; i += size, to += 2 * size) {
			const int at = lane * LANE + is_high * LANE / 2 + i;

			memcpy(to, a.byte + at, (size_t)size);
			memcpy(to + size, b.byte + at, (size_t)size);
		}
	return v;
}

#define _mm512_unpacklo_epi8(a, b) interleave(a, b, 1, 0)
#define _mm512_unpackhi_epi8(a, b) interleave(a, b, 1, 1)
#define _mm512_unpacklo_epi16(a, b) interleave(a, b, 2, 0)
#define _mm512_unpackhi_epi16(a, b) interleave(a, b, 2, 1)
#define _mm512_unpacklo_epi32(a, b) interleave(a, b, 4, 0)
#define _mm512_unpackhi_epi32(a, b) interleave(a, b, 4, 1)
#define _mm512_unpacklo_epi64(a, b) interleave(a, b, 8, 0)
#define _mm512_unpackhi_epi64(a, b) interleave(a, b, 8, 1)

#endif
