/* Compares one part of the copy engine with a copy by index arithmetic. */
#ifndef BI_TESTS_SUPPORT_ENGINE_PART_H
#define BI_TESTS_SUPPORT_ENGINE_PART_H

#include "common/engine/parts.h"
#include "oracle.h"

typedef void (*engine_part_fn)(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src);

#define ENGINE_BYTES ((size_t)1 << 20)

static inline void assert_inside(const struct bi_layout *layout)
{
	int64_t first, end;

	bi_layout_extent(layout, &first, &end);
	assert_true(first >= 0 && end <= (int64_t)ENGINE_BYTES);
}

/*
 * Checks that the plan is of this kind, and that `fn` copies as naive_copy does. Copies with every instruction set that
 * runs here, without non-temporal stores and, if the set has them, with them.
 */
static inline void check_engine_part(engine_part_fn fn, enum bi_plan_kind kind, const struct bi_layout *to,
				     const struct bi_layout *from)
{
	static unsigned char *dst, *src, *expected;
	struct bi__plan plan;

	assert_inside(to);
	assert_inside(from);
	if (!dst) {
		/* Aligned, so that the same cases are streamed in every run. */
		dst = aligned_alloc(4096, ENGINE_BYTES);
		src = aligned_alloc(4096, ENGINE_BYTES);
		expected = aligned_alloc(4096, ENGINE_BYTES);
	}
	assert_true(dst && src && expected);
	for (size_t i = 0; i < ENGINE_BYTES; i++)
		src[i] = (unsigned char)(i * 7 + i / 251);
	memset(expected, 0xa5, ENGINE_BYTES);
	naive_copy(expected, to, src, from);
	bi__plan_make(&plan, to, from);
	assert_int_equal(plan.kind, kind);
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++)
		for (int streams = 0; streams <= ((*simd)->stream != NULL); streams++) {
			const struct bi__engine_part part = { &plan, *simd, streams, ENGINE_BYTES };

			if (!(*simd)->runs_here())
				continue;
			memset(dst, 0xa5, ENGINE_BYTES);
			fn(&part, dst + plan.dst_offset, src + plan.src_offset);
			if (memcmp(dst, expected, ENGINE_BYTES))
				fail_msg("%s, streams %d: to %s from %s", (*simd)->name, streams, layout_text(to),
					 layout_text(from));
		}
}

/* Returns a layout whose element [0, ..., 0] is at `offset`. */
static inline struct bi_layout layout_at(const char *type, int64_t offset, int ndim, const int64_t *shape,
					 const int64_t *strides)
{
	struct bi_layout layout;

	OK(bi_layout_init(&layout, dtype_of(type), ndim, shape, strides, offset, &error));
	return layout;
}

#endif
