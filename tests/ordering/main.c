/*
 * ordering SPEC [SECOND_SPEC]: every row of docs/ordering.md, on one device or on two that work together.
 *
 * With one device the rows run in a context of it, and in one cl_context that two contexts adopt: arrays belong to the
 * one, streams to the other, and they share events. With two devices the rows about two contexts run between them, and
 * then both are in one cl_context.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "uses.h"

typedef int (*group_fn)(void);

static const group_fn groups[] = {
	homes_rows, operations_rows, copies_rows, exchange_rows, release_rows,
	cross_rows, failures_rows,   fork_rows,   waits_rows,    pair_rows,
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int run_groups(const char *space, unsigned needs)
{
	int failed = 0;

	bench.space = space;
	bench.needs = needs;
	fprintf(stderr, "ordering: %s\n", space);
	for (size_t i = 0; i < COUNT(groups); i++)
		failed += groups[i]() != 0;
	return failed;
}

/* A device of the library's list, as the driver's handle; NULL if it is none of OpenCL's. */
static cl_device_id device_of(const char *spec)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	cl_device_id device = NULL;

	options.device = spec;
	if (bi_context_open(&options, &context, &error) != BI_OK) {
		fprintf(stderr, "ordering: %s\n", error.message);
		exit(EXIT_FAILURE);
	}
	if (is_opencl(context))
		driver()->clGetContextInfo((cl_context)bi_context_handle(context), CL_CONTEXT_DEVICES, sizeof(device),
					   &device, NULL);
	bi_context_release(context);
	return device;
}

/* PoCL has a device that works in the calling thread; opening a gate after it was flushed would never happen there. */
static int is_asynchronous(cl_device_id device)
{
	char name[128] = "";

	driver()->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
	return strncmp(name, "basic", 5) != 0 && strncmp(name, "cpu-minimal", 11) != 0;
}

static unsigned needs_of(cl_device_id device)
{
	if (!device)
		return 0;
	return NEED_OPENCL | (is_asynchronous(device) ? NEED_GATE : 0);
}

/* The device string with which a context adopts bench.shared for that device; drivers list them in their own order. */
static const char *position_of(cl_device_id device)
{
	cl_device_id devices[2] = { NULL, NULL };

	driver()->clGetContextInfo(bench.shared, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
	return devices[1] == device ? "opencl:1" : "opencl:0";
}

static int run_shared(const char *space, const cl_device_id *devices, cl_uint count, unsigned needs)
{
	int failed;

	bench.shared = driver()->clCreateContext(NULL, count, devices, NULL, NULL, NULL);
	if (!bench.shared) {
		fprintf(stderr, "ordering: no cl_context of %s\n", space);
		return 1;
	}
	for (cl_uint i = 0; i < 2; i++)
		bench.adopt[i] = position_of(devices[i < count ? i : 0]);
	failed = run_groups(space, needs);
	driver()->clReleaseContext(bench.shared);
	bench.shared = NULL;
	return failed;
}

/* The asynchronous device first. */
static int run_pair(cl_device_id devices[2])
{
	cl_device_id first = devices[0];

	if (!devices[0] || !devices[1])
		return 0;
	if (!is_asynchronous(first)) {
		devices[0] = devices[1];
		devices[1] = first;
	}
	return run_shared("two devices in one cl_context", devices, 2, NEED_PAIR);
}

/* Every row, where nothing stands against it. */
static int check_complete(void)
{
	const unsigned all = (1u << 22) - 2;

	if (rows_seen == all || getenv("BI_TEST_FILTER"))
		return 0;
	fprintf(stderr, "ordering: rows without a test that ran (a bit each): 0x%x\n", all & ~rows_seen);
	return 1;
}

static int run_all(void)
{
	cl_device_id devices[2] = { device_of(bench.spec), NULL };
	int failed;

	if (!bench.second_spec) {
		failed = run_groups(bench.spec, needs_of(devices[0]));
		if (devices[0])
			failed +=
				run_shared("one cl_context, adopted by two contexts", devices, 1, needs_of(devices[0]));
		return failed + (needs_of(devices[0]) & NEED_GATE ? check_complete() : 0);
	}
	devices[1] = device_of(bench.second_spec);
	failed = run_groups("two devices, each in its own cl_context", needs_of(devices[0]) & needs_of(devices[1]));
	return failed + run_pair(devices);
}

/* Says which rows had a test that ran. */
static unsigned count_rows(void)
{
	unsigned count = 0;

	printf("ordering: rows");
	for (unsigned row = 1; row <= 21; row++)
		if (rows_seen & 1u << row) {
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
	bench.spec = argv[1];
	bench.second_spec = argv[2];
	accounts_open();
	failed = run_all();
	printf(": %u of 21, on %s%s%s, %.1f seconds; %lu host waits in rows that allow none\n", count_rows(),
	       bench.spec, bench.second_spec ? " and " : "", bench.second_spec ? bench.second_spec : "", now() - begin,
	       accounts_strict_waits());
	if (accounts_strict_waits())
		failed++;
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
