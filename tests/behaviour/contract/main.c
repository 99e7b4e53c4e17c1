/*
 * contract SPEC [SECOND_SPEC]: everything that the header promises, on one device.
 *
 * The groups that move data run on a plain context, on one opened with the debug option and on an adopted native
 * context, each time on a share of the random cases.
 *
 * BI_TEST_SEED repeats a run, BI_TEST_EFFORT is the percentage of the random cases that it does, BI_TEST_GROUPS names
 * the groups to run ("copy,fill"), BI_TEST_FILTER is a pattern for tests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda/types.h"
#include "cuda_driver.h"
#include "driver.h"
#include "contract.h"

struct group {
	const char *name;
	int (*run)(void);
};

static const struct group data_groups[] = {
	{ "copy", copy_group },   { "plans", plans_group }, { "fill", fill_group },   { "elements", elements_group },
	{ "views", views_group }, { "map", map_group },     { "peers", peers_group }, { "npy", npy_group },
};

static const struct group object_groups[] = {
	{ "tables", tables_group },
	{ "objects", objects_group },
	{ "conveniences", conveniences_group },
	{ "uses", uses_group },
	{ "foreign", foreign_group },
	{ "describe", describe_group },
	{ "foreign_opencl", foreign_opencl_group },
	{ "foreign_cuda", foreign_cuda_group },
	{ "pool", pool_group },
	{ "report", report_group },
	{ "errors", errors_group },
	{ "threads", threads_group },
	{ "failures", failures_group },
	{ "transfers", transfers_group },
	{ "fork", fork_group },
};

static struct bi_context *start_plain(const char *spec)
{
	const struct bi_options options = BI_OPTIONS_INIT;

	return fixture_open(spec, &options);
}

/* Is the name in the list of names, separated by commas, that BI_TEST_GROUPS is? Without a list all are. */
static int is_wanted(const char *name)
{
	const char *list = getenv("BI_TEST_GROUPS");
	size_t length = strlen(name);

	if (!list || !*list)
		return 1;
	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (strncmp(list, name, length) == 0 && (!list[length] || list[length] == ','))
			return 1;
	}
	return 0;
}

static int run(const struct group *groups, size_t count)
{
	int failed = 0;

	for (size_t i = 0; i < count; i++)
		if (is_wanted(groups[i].name))
			failed += groups[i].run() != 0;
	return failed;
}

#define RUN(groups) run(groups, ARRAY_LENGTH(groups))

/* The data groups on another context of the same device; takes the context. */
static int run_on(struct bi_context *context, const char *kind, int percent)
{
	struct bi_context *plain = fixture.context;
	int failed;

	fprintf(stderr, "contract: on a context that is %s\n", kind);
	fixture.context = context;
	share.context = percent;
	failed = RUN(data_groups);
	fixture.context = plain;
	share.context = 100;
	bi_context_release(context);
	return failed;
}

static struct bi_context *debugging(void)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.debug = 1;
	return fixture_open(fixture.spec, &options);
}

/* CUDA's legacy default stream, which the driver orders with others in ways of its own, as the context stream. */
static struct bi_context *on_legacy_stream(void)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.adopt_context = bi_context_handle(fixture.context);
	options.adopt_stream = (uintptr_t)BI__CU_STREAM_LEGACY;
	return fixture_open("cuda", &options);
}

static int run_all(void)
{
	int failed;

	failed = RUN(object_groups);
	failed += RUN(data_groups);
	failed += run_on(debugging(), "debugged", 10);
	if (is_device(fixture.context))
		failed += run_on(open_apart(), "adopted", 30);
	if (is_cuda(fixture.context))
		failed += run_on(on_legacy_stream(), "on the legacy default stream", 10);
	return failed;
}

/* When nothing is open any more: what the drivers have to say. Returns whether it is nothing. */
static int end_run(const struct outside *first, const struct outside *second)
{
	unsigned long complaints = first && first->end_run ? first->end_run() : 0;

	if (second && second != first && second->end_run)
		complaints += second->end_run();
	return complaints == 0;
}

int main(int argc, char **argv)
{
	double begin = seconds_now();
	const struct outside *first, *second;
	int failed;

	if (!fixture_start("contract", argc, argv))
		return 2;
	cuda_driver_hold(fixture.spec);
	share.context = 100;
	share.effort = test_effort();
	oracle_cpu_access = cpu_accesses;
	fixture.context = start_plain(fixture.spec);
	fixture.second = fixture.second_spec ? start_plain(fixture.second_spec) : NULL;
	fixture.host = start_plain("host");
	first = outside_of(fixture.context);
	second = fixture.second ? outside_of(fixture.second) : NULL;
	failed = run_all();
	bi_context_release(fixture.host);
	bi_context_release(fixture.second);
	printf("contract: %lu cases, %.1f seconds, device %s (%s)\n", fixture.cases, seconds_now() - begin,
	       bi_context_device(fixture.context)->spec, bi_context_device(fixture.context)->name);
	bi_context_release(fixture.context);
	return !end_run(first, second) || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
