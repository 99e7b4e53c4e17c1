#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Longer than any run takes, under valgrind too. */
#define SECONDS 60

/* How to repeat the run that is under way. */
static char repeat[160];

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void hangs(int number)
{
	(void)number;
	say("sweep: this run does not end: ");
	say(repeat);
	_exit(3);
}

/* What was there before comes next: the default, or a sanitizer's. */
static struct sigaction next[64];

static void crashes(int number)
{
	say("sweep: this run crashes: ");
	say(repeat);
	sigaction(number, &next[number], NULL);
	raise(number);
}

static void watch(void)
{
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	static int is_done;
	struct sigaction action;

	if (is_done)
		return;
	is_done = 1;
	memset(&action, 0, sizeof(action));
	action.sa_handler = crashes;
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
		sigaction(numbers[i], &action, &next[numbers[i]]);
	action.sa_handler = hangs;
	sigaction(SIGALRM, &action, NULL);
}

static void announce(const struct scenario *scenario, const struct cuda_sim_options *options)
{
	watch();
	if (options)
		snprintf(repeat, sizeof(repeat), "sweep one %s %" PRIu64 " %" PRIu64 " %d %" PRIu64 "\n",
			 scenario->name, options->seed, options->fail_call, options->fail_code, options->drop_wait);
	else
		snprintf(repeat, sizeof(repeat), "sweep plain 1 1 %s\n", scenario->name);
	alarm(SECONDS);
}

static bi__cu_context current(void)
{
	bi__cu_context context = NULL;

	cuda_driver()->CtxGetCurrent(&context);
	return context;
}

static void play(const struct scenario *scenario, struct outcome *outcome)
{
	struct trial trial;

	trial_begin(&trial, &outcome->err);
	scenario->play(&trial);
	outcome->rc = trial_end(&trial);
	memcpy(outcome->wrong, trial.wrong, sizeof(outcome->wrong));
}

static void look(const struct cuda_sim *sim, const struct cuda_sim_options *options, struct outcome *outcome)
{
	sim->count(&outcome->counts);
	if (outcome->counts.failed_calls)
		outcome->failed_call = sim->call_name(options->fail_call);
	/* What is asked from here on does not fail. */
	sim->arm(0, 0, 0);
}

void run(const struct scenario *scenario, const struct cuda_sim_options *options, struct outcome *outcome)
{
	const struct cuda_sim *sim = options ? cuda_sim() : NULL;
	bi__cu_context before;

	memset(outcome, 0, sizeof(*outcome));
	announce(scenario, options);
	if (sim)
		sim->begin(options);
	before = sim ? NULL : current();
	play(scenario, outcome);
	if (sim)
		look(sim, options, outcome);
	outcome->stack_changed = current() != before;
	if (sim)
		outcome->reports = sim->end();
	alarm(0);
}

void describe(const struct scenario *scenario, const struct cuda_sim_options *options, const struct outcome *outcome)
{
	const struct cuda_sim_counts *counts = &outcome->counts;

	printf("FAILED %s: %s", scenario->name, repeat);
	if (options && options->fail_call)
		printf("    made to fail with %d: %s\n", options->fail_code,
		       outcome->failed_call ? outcome->failed_call : "nothing");
	if (outcome->rc)
		printf("    status %s, vendor %d: %s\n", bi_status_name(outcome->rc), outcome->err.vendor,
		       outcome->err.message);
	if (*outcome->wrong)
		printf("    wrong: %s\n", outcome->wrong);
	if (outcome->stack_changed)
		printf("    another context is current\n");
	if (counts->live_memory || counts->live_streams || counts->live_events || counts->live_modules)
		printf("    left: %" PRIu64 " memory, %" PRIu64 " streams, %" PRIu64 " events, %" PRIu64 " modules\n",
		       counts->live_memory, counts->live_streams, counts->live_events, counts->live_modules);
	for (uint64_t i = 0; i < outcome->reports && i < 3; i++)
		printf("    report: %s\n", cuda_sim()->report(i));
	fflush(stdout);
}

void add_run(struct totals *totals, const struct outcome *outcome)
{
	totals->runs++;
	totals->calls += outcome->counts.calls;
	totals->waits += outcome->counts.waits;
}
