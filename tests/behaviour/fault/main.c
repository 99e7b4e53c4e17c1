/*
 * The fault suite: every allocation of a scenario fails, every call of the driver fails, every option is at its limits.
 *
 *     fault allocations DEVICE [SCENARIO]   the n-th allocation fails, for every n, once and from n on
 *     fault cold DEVICE                     the same where it is the first use of the library in a process
 *     fault calls DEVICE [SCENARIO]         the n-th call of each OpenCL function fails, with one of several codes
 *     fault gone DEVICE [SCENARIO]          from the n-th call on every call of the driver fails: it has disappeared
 *     fault memory DEVICE                   the memory of the device is exhausted, and there is some again
 *     fault options DEVICE                  every option at its limits and beside them
 *     fault list                            the names of the scenarios
 *
 * `calls` takes the codes in turn; with BI_TEST_ALL_CODES, each call fails with each. With BI_TEST_EVERY=K, `calls` makes
 * only each K-th call of a function fail, and the driver is `gone` from each K-th call on.
 *
 * After each failure: the status is one that the header documents and has a message; a call that reports success gave
 * the right bytes; every release callback whose ownership was transferred was called once; nothing is leaked; and the
 * same scenario succeeds when nothing fails any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocations.h"
#include "driver_gone.h"
#include "every.h"
#include "exhausted.h"
#include "opencl_layer/layer.h"
#include "scenarios.h"
#include "options.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(*(array)))
/* Failures of one kind beyond these are counted and not described. */
#define MOST_DESCRIBED 20
/* A run that takes longer hangs. */
#define SECONDS_PER_RUN 120

static const struct scenario {
	const char *name;
	scenario_fn *run;
} scenarios[] = {
#define SCENARIO_ENTRY(name) { #name, scenario_##name },
	SCENARIOS(SCENARIO_ENTRY)
#undef SCENARIO_ENTRY
};

struct totals {
	unsigned long runs, failures;
};

/* One run of a scenario from its start to the release of all that it made. */
struct outcome {
	int rc;
	struct bi_error err;
	char wrong[200];
	int callbacks; /* missing (< 0) or surplus (> 0) release callbacks */
	long leaked; /* blocks */
};

/* `waits`: counts the blocks that are left, after a while for threads of the driver. */
static void run_scenario_and(int waits, const struct scenario *scenario, const char *device, struct outcome *outcome)
{
	struct scenario_state state = { .device = device, .err = &outcome->err };
	long before = allocations_alive();

	memset(outcome, 0, sizeof(*outcome));
	scenario->run(&state);
	while (state.count > 0) {
		state.count--;
		state.objects[state.count].release(state.objects[state.count].object);
	}
	bi_context_release(state.context);
	outcome->rc = state.rc;
	outcome->callbacks = state.released - state.taken;
	outcome->leaked = waits ? allocations_left(before) : 0;
	memcpy(outcome->wrong, state.wrong, sizeof(outcome->wrong));
}

static void run_scenario(const struct scenario *scenario, const char *device, struct outcome *outcome)
{
	run_scenario_and(1, scenario, device, outcome);
}

static int is_complete(const char *message)
{
	size_t length = strlen(message);

	return length && message[length - 1] != ' ';
}

/* NULL if the outcome is right; `fails` says whether a failure was injected. */
static const char *judge(const struct outcome *outcome, int fails, int status)
{
	if (*outcome->wrong)
		return outcome->wrong;
	if (outcome->callbacks)
		return outcome->callbacks < 0 ? "a release callback was not called"
					      : "a release callback was called twice";
	if (outcome->leaked > 0)
		return "memory is leaked";
	if (!outcome->rc)
		return outcome->err.status ? "a call wrote an error although it succeeded" : NULL;
	if (!fails)
		return "fails although nothing was made to fail";
	if (!is_complete(outcome->err.message) || outcome->err.status != outcome->rc)
		return "the error has no complete message, or another status than the call";
	if (status && outcome->rc != status && outcome->rc != BI_ENODEVICE)
		return "the status is not the documented one";
	return NULL;
}

static void describe(struct totals *totals, const struct scenario *scenario, const struct outcome *outcome,
		     const char *wrong, const char *injected)
{
	if (totals->failures++ < MOST_DESCRIBED)
		printf("%s, %s: %s; status %d (%s), leaked %ld, callbacks %+d\n", scenario->name, injected, wrong,
		       outcome->rc, outcome->err.message, outcome->leaked, outcome->callbacks);
}

static void check_run(const struct scenario *scenario, const char *device, const char *injected, int fails, int status,
		      struct totals *totals)
{
	struct outcome outcome;
	const char *wrong;

	run_scenario(scenario, device, &outcome);
	allocations_arm(0, FAIL_ONCE);
	totals->runs++;
	wrong = judge(&outcome, fails, status);
	if (wrong)
		describe(totals, scenario, &outcome, wrong, injected);
}

/* Allocations that fail. */

static void sweep_allocations(const struct scenario *scenario, const char *device, struct totals *totals)
{
	static const enum allocation_mode modes[] = { FAIL_ONCE, FAIL_FROM };
	struct outcome outcome;
	unsigned long count;
	char injected[80];

	/* The first run fills what lives as long as the process. */
	run_scenario(scenario, device, &outcome);
	allocations_arm(0, FAIL_ONCE);
	check_run(scenario, device, "nothing fails", 0, 0, totals);
	allocations_arm(0, FAIL_ONCE);
	run_scenario(scenario, device, &outcome);
	count = allocations_made();
	for (size_t mode = 0; mode < ARRAY_LENGTH(modes); mode++)
		for (unsigned long n = 1; n <= count; n++) {
			snprintf(injected, sizeof(injected), "allocation %lu%s fails", n,
				 modes[mode] == FAIL_FROM ? " and all after it" : "");
			allocations_arm(n, modes[mode]);
			check_run(scenario, device, injected, 1, BI_ENOMEM, totals);
		}
	check_run(scenario, device, "nothing fails any more", 0, 0, totals);
}

/* The first use of the library in a process: a process for each allocation. */

static void open_for_the_first_time(const char *device, unsigned long n, enum allocation_mode mode, int result)
{
	static const struct scenario first = { "first use", scenario_open_context };
	struct totals totals = { 0, 0 };
	struct outcome outcome;
	unsigned long made;
	char injected[80];

	snprintf(injected, sizeof(injected), "allocation %lu%s of the process fails", n,
		 mode == FAIL_FROM ? " and all after it" : "");
	allocations_arm(n, mode);
	run_scenario(&first, device, &outcome);
	made = allocations_failed();
	allocations_arm(0, FAIL_ONCE);
	/* What lives as long as the process is not leaked. */
	outcome.leaked = 0;
	if (judge(&outcome, n != 0, BI_ENOMEM))
		describe(&totals, &first, &outcome, judge(&outcome, n != 0, BI_ENOMEM), injected);
	check_run(&first, device, "nothing fails any more", 0, 0, &totals);
	made = (made != 0) | (totals.failures ? 2 : 0);
	fflush(stdout);
	if (write(result, &made, sizeof(made)) != sizeof(made))
		_exit(1);
	_exit(0);
}

/* 0: no allocation failed any more; else bits: 1 one did, 2 something was wrong. */
static unsigned long in_a_process(const char *device, unsigned long n, enum allocation_mode mode)
{
	unsigned long answer = 3;
	int ends[2], status;
	pid_t child;

	if (pipe(ends))
		return 2;
	fflush(stdout);
	child = fork();
	if (child == 0)
		open_for_the_first_time(device, n, mode, ends[1]);
	close(ends[1]);
	if (read(ends[0], &answer, sizeof(answer)) != sizeof(answer))
		answer = 3;
	close(ends[0]);
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		printf("allocation %lu of the process fails: the process died (%d)\n", n, status);
		answer = 3;
	}
	return answer;
}

static void sweep_cold(const char *device, struct totals *totals)
{
	static const enum allocation_mode modes[] = { FAIL_ONCE, FAIL_FROM };

	for (size_t mode = 0; mode < ARRAY_LENGTH(modes); mode++) {
		unsigned long answer = 1;

		for (unsigned long n = 1; answer & 1; n++) {
			answer = in_a_process(device, n, modes[mode]);
			totals->runs++;
			totals->failures += (answer & 2) != 0;
		}
	}
}

/* Calls of the OpenCL driver that fail. */

static const int codes[] = { -5 /* out of resources */, -6 /* out of host memory */, -4 /* allocation failed */,
			     -59 /* invalid operation */, -2 /* device not available */ };

static void sweep_function(const struct scenario *scenario, const char *device, const struct bi_layer *layer,
			   const char *name, uint64_t calls, struct totals *totals)
{
	size_t count = getenv("BI_TEST_ALL_CODES") ? ARRAY_LENGTH(codes) : 1;
	const uint64_t every = test_every();
	size_t number = 0;
	char injected[120];

	for (size_t shift = 0; shift < count; shift++)
		for (uint64_t n = 1; n <= calls; n += every) {
			int code = codes[(++number + shift) % ARRAY_LENGTH(codes)];

			snprintf(injected, sizeof(injected), "call %llu of %s returns %d", (unsigned long long)n, name,
				 code);
			layer->reset();
			layer->arm(name, n, code);
			check_run(scenario, device, injected, 1, 0, totals);
		}
}

#define MOST_FUNCTIONS 256 /* of OpenCL */

static void sweep_calls(const struct scenario *scenario, const char *device, struct totals *totals)
{
	static const struct scenario first = { "devices", scenario_devices };
	static struct bi_layer layer;
	uint64_t calls[MOST_FUNCTIONS];
	struct outcome outcome;
	int entries;

	/* The layer is there once the driver has been opened. */
	run_scenario(&first, device, &outcome);
	if (!layer.loaded && !bi_layer_open(getenv("BI_TEST_LAYER"), &layer)) {
		printf("the layer of the tests is not loaded: OPENCL_LAYERS and BI_TEST_LAYER name it\n");
		totals->failures++;
		return;
	}
	entries = layer.entries();
	if (entries > MOST_FUNCTIONS)
		abort();
	layer.reset();
	run_scenario(scenario, device, &outcome);
	for (int i = 0; i < entries; i++)
		calls[i] = layer.count(layer.entry(i));
	for (int i = 0; i < entries; i++)
		sweep_function(scenario, device, &layer, layer.entry(i), calls[i], totals);
	layer.reset();
	check_run(scenario, device, "nothing fails any more", 0, 0, totals);
}

/* A driver that disappears. */

/* NULL if the outcome is right. What the driver has kept for ever is lost, and its callbacks are not called. */
static const char *judge_gone(const struct outcome *outcome, const char *code)
{
	if (*outcome->wrong)
		return outcome->wrong;
	if (outcome->callbacks > 0)
		return "a release callback was called twice";
	if (outcome->rc && !strstr(outcome->err.message, code))
		return "the error does not name the driver's code";
	return NULL;
}

/* The host needs no driver. */
static const char *check_host(const struct scenario *scenario)
{
	struct outcome outcome;

	run_scenario(scenario, "host", &outcome);
	return outcome.rc || *outcome.wrong ? "the host backend does not work" : NULL;
}

static void sweep_gone(const struct scenario *scenario, const char *device, struct totals *totals)
{
	const struct scenario host = { "views", scenario_views };
	const uint64_t every = test_every();
	struct outcome outcome;
	const char *wrong;
	char injected[80];
	uint64_t calls;

	driver_gone_reset();
	run_scenario(scenario, device, &outcome);
	calls = driver_gone_calls();
	for (uint64_t n = 1; n <= calls; n += every) {
		snprintf(injected, sizeof(injected), "the driver is gone from call %llu on", (unsigned long long)n);
		driver_gone_reset();
		alarm(SECONDS_PER_RUN);
		driver_gone_from(n);
		run_scenario_and(0, scenario, device, &outcome);
		wrong = judge_gone(&outcome, driver_gone_code());
		wrong = wrong ? wrong : check_host(&host);
		totals->runs++;
		if (wrong)
			describe(totals, scenario, &outcome, wrong, injected);
	}
	alarm(0);
	driver_gone_reset();
	run_scenario(scenario, device, &outcome);
	if (outcome.rc)
		describe(totals, scenario, &outcome, "fails although the driver is back", "nothing fails");
}

static int finish(const struct totals *totals)
{
	printf("%lu runs, %lu wrong\n", totals->runs, totals->failures);
	return totals->failures || !totals->runs;
}

static int usage(void)
{
	fprintf(stderr, "usage: fault allocations|calls|gone DEVICE [SCENARIO] | cold|memory|options DEVICE | list\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *device = argc > 2 ? argv[2] : NULL;
	const char *only = argc > 3 ? argv[3] : NULL;
	struct totals totals = { 0, 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(scenarios) && strcmp(mode, "list") == 0; i++)
		printf("%s\n", scenarios[i].name);
	if (strcmp(mode, "list") == 0)
		return 0;
	if (!device)
		return usage();
	if (strcmp(mode, "gone") == 0 && !driver_gone_open(device)) {
		printf("neither the layer of the tests nor the simulated driver is loaded\n");
		return 1;
	}
	if (strcmp(mode, "memory") == 0)
		return check_exhausted_memory(device);
	if (strcmp(mode, "options") == 0)
		return check_all_options(device);
	if (strcmp(mode, "cold") == 0) {
		sweep_cold(device, &totals);
		return finish(&totals);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(scenarios); i++) {
		if (only && strcmp(only, scenarios[i].name) != 0)
			continue;
		if (strcmp(mode, "allocations") == 0)
			sweep_allocations(&scenarios[i], device, &totals);
		else if (strcmp(mode, "calls") == 0)
			sweep_calls(&scenarios[i], device, &totals);
		else if (strcmp(mode, "gone") == 0)
			sweep_gone(&scenarios[i], device, &totals);
		else
			return usage();
	}
	return finish(&totals);
}
