/* The writer of non-temporal stores: runs that begin and end anywhere, put together in any portions. */
#include "unit.h"

#include "common/engine/writer.h"

#define SIZE 32768

static _Alignas(BI__LINE) unsigned char to[SIZE], expected[SIZE], from[SIZE];

/* Adds `bytes` more of the source in portions of any size, by either call. */
static void write_portions(struct bi__writer *writer, struct test_random *random, const unsigned char *src,
			   size_t bytes)
{
	while (bytes) {
		size_t part = (size_t)test_between(random, 1, (int64_t)(bytes < 700 ? bytes : 700));

		if (test_between(random, 0, 1)) {
			bi__writer_put(writer, src, part);
		} else {
			memcpy(bi__writer_space(writer), src, part);
			bi__writer_added(writer, part);
		}
		src += part;
		bytes -= part;
	}
}

static void check_runs(const struct bi__simd *simd, struct test_random *random)
{
	struct bi__writer writer;
	size_t at = (size_t)test_between(random, 0, 200);

	memset(to, 0xa5, sizeof(to));
	memset(expected, 0xa5, sizeof(expected));
	bi__writer_init(&writer, simd);
	while (at < SIZE - 5000) {
		size_t bytes = (size_t)test_between(random, 1, 4000);

		bi__writer_seek(&writer, to + at);
		write_portions(&writer, random, from + at, bytes);
		memcpy(expected + at, from + at, bytes);
		/* The next run continues this one, or leaves a gap. */
		at += bytes + (size_t)(test_between(random, 0, 2) ? test_between(random, 1, 150) : 0);
	}
	bi__writer_finish(&writer);
	assert_memory_equal(to, expected, sizeof(to));
}

static void runs_arrive_and_nothing_between_them(void **state)
{
	struct test_random random = { test_seed() };

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)test_next(&random);
	for (const struct bi__simd *const *simd = bi__simd_all(); *simd; simd++)
		for (int i = 0; i < 200 && (*simd)->runs_here() && (*simd)->stream; i++)
			check_runs(*simd, &random);
}

static void the_caller_may_write_lines_itself(void **state)
{
	const struct bi__simd *simd = bi__simd_best();
	struct bi__writer writer;

	(void)state;
	if (!simd->stream) {
		print_message("no instruction set has non-temporal stores here\n");
		skip();
	}
	memset(to, 0xa5, sizeof(to));
	bi__writer_init(&writer, simd);
	bi__writer_seek(&writer, to + BI__LINE);
	assert_ptr_equal(writer.line, to + BI__LINE);
	memcpy(writer.line, from, 2 * BI__LINE);
	writer.line += 2 * BI__LINE;
	bi__writer_put(&writer, from + 2 * BI__LINE, 10);
	bi__writer_finish(&writer);
	assert_memory_equal(to + BI__LINE, from, 2 * BI__LINE + 10);
	assert_int_equal(to[3 * BI__LINE + 10], 0xa5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_arrive_and_nothing_between_them),
		cmocka_unit_test(the_caller_may_write_lines_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
