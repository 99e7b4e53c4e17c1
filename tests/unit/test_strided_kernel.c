/* The strided copy kernel as plain C, one work-item after another, against explicit index arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernels/strided.h"
#include "unit/random.h"

/* Before the words of OpenCL C become C. */
static const char source_text[] = BI__STRIDED_SOURCE;

#define kernel static
#define global
#define get_global_id(dimension) work_item

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef uint64_t ulong;

static size_t work_item;

BI__STRIDED_UNITS(BI__STRIDED_KERNEL)

#define UNITS 4096

static union {
	uchar u1[UNITS];
	ushort u2[UNITS];
	uint u4[UNITS];
	ulong u8[UNITS];
} source, actual, expected;

/* Every work-item of the groups that a launch has, those behind the last unit too. */
#define RUN(size, type) \
	static void run_##size(const struct bi__nest *nest) \
	{ \
		size_t groups = ((size_t)nest->count + BI__NEST_GROUP - 1) / BI__NEST_GROUP; \
		for (work_item = 0; work_item < groups * BI__NEST_GROUP; work_item++) \
			bi__strided_##size(actual.u##size, source.u##size, *nest); \
	}
BI__STRIDED_UNITS(RUN)

static const struct {
	size_t size;
	void (*run)(const struct bi__nest *nest);
} kernels[] = {
#define KERNEL(size, type) { size, run_##size },
	BI__STRIDED_UNITS(KERNEL)
};

/* Axes from the innermost to the outermost; the destination has gaps, the source runs in any direction or repeats. */
static void random_nest(struct bi__nest *nest, struct test_random *random)
{
	int64_t step = 1;

	*nest = (struct bi__nest){ .count = 1, .dst = 3, .src = UNITS / 2, .ndim = test_between(random, 1, 4) };
	for (int i = 0; i < nest->ndim; i++) {
		nest->shape[i] = test_between(random, 1, 6);
		nest->dst_steps[i] = step + test_between(random, 0, 1);
		nest->src_steps[i] = test_between(random, -90, 90);
		nest->count *= nest->shape[i];
		step = nest->dst_steps[i] * nest->shape[i];
	}
}

static void naive(const struct bi__nest *nest, int64_t axis, int64_t to, int64_t from, size_t size)
{
	if (axis < 0) {
		memcpy((char *)&expected + (size_t)to * size, (const char *)&source + (size_t)from * size, size);
		return;
	}
	for (int64_t i = 0; i < nest->shape[axis]; i++)
		naive(nest, axis - 1, to + i * nest->dst_steps[axis], from + i * nest->src_steps[axis], size);
}

static void test_kernels(void **unused)
{
	struct test_random random = { test_seed() };

	(void)unused;
	for (size_t i = 0; i < UNITS; i++)
		source.u8[i] = test_next(&random);
	for (int round = 0; round < 400; round++) {
		size_t k = (size_t)round % (sizeof(kernels) / sizeof(*kernels));
		struct bi__nest nest;

		random_nest(&nest, &random);
		memset(&actual, 0xee, sizeof(actual));
		memset(&expected, 0xee, sizeof(expected));
		naive(&nest, nest.ndim - 1, nest.dst, nest.src, kernels[k].size);
		kernels[k].run(&nest);
		assert_memory_equal(&actual, &expected, sizeof(actual));
	}
}

/* A string literal that every compiler takes. */
static void test_text_is_short(void **unused)
{
	(void)unused;
	assert_true(sizeof(source_text) < 4095);
	assert_non_null(strstr(source_text, "kernel void bi__strided_8(global ulong *dst"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_text_is_short),
	};

	return cmocka_run_group_tests_name("strided kernel", tests, NULL, NULL);
}
