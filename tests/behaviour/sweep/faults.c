/*
 * The n-th call of the driver fails, for every n, with one of several codes in turn; with BI_TEST_ALL_CODES, with each.
 * With BI_TEST_EVERY=K, only each K-th call does.
 * The result must be right all the same, or there must be a status that the header documents, with the driver's code;
 * never a report, and nothing left but what the call that failed was to let go itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "every.h"
#include "excuse.h"
#include "run.h"

/* More failures of one scenario and code than these are counted, not described. */
#define DESCRIBED 3

/* Code, the status that it becomes. */
static const struct {
	int code, status;
} codes[] = {
	{ BI__CU_ERROR_UNKNOWN, BI_EDRIVER },
	{ BI__CU_ERROR_OUT_OF_MEMORY, BI_ENOMEM },
	{ BI__CU_ERROR_NOT_SUPPORTED, BI_EUNSUPPORTED },
	{ BI__CU_ERROR_LAUNCH_FAILED, BI_EPRODUCER },
};

static int is_call(const struct outcome *outcome, const char *name)
{
	return outcome->failed_call && strcmp(outcome->failed_call, name) == 0;
}

/* A thread whose context cannot be taken off has it still. */
static int stack_is_right(const struct outcome *outcome)
{
	return !outcome->stack_changed || is_call(outcome, "cuCtxPopCurrent_v2");
}

/* The first steps choose a device: what the list and "no such device" say are reasons, and the code is among them. */
static int is_refusal(const struct outcome *outcome, int code)
{
	char number[16];

	snprintf(number, sizeof(number), "(%d)", code);
	return outcome->rc == BI_ENODEVICE && strstr(outcome->err.message, number);
}

/* BI_EDRIVER, "a driver call failed", is never false; a code that is told once does not mean that work has failed. */
static int is_documented(const struct outcome *outcome, int code, int status)
{
	if (!outcome->rc || is_refusal(outcome, code))
		return 1;
	return (outcome->rc == status || outcome->rc == BI_EDRIVER) && outcome->err.status == outcome->rc &&
	       outcome->err.vendor == code && *outcome->err.message;
}

static int is_right(const struct outcome *outcome, size_t code)
{
	return !*outcome->wrong && is_documented(outcome, codes[code].code, codes[code].status) &&
	       reports_are_excused(outcome->failed_call, outcome->reports) && stack_is_right(outcome);
}

/* The n-th call fails with the code number n + shift. */
static void sweep(const struct scenario *scenario, size_t shift, struct totals *totals)
{
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;
	struct outcome outcome;
	unsigned long described = 0;
	size_t number = 0, code;

	do {
		options.fail_call += options.fail_call ? test_every() : 1;
		code = (++number + shift) % ARRAY_LENGTH(codes);
		options.fail_code = codes[code].code;
		run(scenario, &options, &outcome);
		add_run(totals, &outcome);
		if (is_right(&outcome, code))
			continue;
		totals->failures++;
		if (described++ < DESCRIBED)
			describe(scenario, &options, &outcome);
	} while (outcome.counts.failed_calls);
}

void faults_mode(const struct scenario *scenario, struct totals *totals)
{
	size_t count = getenv("BI_TEST_ALL_CODES") ? ARRAY_LENGTH(codes) : 1;

	for (size_t shift = 0; shift < count; shift++)
		sweep(scenario, shift, totals);
}
