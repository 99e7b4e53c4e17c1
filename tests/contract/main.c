/*
 * contract SPEC [SECOND_SPEC]: everything that the header promises, on one device.
 *
 * The groups that move data run on a plain context, on one opened with the debug option, and on OpenCL also on an
 * adopted cl_context, each time on a share of the random cases. BI_TEST_SEED repeats a run.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driver.h"
#include "fixture.h"

typedef int (*group_fn)(void);

static const group_fn data_groups[] = { copy_group, fill_group, elements_group, views_group, map_group };

static const group_fn object_groups[] = {
	tables_group, objects_group, foreign_group, pool_group, report_group, errors_group, threads_group, fork_group,
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct bi_context *start(const char *spec, const struct bi_options *options)
{
	struct bi_options with_spec = *options;
	struct bi_context *context;

	with_spec.device = spec;
	if (bi_context_open(&with_spec, &context, &error) == BI_OK)
		return context;
	fprintf(stderr, "contract: %s\n", error.message);
	exit(EXIT_FAILURE);
}

static struct bi_context *start_plain(const char *spec)
{
	const struct bi_options options = BI_OPTIONS_INIT;

	return start(spec, &options);
}

static int run(const group_fn *groups, size_t count)
{
	int failed = 0;

	for (size_t i = 0; i < count; i++)
		failed += groups[i]() != 0;
	return failed;
}

#define RUN(groups) run(groups, sizeof(groups) / sizeof(*(groups)))

/* The data groups on another context of the same device; takes the context. */
static int run_on(struct bi_context *context, const char *kind, int share)
{
	struct bi_context *plain = fixture.context;
	int failed;

	fprintf(stderr, "contract: on a context that is %s\n", kind);
	fixture.context = context;
	fixture.share = share;
	failed = RUN(data_groups);
	fixture.context = plain;
	fixture.share = 100;
	bi_context_release(context);
	return failed;
}

static struct bi_context *adopted(void)
{
	struct bi_options options = BI_OPTIONS_INIT;
	cl_context handle = driver_new_context(fixture.context);
	struct bi_context *context;

	options.adopt_context = (uintptr_t)handle;
	context = start("opencl", &options);
	driver()->clReleaseContext(handle);
	return context;
}

static struct bi_context *debugging(void)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.debug = 1;
	return start(fixture.spec, &options);
}

static int run_all(void)
{
	int failed;

	fixture.share = 100;
	failed = RUN(object_groups);
	failed += RUN(data_groups);
	failed += run_on(debugging(), "debugged", 10);
	if (is_opencl(fixture.context))
		failed += run_on(adopted(), "adopted", 30);
	return failed;
}

int main(int argc, char **argv)
{
	double begin = now();
	int failed;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: contract SPEC [SECOND_SPEC]\n");
		return 2;
	}
	cmocka_set_test_filter(getenv("BI_TEST_FILTER"));
	fixture.random.state = test_seed();
	fixture.spec = argv[1];
	fixture.second_spec = argv[2];
	fixture.context = start_plain(fixture.spec);
	fixture.second = fixture.second_spec ? start_plain(fixture.second_spec) : NULL;
	fixture.host = start_plain("host");
	failed = run_all();
	bi_context_release(fixture.host);
	bi_context_release(fixture.second);
	printf("contract: %lu cases, %.1f seconds, device %s (%s)\n", fixture.cases, now() - begin,
	       bi_context_device(fixture.context)->spec, bi_context_device(fixture.context)->name);
	bi_context_release(fixture.context);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
