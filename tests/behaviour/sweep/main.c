/*
 * sweep: complete uses of the library on CUDA, each in a run of its own of the simulated driver.
 *
 *     sweep plain FIRST COUNT [SCENARIO]    under the schedules of so many seeds; also on a real driver (once)
 *     sweep faults [SCENARIO]               every call of the driver fails once, with several codes
 *     sweep drops [SCENARIO]                every wait of a stream is forgotten once
 *     sweep cold                            the same for the first calls of a process
 *     sweep one SCENARIO SEED FAIL CODE DROP    one run, with all that is to be said of it
 *
 * Scenarios that need OpenCL run only by name. Exits with 1 if anything was not as it should be.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cold.h"
#include "run.h"

static const struct scenario scenarios[] = {
#define SCENARIO_ENTRY(name, need) { #name, NEEDS_##need, name },
	SCENARIOS(SCENARIO_ENTRY)
#undef SCENARIO_ENTRY
};

enum mode { PLAIN, FAULTS, DROPS };

struct work {
	enum mode mode;
	uint64_t first, count; /* seeds, of plain */
	const char *only; /* scenario, or NULL */
};

static int usage(void)
{
	fprintf(stderr, "usage: sweep plain FIRST COUNT [SCENARIO]\n"
			"       sweep faults|drops [SCENARIO]\n"
			"       sweep cold\n"
			"       sweep one SCENARIO SEED FAIL CODE DROP\n"
			"scenarios:");
	for (size_t i = 0; i < ARRAY_LENGTH(scenarios); i++)
		fprintf(stderr, " %s", scenarios[i].name);
	fprintf(stderr, "\n");
	return 2;
}

static const struct scenario *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(scenarios); i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}

static int device_count(void)
{
	int count = 0;

	if (cuda_sim())
		return 2;
	cuda_driver()->DeviceGetCount(&count);
	return count;
}

static int is_wanted(const struct scenario *scenario, const struct work *work)
{
	if (work->only)
		return strcmp(scenario->name, work->only) == 0;
	if (scenario->need == NEEDS_TWO_DEVICES && device_count() < 2) {
		printf("%s: not run: it needs two CUDA devices\n", scenario->name);
		return 0;
	}
	if (scenario->need == NEEDS_TIME)
		return work->mode == DROPS || !cuda_sim();
	return scenario->need != NEEDS_OPENCL;
}

static void do_scenario(const struct scenario *scenario, const struct work *work, struct totals *all)
{
	struct totals totals = { 0, 0, 0, 0 };

	printf("[ RUN      ] %s\n", scenario->name);
	if (work->mode == PLAIN)
		plain_mode(scenario, work->first, work->count, &totals);
	else if (work->mode == FAULTS)
		faults_mode(scenario, &totals);
	else
		drops_mode(scenario, &totals);
	printf("%s: %lu runs, %lu calls, %lu waits, %lu failures\n", scenario->name, totals.runs, totals.calls,
	       totals.waits, totals.failures);
	all->runs += totals.runs;
	all->calls += totals.calls;
	all->waits += totals.waits;
	all->failures += totals.failures;
}

/* BI_TEST_FIRST=12: goes on behind the first 12 (tests/gpu/run). */
static int do_all(const struct work *work)
{
	const char *first = getenv("BI_TEST_FIRST");
	struct totals all = { 0, 0, 0, 0 };
	int count = first ? -atoi(first) : 0;

	for (size_t i = 0; i < ARRAY_LENGTH(scenarios); i++)
		if (is_wanted(&scenarios[i], work) && ++count > 0)
			do_scenario(&scenarios[i], work, &all);
	printf("sweep: %d scenarios, %lu runs, %lu calls, %lu waits, %lu failures, on %s driver\n", count, all.runs,
	       all.calls, all.waits, all.failures, cuda_sim() ? "the simulated" : "a real");
	return all.failures || count <= 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int do_one(char **arguments)
{
	const struct scenario *scenario = find(arguments[0]);
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;
	struct outcome outcome;

	if (!scenario)
		return usage();
	options.seed = strtoull(arguments[1], NULL, 0);
	options.fail_call = strtoull(arguments[2], NULL, 0);
	options.fail_code = atoi(arguments[3]);
	options.drop_wait = strtoull(arguments[4], NULL, 0);
	run(scenario, &options, &outcome);
	describe(scenario, &options, &outcome);
	printf("    %" PRIu64 " calls, %" PRIu64 " waits, %" PRIu64 " reports\n", outcome.counts.calls,
	       outcome.counts.waits, outcome.reports);
	return EXIT_SUCCESS;
}

/* The library opens the driver once in a process, and what it finds then stays: no run begins with that. */
static void warm_up(void)
{
	int count;

	cuda_driver_hold("cuda");
	bi_devices(NULL, 0, &count, NULL);
}

static int needs_simulator(void)
{
	if (cuda_sim())
		return 0;
	fprintf(stderr, "sweep: this needs the simulated driver (BI_CUDA_LIBRARY)\n");
	return 1;
}

static int read_work(int argc, char **argv, struct work *work)
{
	int used = 2;

	memset(work, 0, sizeof(*work));
	if (strcmp(argv[1], "plain") == 0 && argc >= 4) {
		work->first = strtoull(argv[2], NULL, 0);
		work->count = strtoull(argv[3], NULL, 0);
		used = 4;
	} else if (strcmp(argv[1], "faults") == 0) {
		work->mode = FAULTS;
	} else if (strcmp(argv[1], "drops") == 0) {
		work->mode = DROPS;
	} else {
		return 0;
	}
	work->only = argc > used ? argv[used] : NULL;
	return argc <= used + 1 && (!work->only || find(work->only));
}

int main(int argc, char **argv)
{
	struct work work;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "cold-one") == 0)
		return cold_one();
	if (argc == 2 && strcmp(argv[1], "cold") == 0)
		return needs_simulator() || cold_mode(argv[0]) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (argc == 7 && strcmp(argv[1], "one") == 0) {
		warm_up();
		return needs_simulator() ? EXIT_FAILURE : do_one(argv + 2);
	}
	if (argc < 2 || !read_work(argc, argv, &work))
		return usage();
	warm_up();
	if (work.mode != PLAIN && needs_simulator())
		return EXIT_FAILURE;
	return do_all(&work);
}
