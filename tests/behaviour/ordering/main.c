/*
 * ordering SPEC [SECOND_SPEC]: every row of docs/ordering.md, on one device or on two that work together.
 *
 * With one device the rows run in a context of it, and in one native context that two contexts adopt: arrays belong to
 * the one, streams to the other, and they share events. On CUDA they run once more with host memory that is pinned.
 * With two devices the rows about two contexts run between them, and on OpenCL both are then in one cl_context.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench_driver.h"
#include "common/base/inline_limit.h"
#include "uses.h"

typedef int (*group_fn)(void);

static const group_fn groups[] = {
	homes_rows,        operations_rows,  copies_rows,  exchange_rows, release_rows, cross_rows,
	failures_rows,     fork_rows,        waits_rows,   pair_rows,     joins_rows,   cai_rows,
	cuda_streams_rows, cuda_memory_rows, capture_rows, peers_rows,    dlpack_rows,  at_once_rows,
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* BI_TEST_SPACE=2: the second of the spaces alone. */
static int is_wanted_space(void)
{
	static int number;
	const char *wanted = getenv("BI_TEST_SPACE");

	number++;
	return !wanted || atoi(wanted) == number;
}

static int run_groups(const char *space, unsigned needs)
{
	int failed = 0;

	if (!is_wanted_space())
		return 0;
	bench.space = space;
	bench.needs = needs;
	fprintf(stderr, "ordering: %s\n", space);
	for (size_t i = 0; i < COUNT(groups); i++)
		failed += groups[i]() != 0;
	return failed;
}

static int run_shared(const char *space, unsigned needs)
{
	int failed;

	bench.is_shared = 1;
	failed = run_groups(space, needs);
	bench.is_shared = 0;
	return failed;
}

static int run_pinned(unsigned needs)
{
	int failed;

	bench.is_pinned = 1;
	failed = run_groups("host memory that is pinned", needs);
	bench.is_pinned = 0;
	return failed;
}

/* Does the device work on this processor's memory, so that the library copies few bytes itself? */
static int is_near(const struct bi_context *context)
{
	return is_opencl(context) && can(context, BI_CAP_NATIVE_COPY) && can(context, BI_CAP_SVM) &&
	       bi__inline_limit();
}

/* The driver of a device, NULL for the host, and what it allows. */
static const struct bench_driver *open_driver(const char *spec, unsigned *needs)
{
	struct bi_options options = BI_OPTIONS_INIT;
	const struct bench_driver *driver;
	struct bi_context *context;

	options.device = spec;
	if (bi_context_open(&options, &context, &error) != BI_OK) {
		fprintf(stderr, "ordering: %s\n", error.message);
		exit(EXIT_FAILURE);
	}
	driver = driver_of(context);
	*needs = is_near(context) ? NEED_NEAR : 0;
	bi_context_release(context);
	*needs |= driver ? driver->open(spec) : 0;
	if (driver)
		add_driver(driver);
	return driver;
}

/* Bit n: row n has a test for this device where nothing stands against it. */
static uint64_t all_rows(unsigned needs)
{
	const uint64_t dlpack = UINT64_C(15) << 32;
	const uint64_t common = (UINT64_C(1) << 22) - 2 + (UINT64_C(1) << 26) + (UINT64_C(1) << 31) + dlpack;
	uint64_t rows = common;

	if (needs & NEED_CUDA)
		rows = (UINT64_C(1) << ROWS) - 2 - (UINT64_C(1) << 30);
	if (needs & NEED_CUDA && !(needs & NEED_SIM))
		rows &= ~(UINT64_C(1) << 18);
	if (needs & NEED_NEAR)
		rows |= UINT64_C(1) << ROWS;
	return rows;
}

static int check_complete(unsigned needs)
{
	uint64_t missing = all_rows(needs) & ~rows_seen;

	if (!(needs & NEED_GATE) || getenv("BI_TEST_FILTER") || getenv("BI_TEST_SPACE") || !missing)
		return 0;
	fprintf(stderr, "ordering: rows without a test that ran (a bit each): 0x%llx\n", (unsigned long long)missing);
	return 1;
}

static int run_one(unsigned needs)
{
	int failed = run_groups(bench.spec, needs | (needs & NEED_OPENCL ? NEED_CROSS : 0u));

	if (needs & NEED_DEVICE)
		failed += run_shared("one native context, adopted by two contexts",
				     (needs & ~(unsigned)NEED_NEAR) | (needs & NEED_OPENCL ? NEED_CROSS : 0u));
	if (needs & NEED_CUDA)
		failed += run_pinned(needs);
	return failed + check_complete(needs);
}

static int run_two(unsigned needs, unsigned second_needs, const struct bench_driver *second)
{
	unsigned both = second == bench.driver && second == &cuda_bench ? NEED_PEERS : NEED_CROSS;
	int failed;

	if (!(second_needs & NEED_GATE))
		needs &= ~(unsigned)NEED_GATE;
	if (!second_needs)
		both = 0;
	failed = run_groups("two devices, each in its own context", needs | both);
	if (second == &opencl_bench && second == bench.driver)
		failed += run_shared("two devices in one cl_context", NEED_PAIR | NEED_DEVICE | NEED_COUNTS);
	return failed;
}

static int run_all(void)
{
	const struct bench_driver *second;
	unsigned needs, second_needs;

	bench.driver = open_driver(bench.spec, &needs);
	if (!bench.second_spec)
		return run_one(needs);
	second = open_driver(bench.second_spec, &second_needs);
	return run_two(needs, second_needs, second);
}

/* Says which rows had a test that ran. */
static unsigned count_rows(void)
{
	unsigned count = 0;

	printf("ordering: rows");
	for (unsigned row = 1; row <= ROWS; row++)
		if (rows_seen & UINT64_C(1) << row) {
			printf(" %u", row);
			count++;
		}
	return count;
}

int main(int argc, char **argv)
{
	double begin = now();
	int failed;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: ordering SPEC [SECOND_SPEC]\n");
		return 2;
	}
	cmocka_set_test_filter(getenv("BI_TEST_FILTER"));
	cmocka_set_skip_filter(getenv("BI_TEST_SKIP"));
	bench.spec = argv[1];
	bench.second_spec = argv[2];
	failed = run_all();
	printf(": %u of %d, on %s%s%s, %.1f seconds; %lu host waits in rows that allow none (%lu in all, %s)\n",
	       count_rows(), ROWS, bench.spec, bench.second_spec ? " and " : "",
	       bench.second_spec ? bench.second_spec : "", now() - begin, accounts_strict_waits(),
	       accounts_compared_waits(), is_counted() ? "seen by the driver" : "as reported; no driver counts");
	if (accounts_strict_waits())
		failed++;
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
