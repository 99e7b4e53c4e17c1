/*
 * ordering SPEC [SECOND_SPEC]: every row of docs/ordering.md, on one device or on two that work together.
 *
 * With one device the rows run in a context of it, and in one native context that two contexts adopt: arrays belong to
 * the one, streams to the other, and they share events. On CUDA they run once more with host memory that is pinned.
 * With two devices the rows about two contexts run between them, and on OpenCL both are then in one cl_context.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_driver.h"
#include "raw_driver.h"
#include "common/base/inline_limit.h"
#include "uses.h"

typedef int (*group_fn)(void);

static const group_fn groups[] = {
	homes_rows, operations_rows, copies_rows,        exchange_rows,    release_rows,
	cross_rows, failures_rows,   fork_rows,          waits_rows,       pair_rows,
	joins_rows, cai_rows,        cuda_streams_rows,  cuda_memory_rows, capture_rows,
	peers_rows, dlpack_rows,     inline_copies_rows, readers_rows,     several_rows,
};

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
	setting.name = space;
	setting.needs = needs;
	fprintf(stderr, "ordering: %s\n", space);
	for (size_t i = 0; i < ARRAY_LENGTH(groups); i++)
		failed += groups[i]() != 0;
	return failed;
}

static int run_shared(const char *space, unsigned needs)
{
	int failed;

	setting.is_shared = 1;
	failed = run_groups(space, needs);
	setting.is_shared = 0;
	return failed;
}

static int run_pinned(unsigned needs)
{
	int failed;

	setting.is_pinned = 1;
	failed = run_groups("host memory that is pinned", needs);
	setting.is_pinned = 0;
	return failed;
}

/* Does the device work on this processor's memory, so that the library copies few bytes itself? */
static int does_inline(const struct bi_context *context)
{
	return is_opencl(context) && can(context, BI_CAP_NATIVE_COPY) && can(context, BI_CAP_SVM) && bi__inline_limit();
}

/* The driver of a device, NULL for the host, and what it allows. */
static const struct raw_driver *open_driver(const char *spec, unsigned *needs)
{
	const struct bi_options options = BI_OPTIONS_INIT;
	const struct raw_driver *driver;
	struct bi_context *context;

	context = fixture_open(spec, &options);
	driver = driver_of(context);
	*needs = does_inline(context) ? NEED_INLINE : 0;
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
	const uint64_t readers = UINT64_C(1) << 38; /* row 37 has its tests in behaviour/launch */
	const uint64_t common = (UINT64_C(1) << 22) - 2 + (UINT64_C(1) << 26) + (UINT64_C(1) << 31) + dlpack + readers;
	uint64_t rows = common;

	if (needs & NEED_CUDA)
		rows = (UINT64_C(1) << 36) - 2 - (UINT64_C(1) << 30) + readers;
	/* A real driver cannot be made to fail. */
	if (needs & NEED_CUDA && !(needs & NEED_SIM))
		rows &= ~(UINT64_C(3) << 18);
	if (needs & NEED_INLINE)
		rows |= UINT64_C(1) << 36;
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

/* BI_TEST_LEAST: how many tests the devices allow at least, so that "is not for" does not spread unseen. */
static int check_least(void)
{
	const char *least = getenv("BI_TEST_LEAST");

	if (!least || getenv("BI_TEST_FILTER") || getenv("BI_TEST_SPACE") || rows_run >= (unsigned)atoi(least))
		return 0;
	fprintf(stderr, "ordering: %u tests ran, at least %s are expected\n", rows_run, least);
	return 1;
}

static int run_one(unsigned needs)
{
	int failed = run_groups(fixture.spec, needs | (needs & NEED_OPENCL ? NEED_CROSS : 0u));

	if (needs & NEED_DEVICE)
		failed += run_shared("one native context, adopted by two contexts",
				     (needs & ~(unsigned)NEED_INLINE) | (needs & NEED_OPENCL ? NEED_CROSS : 0u));
	if (needs & NEED_CUDA)
		failed += run_pinned(needs);
	return failed + check_complete(needs);
}

static int run_two(unsigned needs, unsigned second_needs, const struct raw_driver *second)
{
	unsigned both = second == setting.driver && second == &raw_cuda ? NEED_PEERS : NEED_CROSS;
	int failed;

	if (!(second_needs & NEED_GATE))
		needs &= ~(unsigned)NEED_GATE;
	if (!second_needs)
		both = 0;
	failed = run_groups("two devices, each in its own context", needs | both);
	if (second == &raw_opencl && second == setting.driver)
		failed += run_shared("two devices in one cl_context", NEED_PAIR | NEED_DEVICE | NEED_COUNTS);
	return failed;
}

static int run_all(void)
{
	const struct raw_driver *second;
	unsigned needs, second_needs;

	setting.driver = open_driver(fixture.spec, &needs);
	if (!fixture.second_spec)
		return run_one(needs);
	second = open_driver(fixture.second_spec, &second_needs);
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
	double begin = seconds_now();
	int failed;

	if (!fixture_start("ordering", argc, argv))
		return 2;
	cuda_driver_hold(fixture.spec);
	failed = run_all() + check_least();
	printf(": %u of %d in %u tests, on %s%s%s, %.1f seconds; %lu host waits in rows that allow none (%lu in all, "
	       "%s)\n",
	       count_rows(), ROWS, rows_run, fixture.spec, fixture.second_spec ? " and " : "",
	       fixture.second_spec ? fixture.second_spec : "", seconds_now() - begin, accounts_strict_waits(),
	       accounts_compared_waits(), is_counted() ? "seen by the driver" : "as reported; no driver counts");
	if (accounts_strict_waits())
		failed++;
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
